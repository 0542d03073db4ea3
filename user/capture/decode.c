/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From records to events. The layout of a record is that of our own BPF program, but its contents
 * come from the registers and the memory of an untrusted program, so everything is checked.
 */
#include "capture/batch/batch.h"
#include "capture/probes/probes.h"
#include "capture/stacks/stacks.h"
#include "capture/tables/internal.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

/* Held threads are served after this many records, since they wait for the recorder. */
#define CHECK_HOLDS 256

static const uint8_t kinds[] = {
	[RECORD_BEGIN] = EVENT_BEGIN,
	[RECORD_END] = EVENT_END,
	[RECORD_INSTANT] = EVENT_INSTANT,
	[RECORD_COUNTER] = EVENT_COUNTER,
	[RECORD_ASYNC_BEGIN] = EVENT_ASYNC_BEGIN,
	[RECORD_ASYNC_END] = EVENT_ASYNC_END,
	[RECORD_FLOW_OUT] = EVENT_FLOW_OUT,
	[RECORD_FLOW_IN] = EVENT_FLOW_IN,
	[RECORD_ALLOC] = EVENT_ALLOC,
	[RECORD_FREE] = EVENT_FREE,
	[RECORD_THREAD_NAME] = EVENT_THREAD_NAME,
	[RECORD_STEP] = EVENT_STEP,
	[RECORD_PAUSE] = EVENT_PAUSE,
	[RECORD_RESUME] = EVENT_RESUME,
	[RECORD_DUMP] = EVENT_DUMP,
	[RECORD_STOP] = EVENT_STOP,
	[RECORD_INCLUDE_JSON] = EVENT_INCLUDE_JSON,
	[RECORD_SCOPE_PUSH] = EVENT_SCOPE_PUSH,
	[RECORD_SCOPE_POP] = EVENT_SCOPE_POP,
};

/* 0: not an event of a mark. */
static enum event_kind event_kind_of(unsigned record_kind)
{
	return record_kind < sizeof(kinds) ? kinds[record_kind] : 0;
}

/* The scope of a program's number. Unknown numbers of later versions become the thread. */
static enum event_scope event_scope_of(unsigned number)
{
	static const enum event_scope scopes[] = { SCOPE_THREAD, SCOPE_PROCESS, SCOPE_GLOBAL,
						   SCOPE_TASK, SCOPE_MARKER };

	return number < sizeof(scopes) / sizeof(scopes[0]) ? scopes[number] : SCOPE_THREAD;
}

/* Where the strings of a record are read from and written to. */
struct strings {
	const char *from, *end;
	char *to, *to_end;
};

/*
 * A string may be cut within a UTF-8 character: returns how many bytes the whole characters have.
 */
size_t whole_characters_length(const char *bytes, size_t length)
{
	size_t n = length;

	while (n && length - n < 3 && ((unsigned char)bytes[n - 1] & 0xc0) == 0x80)
		n--;
	/*
	 * Only an incomplete character at the end was cut; any other invalid byte was there before.
	 */
	if (n && (unsigned char)bytes[n - 1] >= 0xc2) {
		unsigned char first = bytes[n - 1];
		size_t whole = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;

		if (length - (n - 1) < whole)
			return n - 1;
	}
	return length;
}

static bool decode_string(struct capture *c, struct strings *s, uint64_t length, struct arg *arg)
{
	bool changed = false;

	if (length > (uint64_t)(s->end - s->from))
		return false;
	arg->type = ARG_STRING;
	arg->s = s->to;
	arg->length =
		text_clean(s->to, s->to_end - s->to, s->from,
			   arg->cut ? whole_characters_length(s->from, length) : length, &changed);
	c->decoded.repaired_strings += changed;
	s->to += arg->length + 1;
	s->from += length;
	return true;
}

static bool decode_string_value(struct capture *c, const struct record *r, struct strings *s,
				uint64_t value, struct arg *arg)
{
	char text[MAX_STRING + 2] = "(unreadable)";
	size_t length = strlen(text);

	if (value & STRING_NULL) {
		arg->type = ARG_NULL;
		return true;
	}
	if (value & STRING_CUT) {
		arg->cut = true;
		c->decoded.cut_strings++;
	}
	if (value & STRING_UNREADABLE) {
		struct strings from_file;

		if (!read_static_string(c, r->site, (int32_t)value, text, sizeof(text), &length))
			c->decoded.unreadable_args++;
		if (length > MAX_STRING) {
			length = MAX_STRING;
			arg->cut = true;
			c->decoded.cut_strings++;
		}
		from_file = (struct strings){ text, text + length, s->to, s->to_end };
		if (!decode_string(c, &from_file, length, arg))
			return false;
		s->to = from_file.to;
		return true;
	}
	return decode_string(c, s, (uint32_t)value, arg);
}

