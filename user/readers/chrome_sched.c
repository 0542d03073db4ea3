/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * States of threads (events "T") become switches and wakings again, where proftrace has written them:
 * user/handlers/chrome_sched.c says what their arguments are. A state that somebody else wrote does not
 * say what was before it, and is left out.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "readers/chrome_internal.h"

enum {
	MAX_CPUS = 1024,
	MAX_NAMES = 1 << 16,
};

struct task_name {
	uint32_t tid;
	const struct name *name;
	UT_hash_handle hh;
};

/* Who had a CPU last. */
struct last {
	bool left; /* it did not keep it: nobody had it then, unless somebody else is told of */
	uint32_t tid, pid;
	uint8_t prio;
	uint16_t end;
	uint64_t end_ns;
};

struct chrome_sched {
	struct task_name *names;
	struct last cpus[MAX_CPUS];
};

static struct chrome_sched *sched_of(struct chrome *c)
{
	if (!c->sched)
		c->sched = calloc(1, sizeof(*c->sched));
	return c->sched;
}

void chrome_states_free(struct chrome *c)
{
	struct task_name *task, *next;

	if (!c->sched)
		return;
	HASH_ITER (hh, c->sched->names, task, next) {
		HASH_DEL(c->sched->names, task);
		free(task);
	}
	free(c->sched);
	c->sched = NULL;
}

/* --- arguments ----------------------------------------------------------------------------------- */

static const struct arg *find(const struct chrome *c, const char *key)
{
	unsigned i;

	for (i = 0; i < c->draft->n_args; i++) {
		const struct arg *arg = &c->draft->args[i];

		if (arg->key && !strcmp(arg->key->text, key))
			return arg;
	}
	return NULL;
}

static uint32_t number(const struct chrome *c, const char *key)
{
	const struct arg *arg = find(c, key);

	return arg && arg->type == ARG_INT && arg->i >= 0 && arg->i <= UINT32_MAX ? (uint32_t)arg->i
										  : 0;
}

static bool state(const struct chrome *c, const char *key, uint16_t *ret_state)
{
	static const struct {
		const char *text;
		uint16_t state;
	} known[] = {
		{ "R", SCHED_STATE_RUNNABLE },
		{ "S", SCHED_STATE_SLEEPING },
		{ "D", SCHED_STATE_UNINTERRUPTIBLE },
		{ "T", SCHED_STATE_STOPPED },
		{ "t", SCHED_STATE_TRACED },
		{ "X", SCHED_STATE_DEAD },
		{ "Z", SCHED_STATE_ZOMBIE },
		{ "P", SCHED_STATE_PARKED },
		{ "I", SCHED_STATE_IDLE },
		{ "R+", SCHED_STATE_PREEMPTED },
	};
	const struct arg *arg = find(c, key);
	size_t i;

	for (i = 0; arg && arg->type == ARG_STRING && i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(arg->s, known[i].text))
			continue;
		*ret_state = known[i].state;
		return true;
	}
	return false;
}

/* --- names of tasks ------------------------------------------------------------------------------ */

bool chrome_task_name(struct chrome *c, const struct name *name)
{
	struct chrome_sched *s;
	struct task_name *task;
	uint32_t tid = c->fields.tid;

	if (!c->own || !find(c, "task"))
		return false;
	s = sched_of(c);
	if (!s)
		return true;
	HASH_FIND(hh, s->names, &tid, sizeof(tid), task);
	if (!task && HASH_COUNT(s->names) < MAX_NAMES) {
		task = calloc(1, sizeof(*task));
		if (!task)
			return true;
		task->tid = tid;
		HASH_ADD(hh, s->names, tid, sizeof(task->tid), task);
		if (!hash_added(hh, task)) {
			free(task);
			return true;
		}
	}
	if (task)
		task->name = name;
	return true;
}

/* --- states -------------------------------------------------------------------------------------- */

static int send_switch(struct chrome *c, uint64_t ts_ns, const struct last *leaves,
		       const struct event_sched *sched)
{
	struct event *e = &c->draft->event;
	const struct task_name *task;

	draft_event(c->draft, EVENT_SWITCH, ts_ns, leaves->pid, leaves->tid);
	e->sched = *sched;
	e->sched.prio = leaves->prio;
	e->sched.state = leaves->end;
	HASH_FIND(hh, c->sched->names, &sched->tid, sizeof(sched->tid), task);
	e->name = task ? task->name : NULL;
	return draft_send_bare(c->draft);
}

