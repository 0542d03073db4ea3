/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Marks: one hit of a probe site becomes one record.
 *
 * The sites are small functions that the markers call (include/proftrace.h), so everything there is
 * to know is in the argument registers: name, meta, a, b, keys, values. Which kind of mark it is and
 * which site was hit comes with the attach cookie.
 */
#include "buffers.h"
#include "control.h"
#include "counters.h"
#include "registers.h"
#include "steps.h"
#include "threads.h"

#define META_ARGS(meta)	   ((meta)&15)
#define META_TYPE(meta, i) ((meta) >> (8 + 4 * (i)) & 15)
#define META_NAME_DYNAMIC  (1ull << 32)
#define META_HAS_STRINGS   (1ull << 33)
#define META_IN_REGISTERS  (1ull << 34)
#define META_CATEGORIES	   (1ull << 35)
#define META_OBJECT(meta)  ((__u8)((meta) >> 40))
#define META_IS_MARKER	   (1ull << 44) /* of a frame or counter as well, which makes no difference */

/*
 * Since 6.13 a program whose frame takes 64 bytes or more does not run on the thread's stack but on
 * one of its own, of which there is one for each CPU. Yet a thread that runs a uprobe's program can be
 * preempted by another that runs it as well: the two then overwrite each other's, and marks come out
 * with the site and the name of others (6.18 with preempt=full, 7.2 as it is). Programs with tail
 * calls stay on the thread's stack. So here is one, which is never made; the verifier does not come to
 * it, so any map will do. One of programs would be worse: when its last descriptor is closed just as
 * somebody lists the machine's maps, the kernel never frees it.
 */
const volatile bool never = false;

static __always_inline void stay_on_stack_of_thread(void *ctx)
{
	if (never)
		bpf_tail_call(ctx, &traced, 0);
}

struct mark {
	__u64 ts; /* 0: take it as late as possible */
	__u64 pid_tgid;
	__u64 ip;
	__u64 meta;
	__u64 wakeup;
	const struct usdt_spec *spec; /* of others' probes alone (usdt.bpf.c) */
	__u32 site;
	__s32 name;
	__u32 level;
	__u8 kind;
	__u8 flags;
	__u8 guard; /* bpf/guard.h: its domain's number */
};

struct record_small {
	struct record head;
	struct record_operands ops;
	__s32 keys;
	__u32 name_length;
	__u64 values[2];
};

/* No branches: the verifier would follow each of them through all that comes after. */
static __always_inline __s32 distance(__u64 address, __u64 ip)
{
	__u64 d = address - ip, far = (d + 0x80000000) >> 32, given = (address | -address) >> 63;

	far = -((far | -far) >> 63); /* all ones or none */
	barrier_var(far);
	d = (d & ~far) | ((__u64)NAME_FAR & far);
	given = -given;
	barrier_var(given);
	return d & given;
}

/* All of it but the time. */
static __always_inline void fill_head(struct record *head, const struct mark *m)
{
	head->tgid = m->pid_tgid >> 32;
	head->tid = (__u32)m->pid_tgid;
	head->site = m->site;
	head->name = m->name;
	head->types = (__u32)m->meta;
	head->kind = m->kind;
	head->flags = m->flags;
	head->level = m->level;
	head->object = META_OBJECT(m->meta);
}

/*
 * The counters of a BEGIN, and its time. The perf events are read before the time and not after it, so
 * that a slice does not contain the time that reading its counters takes. Global: the verifier looks
 * at it once, and not for each form that a record can have.
 */
__noinline __u64 count_begin(struct thread_state *st)
{
	struct before before = {};
	__u64 ts;

	if (!st)
		return 0;
	if (has_perf_counters)
		read_perf_counters(st);
	look_before(&before);
	ts = bpf_ktime_get_ns();
	read_task_counters(st->values[PART_VALUE], ts, &before);
	return ts;
}

/*
 * The last thing done to a record: its head, with the time, and its counters. An END's were read as it
 * came. A slice begins after our own work and ends before it.
 */
