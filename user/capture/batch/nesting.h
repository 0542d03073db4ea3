/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The nesting of slices in buffered mode, by the rules of bpf/marks/marks.bpf.c. It is a header so that
 * the compiler can inline it in the one function that calls it for each mark.
 */
#ifndef PROFTRACE_CAPTURE_BATCH_NESTING_H
#define PROFTRACE_CAPTURE_BATCH_NESTING_H

#include "capture/batch/batch.h"

#define SCOPE_IN_BETWEEN   -2
#define BATCH_NOT_SELECTED -2 /* not even counted as a mark of the recording */

/* What is common to all marks of one kind, name and domain; and the flags of the current one. */
struct batch_mark {
	unsigned kind;
	uint64_t meta;
	uint64_t plain_token; /* replaces the token of marks without one */
	bool only_categories;
	uint8_t flags; /* enum record_flags */
};

static inline bool thread_is_paused(const struct batch_thread *t)
{
	return t->process->paused || t->process->stopped;
}

static inline int account_paused_mark(struct batches *b)
{
	b->slots[ACCOUNT_PAUSED]++;
	return -1;
}

static inline int batch_open_slice(struct batches *b, struct batch_thread *t, uint64_t token)
{
	uint32_t level = t->depth;

	if (rare(level >= MAX_NESTING)) {
		t->too_deep++;
		b->slots[ACCOUNT_TOO_DEEP]++;
		return -1;
	}
	t->token[level] = token;
	t->depth = level + 1;
	if (rare(thread_is_paused(t))) {
		t->recorded &= ~(1ull << level);
		t->left_out |= 1ull << level;
		return account_paused_mark(b);
	}
	t->recorded |= 1ull << level;
	return (int)level;
}

/* The innermost level below `depth` with this token. */
static inline int batch_find_token(const struct batch_thread *t, uint64_t token, uint32_t depth)
{
	uint64_t barrier_from = token < PLAIN_TOKENS ? PLAIN_TOKENS : UINT64_MAX;

	for (int i = (int)depth - 1; i >= 0; i--) {
		if (t->token[i] == token)
			return i;
		if (t->token[i] >= barrier_from)
			return SCOPE_IN_BETWEEN;
	}
	return -1;
}

static inline int account_dropped_mark(struct batches *b, enum account_slot slot)
{
	b->slots[slot]++;
	return -1;
}

static inline int batch_close_slice(struct batches *b, struct batch_thread *t, struct batch_mark *m,
				    uint64_t token)
{
	int found = -1;
	uint32_t level;

	if (rare(t->too_deep)) {
		if (token >= PLAIN_TOKENS)
			found = batch_find_token(t, token, MAX_NESTING);
		if (found < 0) {
			t->too_deep--;
			return account_dropped_mark(b, ACCOUNT_TOO_DEEP);
		}
		t->too_deep = 0;
		m->flags |= RECORD_CLOSES_INNER;
	} else {
		found = batch_find_token(t, token, t->depth);
		if (found == SCOPE_IN_BETWEEN)
			return account_dropped_mark(b, ACCOUNT_UNMATCHED);
		if (found < 0)
			return account_dropped_mark(b, t->lost ? ACCOUNT_BEGIN_LOST : ACCOUNT_CUT);
		if ((uint32_t)found + 1 != t->depth)
			m->flags |= RECORD_CLOSES_INNER;
	}
	level = (uint32_t)found;
	t->depth = level;
	if (t->recorded & 1ull << level)
		return found;
	return t->left_out & 1ull << level ? account_paused_mark(b)
					   : account_dropped_mark(b, ACCOUNT_BEGIN_LOST);
}

static inline int batch_level_of_other(struct batches *b, const struct batch_thread *t,
				       struct batch_mark *m)
{
	if (!rare(thread_is_paused(t)))
		return (int)t->depth;
	if (m->kind == RECORD_ASYNC_END || m->kind == RECORD_FREE) {
		m->flags |= RECORD_LEFT_OUT;
		return (int)t->depth;
	}
	return account_paused_mark(b);
}

/*
 * Applies a mark to the nesting of its thread. Returns its level, or -1 if it is not recorded,
 * which is accounted for.
 */
static inline int batch_apply_nesting(struct batches *b, struct batch_thread *t,
				      struct batch_mark *m, uint64_t token)
{
	m->flags = 0;
	if (!token)
		token = m->plain_token;
	if (rare(m->only_categories) && !(m->meta & META_CATEGORIES)) {
		if (m->kind != RECORD_END ||
		    (!t->too_deep && batch_find_token(t, token, t->depth) < 0))
			return BATCH_NOT_SELECTED;
	}
	b->marked++;
	if (m->kind == RECORD_BEGIN)
		return batch_open_slice(b, t, token);
	if (m->kind == RECORD_END)
		return batch_close_slice(b, t, m, token);
	return batch_level_of_other(b, t, m);
}

#endif
