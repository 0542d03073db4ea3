/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who had which CPU, and who woke whom, as it is written is as it is read: a made-up machine with a few
 * CPUs, threads of ours and tasks of others goes through a timeline into both formats and is read back,
 * and so is what is converted from one to the other and back. PROFTRACE_SEED repeats one round.
 *
 * JSON tells of a waking where the thread's wait for a CPU ends, and only of our threads. Perfetto's
 * bundles tell of a gap where the next thing is known of its CPU, if there is one.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "round_trip_files.h"

#include "formats/sink.h"
#include "timeline/timeline.h"

#define ROUNDS 8
#define STEPS  3000
#define CPUS   4
#define TASKS  12
#define OURS   7
#define START  5000000123ull

/* --- lines ------------------------------------------------------------------------------------- */

struct lines {
	char *all[2 * STEPS + 16];
	size_t n;
};

static int by_text(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Of tasks that are not ours a file need not know the process. */
static bool is_ours(uint32_t tid)
{
	return tid >= 500 && tid < 500 + OURS;
}

static void keep(struct lines *l, const struct event *e)
{
	const struct event_sched *s = &e->sched;
	char line[256];

	if (e->kind == EVENT_SWITCH)
		snprintf(line, sizeof(line),
			 "%020" PRIu64
			 " cpu %u switch %u/%u prio %u state %x to %u/%u prio %u '%s'",
			 e->ts_ns, s->cpu, is_ours(e->tid) ? e->pid : 0, e->tid, s->prio, s->state,
			 is_ours(s->tid) ? s->pid : 0, s->tid, s->other_prio,
			 e->name && !is_ours(s->tid) ? e->name->text : "");
	else if (e->kind == EVENT_WAKING)
		snprintf(line, sizeof(line),
			 "%020" PRIu64 " cpu %u waking %u prio %u by %u for %u%s", e->ts_ns, s->cpu,
			 e->tid, s->prio, s->tid, s->target_cpu, s->interrupt ? " interrupt" : "");
	else
		snprintf(line, sizeof(line), "cpu %u gap", s->cpu);
	assert_true(l->n < sizeof(l->all) / sizeof(l->all[0]));
	l->all[l->n] = strdup(line);
	assert_non_null(l->all[l->n++]);
}

static void lines_free(struct lines *l)
{
	while (l->n)
		free(l->all[--l->n]);
}

static void lines_equal(struct lines *written, struct lines *read, const char *what)
{
	size_t i;

	qsort(written->all, written->n, sizeof(written->all[0]), by_text);
	qsort(read->all, read->n, sizeof(read->all[0]), by_text);
	for (i = 0; i < written->n && i < read->n; i++) {
		if (!strcmp(written->all[i], read->all[i]))
			continue;
		print_message("%s:\n  written %s\n  read    %s\n", what, written->all[i],
			      read->all[i]);
		break;
	}
	assert_true(i == written->n && i == read->n);
}

/* --- the machine ------------------------------------------------------------------------------- */

struct task {
	uint32_t pid, tid;
	uint8_t prio;
	const struct name *comm;
	int cpu; /* that it has; -1: none */
	bool blocked;
	bool woken; /* since it left its CPU */
	struct event waking;
};

struct machine {
	uint64_t seed, now;
	struct names *names;
	struct account account;
	struct timeline *timeline;
	struct task tasks[TASKS];
	struct task *cpus[CPUS]; /* NULL: idles */
	bool gap[CPUS];		 /* since its last switch, or before its first */
	struct lines perfetto, json;
};

static uint32_t pick(struct machine *m, uint32_t below)
{
	m->seed ^= m->seed << 13;
	m->seed ^= m->seed >> 7;
	m->seed ^= m->seed << 17;
	return (uint32_t)((m->seed * 0x2545f4914f6cdd1dull) >> 33) % below;
}

static void send(struct machine *m, const struct event *e)
{
	assert_int_equal(timeline_event(m->timeline, e), 0);
	if (e->kind == EVENT_SWITCH || e->kind == EVENT_WAKING || e->kind == EVENT_SCHED_GAP)
		keep(&m->perfetto, e);
	if (e->kind == EVENT_SWITCH || e->kind == EVENT_SCHED_GAP)
		keep(&m->json, e);
}

static void machine_init(struct machine *m, uint64_t seed)
{
	static const char *const comms[] = { "kworker/0:1", "cat \"x\"", "\xe2\x82\xac", "init",
					     "a b" };
	unsigned i;

	memset(m, 0, sizeof(*m));
	m->seed = seed * 0x9e3779b97f4a7c15ull | 1;
	m->now = START;
	memset(m->gap, true, sizeof(m->gap));
	m->names = names_new(0);
	m->timeline = timeline_new(m->names, &m->account, 0);
	timeline_states(m->timeline);
	for (i = 0; i < TASKS; i++) {
		struct task *task = &m->tasks[i];
		char name[16];

		snprintf(name, sizeof(name), "ours-%u", i);
		task->tid = i < OURS ? 500 + i : 9000 + 7 * i;
		task->pid = i < 4 ? 500 : i < OURS ? 504 : task->tid - i % 2;
		task->prio = (uint8_t)(i % 3 ? 120 : 60 + i);
		task->comm = i < OURS ? names_intern_string(m->names, name)
				      : names_intern_string(m->names, comms[i - OURS]);
		task->cpu = -1;
		task->blocked = pick(m, 2);
	}
}

static void machine_free(struct machine *m)
{
	timeline_free(m->timeline);
	names_free(m->names);
	lines_free(&m->perfetto);
	lines_free(&m->json);
}

/* Whose threads there are a recording tells first. */
static void introduce(struct machine *m)
{
	unsigned i;

	for (i = 0; i < OURS; i++)
		send(m, &(struct event){ .kind = EVENT_COMM,
					 .ts_ns = m->now,
					 .pid = m->tasks[i].pid,
					 .tid = m->tasks[i].tid,
					 .name = m->tasks[i].comm });
}

/* While it runs a thread can mark something. */
static void mark(struct machine *m)
{
	const struct task *task = m->cpus[pick(m, CPUS)];

	if (!task || !is_ours(task->tid))
		return;
	send(m, &(struct event){ .kind = EVENT_INSTANT,
				 .ts_ns = m->now,
				 .pid = task->pid,
				 .tid = task->tid,
				 .level = 0,
				 .name = task->comm });
}

static struct task *any_ready(struct machine *m)
{
	unsigned i, from = pick(m, TASKS);

	for (i = 0; i < TASKS; i++) {
		struct task *task = &m->tasks[(from + i) % TASKS];

		if (task->cpu < 0 && !task->blocked)
			return task;
	}
	return NULL;
}

static void change(struct machine *m)
{
	static const uint16_t states[] = { SCHED_STATE_SLEEPING,  SCHED_STATE_UNINTERRUPTIBLE,
					   SCHED_STATE_STOPPED,	  SCHED_STATE_PREEMPTED,
					   SCHED_STATE_PREEMPTED, SCHED_STATE_RUNNABLE };
	unsigned cpu = pick(m, CPUS);
	struct task *leaves = m->cpus[cpu], *comes = pick(m, 5) ? any_ready(m) : NULL;
	struct event e = { .kind = EVENT_SWITCH, .ts_ns = m->now };

	if (leaves == comes)
		return;
	e.sched.cpu = (uint16_t)cpu;
	e.sched.prio = e.sched.other_prio = 120;
	if (leaves) {
		e.pid = leaves->pid;
		e.tid = leaves->tid;
		e.sched.prio = leaves->prio;
		e.sched.state = states[pick(m, 6)];
		e.sched.traced = is_ours(leaves->tid);
		leaves->cpu = -1;
		leaves->blocked = e.sched.state && e.sched.state != SCHED_STATE_PREEMPTED;
		leaves->woken = false;
	}
	if (comes) {
		e.name = comes->comm;
		e.sched.pid = comes->pid;
		e.sched.tid = comes->tid;
		e.sched.other_prio = comes->prio;
		e.sched.other_traced = is_ours(comes->tid);
		comes->cpu = (int)cpu;
		if (comes->woken && is_ours(comes->tid))
			keep(&m->json, &comes->waking);
	}
	m->cpus[cpu] = comes;
	m->gap[cpu] = false;
	send(m, &e);
}

static void wake(struct machine *m)
{
	struct task *task = &m->tasks[pick(m, TASKS)], *waker;
	unsigned cpu = pick(m, CPUS);
	struct event e = {
		.kind = EVENT_WAKING, .ts_ns = m->now, .pid = task->pid, .tid = task->tid
	};

	if (!task->blocked)
		return;
	waker = m->cpus[cpu];
	e.sched.cpu = (uint16_t)cpu;
	e.sched.target_cpu = (uint16_t)pick(m, CPUS);
	e.sched.prio = task->prio;
	e.sched.traced = is_ours(task->tid);
	e.sched.interrupt = !waker || !pick(m, 4);
	if (waker) {
		e.sched.pid = waker->pid;
		e.sched.tid = waker->tid;
	}
	task->blocked = false;
	task->woken = true;
	task->waking = e;
	send(m, &e);
}

/* Who has the CPU now is not known until the next switch there. */
static void lose(struct machine *m)
{
	unsigned cpu = pick(m, CPUS);
	struct event e = { .kind = EVENT_SCHED_GAP, .ts_ns = m->now };

	if (m->gap[cpu])
		return;
	m->gap[cpu] = true;
	e.sched.cpu = (uint16_t)cpu;
	send(m, &e);
}

static void run(struct machine *m)
{
	unsigned i;

	introduce(m);
	for (i = 0; i < STEPS; i++) {
		m->now += 1 + pick(m, pick(m, 4) ? 3000 : 3000000);
		switch (pick(m, 100)) {
		case 0:
			if (i < STEPS - 200)
				lose(m);
			break;
		case 1 ... 9:
			mark(m);
			break;
		case 10 ... 40:
			wake(m);
			break;
		default:
			change(m);
		}
	}
}

/* --- files ------------------------------------------------------------------------------------- */

static void write_files(struct machine *m)
{
	const struct trace_info info = round_trip_info(START);
	struct consumer *consumers[2];
	struct sink *sinks[2];
	unsigned i;

	assert_int_equal(sink_open("t.pftrace", SINK_PLAIN, &sinks[0]), 0);
	assert_int_equal(sink_open("t.json", SINK_PLAIN, &sinks[1]), 0);
	consumers[0] = perfetto_writer_new(sinks[0], &info);
	consumers[1] = chrome_writer_new(sinks[1], &info);
	for (i = 0; i < 2; i++) {
		assert_non_null(consumers[i]);
		assert_int_equal(timeline_add_consumer(m->timeline, consumers[i]), 0);
	}
	run(m);
	timeline_finish(m->timeline);
	m->account.orderly = true;
	for (i = 0; i < 2; i++) {
		assert_int_equal(consumers[i]->error, 0);
		assert_int_equal(consumers[i]->ops->close(consumers[i], &m->account), 0);
		consumers[i]->ops->free(consumers[i]);
	}
	assert_int_equal(m->account.sched_lost, 0);
}

static int take(void *context, const struct event *e)
{
	if (e->kind == EVENT_SWITCH || e->kind == EVENT_WAKING || e->kind == EVENT_SCHED_GAP)
		keep(context, e);
	return 0;
}

static void must_hold(struct lines *written, const char *path)
{
	static struct lines read;
	struct names *names = names_new(0);
	struct account account = { 0 };
	struct trace_origin origin = { 0 };
	struct reader_sink sink = { take, &read, names, &account, &origin, NULL };
	struct reader_error why = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(trace_read(fd, &sink, &why), 0);
	assert_string_equal(why.message, "");
	assert_false(why.truncated);
	assert_int_equal(why.skipped, 0);
	close(fd);
	lines_equal(written, &read, path);
	lines_free(&read);
	names_free(names);
}

static void one_round(uint64_t seed)
{
	static const char *const files[] = { "t.pftrace", "t.json", "1.pftrace",
					     "2.json",	  "3.json", "4.pftrace" };
	static struct machine m;
	char directory[] = "/tmp/round-trip-XXXXXX";
	unsigned i;

	print_message("PROFTRACE_SEED=%" PRIu64 "\n", seed);
	assert_non_null(mkdtemp(directory));
	assert_int_equal(chdir(directory), 0);
	machine_init(&m, seed);
	write_files(&m);
	assert_true(m.json.n > STEPS / 3 && m.perfetto.n > m.json.n);
	must_hold(&m.perfetto, "t.pftrace");
	must_hold(&m.json, "t.json");
	convert("t.pftrace", "1.pftrace");
	must_hold(&m.perfetto, "1.pftrace");
	convert("1.pftrace", "2.json");
	must_hold(&m.json, "2.json");
	convert("t.json", "3.json");
	must_hold(&m.json, "3.json");
	convert("3.json", "4.pftrace");
	must_hold(&m.json, "4.pftrace");
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		unlink(files[i]);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(rmdir(directory), 0);
	machine_free(&m);
}

static void what_is_written_is_read(void **state)
{
	const char *one = getenv("PROFTRACE_SEED");
	uint64_t seed;
	uint32_t fresh;

	(void)state;
	if (one) {
		one_round(strtoull(one, NULL, 10));
		return;
	}
	for (seed = 1; seed <= ROUNDS; seed++)
		one_round(seed);
	assert_int_equal(getrandom(&fresh, sizeof(fresh), 0), sizeof(fresh));
	one_round(fresh);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(what_is_written_is_read) };

	return cmocka_run_group_tests_name("round trip of switches", tests, NULL, NULL);
}
