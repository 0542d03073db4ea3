/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Samples of where the traced threads are, at a fixed rate (loaded only with --sample), and of
 * where they block (only with --offcpu).
 *
 * There is one perf event per CPU and not one per thread, because a new thread would have to be
 * found first. A stack is collected in memory of the CPU and then copied into the ring buffer in
 * its actual length. The sampling program is an interrupt, and it finishes before the next one on
 * the same CPU.
 *
 * The kernel walks its own stack by the method that it was built for. The program's stack is walked
 * by tables (bpf/stacks/unwind_walk.h).
 */
#include "bpf/buffers.h"
#include "bpf/control.h"
#include "bpf/state.h"
#include "bpf/stacks/unwind_walk.h"

/* Set by the broker before the programs are loaded. */
const volatile __u64 offcpu_ns = 0;	   /* send the stacks of threads that were blocked longer */
const volatile bool kernel_stacks = false; /* with what the kernel does for the program */
const volatile __u64 kernel_shift =
	0; /* what is taken off addresses of the kernel, see STACK_KERNEL_BEGIN */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stack_work);
} sampled_stacks SEC(".maps");

/* Whether the process is recorded at the moment. */
static __always_inline bool is_sampled(__u32 tgid)
{
	__u32 flags = traced_flags(tgid);
	const struct step_state *s;

	if (!(flags & TRACED_MARKS) || flags & TRACED_BEGINS || process_is_paused(flags))
		return false;
	if (!scheduled)
		return true;
	s = bpf_map_lookup_elem(&steps, &tgid);
	return s && *(volatile __u32 *)&s->phase != PHASE_WAIT;
}

static __always_inline void send_stack(struct record_stack *r)
{
	__u32 n = (__u32)r->ops.a;

	for (__u32 i = 0; kernel_shift && i < STACK_FRAMES && i < n; i++)
		r->addresses[i] -= kernel_shift;
	if (record_output(r, stack_size(r, (__u32)r->ops.a), wakeup_due()))
		account_add(ACCOUNT_STACKS_LOST);
}

#define WALK_LONG_NS 100000 /* four times what 127 frames take */

SEC("?perf_event")
int on_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 tgid = task->tgid, zero = 0, n;
	struct stack_work *work;
	struct record_stack *r;

	/* An exiting thread has no memory and therefore no stack. */
	if (!recording || task->flags & TASK_IS_EXITING || !is_sampled(tgid))
		return 0;
	if (thread_is_held(task))
		return 0;
	work = bpf_map_lookup_elem(&sampled_stacks, &zero);
	if (!work)
		return 0;
	r = &work->record;
	init_record_head(&r->head, RECORD_SAMPLE, tgid, task->pid);
	r->head.site = bpf_get_smp_processor_id();
	r->head.object = 0;
	/* The recorder can write the tables that are walked, and other users' threads wait until this interrupt ends. */
	work->python.until = any_process ? 0 : r->head.ts + WALK_LONG_NS;
	r->head.level = (__s64)PT_REGS_IP(&ctx->regs) < 0 ? STACK_IN_KERNEL : 0;
	n = 0;
	if (kernel_stacks && r->head.level)
		n = count_addresses(bpf_get_stack(ctx, r->addresses, STACK_BYTES, 0));
	r->ops.a = n;
	r->ops.b = walk_program(ctx, work, (struct pt_regs *)bpf_task_pt_regs(task), tgid, n);
	send_stack(r);
	return 0;
}

/* --- where threads block ------------------------------------------------------------------------- */

struct blocked_thread {
	__u64 since; /* 0: not blocked */
	__u64 seen;  /* its voluntary context switches, at the last one that was shown here */
	struct stack_work work;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct blocked_thread);
} blocked_threads SEC(".maps");

/*
 * The CPU is everybody's while the kernel switches, and what is walked is the program's and the recorder's. A walk that
 * takes longer than a quick one is seldom: after it, all on this CPU are short for a multiple of the time that it took.
 */
