/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Conditions: the expressions of --where, such as `name == "query" && dur > 5ms && in("request")`.
 *
 * A condition is parsed once into a flat program of comparisons and jumps. Evaluating it needs no
 * memory: whether a name matches a pattern is remembered by the name's id, and for other strings in
 * a small cache. A comparison with something that the subject does not have is false.
 *
 * This is a header to include from outside. It calls timeline/ and base/.
 */
#ifndef PROFTRACE_REPORTS_SELECT_CONDITION_H
#define PROFTRACE_REPORTS_SELECT_CONDITION_H

#include <stdbool.h>
#include <stdint.h>

#include "timeline/fact.h"

enum {
	CONDITION_MAX_TEXT = 4096,
	CONDITION_MAX_DEPTH = 64, /* of parentheses and ! */
	CONDITION_MAX_TESTS = 256,
	CONDITION_MAX_KEYS = 16, /* arguments, and as many counters */
	CONDITION_MAX_INS = 32,	 /* in(...) */
};

struct condition;

/* What is wrong with an expression: bytes [column, column + length) of it, counted from 0. */
struct condition_error {
	unsigned column, length;
	char message[200];
};

/* NULL: `ret_error` is filled. */
struct condition *condition_compile(const char *text, struct condition_error *ret_error);
/* A condition that everything satisfies. NULL when out of memory. */
struct condition *condition_new(void);
void condition_free(struct condition *condition);

/* Names are looked up in this table from now on, which outlives the condition's use. */
void condition_bind(struct condition *condition, struct names *names);

/* The keys of arguments that the condition looks at; they are numbered from 0. */
unsigned condition_keys(const struct condition *condition);
const struct name *condition_key(const struct condition *condition, unsigned i);
/* Adds a key. -1: there are too many. Before condition_bind(). */
int condition_add_key(struct condition *condition, const char *key);
/* Whether it depends on the time since the trace's start. */
bool condition_uses_start(const struct condition *condition);
/* Which of the in(...) a slice of this name satisfies for the slices inside it, one bit each. */
uint32_t condition_in(struct condition *condition, const struct name *name);

enum condition_kind {
	CONDITION_SLICE,
	CONDITION_ASYNC,
	CONDITION_FRAME,
	CONDITION_INSTANT,
	CONDITION_COUNTER,
};

/* What a condition is evaluated for. */
struct condition_subject {
	enum condition_kind kind;
	const struct fact *fact; /* END, ASYNC_END, INSTANT, COUNTER */
	uint64_t start_ns;	 /* since the trace's start */
	bool has_duration;
	uint64_t duration_ns;
	uint32_t in;		 /* of the slices around it */
	const struct arg *saved; /* by number of key; type 0: none */
};

bool condition_matches(struct condition *condition, const struct condition_subject *subject);

#endif
