/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Context switches and wakeups. Loaded only with --sched.
 *
 * Every context switch of every CPU is sent, since any task may take a CPU from a traced one.
 * Wakeups are sent for traced threads only. Of a task that is not traced only its number and name
 * are sent. Of other users' tasks not even these are sent, unless root records. So nothing is
 * revealed that `ps` does not show.
 *
 * These programs run with the lock of a CPU's run queue held, so they do little and send one
 * record. If the buffer is full, the state of every thread is unknown from then on. The first
 * program that finds free space again reports the gap. Until that report is read, the recorder
 * compares `sched_lost`: whatever it reads before all losses have been reported is uncertain.
 */
#include "bpf/buffers.h"
#include "bpf/control.h"
#include "bpf/sched/sched_records.h"
#include "bpf/state.h"
#include "bpf/sched/describe_wait.h"

/* The name of a task that was sent last, so that not every context switch needs it. */
struct sent_comm {
	__u32 tid;
	__u64 comm[COMM_SIZE / 8];
};

#define SENT_COMMS 4096 /* a power of two; indexed by the task's number */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SENT_COMMS);
	__type(key, __u32);
	__type(value, struct sent_comm);
} sent_comms SEC(".maps");

/*
 * Whether an interrupt runs: the interrupted thread is then not the one that wakes another. The kernel
 * changes to a stack of the CPU for it, so the arguments of the tracepoint, which are on the stack,
 * are not on the thread's. Only on x86-64, an interrupt of user space stays on the thread's stack; no
 * system call has been entered then. That is also so in a page fault, which hardly ever wakes a
 * thread. The kernel's own count of interrupts cannot be read where it does not list its variables.
 */
static __always_inline bool in_interrupt(const void *ctx, struct task_struct *task)
{
	/* The registers of user space are at the thread's end of its stack. */
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	__u64 from_regs = (__u64)regs - (__u64)ctx, size = (__u64)regs - (__u64)task;

	/* The verifier knows the difference of two pointers as a number, and nothing else of them. */
	barrier_var(size);
	barrier_var(from_regs);
	size += bpf_get_current_task() - (__u64)task->stack;
	if (from_regs >= size)
		return true;
#if defined(__TARGET_ARCH_x86)
	return !(task->flags & TASK_IS_KERNELS) && (__s64)regs->orig_ax < 0;
#else
	return false;
#endif
}

struct task_identity {
	__u32 tgid;
	__u32 tid;
	bool traced;
	bool hidden;
};

/* `known` belongs to a traced process or to none: threads of one process, which often follow each other, need one lookup. */
static __always_inline void identify_task(struct task_struct *task, struct task_identity *w,
					  const struct task_identity *known)
{
	w->tgid = task->tgid;
	w->tid = task->pid;
	w->traced = known && known->traced && known->tgid == w->tgid;
	w->hidden = false;
	if (w->traced || !w->tid || task->flags & TASK_IS_KERNELS)
		return;
	w->traced = traced_flags(w->tgid) & TRACED_MARKS;
	if (any_process || w->traced || BPF_CORE_READ(task, cred, uid.val) == invoker)
		return;
	w->hidden = true;
	w->tgid = w->tid = SCHED_HIDDEN_TID + bpf_get_smp_processor_id();
}

/* Whether the task's name must be sent. If so, it is remembered as sent. */
static __always_inline bool comm_is_new(struct task_struct *task, const struct task_identity *w,
					__u64 comm[COMM_SIZE / 8])
{
	__u32 place = w->tid & (SENT_COMMS - 1);
	struct sent_comm *sent;

	if (!w->tid || w->hidden)
		return false;
	sent = bpf_map_lookup_elem(&sent_comms, &place);
	if (!sent)
		return false;
	if (bpf_probe_read_kernel(comm, COMM_SIZE, task->comm))
		return false;
	if (sent->tid == w->tid && sent->comm[0] == comm[0] && sent->comm[1] == comm[1])
		return false;
	sent->tid = w->tid;
	sent->comm[0] = comm[0];
	sent->comm[1] = comm[1];
	return true;
}

/* A name in a record that was lost has not been sent. */
static __always_inline void forget_sent_comm(const struct task_identity *w)
{
	__u32 place = w->tid & (SENT_COMMS - 1);
	struct sent_comm *sent = bpf_map_lookup_elem(&sent_comms, &place);

	if (sent)
		sent->tid = 0;
}

/* `lost` is read first, so that later losses are reported the next time. */
static __always_inline void send_sched_gap(void)
{
	__u32 lost = *(volatile __u32 *)&sched_lost;
	struct record_plain *r;

	if (lost == sched_lost_sent)
		return;
	r = record_reserve(sizeof(*r));
	if (!r)
		return;
	init_record_head(&r->head, RECORD_SCHED_GAP, 0, 0);
	r->ops.a = lost;
	r->ops.b = 0;
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	sched_lost_sent = lost;
}

static __always_inline void count_lost_sched(void)
{
	account_add(ACCOUNT_SCHED_LOST);
	__sync_fetch_and_add(&sched_lost, 1);
}

