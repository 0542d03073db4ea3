/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is kept of the collectives of a job; private to this folder.
 *
 *	ranks.c		reads the traces, joins the collectives, and remembers what threads did between them
 *	ranks_print.c	sums them up: the table and the JSON
 */
#ifndef PROFTRACE_REPORTS_RANKS_RANKS_INTERNAL_H
#define PROFTRACE_REPORTS_RANKS_RANKS_INTERNAL_H

#include "base/hash.h"
#include "reports/ranks/ranks.h"
#include "timeline/consumer.h"
#include "timeline/names.h"

enum {
	RANKS_MOST = 1 << 19, /* joined collectives, some 250 bytes each */
	RANKS_DOING = 16,     /* different things that a thread does between two collectives */
	RANKS_KEPT = 3,	      /* of these, the longest */
	RANKS_LABEL = 64,
};

/* What a thread did, and for how long. */
struct doing {
	const struct name *slice; /* the innermost one; NULL: none */
	const struct name
		*wait; /* why it was blocked; NULL: it was not, or this was not recorded */
	uint64_t ns;
};

struct collective {
	struct collective_key {
		const struct name *name;
		uint64_t epoch, batch; /* 0 without steps */
		uint64_t nth;	       /* of this name in this step, from 0 */
	} key;
	uint64_t first_ns, second_last_ns, last_ns; /* when ranks came */
	int64_t sum_ns; /* of these times, since that of the rank that was read first */
	uint64_t base_ns;
	uint64_t first_end_ns; /* 0: it has ended nowhere */
	uint32_t n_ranks;
	struct rank *last;
	struct doing did[RANKS_KEPT]; /* by the last one, since its previous collective */
	unsigned n_did;
	struct collective *previous; /* of the last one, and when it left that; NULL: none */
	uint64_t left_ns;
	/* ranks_print.c */
	uint64_t late_ns, others_ns; /* behind the last but one; that all others waited, together */
	struct doing why;	     /* `ns`: more than usual; 0: nothing was longer */
	UT_hash_handle hh;
};

/* What all ranks do before collectives of a name. */
struct usual {
	struct usual_key {
		const struct name *collective, *slice, *wait;
	} key;
	uint64_t sum; /* ns */
	UT_hash_handle hh;
};

/* A process that takes part in collectives. */
struct rank {
	uint64_t uuid;
	char label[RANKS_LABEL];
	uint64_t n_collectives, inside_ns;
	struct position {
		const struct name *name;
		uint64_t epoch, batch, next;
		UT_hash_handle hh;
	} * positions;
	/* ranks_print.c */
	uint64_t n_last, late_ns, late_max_ns, others_ns;
	double roots; /* the sum of the square roots of the times in late_ns */
	struct doing did[RANKS_DOING];
	unsigned n_did;
	bool is_straggler;
	UT_hash_handle hh;
};

struct rank_thread {
	uint64_t uuid;
	const struct name **open; /* slices, outermost first */
	uint32_t n_open, open_capacity;
	uint32_t collective_depth; /* n_open inside the collective; 0: it is in none */
	struct collective *collective, *previous; /* NULL: none */
	uint64_t left_ns;			  /* when it left the previous one */
	uint64_t last_ns;			  /* 0: it has not made a mark */
	struct doing did[RANKS_DOING];
	unsigned n_did;
	UT_hash_handle hh;
};

struct ranks {
	struct consumer consumer;
	const struct ranks_options *options;
	struct names *names;
	const struct name *epoch, *batch, *other;
	uint8_t *matches; /* by the id of a name: 0 not known, 1 no collective, 2 a collective */
	struct rank *ranks;
	struct rank_thread *threads;
	struct collective *collectives;
	struct usual *usual;
	struct usual
		*arrivals; /* of ranks at collectives: `sum` is their number, the key has no more */
	uint64_t n_beyond; /* not joined: there are too many */
	int error;
};

/* Adds the time; what has no place in the list any more becomes part of its last element, `other`. */
void doing_add(struct doing list[RANKS_DOING], unsigned *n, const struct doing *doing,
	       const struct name *other);
struct usual *usual_find(struct usual *table, const struct usual_key *key);

/* ranks_print.c */
int ranks_print(struct ranks *r, const struct account *account, FILE *out, struct failure *f);

#endif
