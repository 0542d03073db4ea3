// SPDX-License-Identifier: BSD-2-Clause
/*
 * TrackEvents, encoded straight into the sink's buffer: whatever they have. What nearly all have is
 * perfetto_ordinary.c's, which leaves the others to here.
 *
 * An event is written in two steps. First every name it refers to is looked up, which may write
 * packets that define new ones. Then room is taken for the longest it can be, and the packet is
 * written there from front to back; nothing is allocated and nothing is measured beforehand.
 */
#include <errno.h>

#include "handlers/perfetto_packet.h"

/* What an event refers to; 0: not interned, written in full where there is something. */
struct refs {
	struct sequence *sequence;
	bool any;
	uint64_t name;
	unsigned categories;
	uint64_t callstack;
	uint64_t keys[EVENT_MAX_ARGS];
};

static unsigned args_of(const struct fact *fact)
{
	return fact->n_args < EVENT_MAX_ARGS ? fact->n_args : EVENT_MAX_ARGS;
}

/* --- annotations ------------------------------------------------------------------------------- */

static uint8_t *put_string(uint8_t *at, const struct arg *arg)
{
	size_t length = text_fit(arg->s, arg->length, LIMIT_STRING);
	bool cut = arg->cut || length < arg->length;
	size_t mark = cut ? sizeof(TEXT_CUT_MARK) - 1 : 0;

	at = wire_varint(at, ANNOTATION_STRING << 3 | WIRE_BYTES);
	at = wire_varint(at, length + mark);
	memcpy(at, arg->s, length);
	memcpy(at + length, TEXT_CUT_MARK, mark);
	return at + length + mark;
}

static uint8_t *put_value(uint8_t *at, const struct arg *arg)
{
	switch (arg->type) {
	case ARG_INT:
		return wire_number(at, ANNOTATION_INT, (uint64_t)arg->i);
	case ARG_UINT:
		return wire_number(at, ANNOTATION_UINT, arg->u);
	case ARG_DOUBLE:
		return wire_double(at, ANNOTATION_DOUBLE, arg->d);
	case ARG_STRING:
		return put_string(at, arg);
	case ARG_BOOL:
		return wire_number(at, ANNOTATION_BOOL, arg->u != 0);
	case ARG_POINTER:
		return wire_number(at, ANNOTATION_POINTER, arg->u);
	case ARG_NULL:
		return wire_text(at, ANNOTATION_STRING, "(null)", 6);
	}
	return at;
}

static uint8_t *put_arg(uint8_t *at, const struct arg *arg, uint64_t key)
{
	uint8_t *contents = at = wire_open(at, EVENT_ANNOTATION);

	if (key)
		at = wire_number(at, ANNOTATION_NAME_IID, key);
	else if (arg->key)
		at = wire_text(at, ANNOTATION_NAME, arg->key->text,
			       text_fit(arg->key->text, arg->key->length, LIMIT_KEY));
	else
		at = wire_text(at, ANNOTATION_NAME, "value", 5);
	return wire_close(contents, put_value(at, arg));
}

static uint8_t *put_uint(uint8_t *at, const char *key, uint64_t value)
{
	uint8_t *contents = at = wire_open(at, EVENT_ANNOTATION);

	at = wire_text(at, ANNOTATION_NAME, key, strlen(key));
	return wire_close(contents, wire_number(at, ANNOTATION_UINT, value));
}

/* A sample that an earlier file has: this one begins with it. */
static uint8_t *put_continued(uint8_t *at)
{
	uint8_t *contents = at = wire_open(at, EVENT_ANNOTATION);

	at = wire_text(at, ANNOTATION_NAME, "continued", 9);
	return wire_close(contents, wire_number(at, ANNOTATION_BOOL, 1));
}

