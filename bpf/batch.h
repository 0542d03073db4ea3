/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Batches: what a thread has written into its own memory, copied as a whole.
 *
 * A batch is taken when its thread hands it over (bpf/batch.bpf.c), and once more when the thread ends
 * or executes another program: then the memory goes, and what is in there has not been handed over.
 * Taking it twice does no harm, since each says from where on in the thread's stream of events it is.
 */
#ifndef PROFTRACE_BPF_BATCH_H
#define PROFTRACE_BPF_BATCH_H

#include "batches.h"
#include "buffers.h"

#define MODE_FILTER 2 /* of seccomp */

/* What a thread is asked for that gets a batch, by the kernel's numbers (include/proftrace.h). */
#if defined(__TARGET_ARCH_x86)
#define CALLS_0 \
	(1ull << 9 | 1ull << 11 | 1ull << 28 | 1ull << 39) /* mmap, munmap, madvise, getpid */
#define CALLS_2 (1ull << (186 - 128))			   /* gettid */
#define CALLS_3 (1ull << (234 - 192))			   /* tgkill */
#else
#define CALLS_0 0ull
#define CALLS_2 (1ull << (131 - 128) | 1ull << (172 - 128) | 1ull << (178 - 128))
#define CALLS_3 (1ull << (215 - 192) | 1ull << (222 - 192) | 1ull << (233 - 192))
#endif

/*
 * Whether the current thread may have forbidden itself one of these, on pain of death. The kernel knows
 * of each filter, those before it included, which system calls it lets pass whatever their arguments.
 */
static __always_inline bool forbids_calls(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct seccomp_filter *filter;
	unsigned long may[4] = {};

	if (!bpf_core_field_exists(task->seccomp.filter) || !task->seccomp.mode)
		return false;
	filter = task->seccomp.filter;
	if (task->seccomp.mode != MODE_FILTER || !filter ||
	    !bpf_core_field_exists(filter->cache.allow_native) ||
	    bpf_probe_read_kernel(may, sizeof(may), &filter->cache.allow_native))
		return true;
	return (may[0] & CALLS_0) != CALLS_0 || (may[2] & CALLS_2) != CALLS_2 ||
	       (may[3] & CALLS_3) != CALLS_3;
}

static __always_inline bool batch_send_class(const struct thread_state *st,
					     const struct record *head, __u64 address, __u64 reason,
					     __u32 bytes, __u32 room)
{
	struct record_batch *r = record_reserve(sizeof(*r) + room);

	if (!r)
		return false;
	r->head = *head;
	r->ops.a = address;
	r->ops.b = reason;
	r->batch = st->batch;
	if (bytes > room)
		bytes = room;
	barrier_var(bytes);
	if (bytes > room)
		bytes = room;
	if (bpf_probe_read_user(r + 1, bytes, (void *)(address + sizeof(r->batch)))) {
		bpf_ringbuf_discard(r, BPF_RB_NO_WAKEUP);
		account_add(ACCOUNT_BATCH_UNREADABLE);
		return false;
	}
	bpf_ringbuf_submit(r, wakeup_due());
	return true;
}

/*
 * What a thread leaves in its batch comes once more from who gets its memory: it counts once. A thread
 * that is killed while it hands its batch over leaves it full: that one comes twice, too. One that
 * was left by longjmp has been handed over then, or counted as lost, and comes again at the end, with
 * what was completed later: the recorder finds out what of that is new.
 */
static __always_inline void batch_account(struct thread_state *st, __u64 pid_tgid, __u64 address,
					  __u32 reason, bool sent)
{
	__u32 lost_before = 0;

	/* Until it is handed over nobody knows that it is there, and all in it may go unseen. */
	if (reason == BATCH_NEW && !sent)
		account_add(ACCOUNT_BATCH_UNREADABLE);
	if (reason == BATCH_ALONE) {
		if (!sent) {
			account_add_n(ACCOUNT_BATCH_LOST, st->batch.complete >> 16);
			st->lost_alone += st->batch.complete >> 16;
		}
		return;
	}
	if (reason == BATCH_EXIT && st->batch.stuck >= BATCH_STUCK)
		return;
	if (st->lost_batch == address && st->lost_base == st->batch.base) {
		account_add_n(ACCOUNT_BATCH_LOST, -st->lost_marks);
		st->lost_batch = 0;
	}
	if (reason == BATCH_EXIT) {
		batch_leave(st, pid_tgid, address, sent ? 0 : st->batch.complete >> 16);
	} else if (batch_take_left(st, pid_tgid, address, &lost_before)) {
		account_add_n(ACCOUNT_BATCH_LOST, -(__u64)lost_before);
		if (!sent && !lost_before)
			return;
	}
	if (sent) {
		st->sent_batch = address;
		st->sent_base = st->batch.base;
		st->sent_complete = st->batch.complete;
		return;
	}
	st->lost_batch = address;
	st->lost_base = st->batch.base;
	st->lost_marks = st->batch.complete >> 16;
	account_add_n(ACCOUNT_BATCH_LOST, st->lost_marks);
}

