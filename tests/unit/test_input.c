/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that would be read for ever, or for as long as somebody else likes. */
#include "readers_test.h"

#include <errno.h>
#include <fcntl.h>

#include "formats/input.h"

#define EVENT "{\"ph\":\"B\",\"ts\":1,\"pid\":1,\"tid\":2,\"name\":\"a\"}"
#define HEARD "B 1/2 1000 a\n"
#define MIB   (1u << 20)

/* What a limit may be exceeded by: what is read and unpacked between two looks. */
#define STEP MIB

struct asked {
	unsigned times;
	unsigned patience;
};

static bool ask(void *context)
{
	struct asked *asked = context;

	return ++asked->times > asked->patience;
}

static struct heard *hear_within(int fd, struct reader_limits *limits)
{
	struct heard *h = calloc(1, sizeof(*h));
	struct reader_sink sink;

	assert_non_null(h);
	h->names = names_new(0);
	sink = (struct reader_sink){ heard_event, h, h->names, &h->account, &h->origin, NULL };
	h->status = trace_read_within(fd, &sink, limits, &h->why);
	close(fd);
	return h;
}

/* An event, then blanks. */
static void *blanks(size_t size)
{
	static const char start[] = "[" EVENT ",";
	char *bytes = malloc(size);

	assert_non_null(bytes);
	memset(bytes, ' ', size);
	memcpy(bytes, start, sizeof(start) - 1);
	return bytes;
}

static int packed_file(const void *bytes, size_t size)
{
	size_t packed_size;
	void *gzip = packed(bytes, size, 31, &packed_size);
	int fd = memory_file(gzip, packed_size);

	free(gzip);
	return fd;
}

static void is_cut(struct heard *h)
{
	assert_string_equal(h->why.message, "");
	assert_int_equal(h->status, 0);
	assert_true(h->why.truncated);
	assert_string_equal(h->text, HEARD);
	heard_free(h);
}

/* A file of a tebibyte that takes no room on the disk. */
static void zeros_are_not_read_to_their_end(void **state)
{
	static const char json[] = "[" EVENT ",\n";
	int fd = memory_file(json, sizeof(json) - 1);

	(void)state;
	assert_int_equal(ftruncate(fd, 1ll << 40), 0);
	is_cut(hear_within(fd, NULL));
}

static void zeros_before_something_else_are_nonsense(void **state)
{
	char bytes[2 * 4096 + 1] = "[" EVENT ",\n";
	struct heard *h;

	(void)state;
	bytes[sizeof(bytes) - 1] = 'x';
	h = hear(bytes, sizeof(bytes));
	assert_int_equal(h->status, -EBADMSG);
	heard_free(h);
}

static void no_more_bytes_than_allowed(void **state)
{
	struct reader_limits limits = { .bytes = 3 * MIB };
	void *bytes = blanks(16 * MIB);

	(void)state;
	is_cut(hear_within(memory_file(bytes, 16 * MIB), &limits));
	assert_int_equal(limits.end, READ_ENOUGH);
	assert_in_range(limits.taken, 3 * MIB, 3 * MIB + STEP);
	/* What is left is for the next ones. */
	limits = (struct reader_limits){ .bytes = 6 * MIB };
	is_cut(hear_within(memory_file(bytes, 4 * MIB), &limits));
	assert_int_equal(limits.end, READ_ON);
	is_cut(hear_within(packed_file(bytes, 16 * MIB), &limits));
	assert_int_equal(limits.end, READ_ENOUGH);
	assert_in_range(limits.taken, 6 * MIB, 6 * MIB + STEP);
	free(bytes);
}

