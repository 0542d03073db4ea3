/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Marks: each hit of a probe site becomes one record.
 *
 * A site is in a small function that the marker calls (include/proftrace.h), so all arguments are
 * in registers: name, meta, a, b, keys, values. The attach cookie says which site was hit and what
 * kind of mark it is.
 */
#include "bpf/buffers.h"
#include "bpf/control.h"
#include "bpf/counters/counters.h"
#include "bpf/marks/mark_records.h"
#include "bpf/marks/nesting.h"
#include "bpf/registers.h"
#include "bpf/marks/steps.h"
#include "bpf/threads.h"
#include "bpf/stacks/unwind_walk.h"

/*
 * Since 6.13 a program whose frame takes 64 bytes or more does not run on the thread's stack but on
 * a private stack, one for each CPU. But a thread in a uprobe's program can be preempted by another
 * thread that runs the same program. Then both overwrite each other's stack, and marks have the
 * site and the name of others (seen on 6.18 with preempt=full, and on 7.2 by default). Programs
 * with a tail call stay on the thread's stack, so here is a tail call that is never taken. The
 * verifier removes it, so any map will do. A map of programs would be worse: if its last descriptor
 * is closed while somebody lists the machine's maps, the kernel never frees it. The verifier knows the
 * result of a shift. The loader, which removes dead code before (dead_code.c), must not know it: the
 * kernel looks for tail calls first.
 */
static __always_inline void stay_on_thread_stack(void *ctx)
{
	__u64 never;

	asm volatile("%0 = 0\n%0 <<= 1" : "=r"(never));
	if (never)
		bpf_tail_call(ctx, &traced, 0);
}

static __always_inline void count_lost_mark(struct thread_state *st, __u64 ts)
{
	if (!ts)
		ts = bpf_ktime_get_ns();
	if (!st->lost++)
		st->lost_since = ts;
	st->lost_last = ts;
}

/*
 * Handles marks that neither open nor close a level. Returns how many are open, or -1 if the mark
 * is not recorded.
 */
static __always_inline int level_of_other(struct thread_state *st, struct mark *m, bool left_out)
{
	if (m->kind >= RECORD_PAUSE && m->kind <= RECORD_INCLUDE_JSON) {
		apply_control(m->pid_tgid >> 32, m->kind);
		return st->depth;
	}
	/* The other control marks describe a state that lasts longer than the pause. */
	if (!left_out || m->kind == RECORD_THREAD_NAME || m->kind >= RECORD_SCOPE_PUSH)
		return st->depth;
	/* The kernel does not know whether these end something that was recorded. */
	if (m->kind == RECORD_ASYNC_END || m->kind == RECORD_FREE || m->kind == RECORD_STEP) {
		m->flags |= RECORD_LEFT_OUT;
		return st->depth;
	}
	account_left_out(st);
	return -1;
}

/*
 * Creates the state of a thread at its first mark. Not inlined, since it runs once per thread.
 * NULL: the process is not recorded, or there is no memory, which is accounted for.
 */
static __noinline struct thread_state *begin_marking_thread(__u64 pid_tgid)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 flags = traced_flags(pid_tgid >> 32);
	struct thread_state *st;

	if (!(flags & TRACED_MARKS))
		return NULL;
	st = thread_state_begin(task, pid_tgid);
	if (!st) {
		account_add(ACCOUNT_MARKS);
		account_add(ACCOUNT_NO_STATE);
		return NULL;
	}
	/*
	 * The first thread of a forked process continues with the slices that its parent had open.
	 */
	if ((__u32)pid_tgid == pid_tgid >> 32)
		st->whole = (flags & TRACED_WHOLE) != 0;
	else
		st->whole = attached_ns && task->start_time > attached_ns;
	return st;
}

/* Returns the state of the thread that hit the probe; NULL: the thread is not recorded. */
static __always_inline struct thread_state *current_thread_state(__u64 *pid_tgid)
{
	struct task_struct *task;
	struct thread_state *st;

	if (!recording)
		return NULL;
	task = bpf_get_current_task_btf();
	*pid_tgid = pid_tgid_of(task);
	st = thread_state_lookup(task, *pid_tgid);
	return st ? st : begin_marking_thread(*pid_tgid);
}

