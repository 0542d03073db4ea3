/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The broker is the process of proftrace that keeps its privileges. It loads the BPF programs,
 * attaches them, opens files of other processes, and passes descriptors to the recorder over a
 * socket pair. It parses no untrusted data: no list of mappings, no name, no record. Of an ELF file
 * it reads only numbers at fixed places, to verify that the file itself describes each probe site
 * and each semaphore.
 *
 * The recorder is the other process. It runs as the invoking user and does everything else. It
 * sends few kinds of requests, each a structure of fixed size. The broker treats every request as
 * hostile, because the recorder reads untrusted data and may have been taken over.
 *
 * Neither process survives the other. The broker exits when the socket is closed, and everything
 * that it attached belongs to its descriptors, so the kernel detaches it however the two end.
 *
 * These descriptors do not belong to the recorder, for this reason: if a process is killed while it
 * attaches, or closes the last descriptor of a uprobe, the kernel leaves the probe and its semaphore in
 * place, and only logs "failed to unregister, leaking uprobe". Users kill the recorder, hardly ever the
 * broker, which attaches for only milliseconds of its life. The last descriptors are closed by processes
 * that have been killed already (closing.c). If the broker is killed at any other time, the kernel closes
 * its descriptors after the kill, which is safe.
 */
#ifndef PROFTRACE_PRIVILEGE_BROKER_BROKER_H
#define PROFTRACE_PRIVILEGE_BROKER_BROKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "counters/counters.h"
#include "bpf/event.h"
#include "base/failure.h"
#include "privilege/prover/prover.h"
#include "privilege/target_filter.h"
#include "bpf/marks/schedule.h"

struct broker;

struct broker_config {
	uint64_t buffer_bytes; /* of all ring buffers: a power of two */
	unsigned buffers;      /* a power of two, at most MAX_BUFFERS; 0 means 1 */
	bool follow_children;
	/*
	 * The caller is not root: nothing is attached for all processes, and no byte in the memory
	 * of other users' processes and of set-user-ID programs changes.
	 */
	bool own_only;
	struct counters counters;
	struct schedule schedule;     /* `active` 0: no schedule */
	bool sched;		      /* record context switches and wakeups */
	bool wait_reasons;	      /* with `sched`: record why threads are blocked */
	bool syscalls;		      /* record system calls */
	uint64_t counter_interval_ns; /* also read counters at this interval; 0: at marks only */
	bool batching;		      /* buffered mode */
	bool changing; /* and exact mode, in turns: threads that forbid themselves the counter are held */
	/* Rows of the table that the kernel aggregates marks into; 0: marks are recorded. */
	uint32_t table_rows;
	bool usdt;	/* record existing USDT probes */
	bool functions; /* record functions */
	/* The user asks for the kernel's return probes, which change return addresses on stacks (--return-probes). */
	bool return_probes;
	prover_fn prove; /* finds the exits of functions, in a process of its own */
	bool guarded; /* measure the cost of marks for each domain (--max-overhead, --mode auto) */
	/* And switch domains off, for which it is measured what entering the kernel costs: that takes a trial with a link. */
	bool switches_off;
	bool mark_stacks; /* record call stacks of marks */
	/* Record call stacks of threads that were blocked longer than this; 0: none. */
	uint64_t offcpu_ns;
	uint32_t sample_hz; /* call-stack samples per second on each CPU; 0: none */
	const pid_t *pids;  /* from the command line; others must be children of the recorder */
	unsigned n_pids;
	bool adopts;			     /* also processes that other recorders hand over */
	const struct target_filter *targets; /* also processes that match; NULL: none */
};

/* Whether each process has links of its own, instead of one link for all. */
static inline bool broker_links_each(const struct broker_config *config)
{
	return config->own_only || !config->follow_children;
}

enum broker_table {
	BROKER_TABLE_THREADS,
	BROKER_TABLE_ROWS,
	BROKER_TABLE_PAGES,
	BROKER_TABLE_ASYNCS,
	BROKER_TABLES,
};

/* The maps of bpf/stacks/unwind_maps.h. */
enum broker_unwind_map {
	BROKER_UNWIND_ROWS,
	BROKER_UNWIND_RULES,
	BROKER_UNWIND_PAGES,
	BROKER_UNWIND_RANGES,
	BROKER_UNWIND_PROCESSES,
	BROKER_UNWIND_PYTHON,
	BROKER_UNWIND_MAPS,
};