static __always_inline void fill_last(struct record *head, __u64 *end, struct thread_state *st,
				      const struct mark *m, bool counted)
{
	fill_head(head, m);
	if (!counted) {
		head->ts = m->ts ? m->ts : bpf_ktime_get_ns();
		return;
	}
	head->flags |= RECORD_COUNTERS;
	head->ts = m->kind == RECORD_BEGIN ? count_begin(st) : m->ts;
	put_counters(st, end);
}

static __always_inline void fill_operands(struct record_operands *ops, struct pt_regs *ctx,
					  struct mark *m)
{
	ops->a = ARG(ctx, 3);
	ops->b = ARG(ctx, 4);
	if (m->meta & META_CATEGORIES) {
		ops->b = (__u32)distance(ops->b, m->ip);
		m->flags |= RECORD_CATEGORIES;
	}
}

/* An own, bounded count: what the program passes is not to be trusted. */
static __always_inline __u32 count_args(__u64 meta)
{
	__u32 n = META_ARGS(meta);

	return n > MAX_ARGS ? MAX_ARGS : n;
}

/* The size must be a constant to the verifier, which it is on either way: n_counters never changes. */
static __always_inline void *reserve(__u64 size, bool counted)
{
	if (counted)
		return record_reserve(size + counter_values() * sizeof(__u64));
	return record_reserve(size);
}

static __always_inline bool emit_head(struct thread_state *st, const struct mark *m, bool counted)
{
	struct record *r = reserve(sizeof(*r), counted);

	if (!r)
		return false;
	fill_last(r, (__u64 *)(r + 1), st, m, counted);
	bpf_ringbuf_submit(r, m->wakeup);
	return true;
}

static __always_inline bool emit_plain(struct pt_regs *ctx, struct thread_state *st, struct mark *m,
				       bool counted)
{
	struct record_plain *r = reserve(sizeof(*r), counted);

	if (!r)
		return false;
	fill_operands(&r->ops, ctx, m);
	fill_last(&r->head, (__u64 *)(r + 1), st, m, counted);
	bpf_ringbuf_submit(r, m->wakeup);
	return true;
}

static __always_inline bool emit_small(struct pt_regs *ctx, struct thread_state *st, struct mark *m,
				       bool counted, __u32 n)
{
	struct record_small *r = reserve(sizeof(*r), counted);
	long error;

	if (!r)
		return false;
	fill_operands(&r->ops, ctx, m);
	r->keys = distance(ARG(ctx, 5), m->ip);
	r->name_length = 0;
	r->values[1] = 0;
	if (m->meta & META_IN_REGISTERS) {
		r->ops.b = 0;
		r->values[0] = ARG(ctx, 4);
		r->values[1] = ARG(ctx, 6);
		error = 0;
	} else {
		error = bpf_probe_read_user(r->values, n < 2 ? 8 : 16, (void *)ARG(ctx, 6));
	}
	fill_last(&r->head, (__u64 *)(r + 1), st, m, counted);
	if (error)
		r->head.flags |= RECORD_ARGS_UNREADABLE;
	bpf_ringbuf_submit(r, m->wakeup);
	return true;
}

static __always_inline bool emit_full(struct pt_regs *ctx, struct thread_state *st, struct mark *m,
				      bool counted, __u32 n)
{
	struct record_full *r = reserve(sizeof(*r), counted);
	long error;

	if (!r)
		return false;
	fill_operands(&r->ops, ctx, m);
	r->args.keys = distance(ARG(ctx, 5), m->ip);
	r->args.name_length = 0;
	if (n > MAX_ARGS) /* count_args() saw to it; said again for the verifier */
		n = MAX_ARGS;
	error = bpf_probe_read_user(r->args.values, n * sizeof(__u64), (void *)ARG(ctx, 6));
	fill_last(&r->head, (__u64 *)(r + 1), st, m, counted);
	if (error)
		r->head.flags |= RECORD_ARGS_UNREADABLE;
	bpf_ringbuf_submit(r, m->wakeup);
	return true;
}

