/* SPDX-License-Identifier: BSD-2-Clause */
/* What one event costs the program: by kind of marker, and by what happens to it. */
#include <inttypes.h>
#include <string.h>

#include "empty.h"
#include "recorder.h"
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

static int run_all(struct bench *b, struct subject *target, const char *prefix, uint64_t rounds,
		   const char *section, const char *column, uint64_t *events)
{
	unsigned i;

	for (i = 0; i < N_MARKERS; i++) {
		char loop[64];
		uint64_t n;
		double ns;
		int error;

		snprintf(loop, sizeof(loop), "%s%s", prefix, markers[i].loop);
		error = subject_run(target, loop, rounds, &ns, &n);
		if (error)
			return error;
		*events += n;
		results_add(&b->results, section, markers[i].row, column, "ns", ns);
	}
	return 0;
}

static int run_empty(struct bench *b, struct subject *target, uint64_t rounds)
{
	struct failure f = { 0 };
	uint64_t events = 0;
	char path[512];
	struct empty e;
	int error;

	snprintf(path, sizeof(path), "%s/marks", b->directory);
	error = empty_attach(&e, path, &f);
	if (error) {
		failure_print(&f, stderr);
		return error;
	}
	error = run_all(b, target, "", rounds, SECTION_ON, "empty program", &events);
	empty_detach(&e);
	return error ? error : subject_ask(target, "wait 0");
}

static int run_recorded(struct bench *b, struct subject *target, uint64_t rounds,
			enum outputs outputs, const char *column)
{
	uint64_t events = 0;
	struct recorded got;
	struct recorder r;
	int error = recorder_start(&r, b->directory, target->said_pid, outputs, "64M"), stopped;

	if (error)
		return error;
	error = recorder_ready(&r, target);
	if (!error)
		error = run_all(b, target, "", rounds, SECTION_ON, column, &events);
	stopped = recorder_stop(&r, false, &got);
	if (error || stopped)
		return error ? error : stopped;
	if (got.marked != events)
		results_note(&b->results, SECTION_ON,
			     "%s, repetition %u: %" PRIu64 " of %" PRIu64 " events reached it",
			     column, b->repetition + 1, got.marked, events);
	if (got.lost)
		results_note(&b->results, SECTION_ON,
			     "%s, repetition %u: %" PRIu64 " of %" PRIu64 " events were lost",
			     column, b->repetition + 1, got.lost, got.marked);
	return subject_ask(target, "wait 0");
}

/* Of one repetition each: what disturbs the machine disturbs both alike. */
static void add_ratios(struct bench *b, const char *column, const char *ratio)
{
	struct results *r = &b->results;
	unsigned i;

	for (i = 0; i < N_MARKERS; i++)
		results_add(r, SECTION_ON, markers[i].row, ratio, "ratio",
			    results_last(r, SECTION_ON, markers[i].row, column) /
				    results_last(r, SECTION_ON, markers[i].row, "empty program"));
}

static int run_conditions(struct bench *b, struct subject *target)
{
	uint64_t cheap = b->quick ? 1000000 : 3000000, dear = b->quick ? 15000 : 40000, unused = 0;
	int error;

	error = run_all(b, target, "out:", cheap, SECTION_OFF, "compiled out", &unused);
	if (!error)
		error = run_all(b, target, "", cheap, SECTION_OFF, "off", &unused);
	if (!error)
		error = subject_ask(target, "raise");
	if (!error)
		error = run_all(b, target, "", cheap, SECTION_OFF, "on, nobody attached", &unused);
	if (!error)
		error = subject_ask(target, "lower");
	if (!error)
		error = run_empty(b, target, dear);
	if (!error)
		error = run_recorded(b, target, dear, OUT_NONE, "added up");
	if (!error)
		error = run_recorded(b, target, dear, OUT_PERFETTO, "Perfetto");
	if (!error)
		error = run_recorded(b, target, dear, OUT_BOTH, "both outputs");
	return error;
}

int measure_events(struct bench *b)
{
	struct subject target;
	int error = start_target(b, &target);

	if (error)
		return error;
	error = run_conditions(b, &target);
	subject_end(&target, NULL);
	if (error)
		return error;
	add_ratios(b, "added up", "added up / empty");
	add_ratios(b, "Perfetto", "Perfetto / empty");
	add_ratios(b, "both outputs", "both / empty");
	return 0;
}