/* What the broker loaded. The recorder owns these descriptors. */
struct broker_loaded {
	int shared_fd; /* the map with struct proftrace_bpf__bss, for mmap() */
	int holds_fd;  /* the ring buffer of threads that wait for the recorder */
	/* With table_rows, the maps of bpf/table/table.h, for mmap(); else -1. */
	int tables[BROKER_TABLES];
	bool has_tables;
	/* The map of bpf/marks/usdt_spec.h, for mmap(); -1 without usdt and functions. */
	int usdt_specs_fd;
	bool has_usdt;
	int unwind[BROKER_UNWIND_MAPS]; /* to be mapped; -1 without call stacks */
	bool has_unwind;
	uint32_t shared_size;
	bool uprobe_multi;    /* one link for many sites; otherwise one per site */
	bool return_sessions; /* return probes are sessions: one for entry and return */
	bool can_loop;	      /* the kernel has bpf_loop(), so BPF loops need no small bound */
	bool can_hold;	      /* threads can be held until libraries are attached */
	bool holds_in_turns;  /* by many short programs (bpf/processes/hold_turns.h), else by one */
	/* With `changing`: threads that forbid themselves the counter are held in their system call, else in prctl() of libc. */
	bool holds_in_calls;
	bool confined;	      /* the broker has a filter of system calls */
	bool compares_copies; /* with what the kernel has kept of other files (broker/kept_copies.h) */
	bool sample_cycles;  /* cycles trigger the samples, else the clock of each CPU */
	bool optimised_nop;  /* the trial found the optimised nop correct on this kernel */
	bool emulates_calls; /* a probe may be on a call, which the kernel emulates */
	bool breaks_nop5; /* this kernel would turn a 5-byte nop into a call that breaks programs */
	/* With switches_off: the cost of a mark before the BPF program starts to measure it; 0: not known. */
	uint64_t entry_ns;
	unsigned n_buffers;
	int buffers[MAX_BUFFERS]; /* the ring buffers of records */
};

/*
 * Forks a process of root's that knows what no recorder may see: no broker lets its recorder look into it (process_protected()),
 * from its first instruction on.
 */
pid_t protected_fork(void);
/* Starts the broker, which loads the programs. Call it before any untrusted data is read. */
int broker_start(const struct broker_config *config, struct broker **ret_broker,
		 struct broker_loaded *ret_loaded, struct failure *f);
/*
 * count.c: gives this process the name of a broker. Refuses with -EUSERS if its user, who is not root, has too many that may
 * have eBPF programs. Call it before any is loaded.
 */
int broker_count(struct failure *f);
/* For a process that has no programs now and starts a broker, which counts itself: it counts as none. */
void broker_uncount(void);
/*
 * Ends it. `awaits` false: it may detach what is still attached after this process has ended, which takes some grace
 * periods of RCU.
 */
void broker_stop(struct broker *broker, bool awaits);
/*
 * `wants_end` returns how often the user has asked the recorder to end. It is called while the
 * recorder waits for the broker; the higher the number, the shorter it waits.
 */
void broker_set_patience(struct broker *broker, unsigned (*wants_end)(void *context),
			 void *context);
/*
 * Whether the recorder stopped waiting for a reply. Every later request fails at once with -EPIPE.
 * The broker exits when the kernel lets it continue; its probes stay attached until then.
 */
bool broker_given_up(const struct broker *broker);
/* Whether that was while the kernel attached or detached: then it may also wait for any process that has mapped the file. */
bool broker_given_up_attaching(const struct broker *broker);
/* Adds a hint about what to do then. */
void broker_hint(struct failure *f);
/* Readable (end of file) when the broker has died; -1 if it was given up. */
int broker_fd(const struct broker *broker);
pid_t broker_pid(const struct broker *broker);

/* A process is identified by its PID and its start time, because PIDs are reused. */
struct broker_target {
	pid_t pid;
	uint64_t birth; /* in clock ticks since boot; 0: any process that has the PID now */
};

/* Fills in the start time of the process that has the PID now. */
int broker_identify(struct broker *broker, pid_t pid, struct broker_target *ret_target,
		    struct failure *f);

/*
 * Sets what is recorded of a process (enum traced_flags of bpf/event.h). Refused if the invoking
 * user may not trace the process.
 */
int broker_trace(struct broker *broker, const struct broker_target *target, uint32_t flags,
		 struct failure *f);

/*
 * Finds the processes that match config.targets and that the invoking user may trace, except those of proftrace and those that are
 * watched already. What is found is watched from then on (TRACED_WATCH), so that its children are reported.
 * *ret_pids: an array to be freed, of at most BROKER_MAX_FOUND; there may be more then.
 */
