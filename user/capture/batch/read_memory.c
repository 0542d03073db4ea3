/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading batches that have not been handed over, in the program's memory, while its threads go on
 * writing. An event is valid once its time is there, because the time is written last. If the batch
 * is handed over meanwhile, its head has changed after the reading; then what was read is
 * discarded, since the kernel sends it.
 */
#include "capture/batch/batch.h"

#include <errno.h>
#include <unistd.h>

/*
 * A thread that has not come back to its batch for this long is given up. It is much longer than a
 * thread waits for a CPU.
 */
#define GIVEN_UP_NS 5000000000ull
/* A process that holds the lock of its memory for this long is read when it has released it; others do not wait for it. */
#define UNREAD_NS 1000000000ull
/* Words that may wait for a late thread. */
#define MAX_HELD_WORDS (128 << 20 >> 3)

struct target_memory *batch_process_open_memory(struct capture *c, struct batch_process *p)
{
	const struct broker_target target = { (pid_t)p->pid, 0 };
	int fd;

	if (p->memory || p->is_unreadable)
		return p->memory;
	fd = broker_open(c->broker, BROKER_MEMORY, &target, 0, 0, NULL);
	if (fd == -EACCES || fd == -EPERM)
		capture_log(c, 0,
			    "not permitted to read the memory of process %u: its marks arrive when "
			    "its buffers are full",
			    p->pid);
	if (fd >= 0)
		p->memory = target_memory_new(fd);
	p->is_unreadable = !p->memory;
	return p->memory;
}

enum head_state {
	HEAD_REPLACED, /* the memory or the owner has changed; the kernel sends what was in it */
	HEAD_CLOSED,   /* it is being handed over and emptied, so the contents may be incomplete */
	HEAD_OPEN,
	HEAD_LOCKED, /* the process holds the lock of its memory: nothing is known now */
};

/* *ret_first: the time of the first event; 0: there is none, or it is not complete. */
static enum head_state read_batch_head(struct target_memory *memory, const struct batch_stream *s,
				       struct batch_head *head, uint64_t *ret_first)
{
	struct {
		struct batch_head head;
		uint64_t first;
	} read;
	bool closed;
	int error = target_memory_read(memory, s->key[1], &read, sizeof(read));

	if (error)
		return error == -EAGAIN ? HEAD_LOCKED : HEAD_REPLACED;
	*head = read.head;
	*ret_first = read.first;
	closed = head->used != BATCH_USED(head) && head->stuck < BATCH_STUCK;
	head->used = BATCH_USED(head);
	if (!BATCH_READABLE(head) || head->used < sizeof(*head) || head->turn != s->turn)
		return HEAD_REPLACED;
	return closed ? HEAD_CLOSED : HEAD_OPEN;
}

/* False: it has been handed over in between. */
static bool read_batch_events(struct capture *c, struct batch_stream *s,
			      struct target_memory *memory, const struct batch_head *head)
{
	struct batches *b = c->batches;
	uint64_t bytes = head->used - sizeof(*head), first;
	struct batch_head after;

	if (bytes > sizeof(b->memory) - sizeof(*head))
		bytes = sizeof(b->memory) - sizeof(*head);
	if (head->base + bytes <= s->seen_to && head->stuck < BATCH_STUCK)
		return true;
	if (target_memory_read(memory, s->key[1] + sizeof(*head), b->memory, bytes) ||
	    read_batch_head(memory, s, &after, &first) != HEAD_OPEN || after.base != head->base)
		return false;
	batch_stream_add(c, s, head, b->memory, bytes, false);
	return true;
}

/*
 * Remembers what is missing: the events before this batch. The time is the present one and not the beginning of the
 * round, because the batch may have been handed over since.
 */
static void note_missing(struct batch_stream *s, enum head_state state,
			 const struct batch_head *head, uint64_t first)
{
	uint64_t now = batch_clock_now();

	s->missing_ns = monotonic_now();
	s->missing_base = state == HEAD_OPEN ? head->base : UINT64_MAX;
	s->missing_events = head->events;
	s->missing_ticks = first && first < now ? first : now;
}

/*
 * Gives up the events before the batch that was there when they were missed. Those after may be on their way, but
 * they are not earlier than its first event was.
 */
static void give_up_missing(struct batches *b, struct batch_stream *s)
{
	const struct batch_head head = { .base = s->missing_base, .events = s->missing_events };

	batch_stream_skip_lost(b, s, &head);
	if (s->missing_ticks > s->last_ticks)
		s->last_ticks = s->missing_ticks;
}

/* The memory or the owner of the batch has changed: nothing more comes. */
static void give_up_batch(struct batches *b, struct batch_stream *s)
{
	const struct batch_head head = { .base = s->seen_to, .events = s->events };

	batch_stream_skip_lost(b, s, &head);
}

/* Reads one batch. False: something is missing that may still come. */
static bool read_stream(struct capture *c, struct batch_stream *s)
{
	struct batches *b = c->batches;
	struct target_memory *memory = batch_process_open_memory(c, s->thread->process);
	struct batch_head head = { 0 };
	uint64_t first = 0;
	enum head_state state = memory ? read_batch_head(memory, s, &head, &first) : HEAD_REPLACED;

	s->unread = state == HEAD_LOCKED;
	if (state == HEAD_OPEN && s->missing_ns && s->missing_base != UINT64_MAX &&
	    s->handed < s->missing_base && b->drained_ns > s->missing_ns)
		give_up_missing(b, s);
	if (state == HEAD_OPEN && head.base <= s->handed &&
	    read_batch_events(c, s, memory, &head)) {
		s->missing_ns = 0;
		return true;
	}
	/* All of it has come, and the thread writes no more before it is open again. */
	if (state == HEAD_CLOSED && s->handed >= head.base + head.used - sizeof(head)) {
		s->missing_ns = 0;
		return true;
	}
	/* What had been handed over when it was missed has been read by now, or it never came. */
	if (s->missing_ns && b->drained_ns <= s->missing_ns)
		return false;
	if (s->missing_ns && state == HEAD_LOCKED)
		return b->drained_ns - s->missing_ns >= UNREAD_NS;
	/* The thread may be waiting for a CPU since it closed the batch, or it may have died. */
	if (s->missing_ns && state == HEAD_CLOSED)
		return b->drained_ns - s->missing_ns >= GIVEN_UP_NS;
	if (s->missing_ns && state == HEAD_REPLACED) {
		give_up_batch(b, s);
		return true;
	}
	note_missing(s, state, &head, first);
	return false;
}

uint64_t batches_read_memory(struct capture *c)
{
	struct batches *b = c->batches;
	uint64_t known_ns = b->drained_ns;
	struct batch_stream *s;

	LIST_FOREACH(s, &b->streams, of_all)
	{
		uint64_t ns;

		if (s->over || s->ended || !s->thread || !batch_stream_in_memory(s) ||
		    read_stream(c, s))
			continue;
		ns = s->last_ticks ? batch_clock_ns(&b->clock, s->last_ticks) : s->since_ns;
		if (ns < known_ns)
			known_ns = ns;
	}
	/* A missing thread delays the others at most this long, and at most this many words. */
	if (b->waiting > MAX_HELD_WORDS)
		known_ns = b->drained_ns;
	else if (known_ns + GIVEN_UP_NS < b->drained_ns)
		known_ns = b->drained_ns - GIVEN_UP_NS;
	return known_ns > b->known_ns ? known_ns : b->known_ns;
}
