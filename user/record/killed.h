/* SPDX-License-Identifier: BSD-2-Clause */
/* Recorded processes that a signal killed: the first few by number, all of them as a count. */
#ifndef PROFTRACE_RECORD_KILLED_H
#define PROFTRACE_RECORD_KILLED_H

#include <stdint.h>
#include <stdio.h>

#define KILLED_LISTED 8

struct recording;
struct event;

struct killed_processes {
	struct killed_process {
		uint32_t pid;
		int signal;
	} list[KILLED_LISTED];
	uint64_t n;
	uint32_t last_pid;
	uint64_t last_ns;
};

/* Call for the exit of a thread before the timeline handles it, which then forgets the process. */
void killed_handle_exit(struct recording *r, const struct event *exit);
/* One line for each. */
void killed_print(const struct recording *r, FILE *out);
/* Fields of --summary-json, each followed by a comma. */
void killed_print_json(const struct recording *r, FILE *out);

#endif
