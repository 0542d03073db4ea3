/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reused FOLDER [fresh]: generates functions one after another at the same address, as a JIT compiler does when it has
 * dropped the code of one; fresh: each in memory that has just been mapped, where another one calls it. Each runs in a slice of its own name. What it generates, and when, it writes into a jitdump file, which is
 * complete when it ends, because it is buffered.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "proftrace.h"

#define NOINLINE    __attribute__((noinline))
#define STAY(value) __asm__ volatile("" : "+r"(value))
#define ROUND_NS    120000000 /* longer than names are looked for together */

static const unsigned char code[] = {
#if defined(__aarch64__)
	0xfd, 0x7b, 0xbf, 0xa9, /* stp x29, x30, [sp, #-16]! */
	0xfd, 0x03, 0x00, 0x91, /* mov x29, sp */
	0x00, 0x00, 0x3f, 0xd6, /* blr x0 */
	0xfd, 0x7b, 0xc1, 0xa8, /* ldp x29, x30, [sp], #16 */
	0xc0, 0x03, 0x5f, 0xd6, /* ret */
#else
	0x55,		  /* push %rbp */
	0x48, 0x89, 0xe5, /* mov %rsp, %rbp */
	0xff, 0xd7,	  /* call *%rdi */
	0x5d,		  /* pop %rbp */
	0xc3,		  /* ret */
#endif
};

/* In the copy of the code that calls the other: the byte that names the second argument in place of the first. */
#if defined(__aarch64__)
#define CALLED_AT     8
#define CALLED_SECOND 0x20
#else
#define CALLED_AT     5
#define CALLED_SECOND 0xd6
#endif
#define OUTER_AT 64

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static NOINLINE void compute(void)
{
	unsigned long n = 100000, sum = 0;

	while (n--) {
		sum = sum * 31 + n;
		STAY(sum);
	}
}

/* The header of the file, of which tracers see that it is mapped. */
static FILE *open_dump(const char *folder)
{
	const uint32_t header[] = { 0x4a695444, 1, 40, 62, 0, (uint32_t)getpid(), 0, 0, 0, 0 };
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/jit-%d.dump", folder, (int)getpid());
	file = fopen(path, "w+");
	if (!file ||
	    mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(file), 0) == MAP_FAILED)
		exit(1);
	fwrite(header, sizeof(header), 1, file);
	return file;
}

static void write_code(FILE *dump, const void *at, const char *name)
{
	const uint32_t size = (uint32_t)(56 + strlen(name) + 1 + sizeof(code));
	const uint32_t head[] = { 0, size };
	const uint64_t when = now_ns(CLOCK_MONOTONIC);
	const uint32_t who[] = { (uint32_t)getpid(), (uint32_t)getpid() };
	const uint64_t what[] = { (uintptr_t)at, (uintptr_t)at, sizeof(code), 0 };

	fwrite(head, sizeof(head), 1, dump);
	fwrite(&when, sizeof(when), 1, dump);
	fwrite(who, sizeof(who), 1, dump);
	fwrite(what, sizeof(what), 1, dump);
	fwrite(name, strlen(name) + 1, 1, dump);
	fwrite(code, sizeof(code), 1, dump);
}

static char *map_code(void)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		exit(1);
	memcpy(page, code, sizeof(code));
	memcpy(page + OUTER_AT, code, sizeof(code));
	page[OUTER_AT + CALLED_AT] = (char)CALLED_SECOND;
	__builtin___clear_cache(page, page + OUTER_AT + sizeof(code));
	return page;
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "red", "green", "blue", "red", "white" };
	void (*call)(void (*f)(void), void *inner);
	FILE *dump = open_dump(argc > 1 ? argv[1] : ".");
	uint64_t until;
	char *page = map_code(), *outer;

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (argc > 2)
			page = map_code();
		outer = argc > 2 ? page + OUTER_AT : page;
		memcpy(&call, &outer, sizeof(call));
		write_code(dump, page, names[i]);
		PROF_BEGIN_DYN(names[i]);
		for (until = now_ns(CLOCK_THREAD_CPUTIME_ID) + ROUND_NS / 2;
		     now_ns(CLOCK_THREAD_CPUTIME_ID) < until;)
			call(compute, page);
		PROF_END();
		for (until = now_ns(CLOCK_MONOTONIC) + ROUND_NS; now_ns(CLOCK_MONOTONIC) < until;)
			compute();
	}
	return fclose(dump) != 0;
}
