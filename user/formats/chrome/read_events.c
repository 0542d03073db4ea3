/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Converts the objects of the array of events to events, by their phase. The conventions of our own files are
 * recognised: the base of times, clocks, flows outside of slices, lost marks.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "formats/chrome/reader.h"
#include "timeline/callstack.h"

#define INVENTED_BIT 0x40000000u /* above any real pid */

struct invented_key {
	uint32_t pid;
	uint32_t word;
	uint32_t is_thread;
};

/* A process or thread that is identified by a word and has been named. */
struct chrome_invented {
	UT_hash_handle hh;
	struct invented_key key;
};

int chrome_refuse(struct chrome *c)
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

struct arg *chrome_find_arg(const struct chrome *c, const char *key)
{
	for (unsigned i = 0; i < c->draft->n_args; i++) {
		struct arg *arg = &c->draft->args[i];

		if (arg->key && !strcmp(arg->key->text, key))
			return arg;
	}
	return NULL;
}

/* An unsigned number, also as a string, which our writer uses where loaders would lose precision. */
bool chrome_arg_uint(const struct arg *arg, uint64_t *ret_value)
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

bool chrome_is_named(const struct chrome *c, const char *name)
{
	return c->fields.name && !strcmp(c->fields.name->text, name);
}

/* Mixes an id with words (FNV-1a), so that only equal ids with equal words stay equal. */
static uint64_t hash_words(uint64_t id, const struct name *a, const struct name *b)
{
	const char *at;

	for (at = a ? a->text : ""; *at; at++)
		id = (id ^ (unsigned char)*at) * 0x100000001b3ull;
	for (at = b ? b->text : ""; *at; at++)
		id = (id ^ (unsigned char)*at) * 0x100000001b3ull;
	return id;
}

/* --- processes and threads named by words ----------------------------------------------------- */

int chrome_send_name(struct chrome *c, enum event_kind kind, uint32_t pid, uint32_t tid,
		     const struct name *name)
{
	draft_event(c->draft, kind, 0, pid, tid);
	c->draft->event.name = name;
	return draft_send_bare(c->draft);
}

/* Returns true the first time. If there are too many, some are not named. */
static bool chrome_invent_owner(struct chrome *c, uint32_t pid, const struct name *word,
				bool is_thread)
{
	const struct invented_key key = { pid, word->id, is_thread };
	struct chrome_invented *invented;

	HASH_FIND(hh, c->invented, &key, sizeof(key), invented);
	if (invented || HASH_COUNT(c->invented) >= MAX_INVENTED_IDS)
		return false;
	return hash_add_new(hh, c->invented, key, key) != NULL;
}

void chrome_events_free(struct chrome *c)
{
	hash_clear(hh, c->invented, invented);
}

/* A word has the same number in every file. */
static uint32_t word_number(const struct name *word)
{
	uint64_t hash = hash_words(0xcbf29ce484222325ull, word, NULL);

	return INVENTED_BIT | (uint32_t)((hash ^ hash >> 32) & (INVENTED_BIT / 2 - 1));
}

static int chrome_find_owner(struct chrome *c)
{
	struct chrome_fields *f = &c->fields;
	int error = 0;

	if (f->pid_word) {
		f->pid = word_number(f->pid_word);
		if (f->pid_word->length && chrome_invent_owner(c, 0, f->pid_word, false))
			error = chrome_send_name(c, EVENT_PROCESS_NAME, f->pid, 0, f->pid_word);
	}
	if (!error && f->tid_word) {
		f->tid = word_number(f->tid_word);
		if (f->tid_word->length && chrome_invent_owner(c, f->pid, f->tid_word, true))
			error = chrome_send_name(c, EVENT_THREAD_NAME, f->pid, f->tid, f->tid_word);
	}
	return error;
}

/* --- events ------------------------------------------------------------------------------------ */

static const struct code_mapping *chrome_kernel_mapping(struct chrome *c)
{
	const struct code_mapping kernel = {
		.path = names_intern_string(c->sink->names, "[kernel]"),
		.kind = CODE_KERNEL,
	};

	return callstacks_mapping(c->sink->callstacks, &kernel);
}

