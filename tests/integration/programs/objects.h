/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What objects.c and objects.cpp share: counts of what a trace of them must hold. A line is what the
 * event is, its name, its categories and where it stands: "BEGIN plain app thread". Counters have
 * just their name: "COUNTER queue".
 */
#ifndef OBJECTS_H
#define OBJECTS_H

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_LINES = 256
};

static struct line {
	const char *text;
	uint64_t n;
} lines[MAX_LINES];

static uint64_t marks; /* that the kernel must have seen */
static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;

/* `n` more of this line. */
static inline void saw(const char *text, uint64_t n)
{
	int i;

	pthread_mutex_lock(&counting);
	for (i = 0; i < MAX_LINES - 1 && lines[i].text && strcmp(lines[i].text, text) != 0; i++)
		;
	lines[i].text = text;
	lines[i].n += n;
	pthread_mutex_unlock(&counting);
}

static inline void passed(uint64_t n)
{
	__atomic_add_fetch(&marks, n, __ATOMIC_RELAXED);
}

static inline void print_counts(void)
{
	for (int i = 0; i < MAX_LINES && lines[i].text; i++)
		printf("saw %s %" PRIu64 "\n", lines[i].text, lines[i].n);
	printf("marks %" PRIu64 "\n", marks);
}

#endif
