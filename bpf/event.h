/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The records that travel from bpf/ to user/capture through the ring buffer.
 *
 * Both sides include this file, so it uses nothing but fixed-width integers. A record is a 32-byte
 * head, followed by what its kind needs:
 *
 *	head                                     32 bytes   BEGIN, END, INSTANT without arguments
 *	head + operands                          48 bytes   COUNTER, ASYNC, FLOW, ALLOC, FREE, STEP,
 *	                                                    BEGIN, INSTANT of an object of class marker
 *	head + operands + keys + values[2 or 6]  72 or 104  anything with up to 2 or 6 arguments
 *	the same, then the strings' bytes        variable   a string among the arguments, or a name
 *	                                                    that is not static
 *	head + values of counters                           READING, BASE
 *	any of these, then values of counters    8 each     BEGIN and END while counters are recorded:
 *	                                                    enum counter_part says how many
 *
 * A static name is never sent as text. It is sent as its distance from the probe site, which is in
 * the same ELF file. So (site, distance) says which bytes of which file hold the name, whatever
 * address the file was mapped at, and also after the process has exited
 * (user/capture/static_names.c).
 */
#ifndef PROFTRACE_BPF_EVENT_H
#define PROFTRACE_BPF_EVENT_H

#include "bpf/abi.h"

/* Of all programs, as the kernel reads it. */
#define PROGRAM_LICENSE "Dual BSD/GPL"

/*
 * Kinds of records. Those below 64 are markers; their numbers are part of the header's binary
 * interface (the `kind` of the ELF note, include/proftrace.h) and never change. The others are
 * events of the kernel.
 */
enum record_kind {
	RECORD_BEGIN = 1,
	RECORD_END = 2,
	RECORD_INSTANT = 3,
	RECORD_COUNTER = 4,
	RECORD_ASYNC_BEGIN = 5,
	RECORD_ASYNC_END = 6,
	RECORD_FLOW_OUT = 7,
	RECORD_FLOW_IN = 8,
	RECORD_ALLOC = 9,
	RECORD_FREE = 10,
	RECORD_THREAD_NAME = 32,
	RECORD_STEP = 33,
	RECORD_PAUSE = 34,
	RECORD_RESUME = 35,
	RECORD_DUMP = 36,
	RECORD_STOP = 37,
	/* one argument, the path; a = the effective user of the thread, for whom it may be read */
	RECORD_INCLUDE_JSON = 38,
	RECORD_SCOPE_PUSH = 39,
	RECORD_SCOPE_POP = 40,
	/*
	 * These are no marks: the site at which batches are handed over, and the semaphores of
	 * buffered mode.
	 */
	RECORD_FLUSH = 48,
	RECORD_BATCH_ON = 49,
	RECORD_BATCH_UNUSED = 50, /* of headers before layout 3; not used */
	/* not in notes: the steady nop of the stub of RECORD_BATCH_ON, for the semaphores of exact mode */
	RECORD_EXACT_ON = 51,
	RECORD_READ_STRINGS =
		52, /* the semaphore by which marks in buffered mode let the kernel read strings */

	RECORD_FORK = 64, /* a = tgid of the parent, b = tid of the parent, then comm */
	RECORD_EXEC =
		65, /* then comm; a = the thread's number before, b = number of the execution */
	/*
	 * a = 1 if this was the last thread, then b = CPU time (bpf/marks/guard.h); comm = number of the
	 * signal that killed the process, or empty
	 */
	RECORD_EXIT = 66,
	RECORD_COMM = 67, /* then comm */
	RECORD_HOLD =
		68, /* a = ticket: the thread waits until it is released; b = enum hold_reason */
	RECORD_LOST =
		69, /* a = marks of this thread lost since `ts`, b = time of the last of them */
	RECORD_READING = 70, /* counters of the thread, read by a clock tick between its marks */
	/*
	 * A process enters another phase of the schedule: a = epoch, b = batch of PROF_STEP, types
	 * = enum phase, site = cycle, level = 1 if the step after this one will not be recorded
	 * either.
	 */
	RECORD_PHASE = 71,
	/* The scheduler's records have a layout of their own: bpf/sched/sched_records.h. */
	RECORD_SWITCH = 72,
	RECORD_WAKING = 73,
	RECORD_SCHED_GAP = 74, /* a = number of scheduler records lost so far, low 32 bits */
	RECORD_WAIT = 75,      /* why the next context switch of the thread blocks it */
	RECORD_SYSCALL = 76,
	RECORD_SAMPLE = 80,	/* bpf/stacks/stack.h */
	RECORD_MARK_STACK = 81, /* belongs to the next mark of the thread */
	RECORD_BLOCKED = 82,	/* a thread has a CPU again after a long time without */
	RECORD_BASE = 83, /* bpf/batch/bases.h: counters of a thread; level: enum base_moment */
};

