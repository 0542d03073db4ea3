/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters of marks in batches. The kernel sends the values of a thread's counters whenever one changes by more than the
 * clock does (bpf/batch/counters.bpf.c). Until the next time, counts stay as they are, and the CPU time grows with the
 * clock. For a thread without a CPU they are not known: the mark was made by another one (a child of vfork() in its
 * parent's batch), or the kernel did not say that the thread got a CPU.
 *
 * The merge (merge.c) puts these records in their places between the marks. If one was lost, the thread's later marks
 * would get values that are too old. A thread cannot mark before the kernel has noted the loss, so the merge looks after
 * it has read the memory of programs and before it emits anything.
 */
#include "capture/batch/batch.h"

#include <string.h>

#include "proftrace.skel.h"

void batch_base_add(struct capture *c, const struct record *r, size_t size)
{
	struct batches *b = c->batches;
	struct batch_thread *t = batch_thread_get(b, r->tgid, r->tid);
	struct event e = { 0 };

	if (!t || r->ts <= b->base_lost_ns || !decode_counters(c, r, size, &e))
		return;
	memcpy(t->base, e.counters, e.n_counters * sizeof(*t->base));
	t->base_ns = r->ts;
	t->has_cpu = r->level;
	t->bases = b->bases;
}

void batch_bases_lost(struct batches *b, uint64_t lost_ns)
{
	b->bases++;
	if (lost_ns > b->base_lost_ns)
		b->base_lost_ns = lost_ns;
}

void batch_bases_begin(struct capture *c)
{
	if (c->shared->bases_wanted)
		return;
	/* Those from before are too old. */
	batch_bases_lost(c->batches, monotonic_now());
	__atomic_store_n(&c->shared->bases_wanted, 1, __ATOMIC_SEQ_CST);
	broker_send_bases(c->broker);
}

void batch_bases_end(struct capture *c)
{
	__atomic_store_n(&c->shared->bases_wanted, 0, __ATOMIC_SEQ_CST);
	batch_bases_lost(c->batches, monotonic_now());
}

void batch_bases_check(struct capture *c)
{
	uint64_t lost_ns = __atomic_load_n(&c->shared->base_lost_ns, __ATOMIC_ACQUIRE);

	if (lost_ns == c->batches->base_noted_ns)
		return;
	c->batches->base_noted_ns = lost_ns;
	batch_bases_lost(c->batches, lost_ns);
}

void batch_set_counters(struct capture *c, const struct batch_thread *t, struct event *e)
{
	const struct counters *counters = &c->options.counters;

	if (!counters->n || (e->kind != EVENT_BEGIN && e->kind != EVENT_END))
		return;
	e->n_counters = t->has_cpu && t->bases == c->batches->bases ? counters->n : 0;
	e->counters = c->counters;
	for (unsigned i = 0; i < e->n_counters; i++) {
		c->counters[i] = t->base[i];
		if (counters->list[i].source == COUNTER_TASK_CLOCK)
			c->counters[i] += e->ts_ns - t->base_ns;
	}
}
