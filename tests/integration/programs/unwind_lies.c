/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unwind_lies MS: functions whose unwind tables lie, each for so many milliseconds of CPU time in a slice of
 * its name. No stack may be longer than the truth, which is where the lie begins.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "proftrace.h"

#if defined(__x86_64__)
#define LIAR(name, lie)                                         \
	void name(void);                                        \
	__asm__(".text\n"                                       \
		".type " #name ",@function\n" #name ":\n"       \
		".cfi_startproc\n"                              \
		"	mov $300000, %ecx\n"                          \
		"	mov %rsp, %rdx\n"                             \
		"	mov $-4096, %rsi\n" lie "1:	dec %ecx\n" \
		"	jnz 1b\n"                                     \
		"	ret\n"                                        \
		".cfi_endproc\n"                                \
		".size " #name ", .-" #name "\n")

/* The caller's frame is this one, for ever. */
LIAR(stays, ".cfi_def_cfa %rsp, 0\n");
LIAR(sinks, ".cfi_def_cfa %rsp, -64\n");
/* It is in the kernel, or beyond all memory. */
LIAR(kernel, ".cfi_def_cfa %rsi, 8\n");
LIAR(beyond, ".cfi_def_cfa %rdx, 0x40000000\n");
/* It is at an address that is at an address that does not exist. */
LIAR(derefs, ".cfi_escape 0x0f, 3, 0x74, 0, 0x06\n");
/* By an expression that nobody knows. */
LIAR(endless, ".cfi_escape 0x0f, 3, 0x2f, 0xfd, 0xff\n");
/* The return address is in a register. */
LIAR(registers, ".cfi_register %rip, %rdx\n");
#else
#define LIAR(name)             \
	static void name(void) \
	{                      \
	}
LIAR(stays)
LIAR(sinks)
LIAR(kernel)
LIAR(beyond)
LIAR(derefs)
LIAR(endless)
LIAR(registers)
#endif

static unsigned long cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (unsigned long)t.tv_sec * 1000 + (unsigned long)t.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
	static void (*const liars[])(void) = { stays,  sinks,	kernel,	  beyond,
					       derefs, endless, registers };
	static const char *const names[] = { "stays",  "sinks",	  "kernel",   "beyond",
					     "derefs", "endless", "registers" };
	unsigned long ms = argc > 1 ? strtoul(argv[1], NULL, 10) : 50, until;
	unsigned i;

	for (i = 0; i < sizeof(liars) / sizeof(liars[0]); i++) {
		PROF_BEGIN_DYN(names[i]);
		for (until = cpu_ms() + ms; cpu_ms() < until;)
			liars[i]();
		PROF_END();
	}
	puts("done");
	return 0;
}