/*
 * Copies the string at `from` to `at`, behind the others, and returns its value: how many bytes these
 * are, with flags. Two bytes more than are kept are asked for: the NUL, and one to tell a string of
 * just this length from a longer one.
 *
 * Global: the verifier looks at it once, and not at each way through it for each argument.
 */
__noinline __u64 copy_string(struct string_record *s, __u32 at, __u64 from, __u32 limit, __u64 ip)
{
	__u64 flags = 0;
	long n;

	if (!s || !from)
		return STRING_NULL;
	if (limit > MAX_STRING)
		limit = MAX_STRING;
	n = bpf_probe_read_user_str(&s->bytes[at & (STRING_AREA - 1)], limit + 2, (void *)from);
	if (n < 0)
		/* Not in memory, perhaps since nobody touched it yet: a static one is in the file. */
		return STRING_UNREADABLE | (__u32)distance(from, ip);
	if (n > 0)
		n--;
	if (n > limit) {
		n = limit;
		flags = STRING_CUT;
	}
	return flags | (__u64)n;
}

/* The bytes that a string's value stands for. */
static __always_inline __u32 copied(__u64 value)
{
	__u64 none = -((value >> 62 | value >> 61) & 1);

	barrier_var(none);
	return (__u32)value & ~(__u32)none;
}

/* The strings among the arguments, whose values are in place. Returns where the bytes end. */
__noinline __u32 copy_strings(struct string_record *s, __u32 at, __u64 meta, __u64 ip)
{
	__u32 n = count_args(meta), i;

	if (!s)
		return 0;
	for (i = 0; i < MAX_ARGS; i++) {
		if (i >= n)
			break;
		if (META_TYPE(meta, i) != VALUE_STRING)
			continue;
		s->rec.args.values[i] = copy_string(s, at, s->rec.args.values[i], MAX_STRING, ip);
		at += copied(s->rec.args.values[i]);
	}
	return at;
}

/* Global, too. Returns whether there was room. */
__noinline int emit_strings(struct bpf_user_pt_regs_t *regs, struct thread_state *st,
			    struct mark *m, bool counted)
{
	struct pt_regs *ctx = (struct pt_regs *)regs;
	struct task_struct *task = bpf_get_current_task_btf();
	struct string_record *s;
	__u64 name = STRING_NULL, categories = STRING_NULL;
	__u32 offset = 0, n;
	__u8 flags = 0;

	if (!m || !st)
		return 0;
	s = bpf_task_storage_get(&string_records, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!s)
		return 0;
	n = count_args(m->meta);
	s->rec.args.name_length = 0;
	if (m->meta & META_NAME_DYNAMIC) {
		name = copy_string(s, 0, ARG(ctx, 1), MAX_NAME, m->ip);
		if (name & (STRING_UNREADABLE | STRING_NULL)) {
			flags |= RECORD_NAME_UNREADABLE;
		} else {
			flags |= RECORD_NAME_COPIED | (name & STRING_CUT ? RECORD_NAME_CUT : 0);
			s->rec.args.name_length = (__u32)name;
			offset = (__u32)name;
		}
		if (m->meta & META_CATEGORIES)
			categories = copy_string(s, offset, ARG(ctx, 4), MAX_NAME, m->ip);
		offset += copied(categories);
	}
	if (m->meta & META_IN_REGISTERS && n <= 2) {
		s->rec.args.values[0] = ARG(ctx, 4);
		s->rec.args.values[1] = ARG(ctx, 6);
	} else if (n && bpf_probe_read_user(s->rec.args.values, n * sizeof(__u64),
					    (void *)ARG(ctx, 6))) {
		flags |= RECORD_ARGS_UNREADABLE;
		n = 0;
	}
	if (n)
		offset = copy_strings(s, offset, m->meta, m->ip);
	s->rec.args.keys = distance(ARG(ctx, 5), m->ip);
	fill_operands(&s->rec.ops, ctx, m);
	if (m->meta & META_IN_REGISTERS)
		s->rec.ops.b = 0;
	else if (m->meta & META_CATEGORIES && m->meta & META_NAME_DYNAMIC)
		s->rec.ops.b = copied(categories);
	offset = (offset + 7) & (STRING_AREA - 8);
	fill_last(&s->rec.head, (__u64 *)&s->bytes[offset], st, m, counted);
	s->rec.head.flags |= flags;
	if (counted)
		offset += counter_values() * sizeof(__u64);
	return !record_output(s, sizeof(s->rec) + offset, m->wakeup);
}