/*
 * While a process has links of its own and others are for all processes, a hit runs the program for both. The kernel
 * runs the newer ones first (consumer_add() in kernel/events/uprobes.c), which are those of the process, on the same thread and
 * without anything of it in between. So what the first has recorded, the second leaves out. A place may be several sites, whose
 * numbers follow each other.
 */
static __always_inline bool hit_is_recorded(struct pt_regs *ctx, struct thread_state *st)
{
	__u64 cookie, hit;
	__u32 turn = both_links, slot;
	bool recorded;

	if (!(turn & 1))
		return false;
	cookie = bpf_get_attach_cookie(ctx);
	hit = (__u64)turn << 32 | (__u32)cookie;
	slot = cookie & (OWN_HITS - 1);
	recorded = st->own_hits[slot] == hit;
	st->own_hits[slot] = cookie & COOKIE_OF_PROCESS ? hit : 0;
	return recorded && !(cookie & COOKIE_OF_PROCESS);
}

/*
 * What tells this slice from others of the thread. A mark without a token of its own uses the
 * number of its domain.
 */
static __always_inline __u64 mark_token(struct pt_regs *ctx, __u64 cookie)
{
	__u64 token = ARG(ctx, 3);

	return token | (cookie >> COOKIE_DOMAIN_SHIFT & (PLAIN_TOKENS - 1) & ~mask_of(token));
}

/*
 * Of some domains only marks with categories are selected; other marks are treated as if the domain
 * were not recorded. An END has no categories: it is selected if its slice is open.
 */
static __always_inline bool mark_is_selected(struct thread_state *st, const struct mark *m,
					     __u64 token, __u64 cookie)
{
	if (!(cookie >> COOKIE_CATEGORIES_SHIFT & 1) || m->meta & META_CATEGORIES)
		return true;
	if (m->kind != RECORD_END)
		return false;
	if (batching)
		return true;
	return st->too_deep || (st->depth && find_token(st, token, st->depth - 1) >= 0);
}

/* Under a schedule, PROF_STEP decides what is recorded, including itself. */
static __always_inline void apply_step_mark(struct thread_state *st, struct pt_regs *ctx,
					    const struct mark *m)
{
	begin_step(m->pid_tgid, ARG(ctx, 3), ARG(ctx, 4));
	refresh_selection(st, m->pid_tgid >> 32);
}

/* Writes the record of a mark; emit_mark() is the one for markers. */
typedef bool (*emitter)(struct pt_regs *ctx, struct thread_state *st, struct mark *m);

static __always_inline bool mark_stack_is_wanted(const struct mark *m)
{
	__u64 key = stack_key(m->site, m->name);

	if (m->kind != RECORD_BEGIN && m->kind != RECORD_INSTANT)
		return false;
	/* It is of another mark, or was somewhere else at another time. */
	if (META_OBJECT(m->meta) >> 4 >= META_CLASS_SPLIT)
		return false;
	for (__u32 i = 0; i < STACK_UNWANTED_ON; i++) {
		if (stack_unwanted[stack_place(key, i)] == key)
			return false;
	}
	return true;
}

/* A thread in a mark can lose its CPU to another one, so the memory is the thread's. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct stack_work);
} mark_stacks_of SEC(".maps");

/*
 * Sends the call stack of a mark, before the mark. A global function as emit_strings(). It does not
 * get a pointer to the mark: once a verifier has passed such a pointer to a global function, it no
 * longer knows what the structure's members point to.
 */
