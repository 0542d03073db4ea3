/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Context switches and wakings. A file has bundles of one CPU each, so events of one time on different CPUs are in
 * different bundles. The events of consecutive bundles are sorted by time and sent when another packet follows.
 *
 * A switch in a compact bundle has the next task only; the previous task is the next one of the switch before. A waking
 * in a compact bundle does not have the waker, which is the task on the CPU.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "formats/perfetto/reader.h"

typedef Perfetto__Protos__FtraceEventBundle Bundle;
typedef Perfetto__Protos__FtraceEventBundle__CompactSched Compact;
typedef Perfetto__Protos__FtraceEvent FtraceEvent;

enum {
	FLAGS_INTERRUPT = 0x18, /* TRACE_FLAG_HARDIRQ, TRACE_FLAG_SOFTIRQ of the kernel */
};

struct sched_process {
	uint32_t tid;
	uint32_t pid;
	UT_hash_handle hh;
};

struct sched_event {
	enum event_kind kind;
	uint64_t ts_ns;
	uint64_t order;
	uint32_t tid;	/* SWITCH: the previous task; WAKING: the woken task */
	uint32_t other; /* the next task; the waker */
	bool has_task;	/* the event has the previous task or the waker */
	const struct name *name;
	struct event_sched sched;
};

struct sched_cpu {
	bool known;
	uint32_t tid;
	uint8_t prio;
};

struct sched_read {
	struct sched_process *processes;
	struct sched_event *events;
	uint32_t n, capacity;
	struct sched_cpu cpus[MAX_SCHED_CPUS];
};

static struct sched_read *sched_read_get(struct perfetto *p)
{
	if (!p->sched)
		p->sched = calloc(1, sizeof(*p->sched));
	return p->sched;
}

void perfetto_bundles_free(struct perfetto *p)
{
	if (!p->sched)
		return;
	hash_clear(hh, p->sched->processes, process);
	free(p->sched->events);
	free(p->sched);
	p->sched = NULL;
}

/* --- processes of tasks -------------------------------------------------------------------------- */

void perfetto_task(struct perfetto *p, uint32_t tid, uint32_t pid)
{
	struct sched_read *s = sched_read_get(p);
	struct sched_process *process;

	if (!s || !tid)
		return;
	HASH_FIND(hh, s->processes, &tid, sizeof(tid), process);
	if (!process) {
		if (HASH_COUNT(s->processes) >= MAX_SCHED_TASKS)
			return;
		process = hash_add_new(hh, s->processes, tid, tid);
		if (!process)
			return;
	}
	process->pid = pid;
}

static uint32_t sched_task_process(const struct sched_read *s, uint32_t tid)
{
	const struct sched_process *process;

	HASH_FIND(hh, s->processes, &tid, sizeof(tid), process);
	return process ? process->pid : 0;
}

/* --- one event ----------------------------------------------------------------------------------- */

static int sched_send_switch(struct perfetto *p, struct sched_event *e, struct sched_cpu *cpu)
{
	struct event *event = &p->draft->event;

	if (!e->has_task && !cpu->known)
		p->left_out[LEFT_KERNEL]++;
	if (!e->has_task) {
		e->tid = cpu->tid;
		e->sched.prio = cpu->prio;
	}
	e->has_task |= cpu->known;
	*cpu = (struct sched_cpu){ true, e->other, e->sched.other_prio };
	if (!e->has_task)
		return 0;
	draft_event(p->draft, EVENT_SWITCH, e->ts_ns, sched_task_process(p->sched, e->tid), e->tid);
	event->sched = e->sched;
	event->sched.tid = e->other;
	event->sched.pid = sched_task_process(p->sched, e->other);
	event->name = e->name;
	return draft_send_bare(p->draft);
}

