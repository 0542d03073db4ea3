/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Follows a slice from its end to its begin. While its thread ran, or waited for a CPU, that is the
 * part of the path. While it was blocked, the part is what the thread that woke it did meanwhile, which
 * may itself have been blocked, and so on: the thread at the end of that chain is what the slice was
 * waiting for. When the walk has reached the time at which the thread blocked, it goes on with that
 * thread. So each nanosecond belongs to exactly one part.
 *
 * A request that began on another thread than it ended on has come there by an arrow (PROF_FLOW_OUT,
 * PROF_FLOW_IN). Between the two ends of the arrow it was in a queue: that part is what the receiving
 * thread did instead. Before the arrow began, the walk goes on with the sending thread.
 *
 * A thread is left for its waker only if both are recorded and the waker was on a CPU at that moment.
 * Timers and interrupts are nobody's doing. Everything else stays with the thread that was blocked.
 */
#include "reports/critical/critical_internal.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>

/* A thread that the walk is on. */
struct walk_frame {
	struct critical_thread *thread; /* NULL: not known */
	uint64_t floor_ns;		/* where it is left */
	struct critical_thread
		*sender; /* of the arrow at floor_ns, with which the request goes on */
	bool carries;	 /* the request, not something that it waits for */
};

struct walk {
	struct critical *c;
	struct critical_instance *in;
	uint64_t now_ns; /* everything from here to the end has its part */
	unsigned depth;
	bool failed;
	struct walk_frame frames[CRITICAL_DEPTH];
};

/* --- what is known of a moment ------------------------------------------------------------------- */

/* The last interval that begins before `ns`; NULL: none. */
static const struct critical_interval *interval_before(const struct critical_thread *thread,
						       uint64_t ns)
{
	size_t n = array_count_before(thread->n_intervals, i, thread->intervals[i].from_ns < ns);

	return n ? &thread->intervals[n - 1] : NULL;
}

/* The wait of a blocked interval: it begins and ends with it. */
static const struct critical_wait *wait_of(const struct critical_thread *thread,
					   const struct critical_interval *interval)
{
	const struct critical_wait *waits = thread->waits;
	size_t at = array_count_before(thread->n_waits, i, waits[i].to_ns < interval->to_ns);

	return at < thread->n_waits && waits[at].to_ns == interval->to_ns ? &waits[at] : NULL;
}

/* The number of places that begin before `ns`. */
static uint32_t places_before(const struct critical_thread *thread, uint64_t ns)
{
	return (uint32_t)array_count_before(thread->n_places, i, thread->places[i].ns < ns);
}

/* --- parts --------------------------------------------------------------------------------------- */

static void add_part(struct walk *w, const struct critical_thread *thread,
		     const struct critical_row_key *key, uint64_t from_ns)
{
	struct critical_instance *in = w->in;
	struct critical_part *part;

	if (!array_reserve(in->parts, in->n_parts, in->parts_capacity, 8)) {
		w->failed = true;
		return;
	}
	part = &in->parts[in->n_parts++];
	*part = (struct critical_part){ .from_ns = from_ns,
					.to_ns = w->now_ns,
					.row = critical_row_get(w->c, key),
					.pid = thread ? thread->pid : 0,
					.tid = thread ? thread->tid : 0 };
	w->now_ns = from_ns;
}

/* The thread did this from `from_ns` until now, in one slice or several. */
static void add_parts(struct walk *w, const struct critical_thread *thread,
		      struct critical_row_key key, uint64_t from_ns)
{
	uint32_t i = thread ? places_before(thread, w->now_ns) : 0;

	key.thread = thread ? thread->name : NULL;
	while (w->now_ns > from_ns && !w->failed) {
		const struct critical_place *place;

		/* Of several marks at the same time only the last one counts. */
		while (i && thread->places[i - 1].ns >= w->now_ns)
			i--;
		place = i ? &thread->places[i - 1] : NULL;
		key.slice = place ? place->slice : NULL;
		add_part(w, thread, &key, place && place->ns > from_ns ? place->ns : from_ns);
	}
}

static void add_blocked(struct walk *w, const struct critical_thread *thread,
			const struct critical_interval *interval, uint64_t from_ns)
{
	const struct critical_wait *wait = wait_of(thread, interval);

	add_parts(w, thread,
		  (struct critical_row_key){ .state = CRITICAL_BLOCKED,
					     .reason = wait ? wait->reason : WAIT_UNKNOWN,
					     .on = wait ? wait->on : NULL,
					     .woken_by = wait && wait->reason == WAIT_SLEEP
								 ? NULL
								 : interval->woken_by },
		  from_ns);
}

/* --- from thread to thread ----------------------------------------------------------------------- */

static struct walk_frame *push_frame(struct walk *w, struct critical_thread *thread,
				     uint64_t floor_ns)
{
	struct walk_frame *frame = &w->frames[w->depth++];

	*frame = (struct walk_frame){ .thread = thread, .floor_ns = floor_ns };
	return frame;
}

