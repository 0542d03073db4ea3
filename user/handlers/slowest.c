/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which slices are looked at. Of the longest only as many are kept as are wanted. The median needs all
 * durations: beyond SLOWEST_SEEN slices it is the median of so many of them, chosen at random, always
 * the same way. That one is off by less than 0.3 percentiles, 99 times of 100.
 */
#include "handlers/slowest_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "handlers/globs.h"

/* --- who is wanted ------------------------------------------------------------------------------ */

/* Names come by the million, but there are few of them: each is looked at once. */
static uint8_t *known(uint8_t **table, uint32_t *n, uint32_t id)
{
	uint32_t room = *n ? *n : 64;
	uint8_t *grown;

	if (id < *n)
		return *table + id;
	while (room <= id)
		room *= 2;
	grown = realloc(*table, room);
	if (!grown)
		return NULL;
	memset(grown + *n, 0, room - *n);
	*table = grown;
	*n = room;
	return *table + id;
}

static bool wanted(struct slowest *s, const struct name *name, const struct name *category)
{
	const struct slowest_options *o = &s->options;
	uint8_t *at = known(&s->names, &s->n_names, name->id);

	if (at && !*at)
		*at = globs_want(&o->name, 1, name->text, false) ? 2 : 1;
	if (!at || *at == 1 || !o->n_domains)
		return at && *at == 2;
	at = known(&s->categories, &s->n_categories, category ? category->id : 0);
	if (at && !*at)
		*at = globs_want(o->domains, o->n_domains, category ? category->text : "", true)
			      ? 2
			      : 1;
	return at && *at == 2;
}

/* --- the first reading -------------------------------------------------------------------------- */

/* xorshift64: which ones are kept must not depend on anything but the traces. */
static uint64_t next_random(struct slowest *s)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	s->random ^= s->random << 17;
	return s->random;
}

static int see(struct slowest *s, const struct slow_identity *is)
{
	uint32_t room = s->seen_room ? s->seen_room * 2 : 1024;
	struct slow_identity *grown;
	uint64_t at;

	if (s->n_seen == SLOWEST_SEEN) {
		at = next_random(s) % s->count;
		if (at < SLOWEST_SEEN)
			s->seen[at] = *is;
		return 0;
	}
	if (s->n_seen == s->seen_room) {
		grown = realloc(s->seen, room * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		s->seen = grown;
		s->seen_room = room;
	}
	s->seen[s->n_seen++] = *is;
	return 0;
}

/* The longest first; of equal ones the one that came first. */
static void compete(struct slowest *s, const struct slow_identity *is)
{
	unsigned i = s->n_longest;

	if (i == s->options.n && s->longest[i - 1].duration_ns >= is->duration_ns)
		return;
	if (i < s->options.n)
		s->n_longest++;
	else
		i--;
	for (; i && s->longest[i - 1].duration_ns < is->duration_ns; i--)
		s->longest[i] = s->longest[i - 1];
	s->longest[i] = *is;
}

static int choose(struct slowest *s, const struct fact *fact)
{
	const struct slow_identity is = {
		.duration_ns = fact->ts_ns - fact->begin_ns,
		.begin_ns = fact->begin_ns,
		.thread = fact->thread->uuid,
		.name = fact->name,
		.category = fact->category,
	};

	/* One inside of another one of its name is a part of that. */
	if (fact->end_reason != END_NORMAL || fact->nested_in_itself ||
	    !wanted(s, fact->name, fact->category))
		return 0;
	s->count++;
	compete(s, &is);
	return see(s, &is);
}

static int slowest_fact(struct handler *handler, const struct fact *fact)
{
	struct slowest *s = (struct slowest *)handler;

	if (fact->kind >= FACT_BEGIN && fact->kind <= FACT_FLOW_IN && fact->ts_ns &&
	    !fact->continued && (!s->first_ns || fact->ts_ns < s->first_ns))
		s->first_ns = fact->ts_ns;
	if (s->again)
		return slow_watch(s, fact);
	return fact->kind == FACT_END ? choose(s, fact) : 0;
}

/* --- between the two ---------------------------------------------------------------------------- */

static int by_duration(const void *left, const void *right)
{
	const struct slow_identity *a = left, *b = right;

	if (a->duration_ns != b->duration_ns)
		return a->duration_ns < b->duration_ns ? -1 : 1;
	/* Whose uuid is greater is of a later trace. */
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

int slowest_again(struct handler *handler)
{
	struct slowest *s = (struct slowest *)handler;
	unsigned i;

	s->again = true;
	s->n_traces = 0;
	s->first_ns = 0;
	if (!s->n_seen)
		return 0;
	s->instances = calloc(s->n_longest + 1, sizeof(*s->instances));
	if (!s->instances)
		return -ENOMEM;
	s->n_instances = s->n_longest + 1;
	qsort(s->seen, s->n_seen, sizeof(*s->seen), by_duration);
	s->instances[0].is = s->seen[(s->n_seen - 1) / 2];
	for (i = 0; i < s->n_longest; i++)
		s->instances[i + 1].is = s->longest[i];
	free(s->seen);
	s->seen = NULL;
	return 0;
}

void slowest_next_trace(struct handler *handler)
{
	struct slowest *s = (struct slowest *)handler;
	unsigned i;

	for (i = 0; i < s->n_instances; i++) {
		struct slow_instance *in = &s->instances[i];

		if (in->state == SLOW_SEEN && in->trace == s->n_traces)
			in->at_ns = in->is.begin_ns - s->first_ns;
	}
	s->n_traces++;
	s->first_ns = 0;
}

bool slowest_complete(const struct handler *handler)
{
	const struct slowest *s = (const struct slowest *)handler;
	unsigned i;

	for (i = 0; i < s->n_instances; i++) {
		if (s->instances[i].state != SLOW_SEEN)
			return false;
	}
	return true;
}

/* --- the handler -------------------------------------------------------------------------------- */

static int slowest_flush(struct handler *handler)
{
	(void)handler;
	return 0;
}

static int slowest_close(struct handler *handler, const struct account *account)
{
	(void)handler, (void)account;
	return 0;
}

static void slowest_free(struct handler *handler)
{
	struct slowest *s = (struct slowest *)handler;
	unsigned i;

	for (i = 0; i < s->n_instances; i++)
		slow_forget(&s->instances[i]);
	free(s->instances);
	free(s->seen);
	free(s->names);
	free(s->categories);
	free(s);
}

static const struct handler_ops slowest_ops = {
	.name = "slowest",
	.fact = slowest_fact,
	.flush = slowest_flush,
	.close = slowest_close,
	.free = slowest_free,
};

struct handler *slowest_handler_new(const struct slowest_options *options)
{
	struct slowest *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->handler.ops = &slowest_ops;
	s->options = *options;
	s->random = 0x9e3779b97f4a7c15ull;
	return &s->handler;
}