static void is_asked_all_the_time(void **state)
{
	struct asked asked = { .patience = 5 };
	struct reader_limits limits = { .stop = ask, .context = &asked };
	void *bytes = blanks(16 * MIB);

	(void)state;
	is_cut(hear_within(memory_file(bytes, 16 * MIB), &limits));
	assert_int_equal(limits.end, READ_STOPPED);
	assert_int_equal(asked.times, 6);
	assert_in_range(limits.taken, 0, 6 * STEP);
	limits.end = READ_ON;
	limits.taken = asked.times = 0;
	is_cut(hear_within(packed_file(bytes, 16 * MIB), &limits));
	assert_int_equal(limits.end, READ_STOPPED);
	assert_in_range(limits.taken, 0, 6 * STEP);
	/* Also while zeros are passed over. */
	memset((char *)bytes + 100, 0, 16 * MIB - 100);
	limits.end = READ_ON;
	limits.taken = asked.times = 0;
	is_cut(hear_within(packed_file(bytes, 16 * MIB), &limits));
	assert_int_equal(limits.end, READ_STOPPED);
	assert_in_range(limits.taken, 0, 6 * STEP);
	free(bytes);
}

/* Members without contents unpack to nothing for as long as there are any. */
static void is_asked_where_nothing_comes_of_it(void **state)
{
	struct asked asked = { 0 };
	struct reader_limits limits = { .stop = ask, .context = &asked };
	size_t size, n, i;
	char *member = packed("", 0, 31, &size), *bytes;
	struct input *input;
	int fd;

	(void)state;
	n = MIB / size;
	bytes = malloc(n * size);
	assert_non_null(bytes);
	for (i = 0; i < n; i++)
		memcpy(bytes + i * size, member, size);
	fd = memory_file(bytes, n * size);
	assert_int_equal(input_open(fd, &input), 0);
	input_limit(input, &limits);
	assert_int_equal(input_want(input, 1), 0);
	assert_int_equal(input_available(input), 0);
	assert_true(input_is_cut(input));
	assert_int_equal(limits.end, READ_STOPPED);
	assert_int_equal(asked.times, 1);
	input_free(input);
	close(fd);
	free(bytes);
	free(member);
}

/* What a reader unpacks itself counts, too, and a window that has grown is no longer step. */
static void what_readers_unpack_counts(void **state)
{
	struct asked asked = { .patience = 1000 };
	struct reader_limits limits = { .bytes = 64 * MIB, .stop = ask, .context = &asked };
	void *bytes = blanks(16 * MIB);
	int fd = memory_file(bytes, 16 * MIB);
	struct input *input;

	(void)state;
	assert_int_equal(input_open(fd, &input), 0);
	input_limit(input, &limits);
	assert_int_equal(input_want(input, 4 * MIB), 0);
	input_consume(input, input_available(input));
	asked.times = 0;
	assert_int_equal(input_want(input, 4 * MIB), 0);
	assert_in_range(asked.times, 4 * MIB / STEP, 1000);
	assert_int_equal(limits.end, READ_ON);
	input_consume(input, input_available(input));
	assert_int_equal(input_unpack(input, 64 * MIB), 0);
	assert_int_equal(input_want(input, 1), 0);
	assert_int_equal(input_available(input), 0);
	assert_int_equal(limits.end, READ_ENOUGH);
	input_free(input);
	close(fd);
	free(bytes);
}

/* The beginning of a file, the same unit again and again, and how it ends. */
static void *repeated(const char *start, const char *unit, const char *end, size_t size)
{
	const size_t from = strlen(start), length = strlen(unit), rest = strlen(end);
	char *bytes = malloc(size);
	size_t i;

	assert_non_null(bytes);
	memcpy(bytes, start, from);
	for (i = from; i + length <= size - rest; i += length)
		memcpy(bytes + i, unit, length);
	memset(bytes + i, ' ', size - rest - i);
	memcpy(bytes + size - rest, end, rest);
	return bytes;
}

static void expect_refused(int fd, const char *message)
{
	struct heard *h = hear_within(fd, NULL);

	assert_true(h->status < 0);
	assert_string_equal(h->why.message, message);
	heard_free(h);
}

