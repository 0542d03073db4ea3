/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sending batches: copying into the ring buffer what a thread has written into its own memory.
 *
 * A batch is sent when its thread hands it over (bpf/batch/batch.bpf.c), and once more when the thread
 * exits or executes another program, because the memory is freed then and the latest events have
 * not been handed over. Sending the same events twice does no harm: each batch says at which byte
 * of the thread's stream of events it begins, so the recorder recognises what it has seen.
 */
#ifndef PROFTRACE_BPF_BATCH_SEND_H
#define PROFTRACE_BPF_BATCH_SEND_H

#include "bpf/batch/batch_list.h"
#include "bpf/batch/batch_losses.h"
#include "bpf/buffers.h"

static __always_inline bool batch_send_sized(const struct thread_state *st,
					     const struct record *head, __u64 address, __u64 reason,
					     __u32 bytes, __u32 space)
{
	struct record_batch *r = record_reserve(sizeof(*r) + space);

	if (!r)
		return false;
	r->head = *head;
	r->ops.a = address;
	r->ops.b = reason;
	r->from = st->batch_from;
	r->from_events = st->batch_from_events;
	r->thread = batch_loss_thread(head->tid, st->birth);
	r->batch = st->batch;
	if (bytes > space)
		bytes = space;
	barrier_var(bytes);
	if (bytes > space)
		bytes = space;
	if (bpf_probe_read_user(r + 1, bytes, (void *)(address + sizeof(r->batch)))) {
		bpf_ringbuf_discard(r, BPF_RB_NO_WAKEUP);
		account_add(ACCOUNT_BATCH_UNREADABLE);
		return false;
	}
	bpf_ringbuf_submit(r, wakeup_due());
	return true;
}

/*
 * Finds where the thread's own events begin in a batch that a fork has copied. False: the thread
 * that forked had more batches than could be remembered, and this may be one of them.
 */
static __always_inline bool batch_find_inherited(struct thread_state *st, __u64 pid_tgid,
						 __u64 address, __u64 reason)
{
	const struct batch_inherited *inherited =
		bpf_map_lookup_elem(&batches_inherited, &pid_tgid);

	st->batch_from = st->batch_from_events = 0;
	if (!inherited || reason == BATCH_ALONE)
		return true;
	for (__u32 i = 0; i < BATCHES; i++) {
		if (i < inherited->n && inherited->batches[i] == address) {
			st->batch_from = inherited->from[i];
			st->batch_from_events = inherited->from_events[i];
			return true;
		}
	}
	return !inherited->more || reason == BATCH_NEW;
}

/* Counts the complete events of the batch in st->batch that are the thread's own. */
static __always_inline __u64 batch_count_own_marks(const struct thread_state *st)
{
	__u64 end = st->batch.events + (st->batch.complete >> 16);

	if (st->batch_from_events <= st->batch.events)
		return st->batch.complete >> 16;
	return end > st->batch_from_events ? end - st->batch_from_events : 0;
}

/*
 * Accounts for a batch that was sent or lost. A thread that is killed while it hands over its batch leaves it full
 * or half emptied. A batch that was left by longjmp() was accounted for at that time, and comes again at the thread's
 * exit with the events that were completed later; the recorder finds out which of them are new.
 */
static __always_inline void batch_account(struct thread_state *st, __u64 pid_tgid, __u64 address,
					  __u32 reason, bool sent)
{
	/*
	 * The recorder does not know this batch until it is handed over the next time, so all its
	 * events may be missed.
	 */
	if (reason == BATCH_NEW && !sent)
		account_add(ACCOUNT_BATCH_UNREADABLE);
	if (reason == BATCH_ALONE) {
		if (!sent) {
			batch_count_lost(pid_tgid, st->birth, st->batch.complete >> 16);
			st->lost_alone += st->batch.complete >> 16;
		}
		return;
	}
	if (reason == BATCH_EXIT && st->batch.stuck >= BATCH_STUCK)
		return;
	if (!sent)
		batch_count_lost(pid_tgid, st->birth, batch_count_own_marks(st));
	/* At its exit a thread sends each of its batches once, after the one that it was handing over. */
	if (reason == BATCH_EXIT)
		return;
	st->handed_batch = address;
	st->handed_base = st->batch.base;
	st->handed_events = st->batch.complete >> 16;
}

/*
 * Whether the batch was sent, or counted as lost, when its thread handed it over, and has nothing new since. The
 * thread was stopped before it had emptied the batch, or has exited.
 */
