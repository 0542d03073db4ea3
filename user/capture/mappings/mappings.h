/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is compared with the mappings of a process before and after a file is attached to. All of it is bounded: a process
 * may have very many mappings.
 */
#ifndef PROFTRACE_CAPTURE_MAPPINGS_H
#define PROFTRACE_CAPTURE_MAPPINGS_H

#include "capture/internal.h"
#include "tracee/maps.h"

#define LOCKED_MAPPINGS	  "it holds the lock of its memory"
#define TOO_MANY_MAPPINGS "its process has too many mappings"

/* Frees the list; the next scan reads it again. */
void running_maps_forget(struct capture *c);

/*
 * Reads the list of mappings of a process; `all`: not of code alone. -EBUSY: the process holds the lock of its memory, for which
 * the kernel waits. Before anything is recorded, the user decides for how long. Later a thread waits for the list on its own,
 * and until it has it nobody else reads the list of that process. -ESRCH: the process has ended; -EAGAIN: the thread by which they
 * were read.
 */
int mappings_read(struct capture *c, const struct broker_target *target, bool all, mapping_fn each,
		  void *context, struct failure *f);
/* Whether a thread waits for that list. NULL: none does. */
bool mappings_are_awaited(struct traced_process *p);
/* Leaves that thread: the process has ended, or has another memory now. */
void mappings_forget_list(struct traced_process *p);

/* The same, or -E2BIG if the scan has read too much already. */
int maps_read_within(struct capture *c, pid_t pid, bool all, mapping_fn each, void *context);

/* Where the process runs what is at an offset of the file; -ENOENT: nowhere, -E2BIG: that would take too long. */
int running_maps_find(struct capture *c, const struct file *file, pid_t pid, uint64_t offset,
		      struct running_code *ret_code);

/* -E2BIG: attaching to the file would take the kernel too long, by the number of the process's mappings. */
int running_maps_check_work(struct capture *c, const struct file *file, pid_t pid);

#endif
