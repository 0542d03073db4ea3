/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Forks, execs, exits and renames of the traced processes, reported in their order among the marks.
 *
 * The programs run in the task that forks, executes or exits, so they also are the
 * place where batches that have not been handed over are sent, and where a thread's state begins
 * again or ends.
 */
#include "bpf/batch/bases.h"
#include "bpf/batch/batch_shared.h"
#include "bpf/buffers.h"
#include "bpf/marks/guard.h"
#include "bpf/processes/processes.h"
#include "bpf/table/table_rows.h"
#include "bpf/marks/steps.h"
#include "bpf/processes/target_match.h"
#include "bpf/sched/syscall_slots.h"
#include "bpf/threads.h"
#include "bpf/stacks/unwind_walk.h"

#define ENFORCE_NONDUMP	  1 /* the kernel's BINPRM_FLAGS_ENFORCE_NONDUMP */
#define SIGNAL_GROUP_EXIT 4 /* the kernel's flag: one thread has ended all others */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, FOLLOW_BYTES);
} follows SEC(".maps");

/* How many records found it full. The broker cleans and looks for everything then. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} follow_missed SEC(".maps");

/*
 * In buffered mode: the start times of processes that were traced until they ended, by tgid. Only these programs write it.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1); /* the broker enlarges it for buffered mode */
	__type(key, __u32);
	__type(value, __u64);
} ended_processes SEC(".maps");

/* Without a reserved record, of which 6.1 loses track across calls. */
static __always_inline void send_follow(enum follow_kind kind, __u32 pid, __u32 parent)
{
	struct follow_record r = {
		.ts = bpf_ktime_get_ns(), .kind = kind, .pid = pid, .parent = parent
	};
	__u32 first = 0;
	__u64 *missed;

	if (!bpf_ringbuf_output(&follows, &r, sizeof(r), BPF_RB_FORCE_WAKEUP))
		return;
	missed = bpf_map_lookup_elem(&follow_missed, &first);
	if (missed)
		__sync_fetch_and_add(missed, 1);
	if (kind == FOLLOW_FORK || kind == FOLLOW_EXEC)
		account_add(ACCOUNT_PROCESSES);
}

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

/* Reports a new thread or process. Returns false if it is not traced after all. */
static __always_inline bool send_fork(struct task_struct *parent, struct task_struct *child)
{
	__u32 tgid = child->tgid;
	bool is_process = tgid != parent->tgid;
	struct record_comm *r = reserve_comm(RECORD_FORK, tgid, child->pid);

	if (r) {
		r->ops.a = parent->tgid;
		r->ops.b = parent->pid;
		bpf_probe_read_kernel_str(r->comm, sizeof(r->comm), child->comm);
		bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	}
	/* Only now: 6.1 loses track of a record across this. */
	if (!batching || !is_process || BPF_CORE_READ(parent, mm) == BPF_CORE_READ(child, mm))
		return true;
	batches_copy_tables(parent->tgid, tgid);
	if (inherit_batches(parent, pid_tgid_of(child)))
		return true;
	/* Its marks could not be told from those that its parent had made. */
	untrace(tgid);
	account_add(ACCOUNT_PROCESSES);
	send_untraced(tgid, child->pid);
	return false;
}

/*
 * Links of a process are made and cleaned up whatever the recorder says of `recording`: it may have been taken
 * over.
 */
SEC("watch/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 parent_tgid = parent->tgid, tgid = child->tgid;
	__u32 flags = traced_flags(parent_tgid);
	bool is_process = tgid != parent_tgid, is_traced = true;

	if (is_process && (!flags || !follow_children)) {
		/*
		 * The number is reused: the process that had it has exited, and this one is not
		 * traced.
		 */
		untrace(tgid);
		if (flags && each_links)
			send_follow(FOLLOW_CLEAN, tgid, parent_tgid);
		return 0;
	}
	if (!flags || !(recording || each_links))
		return 0;
	/*
	 * Also if the parent is still being attached to: what is attached already acts for the child from its beginning, and it may
	 * have ended before the recorder hears of it.
	 */
	flags = (flags & ~TRACED_WHOLE) | TRACED_MARKS;
	if (is_process && bpf_map_update_elem(&traced, &tgid, &flags, BPF_ANY)) {
		account_add(ACCOUNT_PROCESSES);
		is_traced = false;
	}
	if (recording && is_traced)
		is_traced = send_fork(parent, child);
	if (is_process && each_links)
		send_follow(is_traced ? FOLLOW_FORK : FOLLOW_CLEAN, tgid, parent_tgid);
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
	st->execution = task->self_exec_id;
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
		r->ops.b = task->self_exec_id;
		bpf_probe_read_kernel_str(r->comm, sizeof(r->comm), task->comm);
		bpf_ringbuf_submit(r, BPF_RB_FORCE_WAKEUP);
	}
}

