/* SPDX-License-Identifier: BSD-2-Clause */
/* What one event costs the program: by kind of marker, and by what happens to it. */
#include <inttypes.h>
#include <string.h>

#include "conditions.h"
#include "sections.h"

static const struct {
	const char *loop, *row;
} markers[] = {
	{ "begin_end", "begin + end" },
	{ "begin_end_1", "begin + end, 1 argument" },
	{ "instant", "instant" },
	{ "instant_1", "instant, 1 argument" },
	{ "instant_2", "instant, 2 arguments" },
	{ "instant_3", "instant, 3 arguments" },
	{ "instant_6", "instant, 6 arguments" },
	{ "instant_string", "instant, a string of 12" },
	{ "counter", "counter" },
	{ "counters", "counters, 2 series" },
	{ "async", "async begin + end" },
	{ "flow", "flow out + in" },
	{ "memory", "alloc + free" },
	{ "step", "step" }, /* the last: its numbers go with every event after it */
};

enum {
	N_MARKERS = sizeof(markers) / sizeof(markers[0])
};

static int start_target(struct bench *b, struct subject *s)
{
	char path[512];
	const char *const argv[] = { path, NULL };

	snprintf(path, sizeof(path), "%s/marks", b->directory);
	return subject_start(s, argv, SUBJECT_PINNED, true);
}

int measure_physical(struct bench *b)
{
	static const char *const rows[][2] = {
		{ "three_stores", "the processor's clock and three stores" },
		{ "clock_gettime", "clock_gettime" },
		{ "syscall", "a bare system call" },
	};
	struct subject target;
	int error = start_target(b, &target);
	unsigned i;
	double ns;

	if (error)
		return error;
	for (i = 0; !error && i < 3; i++) {
		error = subject_run(&target, rows[i][0], 300000, &ns, NULL);
		if (!error)
			results_add(&b->results, SECTION_PHYSICAL, rows[i][1], "ns", "ns", ns);
	}
	subject_end(&target, NULL);
	return error;
}

static int run_unrecorded(struct bench *b, struct subject *target, const char *prefix,
			  uint64_t rounds, const char *column)
{
	unsigned i;

	for (i = 0; i < N_MARKERS; i++) {
		char loop[64];
		double ns;
		int error;

		snprintf(loop, sizeof(loop), "%s%s", prefix, markers[i].loop);
		error = subject_run(target, loop, rounds, &ns, NULL);
		if (error)
			return error;
		results_add(&b->results, SECTION_OFF, markers[i].row, column, "ns", ns);
	}
	return 0;
}

/* The third is what a mark itself costs; the fourth what a recording with default options costs. */
static const struct condition recorded[] = {
	{ "empty program", NULL, 0, NULL, PROGRAM_EMPTY },
	{ "aggregated", "aggregated / empty", OUT_TABLE, NULL, 0 },
	{ "no counters", "none / empty", OUT_PERFETTO, "none", 0 },
	{ "default counters", "default / empty", OUT_PERFETTO, NULL, 0 },
	{ "batch", "batch / empty", OUT_PERFETTO | OUT_BATCH, NULL, 0 }, /* the last */
};

enum {
	N_RECORDED = sizeof(recorded) / sizeof(recorded[0])
};

static int run_recorded(struct bench *b, uint64_t rounds)
{
	struct conditioned all[N_RECORDED];
	unsigned n = N_RECORDED - !recorder_has_batch(), i;
	int error = conditions_start(b, recorded, n, all), ended;

	if (error)
		return error;
	for (i = 0; !error && i < N_MARKERS; i++)
		error = conditions_run(b, all, n, SECTION_ON, markers[i].loop, rounds,
				       markers[i].row);
	ended = conditions_end(b, all, n, SECTION_ON);
	return error ? error : ended;
}

static int run_all_unrecorded(struct bench *b, struct subject *target)
{
	uint64_t rounds = b->quick ? 1000000 : 3000000;
	int error;

	error = run_unrecorded(b, target, "out:", rounds, "compiled out");
	if (!error)
		error = run_unrecorded(b, target, "", rounds, "off");
	if (!error)
		error = subject_request(target, "raise");
	if (!error)
		error = run_unrecorded(b, target, "", rounds, "on, nobody attached");
	return error;
}

int measure_events(struct bench *b)
{
	struct subject target;
	int error = start_target(b, &target);

	if (error)
		return error;
	error = run_all_unrecorded(b, &target);
	subject_end(&target, NULL);
	return error ? error : run_recorded(b, b->quick ? 15000 : 40000);
}

int measure_made(struct bench *b)
{
	static const char *const rows[][2] = {
		{ "find_10", "among 10" },
		{ "find_1000", "among 1,000" },
		{ "find_1000000", "among 1,000,000" },
	};
	struct subject target;
	int error = start_target(b, &target);
	unsigned i;
	double ns;

	if (error)
		return error;
	for (i = 0; !error && i < 3; i++) {
		error = subject_run(&target, rows[i][0], 1000000, &ns, NULL);
		if (!error)
			results_add(&b->results, SECTION_MADE, rows[i][1], "ns", "ns", ns);
	}
	subject_end(&target, NULL);
	return error;
}
