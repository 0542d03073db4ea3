// SPDX-License-Identifier: BSD-2-Clause
/*
 * The Perfetto trace writer. A trace is a stream of packets that are only appended, so that a file that was cut off
 * loads up to its last complete packet. Each thread has a packet sequence of its own.
 *
 *	write_packets.c		start and end, tracks, clocks, losses: by generated code
 *	write_event.c		any event, encoded by hand
 *	write_ordinary.c	the frequent forms of events, encoded faster
 *	write_sequence.c	the state that packets of a thread share
 *	write_sched.c		context switches and wakings, in bundles
 *	write_stacks.c		samples, call stacks and symbols
 *	write_intern.c		definitions of names
 *
 * Tracks keep the uuids of the timeline. Times are CLOCK_MONOTONIC as recorded; clock snapshots let a loader align
 * the trace with others.
 */
#include <stdlib.h>

#include "formats/perfetto/writer.h"

/* The track of the thread, the process or all, whichever is the first known one within the scope. */
static uint64_t fact_track_uuid(struct perfetto *p, const struct fact *fact, enum event_scope scope)
{
	if (scope == SCOPE_THREAD && fact->thread)
		return fact->thread->uuid;
	if (scope != SCOPE_GLOBAL && fact->process)
		return fact->process->uuid;
	if (!p->global_declared)
		perfetto_write_global_track(p);
	return p->global_uuid;
}

static int perfetto_fact(struct consumer *consumer, const struct fact *fact)
{
	struct perfetto *p = (struct perfetto *)consumer;

	switch (fact->kind) {
	case FACT_PROCESS:
	case FACT_LABELS:
		return perfetto_write_process(p, fact->process);
	case FACT_THREAD:
		return perfetto_write_thread(p, fact->thread);
	case FACT_TRACK:
		return perfetto_write_track(p, fact->tracks[0]);
	case FACT_BEGIN:
	case FACT_END:
		return perfetto_write_slice(p, fact);
	case FACT_INSTANT:
		return perfetto_write_instant(p, fact,
					      fact->tracks ? fact->tracks[0]->uuid
							   : fact_track_uuid(p, fact, fact->scope));
	case FACT_COUNTER:
		return perfetto_write_counters(p, fact);
	case FACT_READING:
		return perfetto_write_reading(p, fact);
	case FACT_ASYNC_BEGIN:
	case FACT_ASYNC_END:
		return perfetto_write_async(p, fact);
	case FACT_FLOW_OUT:
	case FACT_FLOW_IN:
		return perfetto_write_flow(p, fact, fact_track_uuid(p, fact, SCOPE_THREAD));
	case FACT_LOST:
		return perfetto_write_lost(p, fact, fact_track_uuid(p, fact, SCOPE_THREAD));
	case FACT_CLOCK:
		return perfetto_write_clock(p, &fact->clock);
	case FACT_EXIT: /* tracks of this format never end */
		if (fact->thread)
			perfetto_sequence_release(p, fact->thread);
		return 0;
	case FACT_LEAK: /* in the total of the memory pool */
		return 0;
	case FACT_SAMPLE:
		return perfetto_write_sample(p, fact);
	case FACT_SWITCH:
	case FACT_WAKING:
		return perfetto_write_sched(p, fact);
	case FACT_SCHED_GAP:
		return perfetto_write_sched_gap(p, fact);
	case FACT_WAIT:
		return perfetto_write_wait(p, fact);
	}
	return 0;
}

static int perfetto_flush(struct consumer *consumer)
{
	struct perfetto *p = (struct perfetto *)consumer;
	int error = perfetto_sched_flush(p);

	return error ? error : sink_flush(p->sink);
}

static int perfetto_close(struct consumer *consumer, const struct account *account)
{
	struct perfetto *p = (struct perfetto *)consumer;
	int r = perfetto_sched_flush(p), closed;

	if (r == 0)
		r = perfetto_write_symbols(p);
	if (r == 0)
		r = perfetto_write_stats(p, account);
	closed = sink_close(p->sink);

	return r < 0 ? r : closed;
}

static void perfetto_free(struct consumer *consumer)
{
	struct perfetto *p = (struct perfetto *)consumer;

	sink_free(p->sink);
	perfetto_sched_free(p);
	free(p->frames.bits);
	free(p->used);
	perfetto_sequences_free(p);
	free(p);
}

static const struct consumer_ops perfetto_ops = {
	.fact = perfetto_fact,
	.flush = perfetto_flush,
	.close = perfetto_close,
	.free = perfetto_free,
};

struct consumer *perfetto_writer_new(struct sink *sink, const struct trace_info *info)
{
	struct perfetto *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->consumer.ops = &perfetto_ops;
	p->sink = sink;
	/* Uuids of the timeline do not have the highest bit. */
	p->global_uuid = (info->trace_uuid[0] ^ info->trace_uuid[1]) | 1ull << 63;
	p->shared.id = PERFETTO_SHARED;
	p->last_id = PERFETTO_STACKS;
	for (unsigned i = 0; i < PERFETTO_HINTS; i++)
		p->hints[i] = p->threads; /* has no thread yet, so that it never matches */
	if (perfetto_write_start(p, info) < 0 && !sink_error(sink)) {
		free(p); /* out of memory; the first fact returns an error of the sink */
		return NULL;
	}
	return &p->consumer;
}
