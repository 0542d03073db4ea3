/* SPDX-License-Identifier: BSD-2-Clause */
/* Which of the recorded processes were killed by a signal. */
#ifndef PROFTRACE_CMD_DEATHS_H
#define PROFTRACE_CMD_DEATHS_H

#include <stdint.h>
#include <stdio.h>

#define DEATHS_KEPT 8 /* the others are only counted */

struct recording;
struct event;

struct deaths {
	struct death {
		uint32_t pid;
		int signal;
	} list[DEATHS_KEPT];
	uint64_t n;
	uint32_t last_pid;
	uint64_t last_ns;
};

/* Of a thread's exit, before the timeline is told: it is over then. */
void deaths_take(struct recording *r, const struct event *exit);
/* A line for each. */
void deaths_print(const struct recording *r, FILE *out);
/* Fields of --summary-json, with a comma. */
void deaths_json(const struct recording *r, FILE *out);

#endif
