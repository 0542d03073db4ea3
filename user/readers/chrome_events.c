/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Objects of the array of events become events, by their phase. What proftrace itself writes is
 * recognised: the base of its times, clocks, arrows outside of slices, lost marks.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "readers/chrome_internal.h"
#include "readers/number.h"
#include "timeline/callstack.h"

#define INVENTED_BIT 0x40000000u /* above any real pid */

struct invented_key {
	uint32_t pid;
	uint32_t word;
	uint32_t is_thread;
};

/* A process or thread that was named already. */
struct chrome_invented {
	UT_hash_handle hh;
	struct invented_key key;
};

static int refuse(struct chrome *c)
{
	c->n_refused++;
	reader_lost(c->sink, LOST_MALFORMED);
	return 0;
}

int chrome_skip(struct chrome *c)
{
	c->skipped[(unsigned char)c->fields.phase & 127]++;
	return 0;
}

/* --- arguments --------------------------------------------------------------------------------- */

static struct arg *find_arg(struct chrome *c, const char *key)
{
	unsigned i;

	for (i = 0; i < c->draft->n_args; i++) {
		struct arg *arg = &c->draft->args[i];

		if (arg->key && !strcmp(arg->key->text, key))
			return arg;
	}
	return NULL;
}

/* An unsigned number, also one written as a string because loaders would spoil it. */
static bool arg_uint(const struct arg *arg, uint64_t *ret_value)
{
	if (!arg)
		return false;
	switch (arg->type) {
	case ARG_INT:
		*ret_value = (uint64_t)arg->i;
		return arg->i >= 0;
	case ARG_UINT:
		*ret_value = arg->u;
		return true;
	case ARG_STRING:
		return number_id(arg->s, arg->length, ret_value);
	default:
		return false;
	}
}

static bool named(const struct chrome *c, const char *name)
{
	return c->fields.name && !strcmp(c->fields.name->text, name);
}

/* What makes numbers of the same words, and no others, the same (FNV-1a). */
static uint64_t fold_words(uint64_t id, const struct name *a, const struct name *b)
{
	const char *at;

	for (at = a ? a->text : ""; *at; at++)
		id = (id ^ (unsigned char)*at) * 0x100000001b3ull;
	for (at = b ? b->text : ""; *at; at++)
		id = (id ^ (unsigned char)*at) * 0x100000001b3ull;
	return id;
}

/* --- processes and threads called by a word ---------------------------------------------------- */

static int name_owner(struct chrome *c, enum event_kind kind, uint32_t pid, uint32_t tid,
		      const struct name *name)
{
	draft_event(c->draft, kind, 0, pid, tid);
	c->draft->event.name = name;
	return draft_send_bare(c->draft);
}

/* True the first time. With too many of them, some are not named. */
static bool invent(struct chrome *c, uint32_t pid, const struct name *word, bool is_thread)
{
	const struct invented_key key = { pid, word->id, is_thread };
	struct chrome_invented *invented;

	HASH_FIND(hh, c->invented, &key, sizeof(key), invented);
	if (invented || HASH_COUNT(c->invented) >= MAX_INVENTED)
		return false;
	invented = calloc(1, sizeof(*invented));
	if (!invented)
		return false;
	invented->key = key;
	HASH_ADD(hh, c->invented, key, sizeof(invented->key), invented);
	if (!hash_added(hh, invented)) {
		free(invented);
		return false;
	}
	return true;
}

void chrome_events_free(struct chrome *c)
{
	struct chrome_invented *invented, *next;

	HASH_ITER (hh, c->invented, invented, next) {
		HASH_DEL(c->invented, invented);
		free(invented);
	}
}

/* The same word is the same number in every file. */
static uint32_t number_of(const struct name *word)
{
	uint64_t hash = fold_words(0xcbf29ce484222325ull, word, NULL);

	return INVENTED_BIT | (uint32_t)((hash ^ hash >> 32) & (INVENTED_BIT / 2 - 1));
}

