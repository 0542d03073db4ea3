/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The names, texts and sums of an account. The structure is an array of numbers followed by one
 * flag: so files, sums and differences treat all numbers alike, and a new one needs nothing but its
 * line in `numbers`.
 */
#include "timeline/account.h"

#include <stddef.h>
#include <string.h>

#include "timeline/event.h"

static const struct {
	const char *name;
	const char *text;
	const char *hint;
} reasons[LOST_REASONS] = {
	[LOST_BUFFER_FULL] = { "buffer_full", "ring buffer full", "--buffer SIZE" },
	[LOST_BEGIN_LOST] = { "begin_lost", "ends of slices whose begin was lost",
			      "--buffer SIZE" },
	[LOST_CUT] = { "cut",
		       "ends without an open slice, such as those of slices that began before the "
		       "recording",
		       NULL },
	[LOST_UNMATCHED] = { "unmatched", "ends without an open slice of their own", NULL },
	[LOST_TOO_DEEP] = { "too_deep", "nested too deeply", NULL },
	[LOST_NO_STATE] = { "no_state", "no memory in the kernel for the state of a thread", NULL },
	[LOST_MALFORMED] = { "malformed", "malformed records or events", NULL },
	[LOST_LIMIT] = { "limit", "too many threads, tracks or asynchronous slices at once", NULL },
	[LOST_OUTPUT] = { "output", "could not be written to any output", NULL },
	[LOST_CLOCK] = { "clock", "of a clock without a reading so far", NULL },
	[LOST_TIMES] = { "times", "at times that cannot be", NULL },
};

const char *lost_reason_name(enum lost_reason reason)
{
	return (unsigned)reason < LOST_REASONS ? reasons[reason].name : "unknown";
}

const char *lost_reason_text(enum lost_reason reason)
{
	return (unsigned)reason < LOST_REASONS ? reasons[reason].text : "unknown reason";
}

const char *lost_reason_hint(enum lost_reason reason)
{
	return (unsigned)reason < LOST_REASONS ? reasons[reason].hint : NULL;
}

uint64_t account_lost(const struct account *account)
{
	uint64_t sum = 0;

	for (int i = 0; i < LOST_REASONS; i++)
		sum += account->lost[i];
	return sum;
}

#define NUMBERS (offsetof(struct account, orderly) / sizeof(uint64_t))

_Static_assert(offsetof(struct account, orderly) % sizeof(uint64_t) == 0 &&
		       sizeof(struct account) == (NUMBERS + 1) * sizeof(uint64_t),
	       "an account is numbers, and last whether it is orderly");

struct account account_since(const struct account *account, const struct account *before)
{
	struct account difference = *account;
	uint64_t *to = (uint64_t *)&difference;
	const uint64_t *from = (const uint64_t *)before;

	for (size_t i = 0; i < NUMBERS; i++)
		to[i] -= from[i] < to[i] ? from[i] : to[i];
	return difference;
}

bool account_adds_up(const struct account *a)
{
	return a->marked == a->written + account_lost(a) + a->paused + a->unscheduled +
				    a->switched_off + a->unrecorded + a->left_out;
}

void account_merge(struct account *account, const struct account *more)
{
	uint64_t *to = (uint64_t *)account;
	const uint64_t *from = (const uint64_t *)more;

	for (size_t i = 0; i < NUMBERS; i++)
		to[i] += from[i];
}

/* --- by name ----------------------------------------------------------------------------------- */

#define NUMBER(field, text) [offsetof(struct account, field) / sizeof(uint64_t)] = { #field, text }
#define LOST(reason, name, text) \
	[offsetof(struct account, lost) / sizeof(uint64_t) + (reason)] = { "lost." name, text }

