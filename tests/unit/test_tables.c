/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables that the kernel adds up in, as it leaves them: what is read, and what a reset leaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/tables/internal.h"
#include "proftrace.skel.h"

static struct proftrace_bpf__bss shared;

static int setup(void **state)
{
	struct capture *c = calloc(1, sizeof(*c));
	unsigned i;

	assert_non_null(c);
	c->options.table_rows = TABLE_LEAST_ROWS;
	c->shared = &shared;
	memset(&shared, 0, sizeof(shared));
	for (i = 0; i < BROKER_TABLES; i++) {
		c->loaded.tables[i] = memfd_create("table", MFD_CLOEXEC);
		assert_true(c->loaded.tables[i] >= 0);
		assert_int_equal(ftruncate(c->loaded.tables[i], 16 << 20), 0);
	}
	assert_int_equal(tables_open(c), 0);
	*state = c;
	return 0;
}

static int teardown(void **state)
{
	tables_close(*state);
	free(*state);
	return 0;
}

struct seen {
	struct table_entry last;
	unsigned n;
};

static void see(void *context, const struct table_entry *e)
{
	struct seen *seen = context;

	seen->last = *e;
	seen->n++;
}

static struct seen look(struct capture *c)
{
	struct seen seen = { 0 };

	capture_table(c, see, &seen);
	return seen;
}

/* ENDs without a BEGIN that found no room for a row are among the others, and so is nothing else. */
static void a_reset_forgets_unmatched_ends(void **state)
{
	struct capture *c = *state;
	struct table_row *row = &c->tables->rows[TABLE_OTHER_ASYNCS];
	struct seen seen;

	row->times.unmatched = 3;
	seen = look(c);
	assert_int_equal(seen.n, 1);
	assert_int_equal(seen.last.key.part, TABLE_INSTANTS);
	assert_int_equal(seen.last.count, 3);
	capture_table_reset(c);
	assert_int_equal(look(c).n, 0);
	row->times.unmatched += 2;
	seen = look(c);
	assert_int_equal(seen.n, 1);
	assert_int_equal(seen.last.count, 2);
}

/* The kernel begins them where a row is of another reset than now. */
static void least_and_greatest_of_others_are_begun(void **state)
{
	struct capture *c = *state;
	struct table_row *row = &c->tables->rows[TABLE_OTHER_SLICES];
	struct seen seen;

	assert_int_not_equal(row->resets, shared.table_resets);
	row->count = 1;
	row->resets = shared.table_resets;
	row->times = (struct table_times){ .total = 7, .self = 7, .sum = 7, .min = 7, .max = 7 };
	seen = look(c);
	assert_int_equal(seen.n, 1);
	assert_int_equal(seen.last.min_ns, 7);
	capture_table_reset(c);
	assert_int_not_equal(row->resets, shared.table_resets);
}

/* More names than are kept of threads that have exited: their uses are counted, since another program may have taken all of them. */
static void what_has_no_space_for_its_name_is_counted(void **state)
{
	struct capture *c = *state;
	struct table_row *row = &c->tables->rows[TABLE_FIRST_ROW];
	const struct table_thread thread = { .tgid = 1, .tid = 1 };
	struct site site = { .kind = RECORD_INSTANT };
	struct account a = { 0 };

	c->sites = &site;
	c->n_sites = 1;
	c->options.names = names_new(16);
	assert_non_null(c->options.names);
	*row = (struct table_row){ .what = TABLE_DYNAMIC, .length = 1, .count = 2 };
	c->tables->pages[TABLE_FIRST_ROW].name[0] = 'a';
	table_row_keep(c, &thread, TABLE_FIRST_ROW);
	for (int pid = 1; pid <= 2 * MAX_KEPT; pid++) {
		const struct table_key key = { .pid = pid };

		assert_non_null(hash_add_new(hh, c->tables->kept, key, key));
	}
	table_row_keep(c, &thread, TABLE_FIRST_ROW);
	tables_account(c, &a);
	assert_int_equal(a.other_names, 0);
	c->tables->pages[TABLE_FIRST_ROW].name[0] = 'b';
	table_row_keep(c, &thread, TABLE_FIRST_ROW);
	tables_account(c, &a);
	assert_int_equal(a.other_names, 2);
	names_free(c->options.names);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_reset_forgets_unmatched_ends),
		TEST(least_and_greatest_of_others_are_begun),
		TEST(what_has_no_space_for_its_name_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
