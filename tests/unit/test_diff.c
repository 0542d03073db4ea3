/* SPDX-License-Identifier: BSD-2-Clause */
/* Comparisons: that the test is the one it claims to be, and what it makes of few and odd runs. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "reports/diff/diff_internal.h"

struct comparison {
	struct diff_options options;
	struct names *names;
	struct diff *diff;
};

static void compare_begin(struct comparison *c)
{
	*c = (struct comparison){ .options = { .confidence = 0.99, .fail_over = -1 } };
	c->names = names_new(0);
	c->diff = diff_new(&c->options, c->names);
	assert_non_null(c->diff);
}

/* A run in which each of these slices took so long, all ten of them. */
static void compare_run(struct comparison *c, bool is_b, const char *const *slices,
			const double *times, unsigned n)
{
	int fd = memfd_create("saved", MFD_CLOEXEC);
	FILE *out = fdopen(fd, "w");
	unsigned i;

	fputs("{\"proftrace_report\": 1, \"slices\": [", out);
	for (i = 0; i < n; i++)
		fprintf(out,
			"%s{\"category\": null, \"name\": \"%s\", \"count\": 10, \"total_ns\": "
			"%.0f, "
			"\"self_ns\": %.0f, \"p50_ns\": %.0f, \"p95_ns\": %.0f}",
			i ? ", " : "", slices[i], 10 * times[i], 10 * times[i], times[i], times[i]);
	fputs("]}", out);
	fflush(out);
	diff_begin_run(c->diff, is_b, false, "run");
	assert_true(diff_is_saved(fd));
	assert_int_equal(diff_add_saved(c->diff, fd, "run", NULL), 0);
	fclose(out);
}

static const struct diff_row *compare_end(struct comparison *c, const char *name)
{
	const struct diff_row *row;

	assert_int_equal(diff_decide(c->diff, true, NULL), 0);
	for (row = c->diff->rows; row; row = row->hh.next) {
		if (!strcmp(row->key.name->text, name))
			return row;
	}
	fail();
	return NULL;
}

static void compare_done(struct comparison *c)
{
	diff_free(c->diff);
	names_free(c->names);
}

static void compare_lists(struct comparison *c, const double *a, unsigned n_a, const double *b,
			  unsigned n_b)
{
	static const char *const name[] = { "x" };
	unsigned i;

	compare_begin(c);
	for (i = 0; i < n_a; i++)
		compare_run(c, false, name, &a[i], 1);
	for (i = 0; i < n_b; i++)
		compare_run(c, true, name, &b[i], 1);
}

/* Of 252 ways to divide ten runs, two are as far apart as this one. */
static void five_runs_decide(void **state)
{
	static const double a[] = { 1000000, 1010000, 990000, 1005000, 995000 };
	static const double b[] = { 1200000, 1210000, 1190000, 1205000, 1195000 };
	struct comparison c;
	const struct diff_result *r;

	(void)state;
	compare_lists(&c, a, 5, b, 5);
	r = &compare_end(&c, "x")->results[METRIC_P50];
	assert_int_equal(c.diff->most_permutations, 252);
	assert_float_equal(r->p, 2.0 / 252, 1e-9);
	assert_true(r->decided);
	assert_float_equal(r->change, 0.2, 0.001);
	assert_float_equal(r->low, 1190000.0 / 1010000 - 1, 1e-6);
	assert_float_equal(r->high, 1210000.0 / 990000 - 1, 1e-6);
	assert_float_equal(r->a, 1000000, 1);
	assert_float_equal(r->b, 1200000, 1);
	compare_done(&c);
}

static void four_runs_do_not(void **state)
{
	static const double a[] = { 1000000, 1010000, 990000, 1005000 };
	static const double b[] = { 2200000, 2210000, 2190000, 2205000 };
	const struct diff_row *row;
	struct comparison c;

	(void)state;
	compare_lists(&c, a, 4, b, 4);
	row = compare_end(&c, "x");
	assert_false(c.diff->testable);
	assert_int_equal(c.diff->least_runs, 5);
	assert_int_equal(row->verdict, VERDICT_UNTESTED);
	assert_false(row->results[METRIC_P50].decided);
	compare_done(&c);
}

