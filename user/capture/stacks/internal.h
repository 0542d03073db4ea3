/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by stacks.c, frames.c, jit_processes.c, jit_slots.c, kernel_frames.c, names.c and marks.c. */
#ifndef PROFTRACE_CAPTURE_STACKS_INTERNAL_H
#define PROFTRACE_CAPTURE_STACKS_INTERNAL_H

#include "capture/stacks/stacks.h"
#include "bpf/stacks/stack.h"
#include "bpf/stacks/python_maps.h"
#include "bpf/stacks/unwind_maps.h"

#define JIT_SLOTS 4096

#define RECENT_KERNEL 4096 /* addresses of the kernel; a power of two */
#define RECENT_CODE   1024 /* cached frames for each process; a power of two */

/* All scans for unknown addresses together may take this much at once (frames.c). */
#define RESCANS_AT_ONCE_NS 250000000

struct symbols;
struct unwind;
struct kernel_symbols;
struct mapped_files;
struct pending_stack;
struct jit_number;
struct python;

/* An executable mapping. */
struct code {
	uint64_t start, end, offset;
	const struct file *file;	    /* NULL: in no opened file */
	const struct code_mapping *mapping; /* NULL: too many */
};

struct stack_process {
	uint32_t pid;
	struct code *code; /* sorted by address */
	unsigned n;
	uint64_t next_scan_ns, wait_ns; /* next scan not before; current wait */
	bool changed;			/* the last scan found a change */
	bool has_jit_dump;		/* which says when code was generated */
	bool is_without_python; /* there was no place for its interpreter, which is counted */
	uint64_t at_ns;		/* when the stack was that is decoded */
	struct python_process *python; /* NULL: no interpreter, or not a supported one */
	struct {
		uint64_t address; /* 0: none */
		const struct code_frame *frame;
	} recent[RECENT_CODE];
	UT_hash_handle hh;
};

#define CODE_VDSO "[vdso]" /* the path of the kernel's code in each process */

/* jit_processes.c */
struct jit_process {
	const struct code_mapping *mapping; /* the key */
	uint32_t pid;
	uid_t owner;
	int fd;	     /* of its perf map; -1: not opened */
	int dump_fd; /* of its jitdump file; -1: none */
	/* It has exited, or executed another program: another process may have its number. */
	bool has_ended;
	bool has_frames; /* in call stacks */
	UT_hash_handle hh;
};

/*
 * Code of a process that says when it was generated may be replaced by other code at the same address, and the file that
 * says it is written late. So a frame of such code is another one in each slot of time, whose number is in the upper bits
 * of its address, and gets its name at the end (jit_slots.c).
 */
struct jit_slots {
	struct {
		uint64_t since_ns, until_ns, last_ns; /* last: that was seen */
	} slot[JIT_SLOTS];			      /* number 0 is any time */
	unsigned n;
	uint64_t length_ns; /* of a new one */
	unsigned of_length; /* so many slots are so long */
	uint32_t frames;    /* in the store when they became so long */
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
	struct mapped_files *mapped;
	uint64_t cut, lost;
	uint64_t unmapped;	       /* frames in files that are too many for a mapping */
	int64_t credit_ns;	       /* time credit for scanning processes again */
	uint64_t credit_at_ns;	       /* when the credit was computed */
	struct pending_stack *pending; /* marks.c */

	/* kernel_frames.c */
	struct {
		uint64_t address; /* 0: none */
		bool is_tracing;
	} recent_kernel[RECENT_KERNEL];
	bool has_no_kernel; /* the kernel's symbols cannot be read */

