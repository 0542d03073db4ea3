/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages about wrong usage in the form of all our messages: what is wrong, and a hint in a second line. */
#ifndef PROFTRACE_CMD_USAGE_H
#define PROFTRACE_CMD_USAGE_H

#include <argp.h>

#include "reports/select/select.h"

/* Called by parsers of options. Exits with STATUS_USAGE. */
_Noreturn void usage_error(const struct argp_state *state, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Where a value was read, if not on a command line: `hook` of the state. */
struct usage_place {
	const char *file;
	unsigned line; /* 0: the file as a whole */
	const char *manual;
};

/* The number of the word that `arg` is. "'ARG' is not a WHAT" otherwise. */
unsigned usage_choice(const struct argp_state *state, const char *arg, const char *const *words,
		      unsigned n, const char *what);

/* The options of a verb. */
struct usage {
	const struct argp *argp;
	unsigned flags; /* of argp_parse() */
	size_t size;	/* of the structure that argp_parse() fills in */
	int two_words;	/* key of the option that has a second argument; 0: none */
};

/* argp_parse(), which reports unknown options in this form as well. */
int usage_parse(const struct usage *usage, int argc, char **argv, void *input);

/* --- --where, --from, --to and --by --- */

enum usage_select_key {
	USAGE_WHERE = 0x5e1ec7,
	USAGE_FROM,
	USAGE_TO,
	USAGE_BY,
};

/* Entries of the options of a verb. */
#define SELECT_CUT_OPTIONS                                                                       \
	{ "where",                                                                               \
	  USAGE_WHERE,                                                                           \
	  "EXPR",                                                                                \
	  0,                                                                                     \
	  "Only slices, instants and counter values for which EXPR is true, such as 'name == "   \
	  "\"query\" && dur > 5ms'",                                                             \
	  0 },                                                                                   \
		{ "from",                                                                        \
		  USAGE_FROM,                                                                    \
		  "TIME",                                                                        \
		  0,                                                                             \
		  "Only events that end at TIME or later: 1.5s after the first mark, or @NS of " \
		  "the "                                                                         \
		  "trace's clock",                                                               \
		  0 },                                                                           \
	{                                                                                        \
		"to", USAGE_TO, "TIME", 0, "Only events that begin before TIME", 0               \
	}

/*
 * Parses these options. ARGP_ERR_UNKNOWN: `key` is another one. A mistake in an expression is shown
 * where it is, and ends the program like usage_error().
 */
error_t usage_select(int key, char *arg, struct argp_state *state, struct select_options *options);

#endif