static __always_inline bool emit_as(struct pt_regs *ctx, struct thread_state *st, struct mark *m,
				    bool counted)
{
	__u32 n = count_args(m->meta);

	if (m->meta & (META_NAME_DYNAMIC | META_HAS_STRINGS))
		return emit_strings((struct bpf_user_pt_regs_t *)ctx, st, m, counted);
	if (n > 2)
		return emit_full(ctx, st, m, counted, n);
	if (n)
		return emit_small(ctx, st, m, counted, n);
	if (m->kind <= RECORD_INSTANT && !(m->meta & (META_CATEGORIES | META_IS_MARKER)))
		return emit_head(st, m, counted);
	return emit_plain(ctx, st, m, counted);
}

/* One decision for all that follows, or the verifier would have to see that it is always the same. */
static __always_inline bool emit(struct pt_regs *ctx, struct thread_state *st, struct mark *m)
{
	if (has_counters(m->kind))
		return emit_as(ctx, st, m, true);
	return emit_as(ctx, st, m, false);
}

static __always_inline void lost_here(struct thread_state *st, __u64 ts)
{
	if (!ts)
		ts = bpf_ktime_get_ns();
	if (!st->lost++)
		st->lost_since = ts;
	st->lost_last = ts;
}

static __always_inline void leave_out(const struct thread_state *st)
{
	account_add(st->left_out_slot & (ACCOUNT_SLOTS - 1));
}

/* Opens a level. Returns it, or -1 if it is not to be recorded, or too deep to be followed. */
static __always_inline int open_slice(struct thread_state *st, __u64 token, bool left_out)
{
	__u32 level = st->depth;

	if (level >= MAX_NESTING) {
		st->too_deep++;
		account_add(ACCOUNT_TOO_DEEP);
		return -1;
	}
	st->token[level] = token;
	st->depth = level + 1;
	if (left_out) {
		st->recorded &= ~(1ull << level);
		st->left_out |= 1ull << level;
		leave_out(st);
		return -1;
	}
	st->recorded |= 1ull << level;
	return level;
}

#define SCOPE_IN_BETWEEN -2

/*
 * The innermost of these levels (a bit each) with this token, or -1. What has no token of its own does
 * not reach beyond a scope or an object: then SCOPE_IN_BETWEEN. Global: the verifier looks at it
 * once. Bits, not a bound: kernel 6.1 does not see that what was below the bound once stays below it,
 * follows both ways at each of the 64 levels, and gives up.
 */
__noinline int find_token(struct thread_state *st, __u64 token, __u64 levels)
{
	__u64 barrier_from = token < PLAIN_TOKENS ? PLAIN_TOKENS : ~0ull;
	int i;

	if (!st)
		return -1;
	for (i = MAX_NESTING - 1; i >= 0; i--) {
		if (!(levels >> i & 1))
			continue;
		if (st->token[i] == token)
			return i;
		if (st->token[i] >= barrier_from)
			return SCOPE_IN_BETWEEN;
	}
	return -1;
}

/*
 * Closes the level this END belongs to and returns it, or -1 if it is not to be recorded: the innermost
 * one of its token, which of a PROF_END is its domain's. Those above it never got an END, or their
 * domains are not recorded any more; but no PROF_END closes a scope or an object. Where there is no
 * such level, the slice began before its domain was recorded; or never, on a thread of which all is known.
 */