	/* names.c */
	struct symbols *symbols; /* NULL: not started */
	int kallsyms_fd;	 /* -1: none */
	pid_t kallsyms_reader;	 /* the process that still writes it; 0: none; -1: it failed */
	bool logged_no_kernel, logged_fetched;
	bool logged_broken, logged_late, logged_python,
		logged_lines;		       /* messages that have been logged */
	struct kernel_symbols *kernel_symbols; /* NULL: not read, or unreadable */
	uint32_t named_to;		       /* frames up to this id have been named */
	uint64_t frames, named;
	uint64_t early_ns;
	struct jit_slots jit_slots;
	struct jit_process *jits; /* the oldest first */
	struct jit_number *jit_numbers;
	struct jit_map *jit_map; /* the last one that was read; NULL: it could not be */
	const struct code_mapping *jit_mapping; /* whose it is */
	struct jit_source {
		uint64_t device, inode, size, changed_ns;
		uid_t owner;
	} jit_source;	      /* where it was read; inode 0: that may have changed */
	bool jit_is_late;     /* it was not read: the time was over, or was given up */
	bool jit_is_refused;  /* too many processes have generated code */
	int64_t jit_left_ns;  /* for reading maps */
	uint64_t jit_left_at; /* when that was computed */
	bool jit_given_up;
	bool jit_at_end;		    /* it is that for the end of the recording */
	uint64_t jit_late, jit_refused;	    /* frames without a name because of that */
	uint64_t jit_unknown;		    /* others, which the map does not name */
	uint64_t jit_read_ns, jit_again_ns; /* while recording: when it was, and not again before */
};

/* A program's part of a record: addresses and Python frames (bpf/stacks/python_maps.h), innermost first. */
struct program_stack {
	const uint64_t *addresses;
	unsigned n;
	/*
	 * A caller's address is that of its next instruction, so the call itself is before it. This also holds for
	 * the innermost one.
	 */
	bool is_caller;
	bool is_whole;
	bool is_unmapped;	/* it ended before code that is in no known mapping */
	const uint64_t *python; /* two words for each */
	unsigned n_python;
	uint64_t at_ns;
};

const struct callstack *stacks_push(struct capture *c, uint32_t pid,
				    const struct program_stack *stack);
/* Verifies the numbers in a record; `addresses` begin behind those of the kernel. */
bool stacks_parse(const struct record_stack *r, size_t size, unsigned kernel,
		  struct program_stack *ret);
/* How the walk of a stack ended, from `types` of its record. */
void stacks_set_end(struct event *e, uint32_t types);
/* The process, which is added if it is new; NULL: out of memory. */
struct stack_process *stack_process_get(struct stacks *s, uint32_t pid);
/* The difference between a file's addresses and offsets, from the PT_LOAD segment of the offset. */
uint64_t stacks_load_bias(const struct elf_file *elf, uint64_t offset);
/* How many of a stack's kernel addresses, which are innermost first, are there only because it is traced. */
unsigned kernel_frames_of_tracing(struct capture *c, const __u64 *addresses, unsigned n);
void mark_stacks_free(struct stacks *s);
void stacks_open_kernel(struct stacks *s);
/* Reads the names of the kernel's functions. Returns whether there are any. */
bool stacks_read_kernel(struct capture *c);
void stacks_names_free(struct stacks *s);
/* jit_processes.c: the process has ended, as one whose code has names. */
void stacks_end_jit(struct stacks *s, uint32_t pid);
/* How many of them had this number before. */
unsigned stacks_jits_before(const struct stacks *s, uint32_t pid);
void stacks_add_jit(struct stacks *s, const struct code_mapping *mapping, uint32_t pid);
void stacks_find_jit_dump(struct stacks *s, struct stack_process *p);
/* NULL: there are too many. */
struct jit_process *jit_process_find(const struct stacks *s, const struct code_mapping *mapping);
/* The broker opens the map, because in a container it is in another mount namespace, and its name has another process number. */
void jit_process_open_map(struct stacks *s, struct jit_process *j);
/* There are frames of this generated code. */
void jit_set_frames(struct stacks *s, const struct code_mapping *mapping);
void jit_processes_free(struct stacks *s);
/* jit_slots.c: a frame's address in generated code that may be replaced, and the address again with the time of its slot. */
uint64_t jit_slot_address(struct stacks *s, uint64_t address, uint64_t at_ns);
uint64_t jit_slot_of(const struct stacks *s, uint64_t slotted, uint64_t *ret_first_ns,
		     uint64_t *ret_last_ns);

#endif
