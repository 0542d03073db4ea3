/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * many_names N THREADS: all threads ask for N markers by name, each in an order of its own, then for all of them
 * again. What it takes to find one is counted in steps of the list, not in time. Prints `objects <n>`, `buckets <n>`,
 * `different <n>`: names for which two threads got different objects, `misplaced <n>`: nodes out of order, `steps <n>`:
 * to find each of them once, and `most <n>` for one.
 */
#include <proftrace.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	MOST_THREADS = 16
};

static const prof_marker_t **markers;
static uint64_t n, different;

static const prof_marker_t *get(uint64_t i)
{
	char name[32];

	snprintf(name, sizeof(name), "name %" PRIu64, i);
	return prof_marker_get(name, NULL);
}

/* Steps that are coprime to any N of tests: each thread sees each name, and begins elsewhere. */
static void *work(void *number)
{
	const uint64_t me = *(unsigned *)number;
	uint64_t i, at = me * (n / MOST_THREADS);
	int pass;

	for (pass = 0; pass < 2; pass++) {
		for (i = 0; i < n; i++, at = (at + 7919) % n) {
			const prof_marker_t *marker = get(at), *none = NULL;

			if (!__atomic_compare_exchange_n(&markers[at], &none, marker, 0,
							 __ATOMIC_RELAXED, __ATOMIC_RELAXED) &&
			    none != marker)
				__atomic_add_fetch(&different, 1, __ATOMIC_RELAXED);
		}
	}
	return number;
}

/* From the node of its bucket to the object. */
static uint64_t count_steps(struct prof_impl_table *table, const prof_marker_t *marker)
{
	const char *at = (const char *)marker - offsetof(struct prof_impl_made, is);
	const struct prof_impl_made *made = (const void *)at;
	uint64_t hash = prof_impl_backwards(made->node.place), steps = 0;
	const struct prof_impl_node *node =
		prof_impl_bucket_node(table, hash & (table->n_buckets - 1));

	for (; node && node != &made->node; node = node->next)
		steps++;
	return node ? steps : UINT64_MAX / n;
}

static void look_at_list(struct prof_impl_table *table)
{
	const struct prof_impl_node *node = &table->first[0].node;
	uint64_t objects = 0, misplaced = 0, steps = 0, most = 0, i;

	for (; node; node = node->next) {
		objects += node->place & 1;
		misplaced += node->next && node->next->place < node->place;
	}
	for (i = 0; i < n; i++) {
		uint64_t mine = count_steps(table, markers[i]);

		steps += mine;
		most = mine > most ? mine : most;
	}
	printf("objects %" PRIu64 "\nbuckets %" PRIu64 "\nmisplaced %" PRIu64 "\nsteps %" PRIu64
	       "\nmost %" PRIu64 "\n",
	       objects, table->n_buckets, misplaced, steps, most);
}

int main(int argc, char **argv)
{
	unsigned n_threads = argc > 2 ? (unsigned)atoi(argv[2]) : 1, i, numbers[MOST_THREADS];
	pthread_t threads[MOST_THREADS];

	n = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000;
	markers = calloc(n, sizeof(const prof_marker_t *));
	if (!markers || n_threads > MOST_THREADS)
		return 1;
	for (i = 0; i < n_threads; i++) {
		numbers[i] = i;
		if (pthread_create(&threads[i], NULL, work, &numbers[i]))
			return 1;
	}
	for (i = 0; i < n_threads; i++)
		pthread_join(threads[i], NULL);
	printf("different %" PRIu64 "\n", different);
	look_at_list(prof_impl_table_get());
	return 0;
}
