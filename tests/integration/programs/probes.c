/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program without our markers that has USDT probes, as those that others made: notes in all the forms
 * that compilers leave arguments in. `probes N` hits each N times and says what it hit; `probes N many`
 * instead hits each of ten thousand sites N times.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROVIDER "probes"
#include "note.h"

/* As dtrace and systemtap make them: raised while anybody looks. */
#define SEMAPHORE_OF(name)                                                           \
	extern volatile unsigned short probes_##name##_semaphore;                    \
	volatile unsigned short probes_##name##_semaphore                            \
		__attribute__((section(".probes"), visibility("hidden"), used)) = 0; \
	_Static_assert(sizeof(probes_##name##_semaphore) == 2, "as it must be")

SEMAPHORE_OF(guarded);

extern int probes_exported[4];
int probes_exported[4] = { 10, 11, 12, 13 };

static unsigned guarded;

#define NOINLINE static __attribute__((noinline))

/* Inlined into several places, each of which is a site of its own. */
static inline __attribute__((always_inline)) void copied(long where)
{
	__asm__ volatile(NOTE("nop", "copied", "-8@%[where]", "0") : : [where] "r"(where));
}

NOINLINE void outer_begin(const char *what, long n)
{
	__asm__ volatile(NOTE("nop", "work__begin", "8@%[what] -8@%[n]", "0")
			 :
			 : [what] "r"(what), [n] "r"(n)
			 : "memory");
}

NOINLINE void outer_end(long n)
{
	__asm__ volatile(NOTE("nop", "work__end", "-8@%[n]", "0") : : [n] "r"(n) : "memory");
}

NOINLINE void request_begin(long id)
{
	__asm__ volatile(NOTE("nop", "request__start", "-8@%[id]", "0") : : [id] "r"(id));
}

NOINLINE void request_end(long id)
{
	__asm__ volatile(NOTE("nop", "request__done", "-8@%[id]", "0") : : [id] "r"(id));
}

NOINLINE void when_looked_at(void)
{
	if (!probes_guarded_semaphore)
		return;
	guarded++;
	__asm__ volatile(NOTE("nop", "guarded", "", "probes_guarded_semaphore"));
}

#ifdef __x86_64__
NOINLINE void registers(void)
{
	__asm__ volatile(
		NOTE("nop", "registers", "8@%%rbx -4@%%ebx 2@%%bx -1@%%bl 1@%%bh -8@%%r9", "0")
		:
		: "b"(0x1122334455668001ul), "c"(0)
		: "memory");
}

NOINLINE void memory(void)
{
	long values[4] = { 100, 101, 102, 0x00000000fffffffe };

	__asm__ volatile(NOTE("nop", "memory",
			      "8@(%%rcx) 8@8(%%rcx) -8@(%%rcx,%%rdx,8) -4@8(%%rcx,%%rdx,8) "
			      "-4@8+probes_exported(%%rip) 4@probes_exported+4(%%rip)",
			      "0")
			 :
			 : "c"(values), "d"(2l)
			 : "memory");
}

NOINLINE void constants(void)
{
	struct {
		double d;
		float f;
	} floats = { 0.5, -2.25f };
	double in_register = 1.5;

	__asm__ volatile(
		NOTE("nop", "constants", "-4@$-5 4@$0x10 1@$-1 8f@(%%rcx) 4f@8(%%rcx) 8f@%[d]", "0")
		:
		: "c"(&floats), [d] "x"(in_register)
		: "memory");
}

/* What some kernels would turn into a call that writes into the red zone. */
NOINLINE void nop5(void)
{
	__asm__ volatile(NOTE(".byte 0x0f,0x1f,0x44,0,0", "nop5", "", "0"));
}

NOINLINE void unmapped(void)
{
	__asm__ volatile(NOTE("nop", "unmapped", "8@(%%rcx) 8@%%rdx", "0") : : "c"(8l), "d"(16l));
}
#else
NOINLINE void registers(void)
{
	__asm__ volatile("mov x9, #-7\n" NOTE("nop", "registers", "8@x9 -4@w9 8@xzr", "0")
			 :
			 :
			 : "x9");
}

NOINLINE void memory(void)
{
	long values[4] = { 100, 101, 102, 103 };

	__asm__ volatile(NOTE("nop", "memory", "8@[%[v]] 8@[%[v], 8] -4@[%[v],#16]", "0")
			 :
			 : [v] "r"(values)
			 : "memory");
}

NOINLINE void constants(void)
{
	__asm__ volatile(NOTE("nop", "constants", "-4@-5 4@16", "0"));
}

static void nop5(void)
{
}

NOINLINE void unmapped(void)
{
	__asm__ volatile(NOTE("nop", "unmapped", "8@[%[a]] 8@%[b]", "0")
			 :
			 : [a] "r"(8l), [b] "r"(16l));
}
#endif

NOINLINE void many(void)
{
	__asm__ volatile("	.rept 10000\n" NOTE("nop", "many", "-4@$7", "0") "	.endr\n");
}

static void round_of(long i, const char *what)
{
	outer_begin(what, i);
	registers();
	memory();
	constants();
	copied(1);
	if (i & 1)
		copied(2);
	else
		copied(3);
	request_begin(i);
	if (i)
		request_end(i - 1);
	nop5();
	unmapped();
	outer_end(i);
	when_looked_at();
}

int main(int argc, char **argv)
{
	long i, n = argc > 1 ? atol(argv[1]) : 1;
	/* On the heap: nothing that could be read from the file. */
	char *names[2] = { strdup("even"), strdup("odd") };

	for (i = 0; i < n; i++) {
		if (argc > 2)
			many();
		else
			round_of(i, names[i & 1]);
	}
	if (argc > 2)
		return 0;
	request_end(n - 1);
	printf("rounds %ld\nguarded %u\n", n, guarded);
	return 0;
}
