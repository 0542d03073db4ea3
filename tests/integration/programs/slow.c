/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slow N [computes]
 *
 * N slices "request", numbered, each with the slices "parse" and "load" inside. In one of them "load"
 * waits for 100 ms (or computes for so long, in crunch()) and tries again three times. What is measured just inside and just outside of the
 * slices lies on both sides of what a recording of them has to tell:
 *
 *	marks M
 *	longest I		the number of the request that took longest
 *	tries 3			slices "retry" in it
 *	request INNER OUTER	ns of that one
 *	load INNER OUTER	ns of its slice "load"
 *	median INNER OUTER	ns of the requests' medians
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <proftrace.h>

enum {
	MOST = 1000
};

struct measured {
	uint64_t inner, outer;
};

static struct measured requests[MOST], loads[MOST];
static unsigned tries[MOST];
static unsigned long marks;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void wait_ns(long ns)
{
	struct timespec t = { 0, ns };

	while (nanosleep(&t, &t))
		;
}

static int computes;
static volatile unsigned crunched;

__attribute__((noinline)) static void crunch(long ns)
{
	struct timespec t;
	int64_t end_ns = 0, cpu_ns = 0;

	for (; cpu_ns <= end_ns; crunched++) {
		if (crunched % 1024)
			continue;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		cpu_ns = t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
		end_ns = end_ns ? end_ns : cpu_ns + ns;
	}
	crunched = 0;
}

static void load(unsigned i, int slow)
{
	uint64_t outer = now_ns(), inner;

	PROF_BEGIN("load", "size", slow ? 4096 : 64);
	inner = now_ns();
	if (slow && computes)
		crunch(100000000);
	else
		wait_ns(slow ? 100000000 : 100000);
	for (; slow && tries[i] < 3; tries[i]++) {
		PROF_BEGIN("retry");
		wait_ns(100000);
		PROF_END();
		marks += 2;
	}
	loads[i].inner = now_ns() - inner;
	PROF_END();
	loads[i].outer = now_ns() - outer;
	marks += 2;
}

static void request(unsigned i, int slow)
{
	uint64_t outer = now_ns(), inner;

	PROF_BEGIN("request", "number", i, "kind", slow ? "cold" : "warm");
	inner = now_ns();
	PROF_BEGIN("parse");
	PROF_END();
	load(i, slow);
	requests[i].inner = now_ns() - inner;
	PROF_END();
	requests[i].outer = now_ns() - outer;
	marks += 4;
}

static int compare(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static uint64_t median(unsigned n, int outer)
{
	static uint64_t sorted[MOST];
	unsigned i;

	for (i = 0; i < n; i++)
		sorted[i] = outer ? requests[i].outer : requests[i].inner;
	qsort(sorted, n, sizeof(sorted[0]), compare);
	return sorted[(n - 1) / 2];
}

static void say(const char *what, uint64_t inner, uint64_t outer)
{
	printf("%s %llu %llu\n", what, (unsigned long long)inner, (unsigned long long)outer);
}

int main(int argc, char **argv)
{
	unsigned i, longest = 0, n = argc > 1 ? (unsigned)atoi(argv[1]) : 40;

	if (n < 1 || n > MOST)
		return 2;
	computes = argc > 2;
	for (i = 0; i < n; i++) {
		request(i, i == n / 2);
		if (requests[i].inner > requests[longest].inner)
			longest = i;
	}
	printf("marks %lu\nlongest %u\ntries %u\n", marks, longest, tries[longest]);
	say("request", requests[longest].inner, requests[longest].outer);
	say("load", loads[longest].inner, loads[longest].outer);
	say("median", median(n, 0), median(n, 1));
	return 0;
}
