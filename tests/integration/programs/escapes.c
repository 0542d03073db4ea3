/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * escapes: says "ready PID", and for each line of standard input marks things whose names would do
 * something to a terminal: clear it, name its window, go elsewhere. Also a name of 128 characters, and
 * one of a slice that is no UTF-8.
 */
#include <proftrace.h>

#include <stdio.h>
#include <unistd.h>

#define WORD "long "
#define LONG WORD WORD WORD WORD WORD WORD WORD WORD WORD WORD WORD WORD

int main(void)
{
	char line[16];

	printf("ready %ld\n", (long)getpid());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		PROF_SCOPE("\033[2Jcleared");
		PROF_SCOPE("broken \377\303(\200 name");
		PROF_INSTANT("\033]0;window\007");
		PROF_COUNTER("\233H\r\ncounted", 1);
		PROF_INSTANT(LONG LONG "end");
		PROF_INSTANT("\346\227\245\346\234\254");
		printf("marked\n");
		fflush(stdout);
	}
	return 0;
}
