/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Capture: attaches to processes, reads the ring buffers, turns records into events and counts
 * losses. It runs as the invoking user and asks the broker for everything that needs privileges.
 */
#ifndef PROFTRACE_CAPTURE_CAPTURE_H
#define PROFTRACE_CAPTURE_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "counters/counters.h"
#include "base/failure.h"
#include "privilege/target_filter.h"
#include "bpf/marks/schedule.h"
#include "timeline/account.h"
#include "timeline/event.h"

struct capture;

struct capture_options {
	uint64_t buffer_bytes;
	unsigned buffers; /* number of buffers that share these bytes: a power of two */
	/* aggregate in the kernel, in this many rows (a power of two); 0: emit events */
	uint32_t table_rows;
	bool per_thread; /* keep exited threads apart when aggregating */
	bool follow_children;
	bool own_links;		  /* the caller is not root: each process has links of its own */
	bool batching;		  /* buffered mode */
	bool changing;		  /* and exact mode, in turns: --mode auto (capture/guard.h) */
	bool begin_buffered;	  /* then domains begin in buffered mode */
	bool guarded;		  /* measure the cost of marks: capture/guard.h */
	bool switches_off;	  /* and capture_switch_off() may be called */
	struct schedule schedule; /* active 0: none */
	struct counters counters;
	uint32_t sample_hz; /* rate of call stack samples; 0: none */
	/* Globs for the names of marks that get a call stack. */
	const char *const *stacks;
	unsigned n_stacks;
	bool debuginfod;	       /* ask a server for debug files */
	uint64_t offcpu_ns;	       /* stacks of threads that had no CPU for longer; 0: none */
	struct callstacks *callstacks; /* borrowed; NULL without call stacks */
	bool sched;		       /* record context switches and wakeups */
	bool wait_reasons;	       /* with `sched`: why threads are blocked */
	bool syscalls;		       /* record system calls */
	uint64_t counter_interval_ns;  /* 0: only read at marks */
	const pid_t *pids;	       /* that capture_attach() will be called for */
	unsigned n_pids;
	bool adopts; /* capture_adopt() may be called */
	/* Processes that match, for capture_find(); NULL: none. The names are those of the filter. */
	const struct target_filter *targets;
	const char *const *target_names;
	unsigned n_target_names;
	/* -D: globs for domains; a leading ! excludes. */
	const char *const *domains;
	unsigned n_domains;
	/* -u: as parsed by usdt_request_parse(). */
	const char *const *usdt;
	unsigned n_usdt;
	/* -f: as parsed by function_request_parse(). */
	const char *const *functions;
	unsigned n_functions;
	bool return_probes; /* their returns by the kernel's return probes */
	/*
	 * Consumes an event. The first error is remembered as that of the capture, and reading
	 * continues.
	 */
	int (*event)(void *context, const struct event *event);
	/* Aggregated rows of processes with the same number are added up, when their threads exit; NULL: all are */
	uint32_t (*owner_of)(void *context, uint32_t pid);
	/*
	 * How often the user has asked to end; called while attaching and while waiting for the
	 * broker.
	 */
	unsigned (*end_requests)(void *context);
	/*
	 * Whether the user has asked to end for the second time: nothing is waited for any more, not
	 * even names of functions; NULL: never
	 */
	bool (*give_up)(void *context);
	void *context;
	struct names *names;					     /* borrowed */
	void (*log)(void *context, int verbosity, const char *line); /* -v; may be NULL */
};

/*
 * Starts the broker and loads the programs. This needs privileges and must precede dropping them.
 */
int capture_open(const struct capture_options *options, struct capture **ret_capture,
		 struct failure *f);
/* Detaches everything. */
void capture_free(struct capture *capture);

/* For messages that nothing was found: "no markers", or with -u and -f "no markers or probes of -u" and so on. */
const char *capture_nothing(bool usdt, bool functions);

/*
 * Attaches to a running process: its files and its threads' names. All its markers are recorded
 * from the moment this returns. -ENOENT: it has no markers (`f` says what was searched).
 * -ECANCELED: the user has ended it.
 */
int capture_attach(struct capture *capture, pid_t pid, struct failure *f);

/*
 * Attaches to all processes that match `targets`. If it waits, processes that execute a matching program later are
 * attached to before their first mark. -ENOENT: none matches, or none has markers.
 */
int capture_find(struct capture *capture, struct failure *f);

/*
 * Prepares for a process that is going to execute a program, so that no mark of it is missed.
 * `files`: open descriptors of the program and of dynamic linkers that it may use; they are
 * borrowed.
 */
int capture_expect(struct capture *capture, pid_t pid, const int *files, unsigned n,
		   struct failure *f);
