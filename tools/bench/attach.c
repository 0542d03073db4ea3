/* SPDX-License-Identifier: BSD-2-Clause */
/* Measures the time until the first event is recorded, and the time to detach everything. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "empty.h"
#include "recorder.h"
#include "sections.h"

#define OPEN_MS 100 /* from recording to the end */

static const struct {
	const char *program, *row;
} programs[] = {
	{ "uses-10", "10 uses" },
	{ "uses-1000", "1,000 uses" },
	{ "uses-10000", "10,000 uses" },
};

/* The first number after `"at":` of a file of JSON, or 0. */
static uint64_t first_at(const char *path)
{
	static const char key[] = "\"at\":";
	FILE *file = fopen(path, "re");
	uint64_t at = 0;
	unsigned i = 0;
	int c;

	while (file && key[i] && (c = getc(file)) != EOF)
		i = c == key[i] ? i + 1 : c == key[0];
	if (file) {
		if (key[i] || fscanf(file, " %" SCNu64, &at) != 1)
			at = 0;
		fclose(file);
	}
	return at;
}

static int kernel_part(struct bench *b, const char *path, const char *row)
{
	struct failure f = { 0 };
	struct empty e;
	uint64_t begun;
	int error = empty_attach(&e, path, PROGRAM_EMPTY, &f);

	if (error) {
		failure_print(&f, stderr);
		return error;
	}
	results_add(&b->results, SECTION_ATTACH, row, "sites", "", e.n_sites);
	results_add(&b->results, SECTION_ATTACH, row, "attach ms", "ms", e.attach_ns / 1e6);
	begun = bench_clock();
	empty_detach(&e);
	results_add(&b->results, SECTION_ATTACH, row, "detach ms", "ms",
		    (bench_clock() - begun) / 1e6);
	return 0;
}

/* The target marks all the time, and every mark has the time as argument. */
static int whole(struct bench *b, struct subject *target, const char *row)
{
	uint64_t started, stopped, ended, off, first;
	struct recorded got;
	struct recorder r;
	char path[512];
	int error;

	error = subject_send(target, "watch");
	started = bench_clock();
	if (!error)
		error = recorder_start(&r, b->directory, target->said_pid, OUT_JSON, "64M");
	if (error)
		return error;
	error = subject_answer(target);
	if (!error)
		error = recorder_opened(&r);
	bench_sleep(OPEN_MS);
	stopped = bench_clock();
	if (recorder_stop(&r, true, &got) && !error)
		error = -EPROTO;
	ended = bench_clock();
	if (!error)
		error = subject_answer(target);
	recorder_json_path(&r, path, sizeof(path));
	first = first_at(path);
	remove(path);
	if (error || !first || sscanf(target->line, "off %" SCNu64, &off) != 1)
		return error ? error : -EPROTO;
	if (!off) {
		subject_late(target, "'%s' did not see that it was recorded", target->command);
		return -ETIMEDOUT;
	}
	results_add(&b->results, SECTION_ATTACH, row, "-p to first event ms", "ms",
		    ((double)first - started) / 1e6);
	results_add(&b->results, SECTION_ATTACH, row, "Ctrl-C to off ms", "ms",
		    ((double)off - stopped) / 1e6);
	results_add(&b->results, SECTION_ATTACH, row, "to exit ms", "ms",
		    ((double)ended - stopped) / 1e6);
	return 0;
}

int measure_attach(struct bench *b)
{
	unsigned i;

	for (i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		char path[512];
		const char *const argv[] = { path, NULL };
		struct subject target;
		int error;

		snprintf(path, sizeof(path), "%s/%s", b->directory, programs[i].program);
		error = subject_start(&target, argv, SUBJECT_PINNED, true);
		if (error)
			return error;
		error = kernel_part(b, path, programs[i].row);
		if (!error)
			error = subject_request(&target, "wait 0");
		if (!error)
			error = whole(b, &target, programs[i].row);
		subject_end(&target, NULL);
		if (error)
			return error;
	}
	return 0;
}
