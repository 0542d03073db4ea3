/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The account of a recording: what became of every mark that reached the kernel.
 *
 *	marked = written + the sum of lost[] + paused + left_out + unscheduled + switched_off
 *		 + unrecorded
 *
 * Nothing in this project may drop a mark without adding to one of these.
 */
#ifndef PROFTRACE_TIMELINE_ACCOUNT_H
#define PROFTRACE_TIMELINE_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

enum lost_reason {
	LOST_BUFFER_FULL, /* the ring buffer was full: a larger --buffer helps */
	LOST_BEGIN_LOST,  /* an END whose BEGIN was lost */
	LOST_CUT,	  /* an END whose slice began before the recording */
	LOST_UNMATCHED,	  /* an END that closes no open slice: the program's mistake */
	LOST_TOO_DEEP,	  /* nested deeper than 64 */
	LOST_NO_STATE,	  /* no memory for a thread's state in the kernel */
	LOST_MALFORMED,	  /* a record, or an event of a file, that is malformed */
	LOST_LIMIT,	  /* too many open asynchronous slices, threads, tracks, ... at once */
	LOST_OUTPUT,	  /* it could not be written: the disk is full */
	/* with times of its own: of a clock without a reading so far; times that cannot be */
	LOST_CLOCK,
	LOST_TIMES,
	LOST_REASONS,
};

struct account {
	uint64_t marked;  /* marks that reached the kernel, or events read from a file */
	uint64_t written; /* marks that became facts */
	uint64_t lost[LOST_REASONS];
	uint64_t paused; /* not requested: their process was paused, or had ended the recording */
	uint64_t unscheduled;  /* the same, by the schedule */
	uint64_t switched_off; /* the same: their domain was being switched off (--max-overhead) */
	uint64_t left_out;     /* the same, by their categories (--domain) */
	uint64_t unrecorded;   /* became facts while no file was open, also on request */

	/* Written, but not as the program meant it. */
	uint64_t unreadable_names;
	uint64_t unreadable_args;
	uint64_t cut_strings;
	uint64_t repaired_strings; /* not UTF-8, or control characters */
	uint64_t other_names;	   /* named (other): too many distinct names */

	/* Slices. */
	uint64_t open_at_end;	   /* still open when the recording ended */
	uint64_t unfinished;	   /* ended with their thread, process or program */
	uint64_t ended_off;	   /* ended where their domain was switched off */
	uint64_t ends_lost;	   /* closed late: their own END was lost */
	uint64_t async_unmatched;  /* asynchronous ENDs without a BEGIN (written as instants) */
	uint64_t started_twice;	   /* markers started again before they were finished */
	uint64_t args_dropped;	   /* arguments of marks with more than EVENT_MAX_ARGS */
	uint64_t readings_refused; /* of the clock of a track, which contradict others */

	/* Memory pools. */
	uint64_t frees_unknown; /* of memory allocated before the recording, or not followed */
	uint64_t allocs_not_followed; /* more live allocations than are followed */

	/* The kernel's side, not marks. */
	uint64_t rescued; /* records that another ring buffer than their own had space for */
	uint64_t kernel_events_lost; /* forks, execs, exits, renames */
	/* of a schedule: steps that began before all probes were attached again */
	uint64_t late_steps;
	uint64_t attached_late; /* files whose first marks may be missing */
	/*
	 * Where each process has links of its own: processes that were forked, or executed a program in another
	 * thread than the first, whose first marks may be missing, and the longest time of which. Processes whose
	 * first thread ended before others did, of which later marks may be missing.
	 */
	uint64_t followed_late, followed_late_ns;
	uint64_t first_exited;
	/*
	 * Batches whose last marks may be missing: their memory was unmapped or could not be read,
	 * or there were too many.
	 */
	uint64_t batches_unread;
	uint64_t clock_error_ns; /* how far the times of batches were from the kernel's, at most */
	/* existing USDT probes of other projects that could not be attached to */
	uint64_t sites_refused;
	uint64_t files_refused; /* mapped files that could not be opened or attached to */
	uint64_t processes_not_followed;
	uint64_t processes_protected; /* not recorded: they are or may be brokers of proftrace */

	/* Counters that the recorder samples, which are not marks. */
	uint64_t samples;
	uint64_t samples_lost;

	/* Context switches and wakings, which are not marks either. */
	uint64_t sched_events;
	uint64_t sched_lost;
	uint64_t sched_unseen; /* of those: no ring buffer was full, the kernel did not show them */
	uint64_t waits_lost;   /* reasons of waits */
	uint64_t syscalls;
	uint64_t syscalls_lost;

	/* Call stacks, which are not marks: of samples, of marks, of threads that were blocked. */
	uint64_t stacks;
	uint64_t stacks_lost;
	uint64_t stacks_cut; /* deeper than the kernel follows: the outermost frames are missing */
	/* recorded as (too many stacks): there are too many different ones */
	uint64_t stacks_other;
	uint64_t python_frames;
	uint64_t python_unreadable; /* of these, those whose code object could not be read */
	uint64_t python_unmatched;  /* call stacks whose native and Python frames do not agree */
	uint64_t python_refused;    /* processes without Python frames: too many at once */
	uint64_t
		files_uncompared; /* of the path and build id of others: apart from these, though perhaps equal */
	/* frames without a name: too many files, or too many processes with generated code */
	uint64_t frames_unnamed;
	/* Those that reach the beginning of their thread or process; the others ended early: */
	uint64_t stacks_whole;
	uint64_t stacks_frame_pointers; /* of all, found by frame pointers in part or completely */
	uint64_t stacks_unmapped;	/* at code that was not known to be mapped */
	uint64_t stacks_no_table;	/* at code that no unwind table describes */
	uint64_t stacks_pending;	/* at code whose table had not been read yet */
	uint64_t stacks_refused;	/* at code whose table is malformed or did not fit */
	uint64_t tables_refused;	/* files with such a table */
	uint64_t stacks_unsupported;	/* at a rule that cannot be followed */
	uint64_t stacks_unreadable;	/* at memory that cannot be read or is no stack */

	bool orderly; /* the recording was finished, not cut off */
};

struct event;

/* Counts the call stack of an event, if it has one, and how it ended. */
void account_callstack(struct account *account, const struct event *event);

/*
 * A short stable name ("buffer_full") and, for people, what it means and which option helps (or
 * NULL).
 */
const char *lost_reason_name(enum lost_reason reason);
const char *lost_reason_text(enum lost_reason reason);
const char *lost_reason_hint(enum lost_reason reason);
uint64_t account_lost(const struct account *account); /* the sum of lost[] */
/* What was added to `account` since it was `before`. */
struct account account_since(const struct account *account, const struct account *before);
bool account_adds_up(const struct account *account);
void account_merge(struct account *account, const struct account *more);

/*
 * An account as a list of numbers, for files: "marked", "lost.buffer_full", "started_twice". The
 * text is what a number means, for people; NULL where it is no reason for concern. The order is
 * that of the structure.
 */
unsigned account_numbers(void);
const char *account_number_name(unsigned i);
const char *account_number_text(unsigned i);
uint64_t account_number(const struct account *account, unsigned i);
/* NULL when there is no number of that name. */
uint64_t *account_number_named(struct account *account, const char *name);

#endif
