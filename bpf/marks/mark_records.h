/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writing the record of a mark, in one of the forms that event.h describes.
 *
 * The time and the counters are the last thing that is written, so that a slice does not contain
 * the work done here. Records of a constant size are reserved in the ring buffer and filled in
 * there. The size of a record with strings is only known when they have been copied, so it is put
 * together in memory of the thread and then copied as a whole.
 */
#ifndef PROFTRACE_BPF_MARK_RECORDS_H
#define PROFTRACE_BPF_MARK_RECORDS_H

#include "bpf/batch/batch_list.h"
#include "bpf/buffers.h"
#include "bpf/counters/counters.h"
#include "bpf/registers.h"
#include "bpf/marks/usdt_spec.h"

struct mark {
	__u64 ts; /* 0: taken as late as possible */
	__u64 pid_tgid;
	__u64 ip;
	__u64 meta;
	__u64 wakeup;
	const struct usdt_spec *spec; /* for existing USDT probes only (usdt.bpf.c) */
	__u32 site;
	__s32 name;
	__u32 level;
	__u8 kind;
	__u8 flags;
	__u8 guard; /* number of the domain (bpf/marks/guard.h) */
};

struct record_small {
	struct record head;
	struct record_operands ops;
	__s32 keys;
	__u32 name_length;
	__u64 values[2];
};

/* The distance from the site, NAME_NONE or NAME_FAR. */
static __always_inline __s32 site_distance(__u64 address, __u64 ip)
{
	__u64 d = address - ip, far = mask_of((d + 0x80000000) >> 32);

	d = (d & ~far) | ((__u64)NAME_FAR & far);
	return d & mask_of(address);
}

/* Fills in everything but the time. */
static __always_inline void fill_mark_head(struct record *head, const struct mark *m)
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
 * Reads the counters of a BEGIN, then its time. The perf events are read before the time, so that a
 * slice does not contain the time it takes to read its counters. A global function, so that the
 * verifier checks it once and not for each form of a record.
 */
__noinline __u64 read_begin_counters(struct thread_state *st)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct clock_state before = {};
	__u64 ts;

	if (!st)
		return 0;
	if (has_perf_counters)
		read_perf_counters(st);
	read_clock_state(&before, task);
	ts = bpf_ktime_get_ns();
	read_task_counters(task, st->values[PART_VALUE], ts, &before);
	return ts;
}

/*
 * Finishes a record: the head, the time and the counters. This is the last step, so that a slice
 * begins after the work done here. The time and the counters of an END were read first, so that its
 * slice ends before the work done here.
 */
static __always_inline void finish_mark_record(struct record *head, __u64 *end,
					       struct thread_state *st, const struct mark *m,
					       bool counted)
{
	fill_mark_head(head, m);
	if (!counted) {
		head->ts = m->ts ? m->ts : bpf_ktime_get_ns();
		return;
	}
	head->flags |= RECORD_COUNTERS;
	head->ts = m->kind == RECORD_BEGIN ? read_begin_counters(st) : m->ts;
	store_counters(st, end);
}

/* Rarely needed. A global function as read_begin_counters(). */
__noinline __u32 current_user(void)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return BPF_CORE_READ(task, cred, euid.val);
}

static __always_inline void fill_mark_operands(struct record_operands *ops, struct pt_regs *ctx,
					       struct mark *m)
{
	ops->a = ARG(ctx, 3);
	ops->b = ARG(ctx, 4);
	/* Whoever names a file must be permitted to read it, so the program does not say who that is. */
	if (m->kind == RECORD_INCLUDE_JSON)
		ops->a = current_user();
	if (m->meta & META_CATEGORIES) {
		ops->b = (__u32)site_distance(ops->b, m->ip);
		m->flags |= RECORD_CATEGORIES;
	}
}

/* The number of arguments is bounded again, because the program's value is not trusted. */
static __always_inline __u32 count_args(__u64 meta)
{
	__u32 n = META_ARGS(meta);

	return n > MAX_ARGS ? MAX_ARGS : n;
}

