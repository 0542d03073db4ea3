/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * forged_include: marks a moment, and names the file of `path` as a trace, by the marker itself instead of by its function:
 * user 0 has named it, and the path is said to be a string that the kernel could not read, which is then taken from the
 * program's file. What is behind the slashes is written there by the test.
 */
#include <proftrace.h>
#include <stdint.h>
#include <stdio.h>

#define PART "XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX"

/* Wherever exactly the probe is, the path begins within these. */
#define SLASHES "////////////////////////////////"

static const char path[] __attribute__((aligned(64))) = SLASHES PART PART;

int main(void)
{
	const uint64_t site = (uint64_t)prof_include_json_in_prof_control;
	uint64_t unreadable[1] = { 1ull << 62 | (uint32_t)((uint64_t)path + 16 - site) };

	PROF_INSTANT("here");
	prof_include_json_in_prof_control(NULL, 1 | 4 << 8, 0, 0, "path", (uintptr_t)unreadable);
	printf("said 1\n");
	return 0;
}
