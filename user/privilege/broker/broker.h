/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The broker is the half of proftrace that keeps its privileges. It loads the BPF programs, attaches
 * them, opens what belongs to other processes, and hands file descriptors to the recorder over a
 * socket pair. It parses nothing foreign: no list of mappings, no name, no record; of an ELF file it
 * looks up numbers at fixed places alone, to see that the file itself says where the kernel shall put
 * breakpoints and what it shall write to.
 *
 * The recorder is the other half: it runs as the invoking user and does everything else. It asks for
 * few things, each a struct of fixed size; the broker checks every request as if it came from an
 * enemy, since the recorder reads bytes that nobody vouches for.
 *
 * Either dies with the other: the broker ends when the socket does, and everything attached belongs
 * to its descriptors, so that the kernel detaches it however the two end.
 *
 * Not to the recorder's: a process that is being killed while it closes the last descriptor of a
 * uprobe leaves the probe where it is for ever, semaphore and all ("failed to unregister, leaking
 * uprobe" is all that the kernel says). The recorder is what people kill. The broker is the process
 * that nobody thinks of, it attaches and detaches for milliseconds in its life, and when it is killed
 * at any other time the kernel closes its descriptors after the killing, which is no danger.
 */
#ifndef PROFTRACE_PRIVILEGE_BROKER_BROKER_H
#define PROFTRACE_PRIVILEGE_BROKER_BROKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "counters/counters.h"
#include "event.h"
#include "base/failure.h"
#include "privilege/prover/prover.h"
#include "schedule.h"

struct broker;

struct broker_config {
	uint64_t buffer_bytes; /* of all ring buffers: a power of two */
	unsigned buffers;      /* how many: a power of two, MAX_BUFFERS at most; 0 is 1 */
	bool follow_children;
	/*
	 * The caller is not root: nothing is attached for all processes, and the processes of others, and set-user-ID
	 * programs, keep every byte of their memory.
	 */
	bool own_links;
	struct counters counters;
	struct schedule schedule;     /* active 0: none */
	bool sched;		      /* watch who has which CPU */
	uint64_t counter_interval_ns; /* read them this often between the marks, too; 0: no */
	bool batching;		      /* marks come in batches */
	uint32_t table_rows; /* add marks up in the kernel, in so many rows; 0: record them */
	bool usdt;	     /* probes of others are recorded, too */
	bool functions;	     /* and calls of functions, */
	prover_fn prove;     /* which this finds the exits of, in a process of its own */
	bool guarded;	     /* count what marks cost, by domain */
	bool mark_stacks;    /* take the call stacks of marks, too */
	uint64_t offcpu_ns;  /* and of threads that had no CPU for longer; 0: none */
	uint32_t sample_hz;  /* take call stacks so often on each CPU; 0: none */
	const pid_t *pids;   /* that were asked for; others must be children of the recorder */
	unsigned n_pids;
};

enum broker_table {
	BROKER_TABLE_THREADS,
	BROKER_TABLE_ROWS,
	BROKER_TABLE_PAGES,
	BROKER_TABLE_ASYNCS,
	BROKER_TABLES,
};

#define BROKER_MAX_LINKS 10

/* What the broker loaded. The recorder owns the descriptors. */
struct broker_loaded {
	int shared_fd; /* the map that holds struct proftrace_bpf__bss: mmap it */
	int holds_fd;  /* the ring buffer of threads that wait for the recorder */
	/* With table_rows, the maps of bpf/table.h to be mapped; else -1. */
	int tables[BROKER_TABLES];
	bool has_tables;
	int usdt_specs_fd; /* the map of bpf/usdt_spec.h, to be mapped; -1 without either */
	bool has_usdt;
	uint32_t shared_size;
	bool uprobe_multi;  /* one link for many sites; otherwise one per site */
	bool can_loop;	    /* its programs may loop as often as it takes */
	bool can_hold;	    /* threads can be held while libraries are attached */
	bool confined;	    /* the broker has a filter of system calls */
	bool sample_cycles; /* samples are taken by cycles, else by the CPUs' clocks */
	bool fast_door;	    /* the trial found the optimised probe site right on this kernel */
	bool breaks_nop5; /* this kernel would turn a 5-byte nop into a call that breaks programs */
	uint64_t entry_ns; /* guarded: what a mark costs before it is measured by itself */
	unsigned n_links;
	/* Of the programs on fork, exec, exit, rename, switches and wakings of threads. */
	int links[BROKER_MAX_LINKS];
	unsigned n_buffers;
	int buffers[MAX_BUFFERS]; /* the ring buffers of records */
};

/* Starts the broker and has it load the programs. Call it before anything foreign is read. */
int broker_start(const struct broker_config *config, struct broker **ret_broker,
		 struct broker_loaded *ret_loaded, struct failure *f);
void broker_stop(struct broker *broker);
/*
 * How often the recorder has been told to end, and so the broker is to be waited for less; asked while it
 * is waited for.
 */
void broker_set_patience(struct broker *broker, unsigned (*told_to_end)(void *context),
			 void *context);
/*
 * Whether it was waited for in vain: since then every request fails with -EPIPE, at once. It ends when
 * the kernel has answered it; what it has attached stays until then.
 */
bool broker_given_up(const struct broker *broker);
/* What can be done about that. */
void broker_hint(struct failure *f);
/* Readable (end of file) when the broker died; -1 when it was given up. */
int broker_fd(const struct broker *broker);
pid_t broker_pid(const struct broker *broker);

/* A process is its number and the moment it began: numbers are used again. */
struct broker_target {
	pid_t pid;
	uint64_t birth; /* clock ticks after boot, 0 = whichever process has the number now */
};

/* Fills in `birth` of the process that has the number now. */
int broker_identify(struct broker *broker, pid_t pid, struct broker_target *ret_target,
		    struct failure *f);

/*
 * Sets what may be recorded of a process (enum traced_flags of bpf/event.h). Refused for a process
 * that the invoking user may not trace.
 */
int broker_trace(struct broker *broker, const struct broker_target *target, uint32_t flags,
		 struct failure *f);

enum broker_file {
	BROKER_MAPS,   /* /proc/PID/maps */
	BROKER_MAPPED, /* the file mapped at start-end */
	BROKER_TASKS,  /* the directory /proc/PID/task */
	BROKER_MEMORY, /* /proc/PID/mem */
	BROKER_JIT_MAP, /* /tmp/perf-N.map as it sees that, N its number there: its user's own file */
	BROKER_FILES,
};

/* Opens something of a process, read-only. Returns the descriptor or negative errno. */
int broker_open(struct broker *broker, enum broker_file what, const struct broker_target *target,
		uint64_t start, uint64_t end, struct failure *f);

enum broker_program {
	BROKER_MARKS,
	BROKER_LIBRARIES, /* the dynamic linker has mapped libraries */
	BROKER_EXECUTES,  /* the C library is about to execute a program */
	BROKER_FLUSH,	  /* a thread hands its batch over */
	BROKER_USDT,	  /* probes of others; with config.usdt */
	BROKER_FUNCTIONS, /* where functions begin and are left; with config.functions */
	BROKER_PROGRAMS,
};

struct broker_site {
	uint64_t offset;	/* in the file */
	uint64_t switch_offset; /* of the 16-bit semaphore, 0 = none */
	uint64_t cookie;
};

#define BROKER_MAX_SITES 4096

/*
 * Attaches a program to sites of an ELF file, for one process (pid) or for all (0). *ret_link is
 * what broker_detach() wants to know; when that returns, none of the programs runs any more.
 */
int broker_attach(struct broker *broker, enum broker_program program, pid_t pid, int elf_fd,
		  const struct broker_site *sites, unsigned n_sites, unsigned *ret_link,
		  struct failure *f);
/* How long the kernel has taken for all that were attached. */
uint64_t broker_attach_ns(const struct broker *broker);
/* Up to BROKER_MAX_SITES links at the same time, which takes hardly longer than one. */
int broker_detach(struct broker *broker, const unsigned *links, unsigned n);

/*
 * Where the functions that begin at `n` addresses of an ELF file are left: proved_next() reads the
 * answer, of so many of them as there was place and time for, in their order. Only what has been answered
 * can be attached to, besides where markers return that functions end with.
 */
struct broker_functions {
	uint64_t bytes[PROVER_MAX_REPLY / sizeof(uint64_t)];
	size_t size;
};
int broker_functions(struct broker *broker, int elf_fd, const uint64_t *vaddrs, unsigned n,
		     struct broker_functions *ret, struct failure *f);

#endif
