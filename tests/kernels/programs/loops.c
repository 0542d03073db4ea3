/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * loops ROUNDS N: slices of a known number of instructions: `n` times four, n = N, N + 100, N + 200...
 */
#include <proftrace.h>

#include <stdlib.h>

static void four(unsigned long n)
{
	__asm__ volatile("1:	subs %0, %0, #1\n"
			 "	nop\n"
			 "	nop\n"
			 "	b.ne 1b\n"
			 : "+r"(n)
			 :
			 : "cc");
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 10;
	unsigned long first = argc > 2 ? strtoul(argv[2], NULL, 0) : 1000;

	for (unsigned long i = 0; i < rounds; i++) {
		unsigned long n = first + 100 * i;

		PROF_BEGIN("loop", "n", n);
		four(n);
		PROF_END();
	}
	return 0;
}
