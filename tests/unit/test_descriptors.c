/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of descriptors is as large as it gets before threads share it, as far as the limit allows, and nothing stays open. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptors.h"

/* The places in the table, which a child gets only as many of as are open. */
static unsigned table_size(void)
{
	FILE *status = fopen("/proc/self/status", "r");
	char line[128];
	unsigned n = 0;

	assert_non_null(status);
	while (fgets(line, sizeof(line), status) && sscanf(line, "FDSize: %u", &n) != 1)
		;
	fclose(status);
	return n;
}

static void reserve_within(rlim_t limit, unsigned least)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		const struct rlimit files = { limit, limit };
		int before = dup(STDIN_FILENO), after;

		if (before < 0 || setrlimit(RLIMIT_NOFILE, &files) || table_size() >= least)
			_exit(1);
		descriptors_reserve(before);
		after = dup(STDIN_FILENO);
		_exit(table_size() < least ? 2 : after != before + 1 ? 3 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void test_reserved(void **state)
{
	(void)state;
	reserve_within(8192, 4096);
}

static void test_reserved_up_to_limit(void **state)
{
	(void)state;
	reserve_within(300, 300);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reserved),
		cmocka_unit_test(test_reserved_up_to_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