/* What a reader needs to know an allocation from its free, and where it was made. */
static uint8_t *put_memory(uint8_t *at, const struct memory *memory)
{
	static const char *const changes[] = {
		[MEMORY_ALLOC] = "alloc", [MEMORY_FREE] = "free", [MEMORY_GONE] = "gone"
	};
	uint8_t *contents = at = wire_open(at, EVENT_ANNOTATION);
	const char *change = changes[memory->change];

	at = wire_text(at, ANNOTATION_NAME, "memory", 6);
	at = wire_close(contents, wire_text(at, ANNOTATION_STRING, change, strlen(change)));
	if (memory->change == MEMORY_GONE)
		return at;
	contents = at = wire_open(at, EVENT_ANNOTATION);
	at = wire_text(at, ANNOTATION_NAME, "address", 7);
	at = wire_close(contents, wire_number(at, ANNOTATION_POINTER, memory->address));
	if (memory->tid)
		at = put_uint(at, "tid", memory->tid);
	return memory->change == MEMORY_ALLOC ? put_uint(at, "size", memory->size) : at;
}

static uint8_t *put_end_reason(uint8_t *at, enum end_reason reason)
{
	const char *text = reason == END_LOST ? "lost" : "unfinished";
	uint8_t *contents;

	contents = at = wire_open(at, EVENT_ANNOTATION);
	at = wire_text(at, ANNOTATION_NAME, "ended", 5);
	return wire_close(contents, wire_text(at, ANNOTATION_STRING, text, strlen(text)));
}

/* --- names, categories, arguments -------------------------------------------------------------- */

static void find_refs(struct perfetto *p, const struct fact *fact, bool named, struct refs *refs)
{
	struct sequence *s = perfetto_sequence(p, fact->thread);
	uint64_t keys = 0;

	refs->sequence = s;
	refs->name = named ? perfetto_intern(p, s, fact->name, INTERN_NAME) : 0;
	/* Like its name, the category of a slice stands on its BEGIN. */
	refs->categories = named ? perfetto_intern_category(p, s, fact->category) : 0;
	for (unsigned i = 0; i < args_of(fact); i++)
		keys |= refs->keys[i] = perfetto_intern(p, s, fact->args[i].key, INTERN_KEY);
	refs->callstack = fact->callstack ? perfetto_callstack(p, s, fact->callstack) : 0;
	refs->any = refs->name || refs->categories || refs->callstack || keys;
}

static size_t room_of_args(const struct fact *fact)
{
	size_t room = 0;

	for (unsigned i = 0; i < args_of(fact); i++) {
		const struct arg *arg = &fact->args[i];

		room += ROOM_ANNOTATION + LIMIT_KEY;
		if (arg->type == ARG_STRING)
			room += arg->length < LIMIT_STRING ? arg->length : LIMIT_STRING;
	}
	return room;
}

static size_t room_of(const struct fact *fact)
{
	return ROOM_EVENT + room_of_args(fact);
}

static uint8_t *put_category(uint8_t *at, const struct name *category, unsigned parts)
{
	uint64_t iid;

	if (!category)
		return at;
	if (!parts && category->length)
		return wire_text(at, EVENT_CATEGORY, category->text,
				 text_fit(category->text, category->length, LIMIT_NAME));
	for (iid = category->id; parts > 0; parts--, iid += 1 << INTERN_PART_SHIFT)
		at = wire_number(at, EVENT_CATEGORY_IID, iid);
	return at;
}

static uint8_t *put_name(uint8_t *at, const struct name *name, uint64_t iid)
{
	if (iid)
		return wire_number(at, EVENT_NAME_IID, iid);
	if (!name)
		return at;
	return wire_text(at, EVENT_NAME, name->text,
			 text_fit(name->text, name->length, LIMIT_NAME));
}

static uint8_t *put_args(uint8_t *at, const struct fact *fact, const struct refs *refs)
{
	for (unsigned i = 0; i < args_of(fact); i++)
		at = put_arg(at, &fact->args[i], refs->keys[i]);
	return at;
}

