/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Existing USDT probes, and functions that are recorded by name. A hit is treated as a mark: all of
 * marks.bpf.c is used except the reading of arguments. The site's spec (usdt_spec.h) says where the
 * arguments are; nothing in it is trusted.
 */
#include "bpf/buffers.h"
#include "bpf/registers.h"
#include "bpf/threads.h"
#include "bpf/marks/usdt_spec.h"

/* One program runs at the entry of a call and at its return: usdt_session() (since Linux 6.13). */
const volatile bool return_sessions = false;

/* The recorder writes the specs through mmap. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct usdt_spec);
} usdt_specs SEC(".maps");

static __always_inline __u64 extend_usdt_value(__u64 value, const struct usdt_arg *a)
{
	__u32 shift = (64 - a->bits) & 63;

	value <<= shift;
	return a->is_signed ? (__u64)((__s64)value >> shift) : value >> shift;
}

static __always_inline __u64 read_saved_register(const struct thread_state *st, __u32 number)
{
	return st->registers[number < USDT_NO_REGISTER ? number : USDT_NO_REGISTER];
}

/*
 * Reads an argument; returns 0 and sets st->unreadable if it cannot be read. A global function, so
 * that the verifier checks it once and not for each argument.
 */
__noinline __u64 read_usdt_arg(struct thread_state *st, const struct usdt_arg *a, __u64 ip)
{
	__u64 value = 0;
	__u32 size;

	if (!st || !a)
		return 0;
	st->unreadable = 0;
	switch (a->form) {
	case USDT_CONSTANT:
		value = a->offset;
		break;
	case USDT_REGISTER:
		value = read_saved_register(st, a->reg) >> (a->scale & 63);
		break;
	case USDT_ADDRESS:
		value = ip + a->offset;
		break;
	case USDT_MEMORY:
		ip = read_saved_register(st, a->reg) +
		     (read_saved_register(st, a->index) << (a->scale & 63));
		/* fall through */
	case USDT_RELATIVE:
		size = a->bits >> 3;
		if (size <= sizeof(value) &&
		    !bpf_probe_read_user(&value, size, (void *)(ip + a->offset)))
			break;
		/* fall through */
	default:
		st->unreadable = 1;
		return 0;
	}
	return extend_usdt_value(value, a);
}

static __always_inline __u64 read_usdt_value(struct thread_state *st, struct mark *m, __u32 i)
{
	__u64 value = read_usdt_arg(st, &m->spec->args[i], m->ip);

	if (st->unreadable) {
		m->meta &= ~(15ull << META_TYPE_AT(i));
		m->meta |= (__u64)VALUE_UNREADABLE << META_TYPE_AT(i);
	}
	return value;
}

static __always_inline void fill_usdt_operands(struct record_operands *ops, struct thread_state *st,
					       struct mark *m)
{
	ops->a = 0;
	ops->b = 0;
	if (m->kind != RECORD_ASYNC_BEGIN && m->kind != RECORD_ASYNC_END)
		return;
	if (m->spec->flags & USDT_BY_THREAD) {
		ops->a = (__u32)m->pid_tgid;
		return;
	}
	ops->a = read_usdt_arg(st, &m->spec->id, m->ip);
	if (st->unreadable)
		m->meta |= VALUE_UNREADABLE << 4;
}

/* A record with strings, whose bytes follow the values. */
static __noinline bool emit_usdt_strings(struct thread_state *st, struct mark *m, bool counted)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct string_record *s;
	__u32 offset = 0, n;

	if (!m || !m->spec || !st)
		return false;
	s = bpf_task_storage_get(&string_records, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!s)
		return false;
	n = count_args(m->meta);
	for (int i = 0; i < MAX_ARGS; i++) {
		__u64 value;

		if (i >= n)
			break;
		value = read_usdt_value(st, m, i);
		if (META_TYPE(m->meta, i) == VALUE_STRING) {
			value = copy_user_string(s, offset, value, MAX_STRING, m->ip);
			offset += copied_bytes(value);
		}
		s->rec.args.values[i] = value;
	}
	s->rec.args.keys = NAME_NONE;
	s->rec.args.name_length = 0;
	fill_usdt_operands(&s->rec.ops, st, m);
	offset = (offset + 7) & (STRING_AREA - 8);
	finish_mark_record(&s->rec.head, (__u64 *)&s->bytes[offset], st, m, counted);
	if (counted)
		offset += counter_values() * sizeof(__u64);
	return !record_output(s, sizeof(s->rec) + offset, m->wakeup);
}

