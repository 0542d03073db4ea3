/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Batches of children that share their parent's memory.
 *
 * A child of vfork() has its parent's batches. If each process has links of its own, the kernel does not run the program
 * that hands over for such a child, which has none yet. If the child is the first to use a batch, nobody is told of it.
 * So at its end, when its parent still waits and its memory is still there, the owner words of the files that its parent
 * has mapped are read. The recorder says where they are: in `batches_found`, with a number that no thread has
 * (user/capture/batch/find_existing.c). It is not trusted: only memory of recorded processes is read, and what is found
 * has to look like a batch of the thread.
 */
#ifndef PROFTRACE_BPF_BATCH_SHARED_H
#define PROFTRACE_BPF_BATCH_SHARED_H

#include "bpf/batch/batch_send.h"
#include "bpf/threads.h"

#define MAX_VFORKS 8 /* that are nested */

struct batch_owner {
	__u64 pid_tgid;
	__u64 birth;
	__u64 execution;
};

/*
 * The thread pointer: thread-local variables are at fixed distances from it, also the one that
 * holds the address of the batch.
 */
static __always_inline __u64 read_thread_pointer(const struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	return BPF_CORE_READ(task, thread.fsbase);
#else
	return BPF_CORE_READ(task, thread.uw.tp_value);
#endif
}

/*
 * Finds the thread that owns the batch. A child of vfork() shares its parent's memory and, as long
 * as it has no thread-local variables of its own, also the parent's batch. The child writes its
 * marks there, may fill it and may be the first to need one. The parent continues with the same
 * batch afterwards. So the batch belongs to the parent, and nothing in it is sent when the child
 * exits or executes a program. A global function, so that the verifier checks it only once.
 */
__noinline int find_vfork_owner(struct batch_owner *owner, __u64 reason)
{
	const struct task_struct *task = bpf_get_current_task_btf(), *at = task, *parent;
	__u64 memory = (__u64)BPF_CORE_READ(task, mm), variables = read_thread_pointer(task);
	__u64 execution;
	__u32 tgid, flags;

	if (!owner)
		return 0;
	owner->pid_tgid = pid_tgid_of(task);
	owner->birth = owner->execution = 0;
	for (int i = 0; i < MAX_VFORKS; i++) {
		parent = BPF_CORE_READ(at, real_parent);
		if (!parent || parent == at)
			return 0;
		tgid = BPF_CORE_READ(parent, tgid);
		flags = traced_flags(tgid);
		execution = BPF_CORE_READ(parent, self_exec_id);
		/*
		 * Last of all: as long as it has this memory, it has neither executed a program nor exited, and what was
		 * read is of this program.
		 */
		if ((__u64)BPF_CORE_READ(parent, mm) != memory ||
		    read_thread_pointer(parent) != variables)
			return 0;
		at = parent;
		/*
		 * A process that is not recorded owns nothing. It may itself be a vfork() child
		 * whose own children mark.
		 */
		if (!(flags & TRACED_MARKS) && !(flags && reason == BATCH_NEW))
			continue;
		owner->pid_tgid = (__u64)tgid << 32 | (__u32)BPF_CORE_READ(parent, pid);
		owner->birth = BPF_CORE_READ(parent, start_time);
		owner->execution = execution;
	}
	return 0;
}

/* The owner words of one file, and the thread whose batches are searched there. */
struct batch_table {
	struct thread_state *st;
	__u64 pid_tgid;
	__u64 variables; /* its thread pointer */
	__u64 owners;
	__u32 site;
	__u32 n;
	__u32 heads; /* that were read */
};

/*
 * Registers a batch, and announces it to the recorder as its thread would have. If the thread is the first that ever had
 * it, all events that were handed over are the child's, and lost. Otherwise it is not known how many are.
 */
static __always_inline void announce_shared_batch(const struct batch_table *t, __u64 address)
{
	struct thread_state *st = t->st;

	if (st->batch.turn == BATCH_FIRST_TURN)
		st->batch.base = st->batch.events = 0;
	else
		account_add(ACCOUNT_BATCH_UNREADABLE);
	st->batch.used = sizeof(st->batch);
	st->batch.complete = 0;
	batch_register(st, t->pid_tgid, address, t->site, BATCH_NEW);
	batch_account_missed(st, t->pid_tgid, address, BATCH_NEW);
	batch_note_owner(st);
	batch_send_empty(st, t->pid_tgid, address, t->site);
}

/* They are taken in this order. */
static __noinline long check_batch_owner(__u32 i, struct batch_table *t)
{
	__u64 owner, address = t->owners + BATCH_SLOTS_FROM + (__u64)i * BATCH_MAX;

	if (bpf_probe_read_user(&owner, sizeof(owner), (void *)(t->owners + i * sizeof(owner))) ||
	    !owner)
		return 1;
	if (owner != t->variables)
		return 0;
	/* The state of the thread is out of reach, so it is not known either what it knows. */
	if (!t->st) {
		account_add(ACCOUNT_BATCH_UNREADABLE);
		return 0;
	}
	if (batch_is_known(t->st, t->pid_tgid, address))
		return 0;
	if (t->heads++ == BATCH_HEADS) {
		account_add(ACCOUNT_BATCH_UNREADABLE);
		return 1;
	}
	/* The turn is odd if the child ended while it prepared the batch. */
	if (batch_read_head(t->st, address) && t->st->batch.owner == owner &&
	    t->st->batch.turn % 2 == 0)
		announce_shared_batch(t, address);
	return 0;
}

