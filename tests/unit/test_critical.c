/* SPDX-License-Identifier: BSD-2-Clause */
/* Critical paths: whatever a trace says, the parts of each path follow each other and add up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reports/critical/critical_internal.h"
#include "timeline/timeline.h"

#define THREADS 5
#define CPUS	3

struct world {
	struct names *names;
	struct account account;
	struct timeline *timeline;
	struct consumer *critical;
	uint64_t now, seed;
	int depth[THREADS];
	uint32_t on_cpu[CPUS]; /* tids */
};

static uint32_t pick(struct world *w, uint32_t n)
{
	w->seed = w->seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(w->seed >> 33) % n;
}

static void world_init(struct world *w, uint64_t seed)
{
	memset(w, 0, sizeof(*w));
	w->seed = seed;
	w->now = 1000;
	w->names = names_new(0);
	w->timeline = timeline_new(w->names, &w->account, 1000);
	w->critical = critical_new("s*");
	assert_true(w->names && w->timeline && w->critical);
	timeline_states(w->timeline);
	timeline_wait_reasons(w->timeline);
	timeline_add_consumer(w->timeline, w->critical);
}

static void world_free(struct world *w)
{
	timeline_free(w->timeline);
	w->critical->ops->free(w->critical);
	names_free(w->names);
}

static void put(struct world *w, struct event e)
{
	e.ts_ns = w->now;
	assert_int_equal(timeline_event(w->timeline, &e), 0);
}

static void put_mark(struct world *w, uint32_t thread, enum event_kind kind)
{
	static const char *const names[] = { "s1", "s2", "other" };
	struct event e = { .kind = kind, .pid = 10, .tid = 10 + thread, .level = w->depth[thread] };

	if (kind == EVENT_END)
		e.level = --w->depth[thread];
	if (kind == EVENT_BEGIN)
		w->depth[thread]++;
	if (kind == EVENT_BEGIN || kind == EVENT_ASYNC_BEGIN)
		e.name = names_intern_string(w->names, names[pick(w, 3)]);
	if (kind == EVENT_ASYNC_BEGIN || kind == EVENT_ASYNC_END)
		e.name = names_intern_string(w->names, "s-async");
	e.id = 1 + pick(w, 6);
	put(w, e);
}

static void put_switch(struct world *w)
{
	uint32_t cpu = pick(w, CPUS), to = pick(w, 3) ? 10 + pick(w, THREADS) : 0, i;
	bool sleeps = pick(w, 2);
	struct event e = { .kind = EVENT_SWITCH, .tid = w->on_cpu[cpu], .level = -1 };

	for (i = 0; i < CPUS; i++) {
		if (w->on_cpu[i] == to)
			to = 0;
	}
	e.pid = e.tid ? 10 : 0;
	if (e.tid && sleeps && pick(w, 3))
		put(w, (struct event){ .kind = EVENT_WAIT_BEGIN,
				       .pid = 10,
				       .tid = e.tid,
				       .level = -1,
				       .name = names_intern_string(
					       w->names, pick(w, 2) ? "futex" : "sleep") });
	e.sched = (struct event_sched){ .pid = to ? 10 : 0,
					.tid = to,
					.cpu = (uint16_t)cpu,
					.state = sleeps ? SCHED_STATE_SLEEPING
							: SCHED_STATE_PREEMPTED,
					.traced = e.tid,
					.other_traced = to };
	put(w, e);
	w->on_cpu[cpu] = to;
}

static void put_waking(struct world *w)
{
	uint32_t cpu = pick(w, CPUS);
	struct event e = {
		.kind = EVENT_WAKING, .pid = 10, .tid = 10 + pick(w, THREADS), .level = -1
	};

	e.sched = (struct event_sched){ .pid = w->on_cpu[cpu] ? 10 : 0,
					.tid = w->on_cpu[cpu],
					.cpu = (uint16_t)cpu,
					.traced = true,
					.other_traced = w->on_cpu[cpu],
					.on_queue = pick(w, 2),
					.interrupt = !pick(w, 4) };
	put(w, e);
}

static void world_step(struct world *w)
{
	uint32_t thread = pick(w, THREADS);

	w->now += pick(w, 20);
	switch (pick(w, 10)) {
	case 0:
	case 1:
		put_mark(w, thread, w->depth[thread] < 8 ? EVENT_BEGIN : EVENT_INSTANT);
		break;
	case 2:
	case 3:
		put_mark(w, thread, w->depth[thread] ? EVENT_END : EVENT_INSTANT);
		break;
	case 4:
		put_mark(w, thread, pick(w, 2) ? EVENT_FLOW_OUT : EVENT_FLOW_IN);
		break;
	case 5:
		put_mark(w, thread, pick(w, 2) ? EVENT_ASYNC_BEGIN : EVENT_ASYNC_END);
		break;
	case 6:
	case 7:
		put_waking(w);
		break;
	default:
		if (pick(w, 60))
			put_switch(w);
		else
			put(w, (struct event){ .kind = EVENT_SCHED_GAP,
					       .level = -1,
					       .sched.cpu = SCHED_EVERY_CPU });
	}
}

static void test_paths_add_up(void **state)
{
	unsigned round, i, k, states[4] = { 0 };

	(void)state;
	for (round = 0; round < 40; round++) {
		struct critical *c;
		struct world w;

		world_init(&w, round + 1);
		for (i = 0; i < 5000; i++)
			world_step(&w);
		c = (struct critical *)w.critical;
		critical_next_trace(w.critical);
		assert_int_equal(c->error, 0);
		assert_true(c->n_instances > 100);
		for (i = 0; i < c->n_instances; i++) {
			const struct critical_instance *in = &c->instances[i];
			uint64_t at = in->to_ns;

			for (k = 0; k < in->n_parts; k++) {
				assert_int_equal(in->parts[k].to_ns, at);
				assert_true(in->parts[k].from_ns < at);
				at = in->parts[k].from_ns;
				states[in->parts[k].row->key.state]++;
			}
			assert_int_equal(at, in->from_ns);
		}
		critical_sum_up(c);
		world_free(&w);
	}
	for (i = 0; i < 4; i++)
		assert_true(states[i] > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
