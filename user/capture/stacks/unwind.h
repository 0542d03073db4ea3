/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tables by which the kernel walks stacks (bpf/stacks/unwind_maps.h): which file has which rows, which
 * process has which files. Private to the folder.
 *
 * All is written into maps that the kernel's programs read at the same time. Rows, pages and rules
 * are only added. The ranges of a process are replaced by others elsewhere; whoever still walks by
 * the old ones notices at the end that their number has changed.
 */
#ifndef PROFTRACE_CAPTURE_STACKS_UNWIND_H
#define PROFTRACE_CAPTURE_STACKS_UNWIND_H

#include "capture/internal.h"
#include "bpf/stacks/unwind_maps.h"

struct unwind;

/* An executable mapping of a process. */
struct unwind_code {
	uint64_t start, end, offset;
	const struct file *file; /* NULL: none, or not opened */
	bool is_jit, is_vdso;
};

/* Maps what the broker has loaded. Returns 0 or negative errno. */
int unwind_new(const struct broker_loaded *loaded, struct unwind **ret);
void unwind_free(struct unwind *u);
/* The kernel's map of bpf/stacks/python_maps.h. */
struct python_setup *unwind_python(const struct unwind *u);
/* A descriptor of the kernel's vdso, borrowed; -1: there is none. */
int unwind_vdso(struct unwind *u);

/* Starts the process that reads files. Returns its descriptor for epoll, or negative errno. */
int unwind_begin(struct unwind *u);
/* Takes what has been read until `until_ns`. */
void unwind_receive(struct unwind *u, uint64_t until_ns);
/* Asks for the table of a file before a process has mapped it. */
void unwind_expect(struct unwind *u, const struct file *file);
/* A stack ended in the file because its table is not there: it is the next one to be read. */
void unwind_hurry(struct unwind *u, const struct file *file);
/* Files whose tables are malformed or did not fit. */
uint64_t unwind_refused(const struct unwind *u);
/* Waits until all tables are there, at most until `until_ns`. */
void unwind_wait(struct unwind *u, uint64_t until_ns);

/* How often the process has executed a program, for unwind_set_process(). */
uint32_t unwind_execs(const struct unwind *u, uint32_t pid);
/*
 * The mappings of a process, sorted, as they were when it had executed `execs` programs. `python`: the number of its
 * struct python_setup, or 0.
 */
void unwind_set_process(struct unwind *u, uint32_t pid, uint32_t execs,
			const struct unwind_code *code, unsigned n, uint32_t python);
void unwind_forget_process(struct unwind *u, uint32_t pid);

#endif
