/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs other tracers. tools/bench/peers.sh starts each of them; one that is not installed is named
 * as left out.
 */
#include "peers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "empty.h"

#define OFF_ROUNDS 2000000

static void keep_late(struct sample *s, const struct subject *from)
{
	if (!s->late[0])
		memcpy(s->late, from->late, sizeof(s->late));
}

/* A line `late: ...` of the script. */
static void keep_word(struct sample *s, const char *line)
{
	snprintf(s->late, sizeof(s->late), "%.*s", (int)sizeof(s->late) - 1,
		 line + strlen("late: "));
	fprintf(stderr, "\nbench: %s\n", s->late);
}

static int run_loads(const struct peer *p, struct subject *target, const struct load *loads,
		     unsigned n, struct sample *s)
{
	unsigned i;

	for (i = 0; i < n; i++) {
		uint64_t events;
		int error = subject_run_threads(target, loads[i].loop,
						loads[i].rounds ? loads[i].rounds : p->rounds,
						loads[i].threads, &s->ns[i], &events);

		if (error)
			return error;
		s->events += events;
	}
	return 0;
}

static int start_target(struct bench *b, const struct peer *p, const char *under,
			struct subject *target);

static int run_ourselves(struct bench *b, const struct peer *p, struct subject *target,
			 const struct load *loads, unsigned n, struct sample *s)
{
	bool beside = p->order == TARGET_BESIDE;
	struct subject other, *recorded = beside ? &other : target;
	struct recorded got;
	struct recorder r;
	int error = beside ? start_target(b, p, NULL, &other) : 0, stopped;

	if (error)
		return error;
	error = recorder_start_with(&r, b->directory, recorded->said_pid, p->outputs, "64M",
				    p->options ? "none" : NULL, p->options);
	stopped = error;
	if (!error) {
		error = recorder_ready(&r, recorded);
		if (!error)
			error = run_loads(p, target, loads, n, s);
		stopped = recorder_stop(&r, false, &got);
		keep_late(s, &r.process);
	}
	if (beside)
		subject_end(&other, NULL);
	if (stopped)
		return error ? error : stopped;
	s->bytes = got.bytes;
	s->kept = got.written;
	s->cpu_ns = got.cpu_ns;
	s->start_cpu_ns = r.ready_cpu_ns;
	s->switches_lost = got.switches_lost;
	s->stacks = got.stacks;
	s->stacks_lost = got.stacks_lost;
	s->has_stacks = got.stacks != 0;
	s->has_bytes = s->has_cpu = true;
	s->has_kept = !beside;
	return error;
}

static int run_program(struct bench *b, const struct peer *p, struct subject *target,
		       const struct load *loads, unsigned n, struct sample *s)
{
	struct failure f = { 0 };
	struct empty e;
	char path[512];
	int error;

	snprintf(path, sizeof(path), "%s/%s", b->directory, p->program);
	error = p->floor == FLOOR_CALLS ? empty_attach_calls(&e)
					: empty_attach(&e, path, PROGRAM_EMPTY, &f);
	if (error) {
		if (p->floor == FLOOR_CALLS)
			failure_set(&f, error, "cannot attach to", "system calls", NULL);
		failure_print(&f, stderr);
		return error;
	}
	error = run_loads(p, target, loads, n, s);
	empty_detach(&e);
	return error;
}

/* The lines that tools/bench/peers.sh ends with. */
static void parse_words(struct subject *script, struct sample *s, uint64_t before_ns)
{
	uint64_t number;

	while (!subject_answer(script)) {
		if (sscanf(script->line, "bytes %" SCNu64, &s->bytes) == 1) {
			s->has_bytes = true;
		} else if (sscanf(script->line, "kept %" SCNu64, &s->kept) == 1) {
			s->has_kept = true;
		} else if (sscanf(script->line, "lost %" SCNu64, &number) == 1) {
			s->kept = s->events - number;
			s->has_kept = true;
		} else if (!strncmp(script->line, "late: ", 6)) {
			keep_word(s, script->line);
		} else if (sscanf(script->line, "cpu %" SCNu64, &number) == 1) {
			s->cpu_ns = number > before_ns ? number - before_ns : 0;
			s->start_cpu_ns = before_ns;
			s->has_cpu = before_ns != 0;
		}
	}
}

static int start_target(struct bench *b, const struct peer *p, const char *under,
			struct subject *target)
{
	char path[512], timed[512], cpu[600], data[600];
	const char *plain[] = { path, NULL };
	const char *launched[] = {
		timed, cpu, "uftrace", "record", "-d", data, path, NULL,
	};

	snprintf(path, sizeof(path), "%s/%s", b->directory, p->program);
	snprintf(timed, sizeof(timed), "%s/timed", b->directory);
	snprintf(cpu, sizeof(cpu), "%s/cpu", under ? under : "");
	snprintf(data, sizeof(data), "%s/data", under ? under : "");
	return subject_start(target, under ? launched : plain,
			     SUBJECT_PINNED | (under ? SUBJECT_MUTE : 0), true);
}

