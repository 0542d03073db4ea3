/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading the memory of a process without waiting for it.
 *
 * The kernel reads it under the lock of that memory, which the process itself decides when to release: a thread with the
 * policy SCHED_IDLE that protects much memory (mprotect(2)) beside a busy thread holds it for seconds. Only a fatal signal
 * ends the wait. So other threads read, and the caller waits for them for a limited time. One of them that is stuck stays so until
 * the process releases its lock; another one then reads the memory of others.
 *
 * Only one thread may call these functions.
 */
#ifndef PROFTRACE_CAPTURE_TARGET_MEMORY_H
#define PROFTRACE_CAPTURE_TARGET_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct target_memory;

/* Takes over a descriptor of /proc/PID/mem, also if it fails. NULL: no memory. */
struct target_memory *target_memory_new(int fd);
void target_memory_free(struct target_memory *m);

/*
 * Returns 0 or negative errno. -EFAULT: not all of it is there. -EAGAIN: the process holds the lock of its memory, so it
 * cannot be read for now.
 */
int target_memory_read(struct target_memory *m, uint64_t address, void *out, size_t size);

#endif
