/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * moments UNTIL
 *
 * Marks every 5 ms what the wall clock shows, until it is UNTIL, in seconds since 1970. Prints the number of marks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <proftrace.h>

int main(int argc, char **argv)
{
	const struct timespec pause = { .tv_nsec = 5000000 };
	const long until = argc > 1 ? atol(argv[1]) : 0;
	struct timespec now;
	unsigned n = 0;

	for (;;) {
		clock_gettime(CLOCK_REALTIME, &now);
		if (now.tv_sec >= until)
			break;
		PROF_INSTANT("moment", "at", now.tv_sec * 1000000000ll + now.tv_nsec);
		n++;
		nanosleep(&pause, NULL);
	}
	printf("%u\n", n);
	return 0;
}
