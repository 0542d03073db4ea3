/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sled ROUNDS: prints `sum N`, which is always the same. It counts up in code that is nothing but small instructions: with a
 * breakpoint in any of them, which is not where this file has a probe, it counts something else or is killed. There are more
 * of them than a small program has code, so that wherever another program has its probe sites, this one has such an
 * instruction.
 */
#include <stdio.h>
#include <stdlib.h>

#include <proftrace.h>

#if defined(__x86_64__)
/* Two bytes each: ff c0. With the breakpoint (cc) in place of the second one, it is dec %esp, and the function cannot return. */
__asm__(".pushsection .text.sled, \"ax\", @progbits\n"
	".type sled, @function\n"
	"sled: xor %eax, %eax\n"
	".rept 65536\n"
	"inc %eax\n"
	".endr\n"
	"ret\n"
	".size sled, . - sled\n"
	".popsection\n");
#else
__asm__(".pushsection .text.sled, \"ax\", @progbits\n"
	".type sled, @function\n"
	"sled: mov w0, #0\n"
	".rept 65536\n"
	"add w0, w0, #1\n"
	".endr\n"
	"ret\n"
	".size sled, . - sled\n"
	".popsection\n");
#endif

extern unsigned sled(void);

int main(int argc, char **argv)
{
	int i, rounds = argc > 1 ? atoi(argv[1]) : 1;
	unsigned sum = 0;

	for (i = 0; i < rounds; i++) {
		PROF_SCOPE("round");
		sum += sled();
	}
	printf("sum %u\n", sum);
	return 0;
}