static void expect_read(int fd)
{
	struct heard *h = hear_within(fd, NULL);

	assert_string_equal(h->why.message, "");
	assert_int_equal(h->status, 0);
	heard_free(h);
}

static void compressed_data_needs_events(void **state)
{
	static const struct {
		const char *start, *unit, *end;
	} files[] = {
		{ "[" EVENT ",", "{},", "{}]" },
		{ "[" EVENT ",", "1,", "1]" },
		{ "[" EVENT ",", "{\"ph\":\"P\"},", "{}]" },
		{ "[" EVENT ",{\"name\":\"", "a", "\"}]" },
		{ "{\"traceEvents\":[" EVENT "],\"a\":[", "\"\",", "1]}" },
	};
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		const size_t size = 20 * MIB;
		void *bytes = repeated(files[i].start, files[i].unit, files[i].end, size);

		expect_refused(packed_file(bytes, size),
			       "compressed data that unpacks to 16 MiB with too few events");
		/* The same is read where it is not compressed. */
		expect_read(memory_file(bytes, size));
		free(bytes);
	}
}

/* One event among megabytes of something else does not excuse all of these. */
static void few_events_are_not_enough(void **state)
{
	const size_t piece = 4 * MIB, size = 8 * piece;
	char *one = repeated(EVENT ",", "{},", "", piece), *bytes = malloc(size);
	size_t at;

	(void)state;
	assert_non_null(bytes);
	for (at = 0; at < size; at += piece)
		memcpy(bytes + at, one, piece);
	/* The beginning of the list, in place of the first event. */
	memset(bytes, ' ', sizeof(EVENT));
	bytes[0] = '[';
	expect_refused(packed_file(bytes, size),
		       "compressed data that unpacks to 16 MiB with too few events");
	expect_read(memory_file(bytes, size));
	free(bytes);
	free(one);
}

/* Events compress by as much as gzip can without being refused, up to 32 MiB. */
static void compressed_events_are_read(void **state)
{
	void *bytes = repeated("[", EVENT ",", "", 20 * MIB);

	(void)state;
	expect_read(packed_file(bytes, 20 * MIB));
	free(bytes);
}

static void a_file_is_limited_in_all(void **state)
{
	void *bytes = blanks(MIB);
	int fd = packed_file(bytes, MIB);
	struct input *input;
	unsigned i;

	(void)state;
	assert_int_equal(input_open(fd, &input), 0);
	assert_int_equal(input_want(input, MIB), 0);
	for (i = 0; i < 31; i++) {
		assert_int_equal(input_unpack(input, MIB), 0);
		input_mark_useful(input, 16);
	}
	assert_int_equal(input_unpack(input, MIB), -EFBIG);
	assert_string_equal(input_problem(input, -EFBIG),
			    "compressed data that unpacks to 32 MiB and to 200 times its size");
	input_free(input);
	close(fd);
	free(bytes);
}

/* Reads all of a file; `events`: as many as that excuse each of its steps. Returns the error. */
static int read_all(int fd, unsigned events, uint64_t *ret_read)
{
	struct input *input;
	int error;

	assert_int_equal(input_open(fd, &input), 0);
	do {
		error = input_want(input, 1);
		input_mark_useful(input, events);
		input_consume(input, input_available(input));
	} while (!error && input_offset(input) < 64 * MIB);
	*ret_read = input_offset(input);
	if (error)
		assert_string_equal(input_problem(input, error),
				    "a sparse file with 16 MiB of holes and too few events");
	input_free(input);
	close(fd);
	return error;
}

