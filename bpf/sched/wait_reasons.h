/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Why a thread was blocked. The reason follows from what the thread is doing in the kernel when it
 * leaves its CPU: the system call it is in, or a page fault. The broker makes the table of system
 * calls (user/privilege/loader/wait_calls.c), whose numbers differ between architectures.
 */
#ifndef PROFTRACE_BPF_WAIT_REASONS_H
#define PROFTRACE_BPF_WAIT_REASONS_H

enum wait_reason {
	WAIT_UNKNOWN, /* not recorded */
	WAIT_FUTEX,
	WAIT_READ,
	WAIT_WRITE,
	WAIT_POLL,
	WAIT_SLEEP,
	WAIT_PAGE_FAULT,
	WAIT_CHILD,
	WAIT_SYNC,
	WAIT_IO_URING,
	WAIT_STOPPED, /* by a signal or a debugger */
	WAIT_OTHER,   /* any other system call */
	WAIT_REASONS,
};

/* In the table of system calls, beside the reason: the first argument is a file descriptor. */
#define WAIT_OF_FILE 0x80
#define WAIT_REASON  0x7f

#define WAIT_CALLS     512 /* system calls with higher numbers are WAIT_OTHER */
#define WAIT_NO_CALL   -1
#define WAIT_FILE_NAME 40

#endif
