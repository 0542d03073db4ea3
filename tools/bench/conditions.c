/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets up the conditions of conditions.h and measures them in turns. */
#include "conditions.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define TURNS  9
#define BUFFER "16M" /* more than all rounds of a turn fill */

static int copy_file(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC), out, error = 0;
	struct stat st;
	ssize_t n = 1;

	if (in < 0)
		return -errno;
	unlink(to);
	out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	if (out < 0 || fstat(in, &st))
		error = -errno;
	while (!error && n > 0) {
		n = sendfile(out, in, NULL, 1 << 30);
		error = n < 0 ? -errno : 0;
	}
	close(in);
	if (out >= 0)
		close(out);
	return error;
}

static int attach(struct conditioned *c, const char *program)
{
	struct failure f = { 0 };
	int error;

	if (c->condition->outputs) {
		error = recorder_start_counting(&c->recorder, c->directory, c->target.said_pid,
						c->condition->outputs, BUFFER,
						c->condition->counters);
		c->attached = !error;
		return error ? error : recorder_ready(&c->recorder, &c->target);
	}
	error = empty_attach(&c->empty, program, c->condition->program, &f);
	if (error)
		failure_print(&f, stderr);
	c->attached = !error;
	return error;
}

static int start(struct bench *b, struct conditioned *c)
{
	char from[512], program[512];
	const char *const argv[] = { program, NULL };
	int error;

	snprintf(from, sizeof(from), "%s/marks", b->directory);
	snprintf(program, sizeof(program), "%s/marks", c->directory);
	if (mkdir(c->directory, 0700) && errno != EEXIST)
		return -errno;
	error = copy_file(from, program);
	if (!error)
		error = subject_start(&c->target, argv, SUBJECT_PINNED, true);
	if (error)
		return error;
	error = attach(c, program);
	unlink(program);
	return error;
}

static int end(struct bench *b, struct conditioned *c, const char *section)
{
	const char *column = c->condition->column;
	struct recorded got = { 0 };
	int error = 0;

	if (c->attached && c->condition->outputs)
		error = recorder_stop(&c->recorder, false, &got);
	else if (c->attached)
		empty_detach(&c->empty);
	if (c->target.pid)
		subject_end(&c->target, NULL);
	rmdir(c->directory);
	if (error || !section || !c->attached || !c->condition->outputs)
		return error;
	if (got.marked != c->events)
		results_note(&b->results, section,
			     "%s, repetition %u: %" PRIu64 " of %" PRIu64 " events reached it",
			     column, b->repetition + 1, got.marked, c->events);
	if (got.lost)
		results_note(&b->results, section,
			     "%s, repetition %u: %" PRIu64 " of %" PRIu64 " events were lost",
			     column, b->repetition + 1, got.lost, got.marked);
	return 0;
}

int conditions_end(struct bench *b, struct conditioned *all, unsigned n, const char *section)
{
	int error = 0;
	unsigned i;

	for (i = 0; i < n; i++) {
		int one = end(b, &all[i], section);

		error = error ? error : one;
	}
	return error;
}

int conditions_start(struct bench *b, const struct condition *conditions, unsigned n,
		     struct conditioned *all)
{
	int error = 0;
	unsigned i;

	memset(all, 0, n * sizeof(*all));
	for (i = 0; !error && i < n; i++) {
		all[i].condition = &conditions[i];
		snprintf(all[i].directory, sizeof(all[i].directory), "%s/condition-%u",
			 b->directory, i);
		error = start(b, &all[i]);
	}
	if (error)
		conditions_end(b, all, i, NULL);
	return error;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values)
{
	qsort(values, TURNS, sizeof(*values), compare);
	return values[TURNS / 2];
}

int conditions_run(struct bench *b, struct conditioned *all, unsigned n, const char *section,
		   const char *loop, uint64_t rounds, const char *row)
{
	double ns[MAX_CONDITIONS][TURNS], ratios[MAX_CONDITIONS][TURNS];
	unsigned i, turn;

	for (turn = 0; turn < TURNS; turn++) {
		for (i = 0; i < n; i++) {
			uint64_t events;
			int error = subject_run(&all[i].target, loop, rounds / TURNS, &ns[i][turn],
						&events);

			if (error)
				return error;
			all[i].events += events;
			ratios[i][turn] = ns[i][turn] / ns[0][turn];
		}
	}
	for (i = 0; i < n; i++)
		results_add(&b->results, section, row, all[i].condition->column, "ns",
			    median(ns[i]));
	for (i = 1; i < n; i++)
		results_add(&b->results, section, row, all[i].condition->ratio, "ratio",
			    median(ratios[i]));
	return 0;
}
