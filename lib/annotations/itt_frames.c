/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames of ITT: what a domain does over and over. Those that end in the order in which they begin are frames of
 * proftrace.h, with numbers and a rate; those with an id may overlap as they like. Submitted frames have passed
 * already, and come with their times.
 */
#include "itt.h"

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
	const prof_runtime_domain_t *const d = itt_domain_find(domain);

	if (itt_clock_convert(NULL, &begin) && itt_clock_convert(NULL, &end) &&
	    itt_times_are_possible(begin, end))
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
