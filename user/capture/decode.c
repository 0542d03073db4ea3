/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From records to events. The layout is our own BPF program's, but what is in it came out of the
 * registers and the memory of a program nobody vouches for.
 */
#include "capture/batch.h"
#include "capture/probes.h"
#include "capture/stacks.h"
#include "capture/tables_internal.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

/* Between so many records, held threads are looked after: they wait for us. */
#define LOOK_AT_HOLDS 256

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

/* 0: none. */
static enum event_kind kind_of(unsigned record_kind)
{
	return record_kind < sizeof(kinds) ? kinds[record_kind] : 0;
}

/* The program's number for a scope: what later versions may have is the thread's. */
static enum event_scope scope_of(unsigned number)
{
	static const enum event_scope scopes[] = { SCOPE_THREAD, SCOPE_PROCESS, SCOPE_GLOBAL,
						   SCOPE_TASK, SCOPE_MARKER };

	return number < sizeof(scopes) / sizeof(scopes[0]) ? scopes[number] : SCOPE_THREAD;
}

/* Where the strings of one record are taken from and put to. */
struct strings {
	const char *from, *end;
	char *to, *to_end;
};

/* A cut may go through a character: how many bytes the whole ones have. */
size_t whole_characters(const char *bytes, size_t length)
{
	size_t n = length;

	while (n && length - n < 3 && ((unsigned char)bytes[n - 1] & 0xc0) == 0x80)
		n--;
	/* Only what begins a character and misses some of it goes: anything else is not our cut. */
	if (n && (unsigned char)bytes[n - 1] >= 0xc2) {
		unsigned char first = bytes[n - 1];
		size_t whole = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;

		if (length - (n - 1) < whole)
			return n - 1;
	}
	return length;
}

static bool take_string(struct capture *c, struct strings *s, uint64_t length, struct arg *arg)
{
	bool changed = false;

	if (length > (uint64_t)(s->end - s->from))
		return false;
	arg->type = ARG_STRING;
	arg->s = s->to;
	arg->length = text_clean(s->to, s->to_end - s->to, s->from,
				 arg->cut ? whole_characters(s->from, length) : length, &changed);
	c->repaired_strings += changed;
	s->to += arg->length + 1;
	s->from += length;
	return true;
}

static bool take_string_value(struct capture *c, const struct record *r, struct strings *s,
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
		c->cut_strings++;
	}
	if (value & STRING_UNREADABLE) {
		struct strings from_file;

		if (!static_string(c, r->site, (int32_t)value, text, sizeof(text), &length))
			c->unreadable_args++;
		if (length > MAX_STRING) {
			length = MAX_STRING;
			arg->cut = true;
			c->cut_strings++;
		}
		from_file = (struct strings){ text, text + length, s->to, s->to_end };
		if (!take_string(c, &from_file, length, arg))
			return false;
		s->to = from_file.to;
		return true;
	}
	return take_string(c, s, (uint32_t)value, arg);
}

static bool take_float(uint64_t bits, struct arg *arg)
{
	uint32_t low = (uint32_t)bits;
	float f;

	memcpy(&f, &low, sizeof(f));
	arg->type = ARG_DOUBLE;
	arg->d = f;
	return true;
}

static bool take_value(struct capture *c, const struct record *r, struct strings *s, unsigned type,
		       uint64_t value, struct arg *arg)
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
		return take_float(value, arg);
	case VALUE_UNREADABLE:
		return s &&
		       take_string_value(c, r, s, STRING_UNREADABLE | (uint32_t)NAME_NONE, arg);
	case VALUE_STRING:
		return s && take_string_value(c, r, s, value, arg);
	default:
		return false;
	}
	arg->u = value;
	return true;
}

static bool is_name_copied(const struct record *r)
{
	return r->flags & (RECORD_NAME_COPIED | RECORD_NAME_UNREADABLE);
}

/* How long the categories are that stand behind a copied name. */
static size_t copied_categories(const struct record *r, size_t size)
{
	const struct record_full *full = (const struct record_full *)r;

	if (!(r->flags & RECORD_CATEGORIES) || !is_name_copied(r) || size < sizeof(*full) ||
	    full->args.name_length > size - sizeof(*full) ||
	    full->ops.b > size - sizeof(*full) - full->args.name_length)
		return 0;
	return full->ops.b;
}

