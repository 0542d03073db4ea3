/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The records that travel from bpf/ to user/capture through the ring buffer.
 *
 * Both sides include this file, so it uses nothing but fixed-width integers. A record is a 32-byte
 * head, then what its kind needs:
 *
 *	head                                     32 bytes   BEGIN, END, INSTANT without arguments
 *	head + operands                          48 bytes   COUNTER, ASYNC, FLOW, ALLOC, FREE, STEP,
 *	                                                    BEGIN, INSTANT of an object of class marker
 *	head + operands + keys + values[2 or 6]  72 or 104  anything with up to 2 or 6 arguments
 *	the same, then the strings' bytes        variable   a string among the arguments, or a name
 *	                                                    that is not static
 *	head + values of counters                           READING
 *	any of these, then values of counters    8 each     BEGIN and END while counters are recorded:
 *	                                                    enum counter_part says how many
 *
 * A static name never travels as text. It is sent as its distance from the probe site, which lies in
 * the same ELF file: (site, distance) says which bytes of which file hold the name, whatever address
 * the file was mapped at and whether or not the process still lives (see user/capture/markers.c).
 */
#ifndef PROFTRACE_BPF_EVENT_H
#define PROFTRACE_BPF_EVENT_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

/*
 * Kinds of records. Those below 64 are markers; their numbers are part of the header's binary
 * interface (the `kind` of the ELF note, include/proftrace.h) and never change. The others are what
 * the kernel itself tells.
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
	RECORD_INCLUDE_JSON = 38, /* one argument, the path */
	RECORD_SCOPE_PUSH = 39,
	RECORD_SCOPE_POP = 40,
	/* No marks: what a batch is handed over by, and what the switches of batches are raised by. */
	RECORD_FLUSH = 48,
	RECORD_BATCH_SWITCH = 49,
	RECORD_BATCH_ROOM = 50, /* in a process that may be asked for system calls */

	RECORD_FORK =
		64, /* a = tgid of the parent, b = tid of the parent; comm in the operands' place */
	RECORD_EXEC = 65, /* comm */
	RECORD_EXIT =
		66, /* a = 1 when it was the process's last thread, then b = its CPU time (bpf/guard.h);
		       comm: the number of the signal that it was killed by, or nothing */
	RECORD_COMM = 67, /* comm */
	RECORD_HOLD =
		68, /* a = ticket: the thread waits until it is released; b = enum hold_reason */
	RECORD_LOST =
		69, /* a = marks of this thread lost since `ts`, b = time of the last of them */
	RECORD_READING = 70, /* what is counted on the thread, between its marks */
	/*
	 * A process comes to another phase of the schedule: a = epoch, b = batch, types = enum phase,
	 * site = cycle, level = 1 when the step after this one will not be recorded either.
	 */
	RECORD_PHASE = 71,
	/* Of the scheduler: bpf/switches.h */
	RECORD_SWITCH = 72,
	RECORD_WAKING = 73,
	RECORD_SCHED_GAP =
		74,	    /* a = how many of them have found no room until now, 32 bits of it */
	RECORD_SAMPLE = 80, /* bpf/stack.h */
	RECORD_MARK_STACK = 81, /* of the mark that is the thread's next record */
	RECORD_BLOCKED = 82,	/* a thread has a CPU again, after long */
};

/* From here on, what comes in batches: struct record_batch. */
#define RECORD_BATCH 100

/* Types of values, four bits each. Part of the header's binary interface as well. */
enum value_type {
	VALUE_NONE = 0,
	VALUE_INT = 1,
	VALUE_UINT = 2,
	VALUE_DOUBLE = 3, /* the bits of an IEEE double */
	VALUE_STRING = 4,
	VALUE_BOOL = 5,
	VALUE_POINTER = 6,
	/* Only in records, of probes of others: */
	VALUE_FLOAT = 7, /* the bits of an IEEE single */
	VALUE_UNREADABLE = 8,
};

/*
 * The attach cookie of a site: its number in bits 0-31, its kind in 32-39, and in 40-51 a number that
 * domains of different names have different ones of, as far as they go: from 1 to PLAIN_TOKENS - 1.
 * Bit 52: of its marks only those with categories are recorded. The number stands in for the token of PROF_BEGIN and PROF_END, who have none; no program has such a low
 * address as one.
 */
#define PLAIN_TOKENS		4096
#define COOKIE_KIND_SHIFT	32
#define COOKIE_DOMAIN_SHIFT	40
#define COOKIE_CATEGORIES_SHIFT 52
/* Bits 53-59: the domain's number where costs are measured (--max-overhead), 0: the control site. */
#define COOKIE_GUARD_SHIFT 53
#define GUARD_DOMAINS	   128
#define GUARD_CPUS	   16 /* a power of two: those of more CPUs share places */

