/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Converts all times of a file to CLOCK_MONOTONIC. A ClockSnapshot has the readings of several clocks at one moment;
 * the latest one before a packet is used; of the clocks of a sequence, the one that began the clock. Without any, times are not converted, since they are of one clock anyway.
 */
#include "formats/perfetto/reader.h"

enum {
	CLOCK_REALTIME_ID = PERFETTO__PROTOS__BUILTIN_CLOCK__BUILTIN_CLOCK_REALTIME,
	CLOCK_MONOTONIC_ID = PERFETTO__PROTOS__BUILTIN_CLOCK__BUILTIN_CLOCK_MONOTONIC,
	CLOCK_BOOTTIME_ID = PERFETTO__PROTOS__BUILTIN_CLOCK__BUILTIN_CLOCK_BOOTTIME,
};

static bool builtin_to_monotonic(const struct perfetto *p, uint32_t id, uint64_t ns,
				 uint64_t *ret_ns)
{
	*ret_ns = ns;
	if (id == CLOCK_MONOTONIC_ID)
		return true;
	if (!p->clock_known[id])
		return !p->snapshot_seen;
	/* Without a monotonic reading, the boot clock is used in its place, everywhere in the file. */
	if (p->clock_known[CLOCK_MONOTONIC_ID])
		*ret_ns = ns - p->clocks[id] + p->clocks[CLOCK_MONOTONIC_ID];
	else if (p->clock_known[CLOCK_BOOTTIME_ID])
		*ret_ns = ns - p->clocks[id] + p->clocks[CLOCK_BOOTTIME_ID];
	return true;
}

/* The clock, or else the first free one, or else the last one. */
static struct sequence_clock *sequence_clock(struct sequence *s, uint32_t id)
{
	unsigned i;

	for (i = 0; i < SEQUENCE_CLOCKS - 1; i++) {
		if (s->clocks[i].id == id || !s->clocks[i].id)
			break;
	}
	return &s->clocks[i];
}

void perfetto_use_clock(struct sequence *s, uint32_t id)
{
	struct sequence_clock *clock = sequence_clock(s, id);
	const struct sequence_clock used = *clock;

	s->clock_id = id;
	if (!id || used.id != id)
		return;
	*clock = s->clocks[0];
	s->clocks[0] = used;
}

static void set_sequence_clock(struct sequence *s, const Perfetto__Protos__ClockSnapshot__Clock *c,
			       uint64_t monotonic)
{
	struct sequence_clock *clock = sequence_clock(s, c->clock_id);

	clock->id = c->clock_id;
	clock->is_incremental = c->is_incremental;
	clock->multiplier = c->unit_multiplier_ns ? c->unit_multiplier_ns : 1;
	clock->last = c->timestamp * clock->multiplier;
	clock->offset = monotonic - clock->last;
}

static int perfetto_send_clock(struct perfetto *p)
{
	draft_event(p->draft, EVENT_CLOCK, p->clocks[CLOCK_MONOTONIC_ID], 0, 0);
	p->draft->event.clock = (struct clock_reading){
		.monotonic = p->clocks[CLOCK_MONOTONIC_ID],
		.boottime = p->clocks[CLOCK_BOOTTIME_ID],
		.realtime = p->clocks[CLOCK_REALTIME_ID],
	};
	/* Two readings always differ a little; our own files write equal ones if the boot time is unknown. */
	if (p->draft->event.clock.boottime == p->draft->event.clock.monotonic)
		p->draft->event.clock.boottime = 0;
	origin_clock(p->sink, &p->draft->event.clock);
	return draft_send_bare(p->draft);
}

/*
 * Whether it only relates the clock of a sequence to one that is known. That reading may be of any time, and beside the
 * earlier readings of other clocks it would be wrong.
 */
static bool snapshot_is_of_sequence(const struct perfetto *p,
				    const Perfetto__Protos__ClockSnapshot *snapshot)
{
	unsigned n_known = 0, n_own = 0;

	for (size_t i = 0; i < snapshot->n_clocks; i++) {
		const uint32_t id = snapshot->clocks[i]->clock_id;

		n_own += id >= BUILTIN_CLOCKS;
		if (id && id < BUILTIN_CLOCKS)
			n_known += p->clock_known[id] ? 1 : 2;
	}
	return n_own && n_known == 1;
}

static bool perfetto_read_builtin_clocks(struct perfetto *p,
					 const Perfetto__Protos__ClockSnapshot *snapshot)
{
	bool news = false;

	for (size_t i = 0; i < snapshot->n_clocks; i++) {
		const Perfetto__Protos__ClockSnapshot__Clock *c = snapshot->clocks[i];

		if (c->clock_id == 0 || c->clock_id >= BUILTIN_CLOCKS)
			continue;
		news |= !p->clock_known[c->clock_id] || p->clocks[c->clock_id] != c->timestamp;
		p->clocks[c->clock_id] = c->timestamp;
		p->clock_known[c->clock_id] = p->snapshot_seen = true;
	}
	return news;
}

int perfetto_snapshot(struct perfetto *p, struct sequence *s,
		      const Perfetto__Protos__ClockSnapshot *snapshot)
{
	uint64_t monotonic = 0;
	bool found = false, news = false;

	if (!snapshot_is_of_sequence(p, snapshot))
		news = perfetto_read_builtin_clocks(p, snapshot);
	if (snapshot->has_primary_trace_clock && snapshot->primary_trace_clock > 0 &&
	    (int)snapshot->primary_trace_clock < BUILTIN_CLOCKS)
		p->primary_clock = (uint32_t)snapshot->primary_trace_clock;
	for (size_t i = 0; i < snapshot->n_clocks && !found; i++) {
		const Perfetto__Protos__ClockSnapshot__Clock *c = snapshot->clocks[i];

		found = c->clock_id && c->clock_id < BUILTIN_CLOCKS &&
			builtin_to_monotonic(p, c->clock_id, c->timestamp, &monotonic);
	}
	for (size_t i = 0; i < snapshot->n_clocks && found; i++) {
		const Perfetto__Protos__ClockSnapshot__Clock *c = snapshot->clocks[i];

		if (s && c->clock_id >= BUILTIN_CLOCKS)
			set_sequence_clock(s, c, monotonic);
	}
	return news && p->clock_known[CLOCK_MONOTONIC_ID] ? perfetto_send_clock(p) : 0;
}

bool perfetto_find_time(struct perfetto *p, struct sequence *s, const Packet *packet,
			uint64_t *ret_ns)
{
	struct sequence_clock *clock;
	uint32_t id = packet->timestamp_clock_id;

	if (!packet->has_timestamp)
		return false;
	if (!packet->has_timestamp_clock_id && s)
		id = s->clock_id;
	if (!id)
		id = p->primary_clock ? p->primary_clock : CLOCK_BOOTTIME_ID;
	*ret_ns = packet->timestamp;
	if (id < BUILTIN_CLOCKS) {
		if (!builtin_to_monotonic(p, id, packet->timestamp, ret_ns))
			return false;
	} else {
		clock = s ? sequence_clock(s, id) : NULL;
		if (!clock || clock->id != id)
			return false;
		clock->last = packet->timestamp * clock->multiplier +
			      (clock->is_incremental ? clock->last : 0);
		*ret_ns = clock->last + clock->offset;
	}
	/* A larger time was negative or malformed. */
	return *ret_ns <= INT64_MAX;
}

bool perfetto_boottime(const struct perfetto *p, uint64_t ns, uint64_t *ret_ns)
{
	return builtin_to_monotonic(p, CLOCK_BOOTTIME_ID, ns, ret_ns) && *ret_ns <= INT64_MAX;
}
