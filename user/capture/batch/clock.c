/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Converting the processor's counter to CLOCK_MONOTONIC. Marks in batches carry the counter,
 * because it is the cheapest clock that a program can read. The kernel derives CLOCK_MONOTONIC from
 * the same counter, with a rate that it keeps correcting slightly. So both are read side by side
 * once in each round, and between two such moments the rate is assumed to be constant. An event is
 * placed in time when the moment after it is known.
 */
#include "capture/batch/batch.h"

#include <stdio.h>
#include <string.h>

#define ATTEMPTS 8

static inline uint64_t read_ticks(void)
{
#if defined(__x86_64__)
	uint32_t low, high;

	/* The fences keep the counter from being read before earlier or after later instructions. */
	__asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
#else
	uint64_t now;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(now) : : "memory");
	return now;
#endif
}

#if defined(__x86_64__)
static bool list_has_word(const char *list, const char *word)
{
	size_t n = strlen(word);
	const char *at = list;

	while ((at = strstr(at, word))) {
		if ((at == list || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\n' || !at[n]))
			return true;
		at += n;
	}
	return false;
}

static bool file_line_has_word(const char *path, const char *prefix, const char *word)
{
	char line[8192];
	bool found = false;
	FILE *file = fopen(path, "re");

	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file))
		found = !strncmp(line, prefix, strlen(prefix)) && list_has_word(line, word);
	fclose(file);
	return found;
}
#endif

/*
 * On x86-64 the kernel checks whether the counters of all processors agree, and lists the TSC as a
 * clock source if they do. On arm64 the architecture guarantees one counter with a constant rate
 * for all processors.
 */
const char *batch_clock_unusable(void)
{
#if defined(__x86_64__)
	static const char clocks[] =
		"/sys/devices/system/clocksource/clocksource0/available_clocksource";

	if (!file_line_has_word("/proc/cpuinfo", "flags", "constant_tsc") ||
	    !file_line_has_word("/proc/cpuinfo", "flags", "nonstop_tsc"))
		return "the rate of the processor's counter (TSC) changes";
	if (!file_line_has_word(clocks, "", "tsc"))
		return "the kernel does not trust the processor's counter (TSC)";
#endif
	return NULL;
}

uint64_t batch_clock_now(void)
{
	return read_ticks();
}

/* The narrowest of several readings is used, since the thread may be interrupted between them. */
struct batch_moment batch_clock_read(uint64_t *ret_width)
{
	struct batch_moment best = { 0 };
	uint64_t width = UINT64_MAX;

	for (int i = 0; i < ATTEMPTS; i++) {
		uint64_t before = read_ticks(), ns = monotonic_now(), after = read_ticks();

		if (after - before >= width)
			continue;
		width = after - before;
		best.ticks = before + width / 2;
		best.ns = ns;
	}
	*ret_width = width;
	return best;
}

static uint64_t interpolate_moment(const struct batch_moment *a, const struct batch_moment *b,
				   uint64_t ticks)
{
	__int128 since = (__int128)ticks - a->ticks;

	if (b->ticks <= a->ticks)
		return a->ns;
	since = since * (__int128)(b->ns - a->ns) / (__int128)(b->ticks - a->ticks) + a->ns;
	/*
	 * The result is limited to the range of the clock, because a program may write any ticks.
	 */
	return since < 0 ? 0 : since > INT64_MAX ? INT64_MAX : (uint64_t)since;
}

/* In ns per tick, times 2^32. */
static uint64_t rate_between_moments(const struct batch_moment *a, const struct batch_moment *b)
{
	if (b->ticks <= a->ticks || b->ns <= a->ns)
		return 0;
	return (uint64_t)(((unsigned __int128)(b->ns - a->ns) << 32) / (b->ticks - a->ticks));
}

/*
 * Estimates how constant the rate is: how far the previous moment is from its interpolated place
 * between its neighbours. Events are closer to a moment than that, so their error is smaller.
 */
static void measure_clock_error(struct batch_clock *clock, const struct batch_moment *now,
				uint64_t width)
{
	const struct batch_moment *middle = &clock->moments[(clock->n - 1) % BATCH_MOMENTS];
	const struct batch_moment *first = &clock->moments[(clock->n - 2) % BATCH_MOMENTS];
	int64_t error = (int64_t)(interpolate_moment(first, now, middle->ticks) - middle->ns);

	if (error < 0)
		error = -error;
	/* The kernel's clock was read at any point within the width. */
	error += (int64_t)((unsigned __int128)width * rate_between_moments(first, middle) >> 33);
	if ((uint64_t)error > clock->error_ns)
		clock->error_ns = (uint64_t)error;
}

#define PACE_MOMENTS 64 /* moments further apart give a more precise rate */

uint64_t batch_clock_ticks(const struct batch_clock *clock, uint64_t ns)
{
	uint64_t apart = clock->n < PACE_MOMENTS ? clock->n : PACE_MOMENTS, width;
	const struct batch_moment now = clock->n < 2
						? batch_clock_read(&width)
						: clock->moments[(clock->n - 1) % BATCH_MOMENTS];
	const struct batch_moment before =
		clock->n ? clock->moments[(clock->n - apart) % BATCH_MOMENTS] : now;
	__int128 since = (__int128)ns - now.ns;

	if (now.ns <= before.ns)
		return now.ticks;
	since = since * (__int128)(now.ticks - before.ticks) / (__int128)(now.ns - before.ns);
	return (uint64_t)(since + now.ticks);
}

void batch_clock_sample(struct batch_clock *clock)
{
	uint64_t width;
	const struct batch_moment now = batch_clock_read(&width);

	if (clock->n >= 2)
		measure_clock_error(clock, &now, width);
	clock->moments[clock->n++ % BATCH_MOMENTS] = now;
}

/* Events come sorted by time, so the next one usually lies between the same two moments. */
uint64_t batch_clock_convert(struct batch_clock *clock, uint64_t ticks)
{
	uint64_t first = clock->n > BATCH_MOMENTS ? clock->n - BATCH_MOMENTS : 0;
	uint64_t last = clock->n - 1, low = first, high = last;
	const struct batch_moment *a, *b;

	if (!clock->n)
		return 0;
	while (low + 1 < high) {
		uint64_t middle = low + (high - low) / 2;

		if (clock->moments[middle % BATCH_MOMENTS].ticks <= ticks)
			low = middle;
		else
			high = middle;
	}
	a = &clock->moments[low % BATCH_MOMENTS];
	b = &clock->moments[high % BATCH_MOMENTS];
	if (ticks < a->ticks || ticks > b->ticks || b->ticks <= a->ticks || b->ns <= a->ns)
		return interpolate_moment(a, b, ticks);
	clock->pace = (struct batch_pace){ .from_ticks = a->ticks,
					   .to_ticks = b->ticks,
					   .from_ns = a->ns,
					   .rate = rate_between_moments(a, b) };
	return batch_pace_ns(&clock->pace, ticks);
}
