/* SPDX-License-Identifier: BSD-2-Clause */
/* One event of a batch, taken apart (include/proftrace.h, section 4). It may be anything. */
#include "capture/batch.h"

#include <string.h>

#define META_BITS     ((1ull << 51) - 1)
#define A_FOLLOWS     (1ull << 52)
#define KEYS_NEAR     (1ull << 53)
#define B_FOLLOWS     (1ull << 54)
#define KEYS_AT	      16 /* in the third word, where they are near: */
#define KEYS_BITS     0xffffffull
#define KEYS_IN_FRONT 0x800000 /* added to the distance, so that it is not negative */

/* Where near keys are from the stub, when they are so far from the name. */
static int32_t keys_from_stub(uint64_t head, int32_t name)
{
	int64_t keys = (int64_t)(head >> KEYS_AT & KEYS_BITS) - KEYS_IN_FRONT + name;

	return keys >= INT32_MIN && keys <= INT32_MAX ? (int32_t)keys : NAME_FAR;
}

/* Which words follow the head. False: there are not so many. */
static bool take_words(const uint64_t *event, struct batch_event *e)
{
	const size_t words = BATCH_EVENT_WORDS(event);
	const bool near = event[2] & KEYS_NEAR, dynamic = e->meta & META_NAME_DYNAMIC;
	const bool a = event[2] & A_FOLLOWS, b = event[2] & B_FOLLOWS;
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
		e->keys = keys_from_stub(event[2], e->name);
	else if (e->n)
		e->keys = (int32_t)event[e->keys_at = at++];
	e->values = event + at;
	at += e->n;
	e->bytes = (const char *)(event + at);
	e->n_bytes = (words - at) * 8;
	return true;
}

bool batch_event_read(const uint64_t *event, struct batch_event *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->stub = (uint32_t)event[1];
	ret->name = (int32_t)(event[1] >> 32);
	ret->meta = event[2] & META_BITS;
	if (event[2] & KEYS_NEAR)
		ret->meta = (ret->meta & ~(KEYS_BITS << KEYS_AT)) | META_IN_REGISTERS;
	ret->n = ret->meta & 15;
	return take_words(event, ret);
}