static int find_owner(struct chrome *c)
{
	struct chrome_fields *f = &c->fields;
	int error = 0;

	if (f->pid_word) {
		f->pid = number_of(f->pid_word);
		if (f->pid_word->length && invent(c, 0, f->pid_word, false))
			error = name_owner(c, EVENT_PROCESS_NAME, f->pid, 0, f->pid_word);
	}
	if (!error && f->tid_word) {
		f->tid = number_of(f->tid_word);
		if (f->tid_word->length && invent(c, f->pid, f->tid_word, true))
			error = name_owner(c, EVENT_THREAD_NAME, f->pid, f->tid, f->tid_word);
	}
	return error;
}

/* --- metadata ---------------------------------------------------------------------------------- */

static int clock_event(struct chrome *c)
{
	struct clock_reading clock = { 0 };

	arg_uint(find_arg(c, "monotonic"), &clock.monotonic);
	arg_uint(find_arg(c, "boottime"), &clock.boottime);
	arg_uint(find_arg(c, "realtime"), &clock.realtime);
	if (!clock.monotonic)
		return 0;
	origin_clock(c->sink, &clock);
	draft_event(c->draft, EVENT_CLOCK, clock.monotonic, 0, 0);
	c->draft->event.clock = clock;
	return draft_send_bare(c->draft);
}

static void take_text(struct chrome *c, const char *key, char *out, size_t size)
{
	const struct arg *arg = find_arg(c, key);

	if (arg && arg->type == ARG_STRING)
		origin_text(out, size, arg->s);
}

/* Thirty-two hexadecimal digits. */
static void take_uuid(struct chrome *c, uint64_t out[2])
{
	const struct arg *arg = find_arg(c, "trace_uuid");
	unsigned i;

	if (!arg || arg->type != ARG_STRING || arg->length != 32)
		return;
	for (i = 0; i < 2; i++) {
		char half[19] = "0x";

		memcpy(half + 2, arg->s + 16 * i, 16);
		if (!number_id(half, 18, &out[i]))
			out[i] = 0;
	}
}

static void take_origin(struct chrome *c)
{
	struct trace_origin *o = c->sink->origin;

	if (!o)
		return;
	o->base_ns = c->base_ns;
	take_uuid(c, o->trace_uuid);
	take_text(c, "version", o->version, sizeof(o->version));
	take_text(c, "sysname", o->sysname, sizeof(o->sysname));
	take_text(c, "kernel", o->kernel_release, sizeof(o->kernel_release));
	take_text(c, "kernel_version", o->kernel_version, sizeof(o->kernel_version));
	take_text(c, "machine", o->machine, sizeof(o->machine));
	take_text(c, "host", o->host, sizeof(o->host));
	take_text(c, "boot_id", o->boot_id, sizeof(o->boot_id));
	take_text(c, "rank", o->rank, sizeof(o->rank));
}

static void take_account(struct chrome *c)
{
	struct trace_origin *o = c->sink->origin;
	unsigned i;

	if (o)
		o->ending = ENDING_ORDERLY;
	for (i = 0; o && i < c->draft->n_args; i++) {
		const struct arg *arg = &c->draft->args[i];
		uint64_t *number =
			arg->key ? account_number_named(&o->account, arg->key->text) : NULL;

		if (arg->key && arg->type == ARG_BOOL && !arg->u &&
		    !strcmp(arg->key->text, "orderly"))
			o->ending = ENDING_BROKEN;
		if (number && arg_uint(arg, number))
			o->has_account = true;
	}
}