#define WALK_QUICK_NS 5000
#define WALK_SHORT_NS 30000 /* 127 frames take some 25 microseconds */
#define WALK_PAUSE    16

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} walks_short_until SEC(".maps");

static __always_inline __u64 walk_blocked(void *ctx, struct task_struct *task,
					  struct stack_work *work, __u32 n)
{
	__u32 zero = 0;
	__u64 *short_until = bpf_map_lookup_elem(&walks_short_until, &zero), now, took, ret;

	if (!short_until)
		return 0;
	now = bpf_ktime_get_ns();
	work->python.few = now < *short_until;
	work->python.until = now + (work->python.few ? WALK_SHORT_NS : WALK_LONG_NS);
	ret = walk_program(ctx, work, (struct pt_regs *)bpf_task_pt_regs(task), task->tgid, n);
	took = bpf_ktime_get_ns() - now;
	if (took > WALK_QUICK_NS)
		*short_until = now + (took < WALK_LONG_NS ? took : WALK_LONG_NS) * (WALK_PAUSE + 1);
	return ret;
}

/*
 * Saves the stack of a thread that blocks. It is always saved, since nobody knows yet for how long
 * the thread will be blocked, and later another program has the CPU.
 */
static __always_inline void save_blocked_stack(void *ctx, struct task_struct *task, __u64 now)
{
	struct blocked_thread *b;
	struct record_stack *r;
	__u32 n = 0;

	b = bpf_task_storage_get(&blocked_threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!b) {
		account_add(ACCOUNT_STACKS_LOST);
		return;
	}
	r = &b->work.record;
	if (kernel_stacks)
		n = count_addresses(bpf_get_stack(ctx, r->addresses, STACK_BYTES, 0));
	r->ops.a = n;
	r->ops.b = walk_blocked(ctx, task, &b->work, n);
	b->since = now;
	b->seen = task->nvcsw;
}

/*
 * Some kernels do not show all context switches. The thread leaves its CPU: it must have been seen to come back from
 * its last wait, and its voluntary switches since then can only be this one.
 */
static __always_inline void count_unseen_switches(struct task_struct *task, bool preempt)
{
	struct blocked_thread *b = bpf_task_storage_get(&blocked_threads, task, NULL, 0);
	__u64 unseen;

	if (!b)
		return;
	unseen = task->nvcsw - b->seen;
	if (unseen && !preempt)
		unseen--;
	unseen += b->since != 0;
	b->since = 0;
	b->seen = task->nvcsw;
	if (unseen && traced_flags(task->tgid) & TRACED_MARKS)
		account_add_n(ACCOUNT_SWITCHES_UNSEEN, unseen);
}

static __always_inline void send_blocked_stack(struct task_struct *task, __u64 now)
{
	struct blocked_thread *b = bpf_task_storage_get(&blocked_threads, task, NULL, 0);
	struct record_stack *r;
	__u32 types;
	__u64 ns;

	if (!b || !b->since)
		return;
	ns = now - b->since;
	b->since = 0;
	if (ns <= offcpu_ns)
		return;
	r = &b->work.record;
	types = r->head.types; /* how the walk ended */
	init_record_head(&r->head, RECORD_BLOCKED, task->tgid, task->pid);
	r->head.ts = now;
	r->head.types = types;
	r->head.site = (__u32)ns;
	r->head.name = (__s32)(ns >> 32);
	r->head.object = 0;
	send_stack(r);
}

SEC("?watch/sched_switch")
int BPF_PROG(on_offcpu, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u32 prev_state = state_at_switch(ctx, prev);
	__u64 now;

	if (!recording)
		return 0;
	now = bpf_ktime_get_ns();
	count_unseen_switches(prev, preempt);
	if (!preempt && prev_state && !(prev->flags & TASK_IS_EXITING) && is_sampled(prev->tgid) &&
	    !thread_is_held(prev))
		save_blocked_stack(ctx, prev, now);
	if (traced_flags(next->tgid) & TRACED_MARKS)
		send_blocked_stack(next, now);
	return 0;
}