static __always_inline bool batch_is_accounted(const struct thread_state *st, __u64 address,
					       __u64 reason)
{
	return (reason == BATCH_EXIT || st->batch.stuck >= BATCH_STUCK) && reason != BATCH_ALONE &&
	       st->handed_batch == address && st->handed_base == st->batch.base &&
	       st->batch.complete >> 16 <= st->handed_events;
}

#define MISSED_MOST 65536 /* events of one gap: the program may claim any number */

/*
 * Counts events as lost that were handed over when this program did not run: by a child of vfork() that has its
 * parent's batch, if each process has links of its own.
 */
static __always_inline void batch_account_missed(struct thread_state *st, __u64 pid_tgid,
						 __u64 address, __u64 reason)
{
	__u32 place = batch_place(st, address);
	__u64 known, missed;

	if (place >= BATCHES)
		return;
	place &= BATCHES - 1;
	known = st->batch_events[place];
	missed = st->batch.events - known;
	if (reason != BATCH_NEW && known != BATCH_EVENTS_UNKNOWN && st->batch.events > known)
		batch_count_lost(pid_tgid, st->birth, missed < MISSED_MOST ? missed : MISSED_MOST);
	st->batch_events[place] = st->batch.events + (st->batch.complete >> 16);
}

/* An event alone whose strings are still in the program: include/proftrace.h, section 4, reason 5. */
struct batch_strings {
	__u64 address; /* of the batch */
	__u64 where;   /* the word of the first value; above it the byte where the strings begin */
	__u64 stub;
};

#define STRINGS_EVENT \
	512 /* bytes of the event without its strings: at most 12 words, a name and categories */
#define STRINGS_SPACE (STRINGS_EVENT + MAX_ARGS * MAX_STRING + 8)

/* Reads one string to `at` in the record. Returns its value in the event. */
static __always_inline __u64 batch_read_string(struct record_batch *r, __u32 at, __u64 from,
					       __u64 stub)
{
	__u64 far = from - stub + 0x80000000;
	long n;

	if (!from)
		return STRING_NULL;
	if (at > STRINGS_SPACE - MAX_STRING - 2)
		return STRING_UNREADABLE | (__u32)NAME_FAR;
	barrier_var(at);
	if (at > STRINGS_SPACE - MAX_STRING - 2)
		return STRING_UNREADABLE | (__u32)NAME_FAR;
	/* A NUL, and one byte that tells a longer string. */
	n = bpf_probe_read_user_str((char *)(r + 1) + at, MAX_STRING + 2, (void *)from);
	/* As in copy_user_string() of marks/mark_records.h. */
	if (n < 0)
		return STRING_UNREADABLE | (far >> 32 ? (__u32)NAME_FAR : (__u32)(from - stub));
	if (n > MAX_STRING + 1)
		return STRING_CUT | MAX_STRING;
	return n > 0 ? n - 1 : 0;
}

/*
 * Puts the strings behind the event, whose size is set accordingly. Where the next one begins is kept in the record: of
 * what it reads from there the verifier knows nothing, so it does not follow the next strings once for each length and each way
 * to read this one.
 */
static __always_inline void batch_append_strings(struct record_batch *r,
						 const struct batch_strings *s)
{
	__u64 *words = (__u64 *)(r + 1), value, types = words[BATCH_EVENT_HEAD - 1];
	__u32 first = s->where & 15, end, i;

	ONCE(r->batch.used) = s->where >> 32 & (STRINGS_EVENT - 1);
	for (i = 0; i < MAX_ARGS; i++) {
		if (i >= META_ARGS(types))
			break;
		if (META_TYPE(types, i) != VALUE_STRING)
			continue;
		end = ONCE(r->batch.used);
		value = batch_read_string(r, end, words[(first + i) & 31], s->stub);
		words[(first + i) & 31] = value;
		if (!(value & (STRING_NULL | STRING_UNREADABLE)))
			ONCE(r->batch.used) = end + ((__u32)value & 511);
	}
	end = (ONCE(r->batch.used) + 7) / 8;
	words[BATCH_EVENT_HEAD - 1] = (types & ~(0xffull << 56)) | (__u64)end << 56;
	r->batch.complete = 1 << 16 | end;
	r->batch.used = sizeof(r->batch) + end * 8;
}

