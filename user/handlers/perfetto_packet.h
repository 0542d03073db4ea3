/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The packet around a TrackEvent, for both that write one: perfetto_ordinary.c, and perfetto_event.c for
 * whatever is not ordinary.
 */
#ifndef PROFTRACE_HANDLERS_PERFETTO_PACKET_H
#define PROFTRACE_HANDLERS_PERFETTO_PACKET_H

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
	ROOM_CATEGORY = LIMIT_NAME + INTERN_MAX_PARTS * 6,
	ROOM_EVENT = ROOM_FIXED + ROOM_COUNTERS + LIMIT_NAME + ROOM_CATEGORY,
	ROOM_MAX = ROOM_EVENT + EVENT_MAX_ARGS * (ROOM_ANNOTATION + LIMIT_KEY + LIMIT_STRING),
};

_Static_assert(ROOM_MAX < SINK_MAX_RESERVE, "the longest event fits what a sink reserves at once");
_Static_assert(PERFETTO_STACKS < 0x80 && PERFETTO_THREADS + PERFETTO_SHARED < PERFETTO_STACKS,
	       "a sequence's id takes one byte");

struct packet {
	uint8_t *start; /* of the packet's contents */
	uint8_t *event; /* of the event's contents */
	uint8_t *at;
};

/* An event is hardly more than these: calls would cost as much as they do. */
#define INLINE static inline __attribute__((always_inline))

/* Since the event before it of its sequence: those of a thread come in their order. */
INLINE uint8_t *put_time_since(uint8_t *at, struct sequence *s, uint64_t ts_ns)
{
	at = wire_any(at, PACKET_TIMESTAMP, ts_ns - s->last_ns);
	s->last_ns = ts_ns;
	return at;
}

/* Of others, one may be older than the one before, and then says its time in full. */
static inline uint8_t *put_time(uint8_t *at, struct sequence *s, uint64_t ts_ns)
{
	if (ts_ns >= s->last_ns)
		return put_time_since(at, s, ts_ns);
	at = wire_number(at, PACKET_TIMESTAMP, ts_ns);
	return wire_number(at, PACKET_CLOCK, PERFETTO_CLOCK_MONOTONIC);
}

/* What stands between the time and what the event says. `refers`: to what the sequence has said before. */
INLINE void packet_head(struct packet *packet, const struct sequence *s, bool refers,
			enum event_type type, uint64_t track_uuid)
{
	uint8_t *at = wire_small(packet->at, PACKET_SEQUENCE, (uint8_t)s->id);

	if (refers)
		at = wire_small(at, PACKET_FLAGS, PERFETTO_NEEDS);
	at = packet->event = wire_open(at, PACKET_EVENT);
	at = wire_small(at, EVENT_TYPE, (uint8_t)type);
	if (track_uuid != s->track_uuid)
		at = wire_long(at, EVENT_TRACK, track_uuid);
	packet->at = at;
}

/* `at`: where there is room. */
static inline struct packet packet_open(char *at, struct sequence *s, bool refers, uint64_t ts_ns,
					enum event_type type, uint64_t track_uuid)
{
	struct packet packet = { .start = wire_open((uint8_t *)at, TRACE_PACKET) };

	packet.at = put_time(packet.start, s, ts_ns);
	packet_head(&packet, s, refers, type, track_uuid);
	return packet;
}

/* One byte of tag and one of length stand before the contents of the packet. */
static inline void packet_close(struct perfetto *p, struct packet *packet)
{
	uint8_t *end = wire_close(packet->event, packet->at);

	end = wire_close(packet->start, end);
	sink_commit(p->sink, end - (packet->start - 2));
}

/* perfetto_event.c: whatever there is about it. */
int perfetto_write_event(struct perfetto *p, const struct fact *fact, enum event_type type,
			 uint64_t track_uuid);
int perfetto_write_samples(struct perfetto *p, const struct fact *fact);

#endif
