/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parsing one event of a batch (include/proftrace.h, section 4). The program may have written
 * anything.
 */
#include "capture/batch/batch.h"

#include <string.h>

/* The distance of near keys from the stub; the event has their distance from the name. */
static int32_t near_keys_distance(uint64_t head, int32_t name)
{
	int64_t keys = (int64_t)(head >> BATCH_KEYS_AT & BATCH_KEYS_BITS) - BATCH_KEYS_NEAR + name;

	return keys >= INT32_MIN && keys <= INT32_MAX ? (int32_t)keys : NAME_FAR;
}

/* Finds the words behind the head. False: there are too few. */
static bool locate_event_words(const uint64_t *event, struct batch_event *e)
{
	const size_t words = BATCH_EVENT_WORDS(event);
	const bool near = event[2] & BATCH_EVENT_KEYS_NEAR;
	const bool dynamic = e->meta & META_NAME_DYNAMIC && !(event[2] & BATCH_EVENT_NAME_BEFORE);
	const bool a = event[2] & BATCH_EVENT_A, b = event[2] & BATCH_EVENT_B;
	size_t at = BATCH_EVENT_HEAD;

	if (e->n > MAX_ARGS || (near && (!e->n || e->n > 2)) ||
	    at + a + b + dynamic + (e->n && !near) + e->n > words)
		return false;
	if (a)
		e->a = event[e->a_at = at++];
	if (b)
		e->b = event[e->b_at = at++];
	if (dynamic)
		e->name_length = event[at++];
	if (near)
		e->keys = near_keys_distance(event[2], e->name);
	else if (e->n)
		e->keys = (int32_t)event[e->keys_at = at++];
	e->values = event + at;
	at += e->n;
	e->bytes = (const char *)(event + at);
	e->n_bytes = (words - at) * 8;
	return true;
}

static bool parse_event_words(const uint64_t *event, struct batch_event *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->stub = (uint32_t)event[1];
	ret->name = (int32_t)(event[1] >> 32);
	ret->meta = event[2] & META_BITS;
	if (event[2] & BATCH_EVENT_KEYS_NEAR)
		ret->meta = (ret->meta & ~(BATCH_KEYS_BITS << BATCH_KEYS_AT)) | META_IN_REGISTERS;
	ret->n = META_ARGS(ret->meta);
	return locate_event_words(event, ret);
}

/* An event whose name is in another one says nothing without it. */
bool batch_event_parse(const uint64_t *event, struct batch_event *ret)
{
	return parse_event_words(event, ret) && !(event[2] & BATCH_EVENT_NAME_BEFORE);
}

/* The event that has the name of the one at `at`, parsed. NULL: it does not. */
static const uint64_t *find_named_event(const uint64_t *events, size_t at,
					const struct batch_event *e, struct batch_event *ret)
{
	const size_t back = (uint32_t)e->name;
	const uint64_t *named = events + at - back;

	if (back < BATCH_EVENT_HEAD || back > at || BATCH_EVENT_WORDS(named) > back ||
	    !batch_event_parse(named, ret) || !(ret->meta & META_NAME_DYNAMIC) ||
	    (ret->meta ^ e->meta) & META_CATEGORIES)
		return NULL;
	return named;
}

size_t batch_event_add_name(const uint64_t *events, size_t at, uint64_t *ret_event)
{
	const uint64_t *event = events + at;
	struct batch_event e, named;
	size_t to = BATCH_EVENT_HEAD, name, words;

	if (!(event[2] & BATCH_EVENT_NAME_BEFORE) || event[2] & BATCH_EVENT_KEYS_NEAR ||
	    !parse_event_words(event, &e) || !(e.meta & META_NAME_DYNAMIC) ||
	    !find_named_event(events, at, &e, &named))
		return 0;
	name = named.name_length & STRING_NULL ? 0 : (uint32_t)named.name_length;
	if (e.meta & META_CATEGORIES) {
		e.b = named.b;
		name += e.b & STRING_NULL ? 0 : (uint32_t)e.b;
	}
	/* Two words are new, b and the length of the name, and the name's bytes with those behind them. */
	words = BATCH_EVENT_WORDS(event) - !!e.b_at + !!e.b + 1 + (name + 7) / 8;
	if (name > named.n_bytes || name > 2 * MAX_NAME || words > BATCH_EVENT_WORDS_MOST)
		return 0;
	memset(ret_event, 0, words * sizeof(*ret_event));
	ret_event[0] = event[0];
	ret_event[1] = e.stub;
	ret_event[2] = (event[2] & ~(0xffull << 56 | BATCH_EVENT_NAME_BEFORE | BATCH_EVENT_B)) |
		       (e.b ? BATCH_EVENT_B : 0) | (uint64_t)words << 56;
	if (e.a_at)
		ret_event[to++] = e.a;
	if (e.b)
		ret_event[to++] = e.b;
	ret_event[to++] = named.name_length;
	if (e.n)
		ret_event[to++] = event[e.keys_at];
	memcpy(ret_event + to, e.values, e.n * sizeof(*e.values));
	to += e.n;
	memcpy(ret_event + to, named.bytes, name);
	memcpy((char *)(ret_event + to) + name, e.bytes, e.n_bytes);
	return words;
}