/* The same for a process that another proftrace hands over by `socket` (broker_adopt()), with options.adopts. */
int capture_adopt(struct capture *capture, pid_t pid, int socket, const int *files, unsigned n,
		  struct failure *f);

/*
 * For epoll: the first is readable when there is much to read, the second when the broker has died.
 */
int capture_epoll_fd(const struct capture *capture);
int capture_broker_fd(const struct capture *capture);
/* Whether the broker is stuck, so that nothing can be attached to any more; `f` may be NULL. */
bool capture_stuck(const struct capture *capture, struct failure *f);

/*
 * Emits the events that there are, but returns after a while even if more keep coming, with
 * *ret_more set. Returns 0 or more, or negative errno.
 */
int capture_drain(struct capture *capture, bool *ret_more);

/* Emits everything that has happened by now, including what would otherwise wait a little. */
void capture_catch_up(struct capture *capture);
/* NULL if this machine supports buffered mode, else the reason why not. */
const char *capture_no_batches(void);

/* Pauses or resumes all processes. A process that pauses or resumes itself later overrides it. */
void capture_pause(struct capture *capture, bool pause);
/* Whether all are; if there are none, whether one that comes is. *ret_n: how many are. */
bool capture_paused(const struct capture *capture, unsigned *ret_n);
/* The same for one traced process. Its children that are forked later begin as it is then. */
int capture_pause_process(struct capture *capture, pid_t pid, bool pause, struct failure *f);
/* Writes the PIDs of traced processes, at most `size`. Returns the number of all. */
unsigned capture_pids(const struct capture *capture, pid_t *pids, unsigned size);

/* Ends the recording. Everything recorded before has been emitted when this returns. */
int capture_stop(struct capture *capture);

/*
 * Adds the counts of the kernel and of the decoder: current at any time, exact after
 * capture_stop().
 */
void capture_account(struct capture *capture, struct account *account);
/* Whether every mark that the kernel has counted was decoded or counted as lost. */
bool capture_adds_up(struct capture *capture);

/*
 * Under a schedule: capture_wait() detaches all but the control site, so that marks cost as much as
 * those of domains that are turned off. capture_go_on() attaches again; slices that were open are
 * forgotten.
 */
bool capture_can_wait(const struct capture *capture); /* else it would take far too long */
/* Else --mode auto stays in exact mode: a thread that forbids itself the counter could not wait for it. */
bool capture_can_hold(const struct capture *capture);
void capture_wait(struct capture *capture);
void capture_go_on(struct capture *capture);
/* Marks on their way through the kernel, plus recorded slices that are open. */
uint64_t capture_busy(const struct capture *capture);
/* The cost of following files so far. */
struct capture_counts {
	uint64_t attached; /* links */
	uint64_t detaches; /* requests, each for any number of links */
	uint64_t held;	   /* threads held until new files were attached */
};
const struct capture_counts *capture_counts(const struct capture *capture);
uint64_t capture_attach_ns(const struct capture *capture); /* of the longest attaching */

unsigned capture_processes(const struct capture *capture); /* traced and alive */
/* How many of all were in which container and unit: "2 in container web, unit a.service; ..." */
void capture_print_places(const struct capture *capture, char *line, size_t size);
unsigned capture_buffers(const struct capture *capture); /* ring buffers of records */
bool capture_traces(const struct capture *capture, pid_t pid);
/* Whether the process is known to have had the root of this one. It may have exited. */
bool capture_has_our_root(const struct capture *capture, pid_t pid);
unsigned capture_files(const struct capture *capture); /* attached, with markers */
void capture_check_alive(struct capture *capture);     /* if reports of exits may have been lost */
/* The n-th request of -u and -f that matched nothing, and its option; NULL: there are no more. */
const char *capture_not_found(const struct capture *capture, unsigned n, char *ret_option);
/* Prepares for naming the functions in call stacks, before system calls are filtered. */
void capture_begin_names(struct capture *capture);
/* Names all functions that have come by now, before a file that contains them is finished. */
void capture_name_frames(struct capture *capture);
/* Names the functions of one stack while recording, for a file that needs them at once. */
void capture_name_stack(struct capture *capture, const struct callstack *callstack);
/* The number of frames; of those without a name in their file; of those without one in what their process says of generated code. */
void capture_frames(const struct capture *capture, uint64_t *ret_all, uint64_t *ret_without_symbols,
		    uint64_t *ret_without_map);
/* Samples are triggered by cycles and not by a clock. */
bool capture_sample_cycles(const struct capture *c);
/* The broker sees the instructions of other files that the kernel has kept where it attaches. */
bool capture_compares_copies(const struct capture *c);
bool capture_broker_confined(const struct capture *c); /* the broker has a system call filter */

#endif
