/* SPDX-License-Identifier: BSD-2-Clause */
/* What the running kernel can do: tried, never guessed from a version number. */
#ifndef PROFTRACE_PRIVILEGE_BROKER_FEATURES_H
#define PROFTRACE_PRIVILEGE_BROKER_FEATURES_H

#include <stdbool.h>

#include "privilege/broker/uprobe_multi.h"

bool kernel_has_uprobe_multi(void);
bool kernel_has_bpf_loop(void);
bool kernel_has_sleepable_uprobes(void);
/* Whether it lists where it counts the interrupts that a CPU is in. */
bool kernel_tells_interrupts(void);

/*
 * How the kernel treats the 10-byte nop of a probe site (include/proftrace.h, "Two doors"):
 * kernels that turn it into a call are faster by half, if the call is right.
 */
enum fast_door {
	FAST_DOOR_NONE,	 /* breakpoints only */
	FAST_DOOR_NOP5,	 /* this kernel patches 5-byte nops, wrongly: not used */
	FAST_DOOR_WRONG, /* the trial failed: not used */
	FAST_DOOR_RIGHT,
};

enum fast_door kernel_fast_door(void);
const char *fast_door_text(enum fast_door door);

#endif
