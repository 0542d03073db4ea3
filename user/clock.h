/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROFTRACE_CLOCK_H
#define PROFTRACE_CLOCK_H

#include <stdint.h>
#include <time.h>

/*
 * A clock, in ns, as the kernel itself has it, and as it is in marks: a process in a time namespace
 * is shown a CLOCK_MONOTONIC and a CLOCK_BOOTTIME that are apart from it.
 */
uint64_t clock_ns(clockid_t clock);

/* How far, in ns: the text of /proc/PID/timens_offsets. */
int64_t clock_offset(const char *text, clockid_t clock);

#endif