enum {
	MAX_ARGS = 6,
	MAX_NESTING = 64, /* levels of open slices followed per thread */
	MAX_NAME = 128,	  /* bytes of a name that are kept */
	MAX_STRING = 256, /* bytes of a string value that are kept */
	COMM_SIZE = 16,
	ACCOUNT_CPUS = 512,
	MAX_BUFFERS = 32,  /* ring buffers of records */
	HOLD_SLOTS = 1024, /* more than the ring buffer of holds has room for */
	MAX_COUNTERS = 8,  /* as many as a viewer takes with one event */
};

#define NAME_NONE 0		    /* no name belongs to this mark */
#define NAME_FAR  (-0x7fffffff - 1) /* too far from its site to be static: not known */

struct record {
	__u64 ts;   /* CLOCK_MONOTONIC, ns */
	__u32 tgid; /* as the initial pid namespace counts */
	__u32 tid;
	__u32 site; /* which probe site: set by the loader through the attach cookie */
	__s32 name; /* address of the static name minus address of the site */
	__u32 types; /* bits 0-3 number of arguments, 4-7 type of operand a, then 4 bits per argument */
	__u8 kind;
	__u8 flags;
	__u8 level; /* BEGIN, END: the level of the slice itself; others: number of open slices */
	__u8 object; /* bits 0-3 scope of an instant, 4-7 class of the object (include/proftrace.h) */
};

enum record_flags {
	RECORD_NAME_COPIED = 1, /* the name's bytes are the first string */
	RECORD_NAME_UNREADABLE = 2,
	RECORD_ARGS_UNREADABLE = 4, /* the array of values could not be read: no arguments */
	RECORD_NAME_CUT = 8,
	RECORD_CLOSES_INNER = 32, /* END: what is open inside of it has no END of its own */
	RECORD_WATCHED = 16,	  /* FORK: the child's markers are not recorded yet, only watched */
	/*
	 * A mark: operand b is where its categories are: like a static name their distance from the
	 * site, or, beside a copied name, their length; the bytes stand behind those of the name.
	 */
	RECORD_CATEGORIES = 16,
	RECORD_COUNTERS = 64, /* its last bytes are the values of the counters */
	/*
	 * Its process is not recorded at the moment. Sent all the same, since it may end what was
	 * recorded, or says where the program is.
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
	/* then: bytes of the copied name, then of each string argument, without padding or NUL */
};

struct record_comm {
	struct record head;
	struct record_operands ops;
	char comm[COMM_SIZE];
};

/*
 * A thread's batch, copied as it is (include/proftrace.h, section 4): struct batch_head, then events.
 * What is in it came out of the program's memory, and may be anything.
 */
enum {
	BATCH_VERSION = 2,
	BATCH_MAX = 32768, /* bytes, head included */
	BATCH_STUCK = 64,  /* past so many events its thread has left it, for good */
	/* Those of one thread, one for each executable or library as a rule (bpf/batches.h): */
	BATCHES = 16,		 /* a power of two; in its state */
	BATCHES_MOST = 8192,	 /* in all */
	BATCHES_MOST_SHORT = 64, /* the same, on a kernel without bpf_loop() */
	BATCHES_MORE = 65536,	 /* of all threads, past those in their states */
	BATCHES_LEFT = 16384,	 /* of threads that have ended, for others to go on with */
};

#define BATCH_USED(head) ((head)->used & ((1u << 20) - 1)) /* above: it is being handed over */

struct batch_head {
	__u32 pid, version;
	__u32 used, size; /* bytes, head included: BATCH_USED */
	__u32 complete;	  /* words of complete events, and above bit 16 their number */
	__u32 reserved;
	__u64 base, events; /* bytes and events that were in it before */
	__u32 tid, stuck;
	__u64 next;
	__u64 flush; /* address of the stub that hands it over */
};

/*
 * What the recorder has found in memory: batches that threads had before the recording began. Each is at
 * the first place from that of its thread's number on that was free, and at most so many places on. One
 * whose address is 0 was never taken; what is taken out keeps its address.
 */
#define BATCHES_FOUND_BITS     14
#define BATCHES_FOUND	       (1 << BATCHES_FOUND_BITS)
#define BATCHES_FOUND_ON       8192
#define BATCHES_FOUND_ON_SHORT 16 /* on a kernel without bpf_loop() */
#define BATCH_FOUND_PLACE(tid) ((tid)*0x9e3779b1u >> (32 - BATCHES_FOUND_BITS))
struct batch_found {
	__u64 pid_tgid;
	__u64 address;
};

enum batch_reason {
	BATCH_FULL = 0, /* these three are the program's words */
	BATCH_NEW = 1,
	BATCH_ALONE = 2, /* one event, past the thread's batch */
	BATCH_EXIT = 3,	 /* its thread ends, or executes another program */
};

struct record_batch {
	struct record head;
	/*
	 * head.object: its thread has forbidden itself system calls; head.types: so many of its marks
	 * that came past all batches were lost before
	 */
	struct record_operands ops; /* a = its address, b = enum batch_reason */
	struct batch_head batch;
	/* then the events: batch.used says how many bytes of what follows are theirs */
};