static __always_inline int close_slice(struct thread_state *st, __u64 token, __u8 *flags)
{
	__u32 level = st->depth - 1;

	int found = -1;

	if (st->too_deep) {
		/* Its own END brings a scope back from however many BEGINs that never got one. */
		if (token >= PLAIN_TOKENS)
			found = find_token(st, token, ~0ull);
		if (found < 0) {
			st->too_deep--;
			account_add(ACCOUNT_TOO_DEEP);
			return -1;
		}
		st->too_deep = 0;
	} else if (!st->depth) {
		account_add(st->whole ? ACCOUNT_UNMATCHED : ACCOUNT_CUT);
		return -1;
	} else if (st->token[level & (MAX_NESTING - 1)] != token) {
		level &= MAX_NESTING - 1;
		found = find_token(st, token, (2ull << level) - 1);
		if (found < 0) {
			account_add(found == SCOPE_IN_BETWEEN || st->whole ? ACCOUNT_UNMATCHED
									   : ACCOUNT_CUT);
			return -1;
		}
	}
	if (found >= 0) {
		level = found;
		*flags = RECORD_CLOSES_INNER;
	}
	level &= MAX_NESTING - 1;
	st->depth = level;
	if (!(st->recorded & 1ull << level)) {
		if (st->left_out & 1ull << level)
			leave_out(st);
		else
			account_add(ACCOUNT_BEGIN_LOST);
		return -1;
	}
	return level;
}

/* Marks that neither open nor close a level: returns how many are open, or -1 if not to be recorded. */
static __always_inline int take_other(struct thread_state *st, struct mark *m, bool left_out)
{
	if (m->kind >= RECORD_PAUSE && m->kind <= RECORD_INCLUDE_JSON) {
		take_control(m->pid_tgid >> 32, m->kind);
		return st->depth;
	}
	/* What else is of the control site tells of a state that goes on. */
	if (!left_out || m->kind == RECORD_THREAD_NAME || m->kind >= RECORD_SCOPE_PUSH)
		return st->depth;
	/* Whether they end something that was recorded is not known here. */
	if (m->kind == RECORD_ASYNC_END || m->kind == RECORD_FREE || m->kind == RECORD_STEP) {
		m->flags |= RECORD_LEFT_OUT;
		return st->depth;
	}
	leave_out(st);
	return -1;
}

/*
 * A thread without a state has made no mark before, or is none of ours. Out of line, since it happens
 * once for each thread. NULL: the mark is not recorded, and accounted for where that is a loss.
 */
static __noinline struct thread_state *first_mark(__u64 pid_tgid)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 flags = traced_flags(pid_tgid >> 32);
	struct thread_state *st;

	if (!(flags & TRACED_MARKS))
		return NULL;
	st = thread_begin(task, pid_tgid);
	if (!st) {
		account_add(ACCOUNT_MARKS);
		account_add(ACCOUNT_NO_STATE);
		return NULL;
	}
	/* The first thread of a process that was forked goes on with what its parent had open. */
	if ((__u32)pid_tgid == pid_tgid >> 32)
		st->whole = (flags & TRACED_WHOLE) != 0;
	else
		st->whole = attached_ns && task->start_time > attached_ns;
	return st;
}

/* The state of the thread that runs into a probe. NULL: what it does there is not recorded. */
static __always_inline struct thread_state *thread_here(__u64 *pid_tgid)
{
	struct task_struct *task;
	struct thread_state *st;

	if (!recording)
		return NULL;
	task = bpf_get_current_task_btf();
	*pid_tgid = pid_tgid_of(task);
	st = thread_find(task, *pid_tgid);
	return st ? st : first_mark(*pid_tgid);
}