enum base_moment {
	BASE_LEAVES_CPU,
	BASE_GETS_CPU,
	BASE_HAS_CPU, /* and had it before */
};

/* Records from this number on belong to buffered mode: struct record_batch. */
#define RECORD_BATCH 100

/* Types of values, four bits each. They are part of the header's binary interface as well. */
enum value_type {
	VALUE_NONE = 0,
	VALUE_INT = 1,
	VALUE_UINT = 2,
	VALUE_DOUBLE = 3, /* the bits of an IEEE double */
	VALUE_STRING = 4,
	VALUE_BOOL = 5,
	VALUE_POINTER = 6,
	/* These are used in records only, for existing USDT probes. */
	VALUE_FLOAT = 7, /* the bits of an IEEE single */
	VALUE_UNREADABLE = 8,
};

/*
 * The attach cookie of a site. Bits 0-31: number of the site. Bits 32-39: kind. Bits 40-51: a
 * number from 1 to PLAIN_TOKENS - 1 that differs between domains, as far as the numbers last; it
 * replaces the token of PROF_BEGIN and PROF_END, which have none, and no program has an address
 * this low. Bit 52: only marks with categories are recorded. Bits 53-59: number of the domain for
 * --max-overhead, 0 for the control site.
 */
#define PLAIN_TOKENS		4096
#define COOKIE_KIND_SHIFT	32
#define COOKIE_DOMAIN_SHIFT	40
#define COOKIE_CATEGORIES_SHIFT 52
#define COOKIE_GUARD_SHIFT	53
/* Also of USDT probes and functions: the link is of one process (hit_is_recorded() in bpf/marks/marks.bpf.c). */
#define COOKIE_OF_PROCESS (1ull << 63)
#define GUARD_DOMAINS	  128
#define GUARD_CPUS	  16 /* a power of two; with more CPUs, some share a slot */

/* Stands in a program for a function of the kernel (bpf/processes/hold_turns.h). */
#define TURN_FUNCTION 0x40000000

enum {
	MAX_ARGS = 6,
	MAX_NESTING = 64, /* levels of open slices followed per thread */
	MAX_NAME = 128,	  /* bytes of a name that are kept */
	MAX_STRING = 256, /* bytes of a string value that are kept */
	COMM_SIZE = 16,
	ACCOUNT_CPUS = 512,
	MAX_BUFFERS = 32,     /* ring buffers of records */
	HOLD_SLOTS = 1024,    /* more than the ring buffer of holds can contain */
	KNOWN_FILES = 4096,   /* slots for files that no thread waits for; a power of two */
	KNOWN_FILE_SLOTS = 4, /* of one: with one, some of 200 files took each other's place */
	MAX_COUNTERS = 8,     /* the maximum that viewers show with one event */
};

/*
 * A file for which no thread waits. What has been written into it since then has most likely changed its size. The recorder
 * sets `key` to 0 while it changes the size, so whoever reads that between two equal keys has that of this file.
 */
struct known_file {
	__u64 key; /* known_file_key(); 0: none */
	__u64 size;
};

/*
 * A file by the kernel's number of its device and its inode: no other has the same, because its user may choose its size and
 * much of its inode's number. Files of which others may have both (user/capture/file_key.c) are never known here. 0: the
 * numbers are too large for one word, which costs time only.
 */
