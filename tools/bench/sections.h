/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of the bench. Each adds its samples of one repetition. */
#ifndef BENCH_SECTIONS_H
#define BENCH_SECTIONS_H

#include "results.h"

struct bench {
	struct results results;
	char directory[400]; /* absolute: what is made for the bench lies there */
	bool quick;
	const char *only;    /* the part that is measured; NULL: all */
	unsigned repetition; /* from 0 */
};

#define SECTION_PHYSICAL "The least possible cost of an event: ns"
#define SECTION_OFF	 "A marker that nobody records: ns per event"
#define SECTION_ON	 "A marker that is recorded: ns per event in the program"
#define SECTION_COUNTERS "Counters: ns per event in the program"
#define SECTION_ATTACH	 "Attaching to programs with few and many uses of markers"
#define SECTION_RATE	 "The recorder"
#define SECTION_PEERS	 "Other tracers: an instant with one integer"
#define SECTION_THREADS	 "The same from several threads: ns of CPU time per event"
#define SECTION_SIZES	 "Events with more values: ns per event"
#define SECTION_BYTES	 "Events with more values: bytes per event"
#define SECTION_FOREIGN	 "Events that are not marks: additional ns per event"
#define SECTION_SAMPLES	 "Call stacks, 10,000 times a second: ns per sample"
#define SECTION_MADE	 "Lookup of an object by its name: ns"
#define SECTION_COST	 "The steps of an event: ns"

#define EXACT_ROW "proftrace, Perfetto"
#define BATCH_ROW "proftrace --mode batch, Perfetto"

int measure_physical(struct bench *b);
int measure_events(struct bench *b);
int measure_counters(struct bench *b);
int measure_attach(struct bench *b);
int measure_rate(struct bench *b);
int measure_peers(struct bench *b);
int measure_threads(struct bench *b);
int measure_sizes(struct bench *b);
int measure_foreign(struct bench *b);
int measure_samples(struct bench *b);
int measure_cost(struct bench *b);
int measure_made(struct bench *b);

#endif
