/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Forks, execs, exits and renames of the traced processes, reported in their order among the marks.
 *
 * The programs run in the task that forks, executes or exits, so they also are the
 * place where batches that have not been handed over are sent, and where a thread's state begins
 * again or ends.
 */
#include "batch_send.h"
#include "buffers.h"
#include "guard.h"
#include "table_rows.h"
#include "steps.h"
#include "threads.h"

#define ENFORCE_NONDUMP	  1 /* the kernel's BINPRM_FLAGS_ENFORCE_NONDUMP */
#define SIGNAL_GROUP_EXIT 4 /* the kernel's flag: one thread has ended all others */

static __always_inline struct record_comm *reserve_comm(__u8 kind, __u32 tgid, __u32 tid)
{
	struct record_comm *r = record_reserve(sizeof(*r));

	if (!r) {
		account_add(ACCOUNT_KERNEL_FULL);
		return NULL;
	}
	init_record_head(&r->head, kind, tgid, tid);
	r->ops.a = 0;
	r->ops.b = 0;
	return r;
}

/* Reports a process that is no longer traced as exited. */
static __always_inline void send_untraced(__u32 tgid, __u32 tid)
{
	struct record_comm *r = reserve_comm(RECORD_EXIT, tgid, tid);

	if (r) {
		r->ops.a = 1;
		r->comm[0] = '\0';
		bpf_ringbuf_submit(r, BPF_RB_FORCE_WAKEUP);
	}
}

/* Lets the child inherit the batches of its parent. False: there is no space to remember them. */
static __always_inline bool inherit_batches(struct task_struct *parent, __u64 child)
{
	__u64 pid_tgid = pid_tgid_of(parent);
	struct thread_state *st = thread_state_lookup(parent, pid_tgid);

	if (!st &&
	    (batches_have_found(pid_tgid) || bpf_map_lookup_elem(&batches_inherited, &pid_tgid)))
		st = thread_state_begin(parent, pid_tgid);
	return !st || !batches_inherit(st, pid_tgid, child);
}