static inline __u64 known_file_key(__u64 device, __u64 inode)
{
	return device >> 32 || inode >> 32 ? 0 : device << 32 | inode;
}

/* The first slot of those where the file may be. */
static inline unsigned known_file_slots(__u64 key)
{
	return key * 0x9e3779b97f4a7c15ull >> 52 & (KNOWN_FILES - KNOWN_FILE_SLOTS);
}

#define NAME_NONE 0		    /* the mark has no name */
#define NAME_FAR  (-0x7fffffff - 1) /* too far from its site to be static: unknown */

struct record {
	__u64 ts;   /* CLOCK_MONOTONIC, ns */
	__u32 tgid; /* in the initial PID namespace */
	__u32 tid;
	__u32 site; /* number of the probe site, from the attach cookie */
	__s32 name; /* address of the static name minus address of the site */
	__u32 types; /* bits 0-3 number of arguments, 4-7 type of operand a, then 4 bits per argument */
	__u8 kind;
	__u8 flags;
	__u8 level; /* BEGIN, END: level of the slice; others: number of open slices */
	__u8 object; /* bits 0-3 scope of an instant, 4-7 class of the object (include/proftrace.h) */
};

enum record_flags {
	RECORD_NAME_COPIED = 1, /* the name's bytes are the first string */
	RECORD_NAME_UNREADABLE = 2,
	RECORD_ARGS_UNREADABLE = 4, /* the array of values could not be read: no arguments */
	RECORD_NAME_CUT = 8,
	/* END: slices inside this one are still open and have no END of their own */
	RECORD_CLOSES_INNER = 32,
	RECORD_TARGET = 32, /* EXEC: the process was not traced before, but matches --wait */
	/*
	 * For a mark: operand b locates the categories. With a static name it is their distance
	 * from the site; with a copied name it is their length, and their bytes follow those of the
	 * name.
	 */
	RECORD_CATEGORIES = 16,
	RECORD_COUNTERS = 64, /* the record ends with the values of the counters */
	/*
	 * The process is not recorded at the moment. The record is sent all the same, since it may
	 * end what was recorded, or say where the program is.
	 */
	RECORD_LEFT_OUT = 128,
};

struct record_operands {
	__u64 a;
	__u64 b;
};

/* Bits of values[i] for a string argument, above its length in bytes. */
#define STRING_CUT	  (1ull << 63)
#define STRING_UNREADABLE (1ull << 62) /* the low 32 bits are its distance from the site, signed */
#define STRING_NULL	  (1ull << 61)

struct record_args {
	__s32 keys;	   /* address of "key1\0key2\0..." minus address of the site */
	__u32 name_length; /* bytes of the copied name, 0 without one */
	__u64 values[MAX_ARGS];
};

struct record_plain {
	struct record head;
	struct record_operands ops;
};

struct record_full {
	struct record head;
	struct record_operands ops;
	struct record_args args;
	/*
	 * followed by the bytes of the copied name, then of each string argument, without padding
	 * or NUL
	 */
};

struct record_comm {
	struct record head;
	struct record_operands ops;
	char comm[COMM_SIZE];
};

/*
 * A copy of a thread's batch (include/proftrace.h, section 4): struct batch_head, then events. It
 * comes out of the program's memory, so it may contain anything.
 */
