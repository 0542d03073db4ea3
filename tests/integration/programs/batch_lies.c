/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * batch_lies WHAT N: hands over N batches that no marker has written:
 *
 *	future	events that happen in some minutes
 *	back	each event before the one that it stands behind
 *	past	events from when the machine was booted
 *	gaps	each says that there was very much before it
 *	many	each at an address of its own, as a new one
 *	random	any bytes, but for what the kernel's side looks at
 *	left	with events that never get complete
 *	exits	as many, and then ends a few thousand threads
 *	closed	N batches that are said to be half handed over, and stay so, each from another moment on; and
 *		calls itself something else all the while, until its standard input ends
 *	mapped	batches that are nobody's, in a file that is mapped N times; waits for the same
 *
 * Prints `marks <n>`: of good ones, which it makes before and after.
 */
#define _GNU_SOURCE
#include <proftrace.h>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORDS (16384 / 8)
#define GOOD  100

struct lie {
	struct prof_batch head;
	uint64_t events[WORDS - sizeof(struct prof_batch) / 8];
};

static uint64_t seed = 1, number;

static uint64_t any(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return seed ^ seed >> 29;
}

static void good(void)
{
	int i;

	for (i = 0; i < GOOD; i++)
		PROF_INSTANT("good");
}

/* A whole batch of copies of one event, so far apart, from so many ticks on. */
static void fill(struct lie *lie, const uint64_t *event, int64_t from, int64_t apart)
{
	const size_t words = event[2] >> 56, most = sizeof(lie->events) / 8;
	size_t at, n = 0;

	for (at = 0; at + words <= most; at += words, n++) {
		memcpy(lie->events + at, event, words * 8);
		lie->events[at] = (uint64_t)((int64_t)prof_impl_time() + from + apart * (int64_t)n);
	}
	lie->head.used = (uint32_t)(sizeof(lie->head) + at * 8);
	lie->head.complete = (uint32_t)(n << 16 | (at & 0xffff));
}

static void next(struct lie *lie)
{
	lie->head.base += lie->head.used - sizeof(lie->head);
	lie->head.events += lie->head.complete >> 16;
}

static void send(const char *what, struct lie *lie, const uint64_t *event)
{
	const size_t n = sizeof(lie->events) / 8;
	size_t i;

	if (!strcmp(what, "future")) {
		fill(lie, event, (int64_t)1 << 38, 1);
	} else if (!strcmp(what, "back")) {
		fill(lie, event, -1000, -1);
	} else if (!strcmp(what, "past")) {
		fill(lie, event, -(int64_t)prof_impl_time(), 1);
	} else if (!strcmp(what, "gaps")) {
		fill(lie, event, 0, 1);
		lie->head.base += UINT64_C(1) << 58;
		lie->head.events += UINT64_C(1) << 58;
	} else if (!strcmp(what, "left")) {
		fill(lie, event, 0, 1);
		for (i = 0; i < n; i += 1 + any() % 32)
			lie->events[i] = 0;
		lie->head.stuck = number % 4 ? 64 : 0;
	} else if (!strcmp(what, "random")) {
		for (i = 0; i < n; i++)
			lie->events[i] = any() % 4 ? any() >> any() % 64 : event[i % 4];
		lie->head.used = (uint32_t)(sizeof(lie->head) + any() % (8 * n));
		lie->head.complete = (uint32_t)any();
		lie->head.base = any() >> any() % 64;
		lie->head.events = any() >> any() % 64;
		lie->head.stuck = any() % 2 ? 64 : 0;
	}
	prof_impl_batch_send(&lie->head, PROF_IMPL_BATCH_FULL);
	next(lie);
}

/* Headers close to each other, in memory that does not end. */
static void many(const struct prof_batch *real, uint64_t n)
{
	const size_t size = 64 << 20;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t i;

	if (memory == MAP_FAILED)
		exit(1);
	for (i = 0; i < n; i++) {
		struct prof_batch *head = (void *)(memory + i * 64 % (size - 64));

		*head = *real;
		head->used = sizeof(*head);
		head->complete = 0;
		prof_impl_batch_send(head, PROF_IMPL_BATCH_NEW);
	}
}

static bool goes_on(int wait_ms)
{
	struct pollfd input = { 0, POLLIN, 0 };

	return poll(&input, 1, wait_ms) <= 0;
}

static void *end(void *data)
{
	return data;
}

static void exits(void)
{
	pthread_t thread;
	int i;

	for (i = 0; i < 4000 && !pthread_create(&thread, NULL, end, NULL); i++)
		pthread_join(thread, NULL);
}

static void closed(const struct prof_batch *real, uint64_t n)
{
	struct prof_batch *heads = mmap(NULL, n * sizeof(*heads), PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t i, began = prof_impl_time(), turns = 0;
	char name[16];

	if (heads == MAP_FAILED)
		exit(1);
	for (i = 0; i < n; i++) {
		heads[i] = *real;
		heads[i].base = heads[i].events = 0;
		heads[i].used = sizeof(*heads);
		heads[i].complete = 0;
		prof_impl_batch_send(&heads[i], PROF_IMPL_BATCH_NEW);
	}
	puts("ready");
	fflush(stdout);
	for (; goes_on(0); turns++) {
		snprintf(name, sizeof(name), "%llu", (unsigned long long)turns);
		prctl(PR_SET_NAME, name);
		PROF_INSTANT("turn");
		/* About every second another one, at whatever pace the counter goes. */
		i = (prof_impl_time() - began) >> 31;
		if (i < n) {
			heads[i].base = UINT64_C(1) << 40;
			heads[i].used |= 1u << 20;
		}
	}
}

static void mapped(uint64_t n)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	struct stat file;
	uint64_t i;

	for (i = 0; i < PROF_IMPL_BATCHES; i++) {
		void *place = prof_impl_batches.batches[i];

		prof_impl_batches.owners[i] = i + 1;
		*(struct prof_batch *)place = *(*prof_impl_batch());
		((struct prof_batch *)place)->owner = i + 1;
	}
	if (fd < 0 || fstat(fd, &file))
		exit(1);
	for (i = 0; i < n; i++)
		mmap(NULL, (size_t)file.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	puts("ready");
	fflush(stdout);
	while (goes_on(1000))
		;
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 0) : 0, event[256];
	struct prof_batch *real;
	struct lie *lie;

	good();
	/* There is none before somebody has recorded this process. */
	while (argc > 1 && !strcmp(argv[1], "mapped") && !*prof_impl_batch() && goes_on(10))
		good();
	real = *prof_impl_batch();
	if (!real || argc < 3) {
		printf("marks 0\n");
		return 1;
	}
	memcpy(event, real + 1, sizeof(event));
	lie = mmap(NULL, sizeof(*lie), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (lie == MAP_FAILED)
		return 1;
	lie->head = *real;
	lie->head.base = lie->head.events = 0;
	lie->head.used = sizeof(lie->head);
	lie->head.complete = 0;
	if (!strcmp(argv[1], "many")) {
		many(real, n);
	} else if (!strcmp(argv[1], "exits")) {
		many(real, n);
		exits();
	} else if (!strcmp(argv[1], "closed")) {
		closed(real, n);
	} else if (!strcmp(argv[1], "mapped")) {
		mapped(n);
		return 0;
	} else {
		prof_impl_batch_send(&lie->head, PROF_IMPL_BATCH_NEW);
		for (number = 0; number < n; number++)
			send(argv[1], lie, event);
	}
	good();
	printf("marks %d\n", 2 * GOOD);
	return 0;
}
