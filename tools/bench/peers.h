/* SPDX-License-Identifier: BSD-2-Clause */
/* Tracers, proftrace among them, at work on the same loops. */
#ifndef BENCH_PEERS_H
#define BENCH_PEERS_H

#include "recorder.h"
#include "sections.h"

/*
 * The target is there first and is attached to, as proftrace does it; or it comes when the tracer is
 * ready (LTTng-UST: its library registers before main); or the tracer starts it (uftrace); or it is
 * there first, does not see that it is traced, and the tracer says when it does.
 */
enum target_order {
	TARGET_FIRST,
	TARGET_THEN,
	TARGET_UNDER,
	TARGET_TOLD
};

/* What else may happen to the events: nothing at all, or an empty BPF program on the same site. */
enum floor {
	NO_FLOOR,
	FLOOR_LOOP,
	FLOOR_PROGRAM
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

/* So many rounds, or as many as the peer makes (0), in so many threads (0: the main one, pinned). */
struct load {
	const char *loop;
	unsigned rounds, threads;
	unsigned off;	   /* rounds while nobody traces; 0: very many */
	unsigned off_runs; /* of which the fastest counts; 0: one */
};

enum {
	MAX_LOADS = 4
};

struct sample {
	double ns[MAX_LOADS];
	double off_ns;			      /* of the first load's loop */
	uint64_t events, bytes, kept, cpu_ns; /* of all loads */
	uint64_t switches_lost, stacks, stacks_lost;
	bool has_off, has_bytes, has_kept, has_cpu, has_stacks;
	char late[160]; /* what did not come; or empty */
};

/*
 * Has the peer record these loads. 1: it is left out, and a note of the section says why; negative
 * errno when it failed.
 */
int peer_sample(struct bench *b, const char *section, const struct peer *p,
		const struct load *loads, unsigned n, struct sample *s);
/* A note of the section: what became of the peer, by the error and what did not come. */
void peer_failed(struct bench *b, const char *section, const char *what, const struct sample *s,
		 int error);

#endif
