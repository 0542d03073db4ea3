/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where threads were: samples of their call stacks (--sample), and the stacks at which threads
 * blocked (--offcpu).
 */
#include "timeline/state.h"

/*
 * Lists the slices that were open at the time of the sample. A sample may come in the middle of a
 * BEGIN, whose slice is then open already and begins a little later.
 */
static unsigned list_open_slices(struct timeline *t, const struct thread_state *thread,
				 uint64_t ts_ns)
{
	unsigned i;

	for (i = 0; i < thread->n_slices && i < LIMIT_DEPTH; i++) {
		if (thread->slices[i].begin_ns > ts_ns)
			break;
		t->open_names[i] = thread->slices[i].name;
	}
	return i;
}

void emit_sample(struct timeline *t, const struct event *event)
{
	const struct thread_state *thread =
		thread_state_get(t, event->pid, event->tid, event->ts_ns, NULL);
	struct sample sample = {
		.cpu = event->sample.cpu,
		.mode = (enum sample_mode)event->sample.mode,
		.period_ns = event->sample.period_ns,
		.slices = t->open_names,
	};
	struct fact fact = {
		.kind = FACT_SAMPLE,
		.ts_ns = event->ts_ns,
		.callstack = event->callstack,
		.sample = &sample,
	};

	if (!thread) {
		t->account->stacks_lost++;
		return;
	}
	fact.thread = &thread->pub;
	fact.process = thread->pub.process;
	sample.n_slices = list_open_slices(t, thread, event->ts_ns);
	account_callstack(t->account, event);
	emit_fact(t, &fact);
}

/*
 * Becomes a slice "blocked" inside the slice that is open. When none is open, blocking delays
 * nothing that is measured, and it is ignored.
 */
void emit_blocked(struct timeline *t, const struct event *event)
{
	struct thread_state *thread =
		thread_state_get(t, event->pid, event->tid, event->ts_ns, NULL);
	struct event e = {
		.kind = EVENT_BEGIN,
		.ts_ns = event->ts_ns > event->size ? event->ts_ns - event->size : 0,
		.pid = event->pid,
		.tid = event->tid,
		.level = -1,
		.category = t->offcpu,
		.callstack = event->callstack,
	};
	struct mark m = { .event = &e, .thread = thread, .name = t->blocked };

	if (!thread || !thread->n_slices)
		return;
	m.process = thread->process;
	m.ts_ns = e.ts_ns < thread->last_ns ? thread->last_ns : e.ts_ns;
	if (m.ts_ns >= event->ts_ns || thread->n_slices >= t->limits.depth)
		return;
	if (slice_begin(t, &m) != MARK_WRITTEN)
		return;
	account_callstack(t->account, event);
	e.kind = EVENT_END;
	e.callstack = NULL;
	m.ts_ns = thread->last_ns = e.ts_ns = event->ts_ns;
	slice_end(t, &m);
}
