/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From addresses to call stacks: what each process has mapped, so that an address becomes a place in a
 * file. That is looked up while a process lives; what its functions are called, when the files are
 * finished.
 */
#ifndef PROFTRACE_CAPTURE_STACKS_H
#define PROFTRACE_CAPTURE_STACKS_H

#include "capture/internal.h"

struct mapping;
struct stacks;

/* NULL: no memory. `period_ns`: what a sample stands for. */
struct stacks *stacks_new(struct broker *broker, struct callstacks *store, struct names *names,
			  uint64_t period_ns);
void stacks_free(struct stacks *stacks);

/* A look at what a process has mapped: begins, each mapping that can be executed, and is complete. */
void stacks_scan_begin(struct stacks *s, uint32_t pid);
void stacks_scan_mapping(struct stacks *s, const struct mapping *m, const struct file *file);
void stacks_scan_end(struct stacks *s);

/* A child has what its parent has. */
void stacks_fork(struct stacks *s, uint32_t pid, uint32_t parent);
void stacks_forget(struct stacks *s, uint32_t pid);

void stacks_account(const struct stacks *s, struct account *account);

/* A record of bpf/stack.h. */
/* The stack of a mark that is to come; and the mark, which gets it if it is asked for. */
bool mark_stack_take(struct capture *c, const struct record *r, size_t size);
void mark_stack_attach(struct capture *c, const struct record *r, struct event *e);
/* A sample, or where a thread was blocked. */
bool decode_stack(struct capture *c, const struct record *r, size_t size, struct event *e);

#endif
