// SPDX-License-Identifier: BSD-2-Clause
/*
 * The Perfetto trace: a stream of packets, written as they come and never gone back to, so that a
 * file cut off anywhere loads up to its last whole packet. Each thread has a sequence of its own.
 *
 *	perfetto_packets.c	start and end, tracks, clocks, losses: by generated code
 *	perfetto_event.c	events: by hand
 *	perfetto_ordinary.c	those events that have nothing special
 *	perfetto_sequence.c	what packets of a thread need not repeat
 *	perfetto_sched.c	switches and wakings of threads, in bundles
 *	perfetto_stacks.c	samples, call stacks, and what their frames are called
 *	perfetto_intern.c	which names were defined already
 *
 * Tracks keep the uuids that the timeline gave them. Times are CLOCK_MONOTONIC as recorded; clock
 * snapshots let the loader place them beside traces of other clocks.
 */
#include <stdlib.h>

#include "handlers/perfetto_internal.h"

/* The innermost track that is known of those a mark belongs to. */
static uint64_t track_of(struct perfetto *p, const struct fact *fact, enum event_scope scope)
{
	if (scope == SCOPE_THREAD && fact->thread)
		return fact->thread->uuid;
	if (scope != SCOPE_GLOBAL && fact->process)
		return fact->process->uuid;
	if (!p->global_declared)
		perfetto_write_global_track(p);
	return p->global_uuid;
}

static int perfetto_fact(struct handler *handler, const struct fact *fact)
{
	struct perfetto *p = (struct perfetto *)handler;

	switch (fact->kind) {
	case FACT_PROCESS:
		return perfetto_write_process(p, fact->process);
	case FACT_THREAD:
		return perfetto_write_thread(p, fact->thread);
	case FACT_TRACK:
		return perfetto_write_track(p, fact->tracks[0]);
	case FACT_BEGIN:
	case FACT_END:
		return perfetto_write_slice(p, fact);
	case FACT_INSTANT:
		return perfetto_write_instant(p, fact, track_of(p, fact, fact->scope));
	case FACT_COUNTER:
		return perfetto_write_counters(p, fact);
	case FACT_READING:
		return perfetto_write_reading(p, fact);
	case FACT_ASYNC_BEGIN:
	case FACT_ASYNC_END:
		return perfetto_write_async(p, fact);
	case FACT_FLOW_OUT:
	case FACT_FLOW_IN:
		return perfetto_write_flow(p, fact, track_of(p, fact, SCOPE_THREAD));
	case FACT_LOST:
		return perfetto_write_lost(p, fact, track_of(p, fact, SCOPE_THREAD));
	case FACT_CLOCK:
		return perfetto_write_clock(p, &fact->clock);
	case FACT_GONE: /* tracks of this format never end */
		if (fact->thread)
			perfetto_sequence_gone(p, fact->thread);
		return 0;
	case FACT_LEFT: /* the pool's sample tells of them together */
		return 0;
	case FACT_SAMPLE:
		return perfetto_write_sample(p, fact);
	case FACT_SWITCH:
	case FACT_WAKING:
		return perfetto_write_sched(p, fact);
	case FACT_SCHED_GAP:
		return perfetto_write_sched_gap(p, fact);
	}
	return 0;
}

static int perfetto_flush(struct handler *handler)
{
	struct perfetto *p = (struct perfetto *)handler;
	int error = perfetto_sched_flush(p);

	return error ? error : sink_flush(p->sink);
}

static int perfetto_close(struct handler *handler, const struct account *account)
{
	struct perfetto *p = (struct perfetto *)handler;
	int r = perfetto_sched_flush(p), closed;

	if (r == 0)
		r = perfetto_write_symbols(p);
	if (r == 0)
		r = perfetto_write_stats(p, account);
	closed = sink_close(p->sink);

	return r < 0 ? r : closed;
}

static void perfetto_free(struct handler *handler)
{
	struct perfetto *p = (struct perfetto *)handler;

	sink_free(p->sink);
	perfetto_sched_free(p);
	free(p->frames.bits);
	free(p->used);
	perfetto_sequences_free(p);
	free(p);
}

static const struct handler_ops perfetto_ops = {
	.name = "perfetto",
	.fact = perfetto_fact,
	.flush = perfetto_flush,
	.close = perfetto_close,
	.free = perfetto_free,
};

struct handler *perfetto_handler_new(struct sink *sink, const struct trace_info *info)
{
	struct perfetto *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->handler.ops = &perfetto_ops;
	p->sink = sink;
	/* The timeline counts its uuids up from a base; the highest bit keeps this one apart. */
	p->global_uuid = (info->trace_uuid[0] ^ info->trace_uuid[1]) | 1ull << 63;
	p->shared.id = PERFETTO_SHARED;
	for (unsigned i = 0; i < PERFETTO_HINTS; i++)
		p->hints[i] = p->threads; /* none that is right, as long as it has no thread */
	if (perfetto_write_start(p, info) < 0 && !sink_error(sink)) {
		free(p); /* out of memory; a sink's error comes with the first fact */
		return NULL;
	}
	return &p->handler;
}
