/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Times that ITT's programs pass: of the clock that __itt_get_timestamp() reads, or of one that the program has created and
 * reads itself, such as that of a device.
 */
#include "itt.h"

#include <stdlib.h>
#include <time.h>

static uint64_t itt_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/*
 * The clock of itt_get_timestamp() is ours, in nanoseconds, or that of another tool, whose unit and origin nobody tells: that
 * one is read together with ours when the library begins, and again for each time.
 */
struct itt_reading {
	uint64_t theirs, ours;
};
static struct itt_reading first_reading;
static int first_state; /* 2: it is there */

/* Both clocks at one moment: of some readings that with the least time in between. */
static struct itt_reading itt_read_clocks(void)
{
	struct itt_reading best = { 0, 0 };
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 4; i++) {
		const uint64_t before = itt_now(), theirs = itt_chained.get_timestamp();
		const uint64_t took = itt_now() - before;

		if (took < least) {
			least = took;
			best = (struct itt_reading){ theirs, before + took / 2 };
		}
	}
	return best;
}

void itt_clock_begin(void)
{
	if (!itt_chained.get_timestamp || __atomic_exchange_n(&first_state, 1, __ATOMIC_ACQ_REL))
		return;
	first_reading = itt_read_clocks();
	__atomic_store_n(&first_state, 2, __ATOMIC_RELEASE);
}

unsigned long long itt_get_timestamp(void)
{
	return itt_chained.get_timestamp ? itt_chained.get_timestamp() : itt_now();
}

/* Whatever a program says of its clock: a time that is too far away is the farthest one. */
static uint64_t ticks_to_ns(uint64_t ticks, double rate)
{
	const double ns = (double)(int64_t)ticks * rate;

	if (ns >= 0x1p63)
		return INT64_MAX;
	return ns > -0x1p63 ? (uint64_t)(int64_t)ns : (uint64_t)INT64_MIN;
}

/* A time of the other tool's clock in ours, given what both say now. */
static uint64_t itt_convert(uint64_t time, const struct itt_reading *now)
{
	const double units = (double)(now->theirs - first_reading.theirs);
	const double rate = units > 0 ? (double)(now->ours - first_reading.ours) / units : 1;

	return now->ours - ticks_to_ns(now->theirs - time, rate);
}

bool itt_times_are_possible(uint64_t begin, uint64_t end)
{
	static struct unsupported wrong = { "ITT times that are impossible", 0, NULL, 0 };

	/* A clock that is converted may be a little ahead. */
	if (end >= begin && end <= itt_now() + 1000000)
		return true;
	unsupported_count(&wrong);
	return false;
}

/*
 * A clock of the program: how fast it ticks, and what it said at one moment of ours. Read again at each reset, by one
 * thread at a time; whoever converts a time meanwhile does so again.
 */
struct itt_clock_known {
	struct itt_clock clock; /* the handle, where there is no other tool */
	itt_clock_read *read;
	void *data;
	uint32_t version; /* odd: it is being read */
	uint64_t base, ours;
	double ns; /* of one tick */
	struct itt_clock_known *next;
};
static struct itt_clock_known *clocks;

/* Of some readings that with the least time around it. */
static void itt_clock_read_again(struct itt_clock_known *known)
{
	uint32_t version = __atomic_load_n(&known->version, __ATOMIC_RELAXED);
	uint64_t least = UINT64_MAX;

	if (version & 1 || !known->read ||
	    !__atomic_compare_exchange_n(&known->version, &version, version + 1, 0,
					 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	for (int i = 0; i < 4; i++) {
		struct itt_clock_info info = { 0, 0 };
		const uint64_t before = itt_now();
		uint64_t took;

		known->read(&info, known->data);
		took = itt_now() - before;
		if (took < least) {
			least = took;
			known->clock.info = info;
			known->base = info.base;
			known->ours = before + took / 2;
			known->ns = info.frequency ? 1e9 / (double)info.frequency : 1;
		}
	}
	__atomic_store_n(&known->version, version + 2, __ATOMIC_RELEASE);
}

struct itt_clock *itt_clock_domain_create(itt_clock_read *read, void *data)
{
	static struct itt_clock_known no_memory = { .ns = 1 };
	struct itt_clock *theirs = itt_chained.clock_domain_create
					   ? itt_chained.clock_domain_create(read, data)
					   : NULL;
	struct itt_clock_known *known = calloc(1, sizeof(*known));

	if (!known)
		return theirs ? theirs : &no_memory.clock;
	known->clock.read = known->read = read;
	known->clock.data = known->data = data;
	known->ns = 1;
	itt_clock_read_again(known);
	if (!theirs)
		theirs = &known->clock;
	map_put(map_key_of(MAP_ITT_CLOCK, theirs), known);
	known->next = __atomic_load_n(&clocks, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&clocks, &known->next, known, 0, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
	return theirs;
}

void itt_clock_domain_reset(void)
{
	struct itt_clock_known *known = __atomic_load_n(&clocks, __ATOMIC_ACQUIRE);

	ITT_CHAIN(clock_domain_reset);
	for (; known; known = known->next)
		itt_clock_read_again(known);
}

bool itt_clock_convert(const struct itt_clock *clock, uint64_t *time)
{
	static struct unsupported unknown = { "ITT clocks that were not created", 0, NULL, 0 };
	struct itt_clock_known *known;
	uint64_t base, ours;
	uint32_t version;
	double ns;

	if (!clock) {
		if (__atomic_load_n(&first_state, __ATOMIC_ACQUIRE) == 2) {
			const struct itt_reading now = itt_read_clocks();

			*time = itt_convert(*time, &now);
		}
		return true;
	}
	known = map_get(map_key_of(MAP_ITT_CLOCK, clock));
	if (!known) {
		unsupported_count(&unknown);
		return false;
	}
	do {
		version = __atomic_load_n(&known->version, __ATOMIC_ACQUIRE);
		base = known->base;
		ours = known->ours;
		ns = known->ns;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (version & 1 || __atomic_load_n(&known->version, __ATOMIC_RELAXED) != version);
	*time = ours + ticks_to_ns(*time - base, ns);
	return true;
}
