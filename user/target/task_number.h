/* SPDX-License-Identifier: BSD-2-Clause */
/* What number a process or a thread has where it is. */
#ifndef PROFTRACE_TARGET_TASK_NUMBER_H
#define PROFTRACE_TARGET_TASK_NUMBER_H

/*
 * `directory` is /proc/PID or /proc/PID/task/TID. Returns the number that it has for itself, in the
 * innermost pid namespace that it is in; 0: not known.
 */
long task_number_within(int directory);

#endif
