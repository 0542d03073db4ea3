// SPDX-License-Identifier: BSD-2-Clause
/*
 * Each thread writes to a packet sequence of its own. Its events are in the order of their times, so a timestamp is
 * the difference to the previous event, which takes two bytes instead of nine, and the track and the counters are
 * named once, as defaults of the sequence. Together this halves the size of an event.
 *
 * There are only as many sequences at a time as have an id of one byte. A thread that finds no free one, and none that has not
 * been used for long, writes to the shared sequence and names its track in each event. The sequence of an exited
 * thread keeps its interned names for the next thread, and its clock.
 *
 * Unless the next thread begins before the last event of the previous one: `proftrace merge` reads files one after the
 * other that were recorded at the same time. A clock cannot go back, and events with full timestamps take half as many bytes
 * again and twice the time. So the sequence gets another clock, and when it has had all, another id. That one begins without
 * names: if each thread had an id of its own, a merge of many threads would have more names than readers keep.
 */
#include <stdlib.h>

#include "formats/perfetto/writer.h"

#define MOST_DEFINITIONS (1u << 19) /* half of what reader.h takes */

enum {
	/* A sequence that was not used while others were looked for this often may get another thread. */
	UNUSED_TURNS = 4096,
	/* What a thread begins earlier without another clock: recorders sort events nearly exactly. */
	MAX_BACK_NS = 1000000,
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

	PUT_FIELD(defaults, timestamp_clock_id, s->clock_id);
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

/*
 * Uses a clock of the sequence from now on, which begins at `ns`. Perfetto's loader compares snapshots of the same clocks only,
 * so that those of another one may have an earlier time of the machine.
 */
static int sequence_begin_clock(struct perfetto *p, struct sequence *s, uint32_t clock_id,
				uint64_t ns, Perfetto__Protos__TracePacket *packet)
{
	Perfetto__Protos__ClockSnapshot snapshot = PERFETTO__PROTOS__CLOCK_SNAPSHOT__INIT;
	Perfetto__Protos__ClockSnapshot__Clock own = PERFETTO__PROTOS__CLOCK_SNAPSHOT__CLOCK__INIT;
	Perfetto__Protos__ClockSnapshot__Clock machine = own;
	Perfetto__Protos__ClockSnapshot__Clock *list[] = { &own, &machine };
	const uint32_t previous = s->clock_id;
	int r;

	own.has_timestamp = machine.has_timestamp = true;
	own.timestamp = machine.timestamp = ns;
	PUT_FIELD(own, clock_id, clock_id);
	PUT_FIELD(own, is_incremental, true);
	PUT_FIELD(machine, clock_id, PERFETTO_CLOCK_MONOTONIC);
	PUT_LIST(snapshot, clocks, 2, list);
	packet->clock_snapshot = &snapshot;
	s->clock_id = clock_id;
	r = sequence_write_defaults(p, s, packet);
	if (r < 0)
		s->clock_id = previous;
	else
		s->last_ns = ns;
	return r;
}

static int sequence_begin_at(struct perfetto *p, struct sequence *s, uint64_t ns)
{
	Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;

	PUT_FIELD(packet, sequence_flags, PERFETTO_CLEARED);
	PUT_FIELD(packet, first_packet_on_sequence, true);
	perfetto_intern_clear(&s->interned);
	return sequence_begin_clock(p, s, PERFETTO_CLOCK_OWN, ns, &packet);
}

/* A sequence may begin several times, with times that do not go back. */
int perfetto_sequence_begin(struct perfetto *p, struct sequence *s)
{
	return sequence_begin_at(p, s, p->last_clock.monotonic);
}

int perfetto_sequence_drop(struct perfetto *p, struct sequence *s)
{
	Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;

	PUT_FIELD(packet, sequence_flags, PERFETTO_CLEARED);
	PUT_FIELD(packet, previous_packet_dropped, 1);
	perfetto_intern_clear(&s->interned);
	return sequence_write_defaults(p, s, &packet);
}

/* The interned names of the previous thread stay valid, and its clock if the time does not go back. */
static int sequence_write_owner(struct perfetto *p, struct sequence *s, uint64_t ns)
{
	Perfetto__Protos__TracePacket packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
	const uint32_t previous = s->id;
	bool goes_back = s->id && s->last_ns > MAX_BACK_NS && ns < s->last_ns - MAX_BACK_NS;
	int r;

	if (goes_back && s->clock_id < PERFETTO_CLOCK_LAST)
		return sequence_begin_clock(p, s, s->clock_id + 1, ns, &packet);
	/* Under another id everything is defined again, and readers keep it all. */
	if (s->id && (!goes_back || p->last_id == PERFETTO_LAST_SEQUENCE ||
		      p->n_definitions >= MOST_DEFINITIONS))
		return sequence_write_defaults(p, s, &packet);
	s->id = s->id ? ++p->last_id : PERFETTO_SHARED + 1 + (uint32_t)(s - p->threads);
	r = sequence_begin_at(p, s, ns);
	if (r < 0)
		s->id = previous;
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

struct sequence *perfetto_sequence_assign(struct perfetto *p, const struct fact *fact)
{
	const struct thread *thread = fact->thread;
	struct sequence *s = sequence_by_uuid(p, thread->uuid);

	p->turn++;
	if (!s) {
		s = sequence_find_free(p);
		if (!s)
			return &p->shared;
		sequence_set_owner(p, s, thread->uuid);
		if (sequence_write_owner(p, s, fact->ts_ns) < 0) {
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
