/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scopes of memory: what a thread allocates between prof_scope_push and prof_scope_pop belongs to
 * pools of that scope. Scopes that were entered before the recording are not known, and a pop of
 * one of them has nothing to leave.
 */
#include "timeline/state.h"

#include <stdlib.h>
#include <string.h>

/* "outer/name". */
static const struct name *join_scope_names(struct timeline *t, const struct name *outer,
					   const struct name *name)
{
	char text[1024];

	if (!outer || outer->length + name->length + 2 > sizeof(text))
		return name;
	memcpy(text, outer->text, outer->length);
	text[outer->length] = '/';
	memcpy(text + outer->length + 1, name->text, name->length);
	return names_intern(t->names, text, outer->length + 1 + name->length, sizeof(text));
}

int scope_push(struct timeline *t, const struct mark *m)
{
	struct thread_state *thread = m->thread;

	if (thread->n_scopes < LIMIT_SCOPES) {
		if (!thread->scopes)
			thread->scopes = calloc(LIMIT_SCOPES, sizeof(struct name *));
		if (!thread->scopes)
			return LOST_LIMIT;
		thread->scopes[thread->n_scopes] =
			join_scope_names(t, memory_scope(thread), m->name);
	}
	thread->n_scopes++;
	return MARK_WRITTEN;
}

int scope_pop(const struct mark *m)
{
	if (m->thread->n_scopes)
		m->thread->n_scopes--;
	return MARK_WRITTEN;
}

const struct name *memory_scope(const struct thread_state *thread)
{
	uint32_t n = thread ? thread->n_scopes : 0;

	if (!n)
		return NULL;
	return thread->scopes[n < LIMIT_SCOPES ? n - 1 : LIMIT_SCOPES - 1];
}

void scopes_close(struct thread_state *thread)
{
	thread->n_scopes = 0;
}