enum {
	BATCH_VERSION = 4,
	BATCH_OLDEST = 3,  /* version that is read, too */
	BATCH_MAX = 32768, /* bytes, head included */
	/* a thread that has written this many events past a batch has abandoned it */
	BATCH_STUCK = 64,
	/*
	 * The number of batches of one thread, usually one for each executable or library
	 * (bpf/batch/batch_list.h):
	 */
	BATCHES = 16,		 /* in the thread's state; a power of two */
	BATCHES_MOST = 8192,	 /* in total */
	BATCHES_MOST_SHORT = 64, /* in total, on a kernel without bpf_loop() */
	BATCHES_ADOPTED = 1024,	 /* of those that the recorder has found, at once */
	/*
	 * What the end of a thread reads of those beyond its state: bytes, plus BATCH_END_COST for each batch. 200 full
	 * batches are 7 million.
	 */
	BATCHES_END_COST = 8 << 20,
	BATCH_END_COST = 2048,
	BATCHES_MORE = 65536,	   /* of all threads together, beyond those in their states */
	BATCHES_INHERITED = 65536, /* forked children: bpf/batch/batch_list.h */
	BATCHES_UNLOADED = 16384,  /* remembered, of all processes: bpf/batch/batch_list.h */
	ENDED_PROCESSES = 4096,	   /* remembered: bpf/processes/processes.bpf.c */
	/* In each file: the number of owner words, and the offset of the batches behind them. */
	BATCH_SLOTS = 128,
	BATCH_SLOTS_FROM = 4096,
	BATCH_FIRST_TURN = 2, /* the turn of the first thread that owns a batch */
};

#define BATCH_READABLE(head) ((head)->version >= BATCH_OLDEST && (head)->version <= BATCH_VERSION)
#define BATCH_USED(head) \
	((head)->used &  \
	 ((1u << 20) - 1)) /* the bits above mean that the batch is being handed over */

struct batch_head {
	__u32 reserved0, version;
	__u32 used, size; /* bytes, head included: BATCH_USED */
	__u32 complete;	  /* bits 0-15 words of complete events, above them their number */
	__u32 naming;
	__u64 base, events; /* bytes and events written before the first one in the batch */
	__u32 turn, stuck;  /* turn changes with each thread that owns the batch */
	__u64 owner;	    /* thread pointer */
	__u64 flush;	    /* address of the stub that hands it over */
};

/*
 * A batch that a thread had before the recording began, and that the recorder has found in memory.
 * The entries form a hash table with open addressing: an entry is in the first free slot from
 * BATCH_FOUND_PLACE on, within BATCHES_FOUND_ON slots. An address of 0 means that the slot was
 * never used; a removed entry keeps its address.
 *
 * If each process has links of its own, the table also has the owner words of the files that a process has mapped
 * (bpf/batch/batch_shared.h). They have the process instead of a thread, as a number that no thread has. They are looked
 * through in the fork and at the end of a process, where it must not take long, whoever filled the table: so there are
 * BATCH_TABLES of a process at most, within BATCH_TABLES_ON slots, and BATCH_HEADS batches that a thread may have in them.
 */
#define BATCHES_FOUND_BITS     14
#define BATCHES_FOUND	       (1 << BATCHES_FOUND_BITS)
#define BATCHES_FOUND_ON       8192
#define BATCH_TABLES	       256
#define BATCH_TABLES_ON	       1024
#define BATCH_HEADS	       1024
#define BATCHES_FOUND_ON_SHORT 16 /* on a kernel without bpf_loop() */
#define BATCH_FOUND_PLACE(tid) ((tid)*0x9e3779b1u >> (32 - BATCHES_FOUND_BITS))
#define BATCH_FOUND_TAKEN      (~0ull) /* pid_tgid of a slot that is being filled */
#define BATCH_TABLES_OF(tgid)  ((__u64)(tgid) << 32 | 1u << 31 | (tgid))
struct batch_found {
	__u64 pid_tgid;
	__u64 address;
	__u64 site; /* flush site of its file */
};

/*
 * How many marks in batches of a thread were lost (bpf/batch/batch_losses.h). The entries form a hash table: that of a thread
 * is in one of BATCH_LOSSES_ON slots. The recorder frees it when the thread has exited. Who does not know `secret` cannot
 * choose threads that take each other's place.
 */
#define BATCH_LOSSES_BITS 12
#define BATCH_LOSSES	  (1 << BATCH_LOSSES_BITS)
#define BATCH_LOSSES_ON	  16
struct batch_loss {
	__u64 thread;	/* batch_loss_thread(); 0: the slot is free, and all else is 0 */
	__u64 lost;	/* as the kernel has counted */
	__u64 last_ns;	/* the latest time at which it did */
	__u64 seen;	/* of these, those that the recorder has seen all the same */
	__u64 reported; /* and those whose loss it has reported in the trace */
};

