/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A parser for text of which a part is chosen by the traced process: it accepts exactly the kernel's format, and its
 * memory does not depend on the length of a line.
 */
#include "tracee/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "privilege/mapping_query.h"
#include "tracee/file_access.h"
#include "tracee/memory/target_memory.h"

#define MAX_HEAD  256 /* the fields before a path have at most about 100 bytes */
#define LINE_SIZE (MAX_HEAD + MAPS_MAX_PATH)
#define MAX_BYTES (1ull << 30)

struct maps_reader {
	mapping_fn each;
	void *context;
	int reported; /* mappings */
	int lines;
	size_t length; /* of the line so far */
	bool cut;      /* the line exceeds the buffer; the rest is dropped */
	char line[LINE_SIZE + 1];
	char bytes[TARGET_PIECE];
};

/* Parses a number in base 10 or 16 without sign or space, which is followed by `stop`. Fails on overflow. */
static bool maps_parse_number(const char **at, unsigned base, char stop, uint64_t *ret)
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

static bool maps_parse_protection(const char **at, struct mapping *m)
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

static void mapping_set_path(struct mapping *m, char *path)
{
	static const char deleted[] = " (deleted)";
	const size_t suffix = sizeof(deleted) - 1;
	size_t n = strlen(path);

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
}

/* start-end rwxp offset major:minor inode      path */
static bool maps_parse_line(char *line, struct mapping *m)
{
	const char *at = line;
	uint64_t major, minor;

	memset(m, 0, sizeof(*m));
	if (!maps_parse_number(&at, 16, '-', &m->start) ||
	    !maps_parse_number(&at, 16, ' ', &m->end) || !maps_parse_protection(&at, m) ||
	    !maps_parse_number(&at, 16, ' ', &m->offset) ||
	    !maps_parse_number(&at, 16, ':', &major) || !maps_parse_number(&at, 16, ' ', &minor))
		return false;
	if (!maps_parse_number(&at, 10, ' ', &m->inode) &&
	    !maps_parse_number(&at, 10, '\0', &m->inode))
		return false;
	if (m->start >= m->end || major > UINT32_MAX || minor > UINT32_MAX)
		return false;
	m->device_major = (uint32_t)major;
	m->device_minor = (uint32_t)minor;
	at += strspn(at, " ");
	mapping_set_path(m, line + (at - line));
	return true;
}

static int maps_end_line(struct maps_reader *r)
{
	struct mapping m;
	int result = 0;

	r->line[r->length] = '\0';
	if (!memchr(r->line, '\0', r->length) && maps_parse_line(r->line, &m)) {
		m.path_cut |= r->cut;
		r->reported++;
		result = r->each(r->context, &m);
	}
	r->length = 0;
	r->cut = false;
	r->lines++;
	return result;
}

static int maps_feed(struct maps_reader *r, const char *bytes, size_t n)
{
	while (n > 0) {
		const char *newline = memchr(bytes, '\n', n);
		size_t piece = newline ? (size_t)(newline - bytes) : n;
		size_t space = LINE_SIZE - r->length;
		size_t kept = piece < space ? piece : space;
		int result;

		memcpy(r->line + r->length, bytes, kept);
		r->length += kept;
		r->cut |= kept < piece;
		if (!newline)
			return 0;
		result = maps_end_line(r);
		if (result)
			return result;
		if (r->lines >= MAPS_MAX_LINES)
			return -E2BIG;
		bytes += piece + 1;
		n -= piece + 1;
	}
	return 0;
}

int maps_read(struct target_memory *maps, mapping_fn each, void *context)
{
	struct maps_reader *r = calloc(1, sizeof(*r));
	ssize_t got = 1;
	uint64_t at = 0;
	int result = 0;

	if (!r)
		return -ENOMEM;
	r->each = each;
	r->context = context;
	while (result == 0 && got > 0) {
		got = target_memory_read_text(maps, at, r->bytes, sizeof(r->bytes));
		at += got > 0 ? (uint64_t)got : 0;
		result = got < 0	  ? (int)got
			 : at > MAX_BYTES ? -E2BIG
					  : maps_feed(r, r->bytes, (size_t)got);
	}
	if (result == 0 && r->length > 0)
		result = maps_end_line(r);
	if (result == 0)
		result = r->reported;
	free(r);
	return got == -EAGAIN ? -EBUSY : result;
}

/* --- one by one ---------------------------------------------------------------------------------- */

/* An answer of the kernel, as the reading thread hands it over. The name follows, and all is rounded up. */
struct maps_answer {
	struct mapping_query query; /* size 0: there are no more mappings */
	char name[];
};

#define ANSWER_MOST (sizeof(struct maps_answer) + PATH_MAX)

static size_t answer_size(const struct maps_answer *a)
{
	return (sizeof(*a) + a->query.name_size + 7) & ~(size_t)7;
}

/* The first executable mapping from the address on. Returns 0 or negative errno. `name` 0: its name is too long. */
static int maps_query(int fd, uint64_t address, struct maps_answer *a)
{
	const struct mapping_query next = {
		.size = sizeof(next),
		.flags = MAPPING_EXECUTABLE | MAPPING_OR_NEXT,
		.address = address,
	};
	int error;

	a->query = next;
	a->query.name = (uintptr_t)a->name;
	a->query.name_size = PATH_MAX;
	error = TEMP_FAILURE_RETRY(ioctl(fd, MAPPING_QUERY, &a->query)) ? -errno : 0;
	if (error == -ENAMETOOLONG) {
		a->query = next;
		error = TEMP_FAILURE_RETRY(ioctl(fd, MAPPING_QUERY, &a->query)) ? -errno : 0;
	}
	return error;
}

