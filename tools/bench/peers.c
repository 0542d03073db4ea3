/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Other tracers on the same event, or on the nearest thing they have. How each is started, tools/
 * bench/peers.sh says; one that is not installed is named as left out.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "recorder.h"
#include "sections.h"

/*
 * The target is there first and is attached to, as proftrace does it; or it comes when the tracer is
 * ready (LTTng-UST: its library registers before main); or the tracer starts it (uftrace).
 */
enum target_order {
	TARGET_FIRST,
	TARGET_THEN,
	TARGET_UNDER
};

struct peer {
	const char *name; /* of tools/bench/peers.sh; NULL: proftrace itself */
	const char *row;
	const char *program, *loop;
	unsigned rounds;
	enum outputs outputs;
	enum target_order order;
};

#define PERF_ROW "perf record, SDT event"

static const struct peer peers[] = {
	{ NULL, "proftrace, Perfetto", "marks", "instant_1", 100000, OUT_PERFETTO, TARGET_FIRST },
	{ NULL, "proftrace, both outputs", "marks", "instant_1", 100000, OUT_BOTH, TARGET_FIRST },
	{ "bpftrace-count", "bpftrace, counting", "marks", "instant_1", 100000, 0, TARGET_FIRST },
	{ "bpftrace-print", "bpftrace, printing", "marks", "instant_1", 20000, 0, TARGET_FIRST },
	{ "perf", PERF_ROW, "marks", "instant_1", 100000, 0, TARGET_FIRST },
	{ "lttng", "LTTng-UST, a tracepoint", "lttng", "instant_1", 200000, 0, TARGET_THEN },
	{ "uftrace", "uftrace, a function", "functions", "call", 200000, 0, TARGET_UNDER },
};

struct sample {
	double ns, off_ns;
	uint64_t events, bytes, kept;
	bool has_bytes, has_kept;
};

static int run_ourselves(struct bench *b, const struct peer *p, struct subject *target,
			 struct sample *s)
{
	struct recorded got;
	struct recorder r;
	int error, stopped;

	error = recorder_start(&r, b->directory, target->said_pid, p->outputs, "64M");
	if (error)
		return error;
	error = recorder_ready(&r, target);
	if (!error)
		error = subject_run(target, p->loop, p->rounds, &s->ns, &s->events);
	stopped = recorder_stop(&r, false, &got);
	s->bytes = got.bytes;
	s->kept = got.written;
	s->has_bytes = s->has_kept = true;
	return error ? error : stopped;
}

/* The lines that tools/bench/peers.sh ends with. */
static void take_words(struct subject *script, struct sample *s)
{
	uint64_t lost;

	while (!subject_answer(script)) {
		if (sscanf(script->line, "bytes %" SCNu64, &s->bytes) == 1) {
			s->has_bytes = true;
		} else if (sscanf(script->line, "kept %" SCNu64, &s->kept) == 1) {
			s->has_kept = true;
		} else if (sscanf(script->line, "lost %" SCNu64, &lost) == 1) {
			s->kept = s->events - lost;
			s->has_kept = true;
		}
	}
}

static int start_target(struct bench *b, const struct peer *p, bool launched, const char *data,
			struct subject *target)
{
	char path[512];
	const char *plain[] = { path, NULL };
	const char *under[] = { "uftrace", "record", "-d", data, path, NULL };

	snprintf(path, sizeof(path), "%s/%s", b->directory, p->program);
	return subject_start(target, launched ? under : plain,
			     SUBJECT_PINNED | (launched ? SUBJECT_MUTE : 0), true);
}

static int run_recorded(const struct peer *p, struct subject *target, struct sample *s)
{
	if (p->order == TARGET_FIRST) {
		int error = subject_ask(target, "wait 1");

		if (error || !strcmp(target->line, "at 0"))
			return error ? error : -ETIMEDOUT;
		bench_sleep(200); /* on, but perhaps not all of it: nobody but us says so */
	}
	return subject_run(target, p->loop, p->rounds, &s->ns, &s->events);
}