static int run_recorded(const struct peer *p, struct subject *target, const struct load *loads,
			unsigned n, struct sample *s)
{
	if (p->order == TARGET_FIRST) {
		int error = subject_request(target, "wait 1");

		if (!error && !strcmp(target->line, "at 0")) {
			subject_late(target, "'%s' did not see within 20 s that it is traced",
				     target->command);
			error = -ETIMEDOUT;
		}
		if (error)
			return error;
		/* Attached, but perhaps not completely; there is no message to wait for. */
		bench_sleep(200);
	}
	if (p->order == TARGET_COMMANDED)
		bench_sleep(200); /* it has reported so, but perhaps not for all processors */
	return run_loads(p, target, loads, n, s);
}

/* Subtracts the CPU time of the target from that of a tracer that starts it. */
static void without_target(const struct peer *p, struct sample *s)
{
	double own = s->ns[0] * s->events;

	if (p->order == TARGET_UNDER && s->has_cpu)
		s->cpu_ns = s->cpu_ns > own ? s->cpu_ns - own : 0;
}

/* Takes over the target, which has ended when this returns. */
static int run_other(struct bench *b, const char *section, const struct peer *p,
		     struct subject *target, const struct load *loads, unsigned n, struct sample *s)
{
	char directory[512], program[512], pid[16];
	const char *const argv[] = {
		"tools/bench/peers.sh", p->name, directory, program, pid, NULL
	};
	struct subject script;
	uint64_t before_ns = 0;
	int error;

	snprintf(directory, sizeof(directory), "%s/peer-%s", b->directory, p->name);
	snprintf(program, sizeof(program), "%s/%s", b->directory, p->program);
	snprintf(pid, sizeof(pid), "%d", (int)target->said_pid);
	error = subject_start(&script, argv, SUBJECT_TIDIES, true);
	if (error) {
		keep_late(s, &script);
		if (!strncmp(script.line, "late: ", 6))
			keep_word(s, script.line);
		subject_end(target, NULL);
		if (strncmp(script.line, "left out: ", 10))
			return error;
		results_note(&b->results, section, "%s is %s", p->row, script.line);
		return 1;
	}
	if (p->order == TARGET_THEN || p->order == TARGET_UNDER) {
		subject_end(target, NULL);
		error = start_target(b, p, p->order == TARGET_UNDER ? directory : NULL, target);
	}
	if (!error) {
		before_ns = spent_by(p->order == TARGET_UNDER ? target->pid : script.said_pid);
		error = run_recorded(p, target, loads, n, s);
		subject_end(target, NULL);
	}
	keep_late(s, target);
	subject_close_input(&script);
	parse_words(&script, s, before_ns);
	subject_end(&script, NULL);
	keep_late(s, &script);
	without_target(p, s);
	/* If something did not happen, the figures are worthless. */
	if (!error && s->late[0])
		error = -ETIMEDOUT;
	return !error && s->has_bytes && !s->bytes ? -ENODATA : error;
}

static int run_off(struct subject *target, const struct load *load, struct sample *s)
{
	unsigned runs = load->off_runs ? load->off_runs : 1, i;
	int error = 0;
	double ns;

	for (i = 0; !error && i < runs; i++) {
		error = subject_run(target, load->loop, load->off ? load->off : OFF_ROUNDS, &ns,
				    NULL);
		if (!error && (!i || ns < s->off_ns))
			s->off_ns = ns;
	}
	s->has_off = !error;
	return error;
}

int peer_sample(struct bench *b, const char *section, const struct peer *p,
		const struct load *loads, unsigned n, struct sample *s)
{
	struct subject target;
	int error;

	memset(s, 0, sizeof(*s));
	error = start_target(b, p, NULL, &target);
	if (error) {
		results_note(&b->results, section, "%s is left out: %s", p->row,
			     "its target was not built");
		return 1;
	}
	if (!p->floor || p->floor == FLOOR_CALLS)
		error = run_off(&target, &loads[0], s);
	if (!error && p->name)
		return run_other(b, section, p, &target, loads, n, s);
	if (!error && p->floor == FLOOR_LOOP)
		error = run_loads(p, &target, loads, n, s);
	else if (!error && p->floor)
		error = run_program(b, p, &target, loads, n, s);
	else if (!error)
		error = run_ourselves(b, p, &target, loads, n, s);
	subject_end(&target, NULL);
	keep_late(s, &target);
	return error;
}

void peer_failed(struct bench *b, const char *section, const char *what, const struct sample *s,
		 int error)
{
	results_note(&b->results, section, "%s, repetition %u: %s", what, b->repetition + 1,
		     s->late[0] ? s->late : strerror(-error));
}
