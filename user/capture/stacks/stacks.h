/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From addresses to call stacks. The mappings of each process are kept, so that an address becomes
 * an offset in a file. This must be done while the process lives; functions are named when the
 * trace is finished (names.c).
 */
#ifndef PROFTRACE_CAPTURE_STACKS_STACKS_H
#define PROFTRACE_CAPTURE_STACKS_STACKS_H

#include "capture/internal.h"

struct mapping;
struct stacks;

/* NULL: no memory. `period_ns`: time between two samples. */
struct stacks *stacks_new(struct broker *broker, struct callstacks *store, struct names *names,
			  uint64_t period_ns);
void stacks_free(struct stacks *stacks);

/*
 * Tables for walking stacks: what the broker has loaded for them; begins reading files, and returns
 * a descriptor for epoll or negative errno; takes what has been read.
 */
int stacks_open_tables(struct stacks *s, const struct broker_loaded *loaded);
int stacks_begin_tables(struct stacks *s);
void stacks_receive_tables(struct stacks *s, uint64_t until_ns);
/* Asks for the table of a program before it begins. */
void stacks_expect_file(struct stacks *s, const struct file *file);
/* Waits until the tables of all known files are there, at most so long. */
void stacks_wait_for_tables(struct stacks *s, uint64_t limit_ns);

/* A scan of a process: begin, each executable mapping, end. */
void stacks_scan_begin(struct stacks *s, uint32_t pid);
void stacks_scan_mapping(struct stacks *s, const struct mapping *m, const struct file *file);
/* `whole`: else what was known before is kept. */
void stacks_scan_end(struct stacks *s, bool whole);

/* The child has the same mappings as its parent. */
void stacks_fork(struct stacks *s, uint32_t pid, uint32_t parent);
void stacks_forget(struct stacks *s, uint32_t pid);
/* It has executed another program. */
void stacks_execute(struct stacks *s, uint32_t pid);

void stacks_account(const struct stacks *s, struct account *account);

/* These decode records of bpf/stacks/stack.h. */
/* Keeps the stack of the next mark of a thread; and attaches it to the mark if it is selected. */
bool mark_stack_store(struct capture *c, const struct record *r, size_t size);
void mark_stack_attach(struct capture *c, const struct record *r, struct event *e);
/* A sample, or a blocked thread. */
bool decode_stack(struct capture *c, const struct record *r, size_t size, struct event *e);

#endif