/* Takes over the target, which has ended when this returns. 1: the peer is left out. */
static int run_other(struct bench *b, const struct peer *p, struct subject *target,
		     struct sample *s)
{
	char directory[512], data[600], program[512], pid[16];
	const char *const argv[] = {
		"tools/bench/peers.sh", p->name, directory, program, pid, NULL
	};
	struct subject script;
	int error;

	snprintf(directory, sizeof(directory), "%s/peer-%s", b->directory, p->name);
	snprintf(data, sizeof(data), "%s/data", directory);
	snprintf(program, sizeof(program), "%s/%s", b->directory, p->program);
	snprintf(pid, sizeof(pid), "%d", (int)target->said_pid);
	error = subject_start(&script, argv, SUBJECT_TIDIES, true);
	if (error) {
		subject_end(target, NULL);
		if (strncmp(script.line, "left out: ", 10))
			return error;
		results_note(&b->results, SECTION_PEERS, "%s is %s", p->row, script.line);
		return 1;
	}
	if (p->order != TARGET_FIRST) {
		subject_end(target, NULL);
		error = start_target(b, p, p->order == TARGET_UNDER, data, target);
	}
	if (!error) {
		error = run_recorded(p, target, s);
		subject_end(target, NULL);
	}
	subject_hang_up(&script);
	take_words(&script, s);
	subject_end(&script, NULL);
	return !error && s->has_bytes && !s->bytes ? -ENODATA : error;
}

static int sample_peer(struct bench *b, const struct peer *p, struct sample *s)
{
	struct subject target;
	int error = start_target(b, p, false, NULL, &target);

	if (error) {
		results_note(&b->results, SECTION_PEERS, "%s is left out: %s", p->row,
			     "its target was not built");
		return 1;
	}
	error = subject_run(&target, p->loop, 2000000, &s->off_ns, NULL);
	if (!error && p->name)
		return run_other(b, p, &target, s);
	if (!error)
		error = run_ourselves(b, p, &target, s);
	subject_end(&target, NULL);
	return error;
}

static void add_sample(struct results *r, const char *row, const struct sample *s)
{
	results_add(r, SECTION_PEERS, row, "ns/event", "ns", s->ns);
	results_add(r, SECTION_PEERS, row, "off ns", "ns", s->off_ns);
	if (s->has_bytes)
		results_add(r, SECTION_PEERS, row, "bytes/event", "bytes",
			    (double)s->bytes / s->events);
	if (s->has_kept)
		results_add(r, SECTION_PEERS, row, "kept %", "%", 100.0 * s->kept / s->events);
}

/* Of one repetition each. Without perf there is nothing to compare with. */
static void add_ratios(struct results *r)
{
	double perf = results_last(r, SECTION_PEERS, PERF_ROW, "ns/event");
	unsigned i;

	for (i = 0; perf > 0 && i < sizeof(peers) / sizeof(peers[0]); i++) {
		double ns = results_last(r, SECTION_PEERS, peers[i].row, "ns/event");

		if (ns > 0)
			results_add(r, SECTION_PEERS, peers[i].row, "of perf", "ratio", ns / perf);
	}
}

/* A peer that fails is no reason to end: the table says so. */
int measure_peers(struct bench *b)
{
	unsigned i;

	for (i = 0; i < sizeof(peers) / sizeof(peers[0]); i++) {
		struct sample s = { 0 };
		int error = sample_peer(b, &peers[i], &s);

		if (!error)
			add_sample(&b->results, peers[i].row, &s);
		else if (error < 0)
			results_note(&b->results, SECTION_PEERS, "%s, repetition %u: %s",
				     peers[i].row, b->repetition + 1, strerror(-error));
	}
	add_ratios(&b->results);
	return 0;
}