static __always_inline bool batch_output_strings(const struct thread_state *st, __u64 pid_tgid,
						 __u32 site, const struct batch_strings *s)
{
	struct record_batch *r = record_reserve(sizeof(*r) + STRINGS_SPACE);
	__u32 bytes = st->batch.used - sizeof(st->batch);

	if (!r)
		return false;
	init_record_head(&r->head, RECORD_BATCH, pid_tgid >> 32, (__u32)pid_tgid);
	r->head.site = site;
	r->head.types = st->lost_alone;
	r->head.flags = BATCH_STRINGS_READ;
	r->ops.a = s->address;
	r->ops.b = BATCH_ALONE;
	r->from = r->from_events = 0;
	r->thread = batch_loss_thread((__u32)pid_tgid, st->birth);
	r->batch = st->batch;
	if (bytes > STRINGS_EVENT)
		bytes = STRINGS_EVENT;
	barrier_var(bytes);
	if (bytes > STRINGS_EVENT)
		bytes = STRINGS_EVENT;
	if (bpf_probe_read_user(r + 1, bytes, (void *)(s->address + sizeof(r->batch)))) {
		bpf_ringbuf_discard(r, BPF_RB_NO_WAKEUP);
		account_add(ACCOUNT_BATCH_UNREADABLE);
		return false;
	}
	batch_append_strings(r, s);
	bpf_ringbuf_submit(r, wakeup_due());
	return true;
}

/* Sends that many bytes of events, in the smallest record that is large enough. */
static __always_inline bool batch_send_fitting(const struct thread_state *st, __u64 pid_tgid,
					       __u64 address, __u32 site, __u64 reason, __u32 bytes)
{
	struct record head;

	init_record_head(&head, RECORD_BATCH, pid_tgid >> 32, (__u32)pid_tgid);
	head.site = site;
	head.types = st->lost_alone;
	if (!bytes)
		return batch_send_sized(st, &head, address, reason, 0, 0);
	if (bytes <= 2048)
		return batch_send_sized(st, &head, address, reason, bytes, 2048);
	if (bytes <= 8192)
		return batch_send_sized(st, &head, address, reason, bytes, 8192);
	return batch_send_sized(st, &head, address, reason, bytes, BATCH_MAX - sizeof(st->batch));
}

static __always_inline bool batch_read_head(struct thread_state *st, __u64 address)
{
	if (bpf_probe_read_user(&st->batch, sizeof(st->batch), (void *)address) ||
	    !BATCH_READABLE(&st->batch) || BATCH_USED(&st->batch) < sizeof(st->batch))
		return false;
	st->batch.used = BATCH_USED(&st->batch);
	return true;
}

/*
 * The memory of a batch is about to be unmapped. Its contents are sent as they are, and the
 * recorder knows the owner. The state is that of the thread that unloads. A global function, so
 * that the verifier checks it only once.
 */
__noinline int batch_send_unloaded(struct thread_state *st, __u64 pid_tgid, __u64 address,
				   __u32 site)
{
	struct batch_key key = { pid_tgid >> 32 << 32, address };
	__u64 birth = birth_of_process();
	__u32 bytes;

	if (!batching || !st)
		return 0;
	bpf_map_update_elem(&batches_unloaded, &key, &birth, BPF_ANY);
	st->batch_from = st->batch_from_events = 0;
	if (!batch_read_head(st, address)) {
		account_add(ACCOUNT_BATCH_UNREADABLE);
		return 0;
	}
	bytes = st->batch.used - sizeof(st->batch);
	if (bytes > BATCH_MAX - sizeof(st->batch))
		bytes = BATCH_MAX - sizeof(st->batch);
	/* Other losses of this thread are reported with its own batches. */
	if (!batch_send_fitting(st, pid_tgid, address, site, BATCH_UNLOADED, bytes))
		account_add(ACCOUNT_BATCH_UNREADABLE);
	return 0;
}

/*
 * Whether the memory of the batch was unmapped, and nobody has got a batch there since. All threads may ask that had one
 * at this address, one after the other.
 */
static __always_inline bool batch_was_unloaded(__u64 pid_tgid, __u64 address)
{
	struct batch_key key = { pid_tgid >> 32 << 32, address };
	const __u64 *birth = bpf_map_lookup_elem(&batches_unloaded, &key);

	return birth && *birth == birth_of_process();
}

static __always_inline void batch_forget_unloaded(__u64 pid_tgid, __u64 address)
{
	struct batch_key key = { pid_tgid >> 32 << 32, address };

	bpf_map_delete_elem(&batches_unloaded, &key);
}

