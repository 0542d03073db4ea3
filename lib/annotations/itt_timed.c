/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tasks and markers of ITT that come with their times (*_ex), on a track that the program has created, or on one that has
 * the name of their domain. A task is a slice when its end comes. Until then its beginning is kept: that of a thread's
 * tasks by their depth, that of overlapped ones by their ids.
 */
#include "itt.h"

const prof_track_t *itt_track_of(const prof_runtime_domain_t *domain)
{
	const uint64_t key = map_key_of(MAP_ITT_DOMAIN_TRACK, domain);
	const prof_track_t *track = thread.itt_track;

	if (!track)
		track = map_get(key);
	if (!track) {
		track = prof_track_get(domain->name ? domain->name : "itt", NULL);
		map_put(key, (void *)(uintptr_t)track);
	}
	return track;
}

static size_t itt_begin_args(prof_arg_t args[3], const struct open_begin *begin)
{
	size_t n = 0;

	if (begin->id)
		args[n++] = prof_arg_uint("id", begin->id);
	if (begin->parent)
		args[n++] = prof_arg_uint("parent", begin->parent);
	if (begin->function)
		args[n++] = prof_arg_pointer("function", begin->function);
	return n;
}

static uint32_t n_open;

/* What an end closes, if that is known. A slice that was begun while nobody recorded is counted. */
static void itt_put_timed(uint64_t key, const struct itt_clock *clock, uint64_t time)
{
	static struct unsupported unknown = { "ITT tasks with times whose beginning is not known",
					      0, NULL, 0 };
	struct open_slice slice;
	prof_arg_t args[3];
	size_t n;

	if (!open_remove(key, &slice)) {
		unsupported_count(&unknown);
		return;
	}
	__atomic_sub_fetch(&n_open, 1, __ATOMIC_RELAXED);
	if (!is_recorded() || !itt_clock_convert(clock, &time) ||
	    !itt_times_are_possible(slice.begin.time, time))
		return;
	n = itt_begin_args(args, &slice.begin);
	prof_slice_at_args(slice.domain, itt_track_of(slice.domain), slice.name, slice.begin.time,
			   time, args, n);
}

static void itt_keep_begin(uint64_t key, itt_domain_t domain, const struct itt_clock *clock,
			   struct open_begin *begin, const char *name)
{
	const prof_runtime_domain_t *const d = itt_domain_find(domain);

	if (itt_clock_convert(clock, &begin->time) && open_add(key, d, name, begin))
		__atomic_add_fetch(&n_open, 1, __ATOMIC_RELAXED);
}

__attribute__((destructor)) static void itt_count_open(void)
{
	static struct unsupported open = { "ITT tasks with times that never ended", 0, NULL, 0 };
	uint32_t n = __atomic_load_n(&n_open, __ATOMIC_RELAXED);

	if (n)
		unsupported_add(&open, n);
}

/* The key of a task of this thread: no thread has the address of another one's variables. */
static uint64_t itt_depth_key(void)
{
	const struct itt_id place = { (uintptr_t)&thread, thread.itt_depth, 0 };

	return itt_open_key(NULL, &place, 2);
}

/* Depth is counted from the first task that is recorded on, recorded or not, until that one ends. */
static SELDOM void itt_begin_timed(itt_domain_t domain, const struct itt_clock *clock,
				   struct open_begin begin, const char *name)
{
	thread.itt_depth++;
	if (is_recorded())
		itt_keep_begin(itt_depth_key(), domain, clock, &begin, name);
}

void itt_task_begin_ex(itt_domain_t domain, struct itt_clock *clock, unsigned long long time,
		       struct itt_id id, struct itt_id parent, itt_string_t name)
{
	ITT_CHAIN(task_begin_ex, domain, clock, time, id, parent, name);
	if (is_recorded() || thread.itt_depth)
		itt_begin_timed(domain, clock, (struct open_begin){ time, id.d1, parent.d1, NULL },
				itt_text(name));
}

