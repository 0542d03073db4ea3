/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where the traced threads are, so many times a second (loaded only with --sample), and where they block
 * (only with --offcpu).
 *
 * An event of each CPU, not of each thread: a thread that has just begun would have to be found first.
 * The stacks go into memory of the CPU's, and from there to the recorder as long as they are. These
 * programs are interrupts, each of which is over before the next.
 *
 * The kernel follows frame pointers. It goes through its own code as it was built for that; through
 * programs as far as these were built with them.
 */
#include "buffers.h"
#include "control.h"
#include "state.h"

/* Set by the broker before the programs are loaded. */
const volatile __u64 offcpu_ns = 0;	   /* stacks of threads that were blocked for longer */
const volatile bool kernel_stacks = false; /* whoever records may know where the kernel's code is */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct record_stack);
} sampled_stacks SEC(".maps");

/* Whether its process is recorded at the moment. */
static __always_inline bool is_sampled(__u32 tgid)
{
	__u32 flags = traced_flags(tgid);
	const struct step_state *s;

	if (!(flags & TRACED_MARKS) || is_paused(flags))
		return false;
	if (!scheduled)
		return true;
	s = bpf_map_lookup_elem(&steps, &tgid);
	return s && *(volatile __u32 *)&s->phase != PHASE_WAIT;
}

/* How many addresses there are now. */
static __always_inline __u32 addresses_of(long bytes)
{
	return bytes > 0 ? (__u32)bytes / sizeof(__u64) & STACK_FRAMES : 0;
}

static __always_inline void send_stack(struct record_stack *r, __u32 n)
{
	__u64 size = n & (2 * STACK_FRAMES + 1);

	size = offsetof(struct record_stack, addresses) + size * sizeof(__u64);
	if (record_output(r, size, wakeup_due()))
		account_add(ACCOUNT_STACKS_LOST);
}

SEC("?perf_event")
int on_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 tgid = task->tgid, zero = 0, n;
	struct record_stack *r;

	/* Without its memory, a thread has no stack any more. */
	if (!recording || task->flags & TASK_IS_EXITING || !is_sampled(tgid))
		return 0;
	r = bpf_map_lookup_elem(&sampled_stacks, &zero);
	if (!r)
		return 0;
	head_of(&r->head, RECORD_SAMPLE, tgid, task->pid);
	r->head.site = bpf_get_smp_processor_id();
	r->head.object = 0;
	r->head.level = (__s64)PT_REGS_IP(&ctx->regs) < 0 ? STACK_IN_KERNEL : 0;
	n = 0;
	if (kernel_stacks && r->head.level)
		n = addresses_of(bpf_get_stack(ctx, r->addresses, STACK_BYTES, 0));
	r->ops.a = n;
	r->ops.b =
		addresses_of(bpf_get_stack(ctx, &r->addresses[n], STACK_BYTES, BPF_F_USER_STACK));
	send_stack(r, n + (__u32)r->ops.b);
	return 0;
}

/* --- where threads block ------------------------------------------------------------------------- */

struct blocked_thread {
	__u64 since; /* 0: it was not blocked */
	struct record_stack r;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct blocked_thread);
} blocked_threads SEC(".maps");

/* How long it will be is not known now, and later another program has the CPU: so it is taken always. */
static __always_inline void take_blocked(void *ctx, struct task_struct *task, __u64 now)
{
	struct blocked_thread *b;
	__u32 n = 0;

	b = bpf_task_storage_get(&blocked_threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!b) {
		account_add(ACCOUNT_STACKS_LOST);
		return;
	}
	if (kernel_stacks)
		n = addresses_of(bpf_get_stack(ctx, b->r.addresses, STACK_BYTES, 0));
	b->r.ops.a = n;
	b->r.ops.b =
		addresses_of(bpf_get_stack(ctx, &b->r.addresses[n], STACK_BYTES, BPF_F_USER_STACK));
	b->since = now;
}

static __always_inline void send_blocked(struct task_struct *task, __u64 now)
{
	struct blocked_thread *b = bpf_task_storage_get(&blocked_threads, task, NULL, 0);
	__u64 ns;

	if (!b || !b->since)
		return;
	ns = now - b->since;
	b->since = 0;
	if (ns <= offcpu_ns)
		return;
	head_of(&b->r.head, RECORD_BLOCKED, task->tgid, task->pid);
	b->r.head.ts = now;
	b->r.head.site = (__u32)ns;
	b->r.head.name = (__s32)(ns >> 32);
	b->r.head.object = 0;
	send_stack(&b->r, (__u32)b->r.ops.a + (__u32)b->r.ops.b);
}

SEC("?watch/sched_switch")
int BPF_PROG(on_offcpu, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	__u64 now;

	if (!recording)
		return 0;
	now = bpf_ktime_get_ns();
	if (!preempt && prev_state && !(prev->flags & TASK_IS_EXITING) && is_sampled(prev->tgid))
		take_blocked(ctx, prev, now);
	if (traced_flags(next->tgid) & TRACED_MARKS)
		send_blocked(next, now);
	return 0;
}