/* What tells this slice from others of the thread: those without a token are told by their domain. */
static __always_inline __u64 token_of(struct pt_regs *ctx, __u64 cookie)
{
	__u64 token = ARG(ctx, 3);

	return token ? token : cookie >> COOKIE_DOMAIN_SHIFT & (PLAIN_TOKENS - 1);
}

/*
 * Of some domains only marks with categories are asked for; the others are as if nobody recorded the
 * domain. An END has no categories: it is asked for when its slice is open.
 */
static __always_inline bool is_asked_for(struct thread_state *st, const struct mark *m, __u64 token,
					 __u64 cookie)
{
	__u32 top = (st->depth - 1) & (MAX_NESTING - 1);

	if (!(cookie >> COOKIE_CATEGORIES_SHIFT & 1) || m->meta & META_CATEGORIES)
		return true;
	if (m->kind != RECORD_END)
		return false;
	return st->too_deep || (st->depth && find_token(st, token, (2ull << top) - 1) >= 0);
}

/* Under a schedule, PROF_STEP decides what is recorded, itself included. */
static __always_inline void take_step_of(struct thread_state *st, struct pt_regs *ctx,
					 const struct mark *m)
{
	take_step(m->pid_tgid, ARG(ctx, 3), ARG(ctx, 4));
	look_again(st, m->pid_tgid >> 32);
}

/* Makes a record of it: emit() does of ours. */
typedef bool (*emitter)(struct pt_regs *ctx, struct thread_state *st, struct mark *m);

static __always_inline bool is_stack_wanted(const struct mark *m)
{
	__u64 key = stack_key(m->site, m->name);
	__u32 i;

	if (m->kind != RECORD_BEGIN && m->kind != RECORD_INSTANT)
		return false;
	for (i = 0; i < STACK_UNWANTED_ON; i++) {
		if (stack_unwanted[stack_place(key, i)] == key)
			return false;
	}
	return true;
}

/*
 * The call stack of a mark, before the mark. In a record of the full size: there is no other place that
 * is the thread's own. Global: see emit_strings(); and not by a pointer to the mark, since a verifier that
 * lets a global function see it does not know afterwards what the pointer in it points to.
 */
__noinline int send_mark_stack(struct bpf_user_pt_regs_t *regs, __u64 pid_tgid, __u64 ts,
			       __u32 site, __s32 name)
{
	struct pt_regs *ctx = (struct pt_regs *)regs;
	struct record_stack *r;
	long n;

	r = record_reserve(offsetof(struct record_stack, addresses) + STACK_BYTES);
	if (!r) {
		account_add(ACCOUNT_STACKS_LOST);
		return 0;
	}
	head_of(&r->head, RECORD_MARK_STACK, pid_tgid >> 32, (__u32)pid_tgid);
	/* Before its mark also by its time, which may be taken already. */
	if (ts)
		r->head.ts = ts - 1;
	r->head.site = site;
	r->head.name = name;
	n = bpf_get_stack(ctx, r->addresses, STACK_BYTES, BPF_F_USER_STACK);
	r->ops.b = n > 0 ? (__u64)n / sizeof(__u64) : 0;
	r->ops.a = return_address(ctx);
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	return 0;
}

/* Sends it. `marks`: how many this CPU had seen before. */
static __always_inline bool send(struct thread_state *st, struct pt_regs *ctx, struct mark *m,
				 __u64 marks, emitter emits)
{
	/* Asking how full the buffer is costs something: few marks of a CPU do. */
	m->wakeup = marks & query_mask ? BPF_RB_NO_WAKEUP : wakeup_due();
	if (m->kind >= RECORD_PAUSE)
		m->wakeup = BPF_RB_FORCE_WAKEUP;

	if (st->lost)
		tell_lost(st, m->pid_tgid);
	if (mark_stacks && is_stack_wanted(m))
		send_mark_stack((struct bpf_user_pt_regs_t *)ctx, m->pid_tgid, m->ts, m->site,
				m->name);
	if (emits(ctx, st, m))
		return true;
	account_add(ACCOUNT_FULL);
	lost_here(st, m->ts);
	if (m->kind == RECORD_BEGIN) {
		st->recorded &= ~(1ull << (m->level & (MAX_NESTING - 1)));
		st->left_out &= ~(1ull << (m->level & (MAX_NESTING - 1)));
	}
	return false;
}

