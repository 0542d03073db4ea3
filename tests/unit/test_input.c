/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that would be read for ever, or for as long as somebody else likes. */
#include "readers_test.h"

#include <errno.h>

#include "readers/input.h"

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
	input_unpacked(input, 64 * MIB);
	assert_int_equal(input_want(input, 1), 0);
	assert_int_equal(input_available(input), 0);
	assert_int_equal(limits.end, READ_ENOUGH);
	input_free(input);
	close(fd);
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
