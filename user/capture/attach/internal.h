/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by the files of this folder, which attach to the sites of files by requests to the broker, and detach: sites.c to
 * those of a file, each_process.c for one process by itself, changes.c to and from some of them while they are recorded.
 */
#ifndef PROFTRACE_CAPTURE_ATTACH_INTERNAL_H
#define PROFTRACE_CAPTURE_ATTACH_INTERNAL_H

#include "capture/internal.h"

/*
 * Links that are closed together, because closing all of them takes the kernel hardly longer than
 * closing one.
 */
struct leaving {
	struct capture *c;
	bool later; /* without waiting for the kernel */
	unsigned n;
	unsigned links[BROKER_MAX_SITES];
};

void leaving_detach(struct leaving *l);
void leaving_add(struct leaving *l, struct file_link link);
/* Adds all links from number `keep` on. */
void leaving_add_all(struct leaving *l, const struct file_link *links, unsigned *n, unsigned keep);

/* sites.c. For all processes (pid 0) or for one. */
int attach_hold_sites(struct capture *c, struct file *file, pid_t pid, struct failure *f);
int attach_marks(struct capture *c, struct file *file, pid_t pid, bool control, bool domains,
		 struct failure *f);
int turn_domains_on(struct capture *c, struct file *file, pid_t pid, struct failure *f);
int file_attach_all_or_nothing(struct capture *c, struct file *file, pid_t pid, struct failure *f);

/* each_process.c */
bool file_attaches_each(const struct capture *c, const struct file *file);
typedef int attach_fn(struct capture *c, struct file *file, pid_t pid, struct failure *f);
/* More of a file is attached to, for those who have it already. */
void attach_more(struct capture *c, struct file *file, attach_fn *attach);
/* Attaches for each process to what attach_more() could not attach to for all. */
void attach_alone(struct capture *c);

#endif