static int metadata(struct chrome *c)
{
	const struct arg *name = find_arg(c, "name");
	bool process = named(c, "process_name");
	uint64_t base;

	if (named(c, "proftrace")) {
		if (arg_uint(find_arg(c, "base_ns"), &base) && base <= INT64_MAX)
			c->base_ns = base;
		c->own = true;
		take_origin(c);
		return clock_event(c);
	}
	if (named(c, "proftrace_account"))
		take_account(c);
	if (named(c, "clock_snapshot"))
		return clock_event(c);
	if (named(c, "proftrace_account"))
		return 0;
	if (!process && !named(c, "thread_name"))
		return chrome_skip(c); /* for viewers: colours, order, labels */
	if (!name || name->type != ARG_STRING)
		return refuse(c);
	/* A task that is none of ours; its process is called like it. */
	if (chrome_task_name(c, names_intern(c->sink->names, name->s, name->length, READ_MAX_NAME)))
		return 0;
	/* A name is true of all of the trace, so it needs no time, and delays nothing. */
	return name_owner(c, process ? EVENT_PROCESS_NAME : EVENT_THREAD_NAME, c->fields.pid,
			  process	  ? 0
			  : c->fields.tid ? c->fields.tid
					  : c->fields.pid,
			  names_intern(c->sink->names, name->s, name->length, READ_MAX_NAME));
}

/* --- events ------------------------------------------------------------------------------------ */

static const struct code_mapping *kernel_mapping(struct chrome *c)
{
	const struct code_mapping kernel = {
		.path = names_intern_string(c->sink->names, "[kernel]"),
		.kind = CODE_KERNEL,
	};

	return callstacks_mapping(c->sink->callstacks, &kernel);
}

/* Of a function its name is all that there is, and whether it is the kernel's. */
void chrome_stack_frame(struct chrome *c, const char *text, size_t length)
{
	static const char mark[] = "_[k]";
	const size_t n = sizeof(mark) - 1;
	struct callstacks *store = c->sink->callstacks;
	bool kernel = length > n && !memcmp(text + length - n, mark, n);
	const struct name *name =
		names_intern(c->sink->names, text, kernel ? length - n : length, READ_MAX_STRING);

	c->fields.callstack = callstacks_push(
		store, c->fields.callstack,
		callstacks_frame(store, kernel ? kernel_mapping(c) : NULL, 0, name));
}

static void start(struct chrome *c, enum event_kind kind)
{
	const struct chrome_fields *f = &c->fields;

	draft_event(c->draft, kind, c->base_ns + (uint64_t)f->ts, f->pid, f->tid);
	c->draft->event.name = f->name;
	c->draft->event.category = f->category;
	c->draft->event.id = f->id;
	if (kind == EVENT_BEGIN || kind == EVENT_INSTANT)
		c->draft->event.callstack = f->callstack;
}

/* Of something that only a thread can do: one without a tid is the main thread, as viewers take it. */
static void start_on_thread(struct chrome *c, enum event_kind kind)
{
	if (!c->fields.tid)
		c->fields.tid = c->fields.pid;
	start(c, kind);
}

static int send(struct chrome *c)
{
	return chrome_send(c, NOT_COMPLETE);
}

static int flow(struct chrome *c, enum event_kind kind)
{
	const struct name *category = c->fields.category;
	bool own = named(c, "flow") && category && !strcmp(category->text, "flow");

	start_on_thread(c, kind);
	if (own) /* the word that stands where there must be one */
		c->draft->event.category = NULL;
	else
		c->draft->event.id = fold_words(c->fields.id, category, c->fields.name);
	c->draft->event.name = NULL;
	return send(c);
}

/* Arrows at a slice's beginning (the second form of the format). */
static int bound_flows(struct chrome *c)
{
	const struct chrome_fields *f = &c->fields;
	int error = 0;

	if (!f->has_bind || (!f->flow_in && !f->flow_out))
		return 0;
	draft_clear(c->draft);
	start_on_thread(c, f->flow_in ? EVENT_FLOW_IN : EVENT_FLOW_OUT);
	c->draft->event.name = c->draft->event.category = NULL;
	c->draft->event.id = f->bind;
	error = send(c);
	if (error || !f->flow_in || !f->flow_out)
		return error;
	draft_clear(c->draft);
	start_on_thread(c, EVENT_FLOW_OUT);
	c->draft->event.name = c->draft->event.category = NULL;
	c->draft->event.id = f->bind;
	return send(c);
}

