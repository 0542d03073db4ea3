/* SPDX-License-Identifier: BSD-2-Clause */
/* What ITT's tasks and regions are found by: neighbours of a kind, a domain or an id are others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "lib/annotations/itt.h"

#define KINDS	6
#define DOMAINS 8
#define IDS	64
#define KEYS	(KINDS * DOMAINS * IDS)

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void neighbours_differ(void **state)
{
	static uint64_t found[KEYS];
	unsigned n = 0;

	(void)state;
	for (uintptr_t domain = 0; domain < DOMAINS; domain++)
		for (uint64_t kind = 0; kind < KINDS; kind++)
			for (uint64_t id = 0; id < IDS; id++)
				found[n++] = itt_open_key(
					(const prof_runtime_domain_t *)(0x7f0000001000 +
									domain * 16),
					&(struct itt_id){ id, 0, 0 }, kind);
	qsort(found, KEYS, sizeof(*found), by_number);
	for (n = 1; n < KEYS; n++)
		assert_int_not_equal(found[n], found[n - 1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(neighbours_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
