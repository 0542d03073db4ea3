/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * moves ROUNDS: PROF_REALLOC of blocks that grow, in place and elsewhere, that cannot, and that shrink to nothing;
 * and of one whose address another thread gets before the mark that says that it was free. Prints for each pool
 * what a tracer must have seen: `moved allocations 3`, `moved frees 2`, `moved leaked 100`, `moved peak 400`.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <proftrace.h>

enum {
	BLOCKS = 8
};

static struct pool {
	const char *name;
	uint64_t allocations, frees, live, peak;
} moved = { "moved", 0, 0, 0, 0 }, taken = { "taken", 0, 0, 0, 0 };

static void count(struct pool *pool, uint64_t freed, uint64_t allocated)
{
	pool->frees += freed > 0;
	pool->allocations += allocated > 0;
	pool->live += allocated - freed;
	if (pool->live > pool->peak)
		pool->peak = pool->live;
}

/* A heap of its own: what is free here is nobody's but ours. */
static char heap[BLOCKS][1024];

/* Each round one block moves on to the next place, and grows; the places that it leaves stay free. */
static void move(unsigned round)
{
	char *const from = round % BLOCKS ? heap[round % BLOCKS - 1] : NULL, *to;
	const size_t size = 100 + round % BLOCKS, before = from ? size - 1 : 0;

	to = PROF_REALLOC("moved", from, size, heap[round % BLOCKS]);
	count(&moved, before, size);
	/* In place. */
	to = PROF_REALLOC("moved", to, size * 2, to);
	count(&moved, size, size * 2);
	/* It stays: nothing was allocated. */
	if (PROF_REALLOC("moved", to, 1000000, (char *)NULL))
		abort();
	to = PROF_REALLOC("moved", to, size, to);
	count(&moved, size * 2, size);
	if (round % BLOCKS < BLOCKS - 1)
		return;
	if (PROF_REALLOC("moved", to, 0, (char *)NULL))
		abort();
	count(&moved, size, 0);
}

/* The other thread is faster than our mark. */
static void *take(void *address)
{
	PROF_ALLOC("taken", address, 7);
	count(&taken, 0, 7);
	return address;
}

static char *free_and_lose(char *old, char *new_place)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, take, old) || pthread_join(thread, NULL))
		abort();
	return new_place;
}

static void race(void)
{
	char *old = heap[0], *other = heap[1];

	other = PROF_REALLOC("moved", (char *)NULL, 50, old);
	count(&moved, 0, 50);
	other = PROF_REALLOC("moved", other, 60, free_and_lose(old, heap[1]));
	count(&moved, 50, 60);
	PROF_FREE("moved", other);
	count(&moved, 60, 0);
}

static void print(const struct pool *pool)
{
	printf("%s allocations %" PRIu64 "\n%s frees %" PRIu64 "\n%s leaked %" PRIu64
	       "\n%s peak %" PRIu64 "\n",
	       pool->name, pool->allocations, pool->name, pool->frees, pool->name, pool->live,
	       pool->name, pool->peak);
}

int main(int argc, char **argv)
{
	const unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	unsigned i;

	for (i = 0; i < rounds * BLOCKS; i++)
		move(i);
	race();
	print(&moved);
	print(&taken);
	return 0;
}