void itt_task_begin_fn_ex(itt_domain_t domain, struct itt_clock *clock, unsigned long long time,
			  struct itt_id id, struct itt_id parent, void *function)
{
	ITT_CHAIN(task_begin_fn_ex, domain, clock, time, id, parent, function);
	if (is_recorded() || thread.itt_depth)
		itt_begin_timed(domain, clock,
				(struct open_begin){ time, id.d1, parent.d1, function },
				"(function)");
}

static SELDOM void itt_end_timed(const struct itt_clock *clock, uint64_t time)
{
	itt_put_timed(itt_depth_key(), clock, time);
	if (thread.itt_depth)
		thread.itt_depth--;
}

void itt_task_end_ex(itt_domain_t domain, struct itt_clock *clock, unsigned long long time)
{
	if (is_recorded() || thread.itt_depth)
		itt_end_timed(clock, time);
	ITT_CHAIN(task_end_ex, domain, clock, time);
}

void itt_task_begin_overlapped_ex(itt_domain_t domain, struct itt_clock *clock,
				  unsigned long long time, struct itt_id id, struct itt_id parent,
				  itt_string_t name)
{
	ITT_CHAIN(task_begin_overlapped_ex, domain, clock, time, id, parent, name);
	if (is_recorded()) {
		struct open_begin begin = { time, id.d1, parent.d1, NULL };

		itt_keep_begin(itt_open_key(itt_domain_find(domain), &id, 3), domain, clock, &begin,
			       itt_text(name));
	}
}

void itt_task_end_overlapped_ex(itt_domain_t domain, struct itt_clock *clock,
				unsigned long long time, struct itt_id id)
{
	if (is_recorded() || open_any())
		itt_put_timed(itt_open_key(itt_domain_find(domain), &id, 3), clock, time);
	ITT_CHAIN(task_end_overlapped_ex, domain, clock, time, id);
}

/* Its scope has no counterpart: it is on the track. */
void itt_marker_ex(itt_domain_t domain, struct itt_clock *clock, unsigned long long time,
		   struct itt_id id, itt_string_t name, int scope)
{
	uint64_t at = time;

	ITT_CHAIN(marker_ex, domain, clock, time, id, name, scope);
	if (is_recorded() && itt_clock_convert(clock, &at) && itt_times_are_possible(at, at)) {
		const prof_runtime_domain_t *const d = itt_domain_find(domain);
		const struct open_begin begin = { at, id.d1, 0, NULL };
		prof_arg_t args[3];
		const size_t n = itt_begin_args(args, &begin);

		prof_instant_at_args(d, itt_track_of(d), itt_text(name), at, args, n);
	}
}

/* Tracks and groups of them: both are tracks of proftrace.h, one within the other. */
static void *itt_track_put(void *theirs, const void *group, itt_string_t name)
{
	const prof_track_t *const around = group ? map_get(map_key_of(MAP_ITT_TRACK, group)) : NULL;
	const prof_track_t *const track = prof_track_get(itt_text(name), around);

	if (!theirs)
		theirs = (void *)(uintptr_t)track;
	map_put(map_key_of(MAP_ITT_TRACK, theirs), (void *)(uintptr_t)track);
	return theirs;
}

void *itt_track_group_create(itt_string_t name, int type)
{
	return itt_track_put(
		itt_chained.track_group_create ? itt_chained.track_group_create(name, type) : NULL,
		NULL, name);
}

void *itt_track_create(void *group, itt_string_t name, int type)
{
	return itt_track_put(itt_chained.track_create ? itt_chained.track_create(group, name, type)
						      : NULL,
			     group, name);
}

/* NULL: the thread's tasks are on the track of their domain again. */
void itt_set_track(void *track)
{
	static struct unsupported unknown = { "ITT tracks that were not created", 0, NULL, 0 };

	ITT_CHAIN(set_track, track);
	thread.itt_track = track ? map_get(map_key_of(MAP_ITT_TRACK, track)) : NULL;
	if (track && !thread.itt_track)
		unsupported_count(&unknown);
}
