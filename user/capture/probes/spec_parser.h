/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parsing steps that -u and -f share. The parts of a request are copied to memory in the request,
 * which is twice as long as its text: each byte of the text is copied at most once, and each part
 * gets a NUL.
 */
#ifndef PROFTRACE_CAPTURE_PROBES_SPEC_PARSER_H
#define PROFTRACE_CAPTURE_PROBES_SPEC_PARSER_H

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define SPEC_WRONG_ARG "arguments are called arg0 to arg11"

struct spec_parser {
	const char *at;
	char *to;
};

/* Skips `text` if it comes next. */
static inline bool spec_accept(struct spec_parser *p, const char *text)
{
	size_t n = strlen(text);

	if (strncmp(p->at, text, n))
		return false;
	p->at += n;
	return true;
}

static inline const char *spec_copy(struct spec_parser *p, const char *from, size_t n)
{
	char *out = p->to;

	memcpy(out, from, n);
	out[n] = '\0';
	p->to += n + 1;
	return out;
}

/* Whether "argN" comes next, with a number below `limit`. */
static inline bool spec_accept_arg(struct spec_parser *p, unsigned limit, uint8_t *ret)
{
	unsigned n = 0;

	if (!spec_accept(p, "arg") || !isdigit((unsigned char)*p->at))
		return false;
	while (isdigit((unsigned char)*p->at) && n < 100)
		n = n * 10 + (unsigned)(*p->at++ - '0');
	*ret = (uint8_t)n;
	return n < limit;
}

#endif
