/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages about wrong usage in the form of all our messages: what is wrong, and a hint in a second line. */
#ifndef PROFTRACE_CMD_USAGE_H
#define PROFTRACE_CMD_USAGE_H

#include <argp.h>

/* Called by parsers of options. Exits with STATUS_USAGE. */
_Noreturn void usage_error(const struct argp_state *state, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

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

#endif
