/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * jump_clock
 *
 * Sets CLOCK_REALTIME an hour forward, an hour back and right again, over and over until standard input ends. Each wrong
 * time lasts five milliseconds, because it is everybody's. What is right is known from CLOCK_MONOTONIC, which nobody can
 * set, and no signal but SIGKILL ends this in between.
 *
 * Prints `cannot set the clock: WHY`, or `jumping` at the first jump and `jumps N` at the end.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	WRONG_MS = 5,
	RIGHT_MS = 15,
};

static int64_t clock_now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* How far CLOCK_REALTIME is ahead: the reading that took least. */
static int64_t measure_difference(void)
{
	int64_t best = INT64_MAX, difference = 0;
	int i;

	for (i = 0; i < 1000; i++) {
		int64_t before = clock_now(CLOCK_MONOTONIC);
		int64_t real = clock_now(CLOCK_REALTIME);
		int64_t took = clock_now(CLOCK_MONOTONIC) - before;

		if (took < best) {
			best = took;
			difference = real - before - took / 2;
		}
	}
	return difference;
}

static int set_ahead(int64_t difference)
{
	int64_t real = clock_now(CLOCK_MONOTONIC) + difference;
	struct timespec t = { real / 1000000000, (long)(real % 1000000000) };

	return clock_settime(CLOCK_REALTIME, &t);
}

/* A time-out of poll() counts CLOCK_MONOTONIC. */
static void wait_ms(int ms)
{
	poll(NULL, 0, ms);
}

int main(void)
{
	const int64_t hour = 3600ll * 1000000000;
	struct pollfd input = { STDIN_FILENO, POLLIN, 0 };
	int64_t difference = measure_difference();
	unsigned long jumps = 0;
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	if (set_ahead(difference)) {
		printf("cannot set the clock: %s\n", strerror(errno));
		return 0;
	}
	do {
		set_ahead(difference + hour);
		wait_ms(WRONG_MS);
		set_ahead(difference - hour);
		wait_ms(WRONG_MS);
		set_ahead(difference);
		if (!jumps)
			printf("jumping\n");
		fflush(stdout);
		jumps += 2;
	} while (poll(&input, 1, RIGHT_MS) == 0);
	printf("jumps %lu\n", jumps);
	return 0;
}
