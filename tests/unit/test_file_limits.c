/* SPDX-License-Identifier: BSD-2-Clause */
/* What is too much, and how many lines are said of it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/file_limits.h"

struct said {
	unsigned loud, quiet, of_more;
};

static void hear(void *context, int verbosity, const char *line)
{
	struct said *said = context;

	*(verbosity ? &said->quiet : &said->loud) += 1;
	said->of_more += strstr(line, "-v names them") != NULL;
}

static struct capture *a_capture(struct said *said)
{
	struct capture *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	c->options.log = hear;
	c->options.context = said;
	return c;
}

static void test_sites(void **state)
{
	struct capture *c = a_capture(NULL);
	struct failure f = { 0 };

	(void)state;
	assert_false(files_too_many_sites(c, 262144, &f));
	assert_true(files_too_many_sites(c, 262145, &f));
	assert_true(files_too_many_sites(c, UINT32_MAX, &f));
	c->n_sites = 262140;
	assert_false(files_too_many_sites(c, 4, &f));
	assert_true(files_too_many_sites(c, 5, &f));
	/* Sites of probes, of which there may be as many again. */
	c->n_sites = 524288;
	assert_true(files_too_many_sites(c, 1, &f));
	assert_string_equal(f.reason, "there are too many marker sites");
	free(c);
}

static void test_links(void **state)
{
	struct capture *c = a_capture(NULL);
	struct failure f = { 0 };

	(void)state;
	c->n_links = 2047;
	assert_false(files_too_many_links(c, &f));
	c->n_links = 2048;
	assert_true(files_too_many_links(c, &f));
	assert_string_equal(f.reason, "too many files contain markers or probes");
	free(c);
}

static void test_files(void **state)
{
	struct capture *c = a_capture(NULL);
	struct failure f = { 0 };
	unsigned i;

	(void)state;
	for (i = 0; i < 16384; i++) {
		assert_false(files_full(c, &f));
		files_refuse(c, &(struct file_key){ 1, i, 0 }, 1);
	}
	assert_true(files_full(c, &f));
	assert_string_equal(f.reason, "too many files are mapped");
	files_free(c);
	free(c);
}

/* The process has its file mapped, or another file has got the number since. */
static void test_unopened(void **state)
{
	struct capture *c = a_capture(NULL);
	const struct file_key key = { 1, 42, 0 };
	enum file_news news;

	(void)state;
	files_refuse(c, &key, 10);
	assert_true(files_known(c, &key, 10, &news));
	assert_int_equal(news, FILE_NOTHING);
	assert_false(files_known(c, &key, 11, &news));
	files_refuse(c, &key, 11);
	assert_int_equal(HASH_COUNT(c->files), 1);
	assert_true(files_known(c, &key, 11, &news));
	/* It ends, or executes another program. */
	files_forget_refusals(c, 10);
	assert_false(files_known(c, &key, 10, &news));
	files_free(c);
	free(c);
}

static void test_few_lines(void **state)
{
	struct said said = { 0 };
	struct capture *c = a_capture(&said);
	struct failure f = { 0 };
	unsigned i;

	(void)state;
	failure_set(&f, -EMFILE, "cannot attach to", "", "for once");
	for (i = 0; i < 100; i++)
		files_report_refused(c, "/a/file", &f);
	assert_int_equal(c->refused, 100);
	assert_int_equal(said.loud, 17);
	assert_int_equal(said.quiet, 84);
	assert_int_equal(said.of_more, 1);
	free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sites),	  cmocka_unit_test(test_links),
		cmocka_unit_test(test_files),	  cmocka_unit_test(test_unopened),
		cmocka_unit_test(test_few_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