__noinline int send_mark_stack(struct bpf_user_pt_regs_t *regs, __u64 pid_tgid, __u64 ts,
			       __u32 site, __s32 name)
{
	struct pt_regs *ctx = (struct pt_regs *)regs;
	struct task_struct *task = bpf_get_current_task_btf();
	struct stack_work *work =
		bpf_task_storage_get(&mark_stacks_of, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	struct record_stack *r;

	if (!work) {
		account_add(ACCOUNT_STACKS_LOST);
		return 0;
	}
	r = &work->record;
	init_record_head(&r->head, RECORD_MARK_STACK, pid_tgid >> 32, (__u32)pid_tgid);
	/* Its time must be before that of the mark, which may have been taken already. */
	if (ts)
		r->head.ts = ts - 1;
	r->head.site = site;
	r->head.name = name;
	r->ops.b = walk_program(ctx, work, ctx, pid_tgid >> 32, 0);
	r->ops.a = return_address(ctx);
	if (record_output(r, stack_size(r, 0), BPF_RB_NO_WAKEUP))
		account_add(ACCOUNT_STACKS_LOST);
	return 0;
}

static __always_inline void send_wanted_stack(struct pt_regs *ctx, const struct mark *m)
{
	if (mark_stack_is_wanted(m))
		send_mark_stack((struct bpf_user_pt_regs_t *)ctx, m->pid_tgid, m->ts, m->site,
				m->name);
}

/* Of a program of its own (mark_with_stack below). */
static __always_inline bool emit_stack_and_mark(struct pt_regs *ctx, struct thread_state *st,
						struct mark *m)
{
	send_wanted_stack(ctx, m);
	return emit_mark(ctx, st, m);
}

/* Sends a mark. `marks`: the number of marks that this CPU has seen before. */
static __always_inline bool send_mark(struct thread_state *st, struct pt_regs *ctx, struct mark *m,
				      __u64 marks, emitter emits)
{
	/* Querying the buffer costs time, so only some marks of a CPU do. */
	m->wakeup = marks & query_mask ? BPF_RB_NO_WAKEUP : wakeup_due();
	if (m->kind >= RECORD_PAUSE)
		m->wakeup = BPF_RB_FORCE_WAKEUP;

	if (st->lost)
		send_lost(st, m->pid_tgid);
	if (emits(ctx, st, m))
		return true;
	account_add(ACCOUNT_FULL);
	count_lost_mark(st, m->ts);
	if (m->kind == RECORD_BEGIN) {
		st->recorded &= ~(1ull << (m->level & (MAX_NESTING - 1)));
		st->left_out &= ~(1ull << (m->level & (MAX_NESTING - 1)));
	}
	return false;
}

/*
 * Follows the nesting and sends the mark. Returns how many marks are finished by it, which only a
 * schedule needs: a recorded BEGIN is finished when its END is.
 */
static __always_inline __u64 process_mark(struct thread_state *st, struct pt_regs *ctx,
					  struct mark *m, __u64 token, emitter emits)
{
	__u64 marks = account_add(ACCOUNT_MARKS), done = 1;
	__u32 depth;
	bool left_out;
	int level;

	if (scheduled && m->kind == RECORD_STEP)
		apply_step_mark(st, ctx, m);
	depth = st->depth;
	left_out = (m->meta | META_EVERY) & st->skip_mask;
	/* The slices around it may have begun in buffered mode: the recorder follows the nesting. */
	if (batching && m->kind < RECORD_THREAD_NAME) {
		level = 0;
	} else if (m->kind == RECORD_BEGIN) {
		level = open_slice(st, token, left_out);
		if (switches_off && !st->too_deep)
			st->guard[(st->depth - 1) & (MAX_NESTING - 1)] = m->guard;
	} else if (m->kind == RECORD_END) {
		level = close_slice(st, token, &m->flags);
	} else {
		level = level_of_other(st, m, left_out);
	}
	if (scheduled && m->kind == RECORD_END)
		done += __builtin_popcountll(st->recorded & levels_below(depth) &
					     ~levels_below(st->depth));
	if (level < 0)
		return done;
	m->level = level;
	if (send_mark(st, ctx, m, marks, emits) && m->kind == RECORD_BEGIN)
		done = 0;
	return done;
}

/*
 * Reads the time and the counters of an END before anything else is done, then processes the mark.
 * False: the domain is switched off because it costs too much.
 */
static __always_inline bool process_timed_mark(struct thread_state *st, struct pt_regs *ctx,
					       struct mark *m, __u64 token, emitter emits)
{
	struct clock_state before = {};
	__u64 done;

	if (m->kind == RECORD_END)
		read_clock_state(&before, bpf_get_current_task_btf());
	if (m->kind != RECORD_BEGIN)
		m->ts = bpf_ktime_get_ns();
	if (n_counters && m->kind == RECORD_END) {
		read_task_counters(bpf_get_current_task_btf(), st->values[PART_VALUE], m->ts,
				   &before);
		if (has_perf_counters)
			read_perf_counters(st);
	}

	if (scheduled)
		account_add(ACCOUNT_ENTERED);
	if (st->generation != generation)
		refresh_selection(st, m->pid_tgid >> 32);
	/*
	 * Checked after refresh_selection(): a level that is opened before its domain is switched
	 * off is forgotten by the next refresh.
	 */
	if (switches_off && guard_is_switched_off(m->guard)) {
		account_add(ACCOUNT_MARKS);
		account_add(ACCOUNT_SWITCHED_OFF);
		return false;
	}
	done = process_mark(st, ctx, m, token, emits);
	if (scheduled)
		account_add_n(ACCOUNT_LEFT, done);
	return true;
}

static __always_inline int handle_hit(struct bpf_user_pt_regs_t *regs, struct thread_state *st,
				      __u64 pid_tgid, emitter emits)
{
	struct pt_regs *ctx = (struct pt_regs *)regs;
	struct mark m = {};
	struct guard_time time = {};
	__u64 cookie, token;

	if (!st)
		return 0;
	m.pid_tgid = pid_tgid;
	cookie = bpf_get_attach_cookie(ctx);
	m.kind = cookie >> COOKIE_KIND_SHIFT;
	m.site = (__u32)cookie;
	m.meta = ARG(ctx, 2);
	m.ip = PT_REGS_IP(ctx);
	m.name = site_distance(ARG(ctx, 1), m.ip);
	token = mark_token(ctx, cookie);
	if (guarded) {
		m.guard = cookie_guard(cookie);
		guard_begin(bpf_get_current_task_btf(), m.guard, &time);
	}
	if (!mark_is_selected(st, &m, token, cookie))
		return 0;
	if (process_timed_mark(st, ctx, &m, token, emits) && guarded)
		guard_end(bpf_get_current_task_btf(), m.guard, &time);
	return 0;
}

/*
 * A global function: the verifier treats a state from one map and a state from another map as
 * different forever, and would check all of this twice.
 */
__noinline int handle_mark_hit(struct bpf_user_pt_regs_t *regs, struct thread_state *st,
			       __u64 pid_tgid)
{
	return handle_hit(regs, st, pid_tgid, emit_mark);
}

__noinline int handle_hit_with_stack(struct bpf_user_pt_regs_t *regs, struct thread_state *st,
				     __u64 pid_tgid)
{
	return handle_hit(regs, st, pid_tgid, emit_stack_and_mark);
}

SEC("uprobe")
int mark(struct pt_regs *ctx)
{
	__u64 pid_tgid;
	struct thread_state *st = current_thread_state(&pid_tgid);

	if (!st || hit_is_recorded(ctx, st))
		return 0;
	stay_on_thread_stack(ctx);
	return handle_mark_hit((struct bpf_user_pt_regs_t *)ctx, st, pid_tgid);
}

/*
 * Takes the place of mark() where call stacks of marks are wanted. The kernel loads all functions that a program may call
 * before it finds out which of them it does: those that walk stacks are longer than all others together.
 */
SEC("uprobe")
int mark_with_stack(struct pt_regs *ctx)
{
	__u64 pid_tgid;
	struct thread_state *st = current_thread_state(&pid_tgid);

	if (!st || hit_is_recorded(ctx, st))
		return 0;
	stay_on_thread_stack(ctx);
	return handle_hit_with_stack((struct bpf_user_pt_regs_t *)ctx, st, pid_tgid);
}
