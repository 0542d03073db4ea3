/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who has which CPU, and who wakes whom: loaded only with --sched.
 *
 * Every switch of every CPU is told, since a CPU is taken by somebody; every waking of a traced thread.
 * Of those who are not traced only a number and a name are told, and of other users' not even that,
 * unless root records: then nothing is learnt that `ps` does not show.
 *
 * These programs run with the lock of a CPU's run queue held: they do little, and send one record.
 * Where that finds no room, nobody knows any more in which state which thread is. So it is told, by
 * the first of the programs that finds room again, and until that is read the recorder looks at
 * `sched_lost`: whatever it reads before it has been told of all that was lost is not certain.
 */
#include "buffers.h"
#include "control.h"
#include "switches.h"
#include "state.h"

#define TASK_IS_KERNELS 0x00200000 /* PF_KTHREAD */
#define HARDIRQ_MASK	0x000f0000 /* of the preempt count: include/linux/preempt.h */
#define NMI_MASK	0x00f00000
#define SERVING_SOFTIRQ 0x00000100

/* What was told of a task, so that its name need not be sent with every switch. */
struct told_task {
	__u32 tid;
	__u64 comm[COMM_SIZE / 8];
};

#define TOLD_TASKS 4096 /* a power of two: a task's place is its number */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TOLD_TASKS);
	__type(key, __u32);
	__type(value, struct told_task);
} told_tasks SEC(".maps");

/*
 * Where the kernel counts its interrupts differs from version to version, and kernels that do not list
 * their variables (CONFIG_KALLSYMS_ALL) refuse programs that look there: then others are loaded.
 */
#ifdef WITHOUT_VARIABLES

static __always_inline bool in_interrupt(void)
{
	return false;
}

#else

extern const int __preempt_count __ksym __weak;

struct pcpu_hot___sched {
	int preempt_count;
} __attribute__((preserve_access_index));

extern const struct pcpu_hot___sched pcpu_hot __ksym __weak;

/* Then whoever is interrupted has nothing to do with what happens. */
static __always_inline bool in_interrupt(void)
{
	const struct pcpu_hot___sched *hot;
	const int *here;
	int count = 0;

	if (&__preempt_count) {
		here = bpf_this_cpu_ptr(&__preempt_count);
		count = *here;
	} else if (&pcpu_hot) {
		hot = bpf_this_cpu_ptr(&pcpu_hot);
		count = hot->preempt_count;
	}
	return count & (HARDIRQ_MASK | NMI_MASK | SERVING_SOFTIRQ);
}

#endif

struct whose {
	__u32 tgid;
	__u32 tid;
	bool traced;
	bool hidden;
};

static __always_inline void look_whose(struct task_struct *task, struct whose *w)
{
	w->tgid = task->tgid;
	w->tid = task->pid;
	w->traced = false;
	w->hidden = false;
	if (!w->tid || task->flags & TASK_IS_KERNELS)
		return;
	w->traced = traced_flags(w->tgid) & TRACED_MARKS;
	if (any_process || w->traced || BPF_CORE_READ(task, cred, uid.val) == invoker)
		return;
	w->hidden = true;
	w->tgid = w->tid = SCHED_HIDDEN_TID + bpf_get_smp_processor_id();
}

/* Whether its name has to be told; then it counts as told. */
static __always_inline bool is_news(struct task_struct *task, const struct whose *w,
				    __u64 comm[COMM_SIZE / 8])
{
	__u32 place = w->tid & (TOLD_TASKS - 1);
	struct told_task *told;

	if (!w->tid || w->hidden)
		return false;
	told = bpf_map_lookup_elem(&told_tasks, &place);
	if (!told)
		return false;
	if (bpf_probe_read_kernel(comm, COMM_SIZE, task->comm))
		return false;
	if (told->tid == w->tid && told->comm[0] == comm[0] && told->comm[1] == comm[1])
		return false;
	told->tid = w->tid;
	told->comm[0] = comm[0];
	told->comm[1] = comm[1];
	return true;
}