/* In place of s and f, where no slice was open. */
static int loose_flow(struct chrome *c)
{
	bool out = named(c, "flow out");
	struct arg *id = find_arg(c, "id");

	if (!arg_uint(id, &c->fields.id))
		return refuse(c);
	draft_remove(c->draft, (unsigned)(id - c->draft->args));
	start_on_thread(c, out ? EVENT_FLOW_OUT : EVENT_FLOW_IN);
	c->draft->event.name = NULL;
	return send(c);
}

static int instant(struct chrome *c)
{
	uint64_t count;

	if (named(c, "events lost") && arg_uint(find_arg(c, "count"), &count)) {
		start(c, EVENT_LOST);
		c->draft->n_args = 0;
		c->draft->event.name = NULL;
		c->draft->event.size = count;
		return send(c);
	}
	if (c->own && named(c, "switches lost"))
		return chrome_switches_lost(c);
	if ((named(c, "flow out") || named(c, "flow in")) && find_arg(c, "id"))
		return loose_flow(c);
	if (c->fields.scope == 'g' || c->fields.scope == 'p')
		start(c, EVENT_INSTANT);
	else
		start_on_thread(c, EVENT_INSTANT);
	c->draft->event.scope = c->fields.scope == 'g'	 ? SCOPE_GLOBAL
				: c->fields.scope == 'p' ? SCOPE_PROCESS
							 : SCOPE_THREAD;
	return send(c);
}

static bool make_number(struct arg *arg)
{
	struct number number;

	if (arg->type != ARG_STRING)
		return arg->type != ARG_NULL;
	number = number_read(arg->s, arg->length, true);
	switch (number.type) {
	case NUMBER_INT:
		arg->type = ARG_INT;
		arg->i = number.i;
		return true;
	case NUMBER_UINT:
		arg->type = ARG_UINT;
		arg->u = number.u;
		return true;
	case NUMBER_DOUBLE:
		arg->type = ARG_DOUBLE;
		arg->d = number.d;
		return true;
	case NUMBER_NONE:
		break;
	}
	return false;
}

/* One event of several counters of a thread, each of which is a counter of its own elsewhere. */
static int thread_counters(struct chrome *c)
{
	struct arg args[EVENT_MAX_ARGS];
	unsigned i, n = c->draft->n_args;
	int error = 0;

	memcpy(args, c->draft->args, n * sizeof(args[0]));
	c->fields.tid = (uint32_t)c->fields.id;
	for (i = 0; i < n && !error; i++) {
		const struct name *name = args[i].key;

		if (!make_number(&args[i]))
			continue;
		draft_clear(c->draft);
		c->draft->args[0] = args[i];
		c->draft->args[0].key = NULL;
		c->draft->n_args = 1;
		start(c, EVENT_COUNTER);
		c->draft->event.name = name;
		c->draft->event.of_thread = true;
		c->draft->event.continued = c->fields.continued;
		error = send(c);
	}
	return error;
}

/* A sample of a memory pool, of our own files: it tells what made it so. */
static int memory(struct chrome *c)
{
	const struct chrome_fields *f = &c->fields;

	switch (f->memory) {
	case 'a':
		start(c, EVENT_ALLOC);
		break;
	case 'f':
		start(c, EVENT_FREE);
		break;
	case 'g':
		start(c, EVENT_MEMORY_GONE);
		break;
	default:
		return refuse(c);
	}
	c->draft->event.continued = f->continued;
	c->draft->event.id = f->address;
	c->draft->event.size = f->size;
	return send(c);
}

static bool is_single(const struct draft *draft)
{
	return draft->n_args == 1 && draft->args[0].key &&
	       !strcmp(draft->args[0].key->text, "value");
}

/* A counter's name and its id: by the format these together tell it from others, "fps[2]". */
static const struct name *name_with_id(struct chrome *c)
{
	const struct chrome_fields *f = &c->fields;
	const char *name = f->name ? f->name->text : "";
	char text[READ_MAX_NAME + MAX_ID_TEXT + 3];

	if (f->id_length <= sizeof(c->id_text))
		snprintf(text, sizeof(text), "%.*s[%.*s]", READ_MAX_NAME, name, (int)f->id_length,
			 c->id_text);
	else
		snprintf(text, sizeof(text), "%.*s[0x%" PRIx64 "]", READ_MAX_NAME, name, f->id);
	return names_intern(c->sink->names, text, strlen(text), sizeof(text));
}

