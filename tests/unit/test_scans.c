/* SPDX-License-Identifier: BSD-2-Clause */
/* The time that scans of a process may take: no other process changes it, whatever its number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <sys/types.h>

#include "capture/internal.h"

#define USED_UP (-1000000000000ll) /* for hours */

static int begin(void **state)
{
	*state = calloc(1, sizeof(struct capture));
	assert_non_null(*state);
	return 0;
}

static int end(void **state)
{
	free(*state);
	return 0;
}

static struct scan_pace *use_up(struct capture *c, pid_t pid, int64_t credit_ns)
{
	assert_true(scans_can_afford(c, pid));
	for (unsigned i = 0; i < SCAN_PACES; i++) {
		struct scan_pace *p = &c->scans.paces[i];

		if (p->pid != pid)
			continue;
		p->credit_ns = credit_ns;
		return p;
	}
	fail();
	return NULL;
}

static void two_with_one_slot(void **state)
{
	struct capture *c = *state;

	use_up(c, 200, USED_UP);
	assert_false(scans_can_afford(c, 200));
	/* Another process is not to blame, and does not help. */
	assert_true(scans_can_afford(c, 200 + SCAN_PACES));
	assert_false(scans_can_afford(c, 200));
	use_up(c, 200 + SCAN_PACES, USED_UP);
	assert_false(scans_can_afford(c, 200));
	assert_false(scans_can_afford(c, 200 + SCAN_PACES));
	assert_int_equal(c->scans.n_owed, 2);
}

/* All slots where that of a process may be are others': it gets the best of them. */
static void many_with_one_slot(void **state)
{
	struct capture *c = *state;
	unsigned i;

	for (i = 0; i < SCAN_PACES_ON; i++)
		use_up(c, 200 + i, USED_UP + 1000 * i);
	assert_false(scans_can_afford(c, 200 + SCAN_PACES));
	assert_int_equal(c->scans.n_owed, 1);
	for (i = 0; i < SCAN_PACES_ON - 1; i++)
		assert_int_equal(c->scans.paces[200 + i].pid, 200 + i);
	assert_int_equal(c->scans.paces[200 + i].pid, 200 + SCAN_PACES);
}

/* Who has all of its credit needs no slot. */
static void others_take_no_place(void **state)
{
	struct capture *c = *state;

	use_up(c, 200, USED_UP);
	for (pid_t pid = 1000; pid < 1000 + 4 * SCAN_PACES; pid++)
		assert_true(scans_can_afford(c, pid));
	assert_false(scans_can_afford(c, 200));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(two_with_one_slot, begin, end),
		cmocka_unit_test_setup_teardown(many_with_one_slot, begin, end),
		cmocka_unit_test_setup_teardown(others_take_no_place, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
