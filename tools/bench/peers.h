/* SPDX-License-Identifier: BSD-2-Clause */
/* Tracers, including proftrace, that record the same loops. */
#ifndef BENCH_PEERS_H
#define BENCH_PEERS_H

#include "recorder.h"
#include "sections.h"

/*
 * The order of target and tracer. Either the target runs first and the tracer attaches, as
 * proftrace does; or the target starts when the tracer is ready (LTTng-UST registers before main);
 * or the tracer starts the target (uftrace); or the target runs first and the tracer reports when
 * it records it; or proftrace records another process of the program.
 */
enum target_order {
	TARGET_FIRST,
	TARGET_THEN,
	TARGET_UNDER,
	TARGET_COMMANDED,
	TARGET_BESIDE
};

/* Conditions without a tracer: nothing at all, or an empty BPF program on the same site, or at both ends of system calls. */
enum floor {
	NO_FLOOR,
	FLOOR_LOOP,
	FLOOR_PROGRAM,
	FLOOR_CALLS
};

struct peer {
	const char *name; /* of tools/bench/peers.sh; NULL: proftrace itself, or a floor */
	const char *row;
	const char *program, *loop;
	unsigned rounds;
	enum outputs outputs;
	enum target_order order;
	enum floor floor;
	const char *const *options; /* of proftrace, the last one NULL; or NULL */
};

/* The number of rounds (0: the default of the peer) and of threads (0: the main one, pinned). */
struct load {
	const char *loop;
	unsigned rounds, threads;
	unsigned off;	   /* rounds while nobody traces; 0: very many */
	unsigned off_runs; /* runs, of which the fastest counts; 0: one */
};

enum {
	MAX_LOADS = 4
};

struct sample {
	double ns[MAX_LOADS];
	double off_ns;			      /* of the first load's loop */
	uint64_t events, bytes, kept, cpu_ns; /* of all loads */
	uint64_t start_cpu_ns;		      /* before the first load; not in cpu_ns */
	uint64_t switches_lost, stacks, stacks_lost;
	bool has_off, has_bytes, has_kept, has_cpu, has_stacks;
	char late[160]; /* what did not happen; empty if all did */
};

/*
 * Runs these loads under the peer. Returns 1 if the peer is left out, with the reason as a note of
 * the section, or negative errno if it failed.
 */
int peer_sample(struct bench *b, const char *section, const struct peer *p,
		const struct load *loads, unsigned n, struct sample *s);
/* Adds a note to the section about the failure of the peer. */
void peer_failed(struct bench *b, const char *section, const char *what, const struct sample *s,
		 int error);

#endif
