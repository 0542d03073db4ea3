/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters of marks in batches: the values at a time between those that the kernel sent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "capture/batch/batch.h"
#include "proftrace.skel.h"

enum {
	CLOCK,
	FAULTS,
	SWITCHES,
	COUNTERS
};

static struct capture capture = {
	.options.counters = {
		.n = COUNTERS,
		.list = { [CLOCK].source = COUNTER_TASK_CLOCK,
			  [FAULTS].source = COUNTER_PAGE_FAULTS,
			  [SWITCHES].source = COUNTER_CONTEXT_SWITCHES },
	},
};

static int begin(void **state)
{
	(void)state;
	capture.shared = calloc(1, sizeof(*capture.shared));
	assert_non_null(capture.shared);
	assert_int_equal(batches_new(capture.shared, &capture.batches), 0);
	return 0;
}

static int end(void **state)
{
	(void)state;
	batches_free(capture.batches);
	free(capture.shared);
	return 0;
}

struct base {
	struct record r;
	uint64_t values[COUNTERS];
};

static struct base make_base(uint32_t tid, uint64_t ns, enum base_moment moment, uint64_t clock,
			     uint64_t faults)
{
	return (struct base){ .r = { .ts = ns,
				     .tgid = 1,
				     .tid = tid,
				     .kind = RECORD_BASE,
				     .flags = RECORD_COUNTERS,
				     .level = moment },
			      .values = { clock, faults, 7 } };
}

/* A record of the kernel: the thread had used `clock` ns and had so many page faults. */
static void add_base(uint32_t tid, uint64_t ns, enum base_moment moment, uint64_t clock,
		     uint64_t faults)
{
	const struct base base = make_base(tid, ns, moment, clock, faults);

	batch_base_add(&capture, &base.r, sizeof(base));
}

/* The same, in a round in which it is still in the queue. */
static void queue_base(uint32_t tid, uint64_t ns, enum base_moment moment, uint64_t clock,
		       uint64_t faults)
{
	const struct base base = make_base(tid, ns, moment, clock, faults);

	capture.batches->rounds++;
	batches_add_record(&capture, &base.r, sizeof(base));
}

static struct event mark_at(uint32_t tid, uint64_t ns, enum event_kind kind)
{
	struct event e = { .kind = kind, .ts_ns = ns, .pid = 1, .tid = tid };

	batch_set_counters(&capture, batch_thread_get(capture.batches, 1, tid), &e);
	return e;
}

static void assert_counters(uint32_t tid, uint64_t ns, uint64_t clock, uint64_t faults)
{
	const struct event e = mark_at(tid, ns, EVENT_BEGIN);

	assert_int_equal(e.n_counters, COUNTERS);
	assert_int_equal(e.counters[CLOCK], clock);
	assert_int_equal(e.counters[FAULTS], faults);
}

static void between_bases(void **state)
{
	(void)state;
	assert_int_equal(mark_at(2, 900, EVENT_BEGIN).n_counters, 0);
	add_base(2, 1000, BASE_GETS_CPU, 50000, 3);
	assert_counters(2, 1000, 50000, 3);
	assert_counters(2, 1700, 50700, 3);
	add_base(2, 1800, BASE_HAS_CPU, 50600, 4); /* the hypervisor took 200 ns */
	assert_counters(2, 1900, 50700, 4);
	assert_int_equal(mark_at(3, 1900, EVENT_BEGIN).n_counters, 0);
	assert_int_equal(mark_at(2, 1900, EVENT_INSTANT).n_counters, 0);
	assert_int_equal(mark_at(2, 1900, EVENT_END).n_counters, COUNTERS);
}

static void without_a_cpu(void **state)
{
	(void)state;
	add_base(2, 1000, BASE_GETS_CPU, 50000, 3);
	add_base(2, 2000, BASE_LEAVES_CPU, 51000, 3);
	assert_int_equal(mark_at(2, 2500, EVENT_BEGIN).n_counters, 0);
	add_base(2, 3000, BASE_GETS_CPU, 51000, 3);
	assert_counters(2, 3001, 51001, 3);
}