static bool decode_float(uint64_t bits, struct arg *arg)
{
	uint32_t low = (uint32_t)bits;
	float f;

	memcpy(&f, &low, sizeof(f));
	arg->type = ARG_DOUBLE;
	arg->d = f;
	return true;
}

static bool decode_value(struct capture *c, const struct record *r, struct strings *s,
			 unsigned type, uint64_t value, struct arg *arg)
{
	switch (type) {
	case VALUE_INT:
		arg->type = ARG_INT;
		break;
	case VALUE_UINT:
		arg->type = ARG_UINT;
		break;
	case VALUE_DOUBLE:
		arg->type = ARG_DOUBLE;
		break;
	case VALUE_BOOL:
		arg->type = ARG_BOOL;
		value = value != 0;
		break;
	case VALUE_POINTER:
		arg->type = ARG_POINTER;
		break;
	case VALUE_FLOAT:
		return decode_float(value, arg);
	case VALUE_UNREADABLE:
		return s &&
		       decode_string_value(c, r, s, STRING_UNREADABLE | (uint32_t)NAME_NONE, arg);
	case VALUE_STRING:
		return s && decode_string_value(c, r, s, value, arg);
	default:
		return false;
	}
	arg->u = value;
	return true;
}

static bool record_has_copied_name(const struct record *r)
{
	return r->flags & (RECORD_NAME_COPIED | RECORD_NAME_UNREADABLE);
}

/* The length of the categories that follow a copied name. */
static size_t copied_categories_length(const struct record *r, size_t size)
{
	const struct record_full *full = (const struct record_full *)r;

	if (!(r->flags & RECORD_CATEGORIES) || !record_has_copied_name(r) || size < sizeof(*full) ||
	    full->args.name_length > size - sizeof(*full) ||
	    full->ops.b > size - sizeof(*full) - full->args.name_length)
		return 0;
	return full->ops.b;
}

/* Decodes the arguments; false: they are malformed. */
static bool decode_args(struct capture *c, const struct record *r, size_t size,
			const struct marker *marker, struct event *e)
{
	const struct record_full *full = (const struct record_full *)r;
	unsigned i, n = META_ARGS(r->types);
	const char *strings = (const char *)r + sizeof(*full);
	struct strings s = { strings, (const char *)r + size, c->text, c->text + sizeof(c->text) };

	if (n > MAX_ARGS)
		n = MAX_ARGS;
	if (r->flags & RECORD_ARGS_UNREADABLE) {
		c->decoded.unreadable_args++;
		return true;
	}
	if (size < offsetof(struct record_full, args.values) + n * sizeof(uint64_t))
		return false;
	if (size < sizeof(*full)) {
		s.from = s.end; /* a short record has no strings */
	} else {
		s.from += full->args.name_length + copied_categories_length(r, size);
		if (full->args.name_length > size - sizeof(*full))
			return false;
	}
	for (i = 0; i < n; i++) {
		struct arg *arg = &c->args[i];

		arg->key = marker->keys[i];
		arg->cut = false;
		if (!decode_value(c, r, &s, META_TYPE(r->types, i), full->args.values[i], arg))
			return false;
	}
	e->args = c->args;
	e->n_args = n;
	return true;
}

/* Keys that were made at run time stand before their values, as strings. */
static void pair_keys_with_values(struct capture *c, struct event *e)
{
	unsigned i, n = e->n_args / 2;

	for (i = 0; i < n; i++) {
		struct arg key = c->args[2 * i];

		c->args[i] = c->args[2 * i + 1];
		c->args[i].key =
			key.type == ARG_STRING
				? names_intern(c->options.names, key.s, key.length, MAX_NAME)
				: names_intern_string(c->options.names, "(unreadable)");
	}
	e->n_args = n;
	if (n && c->args[0].type == ARG_UINT && !c->args[0].key->length)
		c->args[0].cut = true;
}

