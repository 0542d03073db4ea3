/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How far a trace has been read, on a terminal. A small file may take long: a million equal marks, compressed, have less
 * than half a megabyte.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "merge/rewrite.h"

enum {
	FIRST_NS = 500000000, /* nothing is shown of what takes less */
	AGAIN_NS = 200000000,
	LONGEST_NAME = 40, /* a line that the terminal breaks could not be replaced */
};

struct progress {
	int fd;
	const char *name;
	uint64_t next_ns;
	bool shown;
	const struct reader_limits *limits;
};

/* Returns that the reading goes on. */
static bool progress_show(void *context)
{
	struct progress *p = context;
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct stat st;
	off_t at;

	if (now < p->next_ns)
		return false;
	p->next_ns = now + AGAIN_NS;
	p->shown = true;
	at = fstat(p->fd, &st) || !S_ISREG(st.st_mode) ? -1 : lseek(p->fd, 0, SEEK_CUR);
	fputs("\r", stderr);
	if (at >= 0 && st.st_size > 0)
		print_visible(stderr, "proftrace: reading %.*s: %.0f %%", LONGEST_NAME, p->name,
			      100 * (double)at / (double)st.st_size);
	else
		print_visible(stderr, "proftrace: reading %.*s: %.0f MB", LONGEST_NAME, p->name,
			      (double)p->limits->taken / 1e6);
	fputs("\033[K", stderr);
	fflush(stderr);
	return false;
}

int source_read_shown(int fd, const char *path, const struct reader_sink *sink,
		      struct reader_error *ret_error)
{
	const char *slash = strrchr(path, '/');
	struct reader_limits limits = { 0 };
	struct progress p = {
		.fd = fd,
		.name = slash ? slash + 1 : path,
		.next_ns = clock_ns(CLOCK_MONOTONIC) + FIRST_NS,
		.limits = &limits,
	};
	int error;

	if (!isatty(STDERR_FILENO))
		return trace_read(fd, sink, ret_error);
	limits.stop = progress_show;
	limits.context = &p;
	error = trace_read_within(fd, sink, &limits, ret_error);
	if (p.shown)
		fputs("\r\033[K", stderr);
	return error;
}
