/* SPDX-License-Identifier: BSD-2-Clause */
/* What stacks.c and stack_names.c share. */
#ifndef PROFTRACE_CAPTURE_STACKS_INTERNAL_H
#define PROFTRACE_CAPTURE_STACKS_INTERNAL_H

#include "capture/stacks.h"

#define MAX_JITS 256 /* processes that make code, and write down what it is called */

struct symbols;
struct kernel_symbols;
struct pending_stack;
struct stack_process;
struct code;

struct jit_process {
	const struct code_mapping *mapping;
	uint32_t pid;
	uid_t owner;
	int fd; /* of what it wrote down, while it lives; -1: nothing so far */
};

struct stacks {
	struct broker *broker;
	struct callstacks *store;
	struct names *names;
	uint64_t period_ns;
	const struct code_mapping *kernel;
	struct stack_process *processes;
	struct stack_process *scanned;	  /* at the moment */
	const struct code_mapping *noted; /* what it made itself, if there is any */
	struct code *list;		  /* what was found so far */
	unsigned n, room;
	const struct file **files; /* by the ids of mappings: of which file each is */
	uint32_t files_room;
	uint64_t cut, lost;
	int64_t credit_ns;	       /* what looking at processes again may cost, */
	uint64_t credit_at_ns;	       /* as it was then */
	struct pending_stack *pending; /* mark_stacks.c */

	/* stack_names.c */
	struct symbols *symbols; /* NULL: not begun */
	int kallsyms_fd;	 /* -1: none */
	bool told_no_kernel;
	bool told_broken, told_late; /* of names that were not found for what their files are */
	struct kernel_symbols *kernel_symbols; /* NULL: not read, or they cannot be */
	uint32_t asked_for;		       /* frames, by their ids */
	uint64_t frames, named;
	uint64_t early_ns;
	struct jit_process jits[MAX_JITS];
	unsigned n_jits;
};

/*
 * Innermost first. A caller's address is where it goes on, and the call is before it: `caller`, so is the
 * innermost.
 */
const struct callstack *stacks_push(struct capture *c, uint32_t pid, const uint64_t *addresses,
				    unsigned n, bool caller);
void mark_stacks_free(struct stacks *s);
const struct file *stacks_file(const struct stacks *s, const struct code_mapping *mapping);
void stacks_open_kernel(struct stacks *s);
void stacks_names_free(struct stacks *s);
void stacks_note_jit(struct stacks *s, const struct code_mapping *mapping, uint32_t pid);

#endif
