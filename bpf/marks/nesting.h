/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The nesting of slices.
 *
 * It is followed in the kernel, because records can be lost. Each thread has a stack of open levels
 * with one token per level. An END is recorded if and only if its BEGIN was recorded, so a full
 * buffer loses whole slices and never half of one. user/capture/batch/nesting.h applies the same
 * rules to buffered mode.
 */
#ifndef PROFTRACE_BPF_NESTING_H
#define PROFTRACE_BPF_NESTING_H

#include "bpf/state.h"

static __always_inline void account_left_out(const struct thread_state *st)
{
	account_add(st->left_out_slot & (ACCOUNT_SLOTS - 1));
}

/* Opens a level. Returns the level, or -1 if the slice is not recorded or nested too deep. */
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
		account_left_out(st);
		return -1;
	}
	st->recorded |= 1ull << level;
	return level;
}

#define SCOPE_IN_BETWEEN -2

struct token_search {
	struct thread_state *st;
	__u64 token;
	__u64 barrier_from;
	__u32 top;
	__s32 found;
};

static long find_token_step(__u32 i, struct token_search *s)
{
	__u32 level = s->top - i;
	__u64 open;

	if (level >= MAX_NESTING)
		return 1;
	open = s->st->token[level];
	if (open == s->token) {
		s->found = level;
		return 1;
	}
	if (open >= s->barrier_from) {
		s->found = SCOPE_IN_BETWEEN;
		return 1;
	}
	return 0;
}

/*
 * Finds the innermost of the levels up to `top` that has this token; -1: none. A token that only stands for a domain is
 * not searched beyond a scope or an object: then SCOPE_IN_BETWEEN.
 *
 * A global function, so that the verifier checks it only once. Of a loop it would check each of the 64 turns on its own, a
 * fifth of all that it checks of the program for marks. Kernels without bpf_loop() have the loop, whose turns have few
 * instructions and no other branches, after each side of which all further turns would be checked again.
 */
__noinline int find_token(struct thread_state *st, __u64 token, __u32 top)
{
	struct token_search s = { .st = st, .token = token, .top = top, .found = -1 };

	if (!st)
		return -1;
	s.barrier_from = PLAIN_TOKENS | mask_of(token & ~(__u64)(PLAIN_TOKENS - 1));
	if (can_loop && bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop)) {
		bpf_loop(MAX_NESTING, find_token_step, &s, 0);
		return s.found;
	}
	for (__u32 i = 0; i < MAX_NESTING; i++) {
		__u32 level = top - i;
		__u64 open;

		if (level >= MAX_NESTING)
			break;
		open = st->token[level];
		if (open == token)
			return level;
		if (open >= s.barrier_from)
			return SCOPE_IN_BETWEEN;
	}
	return -1;
}

/*
 * Closes the level of an END and returns it, or -1 if the END is not recorded. It is the innermost
 * level with the token of the END; a PROF_END has that of its domain. Levels above it got no END of
 * their own, or their domain is no longer recorded; but a PROF_END never closes a scope or an
 * object. If no level matches, the slice began before its domain was recorded. On a thread that was
 * recorded from its beginning, there was no such slice.
 */
static __always_inline int close_slice(struct thread_state *st, __u64 token, __u8 *flags)
{
	__u32 level = st->depth - 1;

	int found = -1;

	if (st->too_deep) {
		/*
		 * The END of a scope restores its level, however many BEGINs inside it had no END.
		 */
		if (token >= PLAIN_TOKENS)
			found = find_token(st, token, MAX_NESTING - 1);
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
		found = find_token(st, token, level);
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
			account_left_out(st);
		else
			account_add(ACCOUNT_BEGIN_LOST);
		return -1;
	}
	return level;
}

#endif
