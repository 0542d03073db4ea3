/* SPDX-License-Identifier: BSD-2-Clause */
/* Switches in the Perfetto output: in the form that its loader takes, with names it can show. */
#include "output_fixture.h"

#include "perfetto_trace.pb-c.h"

typedef Perfetto__Protos__Trace Trace;
typedef Perfetto__Protos__FtraceEventBundle Bundle;
typedef Perfetto__Protos__ProcessTree ProcessTree;

enum {
	BOOT_OFFSET = 999876544, /* of the fixture's clocks */
};

/* `next` gets the CPU that the task `was` had. */
static void give_switch(struct world *w, unsigned cpu, uint64_t ts_ns, const struct sched_task *was,
			const struct sched_task *next)
{
	const struct sched sched = { .cpu = cpu, .task = *was, .other = *next };

	w->fact = (struct fact){ .kind = FACT_SWITCH, .ts_ns = ts_ns, .sched = &sched };
	give(w);
}

static const struct sched_task idle = { .prio = 120 };

static struct sched_task task(struct world *w, uint32_t pid, uint32_t tid, const char *comm)
{
	return (struct sched_task){
		.tid = tid, .pid = pid, .prio = 120, .comm = comm ? n(w, comm) : NULL
	};
}

/* What was written: the bundles, and the process trees, in their order. */
struct written {
	Trace *trace;
	const Bundle *bundles[8];
	const ProcessTree *trees[8];
	unsigned n_bundles, n_trees;
};

static struct written read_back(struct world *w)
{
	struct written r = { 0 };
	const Trace *t;

	finish(w);
	t = r.trace = perfetto__protos__trace__unpack(NULL, w->size, (uint8_t *)w->bytes);
	assert_non_null(t);
	for (size_t i = 0; i < t->n_packet; i++) {
		assert_true(r.n_trees < 8 && r.n_bundles < 8);
		if (t->packet[i]->process_tree)
			r.trees[r.n_trees++] = t->packet[i]->process_tree;
		if (!t->packet[i]->ftrace_events)
			continue;
		assert_false(t->packet[i]->has_timestamp);
		r.bundles[r.n_bundles++] = t->packet[i]->ftrace_events;
	}
	return r;
}

static void close_both(struct world *w, struct written *r)
{
	perfetto__protos__trace__free_unpacked(r->trace, NULL);
	world_free(w);
}

/*
 * The first of a CPU in full, since the loader drops it from a compact bundle; those after it compact.
 * Times are of the boot-time clock.
 */
static void test_bundles(void **state)
{
	struct sched_task one, two;
	struct written r;
	struct world w;

	(void)state;
	world_open(&w, SINK_PLAIN, true);
	one = task(&w, 70, 70, "one");
	two = task(&w, 80, 81, "two");
	give_switch(&w, 3, START_NS + 10, &idle, &one);
	one.state = SCHED_STATE_SLEEPING;
	give_switch(&w, 3, START_NS + 30, &one, &two);
	two.state = SCHED_STATE_PREEMPTED;
	give_switch(&w, 3, START_NS + 35, &two, &idle);
	r = read_back(&w);
	assert_int_equal(r.n_bundles, 2);
	assert_int_equal(r.bundles[0]->cpu, 3);
	assert_int_equal(r.bundles[0]->n_event, 1);
	assert_null(r.bundles[0]->compact_sched);
	assert_int_equal(r.bundles[0]->event[0]->timestamp, START_NS + 10 + BOOT_OFFSET);
	assert_int_equal(r.bundles[0]->event[0]->sched_switch->next_pid, 70);
	assert_string_equal(r.bundles[0]->event[0]->sched_switch->next_comm, "one");
	assert_int_equal(r.bundles[1]->cpu, 3);
	assert_int_equal(r.bundles[1]->n_event, 0);
	assert_int_equal(r.bundles[1]->compact_sched->n_switch_timestamp, 2);
	assert_int_equal(r.bundles[1]->compact_sched->switch_timestamp[0],
			 START_NS + 30 + BOOT_OFFSET);
	assert_int_equal(r.bundles[1]->compact_sched->switch_timestamp[1], 5);
	assert_int_equal(r.bundles[1]->compact_sched->switch_next_pid[0], 81);
	assert_int_equal(r.bundles[1]->compact_sched->switch_next_pid[1], 0);
	assert_int_equal(r.bundles[1]->compact_sched->switch_prev_state[0], 1);
	assert_int_equal(r.bundles[1]->compact_sched->switch_prev_state[1], 0x100);
	close_both(&w, &r);
}

