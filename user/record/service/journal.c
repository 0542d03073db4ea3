/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Priorities of messages. The journal reads them from "<N>" at the beginning of a line (sd-daemon(3)). All our messages
 * are printed to standard error as lines of one form, so their priority is found here and nowhere else.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "record/service/service.h"

enum {
	PRIORITY_ERROR = 3,
	PRIORITY_NOTICE = 5,
	PRIORITY_INFO = 6,
};

static int line_priority(const char *line, size_t length)
{
	static const struct {
		const char *begin;
		int priority;
	} known[] = {
		{ "proftrace: cannot ", PRIORITY_ERROR },
		{ "proftrace: not permitted", PRIORITY_ERROR },
		{ "proftrace: the broker ", PRIORITY_ERROR },
		{ "proftrace: the recorder ", PRIORITY_ERROR },
		{ "proftrace: ", PRIORITY_NOTICE },
	};

	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		size_t n = strlen(known[i].begin);

		if (n <= length && !memcmp(line, known[i].begin, n))
			return known[i].priority;
	}
	return PRIORITY_INFO;
}

/* The stream is buffered by lines: a message that is printed in pieces arrives as a whole. */
static ssize_t journal_write(void *context, const char *text, size_t size)
{
	const char *at = text, *end = text + size;

	(void)context;
	while (at < end) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));
		size_t n = line_end ? (size_t)(line_end - at) + 1 : (size_t)(end - at);

		char priority[] = { '<', (char)('0' + line_priority(at, n)), '>' };
		const struct iovec parts[] = { { priority, sizeof(priority) }, { (void *)at, n } };

		/* A message that nobody can read is no reason to fail. */
		(void)!writev(STDERR_FILENO, parts, 2);
		at += n;
	}
	return (ssize_t)size;
}

void journal_begin(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;
	FILE *lines;

	/* The variable is inherited, also by processes whose standard error is another file. */
	if (!stream || sscanf(stream, "%llu:%llu", &device, &inode) != 2 ||
	    fstat(STDERR_FILENO, &st) || st.st_dev != device || st.st_ino != inode)
		return;
	lines = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = journal_write });
	if (!lines)
		return;
	setvbuf(lines, NULL, _IOLBF, BUFSIZ);
	stderr = lines;
}
