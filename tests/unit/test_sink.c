// SPDX-License-Identifier: BSD-2-Clause
/* Output files (formats/sink.c): replacement, compression, failing disks. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "formats/sink.h"

static char directory[] = "/tmp/test_sink.XXXXXX";
static char path[300];

static const char *in_directory(const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static void write_file(const char *where, const char *text)
{
	FILE *f = fopen(where, "wb");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static size_t read_file(const char *where, char *out, size_t size)
{
	gzFile f = gzopen(where, "rb"); /* reads plain files as they are */
	int n;

	assert_non_null(f);
	n = gzread(f, out, (unsigned)size);
	assert_true(n >= 0);
	assert_int_equal(gzclose(f), Z_OK); /* Z_BUF_ERROR: ended in the middle */
	return (size_t)n;
}

/* Names in the directory; *ret_name is the last one seen. */
static int entries(char ret_name[256])
{
	DIR *d = opendir(directory);
	int count = 0;

	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d));) {
		if (e->d_name[0] == '.' && (!e->d_name[1] || e->d_name[1] == '.'))
			continue;
		snprintf(ret_name, 256, "%s", e->d_name);
		count++;
	}
	closedir(d);
	return count;
}

static void takes_its_name_at_the_first_flush(void **state)
{
	char name[256], text[64];
	struct sink *sink;
	struct stat st;

	(void)state;
	write_file(in_directory("a"), "old");
	assert_int_equal(sink_open(path, SINK_PLAIN, &sink), 0);
	assert_int_equal(sink_write(sink, "new trace", 9), 0);
	assert_int_equal(entries(name), 2);
	assert_int_equal(read_file(path, text, sizeof(text)), 3);
	assert_int_equal(sink_flush(sink), 0);
	assert_int_equal(entries(name), 1);
	assert_int_equal(read_file(path, text, sizeof(text)), 9);
	assert_memory_equal(text, "new trace", 9);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(sink_write(sink, "!", 1), 0);
	assert_int_equal(sink_size(sink), 9);
	assert_int_equal(sink_close(sink), 0);
	assert_int_equal(sink_size(sink), 10);
	sink_free(sink);
	assert_int_equal(read_file(path, text, sizeof(text)), 10);
	unlink(path);
}

