/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Processes: forks, execs, exits and new names of the traced ones, in the order in which they happen
 * among their marks.
 */
#include "rows.h"
#include "state.h"

static __always_inline struct record_comm *reserve_comm(__u8 kind, __u32 tgid, __u32 tid)
{
	struct record_comm *r = bpf_ringbuf_reserve(&records, sizeof(*r), 0);

	if (!r) {
		account_add(ACCOUNT_KERNEL_FULL);
		return NULL;
	}
	head_of(&r->head, kind, tgid, tid);
	r->ops.a = 0;
	r->ops.b = 0;
	return r;
}

SEC("tp_btf/sched_process_fork")
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

/* For the recorder it has ended. */
static __always_inline void let_go(struct task_struct *task)
{
	__u32 tgid = task->tgid;
	struct record_comm *r = reserve_comm(RECORD_EXIT, tgid, task->pid);
	struct thread_state *st;

	if (r) {
		r->ops.a = 1;
		r->comm[0] = '\0';
		bpf_ringbuf_submit(r, BPF_RB_FORCE_WAKEUP);
	}
	bpf_map_delete_elem(&traced, &tgid);
	st = bpf_task_storage_get(&threads, task, NULL, 0);
	if (st)
		table_thread_end(st);
	bpf_task_storage_delete(&threads, task);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, pid_t old_pid, struct linux_binprm *bprm)
{
	struct thread_state *st;
	struct record_comm *r;
	__u32 tgid = task->tgid;

	if (!recording || !traced_flags(tgid))
		return 0;
	st = bpf_task_storage_get(&threads, task, NULL, 0);
	if (st) {
		st->depth = 0;
		st->too_deep = 0;
		st->recorded = 0;
		table_thread_end(st);
	}
	r = reserve_comm(RECORD_EXEC, tgid, task->pid);
	if (r) {
		r->ops.a = old_pid;
		bpf_probe_read_kernel_str(r->comm, sizeof(r->comm), task->comm);
		bpf_ringbuf_submit(r, BPF_RB_FORCE_WAKEUP);
	}
	/* A program with more rights than the one who records: as ptrace does, we let go of it. */
	if (!any_process && BPF_CORE_READ_BITFIELD(bprm, secureexec))
		let_go(task);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	__u32 tgid = task->tgid;
	struct thread_state *st;
	struct record_comm *r;
	bool last;

	if (!recording || !traced_flags(tgid))
		return 0;
	last = task->signal->live.counter == 0;
	st = bpf_task_storage_get(&threads, task, NULL, 0);
	if (st && st->lost)
		tell_lost(st, bpf_get_current_pid_tgid());
	if (st)
		table_thread_end(st);
	r = reserve_comm(RECORD_EXIT, tgid, task->pid);
	if (r) {
		r->ops.a = last;
		r->comm[0] = '\0';
		bpf_ringbuf_submit(r, last ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
	}
	if (last)
		bpf_map_delete_elem(&traced, &tgid);
	return 0;
}

SEC("tp_btf/task_rename")
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
