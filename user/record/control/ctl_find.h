/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the sockets of recorders for `proftrace ctl`. Root reaches those of all users, but any user
 * may have put something else there. So the owner of a socket decides whether its replies are
 * believed, and limits how many sockets are asked.
 */
#ifndef PROFTRACE_RECORD_CONTROL_CTL_FIND_H
#define PROFTRACE_RECORD_CONTROL_CTL_FIND_H

#include <stdbool.h>
#include <sys/types.h>

#include "record/control/control.h"

#define MAX_OF_ONE    64   /* sockets of the user of a given process */
#define MAX_OF_EACH   8	   /* sockets of each other user if no process is given */
#define MAX_LOOKED_AT 1024 /* directory entries that are read in the directory of another user */

struct recorder {
	int directory;
	uid_t uid; /* the owner; peers of other users are not accepted */
	pid_t pid;
	char name[32];
};

struct recorders {
	struct recorder list[CONTROL_CALLS];
	unsigned n;
	int directories[CONTROL_CALLS]; /* directories that contain at least one of the recorders */
	unsigned n_directories;
	unsigned left_out; /* recorders beyond the limits */
};

/*
 * Whether it belongs to root, the caller, or the user who became root by sudo. Their replies are
 * believed first.
 */
bool recorder_is_ours(const struct recorder *recorder);

/* Each function adds to the list. */
void recorders_of_ours(struct recorders *recorders);
void recorders_of_user(struct recorders *recorders, uid_t uid);
void recorders_of_others(struct recorders *recorders);

void recorders_close(struct recorders *recorders);

#endif
