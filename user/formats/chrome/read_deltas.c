/* SPDX-License-Identifier: BSD-2-Clause */
/* What was counted in a slice, from the arguments of an E as write_deltas.c writes them. */
#include <string.h>

#include "formats/chrome/reader.h"

void chrome_add_counted(struct chrome *c, const struct name *name)
{
	unsigned i = 0;

	while (i < c->n_counted && c->counted[i] != name)
		i++;
	if (i == c->n_counted && i < EVENT_MAX_COUNTERS)
		c->counted[c->n_counted++] = name;
}

/* Removes a delta from an object "counters" of our writer. */
static bool delta_extract(struct chrome *c, const char *counter, uint64_t *ret_delta)
{
	static const char prefix[] = "counters.";
	struct draft *draft = c->draft;

	for (unsigned i = 0; i < draft->n_args; i++) {
		const struct arg *arg = &draft->args[i];

		if (!arg->key || strncmp(arg->key->text, prefix, sizeof(prefix) - 1) ||
		    strcmp(arg->key->text + sizeof(prefix) - 1, counter) ||
		    !chrome_arg_uint(arg, ret_delta))
			continue;
		draft_remove(draft, i);
		return true;
	}
	return false;
}

static void delta_insert_zero(struct draft *draft, const struct name *key, unsigned at)
{
	struct arg *zero = draft_add(draft, key, ARG_UINT);

	if (!zero)
		return;
	memmove(&draft->args[at + 1], &draft->args[at],
		(size_t)(zero - &draft->args[at]) * sizeof(*zero));
	draft->args[at] = (struct arg){ .key = key, .type = ARG_UINT };
}

/* Whether an argument of the timeline, which it adds after the counters. */
static bool follows_deltas(const char *key)
{
	static const char *const keys[] = { "ipc",	   "ended",	 "running_ns",
					    "runnable_ns", "blocked_ns", "unknown_ns" };
	static const char reasons[] = "blocked_in.";

	for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (!strcmp(key, keys[i]))
			return true;
	}
	return !strncmp(key, reasons, sizeof(reasons) - 1);
}

/* Restores what our writer left out, in the order of the counters. */
static void delta_restore_zeros(struct chrome *c)
{
	struct draft *draft = c->draft;
	const struct arg *arg;
	unsigned at = draft->n_args;

	while (at && draft->args[at - 1].key && follows_deltas(draft->args[at - 1].key->text))
		at--;
	for (unsigned i = c->n_counted; i--;) {
		arg = chrome_find_arg(c, c->counted[i]->text);
		if (!arg)
			delta_insert_zero(draft, c->counted[i], at);
		else
			at = (unsigned)(arg - draft->args);
		if (!arg)
			c->deltas[i] = 0;
		else if (!chrome_arg_uint(arg, &c->deltas[i]))
			c->deltas[i] = EVENT_NO_VALUE;
		if (arg && arg->type == ARG_NULL)
			draft_remove(draft, at);
	}
}

void chrome_read_deltas(struct chrome *c)
{
	const struct arg *none;
	bool separate = false;

	if (!c->zeros_left_out || !c->n_counted)
		return;
	for (unsigned i = 0; i < c->n_counted; i++) {
		c->deltas[i] = EVENT_NO_VALUE;
		separate |= delta_extract(c, c->counted[i]->text, &c->deltas[i]);
	}
	none = chrome_find_arg(c, "counters");
	if (none && none->type == ARG_NULL)
		draft_remove(c->draft, (unsigned)(none - c->draft->args));
	else if (!separate)
		delta_restore_zeros(c);
	c->draft->event.has_deltas = true;
	c->draft->event.delta_names = c->counted;
	c->draft->event.deltas = c->deltas;
	c->draft->event.n_deltas = c->n_counted;
}
