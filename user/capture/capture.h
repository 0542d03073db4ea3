/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Capture knows the kernel: it attaches to processes, drains the ring buffers, turns records into
 * events and counts what was lost. It runs as the invoking user; what needs privileges it asks of
 * the broker.
 */
#ifndef PROFTRACE_CAPTURE_CAPTURE_H
#define PROFTRACE_CAPTURE_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "counters/counters.h"
#include "failure.h"
#include "schedule.h"
#include "timeline/account.h"
#include "timeline/event.h"

struct capture;

struct capture_options {
	uint64_t buffer_bytes;
	unsigned buffers;    /* that share these bytes: a power of two */
	uint32_t table_rows; /* no events: the kernel adds up in so many rows (a power of two) */
	bool per_thread;     /* of these, keep threads apart that have ended */
	bool follow_children;
	bool batching;		  /* marks come in batches */
	bool batching_now;	  /* also of programs that have just begun */
	bool guarded;		  /* measure what marks cost: capture/guard.h */
	struct schedule schedule; /* active 0: none */
	struct counters counters;
	uint32_t sample_hz; /* take call stacks so often; 0: none */
	/* Globs of the names of marks whose call stacks are taken. */
	const char *const *stacks;
	unsigned n_stacks;
	uint64_t offcpu_ns;	       /* also of threads that had no CPU for longer; 0: none */
	struct callstacks *callstacks; /* borrowed; where they go, if any are taken */
	bool sched;		       /* tell who has which CPU, and who wakes whom */
	uint64_t counter_interval_ns;  /* 0: only read at marks */
	const pid_t *pids;	       /* that capture_attach() will be called for */
	unsigned n_pids;
	/* -D: globs of domain names; a leading ! excludes. */
	const char *const *domains;
	unsigned n_domains;
	/* -u: probes of others, as usdt_request_parse() takes them. */
	const char *const *usdt;
	unsigned n_usdt;
	/* -f: functions, as function_request_parse() takes them. */
	const char *const *functions;
	unsigned n_functions;
	/* Where events go. Anything but 0 is remembered as the error of the capture; draining goes on. */
	int (*event)(void *context, const struct event *event);
	/* How often it was told to end: asked while a process is attached to, and the broker waited for. */
	unsigned (*told_to_end)(void *context);
	void *context;
	struct names *names;					     /* borrowed */
	void (*log)(void *context, int verbosity, const char *line); /* -v; may be NULL */
};

/* Starts the broker and loads the programs: with the privileges that are there, before dropping them. */
int capture_open(const struct capture_options *options, struct capture **ret_capture,
		 struct failure *f);
/* Detaches whatever is attached. */
void capture_free(struct capture *capture);

/*
 * Attaches to a running process: its files, its threads' names; from the moment this returns all its
 * markers are recorded. -ENOENT: it has no markers (`f` says what was searched). -ECANCELED: given up.
 */
int capture_attach(struct capture *capture, pid_t pid, struct failure *f);

/*
 * Prepares for a process that will execute a program: nothing of it is missed. `files`: the
 * program and the dynamic linkers that can be expected, as open descriptors (not taken over).
 */
int capture_expect(struct capture *capture, pid_t pid, const int *files, unsigned n,
		   struct failure *f);

/* For epoll: one becomes readable when there is much to drain, one when the broker died. */
int capture_epoll_fd(const struct capture *capture);
int capture_broker_fd(const struct capture *capture);
/* Whether the broker was given up, so that nothing more is attached to; `f` may be NULL. */
bool capture_stuck(const struct capture *capture, struct failure *f);

/*
 * Hands on the events there are, but comes back after a while even if new ones never cease: then
 * *ret_more is set. Returns 0 or more, or negative errno.
 */
int capture_drain(struct capture *capture, bool *ret_more);

/* Hands on all that has happened by now, also what would otherwise wait a little. */
void capture_catch_up(struct capture *capture);
/* NULL when this machine can record in batches, else why not. */
const char *capture_no_batches(void);

/*
 * From the moment this returns no process is recorded, or all are; except that those that pause or
 * resume themselves later have it their way.
 */
void capture_pause(struct capture *capture, bool pause);
bool capture_paused(const struct capture *capture);

/* From the moment this returns nothing is recorded any more; everything recorded was handed on. */
int capture_stop(struct capture *capture);

/* Adds what the kernel and the decoder counted: up to date at any time, exact after capture_stop(). */
void capture_account(struct capture *capture, struct account *account);
/* Whether every mark the kernel counted was either taken from the ring buffer or counted as lost. */
bool capture_adds_up(struct capture *capture);

/*
 * Under a schedule. capture_wait() detaches all but the control site, so that markers cost what those
 * cost that are off; capture_go_on() attaches again. What is open then on a thread is forgotten.
 */
bool capture_can_wait(const struct capture *capture); /* else it would take far too long */
void capture_wait(struct capture *capture);
void capture_go_on(struct capture *capture);
/* Marks on their way through the kernel, and slices that are recorded and open. */
uint64_t capture_busy(const struct capture *capture);
uint64_t capture_attach_ns(const struct capture *capture); /* how long the longest attaching took */

unsigned capture_processes(const struct capture *capture); /* traced and alive */
unsigned capture_buffers(const struct capture *capture);   /* ring buffers of records */
bool capture_traces(const struct capture *capture, pid_t pid);
unsigned capture_files(const struct capture *capture); /* with markers, attached */
void capture_check_alive(struct capture *capture);     /* where their exits may have been lost */
/* Of -u and -f, the n-th that nothing was found for, and which of the two; NULL: there are no more. */
const char *capture_not_found(const struct capture *capture, unsigned n, char *ret_option);
bool capture_holds(const struct capture *capture); /* new libraries are never attached late */
/*
 * Before system calls are filtered: gets ready to find what the functions in call stacks are called; and
 * finds it, of all that have come by now, before a file that has them is finished.
 */
void capture_begin_names(struct capture *capture);
void capture_name_frames(struct capture *capture);
/* Finds it of one stack, while it records, for a file that has to have it at once. */
void capture_name_stack(struct capture *capture, const struct callstack *callstack);
/* Of so many places in code, and how many have names. */
void capture_frames(const struct capture *capture, uint64_t *ret_all, uint64_t *ret_named);
/* Samples are taken by cycles, not by clocks. */
bool capture_sample_cycles(const struct capture *c);
bool capture_broker_confined(const struct capture *c); /* it has a filter of system calls */

#endif
