/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether the kernel restricts uprobe_multi links to the process that they are for: tried, see pid_filter.c. */
#ifndef PROFTRACE_PRIVILEGE_LOADER_PID_FILTER_H
#define PROFTRACE_PRIVILEGE_LOADER_PID_FILTER_H

#include <sys/types.h>

enum pid_filter {
	PID_FILTER_RIGHT,
	PID_FILTER_WRONG, /* marks of some threads would be missing, or others' processes be changed */
	PID_FILTER_UNKNOWN, /* the trial could not be made */
};

/* The trial runs in a child, at the same time as what comes next here. Returns its number or negative errno. */
pid_t pid_filter_begin(void);
enum pid_filter pid_filter_result(pid_t trial);
const char *pid_filter_text(enum pid_filter filter);

#endif
