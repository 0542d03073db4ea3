/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * many_mappings N [split]
 *
 * Has 4000 marker sites, each in a page of its own, and N small mappings below them. With `split`, every other of these pages
 * is writable, so that each is a mapping of its own. Prints `ready PID`, and marks until its standard input ends.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <proftrace.h>

#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE  4096ul
#define BELOW 0x10000000ul

#ifdef __x86_64__
/* Stubs of instants like those of the header; nothing calls them. */
__asm__(".pushsection .probes, \"aw\"\n.balign 4096\nsemaphore: .8byte 0\n.fill 4088, 1, "
	"0\n.popsection\n"
	".pushsection .text.many, \"ax\"\n.balign 4096\nmany_begin:\n.rept 4000\n.balign 4096\n"
	"971: .byte 0x90, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0xc3\n"
	".pushsection .note.proftrace, \"a\", %note\n.balign 4\n.4byte 10, 32, 1\n"
	".asciz \"proftrace\"\n.balign 4\n993: .8byte 971b - 993b\n994: .8byte semaphore - 994b\n"
	".2byte 3\n.byte 0, 1\n.4byte 0\n.asciz \"default\"\n.balign 4\n.popsection\n.endr\n"
	".balign 4096\nmany_end: .fill 4096, 1, 0xcc\n.popsection\n");
extern char many_begin[], many_end[];

static int split_pages(void)
{
	for (char *page = many_begin; page < many_end; page += 2 * PAGE) {
		if (mprotect(page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC))
			return -1;
	}
	return 0;
}
#else
static int split_pages(void)
{
	return -1;
}
#endif

int main(int argc, char **argv)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };
	long n = argc > 1 ? atol(argv[1]) : 0;

	if (argc > 2 && split_pages()) {
		printf("cannot split\n");
		return 1;
	}
	for (long i = 0; i < n; i++) {
		if (mmap((void *)(BELOW + PAGE * (uintptr_t)i), PAGE, i & 1 ? PROT_READ : PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
			printf("cannot map\n");
			return 1;
		}
	}
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	while (!poll(&in, 1, 1))
		PROF_INSTANT("alive");
	return 0;
}
