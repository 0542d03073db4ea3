// SPDX-License-Identifier: BSD-2-Clause
/*
 * TrackEvents, encoded straight into the sink's buffer.
 *
 * An event is written in two steps. First every name it refers to is looked up, which may write
 * packets that define new ones. Then room is taken for the longest it can be, and the packet is
 * written there from front to back; nothing is allocated and nothing is measured beforehand.
 */
#include <errno.h>

#include "handlers/perfetto_internal.h"
#include "handlers/perfetto_wire.h"
#include "handlers/text_limit.h"

enum event_type {
	TYPE_BEGIN = PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN,
	TYPE_END = PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_END,
	TYPE_INSTANT = PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_INSTANT,
	TYPE_COUNTER = PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_COUNTER,
};

/* Field numbers, as in proto/perfetto_trace.proto. */
enum {
	TRACE_PACKET = 1,

	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_EVENT = 11,
	PACKET_FLAGS = 13,
	PACKET_CLOCK = 58,

	EVENT_CATEGORY_IID = 3,
	EVENT_ANNOTATION = 4,
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK = 11,
	EVENT_EXTRA_VALUE = 12,
	EVENT_CATEGORY = 22,
	EVENT_NAME = 23,
	EVENT_COUNTER_VALUE = 30,
	EVENT_EXTRA_TRACK = 31,
	EVENT_DOUBLE_COUNTER_VALUE = 44,
	EVENT_FLOW = 47,
	EVENT_TERMINATING_FLOW = 48,
	EVENT_CALLSTACK = 56,

	ANNOTATION_NAME_IID = 1,
	ANNOTATION_BOOL = 2,
	ANNOTATION_UINT = 3,
	ANNOTATION_INT = 4,
	ANNOTATION_DOUBLE = 5,
	ANNOTATION_STRING = 6,
	ANNOTATION_POINTER = 7,
	ANNOTATION_NAME = 10,
};

enum {
	/* Everything of an event but its texts and lists, generously. */
	ROOM_FIXED = 256,
	/* Of a counter: two tags, its track and its value. */
	ROOM_COUNTERS = EVENT_MAX_COUNTERS * 24,
	/* Of an annotation but its texts: three lengths, three tags, one number, the mark of a cut. */
	ROOM_ANNOTATION = 40,
	ROOM_MAX = 64 * 1024,
};

_Static_assert(ROOM_FIXED + ROOM_COUNTERS + 2 * LIMIT_NAME + INTERN_MAX_PARTS * 6 +
			       EVENT_MAX_ARGS * (ROOM_ANNOTATION + LIMIT_KEY + LIMIT_STRING) <
		       ROOM_MAX,
	       "the longest event fits what a sink reserves at once");

/* What an event refers to; 0: not interned, written in full where there is something. */
struct refs {
	struct sequence *sequence;
	bool any;
	uint64_t name;
	unsigned categories;
	uint64_t callstack;
	uint64_t keys[EVENT_MAX_ARGS];
};

struct packet {
	uint8_t *start; /* of the packet's contents */
	uint8_t *event; /* of the event's contents */
	uint8_t *at;
};

static unsigned args_of(const struct fact *fact)
{
	return fact->n_args < EVENT_MAX_ARGS ? fact->n_args : EVENT_MAX_ARGS;
}

/* --- the packet around the event --------------------------------------------------------------- */

/*
 * Since the event before it of its sequence. Those of a thread come in their order; of others, one may
 * be older than the one before, and then says its time in full.
 */
static uint8_t *put_time(uint8_t *at, struct sequence *s, uint64_t ts_ns)
{
	if (ts_ns < s->last_ns) {
		at = wire_number(at, PACKET_TIMESTAMP, ts_ns);
		return wire_number(at, PACKET_CLOCK, PERFETTO_CLOCK_MONOTONIC);
	}
	at = wire_number(at, PACKET_TIMESTAMP, ts_ns - s->last_ns);
	s->last_ns = ts_ns;
	return at;
}

/* These two and write_event() are all that an ordinary event is: calls would cost as much as they do. */
#define INLINE static inline __attribute__((always_inline))

/* `refers`: to what the sequence has said before. */
INLINE bool packet_open(struct perfetto *p, struct sequence *s, bool refers, struct packet *packet,
			size_t room, uint64_t ts_ns, enum event_type type, uint64_t track_uuid)
{
	uint8_t *at = (uint8_t *)sink_reserve(p->sink, room);

	if (!at)
		return false;
	at = packet->start = wire_open(at, TRACE_PACKET);
	at = put_time(at, s, ts_ns);
	at = wire_number(at, PACKET_SEQUENCE, s->id);
	if (refers)
		at = wire_number(at, PACKET_FLAGS, PERFETTO_NEEDS);
	at = packet->event = wire_open(at, PACKET_EVENT);
	at = wire_number(at, EVENT_TYPE, type);
	if (track_uuid != s->track_uuid)
		at = wire_number(at, EVENT_TRACK, track_uuid);
	packet->at = at;
	return true;
}

