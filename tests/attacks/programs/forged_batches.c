/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * forged_batches THREADS: so many threads announce a batch of their own, numbered so that the numbers wrap around, and exit with
 * one that says that 65535 events of it were lost before.
 * forged_batches 0 MARKS: marks so often, when its standard input ends, as a program does that forges nothing.
 * Prints `marked N`.
 */
#include <proftrace.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct forged {
	struct prof_batch head;
	uint64_t events[512];
};

static void *forge(void *marked)
{
	struct prof_batch *own;
	struct forged *forged = aligned_alloc(4096, 8192);

	PROF_INSTANT("own");
	own = *prof_impl_batch();
	if (!own || !forged)
		return NULL;
	memset(forged, 0, sizeof(*forged));
	forged->head = *own;
	forged->head.base = forged->head.stuck = forged->head.complete = 0;
	forged->head.used = sizeof(forged->head);
	forged->head.events = -(uint64_t)65535;
	prof_impl_batch_send(&forged->head, PROF_IMPL_BATCH_NEW);
	forged->head.events = 0;
	forged->head.used = sizeof(forged->head) + 64;
	forged->head.complete = 65535u << 16 | 8;
	forged->head.stuck = 64;
	++*(unsigned *)marked;
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned marked = 0, i, n = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
	unsigned marks = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
	pthread_t thread;
	char byte;

	for (i = 0; i < n; i++) {
		if (pthread_create(&thread, NULL, forge, &marked))
			return 1;
		pthread_join(thread, NULL);
	}
	if (marks) {
		PROF_INSTANT("first");
		puts("ready");
		fflush(stdout);
		while (read(0, &byte, 1) > 0)
			;
		for (marked = 1; marked < marks; marked++)
			PROF_INSTANT("tick", "i", marked);
	}
	printf("marked %u\n", marked);
	return 0;
}