static int counter(struct chrome *c)
{
	struct draft *draft = c->draft;
	bool of_thread = c->own && c->fields.has_id;
	unsigned i = 0;

	if (of_thread && named(c, "counters") && draft->n_args && !is_single(draft))
		return thread_counters(c);
	while (i < draft->n_args) {
		if (make_number(&draft->args[i]))
			i++;
		else
			draft_remove(draft, i);
	}
	if (!draft->n_args)
		return refuse(c);
	if (is_single(draft))
		draft->args[0].key = NULL;
	if (c->fields.memory && draft->n_args == 1 && !draft->args[0].key)
		return memory(c);
	if (of_thread)
		c->fields.tid = (uint32_t)c->fields.id;
	start(c, EVENT_COUNTER);
	draft->event.on_thread = of_thread;
	if (c->fields.has_id && !of_thread)
		draft->event.name = name_with_id(c);
	draft->event.unit = c->fields.unit;
	draft->event.continued = c->fields.continued;
	return send(c);
}

static int async(struct chrome *c, enum event_kind kind)
{
	if (!c->fields.has_id)
		return refuse(c);
	start(c, kind);
	return send(c);
}

static int complete(struct chrome *c)
{
	const struct chrome_fields *f = &c->fields;
	int error;

	/* Also one that ends after all times. */
	if (!f->has_dur || f->dur < 0 ||
	    (uint64_t)f->dur > INT64_MAX - (c->base_ns + (uint64_t)f->ts))
		return refuse(c);
	start_on_thread(c, EVENT_BEGIN);
	error = chrome_send(c, c->fields.dur);
	return error ? error : bound_flows(c);
}

static int begin(struct chrome *c)
{
	int error;

	start_on_thread(c, EVENT_BEGIN);
	error = send(c);
	return error ? error : bound_flows(c);
}

static int step(struct chrome *c)
{
	int error = flow(c, EVENT_FLOW_IN);

	return error ? error : flow(c, EVENT_FLOW_OUT);
}

static int end(struct chrome *c)
{
	start_on_thread(c, EVENT_END);
	c->draft->event.category = NULL;
	return send(c);
}

static int with_time(struct chrome *c)
{
	switch (c->fields.phase) {
	case 'B':
		return begin(c);
	case 'E':
		return end(c);
	case 'X':
		return complete(c);
	case 'i':
	case 'I':
	case 'R':
		return instant(c);
	case 'n':
		c->fields.scope = 'p';
		return instant(c);
	case 'C':
		return counter(c);
	case 'b':
	case 'S': /* the older form of the same */
		return async(c, EVENT_ASYNC_BEGIN);
	case 'e':
	case 'F':
		return async(c, EVENT_ASYNC_END);
	case 's':
		return c->fields.has_id ? flow(c, EVENT_FLOW_OUT) : refuse(c);
	case 'T':
		return chrome_state(c);
	case 'f':
		return c->fields.has_id ? flow(c, EVENT_FLOW_IN) : refuse(c);
	case 't':
		return c->fields.has_id ? step(c) : refuse(c);
	default:
		return refuse(c);
	}
}

int chrome_event(struct chrome *c)
{
	struct chrome_fields *f = &c->fields;
	int error;

	if (!f->any)
		return 0; /* {} is how some end an array after its last comma */
	c->n_objects++;
	error = find_owner(c);
	if (error)
		return error;
	if (f->phase == 'M')
		return metadata(c);
	/* Objects, memory dumps, samples, marks of contexts: nothing here to put them. */
	if (f->phase && strchr("NODPVvc(),=", f->phase))
		return chrome_skip(c);
	if (!f->phase || !f->has_ts || f->broken)
		return refuse(c);
	if (f->ts < 0 ? (uint64_t)-f->ts > c->base_ns : (uint64_t)f->ts > INT64_MAX - c->base_ns)
		return refuse(c);
	return with_time(c);
}
