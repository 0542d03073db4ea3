/* SPDX-License-Identifier: BSD-2-Clause */
/* The parser of /proc/PID/maps (tracee/maps.c). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "privilege/mapping_query.h"
#include "tracee/maps.h"
#include "tracee/memory/target_memory.h"

struct seen {
	unsigned n;
	unsigned stop_after;
	struct mapping mappings[8];
	char paths[8][MAPS_MAX_PATH + 1];
};

static int see(void *context, const struct mapping *m)
{
	struct seen *seen = context;

	assert_true(m->start < m->end);
	if (seen->n < 8) {
		seen->mappings[seen->n] = *m;
		strcpy(seen->paths[seen->n], m->path);
	}
	seen->n++;
	return seen->stop_after && seen->n == seen->stop_after ? 77 : 0;
}

/* By another thread, as all are read. The descriptor stays open. */
static int read_list(int (*reads)(struct target_memory *, mapping_fn, void *), int fd,
		     mapping_fn each, void *context)
{
	struct target_memory *maps = target_memory_new(fd < 0 ? fd : dup(fd));
	int result = reads(maps, each, context);

	target_memory_free(maps);
	return result;
}

static int text_fd(const char *text, size_t size)
{
	int fd = memfd_create("maps", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, size), (ssize_t)size);
	return fd;
}

/* A fresh record of what was seen; static since it is large. */
static struct seen *read_text(const char *text, size_t size, int *ret)
{
	static struct seen seen;
	int fd = text_fd(text, size);

	memset(&seen, 0, sizeof(seen));
	*ret = read_list(maps_read, fd, see, &seen);
	close(fd);
	return &seen;
}

static void reads_mappings(void **state)
{
	static const char text[] =
		"55d0c0a00000-55d0c0a02000 r-xp 00001000 fd:1a 1234567                    "
		"/usr/bin/cat\n"
		"55d0c1000000-55d0c1021000 rw-p 00000000 00:00 0                          [heap]\n"
		"7f0000000000-7f0000001000 ---s 00002000 00:05 42     /dev/shm/a b\\012c "
		"(deleted)\n"
		"7f0000001000-7f0000002000 rw-p 00000000 00:00 0 \n"
		"7f0000002000-7f0000003000 rw-p 00000000 00:00 0\n"
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  "
		"[vsyscall]";
	struct seen *seen;
	int r;

	(void)state;
	seen = read_text(text, sizeof(text) - 1, &r);
	assert_int_equal(r, 6);
	assert_int_equal(seen->n, 6);
	assert_int_equal(seen->mappings[0].start, 0x55d0c0a00000);
	assert_int_equal(seen->mappings[0].end, 0x55d0c0a02000);
	assert_int_equal(seen->mappings[0].offset, 0x1000);
	assert_true(seen->mappings[0].readable && seen->mappings[0].executable);
	assert_false(seen->mappings[0].writable || seen->mappings[0].shared);
	assert_int_equal(seen->mappings[0].device_major, 0xfd);
	assert_int_equal(seen->mappings[0].device_minor, 0x1a);
	assert_int_equal(seen->mappings[0].inode, 1234567);
	assert_string_equal(seen->paths[0], "/usr/bin/cat");
	assert_false(seen->mappings[0].deleted);
	assert_true(seen->mappings[1].writable);
	assert_string_equal(seen->paths[1], "[heap]");
	assert_true(seen->mappings[2].shared && seen->mappings[2].deleted);
	assert_false(seen->mappings[2].readable);
	assert_string_equal(seen->paths[2], "/dev/shm/a b\\012c");
	maps_unescape(seen->paths[2]);
	assert_string_equal(seen->paths[2], "/dev/shm/a b\nc");
	assert_string_equal(seen->paths[3], "");
	assert_string_equal(seen->paths[4], "");
	assert_int_equal(seen->mappings[5].end, 0xffffffffff601000);
}

