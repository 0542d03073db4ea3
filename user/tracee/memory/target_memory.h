/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading the memory of a process without waiting for it.
 *
 * The kernel reads it under the lock of that memory, which the process itself decides when to release: a thread with the
 * policy SCHED_IDLE that protects much memory (mprotect(2)) beside a busy thread holds it for seconds. Only a fatal signal
 * ends the wait. The same is true of what the kernel finds there, the command line and the environment. So other threads read,
 * and the caller waits for them for a limited time. One of them that is stuck stays so until the process releases its lock;
 * another one then reads the memory of others.
 *
 * Only one thread may call these functions.
 */
#ifndef PROFTRACE_TRACEE_TARGET_MEMORY_H
#define PROFTRACE_TRACEE_TARGET_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct target_memory;

#define TARGET_PIECE 65536

/* Takes over a descriptor of /proc/PID/mem, or of another file that is read under that lock, also if it fails. NULL: no memory. */
struct target_memory *target_memory_new(int fd);
/*
 * The same by its path. It is opened by the thread that reads first: the kernel asks whether we may open it while no
 * thread of the process executes a program, and that may take as long.
 */
struct target_memory *target_memory_at(const char *path);
/* Reads are waited for beyond the limit as long as `waits`, which is called ten times a second, returns true. */
void target_memory_wait_while(struct target_memory *m, bool (*waits)(void *context), void *context);
void target_memory_free(struct target_memory *m);

/*
 * Returns 0 or negative errno. -EFAULT: not all of it is there. -EAGAIN: the process holds the lock of its memory, so it
 * cannot be read for now.
 */
int target_memory_read(struct target_memory *m, uint64_t address, void *out, size_t size);

/*
 * For /proc/PID/maps, environ and cmdline. Returns how many bytes there are from the offset on, at most `size`; or negative
 * errno: -EAGAIN as above, or why it cannot be opened or read.
 */
ssize_t target_memory_read_text(struct target_memory *m, uint64_t offset, void *out, size_t size);

/*
 * Another way to read the file, at most TARGET_PIECE bytes. A thread calls `read`, which returns how many, or negative errno; its
 * `out` is aligned to 8 bytes.
 */
typedef ssize_t target_read_fn(int fd, uint64_t at, void *out, size_t size);
ssize_t target_memory_read_by(struct target_memory *m, target_read_fn *read, uint64_t at, void *out,
			      size_t size);

/* Whether a read that was given up (-EAGAIN) has not come back. Nothing else can be read then. */
bool target_memory_is_awaited(struct target_memory *m);

/* The caller is a real-time thread from now on, or is none. The same is the thread that reads for it then (capture/hurry.c). */
void target_memory_hurry(bool hurry);
/* The CPU time that reading has taken. */
uint64_t target_memory_cpu_ns(void);

#endif
