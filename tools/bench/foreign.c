/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What can be recorded of a program without a marker in it, beside other tracers: threads that take
 * turns on a processor (--sched), system calls (--syscalls), probes of others (-u), and functions (-f);
 * and what the first two cost a program while another one is recorded. What it costs is what an event
 * takes beyond what the same loop takes while nobody traces. Of threads that take turns it is the CPU
 * time of both, and a turn is a switch and the waking before it.
 */
#include "peers.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const char *const with_sched[] = { "--sched", NULL };
static const char *const with_reasons[] = { "--wait-reasons", NULL };
static const char *const with_calls[] = { "--syscalls", NULL };
static const char *const with_usdt[] = { "-u", "proftrace_bench:hit", NULL };
static const char *const with_func[] = { "-f", "bench_called", NULL };
static const char *const with_returns[] = { "-f", "bench_called", "--return-probes", NULL };

#define OURS(loop, rounds, options)                                                   \
	{                                                                             \
		NULL, "proftrace", "marks", loop, rounds, OUT_PERFETTO, 0, 0, options \
	}
#define OTHERS(loop, rounds, options)                                                       \
	{                                                                                   \
		NULL, "proftrace, of another program", "marks", loop, rounds, OUT_PERFETTO, \
			TARGET_BESIDE, 0, options                                           \
	}
#define PERF(loop, rounds)                                                                       \
	{                                                                                        \
		"perf-" loop, "perf record", "marks", loop, rounds, 0, TARGET_COMMANDED, 0, NULL \
	}
#define BPFTRACE(loop, rounds)                                                               \
	{                                                                                    \
		"bpftrace-" loop, "bpftrace, counting", "marks", loop, rounds, 0, 0, 0, NULL \
	}

static const struct seen {
	const char *column;
	struct peer peers[5];
} all[] = {
	{ "a switch",
	  { OURS("switch", 20000, with_sched), OTHERS("switch", 20000, with_reasons),
	    PERF("switch", 20000), BPFTRACE("switch", 20000) } },
	{ "a system call",
	  { { NULL, "two empty BPF programs", "marks", "syscall", 500000, 0, 0, FLOOR_CALLS, NULL },
	    OURS("syscall", 500000, with_calls),
	    OTHERS("syscall", 500000, with_calls),
	    PERF("syscall", 100000),
	    BPFTRACE("syscall", 500000) } },
	{ "a probe of others",
	  { OURS("probe", 100000, with_usdt), PERF("probe", 100000), BPFTRACE("probe", 100000) } },
	{ "a function's entry or exit",
	  { OURS("call", 50000, with_func),
	    { NULL, "proftrace, return probes", "marks", "call", 50000, OUT_PERFETTO, 0, 0,
	      with_returns },
	    PERF("call", 50000),
	    BPFTRACE("call", 50000),
	    { "uftrace", "uftrace, built for it", "functions", "call", 500000, 0, TARGET_UNDER, 0,
	      NULL } } },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void report_lost(struct bench *b, const char *column, const struct peer *p,
			const struct sample *s)
{
	if (s->switches_lost)
		results_note(&b->results, SECTION_FOREIGN, "%s, %s: %" PRIu64 " lost", p->row,
			     column, s->switches_lost);
	if (s->has_kept && strcmp(p->loop, "switch") && strcmp(p->loop, "syscall") &&
	    s->kept < s->events)
		results_note(&b->results, SECTION_FOREIGN,
			     "%s, %s: %" PRIu64 " of %" PRIu64 " lost", p->row, column,
			     s->events - s->kept, s->events);
}

static void measure_peer(struct bench *b, const char *column, const struct peer *p)
{
	const struct load load = { .loop = p->loop, .off = p->rounds };
	struct sample s;
	int error = peer_sample(b, SECTION_FOREIGN, p, &load, 1, &s);
	char what[80];

	snprintf(what, sizeof(what), "%s, %s", p->row, column);
	if (error < 0)
		peer_failed(b, SECTION_FOREIGN, what, &s, error);
	if (error)
		return;
	if (s.has_off && !p->name)
		results_add(&b->results, SECTION_FOREIGN, "the same, while nobody traces", column,
			    "ns", s.off_ns);
	/* Below nothing where the loop itself varies by more than that. */
	results_add(&b->results, SECTION_FOREIGN, p->row, column, "ns", s.ns[0] - s.off_ns);
	report_lost(b, column, p, &s);
}

int measure_foreign(struct bench *b)
{
	unsigned i, j;

	for (i = 0; i < COUNT(all); i++) {
		for (j = 0; j < COUNT(all[i].peers) && all[i].peers[j].row; j++)
			measure_peer(b, all[i].column, &all[i].peers[j]);
	}
	results_note(&b->results, SECTION_FOREIGN,
		     "uftrace is left out of all but functions: it takes no others");
	return 0;
}
