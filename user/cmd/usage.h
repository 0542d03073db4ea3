/* SPDX-License-Identifier: BSD-2-Clause */
/* Wrong usage, in the words of all our messages: what is wrong, and on a second line where help is. */
#ifndef PROFTRACE_CMD_USAGE_H
#define PROFTRACE_CMD_USAGE_H

#include <argp.h>

/* For parsers of options. Exits with STATUS_USAGE. */
_Noreturn void usage_error(const struct argp_state *state, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* argp_parse(), but what is wrong with the options themselves is said in these words, too. */
int usage_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input);

#endif