/*
 * Traces a process that the user waits for. If it gets links of its own, they are made by the broker, which also checks
 * whether the user may trace it. Until then it is not in the map: when it ends, another process may get its number, and
 * the broker relies on that a process that has left the map does not come back.
 */
static __always_inline void trace_target(struct task_struct *task)
{
	__u32 tgid = task->tgid;
	__u32 flags = TRACED_WATCH | TRACED_MARKS | TRACED_WHOLE;
	struct record_comm *r;

	if (!each_links && bpf_map_update_elem(&traced, &tgid, &flags, BPF_NOEXIST)) {
		account_add(ACCOUNT_PROCESSES);
		return;
	}
	r = reserve_comm(RECORD_EXEC, tgid, task->pid);
	if (!r) {
		if (!each_links)
			bpf_map_delete_elem(&traced, &tgid);
		account_add(ACCOUNT_PROCESSES);
		return;
	}
	r->head.flags |= RECORD_TARGET;
	r->ops.a = task->pid;
	bpf_probe_read_kernel_str(r->comm, sizeof(r->comm), task->comm);
	bpf_ringbuf_submit(r, BPF_RB_FORCE_WAKEUP);
}

/*
 * Links of one process are of the thread that was its first until now. The recorder has to know before it serves the linker of
 * the new program, so it is told on the same way. If there is no space, RECORD_EXEC tells it.
 */
static __always_inline void send_first_changed(struct task_struct *task)
{
	struct record_hold *r = bpf_ringbuf_reserve(&holds, sizeof(*r), 0);

	if (!r) {
		account_add(ACCOUNT_HOLD_TIMEOUT);
		return;
	}
	init_record_head(&r->head, RECORD_HOLD, task->tgid, task->pid);
	r->ops.a = task->self_exec_id;
	r->ops.b = HOLD_FIRST_CHANGED;
	r->fd = -1;
	r->path[0] = '\0';
	bpf_ringbuf_submit(r, BPF_RB_FORCE_WAKEUP);
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
	bool is_recorded = recording && flags && *flags, stays;
	__u64 pid_tgid = pid_tgid_of(task);

	/*
	 * The broker may have ended its tracing. Nothing that is kept of it must lead to memory of the new program: what
	 * has buffers is read when it exits.
	 */
	if (!flags)
		thread_state_end(task, pid_tgid);
	syscall_slot_executed(task, (__u64)tgid << 32 | (__u32)old_pid);
	/* They were in the memory that is replaced, also if the thread has not marked since. */
	if (batching)
		batches_forget_inherited(pid_tgid);
	if (!flags && !(recording && is_target(task, bprm)))
		return 0;
	stays = any_process || !(BPF_CORE_READ_BITFIELD(bprm, secureexec) ||
				 (BPF_CORE_READ(bprm, interp_flags) & ENFORCE_NONDUMP));
	if (!flags) {
		if (stays)
			trace_target(task);
		return 0;
	}
	if (each_links && !stays)
		send_follow(FOLLOW_UNTRACED, tgid, 0);
	else if (each_links && old_pid != task->pid)
		send_follow(FOLLOW_EXEC, tgid, 0);
	else if (is_recorded && alone_links && old_pid != task->pid)
		send_first_changed(task);
	forget_mappings(tgid);
	batches_drop_tables(tgid);
	if (is_recorded)
		send_exec(task, old_pid);
	/* From here on, a sample is of the program. */
	__sync_fetch_and_and(flags, ~TRACED_BEGINS);
	if (stays)
		return 0;
	if (is_recorded)
		send_untraced_exit(task);
	untrace(tgid);
	thread_state_end(task, pid_tgid);
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
	return BPF_CORE_READ(task, signal, sum_sched_runtime) + own;
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

/* Whether the recorder has to be woken for it. A global function, as handle_mark_hit() of bpf/marks/marks.bpf.c. */
__noinline int end_exiting_thread(struct thread_state *st, __u64 pid_tgid, bool executing)
{
	if (!st)
		return 0;
	if (st->lost)
		send_lost(st, pid_tgid);
	if (executing)
		batches_drop_all(st, pid_tgid);
	else
		batches_send_pending(st, pid_tgid);
	account_open_slices(st);
	return table_thread_end(st);
}

static __always_inline void send_exit(struct task_struct *task, __u64 pid_tgid)
{
	/* If an execution has failed, nothing more is read. */
	bool executing = is_executing();
	struct thread_state *st =
		executing ? thread_state_find(task, pid_tgid) : thread_state_lookup(task, pid_tgid);
	bool last = BPF_CORE_READ(task, signal, live.counter) == 0, wake = false;
	unsigned signal = last ? fatal_signal(task) : 0;
	__u32 tgid = task->tgid;
	struct record_comm *r;

	if (batching && n_counters && needs_bases(task))
		send_last_base();
	/* All its marks may be in a batch that it had before the recording began. */
	if (batching && !st)
		st = thread_state_begin(task, pid_tgid);
	if (st)
		wake = end_exiting_thread(st, pid_tgid, executing);
	else if (batching)
		account_add(ACCOUNT_BATCH_UNREADABLE);
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
		if (batching) {
			__u64 birth = birth_of_process();

			bpf_map_update_elem(&ended_processes, &tgid, &birth, BPF_ANY);
		}
		batches_drop_tables(tgid);
		if (scheduled)
			bpf_map_delete_elem(&steps, &tgid);
	}
}