static __always_inline __u64 sched_wakeup_flag(void)
{
	__u64 n = account_add(ACCOUNT_SCHED);

	return n & query_mask ? BPF_RB_NO_WAKEUP : wakeup_due();
}

/*
 * A lost one is no gap: the time that the thread is blocked has an unknown reason. The record is put together here and not
 * in the buffer, where the recorder could read what describe_file() forgets. A function of its own for its stack.
 */
static __noinline void send_wait(struct task_struct *task, const struct task_identity *w, __u64 ts,
				 __u32 state)
{
	struct record_wait r = { .ts = ts, .tgid = w->tgid, .tid = w->tid, .kind = RECORD_WAIT };

	describe_wait(&r, task, state);
	if (record_output(&r, sizeof(r), BPF_RB_NO_WAKEUP))
		account_add(ACCOUNT_WAITS_LOST);
}

SEC("?watch/sched_switch")
int BPF_PROG(on_sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u32 prev_state = state_at_switch(ctx, prev);
	__u64 comm[COMM_SIZE / 8], ts;
	struct record_switch *r;
	struct task_identity from, to;
	bool news;

	if (!recording)
		return 0;
	ts = bpf_ktime_get_ns();
	identify_task(prev, &from, NULL);
	identify_task(next, &to, &from);
	news = comm_is_new(next, &to, comm);
	send_sched_gap();
	if (wait_reasons && from.traced && !preempt && prev_state && !prev->exit_state)
		send_wait(prev, &from, ts, prev_state);
	/* There are two sizes, each constant for the verifier. */
	if (news)
		r = record_reserve(sizeof(*r));
	else
		r = record_reserve(offsetof(struct record_switch, comm));
	if (!r) {
		if (news)
			forget_sent_comm(&to);
		count_lost_sched();
		return 0;
	}
	r->ts = ts;
	r->tgid = from.tgid;
	r->tid = from.tid;
	r->next_tgid = to.tgid;
	r->next_tid = to.tid;
	r->state = prev_state | prev->exit_state;
	r->cpu = bpf_get_smp_processor_id();
	r->kind = RECORD_SWITCH;
	r->flags = (from.traced ? SCHED_TRACED : 0) | (to.traced ? SCHED_NEXT_TRACED : 0) |
		   (preempt ? SCHED_PREEMPTED : 0) | (news ? SCHED_COMM : 0) |
		   (prev->flags & TASK_IS_EXITING ? SCHED_EXITING : 0) |
		   (next->flags & TASK_IS_EXITING ? SCHED_NEXT_EXITING : 0);
	r->prio = prev->prio;
	r->next_prio = next->prio;
	if (news)
		__builtin_memcpy(r->comm, comm, COMM_SIZE);
	bpf_ringbuf_submit(r, sched_wakeup_flag());
	return 0;
}

/*
 * task_struct::on_rq is an int or a single byte, depending on the kernel. All its values fit into
 * one byte.
 */
static __always_inline bool is_on_queue(const struct task_struct *task)
{
	__u8 on_queue = 0;

	bpf_probe_read_kernel(&on_queue, sizeof(on_queue), &task->on_rq);
	return on_queue;
}

struct task_struct___before_5_16 {
	unsigned int cpu;
} __attribute__((preserve_access_index));

static __always_inline __u32 cpu_of(const struct task_struct *task)
{
	const struct task_struct___before_5_16 *older = (const void *)task;

	return bpf_core_field_exists(older->cpu) ? older->cpu : task->thread_info.cpu;
}

static __always_inline int send_waking_record(const void *ctx, struct task_struct *task)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	struct record_waking *r;
	struct task_identity from, to;
	__u64 ts;

	if (!recording || !(traced_flags(task->tgid) & TRACED_MARKS))
		return 0;
	ts = bpf_ktime_get_ns();
	to = (struct task_identity){ .tgid = task->tgid, .tid = task->pid, .traced = true };
	identify_task(waker, &from, &to);
	send_sched_gap();
	r = record_reserve(sizeof(*r));
	if (!r) {
		count_lost_sched();
		return 0;
	}
	r->ts = ts;
	r->tgid = to.tgid;
	r->tid = to.tid;
	r->waker_tgid = from.tgid;
	r->waker_tid = from.tid;
	r->cpu = bpf_get_smp_processor_id();
	r->target_cpu = cpu_of(task);
	r->kind = RECORD_WAKING;
	r->flags = SCHED_TRACED | (from.traced ? SCHED_NEXT_TRACED : 0) |
		   /* An idle CPU wakes nobody by itself. */
		   (!from.tid || in_interrupt(ctx, waker) ? SCHED_INTERRUPT : 0) |
		   (task->flags & TASK_IS_EXITING ? SCHED_EXITING : 0) |
		   (is_on_queue(task) ? SCHED_ON_QUEUE : 0);
	r->prio = task->prio;
	r->unused = 0;
	bpf_ringbuf_submit(r, sched_wakeup_flag());
	return 0;
}

SEC("?watch/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task)
{
	return send_waking_record(ctx, task);
}

/* The first wakeup of a new thread, by the thread that created it. */
SEC("?watch/sched_wakeup_new")
int BPF_PROG(on_wakeup_new, struct task_struct *task)
{
	return send_waking_record(ctx, task);
}