static const struct name *intern_copied_name(struct capture *c, const struct record *r, size_t size)
{
	const struct record_full *full = (const struct record_full *)r;
	const char *name = (const char *)r + sizeof(*full);

	if (size < sizeof(*full) || !(r->flags & RECORD_NAME_COPIED) ||
	    full->args.name_length > size - sizeof(*full)) {
		c->decoded.unreadable_names++;
		return names_intern_string(c->options.names, "(unreadable)");
	}
	/* The kernel has cut it, so the name table does not count it. */
	c->decoded.cut_strings += (r->flags & RECORD_NAME_CUT) != 0;
	return names_intern(c->options.names, name,
			    r->flags & RECORD_NAME_CUT
				    ? whole_characters_length(name, full->args.name_length)
				    : full->args.name_length,
			    MAX_NAME);
}

/* Categories are copied if the name is; otherwise they are in the file, and the marker has them. */
static const struct name *mark_category(struct capture *c, const struct record *r, size_t size,
					const struct marker *marker)
{
	const struct record_full *full = (const struct record_full *)r;
	const struct name *domain = c->sites[r->site].category;
	size_t length = copied_categories_length(r, size);

	if (!record_has_copied_name(r))
		return marker->category;
	if (!length)
		return domain;
	return join_categories(c, domain, (const char *)r + sizeof(*full) + full->args.name_length,
			       length);
}

/*
 * A mark with times of its own: `a` is the first one, and the first two arguments are the track and the second one.
 * Behind the number of a mark that is split they are the next two.
 */
static bool decode_given(struct capture *c, const struct record *r, size_t size, struct event *e)
{
	static const enum event_kind given_kinds[] = { EVENT_SLICE_AT, EVENT_INSTANT_AT,
						       EVENT_CLOCK_READING };
	unsigned at = e->n_args && c->args[0].cut && c->args[0].type == ARG_UINT;
	const struct arg *track = &c->args[at], *end = &c->args[at + 1];

	if (e->n_args < at + 2 || size < sizeof(struct record_plain) || end->type != ARG_UINT ||
	    (track->type != ARG_STRING && track->type != ARG_NULL))
		return false;
	e->kind = given_kinds[e->object - OBJECT_SLICE_AT];
	e->object = OBJECT_NONE;
	e->size = e->scope == META_SCOPE_TICKS ? GIVEN_TICKS : 0;
	e->scope = SCOPE_THREAD;
	e->given.begin = ((const struct record_plain *)r)->ops.a;
	e->given.end = end->u;
	if (track->type == ARG_STRING)
		e->given.track =
			names_intern(c->options.names, track->s, track->length, MAX_STRING);
	e->n_args -= 2;
	memmove(&c->args[at], &c->args[at + 2], (e->n_args - at) * sizeof(*c->args));
	return true;
}

_Static_assert((int)OBJECT_SLICE_AT == META_CLASS_SLICE_AT &&
		       (int)OBJECT_CLOCK_READING == META_CLASS_CLOCK_READING,
	       "objects have the numbers of the program");

static bool is_given(const struct event *e)
{
	return e->kind == EVENT_INSTANT && e->object >= OBJECT_SLICE_AT &&
	       e->object <= OBJECT_CLOCK_READING;
}

static bool decode_operands(struct capture *c, const struct record *r, struct event *e)
{
	const struct record_plain *plain = (const struct record_plain *)r;

	if (operand_is_id(r->kind))
		e->id = plain->ops.a;
	if (operand_is_size(r->kind))
		e->size = plain->ops.b;
	if (r->kind != RECORD_COUNTER || e->n_args)
		return true;
	if (!decode_value(c, r, NULL, META_A_TYPE(r->types), plain->ops.a, &c->args[0]))
		return false;
	c->args[0].key = NULL;
	c->args[0].cut = false;
	e->args = c->args;
	e->n_args = 1;
	return true;
}

_Static_assert(MAX_COUNTERS == EVENT_MAX_COUNTERS && COUNTER_UNKNOWN == EVENT_NO_VALUE,
	       "the kernel and the timeline agree about counters");

size_t decode_counters(struct capture *c, const struct record *r, size_t size, struct event *e)
{
	unsigned n = c->options.counters.n;
	bool multiplexed = c->options.counters.multiplexed;
	size_t bytes = n * (multiplexed ? COUNTER_PARTS : 1) * sizeof(c->counters[0]);

	if (!n || size < sizeof(*r) + bytes)
		return 0;
	size -= bytes;
	memcpy(c->counters, (const char *)r + size, bytes);
	for (unsigned i = 0; i < n; i++) {
		if (c->options.counters.list[i].source == COUNTER_TASK_CLOCK &&
		    c->counters[i] != COUNTER_UNKNOWN)
			c->counters[i] += clocks_ahead(&c->clocks, r->ts);
	}
	e->counters = c->counters;
	e->n_counters = n;
	e->counter_enabled = multiplexed ? c->counters + PART_ENABLED * n : NULL;
	e->counter_running = multiplexed ? c->counters + PART_RUNNING * n : NULL;
	return size;
}

