/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames of ITT: what a domain does over and over. Those that end in the order in which they begin are frames of
 * proftrace.h, with numbers and a rate; those with an id may overlap as they like. Submitted frames have passed
 * already, and come with their times.
 */
#include "itt.h"

#include <time.h>

static uint64_t itt_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/*
 * The clock of submitted frames is ours, in nanoseconds, or that of another tool, whose unit and origin nobody tells: that
 * one is read together with ours when the library begins, and again for each frame.
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
	int i;

	for (i = 0; i < 4; i++) {
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

/* A time of the other tool's clock in ours, given what both say now. */
static uint64_t itt_convert(uint64_t time, const struct itt_reading *now)
{
	const double units = (double)(now->theirs - first_reading.theirs);
	const double rate = units > 0 ? (double)(now->ours - first_reading.ours) / units : 1;

	return now->ours - (uint64_t)(int64_t)((double)(int64_t)(now->theirs - time) * rate);
}

static const prof_frame_t *itt_frame_of(const prof_runtime_domain_t *domain)
{
	const uint64_t key = map_key_of(MAP_ITT_FRAME, domain);
	const prof_frame_t *frame = map_get(key);

	if (UNLIKELY(!frame)) {
		frame = prof_frame_get(domain, domain->name ? domain->name : "itt");
		map_put(key, (void *)(uintptr_t)frame);
	}
	return frame;
}

static uint64_t itt_frame_id(const struct itt_id *id)
{
	return (id->d1 ^ id->d3) * UINT64_C(0x9e3779b97f4a7c15) ^ id->d2;
}

void itt_frame_begin_v3(itt_domain_t domain, struct itt_id *id)
{
	ITT_CHAIN(frame_begin_v3, domain, id);
	if (is_recorded()) {
		const prof_runtime_domain_t *const d = itt_domain_find(domain);

		if (id)
			prof_async_begin_args(d, d->name, itt_frame_id(id), NULL, 0);
		else
			prof_frame_start(itt_frame_of(d));
	}
}

void itt_frame_end_v3(itt_domain_t domain, struct itt_id *id)
{
	if (is_recorded()) {
		const prof_runtime_domain_t *const d = itt_domain_find(domain);

		if (id)
			prof_async_end_args(d, d->name, itt_frame_id(id), NULL, 0);
		else
			prof_frame_stop(itt_frame_of(d));
	}
	ITT_CHAIN(frame_end_v3, domain, id);
}

static APART void itt_put_frame(itt_domain_t domain, uint64_t begin, uint64_t end)
{
	static struct unsupported wrong = { "ITT frames with impossible times", 0, NULL, 0 };
	const prof_runtime_domain_t *const d = itt_domain_find(domain);
	if (__atomic_load_n(&first_state, __ATOMIC_ACQUIRE) == 2) {
		const struct itt_reading now = itt_read_clocks();

		begin = itt_convert(begin, &now);
		end = itt_convert(end, &now);
	}
	/* A clock that is converted may be a little ahead. */
	if (end < begin || end > itt_now() + 1000000)
		unsupported_count(&wrong);
	else
		prof_slice_at_args(d, NULL, d->name, begin, end, NULL, 0);
}

void itt_frame_submit_v3(itt_domain_t domain, struct itt_id *id, unsigned long long begin,
			 unsigned long long end)
{
	ITT_CHAIN(frame_submit_v3, domain, id, begin, end);
	if (is_recorded())
		itt_put_frame(domain, begin, end);
}

/* The frames of older programs. */
void *itt_frame_create(const char *domain)
{
	const prof_runtime_domain_t *const d = domain_named(domain, "itt");
	const prof_frame_t *const frame = itt_frame_of(d);
	void *handle = itt_chained.frame_create ? itt_chained.frame_create(domain) : NULL;

	if (!handle)
		handle = (void *)(uintptr_t)frame;
	map_put(map_key_of(MAP_ITT_LEGACY_FRAME, handle), (void *)(uintptr_t)frame);
	return handle;
}

static const prof_frame_t *itt_frame_find(const void *handle)
{
	static struct unsupported unknown = { "ITT frames that were not created", 0, NULL, 0 };
	const prof_frame_t *const frame = map_get(map_key_of(MAP_ITT_LEGACY_FRAME, handle));

	if (!frame)
		unsupported_count(&unknown);
	return frame;
}

void itt_frame_begin(void *handle)
{
	ITT_CHAIN(frame_begin, handle);
	if (is_recorded()) {
		const prof_frame_t *const frame = itt_frame_find(handle);

		if (frame)
			prof_frame_start(frame);
	}
}

void itt_frame_end(void *handle)
{
	if (is_recorded()) {
		const prof_frame_t *const frame = itt_frame_find(handle);

		if (frame)
			prof_frame_stop(frame);
	}
	ITT_CHAIN(frame_end, handle);
}
