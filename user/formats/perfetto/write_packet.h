/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The packet around a TrackEvent, for both encoders: write_ordinary.c for the frequent forms, write_event.c for all.
 */
#ifndef PROFTRACE_FORMATS_PERFETTO_WRITE_PACKET_H
#define PROFTRACE_FORMATS_PERFETTO_WRITE_PACKET_H

#include "formats/perfetto/writer.h"
#include "formats/perfetto/write_wire.h"
#include "timeline/fact.h"

enum event_type {
	TYPE_BEGIN = PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN,
	TYPE_END = PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_END,
	TYPE_INSTANT = PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_INSTANT,
	TYPE_COUNTER = PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_COUNTER,
};

enum {
	/* An event without its texts and lists, with a margin. */
	SIZE_FIXED = 256,
	/* For each counter, two tags, its track and its value. */
	SIZE_COUNTERS = EVENT_MAX_COUNTERS * 24,
	/* An annotation without its texts: three lengths, three tags, one number, TEXT_CUT_MARK. */
	SIZE_ANNOTATION = 40,
	SIZE_CATEGORY = LIMIT_NAME + INTERN_MAX_PARTS * 6,
	SIZE_EVENT = SIZE_FIXED + SIZE_COUNTERS + LIMIT_NAME + SIZE_CATEGORY,
	SIZE_LONGEST = SIZE_EVENT + EVENT_MAX_ARGS * (SIZE_ANNOTATION + LIMIT_KEY + LIMIT_STRING),
};

_Static_assert(SIZE_LONGEST < SINK_MAX_RESERVE, "sink_reserve() can reserve the longest event");
_Static_assert(PERFETTO_STACKS < 0x80 && PERFETTO_THREADS + PERFETTO_SHARED < PERFETTO_STACKS,
	       "the first id of a sequence takes one byte");

struct packet {
	uint8_t *start; /* of the packet's contents */
	uint8_t *event; /* of the event's contents */
	uint8_t *at;
};

/* Encoding an event is little more than these functions; calls would take as long as their work. */
#define INLINE static inline __attribute__((always_inline))

/* The time since the previous event of the sequence, for events that are not older than it. */
INLINE uint8_t *packet_put_delta(uint8_t *at, struct sequence *s, uint64_t ts_ns)
{
	at = wire_any(at, PACKET_TIMESTAMP, ts_ns - s->last_ns);
	s->last_ns = ts_ns;
	return at;
}

/* An event that is older than the previous one of its sequence needs a full timestamp and its clock. */
static inline uint8_t *packet_put_time(uint8_t *at, struct sequence *s, uint64_t ts_ns)
{
	if (ts_ns >= s->last_ns)
		return packet_put_delta(at, s, ts_ns);
	at = wire_number(at, PACKET_TIMESTAMP, ts_ns);
	return wire_number(at, PACKET_CLOCK, PERFETTO_CLOCK_MONOTONIC);
}

/*
 * The fields between the timestamp and the contents. No sequence_flags: NEEDS_INCREMENTAL_STATE makes a loader drop a
 * packet whose definitions are missing, but a file has all definitions before their first use.
 */
INLINE void packet_put_head(struct packet *packet, const struct sequence *s, enum event_type type,
			    uint64_t track_uuid)
{
	uint8_t *at = wire_number(packet->at, PACKET_SEQUENCE, s->id);

	at = packet->event = wire_open(at, PACKET_EVENT);
	at = wire_small(at, EVENT_TYPE, (uint8_t)type);
	if (track_uuid != s->track_uuid)
		at = wire_long(at, EVENT_TRACK, track_uuid);
	packet->at = at;
}

/* `at` is reserved space in the sink. */
static inline struct packet packet_open(char *at, struct sequence *s, uint64_t ts_ns,
					enum event_type type, uint64_t track_uuid)
{
	struct packet packet = { .start = wire_open((uint8_t *)at, TRACE_PACKET) };

	packet.at = packet_put_time(packet.start, s, ts_ns);
	packet_put_head(&packet, s, type, track_uuid);
	return packet;
}

/* Before the contents of the packet there are one byte of tag and one of length. */
static inline void packet_close(struct perfetto *p, struct packet *packet)
{
	uint8_t *end = wire_close(packet->event, packet->at);

	end = wire_close(packet->start, end);
	sink_commit(p->sink, end - (packet->start - 2));
	p->packets++;
}

/* write_event.c */
int perfetto_write_event(struct perfetto *p, const struct fact *fact, enum event_type type,
			 uint64_t track_uuid);
int perfetto_write_samples(struct perfetto *p, const struct fact *fact);

#endif
