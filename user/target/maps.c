/* SPDX-License-Identifier: BSD-2-Clause */
#include "target/maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_HEAD  256 /* what precedes a path has at most about 100 bytes */
#define LINE_SIZE (MAX_HEAD + MAPS_MAX_PATH)
#define MAX_BYTES (1ull << 30)

struct reader {
	mapping_fn each;
	void *context;
	int told;
	int lines;
	size_t length; /* of the line so far */
	bool cut;      /* the line is longer than the buffer: the rest is dropped */
	char line[LINE_SIZE + 1];
};

/* A number in base 10 or 16 that ends at `stop`; no sign, no space, no overflow. */
static bool take_number(const char **at, unsigned base, char stop, uint64_t *ret)
{
	const char *p = *at;
	uint64_t value = 0;

	for (;; p++) {
		unsigned digit;

		if (*p >= '0' && *p <= '9')
			digit = (unsigned)(*p - '0');
		else if (base == 16 && *p >= 'a' && *p <= 'f')
			digit = (unsigned)(*p - 'a') + 10;
		else
			break;
		if (value > (UINT64_MAX - digit) / base)
			return false;
		value = value * base + digit;
	}
	if (p == *at || *p != stop)
		return false;
	*at = p + (stop != '\0');
	*ret = value;
	return true;
}

static bool take_protection(const char **at, struct mapping *m)
{
	const char *p = *at;

	if ((p[0] != 'r' && p[0] != '-') || (p[1] != 'w' && p[1] != '-') ||
	    (p[2] != 'x' && p[2] != '-') || (p[3] != 'p' && p[3] != 's') || p[4] != ' ')
		return false;
	m->readable = p[0] == 'r';
	m->writable = p[1] == 'w';
	m->executable = p[2] == 'x';
	m->shared = p[3] == 's';
	*at = p + 5;
	return true;
}

/* start-end rwxp offset major:minor inode      path */
static bool parse_line(char *line, struct mapping *m)
{
	static const char deleted[] = " (deleted)";
	const size_t suffix = sizeof(deleted) - 1;
	const char *at = line;
	uint64_t major, minor;
	char *path;
	size_t n;

	memset(m, 0, sizeof(*m));
	if (!take_number(&at, 16, '-', &m->start) || !take_number(&at, 16, ' ', &m->end) ||
	    !take_protection(&at, m) || !take_number(&at, 16, ' ', &m->offset) ||
	    !take_number(&at, 16, ':', &major) || !take_number(&at, 16, ' ', &minor))
		return false;
	if (!take_number(&at, 10, ' ', &m->inode) && !take_number(&at, 10, '\0', &m->inode))
		return false;
	if (m->start >= m->end || major > UINT32_MAX || minor > UINT32_MAX)
		return false;
	m->device_major = (uint32_t)major;
	m->device_minor = (uint32_t)minor;
	at += strspn(at, " ");
	path = line + (at - line);
	n = strlen(path);
	if (n > suffix && memcmp(path + n - suffix, deleted, suffix) == 0) {
		m->deleted = true;
		n -= suffix;
	}
	if (n > MAPS_MAX_PATH) {
		m->path_cut = true;
		n = MAPS_MAX_PATH;
	}
	path[n] = '\0';
	m->path = path;
	return true;
}

static int end_line(struct reader *r)
{
	struct mapping m;
	int result = 0;

	r->line[r->length] = '\0';
	if (!memchr(r->line, '\0', r->length) && parse_line(r->line, &m)) {
		m.path_cut |= r->cut;
		r->told++;
		result = r->each(r->context, &m);
	}
	r->length = 0;
	r->cut = false;
	r->lines++;
	return result;
}

static int take_bytes(struct reader *r, const char *bytes, size_t n)
{
	while (n > 0) {
		const char *newline = memchr(bytes, '\n', n);
		size_t piece = newline ? (size_t)(newline - bytes) : n;
		size_t room = LINE_SIZE - r->length;
		size_t kept = piece < room ? piece : room;
		int result;

		memcpy(r->line + r->length, bytes, kept);
		r->length += kept;
		r->cut |= kept < piece;
		if (!newline)
			return 0;
		result = end_line(r);
		if (result)
			return result;
		if (r->lines >= MAPS_MAX_LINES)
			return -E2BIG;
		bytes += piece + 1;
		n -= piece + 1;
	}
	return 0;
}

int maps_read(int fd, mapping_fn each, void *context)
{
	struct reader *r = calloc(1, sizeof(*r));
	char bytes[16384];
	uint64_t at = 0;
	int result = 0;

	if (!r)
		return -ENOMEM;
	r->each = each;
	r->context = context;
	while (result == 0) {
		ssize_t got = pread(fd, bytes, sizeof(bytes), (off_t)at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			result = -errno;
		if (got <= 0)
			break;
		at += (uint64_t)got;
		result = at > MAX_BYTES ? -E2BIG : take_bytes(r, bytes, (size_t)got);
	}
	if (result == 0 && r->length > 0)
		result = end_line(r);
	if (result == 0)
		result = r->told;
	free(r);
	return result;
}

void maps_unescape(char *path)
{
	char *out = path;

	while (*path) {
		if (strncmp(path, "\\012", 4) == 0) {
			*out++ = '\n';
			path += 4;
		} else {
			*out++ = *path++;
		}
	}
	*out = '\0';
}
