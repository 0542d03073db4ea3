/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether the kernel restricts uprobe_multi links to the process that they are for: tried, see pid_filter.c. */
#ifndef PROFTRACE_PRIVILEGE_LOADER_PID_FILTER_H
#define PROFTRACE_PRIVILEGE_LOADER_PID_FILTER_H

#include <pthread.h>
#include <stdbool.h>

struct trial;

enum pid_filter {
	PID_FILTER_RIGHT,
	PID_FILTER_WRONG, /* marks of some threads would be missing, or others' processes be changed */
	PID_FILTER_UNKNOWN, /* the trial could not be made */
};

/* The trial runs in a thread, at the same time as what comes next here. */
struct pid_filter_trial {
	struct trial *trial;
	pthread_t thread;
	bool runs;
	enum pid_filter result;
	int error; /* negative errno: why the trial could not be made */
};

void pid_filter_begin(struct pid_filter_trial *t, struct trial *trial);
enum pid_filter pid_filter_result(struct pid_filter_trial *t);
const char *pid_filter_text(enum pid_filter filter);

#endif
