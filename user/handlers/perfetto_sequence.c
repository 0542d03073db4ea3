// SPDX-License-Identifier: BSD-2-Clause
/*
 * Sequences. A thread has one to itself: its events come in the order of their times, so that a time
 * can be said as what passed since the event before, in two bytes instead of nine; and whose track and
 * which counters are meant is said once. Together that makes an event half as large.
 *
 * There are so many that their ids fit one byte. A thread that finds none that is free, or that was
 * left alone for long, shares one with all others that have none, and says its track with each event.
 * The sequence of a thread that is gone keeps its names for the one that has it next.
 */
#include <stdlib.h>

#include "handlers/perfetto_internal.h"

enum {
	/* So often others looked for a sequence since its thread used it: it may be another's. */
	LEFT_ALONE = 4096,
};

static struct sequence *find(struct perfetto *p, uint64_t uuid)
{
	for (unsigned i = 0; i < PERFETTO_THREADS; i++)
		if (p->owners[i] == uuid)
			return &p->threads[i];
	return NULL;
}

/* One that is free, or was not used for long. One look at a time is enough for that. */
static struct sequence *take(struct perfetto *p)
{
	struct sequence *s = find(p, 0);

	if (s)
		return s;
	s = &p->threads[p->oldest];
	p->oldest = (p->oldest + 1) % PERFETTO_THREADS;
	return p->turn - s->used > LEFT_ALONE ? s : NULL;
}

/* --- what a sequence begins with --------------------------------------------------------------- */

static int write_defaults(struct perfetto *p, struct sequence *s,
			  Perfetto__Protos__TracePacket *packet)
{
	Perfetto__Protos__TracePacketDefaults defaults =
		PERFETTO__PROTOS__TRACE_PACKET_DEFAULTS__INIT;
	Perfetto__Protos__TrackEventDefaults event = PERFETTO__PROTOS__TRACK_EVENT_DEFAULTS__INIT;
	Perfetto__Protos__PerfSampleDefaults samples = PERFETTO__PROTOS__PERF_SAMPLE_DEFAULTS__INIT;

	defaults.has_timestamp_clock_id = true;
	defaults.timestamp_clock_id = PERFETTO_CLOCK_OWN;
	if (s->track_uuid) {
		event.has_track_uuid = true;
		event.track_uuid = s->track_uuid;
		event.n_extra_counter_track_uuids = s->n_counters;
		event.extra_counter_track_uuids = s->counters;
		defaults.track_event_defaults = &event;
	}
	if (s == &p->stacks)
		perfetto_sample_defaults(p, &samples);
	if (samples.timebase)
		defaults.perf_sample_defaults = &samples;
	packet->trace_packet_defaults = &defaults;
	return perfetto_write_to(p, s->id, packet);
}

/* Its own clock shows now what the machine's showed at the last snapshot: these never go back. */
int perfetto_sequence_begin(struct perfetto *p, struct sequence *s, bool dropped)
{
	Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
	Perfetto__Protos__ClockSnapshot snapshot = PERFETTO__PROTOS__CLOCK_SNAPSHOT__INIT;
	Perfetto__Protos__ClockSnapshot__Clock own = PERFETTO__PROTOS__CLOCK_SNAPSHOT__CLOCK__INIT;
	Perfetto__Protos__ClockSnapshot__Clock machine = own;
	Perfetto__Protos__ClockSnapshot__Clock *list[] = { &own, &machine };

	packet.has_sequence_flags = true;
	packet.sequence_flags = PERFETTO_CLEARED;
	perfetto_intern_clear(&s->interned);
	if (dropped) {
		packet.has_previous_packet_dropped = true;
		packet.previous_packet_dropped = 1;
		return write_defaults(p, s, &packet);
	}
	own.has_clock_id = own.has_timestamp = own.has_is_incremental = true;
	own.clock_id = PERFETTO_CLOCK_OWN;
	own.is_incremental = true;
	machine.has_clock_id = machine.has_timestamp = true;
	machine.clock_id = PERFETTO_CLOCK_MONOTONIC;
	own.timestamp = machine.timestamp = s->last_ns = p->last_clock.monotonic;
	snapshot.n_clocks = 2;
	snapshot.clocks = list;
	packet.clock_snapshot = &snapshot;
	packet.has_first_packet_on_sequence = true;
	packet.first_packet_on_sequence = true;
	return write_defaults(p, s, &packet);
}

/* Names that were defined by its last thread stay, and so does its clock. */
static int change_owner(struct perfetto *p, struct sequence *s)
{
	Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;

	int r;

	if (s->id)
		return write_defaults(p, s, &packet);
	s->id = PERFETTO_SHARED + 1 + (uint32_t)(s - p->threads);
	r = perfetto_sequence_begin(p, s, false);
	if (r < 0)
		s->id = 0;
	return r;
}

static void set_owner(struct perfetto *p, struct sequence *s, uint64_t uuid)
{
	s->track_uuid = p->owners[s - p->threads] = uuid;
	s->n_counters = 0;
}

int perfetto_sequence_count(struct perfetto *p, struct sequence *s, const struct fact *fact)
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
	return write_defaults(p, s, &packet);
}

/* --- whose sequence ---------------------------------------------------------------------------- */

struct sequence *perfetto_sequence_look(struct perfetto *p, const struct thread *thread)
{
	struct sequence *s = find(p, thread->uuid);

	p->turn++;
	if (!s) {
		s = take(p);
		if (!s)
			return &p->shared;
		set_owner(p, s, thread->uuid);
		if (change_owner(p, s) < 0) {
			set_owner(p, s, 0);
			return &p->shared;
		}
	}
	s->used = p->turn;
	*perfetto_hint(p, thread->uuid) = s;
	return s;
}

void perfetto_sequence_gone(struct perfetto *p, const struct thread *thread)
{
	struct sequence *s = thread->uuid ? find(p, thread->uuid) : NULL;

	if (s)
		set_owner(p, s, 0);
}

void perfetto_sequences_free(struct perfetto *p)
{
	perfetto_intern_free(&p->shared.interned);
	perfetto_intern_free(&p->stacks.interned);
	for (unsigned i = 0; i < PERFETTO_THREADS; i++)
		perfetto_intern_free(&p->threads[i].interned);
}