static bool kind_has_name(unsigned kind)
{
	return kind != RECORD_END && kind != RECORD_FLOW_OUT && kind != RECORD_FLOW_IN &&
	       (kind < RECORD_STEP || kind == RECORD_SCOPE_PUSH);
}

/* Finds the marker, for its name and its categories. */
static const struct marker *decode_mark_name(struct capture *c, const struct record *r, size_t size,
					     struct event *e)
{
	const struct record_full *full = (const struct record_full *)r;
	int32_t categories = NAME_NONE, keys = NAME_NONE;
	const struct marker *marker;

	if (size >= offsetof(struct record_full, args.values))
		keys = full->args.keys;
	if (r->flags & RECORD_CATEGORIES && size >= sizeof(struct record_plain) &&
	    !record_has_copied_name(r))
		categories = (int32_t)full->ops.b;
	marker = marker_of(c, r, keys, categories);
	c->decoded.unreadable_names += marker->unreadable;
	e->name = record_has_copied_name(r) ? intern_copied_name(c, r, size) : marker->name;
	e->category = mark_category(c, r, size, marker);
	return marker;
}

bool decode_mark(struct capture *c, const struct record *r, size_t size, struct event *e)
{
	const struct marker *marker;
	const struct site *site;

	e->kind = event_kind_of(r->kind);
	if (r->flags & RECORD_COUNTERS) {
		size = decode_counters(c, r, size, e);
		if (!size)
			return false;
	}
	if (!e->kind || r->site >= c->n_sites)
		return false;
	site = &c->sites[r->site];
	if (site->kind != r->kind)
		return false;
	e->level = r->level;
	e->closes_inner = r->flags & RECORD_CLOSES_INNER;
	e->scope = event_scope_of(r->object & 15);
	e->object = r->object >> 4;
	e->left_out = r->flags & RECORD_LEFT_OUT;
	if (site->probe) {
		marker = &site->probe->marker;
		e->category = marker->category;
	} else {
		marker = decode_mark_name(c, r, size, e);
	}
	if (META_ARGS(r->types) && size >= offsetof(struct record_full, args.values) &&
	    !decode_args(c, r, size, marker, e))
		return false;
	if (e->n_args && !site->probe && ((const struct record_full *)r)->args.keys == NAME_NONE)
		pair_keys_with_values(c, e);
	if (size >= sizeof(struct record_plain) && !decode_operands(c, r, e))
		return false;
	if (site->probe)
		return decode_probe_event(c, r, site->probe, e);
	if (is_given(e) && !decode_given(c, r, size, e))
		return false;
	if (!e->name && kind_has_name(r->kind)) {
		c->decoded.unreadable_names++;
		e->name = names_intern_string(c->options.names, "(unreadable)");
	}
	return true;
}

static const struct name *intern_record_comm(struct capture *c, const struct record *r, size_t size)
{
	const struct record_comm *record = (const struct record_comm *)r;

	if (size < sizeof(*record))
		return NULL;
	return names_intern(c->options.names, record->comm, strnlen(record->comm, COMM_SIZE),
			    MAX_NAME);
}

static bool decode_kernel_event(struct capture *c, const struct record *r, size_t size,
				struct event *e)
{
	const struct record_plain *plain = (const struct record_plain *)r;

