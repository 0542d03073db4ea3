/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * System call filters (seccomp) for the processes of proftrace. An attacker who takes over one of them by the data that
 * it reads can only make the few system calls that the process needs. All others fail with EPERM, in the process and
 * its children, and the filter cannot be removed.
 */
#ifndef PROFTRACE_PRIVILEGE_CONFINE_H
#define PROFTRACE_PRIVILEGE_CONFINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Confines the recorder before it reads untrusted data. It may use files and its open descriptors; it cannot execute
 * a program, access another process, open a socket, or call bpf(2) or perf_event_open(2). `children` are processes
 * that it may kill (hosts of plug-ins). Returns 0 or negative errno.
 */
int confine_recorder(const pid_t *children, unsigned n_children);

/*
 * Confines the broker when everything is loaded. It may read /proc, update the map of traced processes, create links,
 * and start threads that close links in parallel. `perf_events`: without uprobe_multi, probes are perf events, which
 * it also opens.
 */
int confine_broker(bool perf_events);

/* Confines a process that parses files whose descriptors it received. It opens none itself. */
int confine_parser(void);

/* Confines a process that downloads files: it may connect to servers and write files, but execute nothing. */
int confine_downloader(void);

/* Confines a prover (privilege/prover/), which finds the exits of the functions of one file. */
int confine_prover(void);

/* Confines a process that serves metrics: it accepts connections and answers, and opens no file. */
int confine_exporter(void);

/* Confines a process that sends to a server: it may connect, and reads files (certificates), but writes none. */
int confine_sender(void);

/* Address sanitizers map more than any reasonable limit. */
#if defined(__SANITIZE_ADDRESS__)
#define MEMORY_UNLIMITED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MEMORY_UNLIMITED 1
#endif
#endif

/* Sets both limits of a resource (setrlimit(2)). A lower hard limit of the caller stays. */
void confine_limit(int resource, uint64_t most);

/* The kernel should kill this process first when it is out of memory: it is dispensable. */
void confine_prefer_oom_kill(void);

/* Whether such filters work here, which a child process tries. */
bool confine_available(void);

#endif
