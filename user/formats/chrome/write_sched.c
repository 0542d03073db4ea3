// SPDX-License-Identifier: BSD-2-Clause
/*
 * Context switches and wakings as states of threads, which Perfetto's JSON loader reads: events "T" with a duration,
 * named after the state. "Running" with a CPU also appears on the track of that CPU. Arguments that viewers ignore
 * let our reader restore the switches and wakings:
 *
 *	Running		prio; end: the state after it; next, next_pid, next_prio: the next task of the CPU.
 *			Without `end`, the task was still running at the end of the file, or, if the duration is
 *			0, it is unknown how long it ran. prev 0: the CPU was idle before. The start of the state
 *			is exact with prev 0, and where the state before it names this task as next
 *	other states	prio; cpu: the idle CPU that the task got at the end of the state
 *	R		waker, waker_pid, waker_cpu, target_cpu, interrupt: what ended the sleep of the task;
 *			early_ns: how long before the state the waking was, when the task still had its CPU
 *
 * So a switch is in the line of the previous task, or in that of the next task if this is a recorded thread, and is
 * written when it happens: a reader gets the lines of a thread in their order. Only a switch from idle to a task that
 * is not recorded is written later, when that task leaves the CPU.
 *
 * Tasks that are not recorded are named by events "M" with an argument `task`, and so is the process of a main
 * thread. Where events were lost there is an instant `switches lost`, with a `cpu` or for all CPUs.
 */
#include "formats/chrome/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_CPUS = 1024,
	NAMED_TASKS = 4096, /* a power of two: a cache of the tasks that have been named, by tid */
};

/* The task on a CPU. */
struct chrome_cpu {
	bool known;
	bool from_idle;		/* the CPU was idle before */
	struct sched_task task; /* since_ns: when it got the CPU */
};

struct chrome_sched {
	uint64_t last_ns;
	struct chrome_cpu cpus[MAX_CPUS];
	struct {
		uint32_t tid;
		bool described; /* named as a recorded thread, which is more exact */
		const struct name *comm;
	} named[NAMED_TASKS];
};

void chrome_sched_free(struct chrome_sched *s)
{
	free(s);
}

const char *sched_state_text(enum sched_state state)
{
	static const char *const texts[] = {
		[SCHED_STATE_RUNNABLE] = "R",
		[SCHED_STATE_SLEEPING] = "S",
		[SCHED_STATE_UNINTERRUPTIBLE] = "D",
		[SCHED_STATE_STOPPED] = "T",
		[SCHED_STATE_TRACED] = "t",
		[SCHED_STATE_DEAD] = "X",
		[SCHED_STATE_ZOMBIE] = "Z",
		[SCHED_STATE_PARKED] = "P",
		[SCHED_STATE_IDLE] = "I",
		[SCHED_STATE_PREEMPTED] = "R+",
	};

	return (unsigned)state < sizeof(texts) / sizeof(texts[0]) && texts[state] ? texts[state]
										  : "S";
}

static char *chrome_open_state(struct json_writer *j, const char *state, uint32_t pid, uint32_t tid,
			       uint64_t since_ns, uint64_t until_ns)
{
	char *at = json_literal(json_start(j), ",\n{\"name\":\"");

	at = json_text(at, state, strlen(state), 16);
	at = json_literal(at, "\",\"ph\":\"T\",\"ts\":");
	at = json_time(j, at, since_ns);
	at = json_literal(at, ",\"dur\":");
	at = json_us(at, until_ns > since_ns ? until_ns - since_ns : 0);
	at = json_owner(j, at, pid ? pid : tid, tid);
	return json_open_args(j, at);
}

/* `next` is NULL if it is unknown which task had the CPU next. */
static int chrome_write_running(struct json_writer *j, unsigned cpu, const struct chrome_cpu *c,
				uint64_t until_ns, enum sched_state end,
				const struct sched_task *next)
{
	char *at = chrome_open_state(j, "Running", c->task.pid, c->task.tid, c->task.since_ns,
				     until_ns);

	at = json_uint_arg(j, at, "cpu", cpu);
	at = json_uint_arg(j, at, "prio", c->task.prio);
	if (c->from_idle)
		at = json_uint_arg(j, at, "prev", 0);
	if (next) {
		at = json_string_arg(j, at, "end", sched_state_text(end));
		at = json_uint_arg(j, at, "next", next->tid);
	}
	if (next && next->tid) {
		at = json_uint_arg(j, at, "next_pid", next->pid);
		at = json_uint_arg(j, at, "next_prio", next->prio);
	}
	return json_close_args(j, at);
}

static char *chrome_put_waker(struct json_writer *j, char *at, const struct sched_task *task,
			      const struct sched_waker *waker)
{
	at = json_uint_arg(j, at, "waker", waker->tid);
	at = json_uint_arg(j, at, "waker_pid", waker->pid);
	at = json_uint_arg(j, at, "waker_cpu", waker->cpu);
	at = json_uint_arg(j, at, "target_cpu", waker->target_cpu);
	at = json_uint_arg(j, at, "interrupt", waker->interrupt);
	if (waker->ts_ns < task->since_ns)
		at = json_uint_arg(j, at, "early_ns", task->since_ns - waker->ts_ns);
	return at;
}