/* The kernel did not show that the thread got a CPU, at 2400. */
static void unseen_switch(void **state)
{
	struct batch_thread *t = batch_thread_get(capture.batches, 1, 2);

	(void)state;
	capture.batches->drained_ns = 4000;
	capture.batches->rounds++;
	assert_false(batch_awaits_base(&capture, t, 2500));
	add_base(2, 1000, BASE_GETS_CPU, 50000, 3);
	assert_false(batch_awaits_base(&capture, t, 1500));
	add_base(2, 2000, BASE_LEAVES_CPU, 51000, 3);
	assert_true(batch_awaits_base(&capture, t, 2500));
	queue_base(3, 2600, BASE_GETS_CPU, 900, 0);
	assert_true(batch_awaits_base(&capture, t, 2500));
	queue_base(2, 3000, BASE_LEAVES_CPU, 51600, 3);
	assert_false(batch_awaits_base(&capture, t, 2500));
	assert_counters(2, 2500, 51100, 3);
	assert_int_equal(mark_at(2, 2500, EVENT_END).counters[SWITCHES], 6);
	/* The hypervisor had taken time. */
	assert_counters(2, 2300, 51000, 3);
}

static void unseen_before_fault(void **state)
{
	(void)state;
	add_base(2, 2000, BASE_LEAVES_CPU, 51000, 3);
	queue_base(2, 3000, BASE_HAS_CPU, 51600, 4);
	assert_counters(2, 2500, 51100, 3);
	assert_int_equal(mark_at(2, 2500, EVENT_END).counters[SWITCHES], 7);
}

/* A child of vfork() marks while its parent, whose batch it is, has no CPU. */
static void mark_of_child(void **state)
{
	struct batch_thread *t = batch_thread_get(capture.batches, 1, 2);

	(void)state;
	add_base(2, 2000, BASE_LEAVES_CPU, 51000, 3);
	queue_base(2, 3000, BASE_GETS_CPU, 51000, 3);
	assert_int_equal(mark_at(2, 2500, EVENT_BEGIN).n_counters, 0);
	assert_false(batch_awaits_base(&capture, t, 2500));
}

/* The merge does not wait for long, and not at the end. */
static void base_never_comes(void **state)
{
	struct batch_thread *t = batch_thread_get(capture.batches, 1, 2);

	(void)state;
	capture.batches->rounds++;
	add_base(2, 2000, BASE_LEAVES_CPU, 51000, 3);
	capture.batches->drained_ns = 2500;
	assert_true(batch_awaits_base(&capture, t, 2500));
	capture.batches->ending = true;
	assert_false(batch_awaits_base(&capture, t, 2500));
	capture.batches->ending = false;
	capture.batches->drained_ns = 2500 + 1000000000;
	assert_false(batch_awaits_base(&capture, t, 2500));
}

static void lost_base(void **state)
{
	(void)state;
	add_base(2, 1000, BASE_GETS_CPU, 50000, 3);
	capture.shared->base_lost_ns = 2000;
	batch_bases_check(&capture);
	assert_int_equal(mark_at(2, 1500, EVENT_BEGIN).n_counters, 0);
	/* It was sent before the loss, which may have been of the same thread. */
	add_base(2, 1900, BASE_GETS_CPU, 50900, 3);
	assert_int_equal(mark_at(2, 2100, EVENT_END).n_counters, 0);
	add_base(2, 2200, BASE_GETS_CPU, 51100, 3);
	batch_bases_check(&capture);
	assert_counters(2, 2300, 51200, 3);
}

static void short_record(void **state)
{
	const struct record r = { .ts = 1, .tgid = 1, .tid = 2, .kind = RECORD_BASE };

	(void)state;
	batch_base_add(&capture, &r, sizeof(r));
	assert_int_equal(mark_at(2, 2, EVENT_BEGIN).n_counters, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(between_bases, begin, end),
		cmocka_unit_test_setup_teardown(without_a_cpu, begin, end),
		cmocka_unit_test_setup_teardown(unseen_switch, begin, end),
		cmocka_unit_test_setup_teardown(unseen_before_fault, begin, end),
		cmocka_unit_test_setup_teardown(mark_of_child, begin, end),
		cmocka_unit_test_setup_teardown(base_never_comes, begin, end),
		cmocka_unit_test_setup_teardown(lost_base, begin, end),
		cmocka_unit_test_setup_teardown(short_record, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