/* Global: the verifier looks at it once. */
__noinline int batch_send(struct thread_state *st, __u64 pid_tgid, __u64 address, __u32 site,
			  __u32 reason)
{
	struct record head;
	__u32 bytes;
	bool sent;

	if (!st)
		return 0;
	if (bpf_probe_read_user(&st->batch, sizeof(st->batch), (void *)address) ||
	    st->batch.version != BATCH_VERSION || BATCH_USED(&st->batch) < sizeof(st->batch)) {
		account_add(ACCOUNT_BATCH_UNREADABLE);
		return 0;
	}
	st->batch.used = BATCH_USED(&st->batch);
	bytes = st->batch.used - sizeof(st->batch);
	/* Its thread has left it right after handing it over, before it was emptied; or has ended. */
	if (reason != BATCH_ALONE && st->sent_batch == address && st->sent_base == st->batch.base &&
	    st->sent_complete == st->batch.complete &&
	    (reason == BATCH_EXIT || st->batch.stuck >= BATCH_STUCK)) {
		if (reason == BATCH_EXIT)
			batch_leave(st, pid_tgid, address, 0);
		return 0;
	}
	if (reason == BATCH_EXIT && !bytes)
		return 0;
	/* For a moment it may claim more than it has. */
	if (bytes > BATCH_MAX - sizeof(st->batch))
		bytes = BATCH_MAX - sizeof(st->batch);
	head_of(&head, RECORD_BATCH, pid_tgid >> 32, (__u32)pid_tgid);
	head.site = site;
	head.object = forbids_calls();
	head.types = st->lost_alone;
	if (!bytes)
		sent = batch_send_class(st, &head, address, reason, 0, 0);
	else if (bytes <= 2048)
		sent = batch_send_class(st, &head, address, reason, bytes, 2048);
	else if (bytes <= 8192)
		sent = batch_send_class(st, &head, address, reason, bytes, 8192);
	else
		sent = batch_send_class(st, &head, address, reason, bytes,
					BATCH_MAX - sizeof(st->batch));
	if (sent)
		st->lost_alone = 0;
	batch_account(st, pid_tgid, address, reason, sent);
	return 0;
}

static __noinline long batch_send_found(__u32 i, struct batch_walk *w)
{
	bool last;
	__u64 address = batch_take_found(w, i, &last);

	/* Handed over since, it is sent with the others. */
	if (address && !batch_is_known(w->st, w->pid_tgid, address))
		batch_send(w->st, w->pid_tgid, address, 0, BATCH_EXIT);
	return last;
}

static __noinline long batch_send_more(__u32 i, struct batch_walk *w)
{
	__u64 address = batch_take_more(w);

	if (!address)
		return 1;
	batch_send(w->st, w->pid_tgid, address, 0, BATCH_EXIT);
	return 0;
}

/* All that the current thread has not handed over. Global: the verifier looks at it once. */
__noinline int batch_send_rest(struct thread_state *st, __u64 pid_tgid)
{
	struct batch_walk w = { .st = st, .pid_tgid = pid_tgid };
	__u32 i;

	if (!batching || !st)
		return 0;
	if (can_loop) {
		bpf_loop(BATCHES_FOUND_ON, batch_send_found, &w, 0);
		bpf_loop(BATCHES_MOST, batch_send_more, &w, 0);
	} else {
		for (i = 0; i < BATCHES_FOUND_ON_SHORT && !batch_send_found(i, &w); i++)
			;
		for (i = 0; i < BATCHES_MOST_SHORT && !batch_send_more(i, &w); i++)
			;
	}
	for (i = 0; i < BATCHES; i++) {
		if (i < st->n_batches)
			batch_send(st, pid_tgid, st->batches[i], 0, BATCH_EXIT);
	}
	account_add_n(ACCOUNT_BATCH_UNREADABLE, st->n_more + st->n_forgotten);
	batches_none(st);
	return 0;
}

#endif
