/* SPDX-License-Identifier: BSD-2-Clause */
/* The slots of processes in the kernel's map: each process has its own, also one for whose ranges there was no space. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "capture/stacks/unwind_internal.h"

#define FIRST 1000

static struct unwind_process *find(const struct unwind *u, uint32_t pid)
{
	for (unsigned i = 0; i < UNWIND_PROCESSES; i++) {
		if (u->processes[i].tgid == pid)
			return &u->processes[i];
	}
	return NULL;
}

/* Its first slot is that of FIRST. */
static uint32_t find_neighbour(void)
{
	uint32_t pid = FIRST + 1;

	while (UNWIND_PROCESS_PLACE(pid) != UNWIND_PROCESS_PLACE(FIRST))
		pid++;
	return pid;
}

static void no_two_processes_have_one_slot(void **state)
{
	struct unwind *u = calloc(1, sizeof(*u));
	uint32_t neighbour = find_neighbour();

	(void)state;
	u->processes = calloc(UNWIND_PROCESSES, sizeof(*u->processes));
	u->ranges = calloc(UNWIND_RANGES, sizeof(*u->ranges));
	u->n_ranges = UNWIND_RANGES;
	unwind_set_process(u, FIRST, 0, NULL, 0, 0);
	assert_null(find(u, FIRST));
	u->n_ranges = 1;
	unwind_set_process(u, neighbour, 0, NULL, 0, 0);
	unwind_set_process(u, FIRST, 0, NULL, 0, 0);
	assert_non_null(find(u, FIRST));
	assert_non_null(find(u, neighbour));
	unwind_forget_process(u, FIRST);
	assert_null(find(u, FIRST));
	assert_non_null(find(u, neighbour));
	unwind_processes_free(u);
	free(u->ranges);
	free(u->processes);
	free(u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_two_processes_have_one_slot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
