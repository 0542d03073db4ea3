/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Restores context switches and wakings from thread states (events "T") of our own files; write_sched.c describes their
 * arguments. States of other files lack these and are left out.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/chrome/reader.h"

enum {
	MAX_CPUS = 1024,
	MAX_NAMES = 1 << 16,
};

struct task_name {
	uint32_t tid;
	const struct name *name;
	UT_hash_handle hh;
};

/* The task on a CPU, according to the last switch that was sent. */
struct cpu_task {
	bool known;
	uint32_t tid; /* 0: idle */
	uint64_t since_ns;
};

struct chrome_sched {
	struct task_name *names;
	struct cpu_task cpus[MAX_CPUS];
};

#define IDLE_PRIO 120

static struct chrome_sched *chrome_states_get(struct chrome *c)
{
	if (!c->sched)
		c->sched = calloc(1, sizeof(*c->sched));
	return c->sched;
}

void chrome_states_free(struct chrome *c)
{
	if (!c->sched)
		return;
	hash_clear(hh, c->sched->names, task);
	free(c->sched);
	c->sched = NULL;
}

/* --- arguments ----------------------------------------------------------------------------------- */

static uint32_t sched_arg_number(const struct chrome *c, const char *key)
{
	const struct arg *arg = chrome_find_arg(c, key);

	return arg && arg->type == ARG_INT && arg->i >= 0 && arg->i <= UINT32_MAX ? (uint32_t)arg->i
										  : 0;
}

static bool sched_arg_state(const struct chrome *c, const char *key, uint16_t *ret_state)
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
	const struct arg *arg = chrome_find_arg(c, key);

	for (size_t i = 0; arg && arg->type == ARG_STRING && i < sizeof(known) / sizeof(known[0]);
	     i++) {
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

	if (!c->own || !chrome_find_arg(c, "task"))
		return false;
	s = chrome_states_get(c);
	if (!s)
		return true;
	HASH_FIND(hh, s->names, &tid, sizeof(tid), task);
	if (!task && HASH_COUNT(s->names) < MAX_NAMES) {
		task = hash_add_new(hh, s->names, tid, tid);
		if (!task)
			return true;
	}
	if (task)
		task->name = name;
	return true;
}

/* --- states -------------------------------------------------------------------------------------- */

static int chrome_send_switch(struct chrome *c, const struct event *prev,
			      const struct event_sched *sched)
{
	struct event *e = &c->draft->event;
	const struct task_name *task;

	draft_event(c->draft, EVENT_SWITCH, prev->ts_ns, prev->pid, prev->tid);
	e->sched = *sched;
	e->sched.prio = prev->sched.prio;
	e->sched.state = prev->sched.state;
	HASH_FIND(hh, c->sched->names, &sched->tid, sizeof(sched->tid), task);
	e->name = task ? task->name : NULL;
	c->sched->cpus[sched->cpu] = (struct cpu_task){ true, sched->tid, prev->ts_ns };
	return draft_send_bare(c->draft);
}

/* Sends the switch from idle to the task of the state, unless it was sent already. */
static int chrome_send_idle_switch(struct chrome *c, uint32_t cpu, uint8_t prio, uint64_t ts_ns)
{
	const struct cpu_task *has = &c->sched->cpus[cpu];
	const struct event idle = { .ts_ns = ts_ns, .sched.prio = IDLE_PRIO };
	const struct event_sched sched = {
		.cpu = (uint16_t)cpu, .pid = c->fields.pid, .tid = c->fields.tid, .other_prio = prio
	};

	if (has->known && has->tid == sched.tid && has->since_ns == ts_ns)
		return 0;
	return chrome_send_switch(c, &idle, &sched);
}

static int chrome_read_running(struct chrome *c, uint64_t ts_ns)
{
	const struct chrome_fields *f = &c->fields;
	bool from_idle = chrome_find_arg(c, "prev"), has_next = chrome_find_arg(c, "next");
	struct event prev = { .ts_ns = ts_ns + (uint64_t)f->dur,
			      .pid = f->pid,
			      .tid = f->tid,
			      .sched.prio = (uint8_t)sched_arg_number(c, "prio") };
	struct event_sched sched = { .cpu = (uint16_t)sched_arg_number(c, "cpu"),
				     .tid = sched_arg_number(c, "next"),
				     .other_prio = IDLE_PRIO };
	bool ends = sched_arg_state(c, "end", &prev.sched.state);
	int error = 0;

	if (sched_arg_number(c, "cpu") >= MAX_CPUS || ends != has_next)
		return chrome_skip(c);
	if (sched.tid) {
		sched.pid = sched_arg_number(c, "next_pid");
		sched.other_prio = (uint8_t)sched_arg_number(c, "next_prio");
	}
	if (from_idle)
		error = chrome_send_idle_switch(c, sched.cpu, prev.sched.prio, ts_ns);
	return error || !ends ? error : chrome_send_switch(c, &prev, &sched);
}

/* A state without a CPU: it may begin with a waking and end with a switch from idle. */
static int chrome_read_waiting(struct chrome *c, uint64_t ts_ns)
{
	uint64_t end_ns = ts_ns + (uint64_t)c->fields.dur;
	bool gets_cpu = chrome_find_arg(c, "cpu"), is_woken = chrome_find_arg(c, "waker");
	uint32_t cpu = sched_arg_number(c, "cpu"), early = sched_arg_number(c, "early_ns");
	struct event_sched sched = {
		.tid = sched_arg_number(c, "waker"),
		.pid = sched_arg_number(c, "waker_pid"),
		.cpu = (uint16_t)sched_arg_number(c, "waker_cpu"),
		.target_cpu = (uint16_t)sched_arg_number(c, "target_cpu"),
		.prio = (uint8_t)sched_arg_number(c, "prio"),
		.interrupt = sched_arg_number(c, "interrupt"),
	};
	int error = 0;

	if (cpu >= MAX_CPUS)
		return chrome_skip(c);
	if (is_woken) {
		draft_event(c->draft, EVENT_WAKING, ts_ns > early ? ts_ns - early : 0,
			    c->fields.pid, c->fields.tid);
		c->draft->event.sched = sched;
		error = draft_send_bare(c->draft);
	}
	return error || !gets_cpu ? error : chrome_send_idle_switch(c, cpu, sched.prio, end_ns);
}

int chrome_state(struct chrome *c)
{
	const struct chrome_fields *f = &c->fields;
	uint64_t ts_ns = c->base_ns + (uint64_t)f->ts;

	if (!c->own || !f->has_dur || f->dur < 0 ||
	    (uint64_t)f->dur > INT64_MAX - (c->base_ns + (uint64_t)f->ts) || !f->name)
		return chrome_skip(c);
	if (!chrome_states_get(c))
		return -ENOMEM;
	return strcmp(f->name->text, "Running") ? chrome_read_waiting(c, ts_ns)
						: chrome_read_running(c, ts_ns);
}

int chrome_switches_lost(struct chrome *c)
{
	const struct arg *arg = chrome_find_arg(c, "cpu");
	uint32_t cpu = arg ? sched_arg_number(c, "cpu") : SCHED_EVERY_CPU;

	if (!chrome_states_get(c))
		return -ENOMEM;
	for (unsigned i = 0; i < MAX_CPUS; i++) {
		if (cpu == SCHED_EVERY_CPU || cpu == i)
			c->sched->cpus[i].known = false;
	}
	draft_event(c->draft, EVENT_SCHED_GAP, c->base_ns + (uint64_t)c->fields.ts, 0, 0);
	c->draft->event.sched.cpu = (uint16_t)cpu;
	return draft_send_bare(c->draft);
}