/* One run that is far off on either side does not hide the others, and is no change by itself. */
static void one_odd_run(void **state)
{
	static const double a[] = { 1000000, 1002000, 998000, 9001000, 999000,
				    1001000, 1003000, 997000, 1000400, 999600 };
	static const double b[] = { 1100000, 1102000, 1098000, 1101000, 1099000,
				    1103000, 1097000, 1100400, 1099600, 1100800 };
	static const double same[] = { 1000500, 1001500, 998500, 1000800, 999300,
				       1001200, 1002000, 997700, 1000900, 999100 };
	struct comparison c;

	(void)state;
	compare_lists(&c, a, 10, b, 10);
	assert_int_equal(compare_end(&c, "x")->verdict, VERDICT_SLOWER);
	compare_done(&c);
	compare_lists(&c, same, 10, a, 10);
	assert_int_equal(compare_end(&c, "x")->verdict, VERDICT_NONE);
	compare_done(&c);
}

static uint64_t seed = 88172645463325252ull;

static double uniform(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return ((double)(seed >> 11) + 0.5) / 9007199254740992.0;
}

/*
 * Of comparisons of equal programs with 20 names, those with any decision must be about 1 of 20 at
 * 95 %: the bound is 5 standard deviations away.
 */
static void chance_decides_as_rarely_as_promised(void **state)
{
	char texts[20][8];
	const char *slices[20];
	double times[20];
	unsigned k, i, run, wrong = 0;

	(void)state;
	for (i = 0; i < 20; i++) {
		snprintf(texts[i], sizeof(texts[i]), "s%u", i);
		slices[i] = texts[i];
	}
	for (k = 0; k < 150; k++) {
		struct comparison c;
		bool any = false;

		compare_begin(&c);
		c.options.confidence = 0.95;
		for (run = 0; run < 12; run++) {
			double common = 1 + 0.2 * uniform();

			for (i = 0; i < 20; i++)
				times[i] = 1e6 * (i + 1) * common / sqrt(uniform());
			compare_run(&c, run >= 6, slices, times, 20);
		}
		compare_end(&c, "s0");
		for (i = 0; i < c.diff->n_order; i++)
			any |= c.diff->order[i]->verdict != VERDICT_NONE;
		wrong += any;
		compare_done(&c);
	}
	assert_in_range(wrong, 0, 21);
}

/* What all names of a run have in common hides less than a change of one of them. */
static void common_noise_is_taken_out(void **state)
{
	static const char *const slices[] = { "a", "b", "c", "d", "e", "f", "g" };
	const struct diff_row *row;
	struct comparison c;
	double times[7];
	unsigned i, run;

	(void)state;
	compare_begin(&c);
	for (run = 0; run < 16; run++) {
		double common = 1 + 0.1 * uniform();

		for (i = 0; i < 7; i++)
			times[i] = 1e6 * (i + 1) * common * (1 + 0.002 * uniform());
		times[3] *= run >= 8 ? 1.05 : 1;
		compare_run(&c, run >= 8, slices, times, 7);
	}
	row = compare_end(&c, "d");
	assert_int_equal(row->verdict, VERDICT_SLOWER);
	assert_true(row->results[METRIC_P50].is_alone);
	assert_float_equal(row->results[METRIC_P50].change, 0.05, 0.01);
	for (row = c.diff->rows; row; row = row->hh.next)
		assert_true(row->verdict == VERDICT_NONE || !strcmp(row->key.name->text, "d"));
	compare_done(&c);
}

static void names_of_one_side(void **state)
{
	static const char *const both[] = { "x", "old" }, *const other[] = { "x", "new" };
	const double times[] = { 1e6, 2e6 };
	struct failure f = { 0 };
	const struct diff_row *row;
	struct comparison c;
	unsigned i;

	(void)state;
	compare_begin(&c);
	for (i = 0; i < 10; i++)
		compare_run(&c, i >= 5, i >= 5 ? other : both, times, 2);
	assert_int_equal(compare_end(&c, "old")->verdict, VERDICT_ONLY_A);
	for (row = c.diff->rows; strcmp(row->key.name->text, "new"); row = row->hh.next)
		;
	assert_int_equal(row->verdict, VERDICT_ONLY_B);
	compare_done(&c);
	compare_begin(&c);
	compare_run(&c, false, both + 1, times, 1);
	compare_run(&c, true, other, times, 1);
	assert_int_equal(diff_decide(c.diff, true, &f), -ENODATA);
	assert_non_null(strstr(f.reason, "no name in common"));
	compare_done(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(five_runs_decide),
		cmocka_unit_test(four_runs_do_not),
		cmocka_unit_test(one_odd_run),
		cmocka_unit_test(chance_decides_as_rarely_as_promised),
		cmocka_unit_test(common_noise_is_taken_out),
		cmocka_unit_test(names_of_one_side),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