	if (r->kind == RECORD_READING) {
		e->kind = EVENT_READING;
		return r->flags & RECORD_COUNTERS && decode_counters(c, r, size, e);
	}
	if (r->kind == RECORD_SAMPLE || r->kind == RECORD_BLOCKED)
		return decode_stack(c, r, size, e);
	if (r->kind >= RECORD_SWITCH && r->kind <= RECORD_SYSCALL)
		return decode_sched(c, r, size, e);
	if (size < sizeof(*plain))
		return false;
	e->level = -1;
	e->name = intern_record_comm(c, r, size);
	switch (r->kind) {
	case RECORD_FORK:
		e->kind = EVENT_FORK;
		e->id = plain->ops.a;
		if (r->tgid == r->tid)
			process_forked(c, (pid_t)r->tgid, (pid_t)plain->ops.a, r->ts);
		break;
	case RECORD_EXEC:
		e->kind = EVENT_EXEC;
		files_forget_refusals(c, (pid_t)r->tgid);
		if (r->flags & RECORD_TARGET)
			target_started(c, (pid_t)r->tgid);
		if (plain->ops.a != r->tid)
			files_first_changed(c, (pid_t)r->tgid, (uint32_t)plain->ops.b);
		process_executed(c, r->tgid);
		tables_process_exited(c, r->tgid, r->ts);
		break;
	case RECORD_COMM:
		e->kind = EVENT_COMM;
		break;
	case RECORD_EXIT:
		e->kind = EVENT_THREAD_EXIT;
		break;
	case RECORD_LOST:
		e->kind = EVENT_LOST;
		e->size = plain->ops.a;
		c->decoded.reported_lost += plain->ops.a;
		break;
	case RECORD_PHASE:
		e->kind = EVENT_PHASE;
		e->id = plain->ops.a;
		e->size = plain->ops.b;
		e->phase = r->types;
		e->cycle = r->site;
		e->waits_on = r->level;
		break;
	default:
		return false;
	}
	return true;
}

static void emit_mark_event(struct capture *c, const struct record *r, size_t size, struct event *e)
{
	c->decoded.marks++;
	if (!decode_mark(c, r, size, e)) {
		c->decoded.malformed++;
		return;
	}
	if (c->stacks && (e->kind == EVENT_BEGIN || e->kind == EVENT_INSTANT))
		mark_stack_attach(c, r, e);
	capture_mark(c, r->site, e);
}

static bool is_hidden(const struct capture *c, uint32_t pid)
{
	const struct traced_process *p;

	if (!capture_hides(c))
		return false;
	p = process_find(c, (pid_t)pid);
	return !p || p->is_hidden;
}

static void emit_kernel_event(struct capture *c, const struct record *r, size_t size,
			      struct event *e)
{
	bool hidden;

	if (!decode_kernel_event(c, r, size, e))
		return;
	if (c->options.sched)
		sched_check_lost(c, r->ts);
	hidden = r->kind <= RECORD_COMM && is_hidden(c, r->tgid);
	if (!hidden)
		capture_emit(c, e);
	if (r->kind == RECORD_FORK && r->tgid == r->tid)
		process_place_inherit(c, (pid_t)e->id, (pid_t)r->tgid);
	else if (r->kind == RECORD_EXEC)
		process_place_emit(c, (pid_t)r->tgid, false);
	if (r->kind != RECORD_EXIT)
		return;
	selection_forget(c, r->tid);
	if (((const struct record_plain *)r)->ops.a) {
		e->kind = EVENT_PROCESS_EXIT;
		if (!hidden)
			capture_emit(c, e);
		process_remove(c, r->tgid, ((const struct record_plain *)r)->ops.b);
		files_release(c, (pid_t)r->tgid);
		tables_process_exited(c, r->tgid, r->ts);
	}
}

void decode_and_emit(struct capture *c, const struct record *r, size_t size)
{
	struct event e = { 0 };

	if (size < sizeof(*r))
		return;
	if (r->kind == RECORD_MARK_STACK) {
		mark_stack_store(c, r, size);
		return;
	}
	e.ts_ns = r->ts;
	e.pid = r->tgid;
	e.tid = r->tid;
	if (r->kind < RECORD_FORK)
		emit_mark_event(c, r, size, &e);
	else
		emit_kernel_event(c, r, size, &e);
	/* The process has done it itself. */
	if (r->kind == RECORD_PAUSE || r->kind == RECORD_RESUME)
		process_set_paused(c, (pid_t)r->tgid, r->kind == RECORD_PAUSE);
}

/* Returns -EAGAIN after a record if something else must be done before the next one. */
int decode_record(void *context, void *data, size_t size)
{
	struct capture *c = context;

	if (c->holds && ++c->since_holds >= CHECK_HOLDS) {
		c->since_holds = 0;
		holds_serve_if_due(c);
	}
	if (!c->batches) {
		decode_and_emit(c, data, size);
		return --c->budget ? 0 : -EAGAIN;
	}
	batches_add_record(c, data, size);
	return --c->budget && c->batches->waiting < c->batches->enough ? 0 : -EAGAIN;
}
