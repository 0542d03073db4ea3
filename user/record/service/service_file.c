/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the file of a configuration. It says what root records and writes, so nobody else may have written it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/failure.h"
#include "privilege/invoker.h"
#include "record/service/service.h"

enum {
	LONGEST_FILE = 64 << 10,
};

static const char *file_refusal(const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return "it is not a regular file";
	if (st->st_size > LONGEST_FILE)
		return "it is larger than 64 KiB";
	if (st->st_uid && st->st_uid != geteuid())
		return "it belongs to another user";
	return st->st_mode & (S_IWGRP | S_IWOTH) ? "other users may write it" : NULL;
}

static int service_read_open(int fd, char *text, size_t size, const char **ret_refusal)
{
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st))
		return -errno;
	*ret_refusal = file_refusal(&st);
	if (*ret_refusal)
		return -EPERM;
	n = pread(fd, text, size - 1, 0);
	if (n < 0)
		return -errno;
	if (memchr(text, '\0', (size_t)n)) {
		*ret_refusal = "it is not text";
		return -EINVAL;
	}
	text[n] = '\0';
	return 0;
}

char *service_read_file(const char *file, struct failure *f)
{
	char *text = malloc(LONGEST_FILE + 1);
	const char *refusal = NULL;
	int fd, error = -ENOMEM;

	if (text) {
		/* Messages about it have parts of it. */
		fd = invoker_open(file);
		error = fd < 0 ? fd : service_read_open(fd, text, LONGEST_FILE + 1, &refusal);
		if (fd >= 0)
			close(fd);
	}
	if (!error)
		return text;
	free(text);
	failure_set(f, error, "cannot read", file, refusal);
	if (error == -ENOENT)
		failure_hint(f, "--config FILE names another file; man proftrace-serve has an "
				"example");
	return NULL;
}
