/* SPDX-License-Identifier: BSD-2-Clause */
/* What a tracer can see that nobody marked: threads that take turns, a probe of others, a function. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include <proftrace.h> /* the section that a note refers to */

#include "target.h"

/* The partner waits for a byte and gives it back: of two threads on one processor always one sleeps. */
static int to_partner[2], from_partner[2];

static void *partner(void *unused)
{
	char byte;

	while (read(to_partner[0], &byte, 1) == 1 && write(from_partner[1], &byte, 1) == 1)
		;
	return unused;
}

static void switch_threads(uint64_t rounds)
{
	static pthread_t thread;
	char byte = 0;
	uint64_t i;

	if (!thread && (pipe(to_partner) || pipe(from_partner) ||
			pthread_create(&thread, NULL, partner, NULL)))
		exit(1);
	for (i = 0; i < rounds; i++) {
		if (write(to_partner[1], &byte, 1) != 1 || read(from_partner[0], &byte, 1) != 1)
			exit(1);
	}
}

/* A note as systemtap's header makes it, without a semaphore. */
LOOP(probe, __asm__ volatile("990:	nop\n"
			     "	.pushsection .note.stapsdt,\"\",\"note\"\n"
			     "	.balign 4\n"
			     "	.4byte 992f-991f, 994f-993f, 3\n"
			     "991:	.asciz \"stapsdt\"\n"
			     "992:	.balign 4\n"
			     "993:	.8byte 990b, _.stapsdt.base, 0\n"
			     "	.asciz \"proftrace_bench\"\n"
			     "	.asciz \"hit\"\n"
			     "	.asciz \"8@%0\"\n"
			     "994:	.balign 4\n"
			     "	.popsection\n"
			     :
			     : "r"(i)))

/* Like most functions it begins with a register that it keeps, and does not end where it begins. */
void bench_called(uint64_t i);
__attribute__((noinline)) void bench_called(uint64_t i)
{
#ifdef __x86_64__
	__asm__ volatile("" : : "r"(i) : "memory", "rbx");
#else
	__asm__ volatile("" : : "r"(i) : "memory", "x19");
#endif
}

LOOP(call, bench_called(i))

extern const struct loop loops_foreign[];
const struct loop loops_foreign[] = {
	{ "switch", 2, switch_threads, true, NULL }, /* to the partner and back */
	{ "probe", 1, probe, false, NULL },
	{ "call", 2, call, false, NULL }, /* entry and exit */
	{ 0 },
};
