/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The processor's counter and the kernel's clock. The kernel makes CLOCK_MONOTONIC of that same
 * counter, at a rate that it corrects all the time, by a little. So both are read side by side once
 * in each round, and between two such moments the rate is taken to be even. Events are placed when the
 * moment after them is known.
 */
#include "capture/batch.h"

#include <stdio.h>
#include <string.h>

#define ATTEMPTS 8

#if defined(__x86_64__)

static inline uint64_t ticks_now(void)
{
	uint32_t low, high;

	/* lfence: not before what stands before it, not after what stands behind. */
	__asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
}

static bool has_word(const char *list, const char *word)
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

static bool file_has_word(const char *path, const char *prefix, const char *word)
{
	char line[8192];
	bool found = false;
	FILE *file = fopen(path, "re");

	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file))
		found = !strncmp(line, prefix, strlen(prefix)) && has_word(line, word);
	fclose(file);
	return found;
}

/* The kernel finds out whether the counters of all processors agree; then it offers the clock. */
const char *batch_clock_missing(void)
{
	static const char clocks[] =
		"/sys/devices/system/clocksource/clocksource0/available_clocksource";

	if (!file_has_word("/proc/cpuinfo", "flags", "constant_tsc") ||
	    !file_has_word("/proc/cpuinfo", "flags", "nonstop_tsc"))
		return "the processor's counter (TSC) changes its pace";
	if (!file_has_word(clocks, "", "tsc"))
		return "the kernel does not trust the processor's counter (TSC)";
	return NULL;
}

#else

static inline uint64_t ticks_now(void)
{
	uint64_t now;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(now) : : "memory");
	return now;
}

/* The architecture says that it is the same on all processors, and even. */
const char *batch_clock_missing(void)
{
	return NULL;
}

#endif

uint64_t batch_clock_now(void)
{
	return ticks_now();
}

/* The narrowest of a few readings: in between we may have been interrupted. */
struct batch_moment batch_clock_read(uint64_t *ret_width)
{
	struct batch_moment best = { 0 };
	uint64_t width = UINT64_MAX;
	int i;

	for (i = 0; i < ATTEMPTS; i++) {
		uint64_t before = ticks_now(), ns = monotonic_now(), after = ticks_now();

		if (after - before >= width)
			continue;
		width = after - before;
		best.ticks = before + width / 2;
		best.ns = ns;
	}
	*ret_width = width;
	return best;
}

static uint64_t place(const struct batch_moment *a, const struct batch_moment *b, uint64_t ticks)
{
	__int128 since = (__int128)ticks - a->ticks;

	if (b->ticks <= a->ticks)
		return a->ns;
	since = since * (__int128)(b->ns - a->ns) / (__int128)(b->ticks - a->ticks) + a->ns;
	/* Neither before the clock began nor after its end: a program may say anything. */
	return since < 0 ? 0 : since > INT64_MAX ? INT64_MAX : (uint64_t)since;
}

/* ns of a tick, as a fraction of 2^32. */
static uint64_t rate_between(const struct batch_moment *a, const struct batch_moment *b)
{
	if (b->ticks <= a->ticks || b->ns <= a->ns)
		return 0;
	return (uint64_t)(((unsigned __int128)(b->ns - a->ns) << 32) / (b->ticks - a->ticks));
}

/*
 * How even the rate is: the moment before this one, placed by those around it. Between moments that lie
 * closer together, as all events do, the error is smaller still.
 */
static void check(struct batch_clock *clock, const struct batch_moment *now, uint64_t width)
{
	const struct batch_moment *middle = &clock->moments[(clock->n - 1) % BATCH_MOMENTS];
	const struct batch_moment *first = &clock->moments[(clock->n - 2) % BATCH_MOMENTS];
	int64_t error = (int64_t)(place(first, now, middle->ticks) - middle->ns);

	if (error < 0)
		error = -error;
	/* The kernel's clock was read anywhere in this. */
	error += (int64_t)((unsigned __int128)width * rate_between(first, middle) >> 33);
	if ((uint64_t)error > clock->error_ns)
		clock->error_ns = (uint64_t)error;
}

#define PACE_MOMENTS 64 /* a rate from moments that lie apart is less rough */

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

void batch_clock_look(struct batch_clock *clock)
{
	uint64_t width;
	const struct batch_moment now = batch_clock_read(&width);

	if (clock->n >= 2)
		check(clock, &now, width);
	clock->moments[clock->n++ % BATCH_MOMENTS] = now;
}

/* Events come by time, so that the next one lies between the same two moments, as a rule. */
uint64_t batch_clock_look_up(struct batch_clock *clock, uint64_t ticks)
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
		return place(a, b, ticks);
	clock->pace = (struct batch_pace){ .from_ticks = a->ticks,
					   .to_ticks = b->ticks,
					   .from_ns = a->ns,
					   .rate = rate_between(a, b) };
	return batch_pace_ns(&clock->pace, ticks);
}
