/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pools ROUNDS [exec]
 *
 * Memory of two pools, some of which is never freed, on two threads. It says what a tracer must have
 * seen: "allocations 9", "frees 8", "leaks 3", "leaked 600", "peak 1200". With "exec" it becomes itself
 * without that word afterwards, leaks and all: then everything is there twice, and said by the second.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <proftrace.h>

struct said {
	uint64_t allocations, frees, leaks, leaked, live, peak;
};

static void *allocate(struct said *s, size_t size)
{
	void *block = malloc(size);

	PROF_ALLOC("blocks", block, size);
	s->allocations++;
	s->live += size;
	if (s->live > s->peak)
		s->peak = s->live;
	return block;
}

static void release(struct said *s, void *block, size_t size)
{
	PROF_FREE("blocks", block);
	free(block);
	s->frees++;
	s->live -= size;
}

static void *work(void *data)
{
	struct said *s = data;
	void *leak;

	PROF_BEGIN("forgetful");
	leak = allocate(s, 300);
	memset(leak, 1, 300);
	s->leaks++;
	s->leaked += 300;
	PROF_END();
	return leak;
}

int main(int argc, char **argv)
{
	unsigned long i, rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
	struct said s = { 0 };
	pthread_t thread;
	void *leak;

	for (i = 0; i < rounds; i++) {
		void *a, *b;

		PROF_SCOPE("round");
		a = allocate(&s, 100 + i);
		b = allocate(&s, 200);
		release(&s, a, 100 + i);
		release(&s, b, 200);
	}
	if (pthread_create(&thread, NULL, work, &s) || pthread_join(thread, &leak))
		return 1;
	/* Outside of any slice; then what never was, and what was never told. */
	leak = allocate(&s, 50);
	s.leaks++;
	s.leaked += 50;
	PROF_ALLOC("blocks", (void *)NULL, 12345);
	PROF_FREE("blocks", (void *)NULL);
	PROF_FREE("blocks", (void *)&s);
	s.frees++;
	PROF_ALLOC("others", (void *)&s, 7);
	PROF_FREE("others", (void *)&s);
	if (argc > 2 && !strcmp(argv[2], "exec"))
		return execl("/proc/self/exe", argv[0], argv[1], (char *)NULL);
	printf("allocations %" PRIu64 "\nfrees %" PRIu64 "\nleaks %" PRIu64 "\nleaked %" PRIu64
	       "\npeak %" PRIu64 "\n",
	       s.allocations, s.frees, s.leaks, s.leaked, s.peak);
	return leak == NULL;
}
