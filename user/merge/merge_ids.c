/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ids of asynchronous slices and of arrows. Programs count them from 1, so equal ids of different
 * files are unrelated.
 */
#include <string.h>

#include "merge/merge.h"

static bool arg_is_flow(const struct arg *arg)
{
	return arg->key && (arg->type == ARG_UINT || arg->type == ARG_INT) &&
	       !strcmp(arg->key->text, "flow");
}

void merge_mix_ids(struct event *e, uint64_t mix, bool flows, struct arg args[EVENT_MAX_ARGS])
{
	unsigned i, n = e->n_args < EVENT_MAX_ARGS ? e->n_args : EVENT_MAX_ARGS;

	if (e->kind == EVENT_ASYNC_BEGIN || e->kind == EVENT_ASYNC_END ||
	    (flows && (e->kind == EVENT_FLOW_OUT || e->kind == EVENT_FLOW_IN)))
		e->id ^= mix;
	/* A slice with times of its own has the id of its arrow among its arguments. */
	if (e->kind != EVENT_SLICE_AT || !flows || !mix)
		return;
	for (i = 0; i < n; i++) {
		args[i] = e->args[i];
		if (!arg_is_flow(&args[i]))
			continue;
		args[i].type = ARG_UINT;
		args[i].u ^= mix;
	}
	e->args = args;
	e->n_args = n;
}