static __always_inline bool emit_usdt_full(struct thread_state *st, struct mark *m, bool counted)
{
	struct record_full *r = reserve_mark(sizeof(*r), counted);
	__u32 n = count_args(m->meta);

	if (!r)
		return false;
	for (int i = 0; i < MAX_ARGS; i++)
		r->args.values[i] = i < n ? read_usdt_value(st, m, i) : 0;
	r->args.keys = NAME_NONE;
	r->args.name_length = 0;
	fill_usdt_operands(&r->ops, st, m);
	finish_mark_record(&r->head, (__u64 *)(r + 1), st, m, counted);
	bpf_ringbuf_submit(r, m->wakeup);
	return true;
}

static __always_inline bool emit_usdt_plain(struct thread_state *st, struct mark *m, bool counted)
{
	struct record_plain *r = reserve_mark(sizeof(*r), counted);

	if (!r)
		return false;
	fill_usdt_operands(&r->ops, st, m);
	finish_mark_record(&r->head, (__u64 *)(r + 1), st, m, counted);
	bpf_ringbuf_submit(r, m->wakeup);
	return true;
}

static __always_inline bool emit_usdt_as(struct thread_state *st, struct mark *m, bool counted)
{
	if (m->meta & META_HAS_STRINGS)
		return emit_usdt_strings(st, m, counted);
	if (count_args(m->meta))
		return emit_usdt_full(st, m, counted);
	if (m->kind <= RECORD_INSTANT)
		return emit_head(st, m, counted);
	return emit_usdt_plain(st, m, counted);
}

static __always_inline bool emit_usdt(struct pt_regs *ctx, struct thread_state *st, struct mark *m)
{
	if (mark_stacks)
		send_wanted_stack(ctx, m);
	if (has_counters(m->kind))
		return emit_usdt_as(st, m, true);
	return emit_usdt_as(st, m, false);
}

/*
 * --- functions
 * ------------------------------------------------------------------------------------
 */

/*
 * Finds the outermost or the innermost of these levels whose call must have ended, because the stack
 * now begins where its frame was or above it; -1: none. The stack grows down, so an outer call has a
 * higher stack pointer.
 */
__noinline int find_abandoned_call(struct thread_state *st, __u64 sp, __u64 levels, __u32 innermost)
{
	int i, abandoned = -1;

	if (!st)
		return -1;
	for (i = MAX_NESTING - 1; i >= 0; i--) {
		__u64 began = st->token[i] & ~CALL_TOKEN_MASK;

		if (!(levels >> i & 1) || (st->token[i] & CALL_TOKEN_MASK) != CALL_TOKEN)
			continue;
		if (began > sp || sp - began > CALL_STACK_MOST)
			break;
		abandoned = i;
		if (innermost)
			break;
	}
	return abandoned;
}

/* Drops calls that were left by a jump that was not seen, or whose exit was not seen. */
static __always_inline void drop_abandoned_calls(struct thread_state *st, struct mark *m, __u64 sp)
{
	int abandoned = find_abandoned_call(st, sp, levels_below(st->depth), false);

	if (abandoned < 0)
		return;
	if (scheduled)
		account_add_n(ACCOUNT_LEFT,
			      __builtin_popcountll(st->recorded & levels_below(st->depth) &
						   ~levels_below(abandoned)));
	st->depth = abandoned & (MAX_NESTING - 1);
	st->too_deep = 0;
	m->flags |= RECORD_CLOSES_INNER;
}

/* Evaluates a condition code from bits 0, 2, 6, 7 and 11 of the flags register. */
static __always_inline bool condition_is_met(__u32 condition, __u64 flags)
{
	__u64 less = (flags >> 7 ^ flags >> 11) & 1, r;

	switch (condition >> 1) {
	case 0:
		r = flags >> 11;
		break;
	case 1:
		r = flags;
		break;
	case 2:
		r = flags >> 6;
		break;
	case 3:
		r = flags | flags >> 6;
		break;
	case 4:
		r = flags >> 7;
		break;
	case 5:
		r = flags >> 2;
		break;
	case 6:
		r = less;
		break;
	default:
		r = less | flags >> 6;
	}
	return (r ^ condition) & 1;
}

