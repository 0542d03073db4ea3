/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A condition: by which program or recorder the events of a target are handled. Several conditions
 * are set up at once, each with its own target, so that they can be measured in turns of
 * milliseconds, and disturbances of the machine affect all of them alike.
 */
#ifndef BENCH_CONDITIONS_H
#define BENCH_CONDITIONS_H

#include "empty.h"
#include "recorder.h"
#include "sections.h"

enum {
	MAX_CONDITIONS = 8
};

struct condition {
	const char *column;
	const char *ratio;	    /* the column of its ratio to the first condition */
	enum outputs outputs;	    /* 0: an empty program takes the place of proftrace */
	const char *counters;	    /* what -e names; NULL: none is given */
	enum empty_program program; /* which, without outputs */
};

struct conditioned {
	const struct condition *condition;
	char directory
		[440]; /* of its own, with its own copy of the target: sites belong to a file */
	struct subject target;
	struct recorder recorder;
	struct empty empty;
	bool attached;
	uint64_t events;
};

/* Sets up `n` conditions, or none. */
int conditions_start(struct bench *b, const struct condition *conditions, unsigned n,
		     struct conditioned *all);
/*
 * Runs a loop under each condition, in turns. Adds the cost of an event as the cell (section, row,
 * column) of each condition, and its ratio to the first one: medians over the turns.
 */
int conditions_run(struct bench *b, struct conditioned *all, unsigned n, const char *section,
		   const char *loop, uint64_t rounds, const char *row);
/* Ends all of them. Lost events become notes of the section, unless that is NULL. */
int conditions_end(struct bench *b, struct conditioned *all, unsigned n, const char *section);

#endif