INLINE int packet_close(struct perfetto *p, struct packet *packet)
{
	uint8_t *end = wire_close(packet->event, packet->at);

	end = wire_close(packet->start, end);
	/* One byte of length and one of tag stand before the contents. */
	sink_commit(p->sink, end - (packet->start - 2));
	return 0;
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

	if (reason == END_NORMAL)
		return at;
	contents = at = wire_open(at, EVENT_ANNOTATION);
	at = wire_text(at, ANNOTATION_NAME, "ended", 5);
	return wire_close(contents, wire_text(at, ANNOTATION_STRING, text, strlen(text)));
}

/* --- names, categories, arguments -------------------------------------------------------------- */

INLINE void find_refs(struct perfetto *p, const struct fact *fact, bool named, struct refs *refs)
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
	return ROOM_FIXED + ROOM_COUNTERS + 2 * LIMIT_NAME + INTERN_MAX_PARTS * 6 +
	       room_of_args(fact);
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

/* An END has no name: the loader would compare it with the open slice, and ignore it if it differs. */
static int write_event(struct perfetto *p, const struct fact *fact, enum event_type type,
		       uint64_t track_uuid)
{
	bool named = type != TYPE_END;
	struct packet packet;
	struct refs refs;
	int r;

	find_refs(p, fact, named, &refs);
	if (fact->n_counters > refs.sequence->n_counters || are_hidden(refs.sequence, fact)) {
		r = perfetto_sequence_count(p, refs.sequence, fact);
		if (r < 0)
			return r;
	}
	if (!packet_open(p, refs.sequence, refs.any, &packet, room_of(fact), fact->ts_ns, type,
			 track_uuid))
		return sink_error(p->sink);
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
	packet.at = put_end_reason(packet.at, fact->end_reason);
	packet.at = put_extra_counters(packet.at, refs.sequence, fact);
	return packet_close(p, &packet);
}

int perfetto_write_slice(struct perfetto *p, const struct fact *fact)
{
	return write_event(p, fact, fact->kind == FACT_BEGIN ? TYPE_BEGIN : TYPE_END,
			   fact->thread->uuid);
}

int perfetto_write_async(struct perfetto *p, const struct fact *fact)
{
	return write_event(p, fact, fact->kind == FACT_ASYNC_BEGIN ? TYPE_BEGIN : TYPE_END,
			   fact->tracks[0]->uuid);
}

int perfetto_write_instant(struct perfetto *p, const struct fact *fact, uint64_t track_uuid)
{
	return write_event(p, fact, TYPE_INSTANT, track_uuid);
}

/* An arrow starts or ends at the slice that is open here; the instant marks the place. */
int perfetto_write_flow(struct perfetto *p, const struct fact *fact, uint64_t track_uuid)
{
	bool out = fact->kind == FACT_FLOW_OUT;
	const char *name = out ? "flow out" : "flow in";
	struct packet packet;
	struct refs refs;

	find_refs(p, fact, true, &refs);
	if (!packet_open(p, refs.sequence, refs.any, &packet, room_of(fact), fact->ts_ns,
			 TYPE_INSTANT, track_uuid))
		return sink_error(p->sink);
	packet.at = wire_text(packet.at, EVENT_NAME, name, strlen(name));
	packet.at = put_category(packet.at, fact->category, refs.categories);
	packet.at = wire_fixed64(packet.at, out ? EVENT_FLOW : EVENT_TERMINATING_FLOW, fact->id);
	packet.at = put_args(packet.at, fact, &refs);
	return packet_close(p, &packet);
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

		if (fact->counters[i] == EVENT_NO_VALUE)
			continue;
		if (!packet_open(p, s, false, &packet, ROOM_FIXED, fact->ts_ns, TYPE_COUNTER,
				 fact->counter_tracks[i]->uuid))
			return sink_error(p->sink);
		packet.at = wire_number(packet.at, EVENT_COUNTER_VALUE, fact->counters[i]);
		packet_close(p, &packet);
	}
	return 0;
}

int perfetto_write_counters(struct perfetto *p, const struct fact *fact)
{
	struct sequence *s = perfetto_sequence(p, fact->thread);
	unsigned categories = perfetto_intern_category(p, s, fact->category);

	for (unsigned i = 0; i < args_of(fact); i++) {
		struct packet packet;

		if (!packet_open(p, s, categories, &packet,
				 ROOM_FIXED + LIMIT_NAME + INTERN_MAX_PARTS * 6, fact->ts_ns,
				 TYPE_COUNTER, fact->tracks[i]->uuid))
			return sink_error(p->sink);
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
