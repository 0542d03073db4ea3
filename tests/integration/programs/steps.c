/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * steps THREADS EPOCHS BATCHES [US]: that many batches in each epoch, of US microseconds, in each of which
 * every thread makes ROUNDS instants and slices that carry its numbers, one slice that ends in the next
 * batch, and marks of a marker that is not for warming up. All threads say that a batch begins. Prints
 * `marks <n>`, and `off <n>`: in how many batches nobody recorded.
 */
#include <proftrace.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ROUNDS 20

PROF_MARKER(limited, prof_default, "limited", .actions = PROF_ON_ACTIVE | PROF_ON_ACTIVE_AND_SAVE);

static pthread_barrier_t barrier;
static int epochs, batches, us = 1000;
static atomic_long marks, off;

static void batch(int epoch, int number, int has_across)
{
	int i;

	if (has_across)
		PROF_ASYNC_END("across", (long)pthread_self());
	PROF_ASYNC_BEGIN("across", (long)pthread_self(), "in_epoch", epoch, "in_batch", number);
	marks += 1 + has_across;
	for (i = 0; i < ROUNDS; i++) {
		PROF_SCOPE("round");
		PROF_INSTANT("number", "e", epoch, "b", number);
		prof_marker_start(&limited);
		PROF_INSTANT("within");
		prof_marker_finish(&limited);
		marks += 6;
	}
}

static void *thread(void *first)
{
	int e, b;

	for (e = 0; e < epochs; e++) {
		for (b = 0; b < batches; b++) {
			pthread_barrier_wait(&barrier);
			PROF_STEP(e, b);
			marks++;
			pthread_barrier_wait(&barrier);
			if (first && !prof_is_enabled(&prof_default))
				off++;
			batch(e, b, e || b);
			if (first)
				usleep((unsigned int)us);
		}
	}
	PROF_ASYNC_END("across", (long)pthread_self());
	marks++;
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 2, i;
	pthread_t threads[16];

	epochs = argc > 2 ? atoi(argv[2]) : 1;
	batches = argc > 3 ? atoi(argv[3]) : 10;
	if (argc > 4)
		us = atoi(argv[4]);
	if (n > 16)
		n = 16;
	pthread_barrier_init(&barrier, NULL, (unsigned int)n);
	for (i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, thread, i ? NULL : &threads[i]);
	for (i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	printf("marks %ld\noff %ld\n", (long)marks, (long)off);
	return 0;
}
