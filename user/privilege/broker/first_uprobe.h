/* SPDX-License-Identifier: BSD-2-Clause */
/* A uprobe that prepares the kernel for those of a recording. */
#ifndef PROFTRACE_PRIVILEGE_BROKER_FIRST_UPROBE_H
#define PROFTRACE_PRIVILEGE_BROKER_FIRST_UPROBE_H

/* Attaches it, and ends this process: call it in one that was forked for it, with the capabilities of the broker. */
_Noreturn void first_uprobe_attach(void);

#endif
