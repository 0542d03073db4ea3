/* SPDX-License-Identifier: BSD-2-Clause */
/* Closing links and cleaning memory in a thread of its own: see clean.c. */
#ifndef PROFTRACE_PRIVILEGE_BROKER_CLEAN_H
#define PROFTRACE_PRIVILEGE_BROKER_CLEAN_H

#include "privilege/broker/links.h"

struct cleaner;

/* `zombie`: a child of this process that has ended. Returns NULL without memory. */
struct cleaner *cleaner_new(struct links *links, const struct loaded_programs *programs,
			    pid_t zombie);
/* Returns 0 or negative errno. */
int cleaner_start(struct cleaner *cleaner);
/* Closes these soon; then cleans, if wanted, the memory of all that have breakpoints and no links. */
void cleaner_close(struct cleaner *cleaner, struct member *list, bool clean);
/* Waits until all is closed: a process that ends while it closes a link leaves the probe for good. */
void cleaner_stop(struct cleaner *cleaner);

#endif
