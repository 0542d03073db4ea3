// SPDX-License-Identifier: BSD-2-Clause
/*
 * States of threads, as Perfetto's own reader of JSON takes them: events "T", complete with a duration,
 * named after the state. "Running" with a CPU also fills that CPU's track. Beside what viewers know, the
 * arguments tell what a reader of ours needs to make switches and wakings of them again:
 *
 *	Running		prio; end: what became of it; next, next_pid, next_prio: who had the CPU then.
 *			Without `end` it ran on when the file ended, or it is not known how long, if its
 *			duration is 0. prev 0: nobody had the CPU before; then, and where the one before
 *			said that this one was next, it is known since when it ran
 *	the others	prio; cpu: that it got when this ended, and that nobody had
 *	R		waker, waker_pid, waker_cpu, target_cpu, interrupt: who ended its sleep, if anybody;
 *			early_ns: so long before, when it had its CPU still
 *
 * So a switch is told when it happens, by the line of whoever leaves, or by that of a thread of ours
 * which comes: a reader has those of a thread in their order. (Not that of a task which is none of ours
 * to a CPU that nobody had: it is told when that one leaves.)
 *
 * Tasks that are none of ours have a name by an event "M" with an argument `task`, and so has the process
 * of one that is a main thread. Where something was lost there is an instant `switches lost`, of a `cpu`
 * or of all.
 */
#include <stdlib.h>

#include "handlers/chrome_sched.h"

enum {
	MAX_CPUS = 1024,
	NAMED = 4096, /* a power of two: whose names were told, by number */
};

/* Who has a CPU. */
struct chrome_cpu {
	bool known;
	bool from_idle;		/* nobody had it before */
	struct sched_task task; /* since_ns: when it came */
};

struct chrome_sched {
	uint64_t last_ns;
	struct chrome_cpu cpus[MAX_CPUS];
	struct {
		uint32_t tid;
		bool described; /* as one that is recorded: what a task is called says less */
		const struct name *comm;
	} named[NAMED];
};

void chrome_sched_free(struct chrome_sched *s)
{
	free(s);
}

const char *sched_state_text(enum sched_state state)
{
	switch (state) {
	case SCHED_STATE_RUNNABLE:
		return "R";
	case SCHED_STATE_SLEEPING:
		return "S";
	case SCHED_STATE_UNINTERRUPTIBLE:
		return "D";
	case SCHED_STATE_STOPPED:
		return "T";
	case SCHED_STATE_TRACED:
		return "t";
	case SCHED_STATE_DEAD:
		return "X";
	case SCHED_STATE_ZOMBIE:
		return "Z";
	case SCHED_STATE_PARKED:
		return "P";
	case SCHED_STATE_IDLE:
		return "I";
	case SCHED_STATE_PREEMPTED:
		return "R+";
	}
	return "S";
}