/* What was told with a record that found no room was not. */
static __always_inline void forget_told(const struct whose *w)
{
	__u32 place = w->tid & (TOLD_TASKS - 1);
	struct told_task *told = bpf_map_lookup_elem(&told_tasks, &place);

	if (told)
		told->tid = 0;
}

/* `lost` is read first: what is lost meanwhile is told by the next one. */
static __always_inline void tell_gap(void)
{
	__u32 lost = *(volatile __u32 *)&sched_lost;
	struct record_plain *r;

	if (lost == sched_lost_told)
		return;
	r = record_reserve(sizeof(*r));
	if (!r)
		return;
	head_of(&r->head, RECORD_SCHED_GAP, 0, 0);
	r->ops.a = lost;
	r->ops.b = 0;
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	sched_lost_told = lost;
}

static __always_inline void count_lost(void)
{
	account_add(ACCOUNT_SCHED_LOST);
	__sync_fetch_and_add(&sched_lost, 1);
}

static __always_inline __u64 wakeup_now(void)
{
	__u64 n = account_add(ACCOUNT_SCHED);

	return n & query_mask ? BPF_RB_NO_WAKEUP : wakeup_due();
}

SEC("?watch/sched_switch")
int BPF_PROG(on_sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	__u64 comm[COMM_SIZE / 8], ts;
	struct record_switch *r;
	struct whose from, to;
	bool news;

	if (!recording)
		return 0;
	ts = bpf_ktime_get_ns();
	look_whose(prev, &from);
	look_whose(next, &to);
	news = is_news(next, &to, comm);
	tell_gap();
	/* Two lengths, each known to the verifier. */
	if (news)
		r = record_reserve(sizeof(*r));
	else
		r = record_reserve(offsetof(struct record_switch, comm));
	if (!r) {
		if (news)
			forget_told(&to);
		count_lost();
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
	bpf_ringbuf_submit(r, wakeup_now());
	return 0;
}

/* An idle CPU wakes nobody by itself. */
/* An int or a single byte, depending on the version: all its values fit the latter. */
static __always_inline bool is_on_queue(const struct task_struct *task)
{
	__u8 on_queue = 0;

	bpf_probe_read_kernel(&on_queue, sizeof(on_queue), &task->on_rq);
	return on_queue;
}

static __always_inline int waking(struct task_struct *task, bool look)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	struct record_waking *r;
	struct whose from, to;
	__u64 ts;

	if (!recording || !traced_flags(task->tgid))
		return 0;
	ts = bpf_ktime_get_ns();
	look_whose(task, &to);
	if (!to.traced)
		return 0;
	look_whose(waker, &from);
	tell_gap();
	r = record_reserve(sizeof(*r));
	if (!r) {
		count_lost();
		return 0;
	}
	r->ts = ts;
	r->tgid = to.tgid;
	r->tid = to.tid;
	r->waker_tgid = from.tgid;
	r->waker_tid = from.tid;
	r->cpu = bpf_get_smp_processor_id();
	r->target_cpu = task->thread_info.cpu;
	r->kind = RECORD_WAKING;
	r->flags = SCHED_TRACED | (from.traced ? SCHED_NEXT_TRACED : 0) |
		   (!from.tid || (look && in_interrupt()) ? SCHED_INTERRUPT : 0) |
		   (task->flags & TASK_IS_EXITING ? SCHED_EXITING : 0) |
		   (is_on_queue(task) ? SCHED_ON_QUEUE : 0);
	r->prio = task->prio;
	r->unused = 0;
	bpf_ringbuf_submit(r, wakeup_now());
	return 0;
}

SEC("?watch/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task)
{
	return waking(task, true);
}

SEC("?watch/sched_waking")
int BPF_PROG(on_waking_blind, struct task_struct *task)
{
	return waking(task, false);
}

/* A thread that has just begun, woken by the one that made it. */
SEC("?watch/sched_wakeup_new")
int BPF_PROG(on_wakeup_new, struct task_struct *task)
{
	return waking(task, false);
}