/* A frame only has the name of its function, and whether that is a kernel function. */
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
		callstacks_frame(store, kernel ? chrome_kernel_mapping(c) : NULL, 0, name));
}

static void chrome_start_event(struct chrome *c, enum event_kind kind)
{
	const struct chrome_fields *f = &c->fields;

	draft_event(c->draft, kind, c->base_ns + (uint64_t)f->ts, f->pid, f->tid);
	c->draft->event.name = f->name;
	c->draft->event.category = f->category;
	c->draft->event.id = f->id;
	if (kind == EVENT_BEGIN || kind == EVENT_INSTANT)
		c->draft->event.callstack = f->callstack;
}

/* For events of threads: without a tid they are of the main thread, as in viewers. */
static void chrome_start_on_thread(struct chrome *c, enum event_kind kind)
{
	if (!c->fields.tid)
		c->fields.tid = c->fields.pid;
	chrome_start_event(c, kind);
}

static int chrome_send_event(struct chrome *c)
{
	return chrome_send(c, NOT_COMPLETE);
}

static int chrome_read_flow(struct chrome *c, enum event_kind kind)
{
	const struct name *category = c->fields.category;
	bool own = chrome_is_named(c, "flow") && category && !strcmp(category->text, "flow");

	chrome_start_on_thread(c, kind);
	if (own) /* our writer uses this category because the format needs one */
		c->draft->event.category = NULL;
	else
		c->draft->event.id = hash_words(c->fields.id, category, c->fields.name);
	c->draft->event.name = NULL;
	return chrome_send_event(c);
}

/* Flows that are fields of a slice (the newer form of the format). */
static int chrome_send_bound_flows(struct chrome *c)
{
	const struct chrome_fields *f = &c->fields;
	int error = 0;

	if (!f->has_bind || (!f->flow_in && !f->flow_out))
		return 0;
	draft_clear(c->draft);
	chrome_start_on_thread(c, f->flow_in ? EVENT_FLOW_IN : EVENT_FLOW_OUT);
	c->draft->event.name = c->draft->event.category = NULL;
	c->draft->event.id = f->bind;
	error = chrome_send_event(c);
	if (error || !f->flow_in || !f->flow_out)
		return error;
	draft_clear(c->draft);
	chrome_start_on_thread(c, EVENT_FLOW_OUT);
	c->draft->event.name = c->draft->event.category = NULL;
	c->draft->event.id = f->bind;
	return chrome_send_event(c);
}

/* An instant of our own files instead of a flow, where no slice was open. */
static int chrome_read_loose_flow(struct chrome *c)
{
	bool out = chrome_is_named(c, "flow out");
	struct arg *id = chrome_find_arg(c, "id");

	if (!chrome_arg_uint(id, &c->fields.id))
		return chrome_refuse(c);
	draft_remove(c->draft, (unsigned)(id - c->draft->args));
	chrome_start_on_thread(c, out ? EVENT_FLOW_OUT : EVENT_FLOW_IN);
	c->draft->event.name = NULL;
	return chrome_send_event(c);
}

/* An instant that the writer has made: programs may make some of the same name. Returns false if it is none. */
static bool chrome_read_own_instant(struct chrome *c, int *ret_error)
{
	uint64_t count;

	if (chrome_is_named(c, "events lost") &&
	    chrome_arg_uint(chrome_find_arg(c, "count"), &count)) {
		chrome_start_event(c, EVENT_LOST);
		c->draft->n_args = 0;
		c->draft->event.name = NULL;
		c->draft->event.size = count;
		*ret_error = chrome_send_event(c);
	} else if (chrome_is_named(c, "switches lost")) {
		*ret_error = chrome_switches_lost(c);
	} else if ((chrome_is_named(c, "flow out") || chrome_is_named(c, "flow in")) &&
		   chrome_find_arg(c, "id")) {
		*ret_error = chrome_read_loose_flow(c);
	} else {
		return false;
	}
	return true;
}

static int chrome_read_instant(struct chrome *c)
{
	int error;

	if (c->fields.recorder && chrome_read_own_instant(c, &error))
		return error;
	if (c->fields.scope == 'g' || c->fields.scope == 'p')
		chrome_start_event(c, EVENT_INSTANT);
	else
		chrome_start_on_thread(c, EVENT_INSTANT);
	c->draft->event.scope = c->fields.scope == 'g'	 ? SCOPE_GLOBAL
				: c->fields.scope == 'p' ? SCOPE_PROCESS
							 : SCOPE_THREAD;
	return chrome_send_event(c);
}