/* What a loss may have hidden is not guessed: the next one is told in full, and where it was is said. */
static void test_gap(void **state)
{
	struct sched_task one, two;
	struct written r;
	struct world w;

	(void)state;
	world_open(&w, SINK_PLAIN, true);
	one = task(&w, 70, 70, "one");
	two = task(&w, 80, 80, "two");
	give_switch(&w, 0, START_NS + 10, &idle, &one);
	w.fact = (struct fact){ .kind = FACT_SCHED_GAP, .ts_ns = START_NS + 20 };
	give(&w);
	give_switch(&w, 0, START_NS + 30, &two, &idle);
	r = read_back(&w);
	assert_int_equal(r.n_bundles, 2);
	assert_false(r.bundles[0]->lost_events);
	assert_true(r.bundles[1]->lost_events);
	assert_int_equal(r.bundles[1]->n_event, 1);
	assert_int_equal(r.bundles[1]->event[0]->sched_switch->prev_pid, 80);
	close_both(&w, &r);
}

/* The name that a process with a track has is the one that counts, whatever was told of its tasks. */
static void test_described(void **state)
{
	struct sched_task main;
	struct written r;
	struct world w;

	(void)state;
	world_open(&w, SINK_PLAIN, true);
	main = task(&w, 42, 42, "python3");
	give_switch(&w, 0, START_NS + 10, &idle, &main);
	fact(&w, FACT_PROCESS, START_NS + 20, NULL);
	give(&w);
	main.comm = n(&w, "exits");
	give_switch(&w, 1, START_NS + 30, &idle, &main);
	r = read_back(&w);
	assert_int_equal(r.n_trees, 3);
	assert_int_equal(r.trees[0]->n_threads, 1);
	assert_string_equal(r.trees[1]->processes[0]->cmdline[0], "python3");
	assert_true(r.trees[1]->processes[0]->cmdline_is_comm);
	assert_string_equal(r.trees[2]->processes[0]->cmdline[0], "train");
	assert_string_equal(r.trees[2]->processes[0]->cmdline[1], "");
	assert_false(r.trees[2]->processes[0]->cmdline_is_comm);
	close_both(&w, &r);
}

/* Whose a task is is said once; what its process is called with its main thread, and when that changes. */
static void test_names(void **state)
{
	struct sched_task main, other, ours;
	struct written r;
	struct world w;

	(void)state;
	world_open(&w, SINK_PLAIN, true);
	other = task(&w, 70, 71, "worker");
	main = task(&w, 70, 70, "sh");
	ours = task(&w, 42, 43, "loader");
	ours.thread = &w.thread;
	give_switch(&w, 0, START_NS + 10, &idle, &other);
	give_switch(&w, 0, START_NS + 20, &other, &main);
	give_switch(&w, 0, START_NS + 30, &main, &ours);
	give_switch(&w, 0, START_NS + 40, &ours, &main);
	other.comm = n(&w, "renamed");
	give_switch(&w, 0, START_NS + 50, &main, &other);
	main.comm = n(&w, "server");
	give_switch(&w, 0, START_NS + 60, &other, &main);
	r = read_back(&w);
	assert_int_equal(r.n_trees, 4);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(r.trees[i]->n_threads, 1);
		assert_int_equal(r.trees[i]->threads[0]->tid, 71 - i);
		assert_int_equal(r.trees[i]->threads[0]->tgid, 70);
	}
	for (unsigned i = 2; i < 4; i++) {
		assert_int_equal(r.trees[i]->n_processes, 1);
		assert_int_equal(r.trees[i]->processes[0]->pid, 70);
		assert_true(r.trees[i]->processes[0]->cmdline_is_comm);
		assert_int_equal(r.trees[i]->processes[0]->n_cmdline, 1);
		assert_string_equal(r.trees[i]->processes[0]->cmdline[0], i == 2 ? "sh" : "server");
	}
	close_both(&w, &r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bundles),
		cmocka_unit_test(test_gap),
		cmocka_unit_test(test_described),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
