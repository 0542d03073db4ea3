/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that computes, some calls deep, and sees itself what is taken from it: it reads the clock all
 * the while, and where that jumps it was interrupted. How fast it computes says less: on a machine with
 * other things to do that varies by more than samples cost.
 *
 * Jumps of a microsecond up to MOST_NS are interrupts, which samples are; longer ones are other programs
 * that had the processor. A round is a millisecond of its own. Built with frame pointers: those are what
 * samples follow.
 */
#include <stddef.h>

#include "target.h"

#define DEPTH	 12
#define LEAST_NS 1000
#define MOST_NS	 50000

uint64_t stack_leaf(uint64_t ran_ns);
__attribute__((noinline)) uint64_t stack_leaf(uint64_t ran_ns)
{
	uint64_t taken = 0, ran = 0, before = now_ns();

	while (ran < ran_ns) {
		uint64_t now = now_ns(), jump = now - before;

		if (jump < MOST_NS)
			ran += jump;
		if (jump >= LEAST_NS && jump < MOST_NS)
			taken += jump;
		before = now;
	}
	return taken;
}

uint64_t stack_below(unsigned depth, uint64_t ran_ns);
__attribute__((noinline)) uint64_t stack_below(unsigned depth, uint64_t ran_ns)
{
	uint64_t taken = depth ? stack_below(depth - 1, ran_ns) : stack_leaf(ran_ns);

	__asm__ volatile("" : : : "memory"); /* it comes back here: no jump into the next */
	return taken;
}

static uint64_t taken_from(uint64_t rounds)
{
	return stack_below(DEPTH, rounds * 1000000);
}

extern const struct loop loops_stack[];
const struct loop loops_stack[] = {
	{ "stack", 1, NULL, false, taken_from },
	{ 0 },
};