/*
 * What becomes of a mark. Returns how many are done with now, which only a schedule wants to know: a
 * BEGIN that is recorded is not before its END is.
 */
static __always_inline __u64 take_mark(struct thread_state *st, struct pt_regs *ctx, struct mark *m,
				       __u64 token, emitter emits)
{
	__u64 marks = account_add(ACCOUNT_MARKS), done = 1;
	__u32 depth;
	bool left_out;
	int level;

	if (scheduled && m->kind == RECORD_STEP)
		take_step_of(st, ctx, m);
	depth = st->depth;
	left_out = (m->meta | META_EVERY) & st->leave_out;
	if (m->kind == RECORD_BEGIN) {
		level = open_slice(st, token, left_out);
		if (guarded && !st->too_deep)
			st->guard[(st->depth - 1) & (MAX_NESTING - 1)] = m->guard;
	} else if (m->kind == RECORD_END) {
		level = close_slice(st, token, &m->flags);
	} else {
		level = take_other(st, m, left_out);
	}
	if (scheduled && m->kind == RECORD_END)
		done += __builtin_popcountll(st->recorded & levels_below(depth) &
					     ~levels_below(st->depth));
	if (level < 0)
		return done;
	m->level = level;
	if (send(st, ctx, m, marks, emits) && m->kind == RECORD_BEGIN)
		done = 0;
	return done;
}

/*
 * With the time and the counters of an END read before anything else is done. False: its domain costs
 * too much, and is off.
 */
static __always_inline bool take_with_counters(struct thread_state *st, struct pt_regs *ctx,
					       struct mark *m, __u64 token, emitter emits)
{
	struct before before = {};
	__u64 done;

	if (m->kind == RECORD_END)
		look_before(&before);
	if (m->kind != RECORD_BEGIN)
		m->ts = bpf_ktime_get_ns();
	if (n_counters && m->kind == RECORD_END) {
		read_task_counters(st->values[PART_VALUE], m->ts, &before);
		if (has_perf_counters)
			read_perf_counters(st);
	}

	if (scheduled)
		account_add(ACCOUNT_ENTERED);
	if (st->generation != generation)
		look_again(st, m->pid_tgid >> 32);
	/* After that look: what is opened before a domain goes off will be forgotten by the next one. */
	if (guarded && is_off(m->guard)) {
		account_add(ACCOUNT_MARKS);
		account_add(ACCOUNT_SWITCHED_OFF);
		return false;
	}
	done = take_mark(st, ctx, m, token, emits);
	if (scheduled)
		account_add_n(ACCOUNT_LEFT, done);
	return true;
}

/*
 * Global: for the verifier, a state that was found in one map and one that was found in another never
 * become the same, and it would look at all of this twice.
 */
__noinline int take_hit(struct bpf_user_pt_regs_t *regs, struct thread_state *st, __u64 pid_tgid)
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
	m.name = distance(ARG(ctx, 1), m.ip);
	token = token_of(ctx, cookie);
	if (guarded) {
		m.guard = guard_of(cookie);
		guard_begin(bpf_get_current_task_btf(), m.guard, &time);
	}
	if (!is_asked_for(st, &m, token, cookie))
		return 0;
	if (take_with_counters(st, ctx, &m, token, emit) && guarded)
		guard_end(bpf_get_current_task_btf(), m.guard, &time);
	return 0;
}

SEC("uprobe")
int mark(struct pt_regs *ctx)
{
	__u64 pid_tgid;
	struct thread_state *st = thread_here(&pid_tgid);

	if (!st)
		return 0;
	stay_on_stack_of_thread(ctx);
	return take_hit((struct bpf_user_pt_regs_t *)ctx, st, pid_tgid);
}