/* The arguments of a record; false: they make no sense. */
static bool take_args(struct capture *c, const struct record *r, size_t size,
		      const struct marker *marker, struct event *e)
{
	const struct record_full *full = (const struct record_full *)r;
	unsigned i, n = r->types & 15;
	const char *strings = (const char *)r + sizeof(*full);
	struct strings s = { strings, (const char *)r + size, c->text, c->text + sizeof(c->text) };

	if (n > MAX_ARGS)
		n = MAX_ARGS;
	if (r->flags & RECORD_ARGS_UNREADABLE) {
		c->unreadable_args++;
		return true;
	}
	if (size < offsetof(struct record_full, args.values) + n * sizeof(uint64_t))
		return false;
	if (size < sizeof(*full)) {
		s.from = s.end; /* a short record has no strings */
	} else {
		s.from += full->args.name_length + copied_categories(r, size);
		if (full->args.name_length > size - sizeof(*full))
			return false;
	}
	for (i = 0; i < n; i++) {
		struct arg *arg = &c->args[i];

		arg->key = marker->keys[i];
		arg->cut = false;
		if (!take_value(c, r, &s, r->types >> (8 + 4 * i) & 15, full->args.values[i], arg))
			return false;
	}
	e->args = c->args;
	e->n_args = n;
	return true;
}

static const struct name *copied_name(struct capture *c, const struct record *r, size_t size)
{
	const struct record_full *full = (const struct record_full *)r;
	const char *name = (const char *)r + sizeof(*full);

	if (size < sizeof(*full) || !(r->flags & RECORD_NAME_COPIED) ||
	    full->args.name_length > size - sizeof(*full)) {
		c->unreadable_names++;
		return names_intern_string(c->options.names, "(unreadable)");
	}
	/* The kernel cut it already, so the names' own count does not see it. */
	c->cut_strings += (r->flags & RECORD_NAME_CUT) != 0;
	return names_intern(c->options.names, name,
			    r->flags & RECORD_NAME_CUT
				    ? whole_characters(name, full->args.name_length)
				    : full->args.name_length,
			    MAX_NAME);
}

/* Beside a copied name they are copied, too; else they are in the file, and the marker has them. */
static const struct name *category_of(struct capture *c, const struct record *r, size_t size,
				      const struct marker *marker)
{
	const struct record_full *full = (const struct record_full *)r;
	const struct name *domain = c->sites[r->site].category;
	size_t length = copied_categories(r, size);

	if (!is_name_copied(r))
		return marker->category;
	if (!length)
		return domain;
	return join_categories(c, domain, (const char *)r + sizeof(*full) + full->args.name_length,
			       length);
}

static bool take_operands(struct capture *c, const struct record *r, struct event *e)
{
	const struct record_plain *plain = (const struct record_plain *)r;

	if (operand_is_id(r->kind))
		e->id = plain->ops.a;
	if (operand_is_size(r->kind))
		e->size = plain->ops.b;
	if (r->kind != RECORD_COUNTER || e->n_args)
		return true;
	if (!take_value(c, r, NULL, r->types >> 4 & 15, plain->ops.a, &c->args[0]))
		return false;
	c->args[0].key = NULL;
	c->args[0].cut = false;
	e->args = c->args;
	e->n_args = 1;
	return true;
}

_Static_assert(MAX_COUNTERS == EVENT_MAX_COUNTERS && COUNTER_UNKNOWN == EVENT_NO_VALUE,
	       "the kernel and the timeline agree about counters");

