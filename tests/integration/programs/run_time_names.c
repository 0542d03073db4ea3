/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run_time_names ROUNDS: marks under names that it makes as it goes, in one buffer that it overwrites after
 * each, and at the end of a page behind which nothing may be read. Prints how many slices and instants it has marked under each of its names, and `total`.
 */
#include <proftrace.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define NAMES 5

PROF_DOMAIN(other, "other");

static char name[64], *edge;

static const char *set_name(const char *what, int i)
{
	snprintf(name, sizeof(name), "%s %d", what, i);
	return name;
}

static void mark(int i)
{
	PROF_BEGIN_DYN(set_name("begin", i), "i", i);
	memset(name, '#', sizeof(name) - 1);
	{
		PROF_SCOPE_DYN(set_name("scope", i), "a", i, "b", 0.5, "c", "text");
		memset(name, '#', sizeof(name) - 1);
		PROF_INSTANT_DYN_IN(other, set_name("instant", i));
		memset(name, '#', sizeof(name) - 1);
	}
	PROF_END();
	snprintf(edge, sizeof("edge 0"), "edge %d", i);
	PROF_INSTANT_DYN(edge);
	PROF_INSTANT_DYN(edge);
}

int main(int argc, char **argv)
{
	int rounds = argc == 2 ? atoi(argv[1]) : 0, i;

	if (rounds < NAMES)
		return 2;
	edge = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (edge == MAP_FAILED || mprotect(edge + 4096, 4096, PROT_NONE))
		return 1;
	edge += 4096 - sizeof("edge 0");
	for (i = 0; i < rounds; i++)
		mark(i % NAMES);
	for (i = 0; i < NAMES; i++) {
		int n = rounds / NAMES + (i < rounds % NAMES);

		printf("BEGIN begin %d %d\nBEGIN scope %d %d\nINSTANT instant %d %d\nINSTANT edge "
		       "%d %d\n",
		       i, n, i, n, i, n, i, 2 * n);
	}
	printf("total %d\n", 7 * rounds);
	return 0;
}
