/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each recording tells of all CPUs of its machine. So where several were recorded at a time, one tells
 * of them, and what the others say is the same once more; and the CPUs of another machine would have the
 * numbers of the first one's.
 *
 * Recordings are read in the order in which they began (choose_order), so that one goes on, on each CPU,
 * after the last switch that those before it told of. Each of them takes the time of a switch for itself,
 * a few hundred nanoseconds apart: the first one after the last may be that one again.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/merge_sched.h"

enum {
	MAX_CPUS = 1024,
	SAME_NS = 1000000, /* both were preempted between the switch and its time, at worst */
};

/* The latest switch of a CPU. */
struct latest {
	uint64_t ns; /* 0: none */
	uint32_t from, to;
};

struct merge_sched {
	unsigned recording;
	uint64_t until, told_until;   /* of any CPU */
	struct latest cpus[MAX_CPUS]; /* of all that was taken */
	struct latest told[MAX_CPUS]; /* and of that before this recording */
	bool goes_on[MAX_CPUS];	      /* this recording told of it what is new */
};

static void begin(struct merge_sched *s, unsigned recording)
{
	s->recording = recording;
	s->told_until = s->until;
	memcpy(s->told, s->cpus, sizeof(s->told));
	memset(s->goes_on, 0, sizeof(s->goes_on));
}

static bool is_told(struct merge_sched *s, const struct event *e)
{
	const struct event_sched *es = &e->sched;
	const struct latest *told;

	if (e->kind == EVENT_SCHED_GAP || es->cpu >= MAX_CPUS)
		return e->ts_ns <= s->told_until;
	told = &s->told[es->cpu];
	if (!told->ns || s->goes_on[es->cpu])
		return false;
	if (e->ts_ns <= told->ns)
		return true;
	return e->kind == EVENT_SWITCH && e->ts_ns - told->ns < SAME_NS && e->tid == told->from &&
	       es->tid == told->to;
}

bool merge_sched_takes(struct merge_sched *s, unsigned recording, const struct event *e)
{
	unsigned cpu = e->sched.cpu;

	if (s->recording != recording)
		begin(s, recording);
	if (is_told(s, e))
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