static char *open_state(struct json_writer *j, const char *state, uint32_t pid, uint32_t tid,
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

static int close_state(struct json_writer *j, char *at)
{
	return json_done(j, json_literal(at, "}}"));
}

/* `next`: NULL if it is not known what became of it. */
static int write_running(struct json_writer *j, unsigned cpu, const struct chrome_cpu *c,
			 uint64_t until_ns, enum sched_state end, const struct sched_task *next)
{
	char *at = open_state(j, "Running", c->task.pid, c->task.tid, c->task.since_ns, until_ns);

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
	return close_state(j, at);
}

static char *put_waker(struct json_writer *j, char *at, const struct sched_task *task,
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

/* What a thread of ours did until now, without a CPU. `idle`: one that nobody had, and it has now; or NULL. */
static int write_off(struct json_writer *j, const struct sched_task *task,
		     const struct sched_waker *waker, uint64_t until_ns, const unsigned *idle)
{
	char *at;

	if (!task->thread || !task->since_ns || task->since_ns > until_ns)
		return 0;
	at = open_state(j, sched_state_text(task->state), task->pid, task->tid, task->since_ns,
			until_ns);
	if (waker && task->state != SCHED_STATE_RUNNABLE)
		waker = NULL;
	if (waker || idle)
		at = json_uint_arg(j, at, "prio", task->prio);
	if (waker)
		at = put_waker(j, at, task, waker);
	if (idle)
		at = json_uint_arg(j, at, "cpu", *idle);
	return close_state(j, at);
}

static int put_name(struct json_writer *j, const struct sched_task *task, const char *what)
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

static int write_name(struct chrome_sched *s, struct json_writer *j, const struct sched_task *task)
{
	unsigned i = task->tid & (NAMED - 1);
	int error = 0;

	if (task->thread || !task->tid || !task->comm || !task->comm->length ||
	    (s->named[i].tid == task->tid &&
	     (s->named[i].comm == task->comm || s->named[i].described)))
		return 0;
	s->named[i].tid = task->tid;
	s->named[i].described = false;
	s->named[i].comm = task->comm;
	/* Viewers call what has a CPU by the name of its process first. */
	if (task->tid == task->pid)
		error = put_name(j, task, "process_name");
	return error ? error : put_name(j, task, "thread_name");
}

static struct chrome_sched *sched_of(struct chrome_sched **s)
{
	if (!*s)
		*s = calloc(1, sizeof(**s));
	return *s;
}

int chrome_sched_describe(struct chrome_sched **ret, uint32_t tid)
{
	struct chrome_sched *s = sched_of(ret);

	if (!s)
		return -ENOMEM;
	s->named[tid & (NAMED - 1)].tid = tid;
	s->named[tid & (NAMED - 1)].described = true;
	return 0;
}

static int write_switch(struct chrome_sched *s, struct json_writer *j, const struct fact *fact)
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
	error = write_name(s, j, &sched->other);
	if (!error)
		error = write_off(j, &sched->other, sched->waker, fact->ts_ns,
				  idle ? &sched->cpu : NULL);
	if (!error && !idle && c->task.tid == sched->task.tid)
		error = write_running(j, sched->cpu, c, fact->ts_ns, sched->task.state,
				      &sched->other);
	c->known = true;
	c->from_idle = idle;
	c->task = sched->other;
	c->task.since_ns = fact->ts_ns;
	return error;
}

static int write_gap(struct chrome_sched *s, struct json_writer *j, const struct fact *fact)
{
	unsigned i;
	int error = 0;
	char *at;

	for (i = 0; i < MAX_CPUS && !error; i++) {
		struct chrome_cpu *c = &s->cpus[i];

		if (!c->known || (fact->sched && fact->sched->cpu != i))
			continue;
		if (c->task.tid)
			error = write_running(j, i, c, c->task.since_ns, 0, NULL);
		c->known = false;
	}
	if (error)
		return error;
	at = json_literal(json_start(j), ",\n{\"name\":\"switches lost\",\"ph\":\"i\",\"ts\":");
	at = json_time(j, at, fact->ts_ns);
	at = json_literal(at, ",\"pid\":0,\"s\":\"g\"");
	at = json_open_args(j, at);
	if (fact->sched)
		at = json_uint_arg(j, at, "cpu", fact->sched->cpu);
	return close_state(j, at);
}

int chrome_sched_write(struct chrome_sched **ret, struct json_writer *j, const struct fact *fact)
{
	struct chrome_sched *s = sched_of(ret);

	if (!s)
		return -ENOMEM;
	if (fact->ts_ns > s->last_ns)
		s->last_ns = fact->ts_ns;
	if (fact->kind == FACT_SWITCH)
		return write_switch(s, j, fact);
	if (fact->kind == FACT_SCHED_GAP)
		return write_gap(s, j, fact);
	/* What it waits for from here on is told when it gets its CPU. */
	return write_off(j, &fact->sched->task, NULL, fact->ts_ns, NULL);
}

int chrome_sched_finish(struct chrome_sched *s, struct json_writer *j)
{
	unsigned i;
	int error = 0;

	for (i = 0; s && i < MAX_CPUS && !error; i++) {
		if (s->cpus[i].known && s->cpus[i].task.tid)
			error = write_running(j, i, &s->cpus[i], s->last_ns, 0, NULL);
	}
	return error;
}
