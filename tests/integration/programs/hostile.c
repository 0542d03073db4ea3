/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hostile strings|pointers|names|slices|pools|threads|allocs N: does N of what a tracer might choke on: strings
 * that are not there, do not end, are no UTF-8 or command a terminal; names, keys and values that are nowhere;
 * names of threads, of slices and of pools, all distinct; threads; allocations that stay. With one
 * more argument it prints `ready` first, and begins when its input says something.
 * hostile maps FILE [N]: has the file, or N copies of it, mapped as code until its input ends; prints `ready`
 * first. At the end `semaphore <n>`: whether its domain is still on. At the end of any `marks <n>`.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <proftrace.h>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#define PAGE 4096

/* A page without a NUL, and nothing behind it. */
static char *endless(void)
{
	char *page =
		mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED || mprotect(page + PAGE, PAGE, PROT_NONE))
		exit(1);
	memset(page, 'x', PAGE);
	return page;
}

static int strings(int n)
{
	const char *page = endless(), *unmapped = page + PAGE, *low = (const char *)8;
	static char megabyte[1 << 20];
	int i;

	memset(megabyte, 'm', sizeof(megabyte) - 1);
	for (i = 0; i < n; i++) {
		PROF_INSTANT("strings", "unmapped", unmapped, "low", low, "endless", page);
		PROF_INSTANT("end", "end", page + PAGE - 3, "long", megabyte);
		PROF_INSTANT("bytes", "bad", "\xff\xfe\xc3", "terminal",
			     "\033]0;title\007\033[31m\r\n");
	}
	return 3 * n;
}

/* Past the macros, which would touch what they point to. */
static int pointers(int n)
{
	const char *page = endless();
	const char *const nowhere[] = { page + PAGE,
					(const char *)8,
					page,
					page + PAGE - 3,
					NULL,
					(const char *)0xffffffff81000000,
					(const char *)~0ul };
	const uint64_t strings = 3 | 4 << 8 | 4 << 12 | 4 << 16 | PROF_META_HAS_STRINGS;
	int i;

	for (i = 0; i < n; i++) {
		const char *at = nowhere[i % 7], *other = nowhere[i / 7 % 7];

		prof_instant_prof_default(at, PROF_META_NAME_DYNAMIC, 0, 0, NULL, 0);
		prof_begin_prof_default(at, 0, 0, 0, NULL, 0);
		prof_instant_prof_default("nowhere", strings, 0, 0, at, (uint64_t)(size_t)other);
		prof_instant_prof_default(at, PROF_META_NAME_DYNAMIC | PROF_META_HAS_CATEGORIES, 0,
					  (uint64_t)(size_t)other, other, 0);
		prof_end_prof_default(at, 15 | strings, 0, 0, at, (uint64_t)(size_t)other);
	}
	return 5 * n;
}

static int names(int n)
{
	char name[64];
	int i;

	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "\033[%dm thread %d", i % 8 + 30, i);
		PROF_THREAD_NAME(name);
	}
	return n;
}

/* Nearly all names are literals; these are made while it runs. */
static int slices(int n)
{
	char name[64];
	int i;

	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "slice %d", i);
		PROF_CALL(name, (void)i);
	}
	return 2 * n;
}

/* Each is a pool of its own, with a track of its own. */
static int pools(int n)
{
	char name[64];
	int i;

	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "pool %d", i);
		prof_scope_push(name);
		PROF_ALLOC("one of many", name, 16);
		prof_scope_pop();
	}
	return 3 * n;
}

static void *thread(void *unused)
{
	PROF_BEGIN("short life");
	PROF_END();
	return unused;
}

static int threads(int n)
{
	pthread_t list[64];
	int i, k, started, marks = 0;

	for (i = 0; i < n; i += 64) {
		for (started = 0; started < 64 && i + started < n; started++) {
			if (pthread_create(&list[started], NULL, thread, NULL))
				break;
		}
		for (k = 0; k < started; k++)
			pthread_join(list[k], NULL);
		marks += 2 * started;
	}
	return marks;
}

static int allocs(int n)
{
	long i;

	for (i = 1; i <= n; i++)
		PROF_ALLOC("endless", (void *)(16 * i), 16);
	return n;
}

/* A file of its own, of the same bytes, that is gone when it is not mapped any more. */
static int copy(int from)
{
	int fd = memfd_create("copy", 0);
	off_t at = 0;

	if (fd < 0 || sendfile(fd, from, &at, (size_t)lseek(from, 0, SEEK_END)) < 0 ||
	    ftruncate(fd, at ? at : PAGE))
		return -1;
	return fd;
}

/* Its input decides when it ends. */
static int maps(const char *path, int copies)
{
	struct pollfd input = { STDIN_FILENO, POLLIN, 0 };
	int from = open(path, O_RDONLY), i, n;

	for (i = 0; i < (copies ? copies : 1); i++) {
		int fd = copies && from >= 0 ? copy(from) : from;

		if (fd < 0 || mmap(NULL, 16 * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) ==
				      MAP_FAILED) {
			perror(path);
			exit(1);
		}
		if (fd != from)
			close(fd);
	}
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	for (n = 0; !poll(&input, 1, 1); n++)
		PROF_INSTANT("tick");
	return n;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(int n);
	} modes[] = {
		{ "strings", strings }, { "pointers", pointers }, { "names", names },
		{ "slices", slices },	{ "pools", pools },	  { "threads", threads },
		{ "allocs", allocs },
	};
	unsigned i;

	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "maps")) {
		int n = maps(argv[2], argc > 3 ? atoi(argv[3]) : 0);

		printf("semaphore %d\nmarks %d\n", prof_is_enabled(&prof_default), n);
		return 0;
	}
	if (argc > 3) {
		printf("ready %d\n", (int)getpid());
		fflush(stdout);
		if (getchar() == EOF)
			return 1;
	}
	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (!strcmp(argv[1], modes[i].name))
			printf("marks %d\n", modes[i].run(atoi(argv[2])));
	}
	return 0;
}