enum hold_reason {
	HOLD_LIBRARIES = 0, /* the dynamic linker has mapped or unmapped libraries */
	HOLD_EXECVE = 1,    /* the thread is about to execute `path` */
	HOLD_EXECVEAT = 2,  /* the same, relative to the directory open as `fd` */
	HOLD_FEXECVE = 3,   /* what is open as `fd` */
};

struct record_hold {
	struct record head;
	struct record_operands ops;
	__s32 fd;
	char path[MAX_STRING]; /* empty when it could not be read */
};

/* What became of a mark that reached the kernel. One slot per CPU, added to atomically. */
enum account_slot {
	ACCOUNT_MARKS,	    /* every mark of a traced process while recording */
	ACCOUNT_FULL,	    /* lost: ring buffer full */
	ACCOUNT_BEGIN_LOST, /* an END dropped because its BEGIN was lost */
	ACCOUNT_CUT,	    /* an END whose slice began before recording did */
	ACCOUNT_UNMATCHED, /* a PROF_END that would have closed a scope or an object, or nothing at all */
	ACCOUNT_TOO_DEEP,    /* nested deeper than MAX_NESTING */
	ACCOUNT_NO_STATE,    /* no memory for the thread's state */
	ACCOUNT_KERNEL_FULL, /* not a mark: a fork, exec, exit or rename that found the buffer full */
	ACCOUNT_HOLD_TIMEOUT, /* not a mark: a thread was let go before its libraries were attached */
	ACCOUNT_PROCESSES, /* not a mark: a child not followed since the table of processes is full */
	ACCOUNT_PAUSED,	   /* not asked for: its process is paused, or was as its slice began */
	ACCOUNT_READINGS,    /* not a mark: a reading of counters that found no room */
	ACCOUNT_UNSCHEDULED, /* not asked for: the schedule leaves it out, or did as its slice began */
	ACCOUNT_LATE_STEPS, /* not a mark: a step to be recorded that began before all was attached */
	/* Under a schedule: marks that came, and those that are done with and leave nothing open. */
	ACCOUNT_ENTERED,
	ACCOUNT_LEFT,
	ACCOUNT_BATCH_LOST, /* marks in batches that found the ring buffer full */
	/* Not marks: batches that could not be read, announced or remembered. */
	ACCOUNT_BATCH_UNREADABLE,
	ACCOUNT_SCHED,	      /* not a mark: a switch or a waking that was told */
	ACCOUNT_SCHED_LOST,   /* not a mark: one that found no room */
	ACCOUNT_SWITCHED_OFF, /* its domain was being switched off: it costs too much */
	ACCOUNT_STACKS_LOST,  /* not a mark: a call stack that found no room */
	ACCOUNT_RESCUED, /* not a mark: a record that went into another buffer, its own being full */
	ACCOUNT_SLOTS = 32,
};

/* What the marks of a domain cost: all are counted, of a few the programs' time is taken. */
struct guard_count {
	__u64 marks;
	__u64 timed; /* how many of these */
	__u64 ns;    /* and how long they took */
	__u64 pad;
};

/*
 * Where the value of a counter comes from. What the kernel keeps of each task anyway is read from
 * there, which costs next to nothing; the rest from perf events.
 */
enum counter_source {
	COUNTER_TASK_CLOCK = 1, /* ns, plus a number of its own: only differences mean something */
	COUNTER_PAGE_FAULTS,
	COUNTER_MINOR_FAULTS,
	COUNTER_MAJOR_FAULTS,
	COUNTER_CONTEXT_SWITCHES,
	COUNTER_CPU_MIGRATIONS,
	COUNTER_PERF,
};

/* In place of a value that is not known. */
#define COUNTER_UNKNOWN (~0ull)

/*
 * What a record ends with: the values of all counters. Where these take turns on the hardware, all
 * times follow, in ns: for how long each was to be counted, then for how long it was.
 */
enum counter_part {
	PART_VALUE,
	PART_ENABLED,
	PART_RUNNING,
	COUNTER_PARTS,
};

/* Values of the map of traced processes: what may be recorded of one. */
enum traced_flags {
	TRACED_WATCH = 1,   /* its forks, execs, exits and libraries are told */
	TRACED_MARKS = 2,   /* its markers are recorded */
	TRACED_PAUSED = 4,  /* but not now */
	TRACED_STOPPED = 8, /* and never again: it ended the recording */
	TRACED_WHOLE = 16,  /* its program was recorded from its first instruction */
	TRACED_KEPT = TRACED_WATCH | TRACED_MARKS | TRACED_STOPPED | TRACED_WHOLE,
};

/*
 * Above them: how often the recorder had spoken to all processes when this one paused or resumed
 * itself. What it said since counts, and so does what it says first of a process that has said nothing.
 */
#define TRACED_SAID_SHIFT 8

#endif
