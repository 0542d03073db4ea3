/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Slices of threads: which END closes which BEGIN.
 *
 * The kernel numbers the levels of nesting, so that lost marks can be told: a mark at a level says
 * how many slices are open around it, and any of ours at that level or above must have ended without
 * our hearing of it. Files have no levels (-1): there an END closes what was opened last.
 */
#include "timeline/state.h"
#include "rare.h"

#include <stdlib.h>

static bool is_nested_in_itself(const struct thread_state *thread)
{
	const struct slice *top = &thread->slices[thread->n_slices - 1];
	const struct slice *s;

	for (s = top; s-- > thread->slices;) {
		if (s->name == top->name && s->category == top->category)
			return true;
	}
	return false;
}

/*
 * Ends the innermost slice. `fact` has the time, the reason, and the arguments of the END, if any;
 * `event` is NULL when it is not ended by its own END.
 */
static void close_top(struct timeline *t, struct thread_state *thread, const struct event *event,
		      struct fact *fact)
{
	const struct slice *slice = &thread->slices[thread->n_slices - 1];
	uint64_t duration = fact->ts_ns - slice->begin_ns;

	fact->kind = FACT_END;
	fact->process = thread->pub.process;
	fact->thread = &thread->pub;
	fact->name = slice->name;
	fact->category = slice->category;
	fact->begin_ns = slice->begin_ns;
	fact->self_ns = duration - slice->children_ns;
	fact->nested_in_itself = is_nested_in_itself(thread);
	if (rare(thread->counters))
		counters_end(t, thread, event, fact);
	if (rare(thread->sched || fact->n_args))
		sched_end(t, thread, fact);
	if (thread->n_slices > 1)
		thread->slices[thread->n_slices - 2].children_ns += duration;
	thread->n_slices--;
	emit(t, fact);
}

/* What is open of domains that are off, and has nothing open inside any more. */
static void close_off(struct timeline *t, struct thread_state *thread, uint64_t ts_ns)
{
	while (thread->n_slices && thread->slices[thread->n_slices - 1].is_off) {
		struct fact fact = { .ts_ns = ts_ns, .end_reason = END_UNFINISHED };

		close_top(t, thread, NULL, &fact);
		t->account->ended_off++;
	}
}

static void close_down_to(struct timeline *t, struct thread_state *thread, uint32_t n,
			  uint64_t ts_ns, enum end_reason reason, uint64_t *count)
{
	while (thread->n_slices > n) {
		struct fact fact = { .ts_ns = ts_ns, .end_reason = reason };

		close_top(t, thread, NULL, &fact);
		++*count;
	}
	close_off(t, thread, ts_ns);
}

/*
 * How many slices are certain to be open still below `level`. A slice from a file among those of the
 * kernel (two sources for one thread) has no level: it goes with the one around it.
 */
static uint32_t open_below(const struct thread_state *thread, int level)
{
	uint32_t i, n = thread->n_slices;

	for (i = n; i-- > 0;) {
		if (thread->slices[i].level >= level)
			n = i;
		else if (thread->slices[i].level >= 0)
			break;
	}
	return n;
}

void slices_close_stale(struct timeline *t, const struct mark *m)
{
	uint32_t n = open_below(m->thread, m->event->level);

	/* The one at an END's own level is not stale: it is what the END has come for. */
	if (m->event->kind == EVENT_END && n < m->thread->n_slices &&
	    m->thread->slices[n].level == m->event->level)
		n++;
	if (m->event->closes_inner)
		close_down_to(t, m->thread, n, m->ts_ns, END_UNFINISHED, &t->account->unfinished);
	else
		close_down_to(t, m->thread, n, m->ts_ns, END_LOST, &t->account->ends_lost);
}

static bool grow(struct thread_state *thread)
{
	uint32_t room = thread->room ? thread->room * 2 : 8;
	struct slice *grown;

	if (!rare(thread->n_slices >= thread->room))
		return true;
	grown = realloc(thread->slices, room * sizeof(*grown));
	if (!grown)
		return false;
	thread->slices = grown;
	thread->room = room;
	return true;
}

const struct name *slice_innermost(const struct thread_state *thread, enum event_object object)
{
	uint32_t i;

	for (i = thread->n_slices; i-- > 0;) {
		if (thread->slices[i].object == object)
			return thread->slices[i].name;
	}
	return NULL;
}

