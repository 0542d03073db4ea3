/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Slices of threads: which END closes which BEGIN.
 *
 * The kernel numbers the levels of nesting, so that lost marks are noticed: a mark at level n says
 * that n slices are open around it, so any slice at level n or above that is still open here must
 * have ended, and its END was lost. Files have no levels (-1): there an END closes the slice that
 * was opened last.
 */
#include "timeline/state.h"
#include "base/array.h"
#include "base/rare.h"

#include <stdlib.h>

static bool slice_is_recursive(const struct thread_state *thread)
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
 * Ends the innermost slice. `fact` has the time, the reason, and the arguments of the END, if there
 * is one; `event` is NULL when there is none.
 */
static void end_innermost(struct timeline *t, struct thread_state *thread,
			  const struct event *event, struct fact *fact)
{
	const struct slice *slice = &thread->slices[thread->n_slices - 1];
	uint64_t duration = fact->ts_ns - slice->begin_ns;
	bool has_args = fact->n_args; /* a file has the states of the thread there, a delta never */

	fact->kind = FACT_END;
	fact->process = thread->pub.process;
	fact->thread = &thread->pub;
	fact->name = slice->name;
	fact->category = slice->category;
	fact->begin_ns = slice->begin_ns;
	fact->self_ns = duration - slice->children_ns;
	fact->nested_in_itself = slice_is_recursive(thread);
	if (rare(thread->counters))
		counters_end(t, thread, event, fact);
	if (rare(thread->sched || has_args))
		sched_end(t, thread, fact);
	if (thread->n_slices > 1)
		thread->slices[thread->n_slices - 2].children_ns += duration;
	thread->n_slices--;
	emit_fact(t, fact);
}

/* Ends the slices of switched-off domains that have no slice open inside any more. */
static void end_switched_off(struct timeline *t, struct thread_state *thread, uint64_t ts_ns)
{
	while (thread->n_slices && thread->slices[thread->n_slices - 1].is_off) {
		struct fact fact = { .ts_ns = ts_ns, .end_reason = END_UNFINISHED };

		end_innermost(t, thread, NULL, &fact);
		t->account->ended_off++;
	}
}

static void end_down_to(struct timeline *t, struct thread_state *thread, uint32_t n, uint64_t ts_ns,
			enum end_reason reason, uint64_t *count)
{
	while (thread->n_slices > n) {
		struct fact fact = { .ts_ns = ts_ns, .end_reason = reason };

		end_innermost(t, thread, NULL, &fact);
		++*count;
	}
	end_switched_off(t, thread, ts_ns);
}

/*
 * How many slices are certainly still open below `level`. A slice from a file among those of the
 * kernel (two sources for one thread) has no level: it ends with the one around it.
 */
static uint32_t count_open_below(const struct thread_state *thread, int level)
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
	uint32_t n = count_open_below(m->thread, m->event->level);

	/* The slice at an END's own level is not stale: it is the one that the END closes. */
	if (m->event->kind == EVENT_END && n < m->thread->n_slices &&
	    m->thread->slices[n].level == m->event->level)
		n++;
	if (m->event->closes_inner)
		end_down_to(t, m->thread, n, m->ts_ns, END_UNFINISHED, &t->account->unfinished);
	else
		end_down_to(t, m->thread, n, m->ts_ns, END_LOST, &t->account->ends_lost);
}

static bool grow_slices(struct thread_state *thread)
{
	return !rare(thread->n_slices >= thread->capacity) ||
	       array_grow(&thread->slices, &thread->capacity, 8, sizeof(*thread->slices));
}

const struct name *slice_innermost(const struct thread_state *thread, enum event_object object)
{
	for (uint32_t i = thread->n_slices; i-- > 0;) {
		if (thread->slices[i].object == object)
			return thread->slices[i].name;
	}
	return NULL;
}

/*
 * A marker was started again before it was finished, a mistake of the program: both slices stay,
 * and an instant reports it.
 */
static void report_started_twice(struct timeline *t, const struct mark *m)
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
	fact = fact_from_mark(m, FACT_INSTANT);
	fact.scope = SCOPE_THREAD;
	fact.name = t->started_twice;
	fact.args = &marker;
	fact.n_args = 1;
	emit_fact(t, &fact);
}

static void emit_begin(struct timeline *t, const struct mark *m)
{
	struct fact fact = fact_from_mark(m, FACT_BEGIN);

	stamp_step(t, m, &fact);
	if (rare(m->thread->counters || m->event->n_counters))
		counters_begin(t, m, &fact);
	if (rare(m->thread->sched))
		sched_begin(t, m->thread, m->ts_ns);
	emit_fact(t, &fact);
}

int slice_begin(struct timeline *t, const struct mark *m)
{
	struct thread_state *thread = m->thread;

	if (rare(thread->n_slices >= t->limits.depth || !grow_slices(thread))) {
		/*
		 * With levels the END of this slice will be recognised as one without an open
		 * slice; in files it has to be counted.
		 */
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
	emit_begin(t, m);
	if (m->event->object == OBJECT_MARKER)
		report_started_twice(t, m);
	return MARK_WRITTEN;
}

/* Counts the reason that a file gives. */
void account_end_reason(struct timeline *t, enum end_reason reason)
{
	t->account->ends_lost += reason == END_LOST;
	t->account->unfinished += reason == END_UNFINISHED;
}

static void end_by_mark(struct timeline *t, const struct mark *m)
{
	struct fact fact = fact_from_mark(m, FACT_END);

	fact.end_reason = m->event->end_reason;
	if (rare(fact.end_reason != END_NORMAL))
		account_end_reason(t, fact.end_reason);
	end_innermost(t, m->thread, m->event, &fact);
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
	end_by_mark(t, m);
	if (thread->n_slices && rare(thread->slices[thread->n_slices - 1].is_off))
		end_switched_off(t, thread, m->ts_ns);
	return MARK_WRITTEN;
}

void slices_unfinished(struct timeline *t, struct thread_state *thread, uint64_t ts_ns)
{
	if (ts_ns < thread->last_ns)
		ts_ns = thread->last_ns;
	thread->skipped = 0;
	end_down_to(t, thread, 0, ts_ns, END_UNFINISHED, &t->account->unfinished);
}

void slices_off(struct timeline *t, struct thread_state *thread, const struct name *domain,
		uint64_t ts_ns)
{
	for (uint32_t i = 0; i < thread->n_slices; i++)
		thread->slices[i].is_off |= is_of_domain(thread->slices[i].category, domain);
	if (!thread->n_slices || !thread->slices[thread->n_slices - 1].is_off)
		return;
	if (ts_ns < thread->last_ns)
		ts_ns = thread->last_ns;
	thread->last_ns = ts_ns;
	end_switched_off(t, thread, ts_ns);
}