/* Thread numbers are below 2^22. They are not reused within 65 us, and the other bits last for 9 years. */
static inline __u64 batch_loss_thread(__u32 tid, __u64 birth)
{
	return (__u64)tid << 42 | (birth >> 16 & ((1ull << 42) - 1));
}

static inline __u32 batch_loss_place(__u64 thread, __u64 secret)
{
	return (__u32)((thread >> 42) * (secret | 1) * 0x9e3779b97f4a7c15ull >>
		       (64 - BATCH_LOSSES_BITS));
}

enum batch_reason {
	BATCH_FULL = 0, /* the first three are sent by the program */
	BATCH_NEW = 1,
	BATCH_ALONE = 2, /* one event that has no space in the thread's batch */
	BATCH_EXIT = 3,	 /* the thread exits or executes another program */
	/* sent by the program again: the memory is about to be unmapped; any thread may send it */
	BATCH_UNLOADED = 4,
	/* as BATCH_ALONE, but the kernel reads the strings; the record is one of BATCH_ALONE */
	BATCH_STRINGS = 5,
};

/* In the flags of the head of a record of BATCH_ALONE. */
#define BATCH_STRINGS_READ 1

struct record_batch {
	struct record head;
	/* head.types: number of marks that had no batch and were lost before */
	struct record_operands ops; /* a = address, b = enum batch_reason */
	/*
	 * Up to this position in the stream of bytes and of events, the contents are those of the
	 * parent that forked; 0: all is the thread's own.
	 */
	__u64 from, from_events;
	__u64 thread; /* batch_loss_thread() */
	struct batch_head batch;
	/* followed by the events, batch.used bytes with the head */
};

/* The third argument of prctl(PR_SET_TSC), which the kernel ignores, where a broker makes a trial with it. */
#define COUNTER_TRIAL 0x70726f6674726163ull

enum hold_reason {
	HOLD_LIBRARIES = 0, /* the dynamic linker has mapped libraries, or perhaps unmapped some */
	HOLD_EXECVE = 1,    /* the thread is going to execute `path` */
	HOLD_EXECVEAT = 2,  /* the same, relative to the directory `fd` */
	HOLD_FEXECVE = 3,   /* the file `fd` */
	HOLD_COUNTER = 4,   /* the thread is going to forbid itself the processor's counter */
	HOLD_UNMAPPED =
		5, /* the linker has unmapped libraries; only where threads cannot be held */
	/* Nobody waits: another thread than the first has executed a program; a = number of the execution. */
	HOLD_FIRST_CHANGED = 6,
};

struct record_hold {
	struct record head;
	struct record_operands ops;
	__s32 fd;
	char path[MAX_STRING]; /* empty if it could not be read */
};

/*
 * What became of each mark that reached the kernel, and other losses. One set of slots per CPU,
 * updated atomically.
 */