/* Where the arrow of that id began, at the latest before `ns`; NULL: that was not recorded. */
static const struct critical_flow *flow_begin(const struct critical *c, uint64_t id, uint64_t ns)
{
	const struct critical_flow *flows = c->flows_out;
	size_t n = array_count_before(c->n_flows_out, i,
				      flows[i].id < id || (flows[i].id == id && flows[i].ns <= ns));

	return n && flows[n - 1].id == id ? &flows[n - 1] : NULL;
}

/* When the outermost slice began in which the thread was just before now. */
static uint64_t outermost_begin(const struct critical_thread *thread, uint64_t now_ns)
{
	uint32_t i = places_before(thread, now_ns);

	if (!i || !thread->places[i - 1].depth)
		return now_ns;
	while (i > 1 && thread->places[i - 2].depth)
		i--;
	return thread->places[i - 1].ns;
}

/*
 * The arrow by which the request came to the thread: the last one with the request's own id, or else
 * the last one in the slice in which it is worked on. NULL: there is none from another thread.
 */
static const struct critical_flow *arrow_to(const struct walk *w,
					    const struct critical_thread *thread)
{
	const struct critical_flow *other = NULL, *begin;
	uint64_t slice_ns = outermost_begin(thread, w->now_ns);

	for (uint32_t i = thread->n_flows_in; i-- && thread->flows_in[i].ns >= w->in->from_ns;) {
		const struct critical_flow *in = &thread->flows_in[i];

		if (in->ns > w->now_ns || (other && in->id != w->in->id))
			continue;
		if (in->id != w->in->id && in->ns < slice_ns)
			continue;
		begin = flow_begin(w->c, in->id, in->ns);
		if (!begin || begin->thread == thread->uuid || begin->ns < w->in->from_ns)
			continue;
		if (in->id == w->in->id)
			return begin;
		other = begin;
	}
	return other;
}

/* The request is on this thread until now. */
static void push_request(struct walk *w, struct critical_thread *thread)
{
	const struct critical_flow *arrow = thread && w->in->is_async ? arrow_to(w, thread) : NULL;
	struct walk_frame *frame = push_frame(w, thread, w->in->from_ns);

	frame->carries = true;
	if (!arrow || arrow->ns >= w->now_ns)
		return;
	frame->floor_ns = arrow->ns;
	frame->sender = critical_thread_find(w->c, arrow->thread);
}

/* Goes on with the thread that woke this one, if it is known what that one did. */
static bool follow_waker(struct walk *w, const struct critical_interval *interval,
			 uint64_t floor_ns)
{
	const struct critical_interval *other;
	struct critical_thread *waker;

	if (interval->to_ns != w->now_ns || !interval->waker || w->depth == CRITICAL_DEPTH)
		return false;
	waker = critical_thread_find(w->c, interval->waker);
	other = waker ? interval_before(waker, w->now_ns) : NULL;
	if (!other || other->to_ns < w->now_ns || other->state != CRITICAL_RUNNING)
		return false;
	push_frame(w, waker, floor_ns);
	return true;
}

static bool is_sleep(const struct critical_thread *thread, const struct critical_interval *interval)
{
	const struct critical_wait *wait = wait_of(thread, interval);

	return wait && wait->reason == WAIT_SLEEP;
}

static void walk_step(struct walk *w)
{
	const struct walk_frame *frame = &w->frames[w->depth - 1];
	struct critical_thread *thread = frame->thread;
	const struct critical_interval *interval =
		thread ? interval_before(thread, w->now_ns) : NULL;
	struct critical_row_key unknown = { .state = CRITICAL_UNKNOWN };
	uint64_t floor_ns = frame->floor_ns, from_ns;

	if (!interval || interval->to_ns < w->now_ns) {
		from_ns = interval && interval->to_ns > floor_ns ? interval->to_ns : floor_ns;
		add_parts(w, thread, unknown, from_ns);
		return;
	}
	from_ns = interval->from_ns > floor_ns ? interval->from_ns : floor_ns;
	if (interval->state != CRITICAL_BLOCKED)
		add_parts(w, thread, (struct critical_row_key){ .state = interval->state },
			  from_ns);
	else if (is_sleep(thread, interval) || !follow_waker(w, interval, from_ns))
		add_blocked(w, thread, interval, from_ns);
}

int critical_walk(struct critical *c, struct critical_instance *in)
{
	struct walk w = { .c = c, .in = in, .now_ns = in->to_ns };
	struct critical_thread *thread = in->thread ? critical_thread_find(c, in->thread) : NULL;

	push_request(&w, thread);
	while (w.depth && !w.failed) {
		struct walk_frame *frame = &w.frames[w.depth - 1];

		if (w.now_ns > frame->floor_ns) {
			walk_step(&w);
			continue;
		}
		thread = frame->sender;
		w.depth--;
		if (frame->carries && thread && w.now_ns > in->from_ns)
			push_request(&w, thread);
	}
	return w.failed ? -ENOMEM : 0;
}
