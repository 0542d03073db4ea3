/* SPDX-License-Identifier: BSD-2-Clause */
/* For tests of the statistics: events go through a timeline, and what is printed is looked at. */
#ifndef PROFTRACE_TESTS_STATS_TEST_H
#define PROFTRACE_TESTS_STATS_TEST_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reports/table/stats_print.h"
#include "reports/table/stats_rows.h"
#include "reports/table/table.h"
#include "timeline/timeline.h"

struct test {
	struct names *names;
	struct account account;
	struct timeline *timeline;
	struct consumer *stats;
	char *text;
};

static inline struct test *test_new(void)
{
	struct test *x = calloc(1, sizeof(*x));

	assert_non_null(x);
	x->names = names_new(0);
	x->timeline = timeline_new(x->names, &x->account, 0);
	x->stats = stats_new();
	assert_non_null(x->stats);
	assert_int_equal(timeline_add_consumer(x->timeline, x->stats), 0);
	return x;
}

static inline void test_done(struct test *x)
{
	timeline_free(x->timeline);
	x->stats->ops->free(x->stats);
	names_free(x->names);
	free(x->text);
	free(x);
}

static inline const struct name *nm(struct test *x, const char *text)
{
	return text ? names_intern_string(x->names, text) : NULL;
}

static inline void put(struct test *x, enum event_kind kind, uint64_t ts_ns, const char *category,
		       const char *name, uint64_t id)
{
	const struct event event = { .kind = kind,
				     .pid = 10,
				     .tid = 10,
				     .level = -1,
				     .ts_ns = ts_ns,
				     .id = id,
				     .category = nm(x, category),
				     .name = nm(x, name) };

	assert_int_equal(timeline_event(x->timeline, &event), 0);
}

static inline void slice(struct test *x, uint64_t begin_ns, uint64_t end_ns, const char *category,
			 const char *name)
{
	put(x, EVENT_BEGIN, begin_ns, category, name, 0);
	put(x, EVENT_END, end_ns, NULL, NULL, 0);
}

static inline void sample(struct test *x, uint64_t ts_ns, const char *name, const char *key,
			  struct arg value, const char *unit)
{
	struct event event = { .kind = EVENT_COUNTER,
			       .pid = 10,
			       .tid = 10,
			       .ts_ns = ts_ns,
			       .name = nm(x, name),
			       .unit = nm(x, unit),
			       .n_args = 1,
			       .args = &value };

	value.key = nm(x, key);
	assert_int_equal(timeline_event(x->timeline, &event), 0);
}

static inline const char *print_as(struct test *x, const struct stats_options *options)
{
	size_t size;
	FILE *out;

	free(x->text);
	out = open_memstream(&x->text, &size);
	assert_non_null(out);
	assert_int_equal(stats_print_table(x->stats, out, options, NULL, NULL), 0);
	fclose(out);
	return x->text;
}

/* Percentiles have tests of their own. */
#define COLUMNS "count,total,self,min,max,avg,share"

static inline const char *print(struct test *x, unsigned max_rows, bool color)
{
	return print_as(x, &(struct stats_options){
				   .max_rows = max_rows, .color = color, .columns = COLUMNS });
}

#define INT(value)    ((struct arg){ .type = ARG_INT, .i = (value) })
#define UINT(value)   ((struct arg){ .type = ARG_UINT, .u = (value) })
#define DOUBLE(value) ((struct arg){ .type = ARG_DOUBLE, .d = (value) })

#endif