static bool arg_make_number(struct arg *arg)
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

/* One event with all hardware counters of a thread, which become one event each. */
static int chrome_read_thread_counters(struct chrome *c)
{
	struct arg args[EVENT_MAX_ARGS];
	unsigned i, n = c->draft->n_args;
	int error = 0;

	memcpy(args, c->draft->args, n * sizeof(args[0]));
	c->fields.tid = (uint32_t)c->fields.id;
	for (i = 0; i < n && !error; i++) {
		const struct name *name = args[i].key;

		if (!arg_make_number(&args[i]))
			continue;
		draft_clear(c->draft);
		chrome_add_counted(c, name);
		c->draft->args[0] = args[i];
		c->draft->args[0].key = NULL;
		c->draft->n_args = 1;
		chrome_start_event(c, EVENT_COUNTER);
		c->draft->event.name = name;
		c->draft->event.of_thread = true;
		c->draft->event.continued = c->fields.continued;
		error = chrome_send_event(c);
	}
	return error;
}

/* A sample of a memory pool in our own files, which contains the allocation or the free. */
static int chrome_read_memory(struct chrome *c)
{
	const struct chrome_fields *f = &c->fields;

	switch (f->memory) {
	case 'a':
		chrome_start_event(c, EVENT_ALLOC);
		break;
	case 'f':
		chrome_start_event(c, EVENT_FREE);
		break;
	case 'g':
		chrome_start_event(c, EVENT_MEMORY_RESET);
		break;
	default:
		return chrome_refuse(c);
	}
	c->draft->event.continued = f->continued;
	c->draft->event.id = f->address;
	c->draft->event.size = f->size;
	return chrome_send_event(c);
}

static bool counter_is_single(const struct draft *draft)
{
	return draft->n_args == 1 && draft->args[0].key &&
	       !strcmp(draft->args[0].key->text, "value");
}

/* The format identifies a counter by its name and its id together; the name becomes "fps[2]". */
static const struct name *counter_name_with_id(struct chrome *c)
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

static int chrome_read_counter(struct chrome *c)
{
	struct draft *draft = c->draft;
	bool of_thread = c->own && c->fields.has_id;
	unsigned i = 0;

	if (of_thread && chrome_is_named(c, "counters") && draft->n_args &&
	    !counter_is_single(draft))
		return chrome_read_thread_counters(c);
	while (i < draft->n_args) {
		if (arg_make_number(&draft->args[i]))
			i++;
		else
			draft_remove(draft, i);
	}
	if (!draft->n_args)
		return chrome_refuse(c);
	if (counter_is_single(draft))
		draft->args[0].key = NULL;
	if (c->fields.memory && draft->n_args == 1 && !draft->args[0].key)
		return chrome_read_memory(c);
	if (of_thread)
		c->fields.tid = (uint32_t)c->fields.id;
	chrome_start_event(c, EVENT_COUNTER);
	draft->event.on_thread = of_thread;
	if (c->fields.has_id && !of_thread)
		draft->event.name = counter_name_with_id(c);
	draft->event.unit = c->fields.unit;
	draft->event.continued = c->fields.continued;
	return chrome_send_event(c);
}

/* With times of its own. The begin of a slice has its duration, too, so that the end says nothing. */
static int chrome_read_given(struct chrome *c, enum event_kind kind)
{
	const struct chrome_fields *f = &c->fields;
	struct event *event = &c->draft->event;

	if (kind == EVENT_ASYNC_END)
		return 0;
	if (kind == EVENT_ASYNC_BEGIN && (!f->has_dur || f->dur < 0))
		return chrome_refuse(c);
	chrome_start_event(c, kind == EVENT_ASYNC_BEGIN ? EVENT_SLICE_AT : EVENT_INSTANT_AT);
	event->id = 0;
	event->tid = 0;
	event->given.track = f->track;
	event->given.begin = event->ts_ns;
	event->given.end = event->ts_ns + (uint64_t)(f->has_dur ? f->dur : 0);
	return chrome_send_event(c);
}