/* The sequence knows already whose values these are. */
static bool are_usual(const struct sequence *s, const struct fact *fact)
{
	if (fact->n_counters != s->n_counters)
		return false;
	for (unsigned i = 0; i < fact->n_counters; i++) {
		unsigned which = s->order[i];

		if (fact->counters[which] == EVENT_NO_VALUE ||
		    fact->counter_tracks[which]->uuid != s->counters[i])
			return false;
	}
	return true;
}

/*
 * The loader takes the values of an event only up to the first that is 0, and the rest for 0 as well
 * (trace_token_buffer.cc). So those that are 0 have to be the last.
 */
static bool are_hidden(const struct sequence *s, const struct fact *fact)
{
	bool zero = false;

	if (fact->n_counters != s->n_counters)
		return false;
	for (unsigned i = 0; i < fact->n_counters; i++) {
		if (!fact->counters[s->order[i]])
			zero = true;
		else if (zero)
			return true;
	}
	return false;
}

/*
 * Samples of counters that ride on the event. A number for each track, in the same order and not
 * packed: otherwise the loader drops the event.
 */
static uint8_t *put_extra_counters(uint8_t *at, const struct sequence *s, const struct fact *fact)
{
	if (are_usual(s, fact)) {
		for (unsigned i = 0; i < fact->n_counters; i++)
			at = wire_number(at, EVENT_EXTRA_VALUE, fact->counters[s->order[i]]);
		return at;
	}
	for (unsigned zero = 0; zero < 2; zero++)
		for (unsigned i = 0; i < fact->n_counters; i++)
			if (fact->counters[i] != EVENT_NO_VALUE && (fact->counters[i] == 0) == zero)
				at = wire_number(at, EVENT_EXTRA_TRACK,
						 fact->counter_tracks[i]->uuid);
	for (unsigned zero = 0; zero < 2; zero++)
		for (unsigned i = 0; i < fact->n_counters; i++)
			if (fact->counters[i] != EVENT_NO_VALUE && (fact->counters[i] == 0) == zero)
				at = wire_number(at, EVENT_EXTRA_VALUE, fact->counters[i]);
	return at;
}

/* --- the events -------------------------------------------------------------------------------- */

/* Before an event whose values do not fit what its sequence says of them. */
static int check_counters(struct perfetto *p, struct sequence *s, const struct fact *fact)
{
	if (fact->n_counters > s->n_counters || are_hidden(s, fact))
		return perfetto_sequence_count(p, s, fact);
	return 0;
}

/* An END has no name: the loader would compare it with the open slice, and ignore it if it differs. */
int perfetto_write_event(struct perfetto *p, const struct fact *fact, enum event_type type,
			 uint64_t track_uuid)
{
	bool named = type != TYPE_END;
	struct packet packet;
	struct refs refs;
	char *at;
	int r;

	find_refs(p, fact, named, &refs);
	if (fact->n_counters) {
		r = check_counters(p, refs.sequence, fact);
		if (r < 0)
			return r;
	}
	at = sink_reserve(p->sink, room_of(fact));
	if (!at)
		return sink_error(p->sink);
	packet = packet_open(at, refs.sequence, refs.any, fact->ts_ns, type, track_uuid);
	if (named) {
		packet.at = put_name(packet.at, fact->name, refs.name);
		packet.at = put_category(packet.at, fact->category, refs.categories);
	}
	/* The lane says which END belongs to it; the id is what the program called it. */
	if (fact->kind == FACT_ASYNC_BEGIN)
		packet.at = put_uint(packet.at, "id", fact->id);
	packet.at = put_args(packet.at, fact, &refs);
	if (refs.callstack)
		packet.at = wire_number(packet.at, EVENT_CALLSTACK, refs.callstack);
	if (fact->end_reason != END_NORMAL)
		packet.at = put_end_reason(packet.at, fact->end_reason);
	if (fact->n_counters)
		packet.at = put_extra_counters(packet.at, refs.sequence, fact);
	packet_close(p, &packet);
	return 0;
}

