/* SPDX-License-Identifier: BSD-2-Clause */
/* Clocks in nanoseconds, as the kernel has them and as they are in marks. */
#ifndef PROFTRACE_BASE_CLOCK_H
#define PROFTRACE_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/*
 * The kernel's own clock, in ns: a process in a time namespace sees a CLOCK_MONOTONIC and a
 * CLOCK_BOOTTIME that differ from it.
 */
uint64_t clock_ns(clockid_t clock);

/* The offset of a clock in a time namespace, in ns; `text` is that of /proc/PID/timens_offsets. */
int64_t clock_offset(const char *text, clockid_t clock);

#endif
