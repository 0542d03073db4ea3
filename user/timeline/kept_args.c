/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Marks with more arguments than one record has. The first of them come in instants of their own (OBJECT_ARGUMENTS)
 * and are kept with the thread until the mark itself comes, which has the last. All of them begin with a number
 * that is `cut`: the same in those that belong together. So arguments whose mark was lost do not become
 * those of the next one.
 */
#include <stdlib.h>
#include <string.h>

#include "timeline/state.h"

struct kept_args {
	uint64_t number;
	unsigned n;
	size_t used; /* bytes of text */
	struct arg args[EVENT_MAX_ARGS];
	char text[EVENT_MAX_ARGS * 1024];
};

/* The strings of an event are gone when it is. A cleaned string has at most three times the bytes of the original. */
static bool keep_string(struct kept_args *k, struct arg *arg)
{
	if (arg->type != ARG_STRING)
		return true;
	if (arg->length >= sizeof(k->text) - k->used)
		return false;
	memcpy(k->text + k->used, arg->s, arg->length + 1u);
	arg->s = k->text + k->used;
	k->used += arg->length + 1u;
	return true;
}

int args_keep(struct timeline *t, struct thread_state *thread, const struct event *e)
{
	struct kept_args *k = thread->kept_args;
	unsigned i;

	if (!k)
		k = thread->kept_args = calloc(1, sizeof(*k));
	if (!k)
		return LOST_LIMIT;
	if (k->number != e->args[0].u) {
		k->number = e->args[0].u;
		k->n = 0;
		k->used = 0;
	}
	for (i = 1; i < e->n_args && k->n < EVENT_MAX_ARGS; i++) {
		struct arg arg = e->args[i];

		if (keep_string(k, &arg))
			k->args[k->n++] = arg;
		else
			t->account->args_dropped++;
	}
	t->account->args_dropped += e->n_args - i;
	return MARK_WRITTEN;
}

void args_join(struct timeline *t, struct thread_state *thread, struct event *e,
	       struct arg args[EVENT_MAX_ARGS])
{
	struct kept_args *k = thread->kept_args;
	unsigned n = 0, own = e->n_args - 1;

	if (k && k->number == e->args[0].u)
		n = k->n;
	if (own > EVENT_MAX_ARGS)
		own = EVENT_MAX_ARGS;
	if (n + own > EVENT_MAX_ARGS) {
		t->account->args_dropped += n + own - EVENT_MAX_ARGS;
		own = EVENT_MAX_ARGS - n;
	}
	if (n)
		memcpy(args, k->args, n * sizeof(*args));
	memcpy(args + n, e->args + 1, own * sizeof(*args));
	if (k)
		k->n = 0;
	e->args = args;
	e->n_args = n + own;
}