/* The same bytes, once in holes: 64 KiB are stored, which excuse 50 times as much. */
static void holes_are_limited(void **state)
{
	void *bytes = blanks(64 * 1024);
	int sparse = memory_file(bytes, 64 * 1024), stored = memory_file(bytes, 64 * 1024);
	uint64_t n;

	(void)state;
	assert_int_equal(ftruncate(sparse, 64 * MIB), 0);
	assert_int_equal(posix_fallocate(stored, 0, 64 * MIB), 0);
	assert_int_equal(read_all(stored, 0, &n), 0);
	assert_int_equal(n, 64 * MIB);
	assert_int_equal(read_all(dup(sparse), 0, &n), -EFBIG);
	assert_in_range(n, 16 * MIB, 16 * MIB + 50 * 64 * 1024 + STEP);
	/* Where events are read all the time it is not a bomb, but a file system that compresses. */
	assert_int_equal(lseek(sparse, 0, SEEK_SET), 0);
	assert_int_equal(read_all(sparse, 16, &n), 0);
	assert_int_equal(n, 64 * MIB);
	free(bytes);
}

#define SPACES "                                                                "

static void white_space_is_limited(void **state)
{
	void *bytes = blanks(10 * MIB);

	(void)state;
	expect_refused(memory_file(bytes, 10 * MIB), "white space of more than 8 MiB");
	expect_read(memory_file(bytes, 8 * MIB));
	free(bytes);
	/* Not all of a file together, and not what stands in a string. */
	bytes = repeated("[" EVENT ",", EVENT ",          \n" SPACES SPACES SPACES SPACES, "",
			 12 * MIB);
	expect_read(memory_file(bytes, 12 * MIB));
	free(bytes);
	bytes = repeated("[" EVENT ",{\"args\":\"", " ", "\"}]", 10 * MIB);
	expect_read(memory_file(bytes, 10 * MIB));
	free(bytes);
}

/* Zeros, stored so that the file is not sparse, where the reader looks at them no more. */
static int long_string(size_t length)
{
	static const char end[] = "\"}]";
	void *bytes = repeated("[" EVENT ",{\"name\":\"", "a", "", MIB);
	int fd = memory_file(bytes, MIB);

	free(bytes);
	assert_int_equal(posix_fallocate(fd, 0, (off_t)length), 0);
	assert_int_equal(pwrite(fd, end, sizeof(end) - 1, (off_t)length), sizeof(end) - 1);
	return fd;
}

static void strings_are_limited(void **state)
{
	(void)state;
	expect_refused(long_string(257 * MIB), "a string of more than 256 MiB");
	expect_read(long_string(256 * MIB));
}

/* Also terabytes of zeros that were compressed afterwards. */
static void compressed_zeros_are_a_crash(void **state)
{
	char *bytes = calloc(1, 40 * MIB);
	static const char json[] = "[" EVENT ",\n";

	(void)state;
	assert_non_null(bytes);
	memcpy(bytes, json, sizeof(json) - 1);
	is_cut(hear_within(packed_file(bytes, 40 * MIB), NULL));
	free(bytes);
}

/* What follows the JSON is not read to its end. */
static void what_follows_is_ignored(void **state)
{
	void *bytes = repeated("[" EVENT "]", " ", "", 40 * MIB);
	struct heard *h = hear_within(packed_file(bytes, 40 * MIB), NULL);

	(void)state;
	assert_int_equal(h->status, 0);
	assert_false(h->why.truncated);
	assert_string_equal(h->text, HEARD);
	heard_free(h);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zeros_are_not_read_to_their_end),
		cmocka_unit_test(zeros_before_something_else_are_nonsense),
		cmocka_unit_test(no_more_bytes_than_allowed),
		cmocka_unit_test(is_asked_all_the_time),
		cmocka_unit_test(is_asked_where_nothing_comes_of_it),
		cmocka_unit_test(what_readers_unpack_counts),
		cmocka_unit_test(compressed_data_needs_events),
		cmocka_unit_test(few_events_are_not_enough),
		cmocka_unit_test(compressed_events_are_read),
		cmocka_unit_test(holes_are_limited),
		cmocka_unit_test(a_file_is_limited_in_all),
		cmocka_unit_test(white_space_is_limited),
		cmocka_unit_test(strings_are_limited),
		cmocka_unit_test(compressed_zeros_are_a_crash),
		cmocka_unit_test(what_follows_is_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