/*
 * The verifier demands a constant size. It is constant in both branches, since n_counters never
 * changes.
 */
static __always_inline void *reserve_mark(__u64 size, bool counted)
{
	if (counted)
		return record_reserve(size + counter_values() * sizeof(__u64));
	return record_reserve(size);
}

static __always_inline bool emit_head(struct thread_state *st, const struct mark *m, bool counted)
{
	struct record *r = reserve_mark(sizeof(*r), counted);

	if (!r)
		return false;
	finish_mark_record(r, (__u64 *)(r + 1), st, m, counted);
	bpf_ringbuf_submit(r, m->wakeup);
	return true;
}

static __always_inline bool emit_plain(struct pt_regs *ctx, struct thread_state *st, struct mark *m,
				       bool counted)
{
	struct record_plain *r = reserve_mark(sizeof(*r), counted);

	if (!r)
		return false;
	fill_mark_operands(&r->ops, ctx, m);
	finish_mark_record(&r->head, (__u64 *)(r + 1), st, m, counted);
	bpf_ringbuf_submit(r, m->wakeup);
	return true;
}

static __always_inline bool emit_small(struct pt_regs *ctx, struct thread_state *st, struct mark *m,
				       bool counted, __u32 n)
{
	struct record_small *r = reserve_mark(sizeof(*r), counted);
	long error;

	if (!r)
		return false;
	fill_mark_operands(&r->ops, ctx, m);
	r->keys = site_distance(ARG(ctx, 5), m->ip);
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
	finish_mark_record(&r->head, (__u64 *)(r + 1), st, m, counted);
	if (error)
		r->head.flags |= RECORD_ARGS_UNREADABLE;
	bpf_ringbuf_submit(r, m->wakeup);
	return true;
}

static __always_inline bool emit_full(struct pt_regs *ctx, struct thread_state *st, struct mark *m,
				      bool counted, __u32 n)
{
	struct record_full *r = reserve_mark(sizeof(*r), counted);
	long error;

	if (!r)
		return false;
	fill_mark_operands(&r->ops, ctx, m);
	r->args.keys = site_distance(ARG(ctx, 5), m->ip);
	r->args.name_length = 0;
	if (n > MAX_ARGS) /* count_args() has limited it; repeated for the verifier */
		n = MAX_ARGS;
	error = bpf_probe_read_user(r->args.values, n * sizeof(__u64), (void *)ARG(ctx, 6));
	finish_mark_record(&r->head, (__u64 *)(r + 1), st, m, counted);
	if (error)
		r->head.flags |= RECORD_ARGS_UNREADABLE;
	bpf_ringbuf_submit(r, m->wakeup);
	return true;
}

/*
 * Copies the string at `from` into the area at `at` and returns its value: the length with flags.
 * It asks for two bytes more than are kept, one for the NUL and one that tells a longer string from
 * one of just this length.
 *
 * A global function, so that the verifier checks it once and not on each path of each argument.
 */
__noinline __u64 copy_user_string(struct string_record *s, __u32 at, __u64 from, __u32 limit,
				  __u64 ip)
{
	__u64 flags = 0;
	long n;

	if (!s || !from)
		return STRING_NULL;
	if (limit > MAX_STRING)
		limit = MAX_STRING;
	n = bpf_probe_read_user_str(&s->bytes[at & (STRING_AREA - 1)], limit + 2, (void *)from);
	if (n < 0)
		/*
		 * The page is not in memory, perhaps because nobody has touched it yet. A static
		 * string can be read from the file.
		 */
		return STRING_UNREADABLE | (__u32)site_distance(from, ip);
	if (n > 0)
		n--;
	if (n > limit) {
		n = limit;
		flags = STRING_CUT;
	}
	return flags | (__u64)n;
}

/* The number of bytes that were copied for a string's value. */
static __always_inline __u32 copied_bytes(__u64 value)
{
	__u64 none = -((value >> 62 | value >> 61) & 1);

	barrier_var(none);
	return (__u32)value & ~(__u32)none;
}