/* Takes the counters from the end of the record: returns how long it is without them, or 0. */
static size_t take_counters(struct capture *c, const struct record *r, size_t size, struct event *e)
{
	unsigned n = c->options.counters.n;
	bool multiplexed = c->options.counters.multiplexed;
	size_t bytes = n * (multiplexed ? COUNTER_PARTS : 1) * sizeof(c->counters[0]);
	unsigned i;

	if (!n || size < sizeof(*r) + bytes)
		return 0;
	size -= bytes;
	memcpy(c->counters, (const char *)r + size, bytes);
	for (i = 0; i < n; i++) {
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

static bool has_name(unsigned kind)
{
	return kind != RECORD_END && kind != RECORD_FLOW_OUT && kind != RECORD_FLOW_IN &&
	       (kind < RECORD_STEP || kind == RECORD_SCOPE_PUSH);
}

/* Which marker of ours it is: its name and its categories. */
static const struct marker *mark_name(struct capture *c, const struct record *r, size_t size,
				      struct event *e)
{
	const struct record_full *full = (const struct record_full *)r;
	int32_t categories = NAME_NONE, keys = NAME_NONE;
	const struct marker *marker;

	if (size >= offsetof(struct record_full, args.values))
		keys = full->args.keys;
	if (r->flags & RECORD_CATEGORIES && size >= sizeof(struct record_plain) &&
	    !is_name_copied(r))
		categories = (int32_t)full->ops.b;
	marker = marker_of(c, r, keys, categories);
	c->unreadable_names += marker->unreadable;
	e->name = is_name_copied(r) ? copied_name(c, r, size) : marker->name;
	e->category = category_of(c, r, size, marker);
	return marker;
}

bool decode_mark(struct capture *c, const struct record *r, size_t size, struct event *e)
{
	const struct marker *marker;
	const struct site *site;

	e->kind = kind_of(r->kind);
	if (r->flags & RECORD_COUNTERS) {
		size = take_counters(c, r, size, e);
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
	e->scope = scope_of(r->object & 15);
	e->object = r->object >> 4;
	e->left_out = r->flags & RECORD_LEFT_OUT;
	if (site->probe) {
		marker = &site->probe->marker;
		e->category = marker->category;
	} else {
		marker = mark_name(c, r, size, e);
	}
	if (r->types & 15 && size >= offsetof(struct record_full, args.values) &&
	    !take_args(c, r, size, marker, e))
		return false;
	if (size >= sizeof(struct record_plain) && !take_operands(c, r, e))
		return false;
	if (site->probe)
		return probe_event(c, r, site->probe, e);
	if (!e->name && has_name(r->kind)) {
		c->unreadable_names++;
		e->name = names_intern_string(c->options.names, "(unreadable)");
	}
	return true;
}

static const struct name *comm_of(struct capture *c, const struct record *r, size_t size)
{
	const struct record_comm *record = (const struct record_comm *)r;

	if (size < sizeof(*record))
		return NULL;
	return names_intern(c->options.names, record->comm, strnlen(record->comm, COMM_SIZE),
			    MAX_NAME);
}

static void decode_fork(struct capture *c, const struct record *r, struct event *e)
{
	const struct record_plain *plain = (const struct record_plain *)r;

	e->id = plain->ops.a;
	if (r->tgid != r->tid)
		return;
	process_add(c, r->tgid, true);
	if (c->stacks)
		stacks_fork(c->stacks, r->tgid, (uint32_t)plain->ops.a);
	/* Born while its parent's files were being read. */
	if (r->flags & RECORD_WATCHED) {
		const struct broker_target child = { r->tgid, 0 };

		broker_trace(c->broker, &child, TRACED_WATCH | TRACED_MARKS, NULL);
	}
}

static bool decode_kernel_event(struct capture *c, const struct record *r, size_t size,
				struct event *e)
{
	const struct record_plain *plain = (const struct record_plain *)r;

	if (r->kind == RECORD_READING) {
		e->kind = EVENT_READING;
		return r->flags & RECORD_COUNTERS && take_counters(c, r, size, e);
	}
	if (r->kind == RECORD_SAMPLE || r->kind == RECORD_BLOCKED)
		return decode_stack(c, r, size, e);
	if (r->kind >= RECORD_SWITCH && r->kind <= RECORD_SCHED_GAP)
		return decode_sched(c, r, size, e);
	if (size < sizeof(*plain))
		return false;
	e->level = -1;
	e->name = comm_of(c, r, size);
	switch (r->kind) {
	case RECORD_FORK:
		e->kind = EVENT_FORK;
		decode_fork(c, r, e);
		break;
	case RECORD_EXEC:
		e->kind = EVENT_EXEC;
		process_executed(c, r->tgid);
		tables_process_over(c, r->tgid, r->ts);
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
		c->told_lost += plain->ops.a;
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

static void take_mark(struct capture *c, const struct record *r, size_t size, struct event *e)
{
	c->decoded++;
	if (!decode_mark(c, r, size, e)) {
		c->malformed++;
		return;
	}
	if (c->stacks && (e->kind == EVENT_BEGIN || e->kind == EVENT_INSTANT))
		mark_stack_attach(c, r, e);
	capture_mark(c, r->site, e);
}

static void take_notice(struct capture *c, const struct record *r, size_t size, struct event *e)
{
	if (!decode_kernel_event(c, r, size, e))
		return;
	if (c->options.sched)
		sched_look_lost(c, r->ts);
	capture_hand_on(c, e);
	if (r->kind != RECORD_EXIT)
		return;
	selection_forget(c, r->tid);
	if (((const struct record_plain *)r)->ops.a) {
		e->kind = EVENT_PROCESS_EXIT;
		capture_hand_on(c, e);
		process_remove(c, r->tgid, ((const struct record_plain *)r)->ops.b);
		tables_process_over(c, r->tgid, r->ts);
	}
}

void decode_take(struct capture *c, const struct record *r, size_t size)
{
	struct event e = { 0 };

	if (size < sizeof(*r))
		return;
	if (r->kind == RECORD_MARK_STACK) {
		mark_stack_take(c, r, size);
		return;
	}
	e.ts_ns = r->ts;
	e.pid = r->tgid;
	e.tid = r->tid;
	if (r->kind < RECORD_FORK)
		take_mark(c, r, size, &e);
	else
		take_notice(c, r, size, &e);
}

/* -EAGAIN: this one is taken, but others want their turn. */
int decode_record(void *context, void *data, size_t size)
{
	struct capture *c = context;

	if (c->holds && ++c->since_holds >= LOOK_AT_HOLDS) {
		c->since_holds = 0;
		holds_between(c);
	}
	if (!c->batches) {
		decode_take(c, data, size);
		return --c->budget ? 0 : -EAGAIN;
	}
	batches_take(c, data, size);
	return --c->budget && c->batches->waiting < c->batches->enough ? 0 : -EAGAIN;
}
