/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The accounting of the kernel side: sums what the BPF programs, the decoder and buffered mode have counted, and checks
 * that every mark is either decoded or counted as lost or left out.
 */
#include "capture/internal.h"

#include "capture/batch/batch.h"
#include "capture/stacks/stacks.h"
#include "capture/tables/internal.h"
#include "proftrace.skel.h"

uint64_t account_sum(const struct capture *c, enum account_slot slot)
{
	uint64_t sum = c->batches ? c->batches->slots[slot] : 0;

	for (unsigned cpu = 0; cpu < ACCOUNT_CPUS; cpu++)
		sum += __atomic_load_n(&c->shared->account[cpu][slot], __ATOMIC_RELAXED);
	return sum;
}

/*
 * Marks that were lost because the buffer was full. Some marks of a lost batch may have been seen
 * before.
 */
uint64_t account_lost_full(const struct capture *c)
{
	uint64_t batches = account_sum(c, ACCOUNT_BATCH_LOST);

	if (c->batches)
		batches -= batches < c->batches->overlap ? batches : c->batches->overlap;
	return account_sum(c, ACCOUNT_FULL) + batches;
}

/* Marks in batches are counted by the recorder. */
static uint64_t account_all_marked(const struct capture *c)
{
	uint64_t marked = account_sum(c, ACCOUNT_MARKS);

	if (c->batches)
		marked += c->batches->marked + c->batches->unreadable + account_lost_full(c) -
			  account_sum(c, ACCOUNT_FULL);
	return marked;
}

void capture_account(struct capture *c, struct account *a)
{
	a->marked += account_all_marked(c);
	a->paused += account_sum(c, ACCOUNT_PAUSED);
	a->left_out += c->selection.left_out;
	a->unscheduled += account_sum(c, ACCOUNT_UNSCHEDULED);
	a->switched_off += account_sum(c, ACCOUNT_SWITCHED_OFF);
	a->late_steps += account_sum(c, ACCOUNT_LATE_STEPS);
	a->lost[LOST_BUFFER_FULL] += account_lost_full(c);
	a->lost[LOST_BEGIN_LOST] += account_sum(c, ACCOUNT_BEGIN_LOST);
	a->lost[LOST_CUT] += account_sum(c, ACCOUNT_CUT);
	a->lost[LOST_TOO_DEEP] += account_sum(c, ACCOUNT_TOO_DEEP);
	a->lost[LOST_NO_STATE] += account_sum(c, ACCOUNT_NO_STATE);
	a->lost[LOST_UNMATCHED] += account_sum(c, ACCOUNT_UNMATCHED);
	a->lost[LOST_MALFORMED] += c->decoded.malformed + (c->batches ? c->batches->unreadable : 0);
	a->unreadable_names += c->decoded.unreadable_names;
	a->unreadable_args += c->decoded.unreadable_args;
	a->cut_strings += c->decoded.cut_strings + names_count(c->options.names)->cut;
	a->repaired_strings +=
		c->decoded.repaired_strings + names_count(c->options.names)->repaired;
	a->other_names += names_count(c->options.names)->capped;
	a->samples_lost += account_sum(c, ACCOUNT_READINGS);
	a->sched_lost += account_sum(c, ACCOUNT_SCHED_LOST);
	/* With --sched, the timeline finds them. */
	if (!c->options.sched) {
		a->sched_lost += account_sum(c, ACCOUNT_SWITCHES_UNSEEN);
		a->sched_unseen += account_sum(c, ACCOUNT_SWITCHES_UNSEEN);
	}
	a->syscalls_lost += account_sum(c, ACCOUNT_SYSCALLS_LOST);
	a->waits_lost += account_sum(c, ACCOUNT_WAITS_LOST);
	a->stacks_lost += account_sum(c, ACCOUNT_STACKS_LOST);
	if (c->stacks)
		stacks_account(c->stacks, a);
	a->kernel_events_lost += account_sum(c, ACCOUNT_KERNEL_FULL);
	a->processes_not_followed += account_sum(c, ACCOUNT_PROCESSES);
	a->processes_protected += account_sum(c, ACCOUNT_PROTECTED);
	a->files_refused += c->refused;
	a->sites_refused += c->refused_sites;
	a->rescued += account_sum(c, ACCOUNT_RESCUED);
	if (c->batches) {
		a->clock_error_ns = c->batches->clock.error_ns;
		a->batches_unread += c->batches->unfollowed;
	}
	a->batches_unread += account_sum(c, ACCOUNT_BATCH_UNREADABLE);
	a->followed_late += account_sum(c, ACCOUNT_FOLLOWED_LATE);
	if (c->shared->followed_late_ns > a->followed_late_ns)
		a->followed_late_ns = c->shared->followed_late_ns;
	a->first_exited += account_sum(c, ACCOUNT_FIRST_EXITED);
	a->attached_late += c->late + scans_count_owed(c) + account_sum(c, ACCOUNT_HOLD_TIMEOUT);
	if (c->tables)
		tables_account(c, a);
}

bool capture_adds_up(struct capture *c)
{
	uint64_t marked = account_all_marked(c);
	uint64_t lost = account_lost_full(c) + account_sum(c, ACCOUNT_BEGIN_LOST) +
			account_sum(c, ACCOUNT_CUT) + account_sum(c, ACCOUNT_UNMATCHED) +
			account_sum(c, ACCOUNT_TOO_DEEP) + account_sum(c, ACCOUNT_NO_STATE);

	if (c->batches)
		lost += c->batches->unreadable;
	if (c->tables) {
		struct tables_sums sums;

		tables_sums(c, &sums);
		marked += sums.marked;
		lost += sums.marks + sums.limit + sums.malformed;
	}
	return marked == c->decoded.marks + lost + account_sum(c, ACCOUNT_PAUSED) +
				 account_sum(c, ACCOUNT_UNSCHEDULED) +
				 account_sum(c, ACCOUNT_SWITCHED_OFF);
}
