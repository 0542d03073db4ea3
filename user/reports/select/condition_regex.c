/* SPDX-License-Identifier: BSD-2-Clause */
/* Which regular expressions a condition may contain: the C library needs unbounded memory and time for some. */
#include "reports/select/condition_program.h"

#include <string.h>

#define REGEX_DEPTH 32
#define REGEX_NODES 4096

/* Skips a bracket expression; returns where it ends, at the latest at the end of the text. */
static const char *regex_skip_bracket(const char *at)
{
	at += at[1] == '^' ? 2 : 1;
	at += *at == ']';
	while (*at && *at != ']') {
		char kind = at[0] == '[' && at[1] && strchr(":.=", at[1]) ? at[1] : 0;

		for (at += kind ? 2 : 1; kind && *at && !(at[0] == kind && at[1] == ']');)
			at++;
		at += kind && *at ? 2 : 0;
	}
	return at;
}

/*
 * The C library copies what + repeats, and what that contains. Counts the nodes that it makes of an expression, at least;
 * + counts as two copies, and {} as a hundred, which is more than it may say.
 */
static bool regex_is_small(const char *at)
{
	uint32_t nodes[REGEX_DEPTH] = { 0 }, last = 0, depth = 0;

	for (; *at; at++) {
		if (*at == '(') {
			if (++depth == REGEX_DEPTH)
				return false;
			nodes[depth] = last = 0;
			continue;
		}
		if (*at == ')' && depth) {
			last = nodes[depth--];
			nodes[depth] += last;
		} else if (strchr("*+?{", *at)) {
			uint32_t copies = *at == '{' ? 100 : 2;

			nodes[depth] += last * (copies - 1);
			last *= copies;
			at += *at == '{' ? strcspn(at, "}") : 0;
		} else {
			at = *at == '[' ? regex_skip_bracket(at) : at + (*at == '\\' && at[1]);
			nodes[depth] += last = 1;
		}
		if (nodes[depth] > REGEX_NODES)
			return false;
		if (!*at)
			break;
	}
	return true;
}

/*
 * The C library needs memory and time beyond all bounds for some expressions: repetitions of
 * repetitions, and references to what a group has matched.
 */
const char *condition_regex_refusal(const char *regex)
{
	unsigned braces = 0, i;

	if (strlen(regex) > 256)
		return "a regular expression has at most 256 characters";
	for (i = 0; regex[i]; i++) {
		if (regex[i] == '\\' && regex[i + 1] >= '1' && regex[i + 1] <= '9')
			return "references to groups are not supported";
		if (regex[i] == '\\' && regex[i + 1])
			i++;
		else if (regex[i] == '{' &&
			 (++braces > 2 || strspn(regex + i + 1, "0123456789") > 2 ||
			  strcspn(regex + i, "}") > 6))
			return "at most two repetitions {n,m}, of at most 99";
	}
	return regex_is_small(regex) ? NULL : "too many repetitions of repetitions";
}
