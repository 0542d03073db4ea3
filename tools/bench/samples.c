/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measures the cost of call-stack samples (--sample) and those of other tracers. The cost to the
 * program is the time that interrupts take from it (loops_stack.c), less what they take without a
 * tracer.
 *
 * A tracer uses most of its own CPU time once: it verifies programs, reads symbols, writes out what it
 * has kept. So each is measured twice. What the longer recording takes more, for each sample that it
 * has more, is the cost of a sample; the rest is the cost of a recording.
 */
#include "peers.h"

#include <string.h>

#define RATE   "10000" /* tools/bench/peers.sh has the same */
#define ROUNDS 1000    /* milliseconds */
#define RUNS   3
#define FEW    100 /* milliseconds of the shorter recording */
#define PERF   "perf record -g"
#define SUM    "both"

static const char *const with_samples[] = { "--sample", RATE, NULL };

static const struct peer peers[] = {
	{ NULL, "proftrace --sample", "marks", "stack", ROUNDS, OUT_PERFETTO, 0, 0, with_samples },
	{ "perf-sample", PERF, "marks", "stack", ROUNDS, 0, TARGET_COMMANDED, 0, NULL },
	{ "perf-sample-dwarf", "perf record --call-graph dwarf", "marks", "stack", ROUNDS, 0,
	  TARGET_COMMANDED, 0, NULL },
	{ "bpftrace-sample", "bpftrace, counting", "marks", "stack", ROUNDS, 0, 0, 0, NULL },
};

#define N_PEERS (sizeof(peers) / sizeof(peers[0]))

static double least(const double *values, unsigned n)
{
	double low = values[0];

	while (--n)
		low = values[n] < low ? values[n] : low;
	return low;
}

static double samples_of(const struct sample *s)
{
	return s->has_stacks ? s->stacks : s->kept;
}

/* What a sample costs its program and the tracer, and a recording the tracer. */
static void add(struct bench *b, const char *row, const struct sample *s, const struct sample *few)
{
	struct results *r = &b->results;
	double samples = samples_of(s), more = samples - samples_of(few), each;
	double program = (least(s->ns, RUNS) - s->off_ns) * s->events / samples;

	results_add(r, SECTION_SAMPLES, row, "in the program", "ns", program);
	if (s->has_cpu && few->has_cpu && more > 0) {
		each = ((double)s->cpu_ns - few->cpu_ns) / more;
		results_add(r, SECTION_SAMPLES, row, "its CPU", "ns", each);
		results_add(r, SECTION_SAMPLES, row, SUM, "ns", program + each);
		results_add(r, SECTION_SAMPLES, row, "start and end", "ms",
			    (few->start_cpu_ns + few->cpu_ns - each * samples_of(few)) / 1e6);
	}
	if (s->has_bytes)
		results_add(r, SECTION_SAMPLES, row, "bytes", "bytes", s->bytes / samples);
	if (s->has_stacks)
		results_add(r, SECTION_SAMPLES, row, "lost %", "%",
			    100 * s->stacks_lost / (samples + s->stacks_lost));
}

/* Ratios within one repetition. */
static void add_ratios(struct results *r)
{
	double base = results_last(r, SECTION_SAMPLES, PERF, SUM), sum;
	unsigned i;

	for (i = 0; base > 0 && i < N_PEERS; i++) {
		sum = results_last(r, SECTION_SAMPLES, peers[i].row, SUM);
		if (strcmp(peers[i].row, PERF) && sum > 0)
			results_add(r, SECTION_SAMPLES, peers[i].row, "of perf -g", "ratio",
				    sum / base);
	}
}

/*
 * How much of a program's time has stacks without the end that tables would show, because they are still read: clang has
 * two libraries with a million rows each.
 */
static void measure_tables(struct bench *b)
{
	static const char command[] =
		"trap 'rm -f \"$0\" \"$0.pftrace\"' EXIT\n"
		"build/proftrace record -q --sample 997 -e none --summary-json \"$0\" -o "
		"\"$0.pftrace\" -- "
		"clang -D_GNU_SOURCE -O2 -w -Iuser -Iinclude -Ibuild/gen -I. -S -o - "
		"user/formats/perfetto/writer.c >/dev/null &&\n"
		"sed -n 's/.*\"stacks_pending\": \\([0-9]*\\).*/pending \\1/p' \"$0\"";
	char path[512];
	const char *const argv[] = { "sh", "-c", command, path, NULL };
	struct subject s;
	unsigned pending;

	snprintf(path, sizeof(path), "%s/tables.summary", b->directory);
	if (subject_start(&s, argv, SUBJECT_MUTE, false))
		return;
	if (!subject_answer(&s) && sscanf(s.line, "pending %u", &pending) == 1)
		results_add(&b->results, SECTION_SAMPLES, "clang, until its tables are read", "ms",
			    "ms", pending / 0.997);
	else
		results_note(&b->results, SECTION_SAMPLES, "clang cannot be recorded");
	subject_end(&s, NULL);
}

/* Returns whether there are samples; otherwise a note says why not. */
static bool has_samples(struct bench *b, const struct peer *p, const struct load *loads, unsigned n,
			struct sample *s)
{
	int error = peer_sample(b, SECTION_SAMPLES, p, loads, n, s);

	if (error < 0)
		peer_failed(b, SECTION_SAMPLES, p->row, s, error);
	else if (!error && !samples_of(s))
		results_note(&b->results, SECTION_SAMPLES, "%s took no sample", p->row);
	return !error && samples_of(s);
}

int measure_samples(struct bench *b)
{
	const struct load load = { .loop = "stack", .off = ROUNDS, .off_runs = RUNS };
	const struct load loads[RUNS] = { load, load, load };
	const struct load less = { .loop = "stack", .rounds = FEW, .off = 1 };
	unsigned i;

	for (i = 0; i < N_PEERS; i++) {
		struct sample few, s;

		if (has_samples(b, &peers[i], &less, 1, &few) &&
		    has_samples(b, &peers[i], loads, RUNS, &s))
			add(b, peers[i].row, &s, &few);
	}
	add_ratios(&b->results);
	measure_tables(b);
	results_note(&b->results, SECTION_SAMPLES,
		     "uftrace and LTTng-UST are left out: they take no samples");
	return 0;
}
