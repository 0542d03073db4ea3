/* SPDX-License-Identifier: BSD-2-Clause */
#include "timeline/account.h"

#include <stddef.h>

static const struct {
	const char *name;
	const char *text;
	const char *hint;
} reasons[LOST_REASONS] = {
	[LOST_BUFFER_FULL] = { "buffer_full", "ring buffer full", "--buffer SIZE" },
	[LOST_BEGIN_LOST] = { "begin_lost", "ends of slices whose begin was lost",
			      "--buffer SIZE" },
	[LOST_CUT] = { "cut", "ends of slices that began before the recording", NULL },
	[LOST_UNMATCHED] = { "unmatched", "ends without an open slice of their own", NULL },
	[LOST_TOO_DEEP] = { "too_deep", "nested too deeply", NULL },
	[LOST_NO_STATE] = { "no_state", "no memory in the kernel for the state of a thread", NULL },
	[LOST_MALFORMED] = { "malformed", "malformed records or events", NULL },
	[LOST_LIMIT] = { "limit", "too many threads, tracks or asynchronous slices at once", NULL },
	[LOST_OUTPUT] = { "output", "could not be written to any output", NULL },
};

const char *lost_reason_name(enum lost_reason reason)
{
	return (unsigned)reason < LOST_REASONS ? reasons[reason].name : "unknown";
}

const char *lost_reason_text(enum lost_reason reason)
{
	return (unsigned)reason < LOST_REASONS ? reasons[reason].text : "unknown reason";
}

const char *lost_reason_hint(enum lost_reason reason)
{
	return (unsigned)reason < LOST_REASONS ? reasons[reason].hint : NULL;
}

uint64_t account_lost(const struct account *account)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < LOST_REASONS; i++)
		sum += account->lost[i];
	return sum;
}

#define NUMBERS (offsetof(struct account, orderly) / sizeof(uint64_t))

_Static_assert(offsetof(struct account, orderly) % sizeof(uint64_t) == 0 &&
		       sizeof(struct account) == (NUMBERS + 1) * sizeof(uint64_t),
	       "an account is numbers, and last whether it is orderly");

struct account account_since(const struct account *account, const struct account *before)
{
	struct account difference = *account;
	uint64_t *to = (uint64_t *)&difference;
	const uint64_t *from = (const uint64_t *)before;
	size_t i;

	for (i = 0; i < NUMBERS; i++)
		to[i] -= from[i] < to[i] ? from[i] : to[i];
	return difference;
}

bool account_adds_up(const struct account *a)
{
	return a->marked == a->written + account_lost(a) + a->paused + a->unrecorded;
}