/* Remembers the thread pointer of a thread that hands over its batch. A program may use several in one thread. */
static __always_inline void batch_note_owner(struct thread_state *st)
{
	if (st->batch_owner && st->batch_owner != st->batch.owner)
		st->batch_owner = BATCH_OWNERS_SEVERAL;
	else
		st->batch_owner = st->batch.owner;
}

/*
 * Whether another thread has a batch where one of this thread was, in a library that was unloaded. That thread hands it
 * over itself.
 */
static __always_inline bool batch_is_of_other(const struct thread_state *st)
{
	return st->batch_owner && st->batch_owner != BATCH_OWNERS_SEVERAL &&
	       st->batch_owner != st->batch.owner;
}

#define BATCH_WAIT_EACH_NS 2000 /* about what a mark takes in exact mode where CPUs are busy */
#define BATCH_WAIT_MOST_NS 2000000
#define BATCH_WAIT_STEPS   (1 << 20) /* more than there are in that time */

static long batch_wait_step(__u32 i, const __u64 *deadline)
{
	return !buffer_is_half_full() || !*(volatile __u32 *)&recording ||
	       bpf_ktime_get_ns() > *deadline;
}

/*
 * Lets a thread that hands over its batch wait while the recorder is behind, under --mode auto: a program that marks
 * faster than the recorder writes would lose marks that it does not lose in exact mode, where each mark takes longer.
 * The program is not sleepable, so the time is short, and the thread can be preempted when it returns.
 */
static __always_inline void batch_wait_for_recorder(__u64 events)
{
	__u64 wait_ns = events * BATCH_WAIT_EACH_NS, deadline;

	if (!guarded || !can_loop || !buffer_is_half_full())
		return;
	deadline =
		bpf_ktime_get_ns() + (wait_ns < BATCH_WAIT_MOST_NS ? wait_ns : BATCH_WAIT_MOST_NS);
	bpf_loop(BATCH_WAIT_STEPS, batch_wait_step, &deadline, 0);
}

/* A global function, so that the verifier checks it only once. */
__noinline int batch_send(struct thread_state *st, __u64 pid_tgid, __u64 address, __u32 site,
			  __u32 reason)
{
	__u32 bytes;
	bool sent;

	if (!st)
		return 0;
	if (!batch_read_head(st, address)) {
		if (reason != BATCH_EXIT || !batch_was_unloaded(pid_tgid, address))
			account_add(ACCOUNT_BATCH_UNREADABLE);
		return 0;
	}
	if (reason == BATCH_EXIT && batch_is_of_other(st))
		return 0;
	if (reason == BATCH_NEW)
		batch_forget_unloaded(pid_tgid, address);
	if (reason == BATCH_NEW || reason == BATCH_FULL)
		batch_note_owner(st);
	bytes = st->batch.used - sizeof(st->batch);
	if (batch_is_accounted(st, address, reason))
		return 0;
	if (reason != BATCH_ALONE)
		batch_account_missed(st, pid_tgid, address, reason);
	if (!batch_find_inherited(st, pid_tgid, address, reason)) {
		account_add(ACCOUNT_BATCH_UNREADABLE);
		return 0;
	}
	if (reason == BATCH_EXIT && st->batch.base + bytes <= st->batch_from)
		return 0;
	if (reason == BATCH_EXIT && !bytes)
		return 0;
	/* The thread may be writing, so the head may claim more bytes than there are. */
	if (bytes > BATCH_MAX - sizeof(st->batch))
		bytes = BATCH_MAX - sizeof(st->batch);
	if (reason == BATCH_FULL)
		batch_wait_for_recorder(st->batch.complete >> 16);
	sent = batch_send_fitting(st, pid_tgid, address, site, reason, bytes);
	if (sent)
		st->lost_alone = 0;
	batch_account(st, pid_tgid, address, reason, sent);
	return 0;
}

/* A global function, so that the verifier checks it only once. */
__noinline int batch_send_strings(struct thread_state *st, __u64 pid_tgid, __u32 site,
				  struct batch_strings *s)
{
	bool sent;

	if (!st || !s)
		return 0;
	if (!batch_read_head(st, s->address)) {
		account_add(ACCOUNT_BATCH_UNREADABLE);
		return 0;
	}
	sent = batch_output_strings(st, pid_tgid, site, s);
	if (sent)
		st->lost_alone = 0;
	batch_account(st, pid_tgid, s->address, BATCH_ALONE, sent);
	return 0;
}

