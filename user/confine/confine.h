/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the two halves may still ask the kernel for once they run: little, so that whoever takes one of
 * them over, through bytes that it reads, gets no further than it. Filters of system calls (seccomp):
 * what is not on the list fails with EPERM, in this process and whatever it would start. They cannot be
 * taken off again.
 */
#ifndef PROFTRACE_CONFINE_CONFINE_H
#define PROFTRACE_CONFINE_CONFINE_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * The recorder, before it reads the first foreign byte: files, what it has open, and no more. No
 * program is started, no other process looked into, no socket opened, nothing of BPF or perf asked
 * for. `children`: processes that it may end (hosts of plug-ins). Returns 0 or negative errno.
 */
int confine_recorder(const pid_t *children, unsigned n_children);

/*
 * The broker, when everything is loaded: it looks into /proc read-only, fills the map of traced
 * processes and makes links. perf_events: probes are perf events (no uprobe_multi), which it opens.
 */
int confine_broker(bool perf_events);

/* A process that parses files that it was handed, and hands back what it found; it opens none. */
int confine_parser(void);

/* Tried in a process of its own: whether such filters can be had here. */
bool confine_available(void);

#endif
