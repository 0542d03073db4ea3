/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that computes, some calls deep, and measures the time that interrupts take from it. It
 * reads the clock all the time; a jump is an interruption. The speed of the computation would be a
 * worse measure: on a machine with other work it varies by more than samples cost.
 *
 * Jumps from a microsecond to MOST_NS are interrupts, such as samples. Longer ones are other
 * programs on the processor. A round is a millisecond of the program's own time. It is built with
 * frame pointers, which samples follow.
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

static uint64_t stack_from(uint64_t rounds)
{
	return stack_below(DEPTH, rounds * 1000000);
}

extern const struct loop loops_stack[];
const struct loop loops_stack[] = {
	{ "stack", 1, NULL, false, stack_from },
	{ 0 },
};
