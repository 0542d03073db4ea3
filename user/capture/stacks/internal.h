/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by stacks.c, names.c and marks.c. */
#ifndef PROFTRACE_CAPTURE_STACKS_INTERNAL_H
#define PROFTRACE_CAPTURE_STACKS_INTERNAL_H

#include "capture/stacks/stacks.h"
#include "stack.h"
#include "python_maps.h"
#include "unwind_maps.h"

#define MAX_JITS 256 /* processes with JIT code that write a perf map */

struct symbols;
struct unwind;
struct kernel_symbols;
struct pending_stack;
struct stack_process;
struct code;
struct python;

struct jit_process {
	const struct code_mapping *mapping;
	uint32_t pid;
	uid_t owner;
	int fd; /* of its perf map; -1: not opened */
};

struct stacks {
	struct broker *broker;
	struct callstacks *store;
	struct names *names;
	uint64_t period_ns;
	const struct code_mapping *kernel;
	struct stack_process *processes;
	struct stack_process *scanned;	     /* the process that is being scanned */
	const struct code_mapping *jit_seen; /* its JIT code, if there is any */
	struct code *list;		     /* mappings found by the scan so far */
	unsigned n, capacity;
	struct unwind *unwind;	   /* NULL: the kernel walks by frame pointers alone */
	struct python *python;	   /* NULL: without tables there are no Python frames either */
	uint64_t python_unmatched; /* stacks whose native and Python frames do not agree */
	uint32_t scanned_execs;	   /* of the process that is being scanned: unwind_execs() */
	const struct file **files; /* the file of each mapping, by the mapping's id */
	uint32_t files_capacity;
	uint64_t cut, lost;
	int64_t credit_ns;	       /* time credit for scanning processes again */
	uint64_t credit_at_ns;	       /* when the credit was computed */
	struct pending_stack *pending; /* marks.c */

	/* names.c */
	struct symbols *symbols; /* NULL: not started */
	int kallsyms_fd;	 /* -1: none */
	bool logged_no_kernel;
	bool logged_broken, logged_late, logged_python; /* messages that have been logged */
	struct kernel_symbols *kernel_symbols;		/* NULL: not read, or unreadable */
	uint32_t named_to;				/* frames up to this id have been named */
	uint64_t frames, named;
	uint64_t early_ns;
	struct jit_process jits[MAX_JITS];
	unsigned n_jits;
};

/* A program's part of a record: addresses and Python frames (bpf/python_maps.h), innermost first. */
struct program_stack {
	const uint64_t *addresses;
	unsigned n;
	/*
	 * A caller's address is that of its next instruction, so the call itself is before it. This also holds for
	 * the innermost one.
	 */
	bool is_caller;
	bool is_whole;
	const uint64_t *python; /* two words for each */
	unsigned n_python;
};

const struct callstack *stacks_push(struct capture *c, uint32_t pid,
				    const struct program_stack *stack);
/* Verifies the numbers in a record; `addresses` begin behind those of the kernel. */
bool stacks_parse(const struct record_stack *r, size_t size, unsigned kernel,
		  struct program_stack *ret);
/* How the walk of a stack ended, from `types` of its record. */
void stacks_set_end(struct event *e, uint32_t types);
void mark_stacks_free(struct stacks *s);
const struct file *stacks_file(const struct stacks *s, const struct code_mapping *mapping);
void stacks_open_kernel(struct stacks *s);
void stacks_names_free(struct stacks *s);
void stacks_add_jit(struct stacks *s, const struct code_mapping *mapping, uint32_t pid);

#endif
