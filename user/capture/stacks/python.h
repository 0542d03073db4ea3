/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Python frames of call stacks: which process runs which interpreter, and from what the kernel sends
 * (bpf/stacks/python_maps.h) to functions, files and lines. Private to the folder.
 */
#ifndef PROFTRACE_CAPTURE_STACKS_PYTHON_H
#define PROFTRACE_CAPTURE_STACKS_PYTHON_H

#include "capture/internal.h"

struct python;	       /* all interpreters of a recording */
struct python_process; /* the interpreter of a process */
struct python_setup;

/* `setups`: the kernel's map. NULL: no memory. */
struct python *python_new(struct python_setup *setups, struct callstacks *store,
			  struct names *names);
void python_free(struct python *py);

/*
 * The interpreter of a process with an executable mapping of `file`. NULL: the file has none, or one that is not
 * supported; or there are too many, for which a process whose `*is_refused` is false is counted, and gets true.
 */
struct python_process *python_process_new(struct python *py, struct broker *broker, uint32_t pid,
					  const struct file *file, uint64_t start, uint64_t offset,
					  bool *is_refused);
void python_process_free(struct python_process *p);
/* For struct unwind_process. */
uint32_t python_process_setup(const struct python_process *p);
/* Whether it is the interpreter in `file` that is mapped there. */
bool python_process_is(const struct python_process *p, const struct file *file, uint64_t start,
		       uint64_t offset);
/* Whether the address is in the interpreter's loop, whose frames stand for Python's. */
bool python_is_loop(const struct python_process *p, uint64_t address);
/* The frame of two words of a record. */
const struct code_frame *python_frame(struct python_process *p, uint64_t code, uint64_t word);

/* The version of an interpreter that was found and is not supported: "3.10" or "older than 3.11". NULL: none. */
const char *python_unsupported(const struct python *py);

struct python_counts {
	uint64_t frames, unreadable; /* frames; those whose code object could not be read */
	uint64_t without_lines;	     /* functions whose line tables are too many */
	uint64_t refused;	     /* processes: too many run an interpreter at once */
};

void python_count(const struct python *py, struct python_counts *ret);

#endif