static int sched_send_waking(struct perfetto *p, struct sched_event *e, const struct sched_cpu *cpu)
{
	struct event *event = &p->draft->event;

	if (!e->has_task)
		e->other = cpu->known ? cpu->tid : 0;
	draft_event(p->draft, EVENT_WAKING, e->ts_ns, sched_task_process(p->sched, e->tid), e->tid);
	event->sched = e->sched;
	event->sched.tid = e->other;
	event->sched.pid = sched_task_process(p->sched, e->other);
	return draft_send_bare(p->draft);
}

static int sched_send_gap(struct perfetto *p, const struct sched_event *e)
{
	draft_event(p->draft, EVENT_SCHED_GAP, e->ts_ns, 0, 0);
	p->draft->event.sched.cpu = e->sched.cpu;
	return draft_send_bare(p->draft);
}

static int compare_sched_events(const void *left, const void *right)
{
	const struct sched_event *a = left, *b = right;

	if (a->ts_ns != b->ts_ns)
		return a->ts_ns < b->ts_ns ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

int perfetto_bundles_end(struct perfetto *p)
{
	struct sched_read *s = p->sched;
	size_t i, n = s->n;
	int error = 0;

	s->n = 0;
	p->bundles_held = false;
	if (n)
		qsort(s->events, n, sizeof(*s->events), compare_sched_events);
	for (i = 0; i < n && !error; i++) {
		struct sched_event *e = &s->events[i];
		struct sched_cpu *cpu = &s->cpus[e->sched.cpu];

		if (e->kind == EVENT_SWITCH)
			error = sched_send_switch(p, e, cpu);
		else if (e->kind == EVENT_WAKING)
			error = sched_send_waking(p, e, cpu);
		else
			error = sched_send_gap(p, e);
	}
	return error;
}

/* --- bundles ------------------------------------------------------------------------------------- */

static int sched_queue_event(struct perfetto *p, struct sched_event *e, uint64_t boottime)
{
	struct sched_read *s = p->sched;
	int error = 0;

	if (!perfetto_boottime(p, boottime, &e->ts_ns)) {
		p->left_out[LEFT_KERNEL]++;
		return 0;
	}
	if (s->n == MAX_SCHED_EVENTS)
		error = perfetto_bundles_end(p);
	if (!array_reserve(s->events, s->n, s->capacity, 1024))
		return -ENOMEM;
	e->order = s->n;
	s->events[s->n++] = *e;
	p->bundles_held = true;
	return error;
}

static uint8_t sched_clamp_prio(int32_t prio)
{
	return prio < 0 ? 0 : prio > UINT8_MAX ? UINT8_MAX : (uint8_t)prio;
}

static uint16_t sched_state_bits(int64_t state)
{
	return (uint16_t)(state & 0xffff);
}

/* NULL for an empty name. */
static const struct name *sched_comm_name(struct perfetto *p, const char *comm)
{
	return comm && *comm ? perfetto_name(p, comm) : NULL;
}

static int bundle_read_switch(struct perfetto *p, unsigned cpu, const FtraceEvent *event)
{
	const Perfetto__Protos__SchedSwitchFtraceEvent *s = event->sched_switch;
	struct sched_event e = {
		.kind = EVENT_SWITCH,
		.tid = (uint32_t)s->prev_pid,
		.other = (uint32_t)s->next_pid,
		.has_task = true,
		.name = sched_comm_name(p, s->next_comm),
		.sched = { .cpu = (uint16_t)cpu,
			   .state = sched_state_bits(s->prev_state),
			   .prio = sched_clamp_prio(s->prev_prio),
			   .other_prio = sched_clamp_prio(s->next_prio) },
	};

	return sched_queue_event(p, &e, event->timestamp);
}

static int bundle_read_waking(struct perfetto *p, unsigned cpu, const FtraceEvent *event)
{
	const Perfetto__Protos__SchedWakingFtraceEvent *s = event->sched_waking;
	struct sched_event e = {
		.kind = EVENT_WAKING,
		.tid = (uint32_t)s->pid,
		.other = event->pid,
		.has_task = event->has_pid,
		.sched = { .cpu = (uint16_t)cpu,
			   .target_cpu = (uint16_t)s->target_cpu,
			   .prio = sched_clamp_prio(s->prio),
			   .interrupt = event->common_flags & FLAGS_INTERRUPT },
	};

	return sched_queue_event(p, &e, event->timestamp);
}

static int bundle_read_compact_switches(struct perfetto *p, unsigned cpu, const Compact *c)
{
	uint64_t ts_ns = 0;
	int error = 0;

	for (size_t i = 0; i < c->n_switch_timestamp && !error; i++) {
		struct sched_event e = { .kind = EVENT_SWITCH, .sched.cpu = (uint16_t)cpu };

		if (i >= c->n_switch_next_pid || i >= c->n_switch_prev_state) {
			p->left_out[LEFT_KERNEL]++;
			continue;
		}
		ts_ns += c->switch_timestamp[i];
		e.other = (uint32_t)c->switch_next_pid[i];
		e.sched.state = sched_state_bits(c->switch_prev_state[i]);
		if (i < c->n_switch_next_prio)
			e.sched.other_prio = sched_clamp_prio(c->switch_next_prio[i]);
		if (i < c->n_switch_next_comm_index &&
		    c->switch_next_comm_index[i] < c->n_intern_table)
			e.name = sched_comm_name(p, c->intern_table[c->switch_next_comm_index[i]]);
		error = sched_queue_event(p, &e, ts_ns);
	}
	return error;
}

static int bundle_read_compact_wakings(struct perfetto *p, unsigned cpu, const Compact *c)
{
	uint64_t ts_ns = 0;
	int error = 0;

	for (size_t i = 0; i < c->n_waking_timestamp && !error; i++) {
		struct sched_event e = { .kind = EVENT_WAKING, .sched.cpu = (uint16_t)cpu };

		if (i >= c->n_waking_pid) {
			p->left_out[LEFT_KERNEL]++;
			continue;
		}
		ts_ns += c->waking_timestamp[i];
		e.tid = (uint32_t)c->waking_pid[i];
		if (i < c->n_waking_target_cpu)
			e.sched.target_cpu = (uint16_t)c->waking_target_cpu[i];
		if (i < c->n_waking_prio)
			e.sched.prio = sched_clamp_prio(c->waking_prio[i]);
		if (i < c->n_waking_common_flags)
			e.sched.interrupt = c->waking_common_flags[i] & FLAGS_INTERRUPT;
		error = sched_queue_event(p, &e, ts_ns);
	}
	return error;
}

static uint64_t bundle_first_time(const Bundle *bundle)
{
	if (bundle->n_event)
		return bundle->event[0]->timestamp;
	if (bundle->compact_sched && bundle->compact_sched->n_switch_timestamp)
		return bundle->compact_sched->switch_timestamp[0];
	return 0;
}

int perfetto_bundle(struct perfetto *p, const Bundle *bundle)
{
	unsigned cpu = bundle->cpu;
	struct sched_event gap = { .kind = EVENT_SCHED_GAP, .sched.cpu = (uint16_t)cpu };
	uint64_t first = bundle_first_time(bundle);
	int error = 0;

	if (!sched_read_get(p))
		return -ENOMEM;
	if (!bundle->has_cpu || cpu >= MAX_SCHED_CPUS) {
		p->left_out[LEFT_KERNEL]++;
		return 0;
	}
	if (bundle->lost_events && first)
		error = sched_queue_event(p, &gap, first);
	for (size_t i = 0; i < bundle->n_event && !error; i++) {
		const FtraceEvent *event = bundle->event[i];

		if (event->sched_switch)
			error = bundle_read_switch(p, cpu, event);
		else if (event->sched_waking)
			error = bundle_read_waking(p, cpu, event);
		else
			p->left_out[LEFT_KERNEL]++;
	}
	if (!error && bundle->compact_sched)
		error = bundle_read_compact_switches(p, cpu, bundle->compact_sched);
	if (!error && bundle->compact_sched)
		error = bundle_read_compact_wakings(p, cpu, bundle->compact_sched);
	return error;
}
