/* SPDX-License-Identifier: BSD-2-Clause */
/* The system call for uprobe_multi links, which libbpf 1.1 does not have. */
#ifndef PROFTRACE_PRIVILEGE_BROKER_UPROBE_MULTI_H
#define PROFTRACE_PRIVILEGE_BROKER_UPROBE_MULTI_H

#include <stdint.h>
#include <sys/types.h>

#define TRACE_UPROBE_MULTI   48 /* BPF_TRACE_UPROBE_MULTI of enum bpf_attach_type, since 6.6 */
#define TRACE_UPROBE_SESSION 57 /* BPF_TRACE_UPROBE_SESSION, since 6.13 */

enum uprobe_form {
	UPROBE_ENTRY,
	UPROBE_RETURN,	/* when the function at the site returns */
	UPROBE_SESSION, /* at both, if the program wants it at the entry */
};

/*
 * Creates one link for n sites of the file at `path`. `semaphores` are the offsets of semaphores;
 * they and the cookies may be NULL. pid 0: all processes.
 */
int uprobe_multi_link(enum uprobe_form form, int program_fd, const char *path,
		      const uint64_t *offsets, const uint64_t *semaphores, const uint64_t *cookies,
		      unsigned n, pid_t pid);

#endif
