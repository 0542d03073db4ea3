/* SPDX-License-Identifier: BSD-2-Clause */
/* For the tests of what the reader of Perfetto traces makes of others': packets, one by one. */
#ifndef PROFTRACE_TESTS_READ_PERFETTO_TEST_H
#define PROFTRACE_TESTS_READ_PERFETTO_TEST_H

#include "readers_test.h"

#include "perfetto_trace.pb-c.h"

typedef Perfetto__Protos__TracePacket Packet;
typedef Perfetto__Protos__TrackEvent TrackEvent;
typedef Perfetto__Protos__DebugAnnotation Annotation;

enum {
	BEGIN = PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN,
	END = PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_END,
	INSTANT = PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_INSTANT,
	COUNTER = PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_COUNTER,
	PROCESS = 100, /* uuids of tracks */
	THREAD,
	LANE,
	GAUGE,
};

/* --- writing traces ---------------------------------------------------------------------------- */

struct trace {
	size_t size;
	uint8_t bytes[1 << 17];
};

static inline size_t put_varint(uint8_t *out, uint64_t value)
{
	size_t n = 0;

	for (; value > 0x7f; value >>= 7)
		out[n++] = (uint8_t)(value | 0x80);
	out[n++] = (uint8_t)value;
	return n;
}

static inline void put_field(struct trace *t, unsigned number, const void *bytes, size_t size)
{
	t->size += put_varint(t->bytes + t->size, number << 3 | 2);
	t->size += put_varint(t->bytes + t->size, size);
	assert_true(t->size + size <= sizeof(t->bytes));
	memcpy(t->bytes + t->size, bytes, size);
	t->size += size;
}

static inline void put_packet(struct trace *t, const Packet *packet)
{
	uint8_t *bytes = malloc(perfetto__protos__trace_packet__get_packed_size(packet));

	put_field(t, 1, bytes, perfetto__protos__trace_packet__pack(packet, bytes));
	free(bytes);
}

static inline void put_track(struct trace *t, uint64_t uuid, uint64_t parent, const char *name,
			     Perfetto__Protos__ProcessDescriptor *process,
			     Perfetto__Protos__ThreadDescriptor *thread,
			     Perfetto__Protos__CounterDescriptor *counter)
{
	Packet packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
	Perfetto__Protos__TrackDescriptor track = PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;

	track.has_uuid = true;
	track.uuid = uuid;
	track.has_parent_uuid = parent != 0;
	track.parent_uuid = parent;
	track.name = (char *)(uintptr_t)name;
	track.process = process;
	track.thread = thread;
	track.counter = counter;
	packet.track_descriptor = &track;
	put_packet(t, &packet);
}

static inline void put_tracks(struct trace *t)
{
	Perfetto__Protos__ProcessDescriptor process = PERFETTO__PROTOS__PROCESS_DESCRIPTOR__INIT;
	Perfetto__Protos__ThreadDescriptor thread = PERFETTO__PROTOS__THREAD_DESCRIPTOR__INIT;
	Perfetto__Protos__CounterDescriptor counter = PERFETTO__PROTOS__COUNTER_DESCRIPTOR__INIT;

	process.has_pid = thread.has_pid = thread.has_tid = true;
	process.pid = thread.pid = 1;
	thread.tid = 2;
	counter.has_unit = true;
	counter.unit = PERFETTO__PROTOS__COUNTER_DESCRIPTOR__UNIT__UNIT_SIZE_BYTES;
	put_track(t, PROCESS, 0, NULL, &process, NULL, NULL);
	put_track(t, THREAD, PROCESS, NULL, NULL, &thread, NULL);
	put_track(t, LANE, PROCESS, "lane", NULL, NULL, NULL);
	put_track(t, GAUGE, PROCESS, "gauge", NULL, NULL, &counter);
}

static inline struct trace *trace_new(void)
{
	struct trace *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	put_tracks(t);
	return t;
}

/* A packet of an event, to be changed before it is put. */
struct event_packet {
	Packet packet;
	TrackEvent event;
};

static inline void event_init(struct event_packet *e, int type, uint64_t track, uint64_t ts)
{
	perfetto__protos__trace_packet__init(&e->packet);
	perfetto__protos__track_event__init(&e->event);
	e->packet.has_timestamp = e->packet.has_trusted_packet_sequence_id = true;
	e->packet.timestamp = ts;
	e->packet.trusted_packet_sequence_id = 1;
	e->packet.track_event = &e->event;
	e->event.has_type = true;
	e->event.type = type;
	e->event.has_track_uuid = true;
	e->event.track_uuid = track;
}

static inline void put_event(struct trace *t, int type, uint64_t track, uint64_t ts,
			     const char *name)
{
	struct event_packet e;

	event_init(&e, type, track, ts);
	e.event.name = (char *)(uintptr_t)name;
	put_packet(t, &e.packet);
}

static inline void reads(struct trace *t, const char *events, uint64_t malformed)
{
	expect_events(t->bytes, t->size, events, malformed);
	free(t);
}

#endif