static __noinline long batch_send_mapped(__u32 i, struct batch_walk *w)
{
	__u64 address = w->cost < BATCHES_END_COST ? batch_pop_mapped(w) : 0;

	if (!address)
		return 1;
	w->st->batch.used = 0;
	batch_send(w->st, w->pid_tgid, address, w->site, BATCH_EXIT);
	w->cost += BATCH_END_COST + BATCH_USED(&w->st->batch);
	return 0;
}

/*
 * Sends all batches of the current thread that have events not handed over yet, for 2 to 3 ms at most: the CPU does
 * nothing else meanwhile, and a program or a recorder may claim that there are thousands. A global function, so that the
 * verifier checks it only once.
 */
__noinline int batches_send_pending(struct thread_state *st, __u64 pid_tgid)
{
	struct batch_walk w = { .st = st, .pid_tgid = pid_tgid };

	if (!batching || !st)
		return 0;
	batches_adopt(st, pid_tgid);
	batch_count_from_zero(&w.cost, sizeof(w.cost));
	if (can_loop) {
		bpf_loop(BATCHES_MOST, batch_send_mapped, &w, 0);
	} else {
		for (__u32 i = 0; i < BATCHES_MOST_SHORT && !batch_send_mapped(i, &w); i++)
			;
	}
	for (__u32 i = 0; i < BATCHES; i++) {
		if (i < st->n_batches)
			batch_send(st, pid_tgid, st->batches[i], st->batch_sites[i], BATCH_EXIT);
	}
	st->n_batches = 0;
	return batches_drop_all(st, pid_tgid);
}

/* Tells the recorder of a batch that a thread has not announced by itself: the one in st->batch, without its events. */
static __always_inline void batch_send_empty(const struct thread_state *st, __u64 pid_tgid,
					     __u64 address, __u32 site)
{
	struct record_batch *r = record_reserve(sizeof(*r));

	if (!r) {
		account_add(ACCOUNT_BATCH_UNREADABLE);
		return;
	}
	init_record_head(&r->head, RECORD_BATCH, pid_tgid >> 32, (__u32)pid_tgid);
	r->head.site = site;
	r->ops.a = address;
	r->ops.b = BATCH_NEW;
	r->from = r->from_events = 0;
	r->thread = batch_loss_thread((__u32)pid_tgid, st->birth);
	r->batch = st->batch;
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
}

/*
 * Records which batch a forked child inherits, and tells the recorder. The thread that forks is in
 * the kernel and the child has not run yet, so the batch does not change meanwhile. A global function, so that the
 * verifier checks it only once.
 */
__noinline int batch_inherit(struct thread_state *st, __u64 pid_tgid, __u64 child,
			     struct batch_inherited *to, __u32 place)
{
	__u64 address;
	__u32 site, n;

	if (!st || !to)
		return 0;
	address = st->batches[place & (BATCHES - 1)];
	site = st->batch_sites[place & (BATCHES - 1)];
	n = to->n & (BATCHES - 1);
	if (!batch_read_head(st, address)) {
		to->more |= !batch_was_unloaded(pid_tgid, address);
		return 0;
	}
	if (batch_is_of_other(st))
		return 0;
	st->batch.base += st->batch.used - sizeof(st->batch);
	st->batch.events += st->batch.complete >> 16;
	st->batch.used = sizeof(st->batch);
	st->batch.complete = 0;
	to->batches[n] = address;
	to->sites[n] = site;
	to->from[n] = st->batch.base;
	to->from_events[n] = st->batch.events;
	to->n++;
	batch_send_empty(st, child, address, site);
	return 0;
}

/*
 * Lets the child inherit all batches of the current thread. A global function, so that the verifier
 * checks it only once.
 */
__noinline int batches_inherit(struct thread_state *st, __u64 pid_tgid, __u64 child)
{
	struct batch_inherited *to;
	__u32 i, n, zero = 0;

	if (!batching || !st)
		return 0;
	batches_adopt(st, pid_tgid);
	to = bpf_map_lookup_elem(&batches_forked, &zero);
	/*
	 * Read once: the loop has to end in a jump for kernels before 6.2, and reading again would
	 * follow that.
	 */
	n = st->n_batches;
	if (!to || !n)
		return 0;
	to->n = 0;
	to->adopted = 0;
	to->more = st->n_more || st->n_forgotten;
	for (i = 0; i < BATCHES; i++) {
		if (i < n)
			batch_inherit(st, pid_tgid, child, to, i);
	}
	if (bpf_map_update_elem(&batches_inherited, &child, to, BPF_ANY))
		return 1;
	return 0;
}

#endif