/* Whether the instruction leaves the call. A return always does. */
__noinline int call_is_left(struct thread_state *st, const struct usdt_spec *spec, __u64 ip,
			    __u64 flags)
{
	__u64 to;

	if (!st || !spec)
		return 0;
	switch (spec->exit) {
	case CALL_BRANCH:
		return condition_is_met(spec->condition, flags);
	case CALL_INDIRECT:
		if (spec->target.form == USDT_UNREADABLE)
			return 1;
		to = read_usdt_arg(st, &spec->target, ip);
		if (st->unreadable)
			return 0;
		return to - ip - (__s64)spec->from >= (__u64)((__s64)spec->to - spec->from);
	}
	return 1;
}

/*
 * Whether the call that returns here may have begun before the recording, or too deep to be
 * followed. If neither is possible, the call did not begin at the function's entry, as in assembly
 * where functions continue within each other.
 */
static __always_inline bool begin_is_unseen(const struct thread_state *st, const struct mark *m)
{
	return m->spec->exit == CALL_RETURN && (!st->whole || st->too_deep);
}

/*
 * The stack pointer that longjmp() restores; 0: not known. glibc keeps it combined with a number (of the thread on
 * x86-64, where it is rotated, too; on arm64 the first argument says where its address is); other libraries keep it as it
 * is, which no such value looks like.
 */
static __always_inline __u64 longjmp_stack(struct thread_state *st, const struct mark *m)
{
	__u64 kept = read_usdt_arg(st, &m->spec->target, m->ip), guard_at, guard;

	if (st->unreadable)
		return 0;
	if (kept - st->registers[STACK_POINTER] < CALL_STACK_MOST)
		return kept;
#if defined(__TARGET_ARCH_x86)
	guard_at = bpf_get_current_task_btf()->thread.fsbase + 0x30;
	kept = kept >> 17 | kept << 47;
#else
	guard_at = read_usdt_arg(st, &m->spec->args[0], m->ip);
#endif
	return bpf_probe_read_user(&guard, sizeof(guard), (void *)guard_at) ? 0 : kept ^ guard;
}

/* The token of the innermost call if a jump leaves it; 0: none does. */
static __always_inline __u64 left_call_token(struct thread_state *st, const struct mark *m)
{
	__u64 sp =
		m->spec->exit == CALL_LONGJMP ? longjmp_stack(st, m) : st->registers[STACK_POINTER];
	int level = find_abandoned_call(st, sp, levels_below(st->depth), true);

	return level < 0 ? 0 : st->token[level & (MAX_NESTING - 1)];
}

/*
 * Whether the kernel will not report that this call returns: it keeps at most 64 returns of a thread
 * pending. It drops those that a jump has left when it adds one, but only after it has found space for
 * that. So the last place is only taken if others become free by it: then no jump, out of however many
 * calls, leaves a thread without return probes.
 */
static __always_inline bool return_is_unseen(__u64 sp)
{
	struct uprobe_task *u = bpf_get_current_task_btf()->utask;
	__u32 pending = u ? BPF_CORE_READ(u, depth) : 0;

	if (pending < MAX_PENDING_RETURNS - 1)
		return false;
	return pending >= MAX_PENDING_RETURNS || BPF_CORE_READ(u, return_instances, stack) >= sp;
}

/* A call that is nested too deep for a slice or for a return probe is counted, and has no END. */
static __always_inline __u64 begin_token(struct thread_state *st, struct mark *m, __u64 sp,
					 __u64 token)
{
	bool is_unseen = m->spec->exit == CALL_RETURNED && return_is_unseen(sp);

	if (!is_unseen)
		drop_abandoned_calls(st, m, sp);
	if (!is_unseen && (m->spec->exit != CALL_RETURNED || st->depth < MAX_NESTING))
		return token;
	account_add(ACCOUNT_MARKS);
	account_add(ACCOUNT_TOO_DEEP);
	return 0;
}

/* The token of the call that begins or ends here; 0: none does. */
static __always_inline __u64 call_token(struct thread_state *st, struct pt_regs *ctx,
					struct mark *m)
{
	__u64 sp = st->registers[STACK_POINTER], token;