static int chrome_read_async(struct chrome *c, enum event_kind kind)
{
	if (c->own && c->fields.track)
		return chrome_read_given(c, kind);
	if (!c->fields.has_id)
		return chrome_refuse(c);
	chrome_start_event(c, kind);
	return chrome_send_event(c);
}

static int chrome_read_wait(struct chrome *c)
{
	struct event *e = &c->draft->event;

	chrome_start_on_thread(c, EVENT_WAIT);
	e->category = NULL;
	e->size = (uint64_t)c->fields.dur;
	e->ts_ns += e->size;
	return chrome_send_event(c);
}

static int chrome_read_complete(struct chrome *c)
{
	const struct chrome_fields *f = &c->fields;
	int error;

	/* Also refuses an end beyond the range of times. */
	if (!f->has_dur || f->dur < 0 ||
	    (uint64_t)f->dur > INT64_MAX - (c->base_ns + (uint64_t)f->ts))
		return chrome_refuse(c);
	/* Our own files write slices as B and E, and only the times in which a thread was blocked as X. */
	if (c->own && f->category && !strcmp(f->category->text, "wait"))
		return chrome_read_wait(c);
	chrome_start_on_thread(c, EVENT_BEGIN);
	error = chrome_send(c, c->fields.dur);
	return error ? error : chrome_send_bound_flows(c);
}

static int chrome_read_begin(struct chrome *c)
{
	int error;

	chrome_start_on_thread(c, EVENT_BEGIN);
	error = chrome_send_event(c);
	return error ? error : chrome_send_bound_flows(c);
}

static int chrome_read_flow_step(struct chrome *c)
{
	int error = chrome_read_flow(c, EVENT_FLOW_IN);

	return error ? error : chrome_read_flow(c, EVENT_FLOW_OUT);
}

static int chrome_read_end(struct chrome *c)
{
	chrome_start_on_thread(c, EVENT_END);
	chrome_read_deltas(c);
	c->draft->event.category = NULL;
	return chrome_send_event(c);
}

static int chrome_read_timed(struct chrome *c)
{
	switch (c->fields.phase) {
	case 'B':
		return chrome_read_begin(c);
	case 'E':
		return chrome_read_end(c);
	case 'X':
		return chrome_read_complete(c);
	case 'i':
	case 'I':
	case 'R':
		return chrome_read_instant(c);
	case 'n':
		if (c->own && c->fields.track)
			return chrome_read_given(c, EVENT_INSTANT);
		c->fields.scope = 'p';
		return chrome_read_instant(c);
	case 'C':
		return chrome_read_counter(c);
	case 'b':
	case 'S': /* the older form of the same */
		return chrome_read_async(c, EVENT_ASYNC_BEGIN);
	case 'e':
	case 'F':
		return chrome_read_async(c, EVENT_ASYNC_END);
	case 's':
		return c->fields.has_id ? chrome_read_flow(c, EVENT_FLOW_OUT) : chrome_refuse(c);
	case 'T':
		return chrome_state(c);
	case 'f':
		return c->fields.has_id ? chrome_read_flow(c, EVENT_FLOW_IN) : chrome_refuse(c);
	case 't':
		return c->fields.has_id ? chrome_read_flow_step(c) : chrome_refuse(c);
	default:
		return chrome_refuse(c);
	}
}

int chrome_event(struct chrome *c)
{
	struct chrome_fields *f = &c->fields;
	int error;

	if (!f->any)
		return 0; /* some writers put {} after the last comma of the array */
	c->n_objects++;
	error = chrome_find_owner(c);
	if (error)
		return error;
	if (f->phase == 'M')
		return chrome_read_metadata(c);
	/* Objects, memory dumps, samples and contexts are not represented. */
	if (f->phase && strchr("NODPVvc(),=", f->phase))
		return chrome_skip(c);
	if (!f->phase || !f->has_ts || f->broken)
		return chrome_refuse(c);
	if (f->ts < 0 ? (uint64_t)-f->ts > c->base_ns : (uint64_t)f->ts > INT64_MAX - c->base_ns)
		return chrome_refuse(c);
	return chrome_read_timed(c);
}
