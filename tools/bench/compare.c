/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares proftrace with other tracers on the same event or the nearest one that they have, and
 * with the cost of an event that nobody records: one event, several threads, and more values.
 */
#include "peers.h"

#include <string.h>

#define STORES_ROW "the processor's clock and three stores"
#define PERF_ROW   "perf record, SDT event"
#define PRINT_ROW  "bpftrace, printing"
#define LTTNG_ROW  "LTTng-UST, a tracepoint"

static const struct peer peers[] = {
	{ NULL, STORES_ROW, "marks", "three_stores", 2000000, 0, 0, FLOOR_LOOP, NULL },
	{ NULL, "clock_gettime", "marks", "clock_gettime", 1000000, 0, 0, FLOOR_LOOP, NULL },
	{ NULL, "an empty BPF program", "marks", "instant_1", 100000, 0, 0, FLOOR_PROGRAM, NULL },
	{ NULL, BATCH_ROW, "marks", "instant_1", 500000, OUT_PERFETTO | OUT_BATCH, 0, 0, NULL },
	{ NULL, EXACT_ROW, "marks", "instant_1", 100000, OUT_PERFETTO, 0, 0, NULL },
	{ NULL, "proftrace, both outputs", "marks", "instant_1", 100000, OUT_BOTH, 0, 0, NULL },
	{ "bpftrace-count", "bpftrace, counting", "marks", "instant_1", 100000, 0, 0, 0, NULL },
	{ "bpftrace-print", PRINT_ROW, "marks", "instant_1", 20000, 0, 0, 0, NULL },
	{ "perf", PERF_ROW, "marks", "instant_1", 100000, 0, 0, 0, NULL },
	{ "lttng", LTTNG_ROW, "lttng", "instant_1", 500000, 0, TARGET_THEN, 0, NULL },
	{ "uftrace", "uftrace, a function", "functions", "call", 500000, 0, TARGET_UNDER, 0, NULL },
};

#define N_PEERS (sizeof(peers) / sizeof(peers[0]))

/* If a tracer fails, a line under the table says so, and the bench goes on. */
static bool has_sample(struct bench *b, const char *section, const struct peer *p,
		       const struct load *loads, unsigned n, struct sample *s)
{
	int error;

	if (p->outputs & OUT_BATCH && !recorder_has_batch()) {
		results_note(&b->results, section, "%s is left out: this proftrace has none",
			     p->row);
		return false;
	}
	error = peer_sample(b, section, p, loads, n, s);
	if (error < 0)
		peer_failed(b, section, p->row, s, error);
	return !error;
}

static void add_kept(struct results *r, const char *section, const char *row,
		     const struct sample *s)
{
	if (s->has_kept)
		results_add(r, section, row, "lost %", "%", 100.0 - 100.0 * s->kept / s->events);
}

static void add_sample(struct results *r, const char *row, const struct sample *s)
{
	results_add(r, SECTION_PEERS, row, "ns/event", "ns", s->ns[0]);
	if (s->has_off)
		results_add(r, SECTION_PEERS, row, "off ns", "ns", s->off_ns);
	if (s->has_cpu)
		results_add(r, SECTION_PEERS, row, "its CPU ns", "ns",
			    (double)s->cpu_ns / s->events);
	if (s->has_bytes)
		results_add(r, SECTION_PEERS, row, "bytes/event", "bytes",
			    (double)s->bytes / s->events);
	add_kept(r, SECTION_PEERS, row, s);
}

/* Ratios within one repetition. A missing value has no ratio. */
static void add_ratios(struct results *r)
{
	static const struct {
		const char *row, *column;
	} to[] = {
		{ STORES_ROW, "of stores" },
		{ LTTNG_ROW, "of LTTng" },
		{ PERF_ROW, "of perf" },
		{ PRINT_ROW, "of printing" },
	};
	unsigned i, j;

	for (j = 0; j < sizeof(to) / sizeof(to[0]); j++) {
		double base = results_last(r, SECTION_PEERS, to[j].row, "ns/event");

		for (i = 0; base > 0 && i < N_PEERS; i++) {
			double ns = results_last(r, SECTION_PEERS, peers[i].row, "ns/event");

			if (!peers[i].name && !peers[i].floor && ns > 0)
				results_add(r, SECTION_PEERS, peers[i].row, to[j].column, "ratio",
					    ns / base);
		}
	}
}

int measure_peers(struct bench *b)
{
	unsigned i;

	for (i = 0; i < N_PEERS; i++) {
		const struct load load = { .loop = peers[i].loop };
		struct sample s;

		if (has_sample(b, SECTION_PEERS, &peers[i], &load, 1, &s))
			add_sample(&b->results, peers[i].row, &s);
	}
	add_ratios(&b->results);
	return 0;
}

/*
 * Uses the CPU time of the threads, so that having more threads than processors does not count; it
 * shows how the threads slow each other down.
 */
int measure_threads(struct bench *b)
{
	static const char *const columns[] = { "1 thread", "2 threads", "4 threads" };
	unsigned i, j;

	for (i = 0; i < N_PEERS; i++) {
		const struct peer *p = &peers[i];
		const struct load loads[] = {
			{ p->loop, p->rounds / 2, 1, 0, 0 },
			{ p->loop, p->rounds / 2, 2, 0, 0 },
			{ p->loop, p->rounds / 2, 4, 0, 0 },
		};
		struct sample s;

		if (p->outputs == OUT_BOTH || p->order == TARGET_UNDER || p->rounds < 50000)
			continue; /* the same again, one that subtracts one thread, a slow one */
		if (!has_sample(b, SECTION_THREADS, p, loads, 3, &s))
			continue;
		for (j = 0; j < 3; j++)
			results_add(&b->results, SECTION_THREADS, p->row, columns[j], "ns",
				    s.ns[j]);
		add_kept(&b->results, SECTION_THREADS, p->row, &s);
	}
	return 0;
}

/* perf and bpftrace are left out: their cost does not depend on the arguments. */
int measure_sizes(struct bench *b)
{
	static const char *const sizes[][2] = {
		{ "instant", "nothing" }, { "instant_1", "1 integer" },
		{ "instant_2", "2" },	  { "instant_3", "3" },
		{ "instant_6", "6" },	  { "instant_string", "a string of 12" },
	};
	unsigned i, j;

	for (i = 0; i < N_PEERS; i++) {
		const struct peer *p = &peers[i];

		if (strcmp(p->row, BATCH_ROW) && strcmp(p->row, EXACT_ROW) &&
		    strcmp(p->row, LTTNG_ROW))
			continue;
		for (j = 0; j < sizeof(sizes) / sizeof(sizes[0]); j++) {
			const struct load load = { .loop = sizes[j][0] };
			struct sample s;

			if (!has_sample(b, SECTION_SIZES, p, &load, 1, &s))
				break;
			results_add(&b->results, SECTION_SIZES, p->row, sizes[j][1], "ns", s.ns[0]);
			results_add(&b->results, SECTION_BYTES, p->row, sizes[j][1], "bytes",
				    (double)s.bytes / s.events);
		}
	}
	return 0;
}
