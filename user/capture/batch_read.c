/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Batches that their threads have not handed over, read from outside while these go on writing. An
 * event counts once its time is there, which is written last. Should the batch be handed over
 * meanwhile, its head says so after the reading, and what was read is nothing: it comes by itself.
 */
#include "capture/batch.h"

#include <errno.h>
#include <unistd.h>

/* Where a thread does not come back to its batch: much longer than one waits for a CPU. */
#define GIVEN_UP_NS 5000000000ull
/* Words that may wait for somebody who comes late. */
#define MOST_HELD (128 << 20 >> 3)

int batch_process_memory(struct capture *c, struct batch_process *p)
{
	const struct broker_target target = { (pid_t)p->pid, 0 };

	if (p->memory != -1)
		return p->memory;
	p->memory = broker_open(c->broker, BROKER_MEMORY, &target, 0, 0, NULL);
	if (p->memory == -EACCES || p->memory == -EPERM)
		capture_log(c, 0,
			    "not permitted to read the memory of process %u: its marks come when "
			    "batches are full",
			    p->pid);
	if (p->memory < 0)
		p->memory = -2;
	return p->memory;
}

enum head_state {
	HEAD_GONE, /* with its memory, or to another thread: what this one left comes through the kernel */
	HEAD_CLOSED, /* being handed over and emptied: half of what is read could be there no more */
	HEAD_OPEN,
};

static enum head_state read_head(int memory, const struct batch_stream *s, struct batch_head *head)
{
	bool closed;

	if (pread(memory, head, sizeof(*head), (off_t)s->key[1]) != sizeof(*head))
		return HEAD_GONE;
	closed = head->used != BATCH_USED(head) && head->stuck < BATCH_STUCK;
	head->used = BATCH_USED(head);
	if (head->version != BATCH_VERSION || head->used < sizeof(*head) || head->tid != s->owner)
		return HEAD_GONE;
	return closed ? HEAD_CLOSED : HEAD_OPEN;
}

/* False: it has been handed over in between. */
static bool read_events(struct capture *c, struct batch_stream *s, int memory,
			const struct batch_head *head)
{
	struct batches *b = c->batches;
	uint64_t bytes = head->used - sizeof(*head);
	struct batch_head after;

	if (bytes > sizeof(b->memory) - sizeof(*head))
		bytes = sizeof(b->memory) - sizeof(*head);
	if (head->base + bytes <= s->taken && head->stuck < BATCH_STUCK)
		return true;
	if (pread(memory, b->memory, bytes, (off_t)(s->key[1] + sizeof(*head))) != (ssize_t)bytes ||
	    read_head(memory, s, &after) != HEAD_OPEN || after.base != head->base)
		return false;
	batch_stream_take(c, s, head, b->memory, bytes, false);
	return true;
}

/* What is missing will not come any more. */
static void give_up(struct batches *b, struct batch_stream *s, enum head_state state,
		    struct batch_head *head)
{
	s->missing_ns = 0;
	if (state != HEAD_OPEN) {
		head->base = s->taken;
		head->events = s->events;
	}
	batch_stream_lost(b, s, head);
}

/* False: something is missing that may come yet. */
static bool read_stream(struct capture *c, struct batch_stream *s)
{
	struct batches *b = c->batches;
	int memory = batch_process_memory(c, s->thread->process);
	struct batch_head head = { 0 };
	enum head_state state = memory >= 0 ? read_head(memory, s, &head) : HEAD_GONE;

	if (state == HEAD_OPEN && head.base <= s->handed && read_events(c, s, memory, &head)) {
		s->missing_ns = 0;
		return true;
	}
	/* All of it has come, and nothing more is written before it is open again. */
	if (state == HEAD_CLOSED && s->handed >= head.base + head.used - sizeof(head)) {
		s->missing_ns = 0;
		return true;
	}
	/* What had been handed over when it was missed has been taken, or never came. */
	if (s->missing_ns && b->drained_ns <= s->missing_ns)
		return false;
	/* The thread may have been waiting for a CPU since it closed it, or may have died. */
	if (s->missing_ns && state == HEAD_CLOSED && b->drained_ns - s->missing_ns < GIVEN_UP_NS)
		return false;
	/* It has come, or could not be read for a moment only. */
	if (!s->missing_ns || (state == HEAD_OPEN &&
			       (s->handed >= s->missing_base || s->missing_base == UINT64_MAX))) {
		/* Not when the round began: it may have been handed over since. */
		s->missing_ns = monotonic_now();
		s->missing_base = state == HEAD_OPEN ? head.base : UINT64_MAX;
		return false;
	}
	give_up(b, s, state, &head);
	return state != HEAD_OPEN || read_events(c, s, memory, &head);
}

uint64_t batches_read(struct capture *c)
{
	struct batches *b = c->batches;
	uint64_t known_ns = b->drained_ns;
	struct batch_stream *s;

	for (s = b->streams; s; s = s->next) {
		uint64_t ns;

		if (s->over || s->ended || !s->thread || !batch_stream_in_memory(s) ||
		    read_stream(c, s))
			continue;
		ns = s->last_ticks ? batch_clock_ns(&b->clock, s->last_ticks) : s->since_ns;
		if (ns < known_ns)
			known_ns = ns;
	}
	/* Whoever is missing holds the others back for so long, and so much of them, at most. */
	if (b->waiting > MOST_HELD)
		known_ns = b->drained_ns;
	else if (known_ns + GIVEN_UP_NS < b->drained_ns)
		known_ns = b->drained_ns - GIVEN_UP_NS;
	return known_ns > b->known_ns ? known_ns : b->known_ns;
}
