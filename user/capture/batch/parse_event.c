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
	const bool near = event[2] & BATCH_EVENT_KEYS_NEAR, dynamic = e->meta & META_NAME_DYNAMIC;
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

bool batch_event_parse(const uint64_t *event, struct batch_event *ret)
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
