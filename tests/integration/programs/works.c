/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * works PARSE WAIT [STATUS]
 *
 * 200 requests, each with a slice "parse" that does PARSE units of work, a slice "render" that always does
 * the same, and a slice "lock" that is blocked for WAIT microseconds. Exits with STATUS.
 */
#include <proftrace.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile unsigned sum;

static void work(int units)
{
	int i;

	for (i = 0; i < units * 1000; i++)
		sum += (unsigned)i;
}

int main(int argc, char **argv)
{
	int parse = argc > 1 ? atoi(argv[1]) : 20, wait_us = argc > 2 ? atoi(argv[2]) : 0, i;
	struct timespec pause = { 0, wait_us * 1000L };

	for (i = 0; i < 200; i++) {
		PROF_SCOPE("request");
		{
			PROF_SCOPE("parse");
			work(parse);
		}
		{
			PROF_SCOPE("render");
			work(20);
		}
		if (wait_us) {
			PROF_SCOPE("lock");
			nanosleep(&pause, NULL);
		}
	}
	puts("requests 200");
	return argc > 3 ? atoi(argv[3]) : 0;
}