int perfetto_write_async(struct perfetto *p, const struct fact *fact)
{
	return perfetto_write_event(p, fact, fact->kind == FACT_ASYNC_BEGIN ? TYPE_BEGIN : TYPE_END,
				    fact->tracks[0]->uuid);
}

/* An arrow starts or ends at the slice that is open here; the instant marks the place. */
int perfetto_write_flow(struct perfetto *p, const struct fact *fact, uint64_t track_uuid)
{
	bool out = fact->kind == FACT_FLOW_OUT;
	const char *name = out ? "flow out" : "flow in";
	struct packet packet;
	struct refs refs;
	char *at;

	find_refs(p, fact, true, &refs);
	at = sink_reserve(p->sink, room_of(fact));
	if (!at)
		return sink_error(p->sink);
	packet = packet_open(at, refs.sequence, refs.any, fact->ts_ns, TYPE_INSTANT, track_uuid);
	packet.at = wire_text(packet.at, EVENT_NAME, name, strlen(name));
	packet.at = put_category(packet.at, fact->category, refs.categories);
	packet.at = wire_fixed64(packet.at, out ? EVENT_FLOW : EVENT_TERMINATING_FLOW, fact->id);
	packet.at = put_args(packet.at, fact, &refs);
	packet_close(p, &packet);
	return 0;
}

/*
 * Perfetto's counters are int64 or double. An unsigned value beyond int64 is written as the nearest
 * double, which is what a viewer can show, and exactly in an annotation.
 */
static uint8_t *put_counter(uint8_t *at, const struct arg *arg)
{
	switch (arg->type) {
	case ARG_DOUBLE:
		return wire_double(at, EVENT_DOUBLE_COUNTER_VALUE, arg->d);
	case ARG_UINT:
	case ARG_POINTER:
		if (arg->u > INT64_MAX) {
			at = wire_double(at, EVENT_DOUBLE_COUNTER_VALUE, (double)arg->u);
			return put_uint(at, "value", arg->u);
		}
		break;
	case ARG_STRING:
	case ARG_NULL: /* not a number */
		return wire_double(at, EVENT_DOUBLE_COUNTER_VALUE, __builtin_nan(""));
	case ARG_INT:
	case ARG_BOOL:
		break;
	}
	return wire_number(at, EVENT_COUNTER_VALUE, arg->u);
}

int perfetto_write_reading(struct perfetto *p, const struct fact *fact)
{
	struct sequence *s = perfetto_sequence(p, fact->thread);

	for (unsigned i = 0; i < fact->n_counters; i++) {
		struct packet packet;
		char *at;

		if (fact->counters[i] == EVENT_NO_VALUE)
			continue;
		at = sink_reserve(p->sink, ROOM_FIXED);
		if (!at)
			return sink_error(p->sink);
		packet = packet_open(at, s, false, fact->ts_ns, TYPE_COUNTER,
				     fact->counter_tracks[i]->uuid);
		packet.at = wire_number(packet.at, EVENT_COUNTER_VALUE, fact->counters[i]);
		packet_close(p, &packet);
	}
	return 0;
}

int perfetto_write_samples(struct perfetto *p, const struct fact *fact)
{
	struct sequence *s = perfetto_sequence(p, fact->thread);
	unsigned categories = perfetto_intern_category(p, s, fact->category);

	for (unsigned i = 0; i < args_of(fact); i++) {
		char *at = sink_reserve(p->sink, ROOM_FIXED + ROOM_CATEGORY);
		struct packet packet;

		if (!at)
			return sink_error(p->sink);
		packet = packet_open(at, s, categories, fact->ts_ns, TYPE_COUNTER,
				     fact->tracks[i]->uuid);
		packet.at = put_category(packet.at, fact->category, categories);
		packet.at = put_counter(packet.at, &fact->args[i]);
		if (fact->continued)
			packet.at = put_continued(packet.at);
		if (fact->memory)
			packet.at = put_memory(packet.at, fact->memory);
		packet_close(p, &packet);
	}
	return 0;
}