#define BROKER_MAX_FOUND 4097
int broker_find(struct broker *broker, uint32_t **ret_pids, unsigned *ret_n, struct failure *f);

/*
 * Takes over a process that another proftrace hands over by `socket`, one end of a pair that it has made. Later
 * requests may name the process. `flags`: the same as broker_trace() with these; 0: nothing of it is recorded yet.
 */
int broker_adopt(struct broker *broker, pid_t pid, int socket, uint32_t flags, struct failure *f);

/* The name of the container that the traced process is in; "": it is in none, or its name cannot be found. */
void broker_container(struct broker *broker, pid_t pid, char *name, size_t size);

/* Sets TRACED_PAUSED and the order (TRACED_ORDER_SHIFT) of a traced process. */
int broker_pause(struct broker *broker, pid_t pid, uint32_t flags, struct failure *f);
/* Sends the counters of the threads that have a CPU (bpf/batch/counters.bpf.c). */
void broker_send_bases(struct broker *broker);

enum broker_file {
	BROKER_MAPS,   /* /proc/PID/maps */
	BROKER_MAPPED, /* the file mapped at start-end */
	BROKER_TASKS,  /* the directory /proc/PID/task */
	BROKER_MEMORY, /* /proc/PID/mem */
	/*
	 * /tmp/perf-N.map in its mount namespace, with N its innermost PID; must belong to its
	 * user.
	 */
	BROKER_JIT_MAP,
	BROKER_FILES,
};

/* Opens a file of a process for reading. Returns the descriptor or negative errno. */
int broker_open(struct broker *broker, enum broker_file what, const struct broker_target *target,
		uint64_t start, uint64_t end, struct failure *f);

enum broker_program {
	BROKER_MARKS,
	BROKER_LIBRARIES, /* the dynamic linker has mapped libraries */
	BROKER_EXECUTES,  /* the C library is about to execute a program */
	BROKER_FLUSH,	  /* a thread of buffered mode hands its buffer over */
	BROKER_USDT,	  /* existing USDT probes, with config.usdt */
	BROKER_FUNCTIONS, /* entries and exits of functions, with config.functions */
	/* Returns of functions, with config.return_probes; with loaded.return_sessions their entries, too. */
	BROKER_RETURNS,
	BROKER_PROGRAMS,
};

struct broker_site {
	uint64_t offset;	   /* in the file */
	uint64_t semaphore_offset; /* of the 16-bit semaphore, 0 = none */
	uint64_t cookie;
};

#define BROKER_MAX_SITES 4096

/*
 * Attaches a program to sites of an ELF file, for one process (pid) or for all (0). Pass *ret_link
 * to broker_detach(); when that returns, none of the programs runs any more. If each process has
 * links of its own, several processes get the same number for the same sites with the same cookies,
 * and the broker attaches for their children.
 */
int broker_attach(struct broker *broker, enum broker_program program, pid_t pid, int elf_fd,
		  const struct broker_site *sites, unsigned n_sites, unsigned *ret_link,
		  struct failure *f);
/* The time that the kernel has spent on all attachments. */
uint64_t broker_attach_ns(const struct broker *broker);
/*
 * Detaches up to BROKER_MAX_SITES links in parallel, which takes hardly longer than one: some grace periods of RCU. `later`: it
 * does not wait for that; their semaphores count until then.
 */
int broker_detach(struct broker *broker, const unsigned *links, unsigned n, bool later);

/*
 * Whether a process serves the file's file system (FUSE, 9p). It can show each reader other bytes, and those that run
 * are others again.
 */
bool file_is_served(int fd);

/* Whether it is a file of an overlay, whose bytes are those of another file. */
bool file_has_layers(int fd);

/* Whether an instruction of an ELF file for x86-64 begins at this address, by the file's tables of functions. */
bool instruction_begins(int elf_fd, uint64_t vaddr);

/*
 * Requests the exits of the functions at `n` addresses of an ELF file. Read the reply with
 * proved_next(); it has the functions in their order, as many as fitted and were analysed in time.
 * BROKER_FUNCTIONS can only be attached to sites of replies and to the return instructions of
 * marker stubs, BROKER_RETURNS only to entries in replies.
 */
struct broker_functions {
	uint64_t bytes[PROVER_MAX_REPLY / sizeof(uint64_t)];
	size_t size;
};
int broker_functions(struct broker *broker, int elf_fd, const uint64_t *vaddrs, unsigned n,
		     struct broker_functions *ret, struct failure *f);

#endif