/* Nobody comes after it. */
static int send_idle(struct chrome *c, unsigned cpu, const struct last *last)
{
	const struct event_sched sched = { .cpu = (uint16_t)cpu, .other_prio = 120 };

	return last->left && last->tid ? send_switch(c, last->end_ns, last, &sched) : 0;
}

static int running(struct chrome *c, uint64_t ts_ns)
{
	const struct chrome_fields *f = &c->fields;
	uint32_t cpu = number(c, "cpu");
	struct last *last = &c->sched->cpus[cpu < MAX_CPUS ? cpu : 0], before = { 0 }, now;
	int error = 0;
	struct event_sched sched = { .cpu = (uint16_t)cpu,
				     .pid = f->pid,
				     .tid = f->tid,
				     .other_prio = (uint8_t)number(c, "prio") };

	if (cpu >= MAX_CPUS)
		return chrome_skip(c);
	before.tid = number(c, "prev");
	now = (struct last){ .tid = f->tid,
			     .pid = f->pid,
			     .prio = sched.other_prio,
			     .end_ns = ts_ns + (uint64_t)f->dur };
	now.left = state(c, "end", &now.end);
	if (!state(c, "prev_state", &before.end)) {
		*last = now;
		return 0;
	}
	if (!before.tid)
		error = send_idle(c, cpu, last);
	else if (last->tid == before.tid) {
		before.pid = last->pid;
		before.prio = last->prio;
	}
	if (!before.tid)
		before.prio = 120;
	*last = now;
	return error ? error : send_switch(c, ts_ns, &before, &sched);
}

/* Only of interest where it began with a waking. */
static int waiting(struct chrome *c, uint64_t ts_ns)
{
	struct event *e = &c->draft->event;
	uint32_t early;

	if (!find(c, "waker"))
		return 0;
	early = number(c, "early_ns");
	draft_event(c->draft, EVENT_WAKING, ts_ns > early ? ts_ns - early : 0, c->fields.pid,
		    c->fields.tid);
	e->sched = (struct event_sched){
		.tid = number(c, "waker"),
		.pid = number(c, "waker_pid"),
		.cpu = (uint16_t)number(c, "waker_cpu"),
		.target_cpu = (uint16_t)number(c, "target_cpu"),
		.prio = (uint8_t)number(c, "prio"),
		.interrupt = number(c, "interrupt"),
	};
	return draft_send_bare(c->draft);
}

int chrome_state(struct chrome *c)
{
	const struct chrome_fields *f = &c->fields;
	uint64_t ts_ns = c->base_ns + (uint64_t)f->ts;

	if (!c->own || !f->has_dur || f->dur < 0 ||
	    (uint64_t)f->dur > INT64_MAX - (c->base_ns + (uint64_t)f->ts) || !f->name)
		return chrome_skip(c);
	if (!sched_of(c))
		return -ENOMEM;
	return strcmp(f->name->text, "Running") ? waiting(c, ts_ns) : running(c, ts_ns);
}

int chrome_switches_lost(struct chrome *c)
{
	const struct arg *arg = find(c, "cpu");
	uint32_t cpu = arg ? number(c, "cpu") : SCHED_EVERY_CPU;
	unsigned i;
	int error = 0;

	if (!sched_of(c))
		return -ENOMEM;
	for (i = 0; i < MAX_CPUS && !error; i++) {
		if (cpu != SCHED_EVERY_CPU && cpu != i)
			continue;
		error = send_idle(c, i, &c->sched->cpus[i]);
		c->sched->cpus[i] = (struct last){ 0 };
	}
	if (error)
		return error;
	draft_event(c->draft, EVENT_SCHED_GAP, c->base_ns + (uint64_t)c->fields.ts, 0, 0);
	c->draft->event.sched.cpu = (uint16_t)cpu;
	return draft_send_bare(c->draft);
}

int chrome_states_finish(struct chrome *c)
{
	unsigned i;
	int error = 0;

	for (i = 0; c->sched && i < MAX_CPUS && !error; i++)
		error = send_idle(c, i, &c->sched->cpus[i]);
	return error;
}
