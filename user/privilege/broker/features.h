/* SPDX-License-Identifier: BSD-2-Clause */
/* The features of the running kernel. Each is tried and never guessed from a version number. */
#ifndef PROFTRACE_PRIVILEGE_BROKER_FEATURES_H
#define PROFTRACE_PRIVILEGE_BROKER_FEATURES_H

#include <stdbool.h>

#include "privilege/broker/uprobe_multi.h"

bool kernel_has_uprobe_multi(void);
bool kernel_has_bpf_loop(void);
bool kernel_has_sleepable_uprobes(void);
/*
 * Whether kallsyms lists the variable in which the kernel counts the interrupts that a CPU is in.
 */
bool kernel_tells_interrupts(void);

/*
 * How the kernel treats the 10-byte nop of a probe site (include/proftrace.h, "Two doors"). A
 * kernel that correctly replaces it with a call halves the cost of the entry.
 */
enum fast_door {
	FAST_DOOR_NONE,	 /* breakpoints only */
	FAST_DOOR_NOP5,	 /* this kernel replaces 5-byte nops, incorrectly: not used */
	FAST_DOOR_WRONG, /* the trial failed: not used */
	FAST_DOOR_RIGHT,
};

enum fast_door kernel_fast_door(void);
const char *fast_door_text(enum fast_door door);

#endif
