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
 * Emits a slice that ends with the event and began `size` ns before, inside of the slice that is open.
 * It has the name and the category of `begin`, which lives only here.
 */
static bool emit_past_slice(struct timeline *t, struct thread_state *thread,
			    const struct event *event, struct event begin)
{
	struct mark m = { .event = &begin, .thread = thread, .name = begin.name };

	begin.kind = EVENT_BEGIN;
	begin.ts_ns = event->ts_ns > event->size ? event->ts_ns - event->size : 0;
	begin.pid = event->pid;
	begin.tid = event->tid;
	m.process = thread->process;
	m.ts_ns = begin.ts_ns < thread->last_ns ? thread->last_ns : begin.ts_ns;
	if (m.ts_ns >= event->ts_ns || thread->n_slices >= t->limits.depth ||
	    slice_begin(t, &m) != MARK_WRITTEN)
		return false;
	begin.kind = EVENT_END;
	begin.callstack = NULL;
	begin.args = event->args;
	begin.n_args = event->n_args;
	m.ts_ns = thread->last_ns = begin.ts_ns = event->ts_ns;
	slice_end(t, &m);
	return true;
}

/*
 * Becomes a slice "blocked" inside the slice that is open. When none is open, blocking delays
 * nothing that is measured, and it is ignored.
 */
void emit_blocked(struct timeline *t, const struct event *event)
{
	struct thread_state *thread =
		thread_state_get(t, event->pid, event->tid, event->ts_ns, NULL);
	const struct event begin = { .name = t->blocked,
				     .category = t->offcpu,
				     .level = -1,
				     .callstack = event->callstack };

	if (thread && thread->n_slices && emit_past_slice(t, thread, event, begin))
		account_callstack(t->account, event);
}

/*
 * A call in which the thread was already when it was recorded first began at that time. The thread is
 * on a CPU at both ends, as at a mark, so that its states are known.
 */
void emit_syscall(struct timeline *t, const struct event *event)
{
	struct thread_state *thread =
		thread_state_get(t, event->pid, event->tid, event->ts_ns, NULL);
	const struct event begin = { .name = event->name ? event->name : t->unnamed,
				     .category = t->syscall,
				     .level = thread ? (int)thread->n_slices : -1 };

	if (thread && emit_past_slice(t, thread, event, begin))
		t->account->syscalls++;
	else
		t->account->syscalls_lost++;
}