static __noinline long search_batch_table(__u32 i, struct batch_table *t)
{
	__u64 tables = BATCH_TABLES_OF(t->pid_tgid >> 32);
	__u32 place = BATCH_FOUND_PLACE((__u32)tables) + i;
	volatile struct batch_found *found = &batches_found[place & (BATCHES_FOUND - 1)];

	if (found->pid_tgid != tables)
		return batch_found_is_unused(found);
	if (t->n++ == BATCH_TABLES || t->heads > BATCH_HEADS)
		return 1;
	t->owners = found->address;
	t->site = found->site;
	bpf_loop(BATCH_SLOTS, check_batch_owner, t, 0);
	return 0;
}

/*
 * Finds batches of another thread, whose memory and thread-local variables the current one has, that it has got without
 * a word. Those from before the recording are known to the recorder. A global function, so that the verifier checks it
 * only once.
 */
__noinline int batches_find_shared(__u64 pid_tgid, __u64 birth, __u64 execution)
{
	struct batch_table t = { .pid_tgid = pid_tgid };

	if (!batching || !can_loop)
		return 0;
	t.variables = read_thread_pointer(bpf_get_current_task_btf());
	t.st = thread_state_of_other(pid_tgid, birth, execution);
	if (t.st)
		batches_adopt(t.st, pid_tgid);
	batch_count_from_zero(&t.n, sizeof(t.n));
	batch_count_from_zero(&t.heads, sizeof(t.heads));
	bpf_loop(BATCH_TABLES_ON, search_batch_table, &t, 0);
	return 0;
}

/* The current thread ends or executes a program, and leaves the memory that it may share with its parent. */
static __always_inline void batches_leave_shared(const struct task_struct *task)
{
	const struct task_struct *parent;
	struct batch_owner owner = {};

	if (!batching || !each_links || !task->mm)
		return;
	parent = BPF_CORE_READ(task, real_parent);
	if ((__u64)BPF_CORE_READ(parent, mm) != (__u64)task->mm ||
	    BPF_CORE_READ(parent, tgid) == task->tgid)
		return;
	find_vfork_owner(&owner, BATCH_NEW);
	if (owner.pid_tgid != pid_tgid_of(task))
		batches_find_shared(owner.pid_tgid, owner.birth, owner.execution);
}

/* A table of the parent, which a forked child gets as well. */
struct batch_table_copy {
	__u64 from, to; /* BATCH_TABLES_OF */
	__u64 address, site;
	__u32 n;    /* tables of the parent */
	__u32 next; /* the slot from which on there may be space for one of the child */
	bool done;
};

static __noinline long put_batch_table(__u32 i, struct batch_table_copy *t)
{
	__u32 place = BATCH_FOUND_PLACE((__u32)t->to) + t->next;
	volatile struct batch_found *found = &batches_found[place & (BATCHES_FOUND - 1)];

	if (t->next == BATCH_TABLES_ON)
		return 1;
	t->next++;
	if (__sync_val_compare_and_swap(&found->pid_tgid, 0, BATCH_FOUND_TAKEN))
		return 0;
	found->address = t->address;
	found->site = t->site;
	barrier();
	found->pid_tgid = t->to;
	t->done = true;
	return 1;
}

static __noinline long copy_batch_table(__u32 i, struct batch_table_copy *t)
{
	__u32 place = BATCH_FOUND_PLACE((__u32)t->from) + i;
	volatile struct batch_found *found = &batches_found[place & (BATCHES_FOUND - 1)];

	if (found->pid_tgid != t->from)
		return batch_found_is_unused(found);
	if (t->n++ == BATCH_TABLES)
		return 1;
	t->address = found->address;
	t->site = found->site;
	t->done = false;
	bpf_loop(BATCH_TABLES_ON, put_batch_table, t, 0);
	if (!t->done)
		account_add(ACCOUNT_BATCH_UNREADABLE);
	return 0;
}

/* A forked child has mapped the files of its parent. */
static __always_inline void batches_copy_tables(__u32 parent, __u32 child)
{
	struct batch_table_copy t = { .from = BATCH_TABLES_OF(parent),
				      .to = BATCH_TABLES_OF(child) };

	if (!batching || !each_links || !can_loop)
		return;
	batch_count_from_zero(&t.n, sizeof(t.n));
	batch_count_from_zero(&t.next, sizeof(t.next));
	bpf_loop(BATCH_TABLES_ON, copy_batch_table, &t, 0);
}

static __noinline long drop_batch_table(__u32 i, struct batch_walk *w)
{
	bool last;

	batch_pop_found(w, i, &last);
	return last;
}

/* The process ends or executes a program: its files are mapped no more. */
static __always_inline void batches_drop_tables(__u32 tgid)
{
	struct batch_walk w = { .pid_tgid = BATCH_TABLES_OF(tgid) };

	if (batching && each_links && can_loop)
		bpf_loop(BATCH_TABLES_ON, drop_batch_table, &w, 0);
}

#endif
