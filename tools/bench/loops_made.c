/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finding an object by its name, among few and among many. The names are made before, and asked for in no order that
 * a processor could guess, as a program's would be.
 */
#include <proftrace.h>

#include <stdio.h>
#include <stdlib.h>

#include "target.h"

#define NAME_SIZE 16

/* Found once before, so that all are there. */
static uint64_t time_finding(uint64_t rounds, uint64_t n)
{
	char(*names)[NAME_SIZE] = calloc(n, NAME_SIZE);
	uint64_t i, at = 0, begun, ns;

	if (!names)
		return 0;
	for (i = 0; i < n; i++) {
		snprintf(names[i], NAME_SIZE, "name %u", (unsigned)i);
		prof_task_get(NULL, names[i]);
	}
	begun = now_ns();
	for (i = 0; i < rounds; i++) {
		at = (at * 6364136223846793005u + 1442695040888963407u);
		__asm__ volatile("" : : "r"(prof_task_get(NULL, names[(at >> 33) % n])) : "memory");
	}
	ns = now_ns() - begun;
	free(names);
	return ns;
}

static uint64_t find_10(uint64_t rounds)
{
	return time_finding(rounds, 10);
}

static uint64_t find_1000(uint64_t rounds)
{
	return time_finding(rounds, 1000);
}

static uint64_t find_1000000(uint64_t rounds)
{
	return time_finding(rounds, 1000000);
}

extern const struct loop loops_made[];
const struct loop loops_made[] = {
	{ "find_10", 1, NULL, false, find_10 },
	{ "find_1000", 1, NULL, false, find_1000 },
	{ "find_1000000", 1, NULL, false, find_1000000 },
	{ 0 },
};
