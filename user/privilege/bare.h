/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Forking processes that have nothing of what this process has, not even for their first instruction. Whoever has the
 * user's number may stop a process there (SIGSTOP, the freezer of a cgroup), and it stays with what it has, also when
 * the recording has ended: capabilities, eBPF programs and links by its descriptors, maps by its memory.
 */
#ifndef PROFTRACE_PRIVILEGE_BARE_H
#define PROFTRACE_PRIVILEGE_BARE_H

#include <sys/types.h>

/*
 * The process runs `run`, which does not return, without capabilities, with the standard streams and `keep` as its only
 * descriptors (-1: with all), and without mappings of eBPF maps. Only if the real user is root, whose processes nobody
 * else may stop, does it keep the capabilities: it needs them to become another user. Its stack is that of a thread.
 * Returns its number, or negative errno.
 */
pid_t bare_fork(int keep, void (*run)(void *context), void *context);
/* The same as long as this process has mapped no eBPF map: to search its mappings takes about 0.3 ms. */
pid_t bare_fork_first(int keep, void (*run)(void *context), void *context);
/*
 * The same with the guard of privileges_keep_guard(), in that thread as well: for processes of the broker. `run` gives up what
 * root has, by that function.
 */
pid_t bare_fork_guarded(int keep, void (*run)(void *context), void *context);

#endif
