/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters of marks in batches. The kernel sends the values of a thread's counters whenever one changes by more than the
 * clock does (bpf/batch/counters.bpf.c). Until the next time, counts stay as they are, and the CPU time grows with the
 * clock.
 *
 * Some kernels do not show all context switches, such as those from the first process of a sandbox to another. So a
 * thread may mark although it was not seen to get a CPU. Then the next record of the thread is not that it gets one, and
 * its values hold from the moment when the thread got the CPU: the CPU time grew with the clock until the record, and a
 * fault would have had a record of its own. The merge waits for that record. If the next one is that the thread gets a
 * CPU, the mark was made by another one (a child of vfork() in its parent's batch), and its counters are not known.
 *
 * The merge (merge.c) puts these records in their places between the marks. If one was lost, the thread's later marks
 * would get values that are too old. A thread cannot mark before the kernel has noted the loss, so the merge looks after
 * it has read the memory of programs and before it emits anything.
 */
#include "capture/batch/batch.h"
#include "base/rare.h"

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
	t->has_cpu = r->level != BASE_LEAVES_CPU;
	t->next_base_round = 0;
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

/* A thread that has a CPU has a record at the next clock tick, if the hypervisor runs it. */
#define BASE_WITHIN_NS 100000000ull

/* The next base of the thread, which is later than all that has been emitted. */
static const struct record *find_next_base(struct batches *b, struct batch_thread *t)
{
	size_t at, size;

	if (t->next_base_round == b->rounds)
		return t->next_base;
	t->next_base_round = b->rounds;
	t->next_base = NULL;
	for (at = b->queue_begin; at < b->queue_end && !t->next_base; at += 1 + (size + 7) / 8) {
		const struct record *r = (const struct record *)&b->queue[at + 1];

		size = QUEUE_SIZE(b->queue[at]);
		if (r->kind != RECORD_BASE || r->tid != t->tid || r->tgid != t->pid)
			continue;
		t->next_base = r;
		t->next_base_size = size;
	}
	return t->next_base;
}

static bool lacks_base(const struct capture *c, const struct batch_thread *t)
{
	return c->options.counters.n && !t->has_cpu && t->bases == c->batches->bases;
}

bool batch_awaits_base(struct capture *c, struct batch_thread *t, uint64_t ns)
{
	struct batches *b = c->batches;

	return rare(lacks_base(c, t)) && !b->ending && ns + BASE_WITHIN_NS > b->drained_ns &&
	       !find_next_base(b, t);
}

/* Of a thread that got its CPU unseen. False: it did not get one. */
static bool read_next_base(struct capture *c, struct batch_thread *t, const struct event *e)
{
	const struct counters *counters = &c->options.counters;
	const struct record *next = find_next_base(c->batches, t);
	struct event values = { 0 };

	if (!next || next->level == BASE_GETS_CPU ||
	    !decode_counters(c, next, t->next_base_size, &values))
		return false;
	for (unsigned i = 0; i < counters->n; i++) {
		switch (counters->list[i].source) {
		case COUNTER_TASK_CLOCK:
			c->counters[i] -= next->ts - e->ts_ns;
			/* The hypervisor has taken some of the time. */
			if ((int64_t)(c->counters[i] - t->base[i]) < 0)
				c->counters[i] = t->base[i];
			break;
		case COUNTER_CONTEXT_SWITCHES:
			c->counters[i] -= next->level == BASE_LEAVES_CPU;
			break;
		case COUNTER_CPU_MIGRATIONS:
			break;
		default:
			c->counters[i] = t->base[i];
		}
	}
	return true;
}

void batch_set_counters(struct capture *c, struct batch_thread *t, struct event *e)
{
	const struct counters *counters = &c->options.counters;

	if (!counters->n || (e->kind != EVENT_BEGIN && e->kind != EVENT_END))
		return;
	e->n_counters = 0;
	e->counters = c->counters;
	if (rare(lacks_base(c, t)))
		e->n_counters = read_next_base(c, t, e) ? counters->n : 0;
	if (!t->has_cpu || t->bases != c->batches->bases)
		return;
	e->n_counters = counters->n;
	for (unsigned i = 0; i < e->n_counters; i++) {
		c->counters[i] = t->base[i];
		if (counters->list[i].source == COUNTER_TASK_CLOCK)
			c->counters[i] += e->ts_ns - t->base_ns;
	}
}
