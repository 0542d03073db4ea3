// SPDX-License-Identifier: BSD-2-Clause
/*
 * What was counted in a slice, among the arguments of its E. Most counters count nothing in most slices, so a delta of 0
 * is left out; what is not known must then be said. read_deltas.c restores both.
 */
#include "formats/chrome/writer.h"

/* Where a delta is among the arguments. */
enum delta_state {
	DELTA_WRITTEN,
	DELTA_ZERO,
	DELTA_UNKNOWN,
	DELTA_HIDDEN, /* by an argument of the program with the name of the counter */
};

static enum delta_state delta_find_state(const struct fact *fact, unsigned counter,
					 uint32_t sampled)
{
	const struct name *name = fact->counter_tracks[counter]->name;
	const struct arg *arg = fact->args, *end = arg + fact->n_args;
	uint64_t delta = fact->counter_deltas[counter];

	while (arg < end && arg->key != name)
		arg++;
	if (delta == EVENT_NO_VALUE)
		return arg == end ? DELTA_UNKNOWN : DELTA_HIDDEN;
	if (arg == end || arg->type > ARG_UINT || arg->u != delta)
		return DELTA_HIDDEN;
	return delta || !(sampled >> counter & 1) ? DELTA_WRITTEN : DELTA_ZERO;
}

static bool delta_is_left_out(const struct fact *fact, const enum delta_state *states, unsigned n,
			      const struct arg *arg)
{
	for (unsigned i = 0; i < n; i++) {
		if (states[i] == DELTA_ZERO && fact->counter_tracks[i]->name == arg->key)
			return true;
	}
	return false;
}

/* All deltas that are known, where arguments of the program hide some. */
static char *delta_put_all(struct json_writer *j, char *at, const struct fact *fact)
{
	at = json_literal(json_key_text(j, at, "counters"), "{");
	j->comma = false;
	for (unsigned i = 0; i < fact->n_counters; i++) {
		if (fact->counter_deltas[i] == EVENT_NO_VALUE)
			continue;
		at = json_key(j, at, fact->counter_tracks[i]->name);
		at = json_uint(at, fact->counter_deltas[i]);
	}
	j->comma = true;
	return json_literal(at, "}");
}

/* Whether the deltas are all arguments that there are, in order, as in nearly every E of a recording. */
static bool deltas_are_args(const struct fact *fact, unsigned n)
{
	if (!n || fact->n_args != n)
		return false;
	for (unsigned i = 0; i < n; i++) {
		const struct arg *arg = &fact->args[i];

		if (fact->counter_deltas[i] == EVENT_NO_VALUE ||
		    arg->key != fact->counter_tracks[i]->name || arg->type > ARG_UINT ||
		    arg->u != fact->counter_deltas[i])
			return false;
	}
	return true;
}

static char *delta_put_known(struct json_writer *j, char *at, const struct fact *fact,
			     uint32_t sampled)
{
	for (unsigned i = 0; i < fact->n_args; i++) {
		const struct arg *arg = &fact->args[i];

		if (arg->u || !(sampled >> i & 1))
			at = json_value(json_key(j, at, arg->key), arg);
	}
	return at;
}

char *chrome_put_counted_args(struct json_writer *j, char *at, const struct fact *fact,
			      uint32_t sampled)
{
	unsigned i, n_unknown = 0, n = fact->counter_deltas ? fact->n_counters : 0;
	enum delta_state states[EVENT_MAX_COUNTERS];
	bool hidden = false;

	if (deltas_are_args(fact, n))
		return delta_put_known(j, at, fact, sampled);
	for (i = 0; i < n; i++) {
		states[i] = delta_find_state(fact, i, sampled);
		hidden |= states[i] == DELTA_HIDDEN;
		n_unknown += fact->counter_deltas[i] == EVENT_NO_VALUE;
	}
	for (i = 0; i < fact->n_args; i++) {
		const struct arg *arg = &fact->args[i];

		if (!hidden && delta_is_left_out(fact, states, n, arg))
			continue;
		at = json_key(j, at, arg->key);
		at = json_value(at, arg);
	}
	if (n_unknown == n)
		return json_literal(json_key_text(j, at, "counters"), "null");
	if (hidden)
		return delta_put_all(j, at, fact);
	for (i = 0; i < n; i++) {
		if (states[i] == DELTA_UNKNOWN)
			at = json_literal(json_key(j, at, fact->counter_tracks[i]->name), "null");
	}
	return at;
}
