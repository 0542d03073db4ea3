/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Marks that the kernel counts as lost, because the batch in which they were did not fit into the ring buffer, and that are
 * written all the same: they were seen in the program's memory before, or come with a later batch. They count once.
 *
 * How many these are follows from what the program says of its batches, which may be anything. So they are subtracted only
 * from what the kernel has counted for the same thread (bpf/batch/batch_losses.h), which nobody else can change.
 */
#include "capture/batch/batch.h"

static uint64_t read_loss(const __u64 *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static struct batch_loss *loss_slot(const struct batches *b, uint64_t thread, unsigned i)
{
	return &b->losses[(batch_loss_place(thread, b->losses_secret) + i) % BATCH_LOSSES];
}

/*
 * What was lost of the stream's thread; NULL: nothing that is known. A stream that was found in memory does not say who its
 * thread is. What was lost after it had been found is not of another that had the same number before.
 */
static struct batch_loss *find_loss(const struct batches *b, const struct batch_stream *s)
{
	uint64_t thread = s->loss_thread;

	if (!thread && s->thread)
		thread = batch_loss_thread(s->thread->tid, 0);
	for (unsigned i = 0; i < BATCH_LOSSES_ON; i++) {
		struct batch_loss *loss = loss_slot(b, thread, i);
		uint64_t of = read_loss(&loss->thread);

		if (s->loss_thread ? of == thread
				   : of && of >> 42 == thread >> 42 &&
					     read_loss(&loss->last_ns) >= s->begun_ns)
			return loss;
	}
	return NULL;
}

/* Adds to `*sum` as many as the kernel has counted beyond it. Returns how many these were. */
static uint64_t add_within_loss(const struct batch_loss *loss, __u64 *sum, uint64_t n)
{
	uint64_t left = read_loss(&loss->lost) - *sum;

	n = n < left ? n : left;
	*sum += n;
	return n;
}

void batch_losses_seen(struct batches *b, const struct batch_stream *s, uint64_t n)
{
	struct batch_loss *loss = find_loss(b, s);

	if (loss)
		b->overlap += add_within_loss(loss, &loss->seen, n);
}

uint64_t batch_losses_reported(struct batches *b, const struct batch_stream *s, uint64_t n)
{
	struct batch_loss *loss = find_loss(b, s);

	return loss ? add_within_loss(loss, &loss->reported, n) : 0;
}

void batch_losses_forget(struct batches *b, uint32_t tid, uint64_t at_ns)
{
	for (unsigned i = 0; i < BATCH_LOSSES_ON; i++) {
		struct batch_loss *loss = loss_slot(b, batch_loss_thread(tid, 0), i);

		/* Another may have the number by now. */
		if (!read_loss(&loss->thread) || loss->thread >> 42 != tid ||
		    read_loss(&loss->last_ns) > at_ns)
			continue;
		loss->lost = loss->last_ns = loss->seen = loss->reported = 0;
		__atomic_store_n(&loss->thread, 0, __ATOMIC_RELEASE);
	}
}
