/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measures the cost of call-stack samples (--sample) and those of other tracers. The cost to the
 * program is the time that interrupts take from it (loops_stack.c), less what they take without a
 * tracer.
 */
#include "peers.h"

#include <string.h>

#define RATE   "10000" /* tools/bench/peers.sh has the same */
#define ROUNDS 300     /* milliseconds */
#define RUNS   3

static const char *const with_samples[] = { "--sample", RATE, NULL };

static const struct peer peers[] = {
	{ NULL, "proftrace --sample", "marks", "stack", ROUNDS, OUT_PERFETTO, 0, 0, with_samples },
	{ "perf-sample", "perf record -g", "marks", "stack", ROUNDS, 0, TARGET_COMMANDED, 0, NULL },
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

static void add(struct bench *b, const char *row, const struct sample *s)
{
	struct results *r = &b->results;
	double samples = s->has_stacks ? s->stacks : s->kept;
	double more = (least(s->ns, RUNS) - s->off_ns) * s->events;

	results_add(r, SECTION_SAMPLES, row, "samples", "", samples);
	results_add(r, SECTION_SAMPLES, row, "in the program", "ns", more / samples);
	if (s->has_cpu)
		results_add(r, SECTION_SAMPLES, row, "its CPU", "ns", s->cpu_ns / samples);
	if (s->has_bytes)
		results_add(r, SECTION_SAMPLES, row, "bytes", "bytes", s->bytes / samples);
	if (s->has_stacks)
		results_add(r, SECTION_SAMPLES, row, "lost %", "%",
			    100 * s->stacks_lost / (samples + s->stacks_lost));
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

int measure_samples(struct bench *b)
{
	const struct load load = { .loop = "stack", .off = ROUNDS, .off_runs = RUNS };
	const struct load loads[RUNS] = { load, load, load };
	unsigned i;

	for (i = 0; i < N_PEERS; i++) {
		struct sample s;
		int error = peer_sample(b, SECTION_SAMPLES, &peers[i], loads, RUNS, &s);

		if (error < 0)
			peer_failed(b, SECTION_SAMPLES, peers[i].row, &s, error);
		else if (!error && !(s.has_stacks ? s.stacks : s.kept))
			results_note(&b->results, SECTION_SAMPLES, "%s took no sample",
				     peers[i].row);
		else if (!error)
			add(b, peers[i].row, &s);
	}
	measure_tables(b);
	results_note(&b->results, SECTION_SAMPLES,
		     "uftrace and LTTng-UST are left out: they take no samples");
	return 0;
}