	/* The return has taken its address from the stack. */
	if (m->kind == RECORD_END && m->spec->exit == CALL_RETURNED)
		sp -= RETURN_ADDRESS_SIZE;
	token = CALL_TOKEN | (sp & ~CALL_TOKEN_MASK);
	if (m->kind == RECORD_BEGIN)
		return begin_token(st, m, sp, token);
	if (m->spec->exit >= CALL_LEFT)
		return left_call_token(st, m);
	if (!st->depth || (st->token[(st->depth - 1) & (MAX_NESTING - 1)] != token &&
			   find_token(st, token, st->depth - 1) < 0))
		return begin_is_unseen(st, m) ? token : 0;
	return call_is_left(st, m->spec, m->ip, CONDITIONS(ctx)) ? token : 0;
}

/* In a session, the return has the cookie of the entry. Its site is the one before, and the entry's spec has its spec. */
static __always_inline bool find_usdt_spec(struct pt_regs *ctx, struct mark *m)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	__u32 number = (cookie & ~COOKIE_OF_PROCESS) >> USDT_SPEC_SHIFT;

	m->ip = PT_REGS_IP(ctx);
	m->site = (__u32)cookie;
	m->spec = bpf_map_lookup_elem(&usdt_specs, &number);
	if (return_sessions && m->spec && m->spec->exit == CALL_RETURNED &&
	    bpf_get_func_ip(ctx) != m->ip) {
		number = m->spec->from;
		m->site--;
		m->spec = bpf_map_lookup_elem(&usdt_specs, &number);
	}
	return m->spec != NULL;
}

enum usdt_outcome {
	USDT_DONE,
	USDT_AGAIN,   /* a jump may leave more calls */
	USDT_RETURNS, /* a call has begun that ends with a return probe */
};

/* A global function as handle_mark_hit(). Returns enum usdt_outcome. */
__noinline int handle_usdt_hit(struct bpf_user_pt_regs_t *regs, struct thread_state *st,
			       __u64 pid_tgid)
{
	struct pt_regs *ctx = (struct pt_regs *)regs;
	struct mark m = {};
	__u64 token;

	if (!st || !find_usdt_spec(ctx, &m))
		return USDT_DONE;
	m.pid_tgid = pid_tgid;
	m.kind = m.spec->kind;
	m.meta = m.spec->types;
	if (m.spec->flags & USDT_HAS_STRINGS)
		m.meta |= META_HAS_STRINGS;
	copy_registers(st->registers, ctx);
	token = m.spec->token;
	if (m.spec->flags & USDT_CALL) {
		token = call_token(st, ctx, &m);
		if (!token)
			return USDT_DONE;
	}
	process_timed_mark(st, ctx, &m, token, emit_usdt);
	if (!(m.spec->flags & USDT_CALL) || m.spec->exit < CALL_RETURNED)
		return USDT_DONE;
	return m.spec->exit == CALL_RETURNED ? USDT_RETURNS : USDT_AGAIN;
}

SEC("?uprobe")
int usdt(struct pt_regs *ctx)
{
	__u64 pid_tgid;
	struct thread_state *st = current_thread_state(&pid_tgid);

	if (!st || hit_is_recorded(ctx, st))
		return 0;
	stay_on_thread_stack(ctx);
	for (int i = 0; i < MAX_NESTING; i++) {
		if (handle_usdt_hit((struct bpf_user_pt_regs_t *)ctx, st, pid_tgid) != USDT_AGAIN)
			break;
	}
	return 0;
}

/*
 * The entry and the return of a call. Where the entry returns 1, the kernel leaves the return address of
 * the call alone: in all processes that are not recorded.
 */
SEC("?uprobe")
int usdt_session(struct pt_regs *ctx)
{
	__u64 pid_tgid;
	struct thread_state *st = current_thread_state(&pid_tgid);

	if (!st)
		return 1;
	/* A call returns to the program for which it was entered, and to no other. */
	if (bpf_get_func_ip(ctx) == PT_REGS_IP(ctx) && hit_is_recorded(ctx, st))
		return 1;
	stay_on_thread_stack(ctx);
	return handle_usdt_hit((struct bpf_user_pt_regs_t *)ctx, st, pid_tgid) != USDT_RETURNS;
}