SEC("watch/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 parent_tgid = parent->tgid, tgid = child->tgid;
	__u32 flags = traced_flags(parent_tgid);
	struct record_comm *r;

	if (tgid != parent_tgid && own_links && flags && !follow_children) {
		__u32 none = 0;

		/* It has the parent's breakpoints, which the broker takes away. */
		bpf_map_update_elem(&traced, &tgid, &none, BPF_ANY);
		return 0;
	}
	if (tgid != parent_tgid && (!flags || !follow_children)) {
		/*
		 * The number is reused: the process that had it has exited, and this one is not
		 * traced.
		 */
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
	if (r) {
		if (!(flags & TRACED_MARKS))
			r->head.flags |= RECORD_WATCHED;
		r->ops.a = parent_tgid;
		r->ops.b = parent->pid;
		bpf_probe_read_kernel_str(r->comm, sizeof(r->comm), child->comm);
		/* Until the child has links of its own, its marks are not recorded. */
		bpf_ringbuf_submit(r, own_links && tgid != parent_tgid ? BPF_RB_FORCE_WAKEUP
								       : BPF_RB_NO_WAKEUP);
	}
	/* Only now: 6.1 loses track of a record across this. */
	if (batching && tgid != parent_tgid && parent->mm != child->mm &&
	    !inherit_batches(parent, pid_tgid_of(child))) {
		/* Its marks could not be told from those that its parent had made. */
		bpf_map_delete_elem(&traced, &tgid);
		account_add(ACCOUNT_PROCESSES);
		send_untraced(tgid, child->pid);
	}
	return 0;
}

/*
 * Ends the slices of a thread that executes a program. If it was not the first thread of its
 * process, it takes over that thread's number.
 */
static __always_inline void reset_executed_thread(struct task_struct *task, __u32 old_pid)
{
	__u64 old = (__u64)(__u32)task->tgid << 32 | old_pid;
	struct thread_state *st = thread_state_executed(task, old);

	if (!st)
		return;
	if (batching)
		batches_drop_all(st, old);
	table_thread_end(st);
	account_open_slices(st);
	if (old != pid_tgid_of(task)) {
		if (st->lost)
			send_lost(st, old);
		thread_state_end(task, old);
		return;
	}
	st->depth = 0;
	st->too_deep = 0;
	st->recorded = 0;
	st->whole = 1;
}

/* No mark of the new program is missed, since it has not made any yet. */
static __always_inline void set_traced_whole(__u32 tgid)
{
	__u32 *flags = bpf_map_lookup_elem(&traced, &tgid);

	if (flags && *flags & TRACED_MARKS)
		__sync_fetch_and_or(flags, TRACED_WHOLE);
}

static __always_inline void send_untraced_exit(struct task_struct *task)
{
	struct thread_state *st = thread_state_lookup(task, pid_tgid_of(task));

	if (st)
		table_thread_end(st);
	/* Reserved only now: 6.1 loses track of the record across the code above. */
	send_untraced(task->tgid, task->pid);
}

static __always_inline void send_exec(struct task_struct *task, pid_t old_pid)
{
	struct record_comm *r;
	__u32 tgid = task->tgid;

	reset_executed_thread(task, old_pid);
	set_traced_whole(tgid);
	/* It is another program, which has not made a step yet. */
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
 * Detaches from a program with more privileges than the user who records, or whose file that user
 * may not read, as ptrace does. This is done whether or not anything is recorded at the moment. It
 * also applies to a process that the broker has put into the map without flags: the broker is just
 * checking whether it may be traced, and has checked the program executed before.
 */
SEC("watch/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, pid_t old_pid, struct linux_binprm *bprm)
{
	__u32 tgid = task->tgid, *flags = bpf_map_lookup_elem(&traced, &tgid);
	bool is_recorded = recording && flags && *flags;

	if (!flags)
		return 0;
	if (is_recorded)
		send_exec(task, old_pid);
	if (any_process || !(BPF_CORE_READ_BITFIELD(bprm, secureexec) ||
			     (BPF_CORE_READ(bprm, interp_flags) & ENFORCE_NONDUMP)))
		return 0;
	if (is_recorded)
		send_untraced_exit(task);
	bpf_map_delete_elem(&traced, &tgid);
	thread_state_end(task, pid_tgid_of(task));
	return 0;
}

/*
 * The CPU time of a process whose last thread exits. What the scheduler has not added up yet, at
 * most one tick, is missing; but not for a thread that had its CPU from its beginning to its end.
 */
static __always_inline __u64 process_cpu_time(const struct task_struct *task)
{
	__u64 own = task->se.sum_exec_runtime, lifetime;

	if (!count_task_switches(task)) {
		lifetime = bpf_ktime_get_ns() - task->start_time;
		if (lifetime > own)
			own = lifetime;
	}
	return task->signal->sum_sched_runtime + own;
}

/*
 * The signal that killed the process, or 0. If one thread has ended all others, the signal is that
 * of the group, else that of the last thread.
 */
static __always_inline unsigned fatal_signal(const struct task_struct *task)
{
	unsigned flags = BPF_CORE_READ(task, signal, flags), code;

	code = flags & SIGNAL_GROUP_EXIT ? BPF_CORE_READ(task, signal, group_exit_code)
					 : BPF_CORE_READ(task, exit_code);
	return code & 0x7f;
}

/* Writes the number as digits, or nothing. */
static __always_inline void format_signal(char *out, unsigned signal)
{
	out[0] = signal ? '0' + signal / 100 : '\0';
	out[1] = '0' + signal / 10 % 10;
	out[2] = '0' + signal % 10;
	out[3] = '\0';
}

static __always_inline void send_exit(struct task_struct *task, __u64 pid_tgid)
{
	struct thread_state *st = thread_state_lookup(task, pid_tgid);
	bool last = BPF_CORE_READ(task, signal, live.counter) == 0, wake = false;
	unsigned signal = last ? fatal_signal(task) : 0;
	__u32 tgid = task->tgid;
	struct record_comm *r;

	/* All its marks may be in a batch that it had before the recording began. */
	if (batching && !st)
		st = thread_state_begin(task, pid_tgid);
	if (st && st->lost)
		send_lost(st, pid_tgid);
	if (st)
		batches_send_pending(st, pid_tgid);
	else if (batching)
		account_add(ACCOUNT_BATCH_UNREADABLE);
	if (st)
		account_open_slices(st);
	if (st)
		wake = table_thread_end(st);
	wake |= last;
	r = reserve_comm(RECORD_EXIT, tgid, task->pid);
	if (r) {
		r->ops.a = last;
		if (guarded && last)
			r->ops.b = process_cpu_time(task);
		format_signal(r->comm, signal);
		bpf_ringbuf_submit(r, wake ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
	}
	if (last) {
		bpf_map_delete_elem(&traced, &tgid);
		if (scheduled)
			bpf_map_delete_elem(&steps, &tgid);
	}
}

static __always_inline bool belongs_to_invoker(const struct task_struct *task)
{
	return BPF_CORE_READ(task, cred, uid.val) == invoker &&
	       BPF_CORE_READ(task, cred, euid.val) == invoker &&
	       BPF_CORE_READ(task, cred, suid.val) == invoker;
}

/*
 * Threads that exit at the same time may each find that none is left alive, and report the exit of
 * the process. What the others have not handed over must be sent all the same. The recorder says
 * which batches were found; for processes of other users it is not trusted.
 */
static __always_inline bool has_unsent_batches(struct task_struct *task, __u64 pid_tgid)
{
	if (!batching)
		return false;
	return thread_state_lookup(task, pid_tgid) ||
	       bpf_map_lookup_elem(&batches_inherited, &pid_tgid) ||
	       ((any_process || belongs_to_invoker(task)) && batches_have_found(pid_tgid));
}

SEC("watch/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	__u64 pid_tgid = pid_tgid_of(task);

	if (recording && (traced_flags(pid_tgid >> 32) || has_unsent_batches(task, pid_tgid)))
		send_exit(task, pid_tgid);
	if (batching)
		bpf_map_delete_elem(&batches_inherited, &pid_tgid);
	/* Also for threads that are not traced: a slot must not stay with an exited thread. */
	thread_state_end(task, pid_tgid);
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