/* The state of a recorded thread until now, without a CPU. `idle`: the idle CPU that it got now, or NULL. */
static int chrome_write_off_cpu(struct json_writer *j, const struct sched_task *task,
				const struct sched_waker *waker, uint64_t until_ns,
				const unsigned *idle)
{
	char *at;

	if (!task->thread || !task->since_ns || task->since_ns > until_ns)
		return 0;
	at = chrome_open_state(j, sched_state_text(task->state), task->pid, task->tid,
			       task->since_ns, until_ns);
	if (waker && task->state != SCHED_STATE_RUNNABLE)
		waker = NULL;
	if (waker || idle)
		at = json_uint_arg(j, at, "prio", task->prio);
	if (waker)
		at = chrome_put_waker(j, at, task, waker);
	if (idle)
		at = json_uint_arg(j, at, "cpu", *idle);
	return json_close_args(j, at);
}

static int chrome_write_name_event(struct json_writer *j, const struct sched_task *task,
				   const char *what)
{
	char *at = json_literal(json_start(j), ",\n{\"name\":\"");

	at = json_text(at, what, strlen(what), LIMIT_NAME);
	at = json_literal(at, "\",\"ph\":\"M\"");
	at = json_owner(j, at, task->pid ? task->pid : task->tid, task->tid);
	at = json_literal(at, ",\"args\":{\"name\":");
	at = json_name(j, at, task->comm, LIMIT_NAME);
	at = json_literal(at, ",\"task\":true}}");
	return json_done(j, at);
}

static int chrome_write_task_name(struct chrome_sched *s, struct json_writer *j,
				  const struct sched_task *task)
{
	unsigned i = task->tid & (NAMED_TASKS - 1);
	int error = 0;

	if (task->thread || !task->tid || !task->comm || !task->comm->length ||
	    (s->named[i].tid == task->tid &&
	     (s->named[i].comm == task->comm || s->named[i].described)))
		return 0;
	s->named[i].tid = task->tid;
	s->named[i].described = false;
	s->named[i].comm = task->comm;
	/* On the tracks of CPUs, viewers show the name of the process before that of the thread. */
	if (task->tid == task->pid)
		error = chrome_write_name_event(j, task, "process_name");
	return error ? error : chrome_write_name_event(j, task, "thread_name");
}

static struct chrome_sched *chrome_sched_get(struct chrome_sched **s)
{
	if (!*s)
		*s = calloc(1, sizeof(**s));
	return *s;
}

int chrome_sched_describe(struct chrome_sched **ret, uint32_t tid)
{
	struct chrome_sched *s = chrome_sched_get(ret);

	if (!s)
		return -ENOMEM;
	s->named[tid & (NAMED_TASKS - 1)].tid = tid;
	s->named[tid & (NAMED_TASKS - 1)].described = true;
	return 0;
}

static int chrome_write_switch(struct chrome_sched *s, struct json_writer *j,
			       const struct fact *fact)
{
	const struct sched *sched = fact->sched;
	struct chrome_cpu *c = sched->cpu < MAX_CPUS ? &s->cpus[sched->cpu] : NULL;
	bool idle = !sched->task.tid;
	int error;

	if (!c)
		return 0;
	if (!c->known) {
		c->task = sched->task;
		c->task.since_ns = fact->ts_ns;
		c->from_idle = false;
	}
	error = chrome_write_task_name(s, j, &sched->other);
	if (!error)
		error = chrome_write_off_cpu(j, &sched->other, sched->waker, fact->ts_ns,
					     idle ? &sched->cpu : NULL);
	if (!error && !idle && c->task.tid == sched->task.tid)
		error = chrome_write_running(j, sched->cpu, c, fact->ts_ns, sched->task.state,
					     &sched->other);
	c->known = true;
	c->from_idle = idle;
	c->task = sched->other;
	c->task.since_ns = fact->ts_ns;
	return error;
}

static int chrome_write_sched_gap(struct chrome_sched *s, struct json_writer *j,
				  const struct fact *fact)
{
	int error = 0;
	char *at;

	for (unsigned i = 0; i < MAX_CPUS && !error; i++) {
		struct chrome_cpu *c = &s->cpus[i];

		if (!c->known || (fact->sched && fact->sched->cpu != i))
			continue;
		if (c->task.tid)
			error = chrome_write_running(j, i, c, c->task.since_ns, 0, NULL);
		c->known = false;
	}
	if (error)
		return error;
	at = json_literal(json_start(j),
			  ",\n{\"name\":\"switches lost\",\"recorder\":true,\"ph\":\"i\",\"ts\":");
	at = json_time(j, at, fact->ts_ns);
	at = json_literal(at, ",\"pid\":0,\"s\":\"g\"");
	at = json_open_args(j, at);
	if (fact->sched)
		at = json_uint_arg(j, at, "cpu", fact->sched->cpu);
	return json_close_args(j, at);
}

int chrome_sched_write(struct chrome_sched **ret, struct json_writer *j, const struct fact *fact)
{
	struct chrome_sched *s = chrome_sched_get(ret);

	if (!s)
		return -ENOMEM;
	if (fact->ts_ns > s->last_ns)
		s->last_ns = fact->ts_ns;
	if (fact->kind == FACT_SWITCH)
		return chrome_write_switch(s, j, fact);
	if (fact->kind == FACT_SCHED_GAP)
		return chrome_write_sched_gap(s, j, fact);
	/* A waking: the state that begins here is written when the task gets a CPU. */
	return chrome_write_off_cpu(j, &fact->sched->task, NULL, fact->ts_ns, NULL);
}

int chrome_sched_finish(struct chrome_sched *s, struct json_writer *j)
{
	int error = 0;

	for (unsigned i = 0; s && i < MAX_CPUS && !error; i++) {
		if (s->cpus[i].known && s->cpus[i].task.tid)
			error = chrome_write_running(j, i, &s->cpus[i], s->last_ns, 0, NULL);
	}
	return error;
}
