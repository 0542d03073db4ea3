/* SPDX-License-Identifier: BSD-2-Clause */
/* From the scheduler's records (bpf/sched/sched_records.h) to events. */
#include "capture/internal.h"

#include <stddef.h>
#include <string.h>

#include "proftrace.skel.h"
#include "bpf/sched/sched_records.h"

/* The kernel's TASK_UNINTERRUPTIBLE | TASK_NOLOAD, and TASK_RTLOCK_WAIT. */
#define TASK_IDLES    0x402
#define TASK_WAITS_RT 0x1000
#define TASK_REPORTED 0x7f
#define TASK_WAITS    2
#define REPORTS_IDLE  0x80

/* The state as in the kernel's own tracepoint (include/trace/events/sched.h): one bit, or 0. */
static uint16_t reported_task_state(unsigned state)
{
	if ((state & TASK_IDLES) == TASK_IDLES)
		return REPORTS_IDLE;
	if (state & TASK_WAITS_RT)
		return TASK_WAITS;
	state &= TASK_REPORTED;
	return state ? (uint16_t)(1u << (31 - __builtin_clz(state))) : 0;
}

static const struct name *intern_sched_comm(struct capture *c, const char *comm, bool traced)
{
	size_t length = strnlen(comm, COMM_SIZE);

	return traced ? names_intern(c->options.names, comm, length, MAX_NAME)
		      : names_intern_foreign(c->options.names, comm, length);
}

static bool decode_switch(struct capture *c, const struct record_switch *r, size_t size,
			  struct event *e)
{
	if (size < offsetof(struct record_switch, comm) ||
	    (r->flags & SCHED_COMM && size < sizeof(*r)))
		return false;
	e->kind = EVENT_SWITCH;
	e->sched = (struct event_sched){
		.pid = r->next_tgid,
		.tid = r->next_tid,
		.cpu = r->cpu,
		.state = r->flags & SCHED_PREEMPTED ? SCHED_STATE_PREEMPTED
						    : reported_task_state(r->state),
		.prio = r->prio,
		.other_prio = r->next_prio,
		.traced = r->flags & SCHED_TRACED,
		.other_traced = r->flags & SCHED_NEXT_TRACED,
		.exiting = r->flags & SCHED_EXITING,
		.other_exiting = r->flags & SCHED_NEXT_EXITING,
	};
	if (r->flags & SCHED_COMM)
		e->name = intern_sched_comm(c, r->comm, r->flags & SCHED_NEXT_TRACED);
	else if (r->next_tid >= SCHED_HIDDEN_TID)
		e->name = names_intern_string(c->options.names, "(other user)");
	return true;
}

static bool decode_waking(const struct record_waking *r, size_t size, struct event *e)
{
	if (size < sizeof(*r))
		return false;
	e->kind = EVENT_WAKING;
	e->sched = (struct event_sched){
		.pid = r->waker_tgid,
		.tid = r->waker_tid,
		.cpu = r->cpu,
		.target_cpu = r->target_cpu,
		.prio = r->prio,
		.traced = r->flags & SCHED_TRACED,
		.other_traced = r->flags & SCHED_NEXT_TRACED,
		.exiting = r->flags & SCHED_EXITING,
		.interrupt = r->flags & SCHED_INTERRUPT,
		.on_queue = r->flags & SCHED_ON_QUEUE,
	};
	return true;
}

/* Reports all losses up to here. If more was lost since, what follows is still uncertain. */
static bool decode_gap(struct capture *c, const struct record *r, size_t size, struct event *e)
{
	const struct record_plain *plain = (const struct record_plain *)r;

	if (size < sizeof(*plain))
		return false;
	e->kind = EVENT_SCHED_GAP;
	e->sched.cpu = SCHED_EVERY_CPU;
	if ((uint32_t)plain->ops.a == c->sched.lost)
		c->sched.uncertain = false;
	e->id = c->sched.uncertain;
	return true;
}

bool decode_sched(struct capture *c, const struct record *r, size_t size, struct event *e)
{
	e->level = -1;
	switch (r->kind) {
	case RECORD_SWITCH:
		return decode_switch(c, (const struct record_switch *)r, size, e);
	case RECORD_WAKING:
		return decode_waking((const struct record_waking *)r, size, e);
	case RECORD_WAIT:
		return decode_wait(c, r, size, e);
	case RECORD_SYSCALL:
		return decode_syscall(c, r, size, e);
	default:
		return decode_gap(c, r, size, e);
	}
}

void sched_check_lost(struct capture *c, uint64_t ts_ns)
{
	uint32_t lost = __atomic_load_n(&c->shared->sched_lost, __ATOMIC_ACQUIRE);
	struct event e = { .kind = EVENT_SCHED_GAP,
			   .level = -1,
			   .ts_ns = ts_ns,
			   .id = 1,
			   .sched.cpu = SCHED_EVERY_CPU };

	if (lost == c->sched.lost)
		return;
	c->sched.lost = lost;
	if (c->sched.uncertain)
		return;
	c->sched.uncertain = true;
	capture_emit(c, &e);
}
