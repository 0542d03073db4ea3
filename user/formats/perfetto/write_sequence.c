// SPDX-License-Identifier: BSD-2-Clause
/*
 * Each thread writes to a packet sequence of its own. Its events are in the order of their times, so a timestamp is
 * the difference to the previous event, which takes two bytes instead of nine, and the track and the counters are
 * named once, as defaults of the sequence. Together this halves the size of an event.
 *
 * There are only as many sequences as have an id of one byte. A thread that finds no free one, and none that has not
 * been used for long, writes to the shared sequence and names its track in each event. The sequence of an exited
 * thread keeps its interned names for the next thread.
 */
#include <stdlib.h>

#include "formats/perfetto/writer.h"

enum {
	/* A sequence that was not used while others were looked for this often may get another thread. */
	UNUSED_TURNS = 4096,
};

static struct sequence *sequence_by_uuid(struct perfetto *p, uint64_t uuid)
{
	for (unsigned i = 0; i < PERFETTO_THREADS; i++)
		if (p->owners[i] == uuid)
			return &p->threads[i];
	return NULL;
}

/* A free sequence, or one that was not used for long, of which each call examines only one. */
static struct sequence *sequence_find_free(struct perfetto *p)
{
	struct sequence *s = sequence_by_uuid(p, 0);

	if (s)
		return s;
	s = &p->threads[p->oldest];
	p->oldest = (p->oldest + 1) % PERFETTO_THREADS;
	return p->turn - s->used > UNUSED_TURNS ? s : NULL;
}

/* --- the start of a sequence ------------------------------------------------------------------- */

static int sequence_write_defaults(struct perfetto *p, struct sequence *s,
				   Perfetto__Protos__TracePacket *packet)
{
	Perfetto__Protos__TracePacketDefaults defaults =
		PERFETTO__PROTOS__TRACE_PACKET_DEFAULTS__INIT;
	Perfetto__Protos__TrackEventDefaults event = PERFETTO__PROTOS__TRACK_EVENT_DEFAULTS__INIT;
	Perfetto__Protos__PerfSampleDefaults samples = PERFETTO__PROTOS__PERF_SAMPLE_DEFAULTS__INIT;

	PUT_FIELD(defaults, timestamp_clock_id, PERFETTO_CLOCK_OWN);
	if (s->track_uuid) {
		PUT_FIELD(event, track_uuid, s->track_uuid);
		PUT_LIST(event, extra_counter_track_uuids, s->n_counters, s->counters);
		defaults.track_event_defaults = &event;
	}
	if (s == &p->stacks)
		perfetto_sample_defaults(p, &samples);
	if (samples.timebase)
		defaults.perf_sample_defaults = &samples;
	packet->trace_packet_defaults = &defaults;
	return perfetto_write_to(p, s->id, packet);
}

/* The clock of the sequence begins with the monotonic time of the last snapshot, because snapshots never go back. */
int perfetto_sequence_begin(struct perfetto *p, struct sequence *s, bool dropped)
{
	Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
	Perfetto__Protos__ClockSnapshot snapshot = PERFETTO__PROTOS__CLOCK_SNAPSHOT__INIT;
	Perfetto__Protos__ClockSnapshot__Clock own = PERFETTO__PROTOS__CLOCK_SNAPSHOT__CLOCK__INIT;
	Perfetto__Protos__ClockSnapshot__Clock machine = own;
	Perfetto__Protos__ClockSnapshot__Clock *list[] = { &own, &machine };

	PUT_FIELD(packet, sequence_flags, PERFETTO_CLEARED);
	perfetto_intern_clear(&s->interned);
	if (dropped) {
		PUT_FIELD(packet, previous_packet_dropped, 1);
		return sequence_write_defaults(p, s, &packet);
	}
	own.has_timestamp = true;
	PUT_FIELD(own, clock_id, PERFETTO_CLOCK_OWN);
	PUT_FIELD(own, is_incremental, true);
	machine.has_timestamp = true;
	PUT_FIELD(machine, clock_id, PERFETTO_CLOCK_MONOTONIC);
	own.timestamp = machine.timestamp = s->last_ns = p->last_clock.monotonic;
	PUT_LIST(snapshot, clocks, 2, list);
	packet.clock_snapshot = &snapshot;
	PUT_FIELD(packet, first_packet_on_sequence, true);
	return sequence_write_defaults(p, s, &packet);
}

/* The interned names and the clock of the previous thread stay valid. */
static int sequence_write_owner(struct perfetto *p, struct sequence *s)
{
	Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
	int r;

	if (s->id)
		return sequence_write_defaults(p, s, &packet);
	s->id = PERFETTO_SHARED + 1 + (uint32_t)(s - p->threads);
	r = perfetto_sequence_begin(p, s, false);
	if (r < 0)
		s->id = 0;
	return r;
}

static void sequence_set_owner(struct perfetto *p, struct sequence *s, uint64_t uuid)
{
	s->track_uuid = p->owners[s - p->threads] = uuid;
	s->n_counters = 0;
}

int perfetto_sequence_set_counters(struct perfetto *p, struct sequence *s, const struct fact *fact)
{
	Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;

	if (!fact->thread || fact->thread->uuid != s->track_uuid)
		return 0;
	s->n_counters = 0;
	for (unsigned zero = 0; zero < 2; zero++) {
		for (unsigned i = 0; i < fact->n_counters; i++) {
			if ((fact->counters[i] == 0) != zero)
				continue;
			s->order[s->n_counters] = (uint8_t)i;
			s->counters[s->n_counters++] = fact->counter_tracks[i]->uuid;
		}
	}
	return sequence_write_defaults(p, s, &packet);
}

/* --- owners ------------------------------------------------------------------------------------ */

struct sequence *perfetto_sequence_assign(struct perfetto *p, const struct thread *thread)
{
	struct sequence *s = sequence_by_uuid(p, thread->uuid);

	p->turn++;
	if (!s) {
		s = sequence_find_free(p);
		if (!s)
			return &p->shared;
		sequence_set_owner(p, s, thread->uuid);
		if (sequence_write_owner(p, s) < 0) {
			sequence_set_owner(p, s, 0);
			return &p->shared;
		}
	}
	s->used = p->turn;
	*perfetto_hint(p, thread->uuid) = s;
	return s;
}

void perfetto_sequence_release(struct perfetto *p, const struct thread *thread)
{
	struct sequence *s = thread->uuid ? sequence_by_uuid(p, thread->uuid) : NULL;

	if (s)
		sequence_set_owner(p, s, 0);
}

void perfetto_sequences_free(struct perfetto *p)
{
	perfetto_intern_free(&p->shared.interned);
	perfetto_intern_free(&p->stacks.interned);
	for (unsigned i = 0; i < PERFETTO_THREADS; i++)
		perfetto_intern_free(&p->threads[i].interned);
}
