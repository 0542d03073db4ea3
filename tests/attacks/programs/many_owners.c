/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * many_owners MAPPINGS THREADS
 *
 * Maps code of its file MAPPINGS times, a page without markers, each time with the memory where the buffers of buffered mode would be, in which one
 * belongs to a thread that does not exist; and has THREADS threads. Prints `ready PID`, and marks until its standard input
 * ends.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <proftrace.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE  4096ul
#define STACK 16384ul

/* Markers are in the first page of the code, so that it has another one. */
__asm__(".pushsection .text.zz_last, \"ax\"\n.balign 4096\n.fill 4096, 1, 0xcc\n.popsection\n");

static void require(int works, const char *what)
{
	if (!works) {
		printf("cannot %s: %s\n", what, strerror(errno));
		exit(0);
	}
}

/* The last page of the first segment with code, in which no marker is: where it is in the file, and in memory. */
static char *find_code(unsigned long *ret_offset)
{
	const ElfW(Phdr) *headers = (const void *)getauxval(AT_PHDR), *code = NULL;
	unsigned long n = getauxval(AT_PHNUM), bias = 0;

	for (unsigned long i = 0; i < n; i++) {
		if (headers[i].p_type == PT_PHDR)
			bias = (unsigned long)headers - headers[i].p_vaddr;
		if (headers[i].p_type == PT_LOAD && headers[i].p_flags & PF_X && !code)
			code = &headers[i];
	}
	*ret_offset = (code->p_offset + code->p_filesz - 1) & ~(PAGE - 1);
	return (char *)((bias + code->p_vaddr + code->p_filesz - 1) & ~(PAGE - 1));
}

static void map_often(long n)
{
	unsigned long offset, stride = 16 * PAGE, distance, at;
	char *code = find_code(&offset), *region;
	int program = open("/proc/self/exe", O_RDONLY), memory = memfd_create("buffers", 0);
	const uint64_t owner = 1;
	struct prof_batch head = { .version = 4, .turn = 2, .owner = owner };

	distance = (unsigned long)&prof_impl_batches - (unsigned long)code;
	/* Neither the owners nor the buffer lie where the code is mapped. */
	while (distance % stride < PAGE || distance % stride >= stride - PAGE)
		stride += PAGE;
	at = distance % stride;
	head.used = head.size = sizeof(head);
	require(program >= 0 && memory >= 0 && !ftruncate(memory, (off_t)stride) &&
			pwrite(memory, &owner, sizeof(owner), (off_t)at) == sizeof(owner) &&
			pwrite(memory, &head, sizeof(head), (off_t)(at + PAGE)) == sizeof(head),
		"write");
	region = mmap(NULL, (unsigned long)n * stride + distance + 2 * stride, PROT_NONE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	require(region != MAP_FAILED, "map");
	for (unsigned long i = 0; i < (unsigned long)n + distance / stride + 2; i++) {
		char *place = region + i * stride;

		require(mmap(place, stride, PROT_READ, MAP_SHARED | MAP_FIXED, memory, 0) == place,
			"map buffers");
		if (i < (unsigned long)n)
			require(mmap(place, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED,
				     program, (off_t)offset) == place,
				"map code");
	}
}

static void *sleep_on(void *unused)
{
	for (;;)
		pause();
	return unused;
}

/* Their stacks are one mapping. */
static void start_threads(long n)
{
	char *stacks = mmap(NULL, (unsigned long)n * STACK, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	pthread_attr_t attributes;
	pthread_t thread;

	require(stacks != MAP_FAILED, "map stacks");
	pthread_attr_init(&attributes);
	for (long i = 0; i < n; i++) {
		pthread_attr_setstack(&attributes, stacks + (unsigned long)i * STACK, STACK);
		errno = pthread_create(&thread, &attributes, sleep_on, NULL);
		require(!errno, "start threads");
	}
}

int main(int argc, char **argv)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };

	if (argc < 3)
		return 2;
	map_often(atol(argv[1]));
	start_threads(atol(argv[2]));
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	while (!poll(&in, 1, 1))
		PROF_INSTANT("alive");
	return 0;
}