static void the_temporary_file_is_private_and_removed(void **state)
{
	char name[256], hidden[600], text[8];
	struct sink *sink;
	struct stat st;

	(void)state;
	assert_int_equal(sink_open(in_directory("b"), SINK_PLAIN, &sink), 0);
	assert_int_equal(entries(name), 1);
	assert_int_equal(strncmp(name, ".b.", 3), 0);
	assert_string_equal(name + strlen(name) - 4, ".tmp");
	assert_int_equal(strlen(name), strlen(".b.XXXXXXXX.tmp"));
	snprintf(hidden, sizeof(hidden), "%s/%s", directory, name);
	assert_int_equal(stat(hidden, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	sink_free(sink);
	assert_int_equal(entries(name), 0);

	/* An older file outlives a recording that is given up. */
	write_file(in_directory("b"), "old");
	assert_int_equal(sink_open(path, SINK_PLAIN, &sink), 0);
	sink_write(sink, "x", 1);
	sink_free(sink);
	assert_int_equal(read_file(path, text, sizeof(text)), 3);
	unlink(path);
}

static void gzip_is_whole_after_every_write(void **state)
{
	enum {
		N = 300000,
		LINE = 16
	};
	char *out = malloc(N * LINE + 1), line[LINE + 1];
	struct sink *sink;
	size_t size;

	(void)state;
	assert_non_null(out);
	assert_int_equal(sink_open(in_directory("c.gz"), SINK_GZIP, &sink), 0);
	for (int i = 0; i < N; i++) {
		snprintf(line, sizeof(line), "%015d\n", i);
		assert_int_equal(sink_write(sink, line, LINE), 0);
		if (i == 10 || i == N / 2) {
			/* As it would be found after the recorder was killed. */
			assert_int_equal(sink_flush(sink), 0);
			assert_int_equal(read_file(path, out, N * LINE), (i + 1) * LINE);
		}
	}
	assert_int_equal(sink_close(sink), 0);
	size = read_file(path, out, N * LINE + 1);
	assert_int_equal(size, N * LINE);
	for (int i = 0; i < N; i++) {
		snprintf(line, sizeof(line), "%015d\n", i);
		assert_memory_equal(out + i * LINE, line, LINE);
	}
	assert_true(sink_size(sink) < N * LINE / 3);
	sink_free(sink);
	unlink(path);
	free(out);
}

static void large_pieces_and_the_limit_of_a_reservation(void **state)
{
	size_t size = 1000001;
	char *in = malloc(size), *out = malloc(size + 1);
	struct sink *sink;

	(void)state;
	for (size_t i = 0; i < size; i++)
		in[i] = (char)(i * 7 + i / 251);
	assert_int_equal(sink_open(in_directory("d"), SINK_PLAIN, &sink), 0);
	assert_int_equal(sink_write(sink, in, size), 0);
	for (int i = 0; i < 100; i++) {
		char *space = sink_reserve(sink, 65536);

		assert_non_null(space);
		memset(space, 'x', 65536);
		sink_commit(sink, 0); /* reserved is not written */
	}
	assert_int_equal(sink_flush(sink), 0);
	assert_int_equal(read_file(path, out, size + 1), size);
	assert_memory_equal(in, out, size);
	assert_null(sink_reserve(sink, 65537));
	assert_int_equal(sink_error(sink), -EMSGSIZE);
	sink_free(sink);
	unlink(path);
	free(in);
	free(out);
}

static void a_full_disk_is_said_and_stays(void **state)
{
	struct sink *sink;

	(void)state;
	assert_int_equal(sink_open("/dev/full", SINK_PLAIN, &sink), 0);
	assert_int_equal(sink_write(sink, "x", 1), 0);
	assert_int_equal(sink_flush(sink), -ENOSPC);
	assert_int_equal(sink_error(sink), -ENOSPC);
	assert_null(sink_reserve(sink, 1));
	assert_int_equal(sink_write(sink, "x", 1), -ENOSPC);
	assert_int_equal(sink_close(sink), -ENOSPC);
	sink_free(sink);
}

static size_t take_varint(const unsigned char **at)
{
	size_t value = 0;

	for (int shift = 0;; shift += 7) {
		value |= (size_t)(**at & 127) << shift;
		if (*(*at)++ < 128)
			return value;
	}
}

/* Unpacks the bundle at *at, which is all of a packet; another packet is copied with its head. */
static size_t take_bundle(const unsigned char **at, char *out, size_t capacity)
{
	const unsigned char *start = *at, *end;
	uLongf n = capacity;
	size_t size;

	assert_int_equal(*(*at)++, 0x0a);
	size = take_varint(at);
	end = *at + size;
	if ((*at)[0] != 0x92) {
		memcpy(out, start, end - start);
		*at = end;
		return end - start;
	}
	assert_int_equal((*at)[1], 0x03);
	*at += 2;
	size = take_varint(at);
	assert_ptr_equal(*at + size, end);
	assert_int_equal(uncompress((Bytef *)out, &n, *at, size), Z_OK);
	*at = end;
	return n;
}

/* Each bundle holds whole packets, and is there as a whole after every flush. */
static void bundles_hold_whole_packets(void **state)
{
	enum {
		PACKET = 1000,
		N = 1000,
		LARGE = 100000
	};
	char *in = malloc(2 << 20), *file = malloc(2 << 20), *out = malloc(2 << 20);
	size_t written = 0, size, n = 0;
	const unsigned char *at = (unsigned char *)file;
	struct sink *sink;

	(void)state;
	assert_int_equal(sink_open(in_directory("f"), SINK_BUNDLES, &sink), 0);
	for (int i = 0; i < N; i++) {
		size = i == N / 2 ? LARGE : PACKET;
		memset(in + written, i, size);
		memcpy(in + written, size == LARGE ? "\x0a\x9c\x8d\x06" : "\x0a\xe5\x07",
		       size == LARGE ? 4 : 3);
		assert_int_equal(sink_write_whole(sink, in + written, size), 0);
		written += size;
		if (i % 300 == 299)
			assert_int_equal(sink_flush(sink), 0);
	}
	assert_int_equal(sink_close(sink), 0);
	size = read_file(path, file, 2 << 20);
	assert_int_equal(size, sink_size(sink));
	assert_true(size < LARGE + written / 10);
	while (at < (unsigned char *)file + size) {
		size_t more = take_bundle(&at, out + n, (2 << 20) - n);

		assert_true(more == LARGE || (more && more % PACKET == 0));
		assert_true(more <= 262144);
		n += more;
	}
	assert_int_equal(n, written);
	assert_memory_equal(in, out, n);
	sink_free(sink);
	unlink(path);
	free(in);
	free(file);
	free(out);
}

/* The write that fails half way must not leave half a gzip stream behind what is good. */
static void gzip_loads_after_the_disk_was_full(void **state)
{
	struct rlimit old, limit;
	struct sink *sink;
	char *out = malloc(4 << 20), *space;
	unsigned seed = 1;
	int i;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	limit = old;
	limit.rlim_cur = 600000;
	assert_int_equal(sink_open(in_directory("e.gz"), SINK_GZIP, &sink), 0);
	assert_int_equal(sink_flush(sink), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	for (i = 0; i < 100 && (space = sink_reserve(sink, 32768)); i++) {
		for (int k = 0; k < 32768; k++)
			space[k] = (char)((seed = seed * 1103515245 + 12345) >> 16);
		sink_commit(sink, 32768);
	}
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_true(i < 100);
	assert_int_equal(sink_error(sink), -EFBIG);
	assert_int_equal(read_file(path, out, 4 << 20), 2 * 262144);
	sink_free(sink);
	unlink(path);
	free(out);
}

static void what_is_not_a_file_is_written_to_directly(void **state)
{
	char text[16];
	struct sink *sink;
	struct stat st;
	int reader;

	(void)state;
	assert_int_equal(mkfifo(in_directory("fifo"), 0600), 0);
	reader = open(path, O_RDONLY | O_NONBLOCK);
	assert_true(reader >= 0);
	assert_int_equal(sink_open(path, SINK_PLAIN, &sink), 0);
	assert_int_equal(sink_write(sink, "through", 7), 0);
	assert_int_equal(sink_close(sink), 0);
	sink_free(sink);
	assert_int_equal(read(reader, text, sizeof(text)), 7);
	close(reader);
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
	unlink(path);

	assert_int_equal(sink_open("/dev/null", SINK_PLAIN, &sink), 0);
	assert_int_equal(sink_write(sink, "x", 1), 0);
	assert_int_equal(sink_close(sink), 0);
	sink_free(sink);
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
}

static void a_link_is_replaced_not_followed(void **state)
{
	char target[300], text[16];
	struct sink *sink;
	struct stat st;

	(void)state;
	snprintf(target, sizeof(target), "%s", in_directory("precious"));
	write_file(target, "precious");
	assert_int_equal(symlink(target, in_directory("link")), 0);
	assert_int_equal(sink_open(path, SINK_PLAIN, &sink), 0);
	assert_int_equal(sink_write(sink, "trace", 5), 0);
	assert_int_equal(sink_close(sink), 0);
	sink_free(sink);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(read_file(target, text, sizeof(text)), 8);
	unlink(target);
	unlink(path);
}

static void standard_output(void **state)
{
	int pipe_fds[2], saved = dup(STDOUT_FILENO);
	char text[16];
	struct sink *sink;

	(void)state;
	fflush(stdout);
	assert_int_equal(pipe(pipe_fds), 0);
	dup2(pipe_fds[1], STDOUT_FILENO);
	assert_int_equal(sink_open("-", SINK_PLAIN, &sink), 0);
	assert_int_equal(sink_write(sink, "piped", 5), 0);
	assert_int_equal(sink_close(sink), 0);
	sink_free(sink);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	assert_int_equal(read(pipe_fds[0], text, sizeof(text)), 5);
	assert_memory_equal(text, "piped", 5);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}

static void what_cannot_be_written_is_said_at_once(void **state)
{
	char long_name[300], name[256];
	struct sink *sink = NULL;

	(void)state;
	memset(long_name, 'n', sizeof(long_name));
	long_name[256] = '\0';
	assert_int_equal(sink_open(directory, SINK_PLAIN, &sink), -EISDIR);
	assert_int_equal(sink_open(in_directory("none/x"), SINK_PLAIN, &sink), -ENOENT);
	assert_int_equal(sink_open("", SINK_PLAIN, &sink), -ENOENT);
	assert_int_equal(sink_open(in_directory(long_name), SINK_PLAIN, &sink), -ENAMETOOLONG);
	assert_null(sink);

	/* The longest name that is possible leaves no room for what the temporary one adds. */
	long_name[255] = '\0';
	assert_int_equal(sink_open(in_directory(long_name), SINK_PLAIN, &sink), 0);
	assert_int_equal(sink_close(sink), 0);
	sink_free(sink);
	assert_int_equal(entries(name), 1);
	assert_string_equal(name, long_name);
	unlink(path);
}

static int make_directory(void **state)
{
	(void)state;
	return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
	(void)state;
	return rmdir(directory);
}

/* So many marks of ten bytes each, where there is room for `space` bytes. Returns those in the file. */
static uint64_t marks_with_space(const char *name, enum sink_format format, rlim_t space,
				 unsigned n)
{
	struct rlimit old, limit;
	struct sink *sink;
	uint64_t marks;

	assert_int_equal(sink_open(in_directory(name), format, &sink), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	limit = old;
	limit.rlim_cur = space;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	while (n--) {
		if (!sink_write(sink, "0123456789", 10))
			sink_count_marks(sink, 1);
	}
	assert_int_equal(sink_close(sink), space == RLIM_INFINITY ? 0 : -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	sink_settle(sink);
	marks = sink_marks(sink);
	sink_free(sink);
	unlink(path);
	return marks;
}

static void says_which_marks_are_in_the_file(void **state)
{
	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(marks_with_space("m", SINK_PLAIN, RLIM_INFINITY, 100), 100);
	assert_int_equal(marks_with_space("m", SINK_PLAIN, RLIM_INFINITY, 100000), 100000);
	assert_int_equal(marks_with_space("m", SINK_GZIP, RLIM_INFINITY, 100000), 100000);
	assert_int_equal(marks_with_space("m", SINK_PLAIN, 95, 100), 9);
	assert_int_equal(marks_with_space("m", SINK_PLAIN, 500000, 100000), 50000);
	assert_int_equal(marks_with_space("m", SINK_PLAIN, 0, 100), 0);
	/* What is packed is there as a whole or not at all. */
	assert_int_equal(marks_with_space("m", SINK_GZIP, 20, 100), 0);
}

/* What is of no use in part does not take the place of an older one. */
static void what_is_discarded_leaves_the_older_one(void **state)
{
	struct rlimit old, limit;
	char name[256], text[64];
	struct sink *sink;
	int full;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	limit = old;
	limit.rlim_cur = 5;
	for (full = 0; full < 2; full++) {
		write_file(in_directory("d"), "older");
		assert_int_equal(sink_open(path, SINK_PLAIN, &sink), 0);
		sink_write(sink, "0123456789", 10);
		if (full) {
			assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
			assert_int_equal(sink_close(sink), -EFBIG);
			assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
		}
		sink_discard(sink);
		assert_int_equal(entries(name), 1);
		assert_int_equal(read_file(path, text, sizeof(text)), 5);
		assert_memory_equal(text, "older", 5);
	}
	/* What has its name keeps it. */
	assert_int_equal(sink_open(path, SINK_PLAIN, &sink), 0);
	sink_write(sink, "0123456789", 10);
	assert_int_equal(sink_close(sink), 0);
	sink_discard(sink);
	assert_int_equal(read_file(path, text, sizeof(text)), 10);
	unlink(path);
	sink_discard(NULL);
}

/* Somebody takes the name after the start: here by a directory, which a rename does not replace even for root. */
static void what_loses_its_name_is_kept(void **state)
{
	static const struct {
		const char *name, *stem, *ending;
	} names[] = {
		{ "t.pftrace", "t.", ".pftrace" },
		{ "t.json.gz", "t.", ".json.gz" },
		{ "plain", "plain.", "" },
		{ "a.gz", "a.", ".gz" },
		{ "two.parts.json", "two.parts.", ".json" },
		{ ".hidden", ".hidden.", "" },
		{ "a.much-longer-than-an-ending", "a.much-longer-than-an-ending.", "" },
	};
	char text[64], wanted[300];
	struct sink *sink;
	const char *now;

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(names) / sizeof(names[0]); i++) {
		const char *name = names[i / 2].name, *stem = names[i / 2].stem;
		struct failure f = { 0 };

		snprintf(wanted, sizeof(wanted), "%s", in_directory(name));
		if (i % 2)
			assert_int_equal(mkdir(wanted, 0700), 0);
		assert_int_equal(i % 2 ? sink_open_later(wanted, SINK_PLAIN, &sink)
				       : sink_open(wanted, SINK_PLAIN, &sink),
				 0);
		sink_write(sink, "0123456789", 10);
		assert_int_equal(sink_displaced(sink, &now), 0);
		assert_string_equal(now, wanted);
		if (i % 2 == 0)
			assert_int_equal(mkdir(wanted, 0700), 0);
		assert_int_equal(sink_flush(sink), 0);
		sink_write(sink, "and more", 8);
		assert_int_equal(sink_close(sink), 0);
		assert_int_equal(sink_displaced_failure(sink, wanted, &f), -EISDIR);
		assert_string_equal(f.object, wanted);
		assert_int_equal(sink_displaced(sink, &now), -EISDIR);
		assert_int_equal(strncmp(now, wanted, strlen(directory) + 1), 0);
		now += strlen(directory) + 1;
		assert_non_null(strstr(f.hint, now));
		assert_int_equal(strncmp(now, stem, strlen(stem)), 0);
		assert_int_equal(strlen(now), strlen(stem) + 8 + strlen(names[i / 2].ending));
		assert_string_equal(now + strlen(stem) + 8, names[i / 2].ending);
		assert_int_equal(read_file(in_directory(now), text, sizeof(text)), 18);
		assert_int_equal(unlink(path), 0);
		assert_int_equal(rmdir(wanted), 0);
		sink_discard(sink);
	}
}

/* A directory that is removed takes the file with it: nothing can be kept then. */
static void what_is_removed_is_said(void **state)
{
	char gone[64], name[256];
	struct sink *sink;

	(void)state;
	snprintf(gone, sizeof(gone), "%s", in_directory("x"));
	assert_int_equal(sink_open(gone, SINK_PLAIN, &sink), 0);
	sink_write(sink, "0123456789", 10);
	assert_int_equal(entries(name), 1);
	assert_int_equal(unlink(in_directory(name)), 0);
	assert_int_equal(sink_flush(sink), -ENOENT);
	assert_int_equal(sink_close(sink), -ENOENT);
	assert_int_equal(sink_size(sink), 0);
	sink_free(sink);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_its_name_at_the_first_flush),
		cmocka_unit_test(the_temporary_file_is_private_and_removed),
		cmocka_unit_test(gzip_is_whole_after_every_write),
		cmocka_unit_test(bundles_hold_whole_packets),
		cmocka_unit_test(large_pieces_and_the_limit_of_a_reservation),
		cmocka_unit_test(a_full_disk_is_said_and_stays),
		cmocka_unit_test(gzip_loads_after_the_disk_was_full),
		cmocka_unit_test(what_is_not_a_file_is_written_to_directly),
		cmocka_unit_test(a_link_is_replaced_not_followed),
		cmocka_unit_test(standard_output),
		cmocka_unit_test(what_cannot_be_written_is_said_at_once),
		cmocka_unit_test(says_which_marks_are_in_the_file),
		cmocka_unit_test(what_is_discarded_leaves_the_older_one),
		cmocka_unit_test(what_loses_its_name_is_kept),
		cmocka_unit_test(what_is_removed_is_said),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
