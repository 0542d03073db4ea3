/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Processes: forks, execs, exits and new names of the traced ones, in the order in which they happen
 * among their marks.
 */
#include "batch.h"
#include "buffers.h"
#include "guard.h"
#include "rows.h"
#include "steps.h"
#include "threads.h"

#define ENFORCE_NONDUMP	  1 /* BINPRM_FLAGS_ENFORCE_NONDUMP of the kernel */
#define SIGNAL_GROUP_EXIT 4 /* of the kernel: one thread's end is that of all */

static __always_inline struct record_comm *reserve_comm(__u8 kind, __u32 tgid, __u32 tid)
{
	struct record_comm *r = record_reserve(sizeof(*r));

	if (!r) {
		account_add(ACCOUNT_KERNEL_FULL);
		return NULL;
	}
	head_of(&r->head, kind, tgid, tid);
	r->ops.a = 0;
	r->ops.b = 0;
	return r;
}

SEC("watch/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 parent_tgid = parent->tgid, tgid = child->tgid;
	__u32 flags = traced_flags(parent_tgid);
	struct record_comm *r;

	if (tgid != parent_tgid && (!flags || !follow_children)) {
		/* The number is new: whoever had it is gone, and nobody asked for this one. */
		if (bpf_map_lookup_elem(&traced, &tgid))
			bpf_map_delete_elem(&traced, &tgid);
		return 0;
	}
	if (!recording || !flags)
		return 0;
	flags &= ~TRACED_WHOLE;
	if (tgid != parent_tgid) {
		if (bpf_map_update_elem(&traced, &tgid, &flags, BPF_ANY)) {
			account_add(ACCOUNT_PROCESSES);
			return 0;
		}
	}
	r = reserve_comm(RECORD_FORK, tgid, child->pid);
	if (!r)
		return 0;
	if (!(flags & TRACED_MARKS))
		r->head.flags |= RECORD_WATCHED;
	r->ops.a = parent_tgid;
	r->ops.b = parent->pid;
	bpf_probe_read_kernel_str(r->comm, sizeof(r->comm), child->comm);
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	return 0;
}

/* Its slices are over. A thread other than the first that executes a program becomes the first. */
static __always_inline void renew_thread(struct task_struct *task, __u32 old_pid)
{
	__u64 old = (__u64)(__u32)task->tgid << 32 | old_pid;
	struct thread_state *st = thread_executed(task, old);

	if (!st)
		return;
	if (batching)
		batches_gone(st, old);
	table_thread_end(st);
	leave_open(st);
	if (old != pid_tgid_of(task)) {
		if (st->lost)
			tell_lost(st, old);
		thread_end(task, old);
		return;
	}
	st->depth = 0;
	st->too_deep = 0;
	st->recorded = 0;
	st->whole = 1;
}

/* A program of which no mark is missed: it has not made any. */
static __always_inline void begin_whole(__u32 tgid)
{
	__u32 *flags = bpf_map_lookup_elem(&traced, &tgid);

	if (flags && *flags & TRACED_MARKS)
		__sync_fetch_and_or(flags, TRACED_WHOLE);
}

/* For the recorder it has ended. */
static __always_inline void tell_gone(struct task_struct *task)
{
	__u32 tgid = task->tgid;
	struct thread_state *st = thread_find(task, pid_tgid_of(task));
	struct record_comm *r;

	if (st)
		table_thread_end(st);
	/* Not before: 6.1 loses sight of a record over what is between. */
	r = reserve_comm(RECORD_EXIT, tgid, task->pid);
	if (r) {
		r->ops.a = 1;
		r->comm[0] = '\0';
		bpf_ringbuf_submit(r, BPF_RB_FORCE_WAKEUP);
	}
}

static __always_inline void tell_exec(struct task_struct *task, pid_t old_pid)
{
	struct record_comm *r;
	__u32 tgid = task->tgid;

	renew_thread(task, old_pid);
	begin_whole(tgid);
	/* Another program, at no step yet. */
	if (scheduled) {
		bpf_map_delete_elem(&steps, &tgid);
		__sync_fetch_and_add(&generation, 1);
	}
	r = reserve_comm(RECORD_EXEC, tgid, task->pid);
	if (r) {
		r->ops.a = old_pid;
		bpf_probe_read_kernel_str(r->comm, sizeof(r->comm), task->comm);
		bpf_ringbuf_submit(r, BPF_RB_FORCE_WAKEUP);
	}
}

/*
 * A program with more rights than the one who records, or one whose file that user may not read: as
 * ptrace does, we let go of it. Whether anything is recorded at the moment or not, and also of one that
 * the broker has put into the map without flags: it is about to look whether it may be traced, and has
 * looked at what was executed before.
 */
