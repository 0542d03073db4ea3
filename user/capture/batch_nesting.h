/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which slice an END closes: the rules of bpf/marks.bpf.c, for marks that come in batches. A header, so
 * that it becomes a part of the one function that asks for each of them.
 */
#ifndef PROFTRACE_CAPTURE_BATCH_NESTING_H
#define PROFTRACE_CAPTURE_BATCH_NESTING_H

#include "capture/batch.h"

#define SCOPE_IN_BETWEEN    -2
#define BATCH_NOT_ASKED_FOR -2 /* nor even a mark of the recording */

/* What is the same for all marks of one kind, name and domain, and what was found out about this one. */
struct batch_mark {
	unsigned kind;
	uint64_t meta;
	uint64_t plain_token; /* the token of one without */
	bool only_categories;
	uint8_t flags; /* of enum record_flags */
};

static inline bool leaves_out(const struct batch_thread *t)
{
	return t->process->paused || t->process->stopped;
}

static inline int leave_out(struct batches *b)
{
	b->slots[ACCOUNT_PAUSED]++;
	return -1;
}

static inline int open_slice(struct batches *b, struct batch_thread *t, uint64_t token)
{
	uint32_t level = t->depth;

	if (rare(level >= MAX_NESTING)) {
		t->too_deep++;
		b->slots[ACCOUNT_TOO_DEEP]++;
		return -1;
	}
	t->token[level] = token;
	t->depth = level + 1;
	if (rare(leaves_out(t))) {
		t->recorded &= ~(1ull << level);
		t->left_out |= 1ull << level;
		return leave_out(b);
	}
	t->recorded |= 1ull << level;
	return (int)level;
}

/* The innermost of the levels below `depth` with this token. */
static inline int find_token(const struct batch_thread *t, uint64_t token, uint32_t depth)
{
	uint64_t barrier_from = token < PLAIN_TOKENS ? PLAIN_TOKENS : UINT64_MAX;
	int i;

	for (i = (int)depth - 1; i >= 0; i--) {
		if (t->token[i] == token)
			return i;
		if (t->token[i] >= barrier_from)
			return SCOPE_IN_BETWEEN;
	}
	return -1;
}

static inline int drop(struct batches *b, enum account_slot slot)
{
	b->slots[slot]++;
	return -1;
}

static inline int close_slice(struct batches *b, struct batch_thread *t, struct batch_mark *m,
			      uint64_t token)
{
	int found = -1;
	uint32_t level;

	if (rare(t->too_deep)) {
		if (token >= PLAIN_TOKENS)
			found = find_token(t, token, MAX_NESTING);
		if (found < 0) {
			t->too_deep--;
			return drop(b, ACCOUNT_TOO_DEEP);
		}
		t->too_deep = 0;
		m->flags |= RECORD_CLOSES_INNER;
	} else {
		found = find_token(t, token, t->depth);
		if (found == SCOPE_IN_BETWEEN)
			return drop(b, ACCOUNT_UNMATCHED);
		if (found < 0)
			return drop(b, t->lost ? ACCOUNT_BEGIN_LOST : ACCOUNT_CUT);
		if ((uint32_t)found + 1 != t->depth)
			m->flags |= RECORD_CLOSES_INNER;
	}
	level = (uint32_t)found;
	t->depth = level;
	if (t->recorded & 1ull << level)
		return found;
	return t->left_out & 1ull << level ? leave_out(b) : drop(b, ACCOUNT_BEGIN_LOST);
}

static inline int take_other(struct batches *b, const struct batch_thread *t, struct batch_mark *m)
{
	if (!rare(leaves_out(t)))
		return (int)t->depth;
	if (m->kind == RECORD_ASYNC_END || m->kind == RECORD_FREE) {
		m->flags |= RECORD_LEFT_OUT;
		return (int)t->depth;
	}
	return leave_out(b);
}

/* The level of a mark, or -1: it is not recorded, and accounted for. */
static inline int batch_nesting(struct batches *b, struct batch_thread *t, struct batch_mark *m,
				uint64_t token)
{
	m->flags = 0;
	if (!token)
		token = m->plain_token;
	if (rare(m->only_categories) && !(m->meta & META_CATEGORIES)) {
		if (m->kind != RECORD_END || (!t->too_deep && find_token(t, token, t->depth) < 0))
			return BATCH_NOT_ASKED_FOR;
	}
	b->marked++;
	if (m->kind == RECORD_BEGIN)
		return open_slice(b, t, token);
	if (m->kind == RECORD_END)
		return close_slice(b, t, m, token);
	return take_other(b, t, m);
}

#endif
