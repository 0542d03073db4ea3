/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The compiled form of a condition, which is private to this folder: condition.c parses and checks
 * types, condition_run.c evaluates.
 *
 * The program works on one truth value. TEST sets it, NOT inverts it, JUMP_FALSE and JUMP_TRUE go
 * on at `target` if it has that value: && and || need nothing else.
 */
#ifndef PROFTRACE_REPORTS_SELECT_CONDITION_PROGRAM_H
#define PROFTRACE_REPORTS_SELECT_CONDITION_PROGRAM_H

#include <regex.h>

#include "reports/select/condition.h"

enum condition_field {
	FIELD_NONE, /* a constant */
	FIELD_NAME,
	FIELD_CATEGORY,
	FIELD_KIND,
	FIELD_DURATION,
	FIELD_START,
	FIELD_SELF,
	FIELD_RUNNING,
	FIELD_RUNNABLE,
	FIELD_BLOCKED,
	FIELD_BLOCKED_IN,
	FIELD_THREAD,
	FIELD_TID,
	FIELD_PROCESS,
	FIELD_PID,
	FIELD_VALUE,
	FIELD_ARG,
	FIELD_COUNTER,
};

enum condition_type {
	TYPE_STRING,
	TYPE_NUMBER,
	TYPE_TIME,
	TYPE_ANY, /* an argument: whatever the program recorded */
};

struct condition_operand {
	enum condition_field field;
	enum condition_type type;
	unsigned key; /* ARG, COUNTER; BLOCKED_IN: enum wait_reason */
	long double number;
	char *text; /* a constant string */
	uint32_t length;
	unsigned column, end; /* where it is in the expression */
};

enum condition_compare {
	COMPARE_EQUAL,
	COMPARE_UNEQUAL,
	COMPARE_LESS,
	COMPARE_LESS_EQUAL,
	COMPARE_GREATER,
	COMPARE_GREATER_EQUAL,
	COMPARE_REGEX,
	COMPARE_NOT_REGEX,
	COMPARE_GLOB,
	COMPARE_NOT_GLOB,
	COMPARE_IN,  /* the slices around it */
	COMPARE_HAS, /* it has such a value */
};

enum {
	CONDITION_RECENT = 256, /* strings whose result is remembered; a power of two */
	CONDITION_RECENT_TEXT = 48,
};

/* Results of a pattern: by the id of a name (0 not known yet, 1 no, 2 yes), and of some strings. */
struct condition_memory {
	uint8_t *names;
	uint32_t n_names;
	struct condition_recent {
		uint8_t length, result;
		char text[CONDITION_RECENT_TEXT];
	} * recent;
};

struct condition_test {
	enum condition_compare compare;
	struct condition_operand left, right;
	bool has_regex;
	regex_t regex;
	struct condition_memory memory;
};

struct condition_step {
	enum {
		STEP_TEST,
		STEP_NOT,
		STEP_JUMP_FALSE,
		STEP_JUMP_TRUE,
	} op;
	unsigned target; /* of a jump; the number of a test */
};

struct condition {
	unsigned n_steps, n_tests, n_keys, n_counters, n_ins;
	bool uses_start;
	struct condition_step steps[4 * CONDITION_MAX_TESTS];
	struct condition_test *tests; /* CONDITION_MAX_TESTS of them */
	char *keys[CONDITION_MAX_KEYS], *counters[CONDITION_MAX_KEYS];
	const struct name *key_names[CONDITION_MAX_KEYS], *counter_names[CONDITION_MAX_KEYS];
	unsigned ins[CONDITION_MAX_INS]; /* their tests */
};

/* condition_run.c: whether the pattern of the test matches. */
bool condition_pattern_matches(struct condition_test *test, const char *text, uint32_t length);

/* Why an expression is not accepted, or NULL: see condition_regex.c. */
const char *condition_regex_refusal(const char *regex);

#endif
