/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading what the kernel has written: regularly, up to a moment, and all of it when the recording stops. */
#include "capture/batch/batch.h"
#include "capture/file_watch.h"
#include "capture/internal.h"
#include "capture/rings.h"
#include "capture/stacks/stacks.h"
#include "capture/tables/internal.h"

#include <errno.h>
#include <sys/epoll.h>

#include "proftrace.skel.h"

/* for tables of call stacks, between records */
#define TABLES_WITHIN_NS 20000000ull
#define DRAIN_WITHIN_NS	 100000000ull /* while scans of processes are due between records */
#define CATCH_UP_EACH	 4096	      /* normal minimum of records in a round */

int capture_drain(struct capture *c, bool *ret_more)
{
	int held, n;

	clocks_sample(&c->clocks);
	c->is_drained = !c->searching;
	c->drain_until_ns = 0;
	file_watch_read(c);
	files_attach_parted(c);
	n = held = holds_serve(c);
	if (n >= 0 || n == -EAGAIN) {
		c->budget = DRAIN_AT_MOST;
		c->drain_until_ns = monotonic_now() + DRAIN_WITHIN_NS;
		n = rings_drain(c->rings, DRAIN_AT_MOST);
	}
	if (c->stacks)
		stacks_receive_tables(c->stacks, monotonic_now() + TABLES_WITHIN_NS);
	*ret_more = n == -EAGAIN || held == -EAGAIN;
	*ret_more |= siblings_look(c);
	*ret_more |= !c->stopping && files_turn_some(c);
	if (c->batches) {
		c->batches->drained_ns = rings_known_ns(c->rings);
		batches_merge(c, false);
	}
	return n == -EAGAIN ? 0 : n;
}

/*
 * Emits what was written before this moment and no more, since a program may write faster than it
 * is read. This is at most what the buffers contain. A record that is not complete, because its
 * thread has no CPU, blocks those behind it; it is not waited for here, only at the end.
 */
void capture_catch_up(struct capture *c)
{
	uint64_t until_ns = monotonic_now(), give_up_ns = until_ns + BATCH_STOPS_WITHIN_NS;
	uint64_t rounds = c->options.buffer_bytes / sizeof(struct record) / CATCH_UP_EACH;
	bool more = true;

	while (more && rings_known_ns(c->rings) < until_ns) {
		if (!rounds && monotonic_now() >= give_up_ns)
			break;
		rounds -= rounds > 0;
		if (capture_drain(c, &more) < 0)
			break;
	}
	if (c->batches)
		batches_merge(c, true);
}

static int drain_all(struct capture *c)
{
	bool more;
	int n;

	do
		n = capture_drain(c, &more);
	while (n >= 0 && more);
	return n;
}

/* Reports losses that no thread has reported, because it has exited or made no mark since. */
static void emit_remaining_losses(struct capture *c)
{
	uint64_t lost = account_lost_full(c);
	struct event e = { .kind = EVENT_LOST, .level = -1, .ts_ns = monotonic_now() };

	if (lost <= c->decoded.reported_lost)
		return;
	e.size = lost - c->decoded.reported_lost;
	capture_emit(c, &e);
}

/*
 * What threads hand over after recording has ended is not sent, although it happened before. So
 * everything up to now is read first, and then recording ends.
 */
static void stop_batches(struct capture *c)
{
	uint64_t until_ns = monotonic_now(), give_up_ns = until_ns + BATCH_STOPS_WITHIN_NS;
	struct epoll_event e;

	c->batches->until_ns = until_ns;
	capture_catch_up(c);
	while (c->batches->known_ns < until_ns && monotonic_now() < give_up_ns) {
		/* A thread has reserved space in the ring buffer and waits for a CPU to fill it. */
		epoll_wait(c->epoll_fd, &e, 1, 1);
		capture_catch_up(c);
	}
	if (account_sum(c, ACCOUNT_KERNEL_FULL))
		batches_find_exited(c->batches);
}

/*
 * Whether a program of ours may still be writing a record, or the broker may still have to count. That a process ends is
 * written by its last thread, after its marks; of what runs in other threads (--sched) or in interrupts that cannot be said.
 * Where each process has links of its own, the broker counts the processes that got them late, or had ended before.
 */
static bool may_be_writing(const struct capture *c)
{
	const struct capture_options *o = &c->options;

	return c->processes || capture_attaches_each(c) || o->targets ||
	       account_sum(c, ACCOUNT_KERNEL_FULL) || o->sched || o->syscalls || o->sample_hz ||
	       o->offcpu_ns || o->counter_interval_ns;
}

int capture_stop(struct capture *c)
{
	int n;

	c->stopping = true;
	if (c->batches)
		stop_batches(c);
	c->shared->recording = 0;
	n = drain_all(c);
	/* Detaching waits for programs that are still running, so nothing is missing afterwards. It takes 50 ms. */
	if (!capture_can_wait(c) || may_be_writing(c))
		files_detach(c);
	else
		c->leaves_detaching = true;
	rings_end(c->rings);
	if (n >= 0)
		n = drain_all(c);
	if (c->batches)
		batches_stop(c);
	c->stopped = true;
	if (c->tables)
		capture_table_tick(c);
	emit_remaining_losses(c);
	return n < 0 ? n : 0;
}
