/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Marks with strings that the program may or may not read: `borrowed_strings TIMES`. Prints how many marks were made, and
 * how many of them have a pointer that cannot be read.
 */
#include <proftrace.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096

static char in_file[] = "data of the file", zeros[600];

int main(int argc, char **argv)
{
	const unsigned long times = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	char *pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			   0),
	     *heap = malloc(400), *at_end = pages + PAGE - 5, local[] = "on the stack";
	const char *unmapped = pages + PAGE, *forbidden = pages + 2 * PAGE, *wild = (const char *)8,
		   *high = (const char *)0xffffffffff600000,
		   *odd = (const char *)0x123456789abcdef0;
	unsigned long i, marks = 0, unreadable = 0;

	if (pages == MAP_FAILED || !heap)
		return 1;
	memcpy(at_end, "last", 5);
	memset(pages + 100, 'p', 64);
	memset(pages + 2 * PAGE, 'f', 64);
	memset(heap, 'h', 399);
	heap[399] = '\0';
	memset(zeros, 'z', sizeof(zeros) - 1);
	munmap(pages + PAGE, PAGE);
	mprotect(pages + 2 * PAGE, PAGE, PROT_NONE);
	errno = 7;
	for (i = 0; i < times; i++) {
		PROF_BEGIN("slice", "number", i, "text", local);
		PROF_INSTANT("literal", "text", "literal", "null", (const char *)NULL);
		PROF_INSTANT("data", "text", in_file, "long", zeros);
		PROF_INSTANT("heap", "long", heap, "short", heap + 390, "number", i);
		PROF_INSTANT("last bytes", "text", at_end);
		PROF_INSTANT("unmapped", "text", unmapped);
		PROF_INSTANT("forbidden", "number", i, "text", forbidden);
		PROF_INSTANT("wild", "text", wild, "text2", local, "number", i, "high", high, "odd",
			     odd, "heap", heap + 380);
		PROF_INSTANT("six", "a", heap, "b", heap, "c", heap, "d", heap, "e", heap, "f",
			     heap);
		PROF_INSTANT_DYN(i % 2 ? "even" : "odd", "text", local, "bad", unmapped + 8);
		PROF_END("text", local, "bad", unmapped);
		marks += 11;
		unreadable += 7;
	}
	if (errno != 7)
		return 2;
	printf("marks %lu\nunreadable %lu\n", marks, unreadable);
	return 0;
}
