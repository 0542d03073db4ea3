/* SPDX-License-Identifier: BSD-2-Clause */
/* How long what programs name holds up the end of a recording, by a clock that the test turns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

static uint64_t turn_clock(void);
#define clock_ns(id) turn_clock()
#include "record/include.c"
#undef clock_ns

#define EVENTS 300000 /* some 17 MB, which are read in many pieces */

static uint64_t now_ns, piece_ns;

/* It is looked at for each piece that is read. */
static uint64_t turn_clock(void)
{
	now_ns += piece_ns;
	return now_ns;
}

static void write_trace(const char *path)
{
	FILE *file = fopen(path, "w");
	unsigned i;

	assert_non_null(file);
	fputc('[', file);
	for (i = 0; i < EVENTS; i++)
		fprintf(file,
			"%s{\"ph\":\"i\",\"ts\":%u,\"name\":\"a\",\"pid\":1,\"tid\":1,\"s\":\"t\"}",
			i ? ",\n" : "", 1000 + i);
	fputs("]\n", file);
	assert_int_equal(fclose(file), 0);
}

static void name_by_program(struct recording *r, const char *path)
{
	struct arg arg = { .type = ARG_STRING, .length = (uint32_t)strlen(path), .s = path };
	struct event e = { .kind = EVENT_INCLUDE_JSON,
			   .pid = (uint32_t)getpid(),
			   .id = geteuid(),
			   .n_args = 1,
			   .args = &arg };

	include_add_named(r, &e);
}

/* Two that the program names, and one that the command line does. */
static void include(uint64_t ns, struct recording *r, struct record_options *options)
{
	static const char *const names[] = { "first.json", "second.json", "third.json" };
	char directory[] = "/tmp/test_include_limits.XXXXXX", paths[3][64];
	unsigned i;

	assert_non_null(mkdtemp(directory));
	for (i = 0; i < 3; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%s/%s", directory, names[i]);
		write_trace(paths[i]);
	}
	*options = (struct record_options){ .n_includes = 1, .includes = { paths[2] } };
	*r = (struct recording){ .options = options, .signals_fd = -1 };
	r->names = names_new(0);
	r->writer = r->timeline = timeline_new(r->names, &r->accounting, 1);
	assert_non_null(r->writer);
	name_by_program(r, paths[0]);
	name_by_program(r, paths[1]);
	piece_ns = ns;
	assert_int_equal(include_all(r), 0);
	assert_int_equal(r->includes->n, 3);
	for (i = 0; i < 3; i++)
		unlink(paths[i]);
	rmdir(directory);
}

static void over(struct recording *r)
{
	includes_free(r->includes);
	timeline_free(r->writer);
	names_free(r->names);
}

static void in_time_all_is_read(void **state)
{
	struct record_options options;
	struct recording r;
	unsigned i;

	(void)state;
	include(1000000, &r, &options);
	for (i = 0; i < 3; i++) {
		assert_int_equal(r.includes->list[i].left_out, LEFT_NOTHING);
		assert_int_equal(r.includes->list[i].events, EVENTS);
	}
	assert_true(includes_are_whole(&r));
	over(&r);
}

/* Not one byte of the second: the time is for all of them. What the command line names has no limit. */
static void what_programs_name_has_half_a_minute(void **state)
{
	struct record_options options;
	struct recording r;

	(void)state;
	include(PROGRAMS_SECONDS * 1000000000ull / 40, &r, &options);
	assert_int_equal(r.includes->list[0].left_out, LEFT_BY_TIME);
	assert_true(r.includes->list[0].events > 0);
	assert_true(r.includes->list[0].events < EVENTS);
	assert_int_equal(r.includes->list[1].left_out, LEFT_BY_TIME);
	assert_int_equal(r.includes->list[1].events, 0);
	assert_int_equal(r.includes->list[2].left_out, LEFT_NOTHING);
	assert_int_equal(r.includes->list[2].events, EVENTS);
	assert_false(includes_are_whole(&r));
	over(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_time_all_is_read),
		cmocka_unit_test(what_programs_name_has_half_a_minute),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
