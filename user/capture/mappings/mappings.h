/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is compared with the mappings of a process before and after a file is attached to. All of it is bounded: a process
 * may have very many mappings.
 */
#ifndef PROFTRACE_CAPTURE_MAPPINGS_H
#define PROFTRACE_CAPTURE_MAPPINGS_H

#include "capture/internal.h"
#include "tracee/maps.h"

#define TOO_MANY_MAPPINGS "its process has too many mappings"

/* Frees the list; the next scan reads it again. */
void running_maps_forget(struct capture *c);

/*
 * Reads the list of mappings that `fd` is, which it takes over; `all`: not of code alone. The process may hold the lock of its
 * memory, for which the kernel waits: while a process is being attached to, a thread reads, which is left when the user wants to
 * end (-EAGAIN).
 */
int mappings_read(struct capture *c, int fd, bool all, mapping_fn each, void *context);

/* maps_read(), or -E2BIG if the scan has read too much already. */
int maps_read_within(struct capture *c, pid_t pid, mapping_fn each, void *context);

/* Where the process runs what is at an offset of the file; -ENOENT: nowhere, -E2BIG: that would take too long. */
int running_maps_find(struct capture *c, const struct file *file, pid_t pid, uint64_t offset,
		      struct running_code *ret_code);

/* -E2BIG: attaching to the file would take the kernel too long, by the number of the process's mappings. */
int running_maps_check_work(struct capture *c, const struct file *file, pid_t pid);

#endif
