/* SPDX-License-Identifier: BSD-2-Clause */
/* Wrong usage, in the words of all our messages: what is wrong, and on a second line where help is. */
#ifndef PROFTRACE_CMD_USAGE_H
#define PROFTRACE_CMD_USAGE_H

#include <argp.h>

/* For parsers of options. Exits with STATUS_USAGE. */
_Noreturn void usage_error(const struct argp_state *state, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* What a verb takes. */
struct usage {
	const struct argp *argp;
	unsigned flags; /* of argp_parse() */
	size_t size;	/* of what it is parsed into: zero before, or what holds without options */
	int two_words;	/* key of the option whose parser takes the next word, too; 0: none */
};

/* argp_parse(), but what is wrong with the options themselves is said in these words, too. */
int usage_parse(const struct usage *usage, int argc, char **argv, void *input);

#endif
