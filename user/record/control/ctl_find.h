/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sockets of recorders that `proftrace ctl` may ask. Root reaches those of all users, and what listens
 * there is whatever a user has put there: so whose it is decides what it may say, and how many of one user are
 * asked.
 */
#ifndef PROFTRACE_RECORD_CONTROL_CTL_FIND_H
#define PROFTRACE_RECORD_CONTROL_CTL_FIND_H

#include <stdbool.h>
#include <sys/types.h>

#include "record/control/control.h"

#define MAX_OF_ONE    64 /* other user, where it is one that is meant; */
#define MAX_OF_EACH   8 /* and of each of them, where it may be any: who knows how many there are */
#define MAX_LOOKED_AT 1024 /* names in another user's directory */

struct recorder {
	int directory;
	uid_t uid; /* who listens: nobody else is talked to */
	pid_t pid;
	char name[32];
};

struct recorders {
	struct recorder list[CONTROL_CALLS];
	unsigned n;
	int directories[CONTROL_CALLS]; /* in each of them is at least one */
	unsigned n_directories;
	unsigned left_out; /* for which there was no place */
};

/* Root, the caller, and who became root by sudo: what these say counts first. */
bool recorder_is_ours(const struct recorder *recorder);

/* Each adds to the list. */
void recorders_of_ours(struct recorders *recorders);
void recorders_of_user(struct recorders *recorders, uid_t uid);
void recorders_of_others(struct recorders *recorders);

void recorders_close(struct recorders *recorders);

#endif