static void leaves_out_what_makes_no_sense(void **state)
{
	static const char *const wrong[] = {
		"",
		"\n",
		"hello",
		"1000-2000",
		"1000-2000 r-xp 0 00:00",
		"1000-2000 r-xp 0 00:00 ",
		"1000-2000 r-xp 0 00:00 x",
		"1000-2000 r-xp 0 00:00 5x /a",
		"1000-2000 r?xp 0 00:00 5 /a",
		"1000-2000 r-x 0 00:00 5 /a",
		"1000-2000 r-xpp 0 00:00 5 /a",
		"2000-1000 r-xp 0 00:00 5 /a",
		"1000-1000 r-xp 0 00:00 5 /a",
		"-1000-2000 r-xp 0 00:00 5 /a",
		"1000- 2000 r-xp 0 00:00 5 /a",
		"10000000000000000-20000000000000000 r-xp 0 00:00 5 /a",
		"1000-2000 r-xp 0 100000000:00 5 /a",
		"1000-2000 r-xp 0 00:00 99999999999999999999 /a",
	};
	static const char nul[] = "1000-2000 r-xp 0 00:00 5 /a\0b\n";
	unsigned i;
	int r;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		char text[256];
		int n = snprintf(text, sizeof(text), "%s\n3000-4000 r-xp 0 00:00 5 /good\n",
				 wrong[i]);
		struct seen *seen = read_text(text, (size_t)n, &r);

		if (r != 1 || strcmp(seen->paths[0], "/good"))
			fail_msg("'%s' gave %d", wrong[i], r);
	}
	read_text(nul, sizeof(nul) - 1, &r);
	assert_int_equal(r, 0);
	read_text("", 0, &r);
	assert_int_equal(r, 0);
}

static void cuts_absurd_paths(void **state)
{
	static const char head[] = "1000-2000 r-xp 0 00:00 5 ";
	static const char next[] = "\n3000-4000 r-xp 0 00:00 6 /next\n";
	const size_t length = 200000;
	char *text = malloc(sizeof(head) + length + sizeof(next));
	struct seen *seen;
	int r;

	(void)state;
	assert_non_null(text);
	memcpy(text, head, sizeof(head) - 1);
	memset(text + sizeof(head) - 1, 'p', length);
	memcpy(text + sizeof(head) - 1 + length, next, sizeof(next));
	seen = read_text(text, sizeof(head) - 1 + length + sizeof(next) - 1, &r);
	assert_int_equal(r, 2);
	assert_true(seen->mappings[0].path_cut);
	assert_int_equal(strlen(seen->paths[0]), MAPS_MAX_PATH);
	assert_false(seen->mappings[1].path_cut);
	assert_string_equal(seen->paths[1], "/next");
	free(text);
}

/* Lines straddle every boundary of the pieces in which the text is read. */
static void joins_lines_that_were_read_in_pieces(void **state)
{
	enum {
		LINES = 3000
	};
	char *text = malloc(LINES * 64);
	size_t n = 0;
	unsigned i;
	int r;

	(void)state;
	assert_non_null(text);
	for (i = 0; i < LINES; i++)
		n += (size_t)sprintf(text + n, "%x000-%x800 r--p 00000000 00:01 %u /file%u\n",
				     i + 1, i + 1, i + 1, i);
	read_text(text, n, &r);
	assert_int_equal(r, LINES);
	free(text);
}

static void stops_when_told(void **state)
{
	static const char text[] = "1000-2000 r-xp 0 00:00 5 /a\n"
				   "2000-3000 r-xp 0 00:00 5 /a\n"
				   "3000-4000 r-xp 0 00:00 5 /a\n";
	static struct seen seen;
	int fd = text_fd(text, sizeof(text) - 1);

	(void)state;
	memset(&seen, 0, sizeof(seen));
	seen.stop_after = 2;
	assert_int_equal(read_list(maps_read, fd, see, &seen), 77);
	assert_int_equal(seen.n, 2);
	close(fd);
}

static void stops_at_the_limit_of_lines(void **state)
{
	enum {
		SIZE = 1 << 20
	};
	char *text = malloc(SIZE);
	static struct seen seen;
	int fd, i;

	(void)state;
	assert_non_null(text);
	memset(text, '\n', SIZE);
	fd = text_fd(text, SIZE);
	for (i = 0; i < 3; i++)
		assert_int_equal(write(fd, text, SIZE), SIZE);
	memset(&seen, 0, sizeof(seen));
	assert_int_equal(read_list(maps_read, fd, see, &seen), -E2BIG);
	assert_int_equal(seen.n, 0);
	close(fd);
	free(text);
}

