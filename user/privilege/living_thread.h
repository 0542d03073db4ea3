/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes that run on after their first thread has ended (pthread_exit() in main()).
 *
 * /proc/PID does not show any more then what the other threads have: neither mappings, memory and program nor root and
 * environment. The directory of another thread does: /proc/TID, which has all that /proc/PID has, unlike /proc/PID/task/TID.
 */
#ifndef PROFTRACE_PRIVILEGE_LIVING_THREAD_H
#define PROFTRACE_PRIVILEGE_LIVING_THREAD_H

#include <stdbool.h>
#include <sys/types.h>

/* The process that a thread belongs to, or 0. `directory`: /proc/PID or /proc/TID. */
pid_t thread_process(int directory);

/* Whether a thread ends, or has ended. `directory` as above: of a process it is its first thread. */
bool thread_has_ended(int directory);

/* Whether only the first thread has ended. `process`: /proc/PID. */
bool process_lacks_first(int process);

/*
 * The directory of a thread that lives, of a process whose first one has ended. It is never another process's of the same number.
 * `process`: the directory /proc/PID. -ESRCH: the process has ended; -EAGAIN: its threads end as fast as they are found, or too
 * many that have ended come first, which whoever traces them does not wait for.
 */
int living_thread(int process, pid_t pid);

/* Opens /proc/PID, or the directory of a thread that lives. Returns a descriptor or negative errno. */
int open_living_thread(pid_t pid);

/* The number of a thread that lives, for /proc/PID/task/TID: the process's, unless its first one has ended. */
pid_t living_number(pid_t pid);

/* Opens the directory of a thread. Returns a descriptor or negative errno; -ESRCH: it is another process's. */
int open_thread_of(pid_t pid, pid_t tid);

#endif
