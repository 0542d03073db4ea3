/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Context switches of a merge. Each recording has those of all CPUs of its machine. So when several
 * recordings of one machine overlap, only one of them may contribute its switches, or all would be
 * there twice; and switches of another machine would be on CPUs with the same numbers.
 *
 * Recordings are read in the order in which they began (choose_order), so on each CPU a recording
 * continues after the last switch of those before it. Each recording takes its own time for a
 * switch, a few hundred nanoseconds apart, so the first switch after the last one may be the same
 * one again.
 */
#include <stdlib.h>
#include <string.h>

#include "merge/merge.h"

enum {
	MAX_CPUS = 1024,
	/* At worst, both recorders were preempted between the switch and taking its time. */
	SAME_NS = 1000000,
};

/* The latest context switch of a CPU. */
struct latest {
	uint64_t ns; /* 0: none */
	uint32_t from, to;
};

struct merge_sched {
	unsigned recording;
	/* The latest times on any CPU, now and before this recording. */
	uint64_t until, accepted_until;
	struct latest cpus[MAX_CPUS];	  /* of everything accepted so far */
	struct latest previous[MAX_CPUS]; /* of everything accepted before this recording */
	bool goes_on[MAX_CPUS];		  /* this recording has had something new for the CPU */
};

static void merge_sched_begin(struct merge_sched *s, unsigned recording)
{
	s->recording = recording;
	s->accepted_until = s->until;
	memcpy(s->previous, s->cpus, sizeof(s->previous));
	memset(s->goes_on, 0, sizeof(s->goes_on));
}

static bool merge_sched_has(struct merge_sched *s, const struct event *e)
{
	const struct event_sched *es = &e->sched;
	const struct latest *previous;

	if (e->kind == EVENT_SCHED_GAP || es->cpu >= MAX_CPUS)
		return e->ts_ns <= s->accepted_until;
	previous = &s->previous[es->cpu];
	if (!previous->ns || s->goes_on[es->cpu])
		return false;
	if (e->ts_ns <= previous->ns)
		return true;
	return e->kind == EVENT_SWITCH && e->ts_ns - previous->ns < SAME_NS &&
	       e->tid == previous->from && es->tid == previous->to;
}

bool merge_sched_accept(struct merge_sched *s, unsigned recording, const struct event *e)
{
	unsigned cpu = e->sched.cpu;

	if (s->recording != recording)
		merge_sched_begin(s, recording);
	if (merge_sched_has(s, e))
		return false;
	if (e->ts_ns > s->until)
		s->until = e->ts_ns;
	if (e->kind != EVENT_SWITCH || cpu >= MAX_CPUS)
		return true;
	s->goes_on[cpu] = true;
	if (e->ts_ns >= s->cpus[cpu].ns)
		s->cpus[cpu] = (struct latest){ e->ts_ns, e->tid, e->sched.tid };
	return true;
}

struct merge_sched *merge_sched_new(void)
{
	return calloc(1, sizeof(struct merge_sched));
}
