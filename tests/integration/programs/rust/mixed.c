/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mixed ROUNDS [MARKS]
 *
 * A program with marks in C and in Rust, in one thread and one domain: in turn MARKS (1000) of each, ROUNDS times.
 * It prints the shortest time of a mark in nanoseconds, "c NS" and "rust NS", and "total N", the marks.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <proftrace.h>

void rust_instants(uint64_t n);

static __attribute__((noinline)) void c_instants(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		PROF_INSTANT("of C", "number", i);
		__asm__ volatile("");
	}
}

static double time_marks(void (*make)(uint64_t), uint64_t n)
{
	struct timespec a, b;

	clock_gettime(CLOCK_MONOTONIC, &a);
	make(n);
	clock_gettime(CLOCK_MONOTONIC, &b);
	return ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / (double)n;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
	unsigned long n = argc > 2 ? strtoul(argv[2], NULL, 0) : 1000;
	double c = 1e9, rust = 1e9;

	for (unsigned long i = 0; i < rounds; i++) {
		double of_c = time_marks(c_instants, n), of_rust = time_marks(rust_instants, n);

		c = of_c < c ? of_c : c;
		rust = of_rust < rust ? of_rust : rust;
	}
	printf("c %.2f\nrust %.2f\ntotal %lu\n", c, rust, 2 * rounds * n);
	return 0;
}