/*
 * Threads that exit at the same time may each find that none is left alive, and report the exit of
 * the process. What the others have not handed over must be sent all the same. The recorder says
 * which batches were found, and where; it is not trusted, so only if the process was traced.
 */
static __always_inline bool has_unsent_batches(struct task_struct *task, __u64 pid_tgid)
{
	const struct batch_inherited *inherited;
	__u32 tgid = pid_tgid >> 32;
	const __u64 *birth;

	if (!batching)
		return false;
	if (thread_state_lookup(task, pid_tgid))
		return true;
	inherited = bpf_map_lookup_elem(&batches_inherited, &pid_tgid);
	if (inherited && !inherited->adopted)
		return true;
	birth = bpf_map_lookup_elem(&ended_processes, &tgid);
	return birth && *birth == birth_of_process() && batches_have_found(pid_tgid);
}

/* signal_struct before 5.17. */
struct signal_struct___before_5_17 {
	struct task_struct *group_exit_task;
} __attribute__((preserve_access_index));

/*
 * Whether another thread executes a program or ends all threads, and therefore this one ends. The pointer is read by a call:
 * hold_turns.h says why.
 */
static __always_inline bool is_ended_by_another(const struct task_struct *task)
{
	const struct signal_struct *signal = BPF_CORE_READ(task, signal);
	const struct signal_struct___before_5_17 *older = (const void *)signal;

	if (BPF_CORE_READ(signal, flags) & SIGNAL_GROUP_EXIT)
		return true;
	if (bpf_core_field_exists(signal->group_exec_task))
		return BPF_CORE_READ(signal, group_exec_task) != NULL;
	return bpf_core_field_exists(older->group_exit_task) &&
	       BPF_CORE_READ(older, group_exit_task) != NULL;
}

/*
 * For links of one process, the kernel filters by the address space of its first thread. When that has ended, the others get no
 * breakpoints in what they map from then on, and breakpoints go when any other link to their file does.
 */
static __always_inline void follow_exit(struct task_struct *task)
{
	if (BPF_CORE_READ(task, signal, live.counter) == 0) {
		if (each_links)
			send_follow(FOLLOW_EXIT, task->tgid, 0);
		return;
	}
	if (task->pid == task->tgid && recording && (each_links || alone_links) &&
	    !is_ended_by_another(task))
		account_add(ACCOUNT_FIRST_EXITED);
}

SEC("watch/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	__u64 pid_tgid = pid_tgid_of(task);
	__u32 tgid = task->tgid;
	bool is_traced = bpf_map_lookup_elem(&traced, &tgid);

	if (recording)
		batches_leave_shared(task);
	if (recording && (traced_flags(pid_tgid >> 32) || has_unsent_batches(task, pid_tgid)))
		send_exit(task, pid_tgid);
	if (is_traced)
		follow_exit(task);
	/* Whether or not anything is recorded: the next process of this number must not be taken for it. */
	if (is_traced && BPF_CORE_READ(task, signal, live.counter) == 0)
		untrace(tgid);
	if (batching)
		bpf_map_delete_elem(&batches_inherited, &pid_tgid);
	/* Also for threads that are not traced: a slot must not stay with an exited thread. */
	thread_state_end(task, pid_tgid);
	syscall_slot_end(pid_tgid);
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