/* Runs in the reading thread: as many answers as there is space for. */
static ssize_t maps_query_many(int fd, uint64_t address, void *out, size_t size)
{
	size_t at = 0;
	int error = 0;

	while (!error && size - at >= ANSWER_MOST) {
		struct maps_answer *a = (void *)((char *)out + at);

		error = maps_query(fd, address, a);
		address = a->query.end;
		/* There is no more, or the process has exited. */
		if (error == -ENOENT || error == -ESRCH)
			a->query = (struct mapping_query){ 0 };
		else if (error)
			break;
		at += answer_size(a);
	}
	return at ? (ssize_t)at : error;
}

/* As the kernel writes it in the text. */
static void maps_escape(const char *name, char *path)
{
	for (; *name; name++) {
		if (*name == '\n')
			path = stpcpy(path, "\\012");
		else
			*path++ = *name;
	}
	*path = '\0';
}

/* `path` has 4 * PATH_MAX bytes, for a name of which each byte is escaped. */
static void maps_convert_answer(const struct maps_answer *a, char *path, struct mapping *m)
{
	const struct mapping_query *answer = &a->query;

	*m = (struct mapping){
		.start = answer->start,
		.end = answer->end,
		.offset = answer->offset,
		.readable = answer->is & MAPPING_READABLE,
		.writable = answer->is & MAPPING_WRITABLE,
		.executable = answer->is & MAPPING_EXECUTABLE,
		.shared = answer->is & MAPPING_SHARED,
		.device_major = answer->device_major,
		.device_minor = answer->device_minor,
		.inode = answer->inode,
		.path_cut = !answer->name,
	};
	maps_escape(answer->name_size ? a->name : "", path);
	mapping_set_path(m, path);
}

struct maps_asker {
	mapping_fn each;
	void *context;
	int n;
	uint64_t address; /* from which on is asked next */
	bool is_over;
	char path[4 * PATH_MAX];
	char answers[TARGET_PIECE] __attribute__((aligned(8)));
};

static int maps_report_answers(struct maps_asker *r, size_t size)
{
	size_t at = 0;
	int result = 0;

	while (!result && at < size) {
		const struct maps_answer *a = (const void *)(r->answers + at);
		struct mapping m;

		if (!a->query.size) {
			r->is_over = true;
			break;
		}
		maps_convert_answer(a, r->path, &m);
		r->address = m.end;
		at += answer_size(a);
		result = ++r->n > MAPS_MAX_LINES ? -E2BIG : r->each(r->context, &m);
	}
	return result;
}

int maps_read_executable(struct target_memory *maps, mapping_fn each, void *context)
{
	struct maps_asker *r = malloc(sizeof(*r));
	int n, result = 0;

	if (!r)
		return -ENOMEM;
	r->each = each;
	r->context = context;
	r->n = 0;
	r->address = 0;
	r->is_over = false;
	while (!result && !r->is_over) {
		ssize_t got = target_memory_read_by(maps, maps_query_many, r->address, r->answers,
						    sizeof(r->answers));

		result = got < 0 ? (int)got : maps_report_answers(r, (size_t)got);
	}
	n = r->n;
	free(r);
	if (!result)
		return n;
	if (result == -EAGAIN)
		return -EBUSY;
	return result < 0 && !n ? maps_read(maps, each, context) : result;
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

/* --- mapped files -------------------------------------------------------------------------------- */

/*
 * Checks an O_PATH descriptor before it is opened for reading: opening a device may have side effects. Device numbers are
 * not compared, because those of maps and stat() differ on some file systems.
 */
static int reopen_mapped_file(int place, uint64_t inode)
{
	struct stat st;

	if (place < 0)
		return -errno;
	if (descriptors_stat(place, &st) || st.st_ino != inode) {
		close(place);
		return -ESTALE;
	}
	return open_stored_file(place);
}

int path_within_root(int directory, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int root = openat(directory, "root", O_PATH | O_DIRECTORY | O_CLOEXEC), place, error;

	if (root < 0)
		return -1;
	place = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	error = errno;
	close(root);
	errno = error;
	return place;
}

bool process_has_our_root(int directory)
{
	struct statx theirs, ours;

	/* A file system that does not answer must not make the recorder wait. */
	return !statx(directory, "root", AT_STATX_DONT_SYNC, STATX_INO, &theirs) &&
	       !statx(AT_FDCWD, "/", AT_STATX_DONT_SYNC, STATX_INO, &ours) &&
	       theirs.stx_dev_major == ours.stx_dev_major &&
	       theirs.stx_dev_minor == ours.stx_dev_minor && theirs.stx_ino == ours.stx_ino;
}

int path_within_directory(int directory, const char *at, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS };
	int from = openat(directory, at, O_PATH | O_DIRECTORY | O_CLOEXEC), place, error;

	if (from < 0)
		return -1;
	if (!process_has_our_root(directory))
		how.resolve |= RESOLVE_BENEATH;
	place = (int)syscall(SYS_openat2, from, path, &how, sizeof(how));
	error = errno;
	close(from);
	errno = error;
	return place;
}

int open_mapped_path(int directory, const char *path, uint64_t inode)
{
	/* A magic link to the file itself, which works even if the file was renamed or deleted. */
	int fd = reopen_mapped_file(openat(directory, "exe", O_PATH | O_CLOEXEC), inode);
	char *unescaped;

	if (fd >= 0)
		return fd;
	unescaped = strdup(path);
	if (!unescaped)
		return -ENOMEM;
	maps_unescape(unescaped);
	fd = reopen_mapped_file(path_within_root(directory, unescaped), inode);
	/* The root directory of another user's process cannot be entered. Most have ours. */
	if (fd == -EACCES)
		fd = reopen_mapped_file(open(unescaped, O_PATH | O_CLOEXEC), inode);
	free(unescaped);
	return fd;
}