enum account_slot {
	ACCOUNT_MARKS,	    /* every mark of a traced process while recording */
	ACCOUNT_FULL,	    /* lost: ring buffer full */
	ACCOUNT_BEGIN_LOST, /* an END dropped because its BEGIN was lost */
	ACCOUNT_CUT,	    /* an END whose slice began before the recording */
	/* a PROF_END that would have closed a scope or an object, or that has no slice at all */
	ACCOUNT_UNMATCHED,
	ACCOUNT_TOO_DEEP,    /* nested deeper than MAX_NESTING */
	ACCOUNT_NO_STATE,    /* no memory for the thread's state */
	ACCOUNT_KERNEL_FULL, /* not a mark: a fork, exec, exit or rename that found the buffer full */
	/* not a mark: a hold that timed out before its libraries were attached */
	ACCOUNT_HOLD_TIMEOUT,
	/* not a mark: a process that is not followed: a table is full, or it ended before it had links */
	ACCOUNT_PROCESSES,
	/* not selected: the process is paused, or was paused when the slice began */
	ACCOUNT_PAUSED,
	ACCOUNT_READINGS, /* not a mark: a reading of counters that was lost, buffer full */
	/* not selected: the schedule leaves it out, or left out its beginning */
	ACCOUNT_UNSCHEDULED,
	/* not a mark: a step to be recorded that began before all sites were attached */
	ACCOUNT_LATE_STEPS,
	/*
	 * Under a schedule: marks that have arrived, and marks that are finished and leave nothing
	 * open.
	 */
	ACCOUNT_ENTERED,
	ACCOUNT_LEFT,
	ACCOUNT_BATCH_LOST, /* marks in batches that were lost, ring buffer full */
	/* not marks: batches that could not be read, announced or registered */
	ACCOUNT_BATCH_UNREADABLE,
	ACCOUNT_SCHED,	      /* not a mark: a context switch or a wakeup that was sent */
	ACCOUNT_SCHED_LOST,   /* not a mark: one that was lost, buffer full */
	ACCOUNT_SWITCHED_OFF, /* the domain was being switched off because it costs too much */
	ACCOUNT_STACKS_LOST,  /* not a mark: a call stack that was lost, buffer full */
	/* not a mark: a record that used another CPU's buffer because its own was full */
	ACCOUNT_RESCUED,
	/* not marks: processes that had no links for a time after a fork or an exec; the broker counts them */
	ACCOUNT_FOLLOWED_LATE,
	/* not a mark: a first thread that ended before the others, with links for its process alone */
	ACCOUNT_FIRST_EXITED,
	ACCOUNT_WAITS_LOST,    /* not a mark: the reason of a wait, buffer full */
	ACCOUNT_SYSCALLS,      /* not a mark: a system call that was sent */
	ACCOUNT_SYSCALLS_LOST, /* not a mark: one that was lost, buffer full or no memory */
	ACCOUNT_PROTECTED, /* not a mark: a process that may be a broker of another recorder; the broker counts them */
	ACCOUNT_SWITCHES_UNSEEN, /* not a mark: a context switch that the kernel did not show (--offcpu) */
	ACCOUNT_SLOTS = 32,
};

/* What the marks of a domain cost: all are counted, and some are timed. */
struct guard_count {
	__u64 marks;
	__u64 timed; /* number of timed marks */
	__u64 ns;    /* total of their times */
	__u64 pad;
};

/*
 * The source of a counter's value. Counters that the kernel keeps for each task are read from the
 * task, which costs next to nothing; the others are perf events.
 */
enum counter_source {
	COUNTER_TASK_CLOCK = 1, /* ns with an unknown offset: only differences are meaningful */
	COUNTER_PAGE_FAULTS,
	COUNTER_MINOR_FAULTS,
	COUNTER_MAJOR_FAULTS,
	COUNTER_CONTEXT_SWITCHES,
	COUNTER_CPU_MIGRATIONS,
	COUNTER_PERF,
};

/* Stands for a value that is not known. */
#define COUNTER_UNKNOWN (~0ull)

/*
 * The parts at the end of a record: the values of all counters. If these take turns on the
 * hardware, two times in ns follow for each: how long it was enabled and how long it ran.
 */
enum counter_part {
	PART_VALUE,
	PART_ENABLED,
	PART_RUNNING,
	COUNTER_PARTS,
};

/* Values of the map of traced processes: what may be recorded of a process. */
enum traced_flags {
	TRACED_WATCH = 1,   /* its forks, execs, exits and libraries are reported */
	TRACED_MARKS = 2,   /* its markers are recorded */
	TRACED_PAUSED = 4,  /* recording is paused */
	TRACED_STOPPED = 8, /* recording was ended by the process, for good */
	TRACED_WHOLE = 16,  /* its program was recorded from its first instruction */
	TRACED_BEGINS = 32, /* a command of the recorder that has not executed its program yet */
	TRACED_KEPT = TRACED_WATCH | TRACED_MARKS | TRACED_STOPPED | TRACED_WHOLE | TRACED_BEGINS,
};

/*
 * Above the flags: how often the recorder had paused or resumed all processes when this process
 * paused or resumed itself. A later change by the recorder has priority, also over a process that
 * has never changed anything itself.
 */
#define TRACED_ORDER_SHIFT 8

#endif
