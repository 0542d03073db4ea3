/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measures the steps of an event, from the marker to the file, for tools/bench/README.md. In the
 * program, each BPF program does a little more than the previous one, and their differences are the
 * steps. In the recorder, the same events go through the timeline alone, and then into each output
 * as well. The rest of the recorder's time is waking up, draining and decoding.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "conditions.h"
#include "formats/sink.h"
#include "timeline/event.h"
#include "timeline/timeline.h"

#define COLUMN "ns"

static const struct condition programs[] = {
	{ "empty program", NULL, 0, NULL, PROGRAM_EMPTY },
	{ "time", "time / empty", 0, NULL, PROGRAM_CLOCK },
	{ "record", "record / empty", 0, NULL, PROGRAM_RECORD },
	{ "proftrace", "proftrace / empty", OUT_PERFETTO, "none", 0 },
};

#define N_PROGRAMS    (sizeof(programs) / sizeof(programs[0]))
#define SECTION_STEPS "BPF programs that each do one thing more: ns per event"

static void add(struct bench *b, const char *row, double ns)
{
	if (!isnan(ns))
		results_add(&b->results, SECTION_COST, row, COLUMN, "ns", ns);
}

static int in_program(struct bench *b)
{
	struct conditioned all[N_PROGRAMS];
	const struct results *r = &b->results;
	int error = conditions_start(b, programs, N_PROGRAMS, all), ended;
	double at[N_PROGRAMS], marker;
	unsigned i;

	if (error)
		return error;
	error = conditions_run(b, all, N_PROGRAMS, SECTION_STEPS, "instant",
			       b->quick ? 20000 : 60000, "instant");
	ended = conditions_end(b, all, N_PROGRAMS, SECTION_STEPS);
	if (error || ended)
		return error ? error : ended;
	for (i = 0; i < N_PROGRAMS; i++)
		at[i] = results_last(r, SECTION_STEPS, "instant", programs[i].column);
	marker = results_last(r, SECTION_OFF, "instant", "on, nobody attached") -
		 results_last(r, SECTION_OFF, "instant", "compiled out");
	add(b, "the marker: arguments and a call", marker);
	add(b, "entering the kernel and an empty program", at[0] - marker);
	add(b, "taking the time", at[1] - at[0]);
	add(b, "32 bytes in the ring buffer", at[2] - at[1]);
	add(b, "everything else in proftrace's program", at[3] - at[2]);
	return 0;
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* Slices with an argument, an instant and a counter in each: the paced load of marks.c. */
static int run_events(struct timeline *timeline, struct names *names, unsigned rounds)
{
	struct arg arg = { .key = names_intern_string(names, "n"), .type = ARG_UINT };
	struct arg value = { .type = ARG_UINT };
	struct event e = { .pid = 1, .tid = 1, .category = names_intern_string(names, "default") };
	const struct name *slice = names_intern_string(names, "paced");
	const struct name *counter = names_intern_string(names, "rounds");
	const struct name *instant = names_intern_string(names, "middle");
	int error = 0;
	unsigned i;

	for (i = 0; !error && i < rounds; i++) {
		arg.u = value.u = i;
		e.ts_ns += 250;
		e.kind = EVENT_BEGIN;
		e.level = 0;
		e.name = slice;
		e.n_args = 1;
		e.args = &arg;
		error = timeline_event(timeline, &e);
		e.ts_ns += 250;
		e.kind = EVENT_COUNTER;
		e.level = 1;
		e.name = counter;
		e.args = &value;
		error = error ? error : timeline_event(timeline, &e);
		e.ts_ns += 250;
		e.kind = EVENT_INSTANT;
		e.name = instant;
		e.n_args = 0;
		error = error ? error : timeline_event(timeline, &e);
		e.ts_ns += 250;
		e.kind = EVENT_END;
		e.level = 0;
		e.name = NULL;
		error = error ? error : timeline_event(timeline, &e);
	}
	return error;
}

/* The cost of an event in the recorder with this output, or with none (0). */
static int run_pipeline(struct bench *b, enum outputs output, double *ret_ns)
{
	const struct trace_info info = { .start_ns = 0, .version = "bench", .sysname = "Linux" };
	struct names *names = names_new(0);
	struct account account = { 0 };
	struct timeline *timeline = names ? timeline_new(names, &account, 0) : NULL;
	unsigned rounds = b->quick ? 50000 : 200000;
	struct consumer *consumer = NULL;
	struct sink *sink = NULL;
	char path[512];
	uint64_t begun;
	int error = timeline ? 0 : -ENOMEM;

	snprintf(path, sizeof(path), "%s/pipeline", b->directory);
	if (!error && output)
		error = sink_open(path, SINK_PLAIN, &sink);
	if (sink)
		consumer = output == OUT_PERFETTO ? perfetto_writer_new(sink, &info)
						  : chrome_writer_new(sink, &info);
	if (!error && output)
		error = consumer ? timeline_add_consumer(timeline, consumer) : -ENOMEM;
	begun = cpu_ns();
	if (!error)
		error = run_events(timeline, names, rounds);
	if (!error && consumer)
		error = consumer->ops->flush(consumer);
	*ret_ns = (double)(cpu_ns() - begun) / rounds / 4;
	timeline_free(timeline);
	if (consumer)
		consumer->ops->free(consumer);
	names_free(names);
	remove(path);
	return error;
}

static int in_recorder(struct bench *b)
{
	const struct results *r = &b->results;
	double none, perfetto, json;
	int error = run_pipeline(b, 0, &none);

	if (!error)
		error = run_pipeline(b, OUT_PERFETTO, &perfetto);
	if (!error)
		error = run_pipeline(b, OUT_JSON, &json);
	if (error)
		return error;
	add(b, "recorder: from events to facts", none);
	add(b, "recorder: a Perfetto file", perfetto - none);
	add(b, "recorder: a JSON file", json - none);
	add(b, "recorder: everything else (waking up, draining, decoding)",
	    results_last(r, SECTION_RATE, "Perfetto", "CPU ns/event") - perfetto);
	return 0;
}

int measure_cost(struct bench *b)
{
	int error = in_program(b);

	return error ? error : in_recorder(b);
}