static const struct {
	const char *name;
	const char *text;
} numbers[NUMBERS] = {
	NUMBER(marked, NULL),
	NUMBER(written, NULL),
	LOST(LOST_BUFFER_FULL, "buffer_full", "marks lost: ring buffer full"),
	LOST(LOST_BEGIN_LOST, "begin_lost", "marks lost: ends of slices whose begin was lost"),
	LOST(LOST_CUT, "cut", "cut: ends of slices that began before the recording"),
	LOST(LOST_UNMATCHED, "unmatched", "marks lost: ends without an open slice of their own"),
	LOST(LOST_TOO_DEEP, "too_deep", "marks lost: nested too deeply"),
	LOST(LOST_NO_STATE, "no_state", "marks lost: no memory for the state of a thread"),
	LOST(LOST_MALFORMED, "malformed", "marks lost: malformed"),
	LOST(LOST_LIMIT, "limit", "marks lost: too many threads, tracks or slices at once"),
	LOST(LOST_OUTPUT, "output", "marks lost: could not be written"),
	LOST(LOST_CLOCK, "clock", "marks lost: of a clock without a reading so far"),
	LOST(LOST_TIMES, "times", "marks lost: at times that cannot be"),
	NUMBER(paused, NULL),
	NUMBER(left_out, NULL),
	NUMBER(unscheduled, NULL),
	NUMBER(switched_off, NULL),
	NUMBER(unrecorded, NULL),
	NUMBER(unreadable_names, "names that could not be read"),
	NUMBER(unreadable_args, "arguments that could not be read"),
	NUMBER(cut_strings, NULL),
	NUMBER(repaired_strings, NULL),
	NUMBER(other_names, "uses of the name (other): too many names"),
	NUMBER(open_at_end, "slices still open at the end"),
	NUMBER(unfinished, "slices unfinished when their thread or process ended"),
	NUMBER(ended_off, "slices that ended with their domain switched off"),
	NUMBER(ends_lost, "slices whose end was lost"),
	NUMBER(async_unmatched, "asynchronous ends without a begin"),
	NUMBER(started_twice, "markers started twice without a finish"),
	NUMBER(args_dropped, "arguments of marks that had too many"),
	NUMBER(readings_refused, "readings of clocks that contradict others"),
	NUMBER(frees_unknown, "frees of memory allocated before the recording"),
	NUMBER(allocs_not_followed, "allocations not followed: too many are live"),
	NUMBER(rescued, NULL),
	NUMBER(kernel_events_lost, "forks, execs, exits or renames lost"),
	NUMBER(late_steps, "steps that began before all probes were attached again"),
	NUMBER(attached_late, "files attached late"),
	NUMBER(followed_late, "processes followed late"),
	NUMBER(followed_late_ns, NULL),
	NUMBER(first_exited, "processes whose first thread ended before others"),
	NUMBER(batches_unread, "batches not read to their end"),
	NUMBER(clock_error_ns, NULL),
	NUMBER(files_refused, "files that could not be attached to"),
	NUMBER(sites_refused, "probe sites that could not be attached to"),
	NUMBER(processes_not_followed, "processes not followed"),
	NUMBER(processes_protected,
	       "processes not recorded: they are or may be brokers of proftrace"),
	NUMBER(samples, NULL),
	NUMBER(samples_lost, "samples of counters not taken"),
	NUMBER(sched_events, NULL),
	NUMBER(sched_lost, "context switches and wakings lost"),
	NUMBER(sched_unseen, NULL),
	NUMBER(waits_lost, "reasons of waits lost"),
	NUMBER(syscalls, NULL),
	NUMBER(syscalls_lost, "system calls lost"),
	NUMBER(stacks, NULL),
	NUMBER(stacks_lost, "call stacks lost"),
	NUMBER(stacks_cut, "call stacks deeper than the kernel follows"),
	NUMBER(stacks_other, "call stacks recorded as (too many stacks)"),
	NUMBER(python_frames, NULL),
	NUMBER(python_unreadable, "Python frames whose functions could not be read"),
	NUMBER(python_unmatched, "call stacks whose native and Python frames do not agree"),
	NUMBER(python_refused, "processes without Python functions: too many run Python"),
	NUMBER(files_uncompared, "files not compared with others of their path and build id"),
	NUMBER(frames_unnamed, "code addresses without names: too many processes or files"),
	NUMBER(stacks_whole, NULL),
	NUMBER(stacks_frame_pointers, NULL),
	NUMBER(stacks_unmapped, "call stacks that end at code in no known mapping"),
	NUMBER(stacks_no_table, "call stacks that end at code without an unwind table"),
	NUMBER(stacks_pending, "call stacks that end at code whose unwind table was not read yet"),
	NUMBER(stacks_refused, "call stacks that end at code whose unwind table is refused"),
	NUMBER(tables_refused, "files whose unwind table is refused"),
	NUMBER(stacks_unsupported, "call stacks that end at an unsupported rule"),
	NUMBER(stacks_unreadable, "call stacks that end at memory that could not be followed"),
};

void account_callstack(struct account *a, const struct event *event)
{
	uint64_t *const ends[CALLSTACK_ENDS] = {
		[CALLSTACK_WHOLE] = &a->stacks_whole,
		[CALLSTACK_TOO_DEEP] = &a->stacks_cut,
		[CALLSTACK_UNMAPPED] = &a->stacks_unmapped,
		[CALLSTACK_NO_TABLE] = &a->stacks_no_table,
		[CALLSTACK_PENDING] = &a->stacks_pending,
		[CALLSTACK_REFUSED] = &a->stacks_refused,
		[CALLSTACK_UNSUPPORTED] = &a->stacks_unsupported,
		[CALLSTACK_UNREADABLE] = &a->stacks_unreadable,
	};

	if (!event->callstack && event->kind != EVENT_SAMPLE)
		return;
	a->stacks++;
	a->stacks_frame_pointers += event->callstack_by_frame_pointers;
	if (event->callstack_end < CALLSTACK_ENDS && ends[event->callstack_end])
		++*ends[event->callstack_end];
}

unsigned account_numbers(void)
{
	return NUMBERS;
}

const char *account_number_name(unsigned i)
{
	return i < NUMBERS && numbers[i].name ? numbers[i].name : "unknown";
}

const char *account_number_text(unsigned i)
{
	return i < NUMBERS ? numbers[i].text : NULL;
}

uint64_t account_number(const struct account *account, unsigned i)
{
	return i < NUMBERS ? ((const uint64_t *)account)[i] : 0;
}

uint64_t *account_number_named(struct account *account, const char *name)
{
	for (unsigned i = 0; i < NUMBERS; i++) {
		if (numbers[i].name && !strcmp(numbers[i].name, name))
			return &((uint64_t *)account)[i];
	}
	return NULL;
}