/* The program forgot to finish it, or did not mean to start it: both slices stay, and this is told. */
static void tell_if_open_twice(struct timeline *t, const struct mark *m)
{
	const struct thread_state *thread = m->thread;
	const struct arg marker = {
		.key = t->marker, .type = ARG_STRING, .length = m->name->length, .s = m->name->text
	};
	struct fact fact;
	uint32_t i;

	for (i = 0; i < thread->n_slices - 1; i++) {
		if (thread->slices[i].object == OBJECT_MARKER &&
		    thread->slices[i].token == m->event->id)
			break;
	}
	if (i == thread->n_slices - 1)
		return;
	t->account->started_twice++;
	fact = fact_of(m, FACT_INSTANT);
	fact.scope = SCOPE_THREAD;
	fact.name = t->started_twice;
	fact.args = &marker;
	fact.n_args = 1;
	emit(t, &fact);
}

static void tell_begin(struct timeline *t, const struct mark *m)
{
	struct fact fact = fact_of(m, FACT_BEGIN);

	stamp_step(t, m, &fact);
	if (rare(m->thread->counters || m->event->n_counters))
		counters_begin(t, m, &fact);
	if (rare(m->thread->sched))
		sched_begin(t, m->thread, m->ts_ns);
	emit(t, &fact);
}

int slice_begin(struct timeline *t, const struct mark *m)
{
	struct thread_state *thread = m->thread;

	if (rare(thread->n_slices >= t->limits.depth || !grow(thread))) {
		/* The kernel's levels will find the END of this one without an open slice. */
		thread->skipped += m->event->level < 0;
		return LOST_TOO_DEEP;
	}
	thread->slices[thread->n_slices++] = (struct slice){
		.name = m->name,
		.category = m->event->category,
		.begin_ns = m->ts_ns,
		.level = m->event->level,
		.object = m->event->object,
		.token = m->event->id,
	};
	tell_begin(t, m);
	if (m->event->object == OBJECT_MARKER)
		tell_if_open_twice(t, m);
	return MARK_WRITTEN;
}

/* As a file tells it. */
void count_end(struct timeline *t, enum end_reason reason)
{
	t->account->ends_lost += reason == END_LOST;
	t->account->unfinished += reason == END_UNFINISHED;
}

static void close_by_end(struct timeline *t, const struct mark *m)
{
	struct fact fact = fact_of(m, FACT_END);

	fact.end_reason = m->event->end_reason;
	if (rare(fact.end_reason != END_NORMAL))
		count_end(t, fact.end_reason);
	close_top(t, m->thread, m->event, &fact);
}

int slice_end(struct timeline *t, const struct mark *m)
{
	struct thread_state *thread = m->thread;
	int level = m->event->level;

	if (rare(level < 0 && thread->skipped)) {
		thread->skipped--;
		return LOST_TOO_DEEP;
	}
	if (rare(!thread->n_slices ||
		 (level >= 0 && thread->slices[thread->n_slices - 1].level != level)))
		return LOST_UNMATCHED;
	close_by_end(t, m);
	if (thread->n_slices && rare(thread->slices[thread->n_slices - 1].is_off))
		close_off(t, thread, m->ts_ns);
	return MARK_WRITTEN;
}

void slices_unfinished(struct timeline *t, struct thread_state *thread, uint64_t ts_ns)
{
	if (ts_ns < thread->last_ns)
		ts_ns = thread->last_ns;
	thread->skipped = 0;
	close_down_to(t, thread, 0, ts_ns, END_UNFINISHED, &t->account->unfinished);
}

void slices_off(struct timeline *t, struct thread_state *thread, const struct name *domain,
		uint64_t ts_ns)
{
	uint32_t i;

	for (i = 0; i < thread->n_slices; i++)
		thread->slices[i].is_off |= is_of_domain(thread->slices[i].category, domain);
	if (!thread->n_slices || !thread->slices[thread->n_slices - 1].is_off)
		return;
	if (ts_ns < thread->last_ns)
		ts_ns = thread->last_ns;
	thread->last_ns = ts_ns;
	close_off(t, thread, ts_ns);
}