static int find_own_code(void *context, const struct mapping *m)
{
	uint64_t here = (uint64_t)(uintptr_t)find_own_code;

	if (here >= m->start && here < m->end) {
		*(bool *)context = true;
		assert_true(m->executable && m->inode);
	}
	return 0;
}

static void reads_its_own_mappings(void **state)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	bool found = false;

	(void)state;
	assert_true(fd >= 0);
	assert_true(read_list(maps_read, fd, find_own_code, &found) > 5);
	assert_true(found);
	/* Again, from the same descriptor: the position does not matter. */
	found = false;
	assert_true(read_list(maps_read, fd, find_own_code, &found) > 5);
	assert_true(found);
	close(fd);
	assert_int_equal(read_list(maps_read, -1, find_own_code, &found), -EBADF);
}

#define CODE_MOST 256

struct code {
	struct mapping list[CODE_MOST];
	unsigned n, others;
};

/* What is in the text of all processes is no mapping of this one. */
static int see_code(void *context, const struct mapping *m)
{
	struct code *code = context;

	if (!m->executable)
		code->others++;
	if (!m->executable || !strcmp(m->path, "[vsyscall]"))
		return 0;
	assert_true(code->n < CODE_MOST);
	code->list[code->n] = *m;
	code->list[code->n++].path = strdup(m->path);
	return 0;
}

static void *map_code_of(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	void *code;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 3 * 4096), 0);
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 2 * 4096);
	close(fd);
	assert_int_equal(unlink(path), 0);
	return code;
}

static void finds_the_same_code_by_questions(void **state)
{
	const struct mapping_query next = { .size = sizeof(next), .flags = MAPPING_OR_NEXT };
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	char path[64], shown[64];
	void *file;
	void *none = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static struct code text, asked;
	struct mapping_query q = next;
	bool deleted = false;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/proftrace-unit-%d\nmaps (deleted)", (int)getpid());
	snprintf(shown, sizeof(shown), "/tmp/proftrace-unit-%d\\012maps (deleted)", (int)getpid());
	file = map_code_of(path);
	assert_true(fd >= 0 && file != MAP_FAILED && none != MAP_FAILED);
	assert_true(read_list(maps_read, fd, see_code, &text) > 5);
	assert_true(read_list(maps_read_executable, fd, see_code, &asked) > 3);
	/* Before Linux 6.11 it reads the text, too. */
	assert_true(!asked.others == !ioctl(fd, MAPPING_QUERY, &q));
	assert_int_equal(asked.n, text.n);
	for (unsigned i = 0; i < text.n; i++) {
		struct mapping *a = &asked.list[i], *b = &text.list[i];

		assert_string_equal(a->path, b->path);
		deleted |= a->deleted && !strcmp(a->path, shown);
		free((char *)a->path);
		free((char *)b->path);
		a->path = b->path = NULL;
		assert_memory_equal(a, b, sizeof(*a));
	}
	assert_true(deleted);
	close(fd);
	assert_int_equal(read_list(maps_read_executable, -1, see_code, &asked), -EBADF);
	munmap(file, 4096);
	munmap(none, 8192);
}

static void stops_questions_when_told(void **state)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	static struct seen seen;

	(void)state;
	memset(&seen, 0, sizeof(seen));
	seen.stop_after = 2;
	assert_int_equal(read_list(maps_read_executable, fd, see, &seen), 77);
	assert_int_equal(seen.n, 2);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_mappings),
		cmocka_unit_test(leaves_out_what_makes_no_sense),
		cmocka_unit_test(cuts_absurd_paths),
		cmocka_unit_test(joins_lines_that_were_read_in_pieces),
		cmocka_unit_test(stops_when_told),
		cmocka_unit_test(stops_at_the_limit_of_lines),
		cmocka_unit_test(reads_its_own_mappings),
		cmocka_unit_test(finds_the_same_code_by_questions),
		cmocka_unit_test(stops_questions_when_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