/* Copies one of the arguments if it is a string. Returns the end of the copied bytes. A global function for the same reason. */
__noinline __u32 copy_string_arg(struct string_record *s, __u32 at, __u64 meta, __u64 ip, __u32 i)
{
	__u64 value;

	if (!s || i >= MAX_ARGS || META_TYPE(meta, i) != VALUE_STRING)
		return at;
	value = copy_user_string(s, at, s->rec.args.values[i], MAX_STRING, ip);
	s->rec.args.values[i] = value;
	return at + copied_bytes(value);
}

/*
 * Copies the strings among the arguments, whose addresses are in place of their values. Returns the
 * end of the copied bytes.
 */
__noinline __u32 copy_string_args(struct string_record *s, __u32 at, __u64 meta, __u64 ip)
{
	__u32 i;

	if (!s)
		return 0;
	for (i = 0; i < MAX_ARGS; i++) {
		if (i >= META_ARGS(meta))
			break;
		at = copy_string_arg(s, at, meta, ip, i);
	}
	return at;
}

/* A global function for the same reason. Returns whether the record was written. */
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
		name = copy_user_string(s, 0, ARG(ctx, 1), MAX_NAME, m->ip);
		if (name & (STRING_UNREADABLE | STRING_NULL)) {
			flags |= RECORD_NAME_UNREADABLE;
		} else {
			flags |= RECORD_NAME_COPIED | (name & STRING_CUT ? RECORD_NAME_CUT : 0);
			s->rec.args.name_length = (__u32)name;
			offset = (__u32)name;
		}
		if (m->meta & META_CATEGORIES)
			categories = copy_user_string(s, offset, ARG(ctx, 4), MAX_NAME, m->ip);
		offset += copied_bytes(categories);
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
		offset = copy_string_args(s, offset, m->meta, m->ip);
	s->rec.args.keys = site_distance(ARG(ctx, 5), m->ip);
	fill_mark_operands(&s->rec.ops, ctx, m);
	if (m->meta & META_IN_REGISTERS)
		s->rec.ops.b = 0;
	else if (m->meta & META_CATEGORIES && m->meta & META_NAME_DYNAMIC)
		s->rec.ops.b = copied_bytes(categories);
	offset = (offset + 7) & (STRING_AREA - 8);
	finish_mark_record(&s->rec.head, (__u64 *)&s->bytes[offset], st, m, counted);
	s->rec.head.flags |= flags;
	if (counted)
		offset += counter_values() * sizeof(__u64);
	return !record_output(s, sizeof(s->rec) + offset, m->wakeup);
}

static __always_inline bool emit_mark_sized(struct pt_regs *ctx, struct thread_state *st,
					    struct mark *m, bool counted)
{
	__u32 n = count_args(m->meta);

	if (m->meta & (META_NAME_DYNAMIC | META_HAS_STRINGS))
		return emit_strings((struct bpf_user_pt_regs_t *)ctx, st, m, counted);
	if (n > 2)
		return emit_full(ctx, st, m, counted, n);
	if (n)
		return emit_small(ctx, st, m, counted, n);
	/* In buffered mode the recorder follows the nesting, by the operand of scopes. */
	if (m->kind <= RECORD_INSTANT && !(batching && m->kind <= RECORD_END) &&
	    !(m->meta & (META_CATEGORIES | META_CLASS(META_CLASS_MARKER))))
		return emit_head(st, m, counted);
	return emit_plain(ctx, st, m, counted);
}

/*
 * Decides once about counters, or the verifier would have to prove that the decision is always the
 * same.
 */
static __always_inline bool emit_mark(struct pt_regs *ctx, struct thread_state *st, struct mark *m)
{
	if (has_counters(m->kind))
		return emit_mark_sized(ctx, st, m, true);
	return emit_mark_sized(ctx, st, m, false);
}

#endif