SEC("watch/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, pid_t old_pid, struct linux_binprm *bprm)
{
	__u32 tgid = task->tgid, *flags = bpf_map_lookup_elem(&traced, &tgid);
	bool told = recording && flags && *flags;

	if (!flags)
		return 0;
	if (told)
		tell_exec(task, old_pid);
	if (any_process || !(BPF_CORE_READ_BITFIELD(bprm, secureexec) ||
			     (BPF_CORE_READ(bprm, interp_flags) & ENFORCE_NONDUMP)))
		return 0;
	if (told)
		tell_gone(task);
	bpf_map_delete_elem(&traced, &tgid);
	thread_end(task, pid_tgid_of(task));
	return 0;
}

/*
 * The CPU time of a process whose last thread exits. What the scheduler has not added up yet, a tick of
 * it at most, is missing, except of a thread that had its CPU from its beginning to its end.
 */
static __always_inline __u64 cpu_time(const struct task_struct *task)
{
	__u64 own = task->se.sum_exec_runtime, lifetime;

	if (!guard_switches(task)) {
		lifetime = bpf_ktime_get_ns() - task->start_time;
		if (lifetime > own)
			own = lifetime;
	}
	return task->signal->sum_sched_runtime + own;
}

/*
 * The signal that the process was killed by, or 0. Its last thread may have been on its way out already when
 * it came; and where no thread took the others along, it is its own.
 */
static __always_inline unsigned killed_by(const struct task_struct *task)
{
	unsigned flags = BPF_CORE_READ(task, signal, flags), code;

	code = flags & SIGNAL_GROUP_EXIT ? BPF_CORE_READ(task, signal, group_exit_code)
					 : BPF_CORE_READ(task, exit_code);
	return code & 0x7f;
}

/* As digits, or nothing. */
static __always_inline void put_signal(char *out, unsigned signal)
{
	out[0] = signal ? '0' + signal / 100 : '\0';
	out[1] = '0' + signal / 10 % 10;
	out[2] = '0' + signal % 10;
	out[3] = '\0';
}

static __always_inline void tell_exit(struct task_struct *task, __u64 pid_tgid)
{
	struct thread_state *st = thread_find(task, pid_tgid);
	bool last = BPF_CORE_READ(task, signal, live.counter) == 0, wake = false;
	unsigned signal = last ? killed_by(task) : 0;
	__u32 tgid = task->tgid;
	struct record_comm *r;

	/* What it has marked may all be in a batch that it had before. */
	if (batching && !st)
		st = thread_begin(task, pid_tgid);
	if (st && st->lost)
		tell_lost(st, pid_tgid);
	if (st)
		batch_send_rest(st, pid_tgid);
	else if (batching)
		account_add(ACCOUNT_BATCH_UNREADABLE);
	if (st)
		leave_open(st);
	if (st)
		wake = table_thread_end(st);
	wake |= last;
	r = reserve_comm(RECORD_EXIT, tgid, task->pid);
	if (r) {
		r->ops.a = last;
		if (guarded && last)
			r->ops.b = cpu_time(task);
		put_signal(r->comm, signal);
		bpf_ringbuf_submit(r, wake ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
	}
	if (last) {
		bpf_map_delete_elem(&traced, &tgid);
		if (scheduled)
			bpf_map_delete_elem(&steps, &tgid);
	}
}

static __always_inline bool is_invokers(const struct task_struct *task)
{
	return BPF_CORE_READ(task, cred, uid.val) == invoker &&
	       BPF_CORE_READ(task, cred, euid.val) == invoker &&
	       BPF_CORE_READ(task, cred, suid.val) == invoker;
}

/*
 * Of threads that end at once each may find that none is left alive, and say that the process is over.
 * What the others have not handed over is to be told all the same. But it is the recorder who says which
 * batches were found, and of other users' processes it has nothing to say.
 */
static __always_inline bool has_batches(struct task_struct *task, __u64 pid_tgid)
{
	if (!batching)
		return false;
	return thread_find(task, pid_tgid) ||
	       ((any_process || is_invokers(task)) && batches_were_found(pid_tgid));
}

SEC("watch/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	__u64 pid_tgid = pid_tgid_of(task);

	if (recording && (traced_flags(pid_tgid >> 32) || has_batches(task, pid_tgid)))
		tell_exit(task, pid_tgid);
	/* Of others too: a slot must not stay with a thread that is gone. */
	thread_end(task, pid_tgid);
	return 0;
}

SEC("watch/task_rename")
int BPF_PROG(on_rename, struct task_struct *task, const char *comm)
{
	__u32 tgid = task->tgid;
	struct record_comm *r;

	if (!recording || !traced_flags(tgid))
		return 0;
	r = reserve_comm(RECORD_COMM, tgid, task->pid);
	if (!r)
		return 0;
	bpf_probe_read_kernel_str(r->comm, sizeof(r->comm), comm);
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	return 0;
}
