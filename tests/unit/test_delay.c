/* SPDX-License-Identifier: BSD-2-Clause */
/* What goes into the delay line comes out of it, in order and in full, wherever it lay in the ring. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "facts.h"
#include "timeline/delay.h"

#define CAPACITY    65536
#define MOST_STRING 700

/* An event with a copy of all that it points to. */
struct model {
	struct event event;
	struct arg args[EVENT_MAX_ARGS];
	uint64_t counters[3][EVENT_MAX_COUNTERS];
	char strings[EVENT_MAX_ARGS][MOST_STRING + 1];
};

static const struct name *some_name(uint64_t *seed)
{
	static const struct name names[4] = { { .id = 1 }, { .id = 2 }, { .id = 3 }, { .id = 4 } };

	return chance(seed, 3) ? &names[chance(seed, 4)] : NULL;
}

static void fill_arg(struct model *m, unsigned i, uint64_t *seed)
{
	struct arg *arg = &m->args[i];

	*arg = (struct arg){ .key = some_name(seed),
			     .type = (enum arg_type)(1 + chance(seed, ARG_NULL)) };
	if (arg->type != ARG_STRING) {
		arg->u = (uint64_t)chance(seed, 1u << 30) << 33 | chance(seed, 1u << 30);
		return;
	}
	arg->length = chance(seed, MOST_STRING);
	arg->cut = chance(seed, 2);
	memset(m->strings[i], 'a' + (int)chance(seed, 26), arg->length);
	m->strings[i][arg->length] = '\0';
	arg->s = m->strings[i];
}

static void fill(struct model *m, uint64_t *seed)
{
	static const struct callstack stack = { .id = 1 };
	struct event *e = &m->event;
	unsigned i, k;

	*e = (struct event){
		.kind = (enum event_kind)(1 + chance(seed, EVENT_SYSCALL)),
		.scope = (enum event_scope)chance(seed, SCOPE_MARKER + 1),
		.object = (enum event_object)chance(seed, OBJECT_COUNTER + 1),
		.ts_ns = (uint64_t)chance(seed, 1u << 30) << 30,
		.pid = chance(seed, 1u << 30),
		.tid = chance(seed, 1u << 30),
		.end_reason = (enum end_reason)chance(seed, 3),
		.left_out = chance(seed, 2),
		.closes_inner = chance(seed, 2),
		.sampled = chance(seed, 2),
		.of_thread = chance(seed, 2),
		.level = (int)chance(seed, 1026) - 1,
		.name = some_name(seed),
		.category = some_name(seed),
		.unit = some_name(seed),
		.callstack = chance(seed, 4) ? NULL : &stack,
		.callstack_end = (enum callstack_end)(chance(seed, 3) ? 0 : CALLSTACK_ENDS - 1),
		.callstack_by_frame_pointers = false,
		.id = chance(seed, 2) ? UINT64_MAX - chance(seed, 9) : 0,
		.size = chance(seed, 3),
		.n_args = chance(seed, 3) ? chance(seed, 7) : 0,
		.n_counters = chance(seed, EVENT_MAX_COUNTERS + 1),
	};
	if (e->kind == EVENT_CLOCK)
		e->clock = (struct clock_reading){ chance(seed, 99), chance(seed, 99), 7 };
	if (e->kind == EVENT_SWITCH || e->kind == EVENT_WAKING || e->kind == EVENT_SCHED_GAP)
		e->sched = (struct event_sched){ .pid = chance(seed, 1u << 30),
						 .tid = chance(seed, 1u << 30),
						 .cpu = (uint16_t)chance(seed, 1u << 16),
						 .state = (uint16_t)chance(seed, 1u << 9),
						 .prio = (uint8_t)chance(seed, 140),
						 .traced = chance(seed, 2),
						 .interrupt = chance(seed, 2) };
	if (e->kind == EVENT_SAMPLE)
		e->sample = (struct event_sample){ .period_ns = chance(seed, 1u << 30),
						   .cpu = (uint16_t)chance(seed, 1u << 16),
						   .mode = SAMPLE_KERNEL };
	if (e->kind >= EVENT_SLICE_AT && e->kind <= EVENT_CLOCK_READING)
		e->given = (struct event_given){ .track = some_name(seed),
						 .begin = chance(seed, 1u << 30),
						 .end = chance(seed, 1u << 30) };
	for (i = 0; i < e->n_args; i++)
		fill_arg(m, i, seed);
	if (e->n_args)
		e->args = m->args;
	for (k = 0; k < 3; k++) {
		for (i = 0; i < e->n_counters; i++)
			m->counters[k][i] = chance(seed, 1000);
	}
	if (!e->n_counters)
		return;
	e->counters = m->counters[0];
	if (chance(seed, 2)) {
		e->counter_enabled = m->counters[1];
		e->counter_running = m->counters[2];
	}
}

static void compare_numbers(const uint64_t *a, const uint64_t *b, unsigned n)
{
	assert_int_equal(a == NULL, b == NULL);
	if (a)
		assert_memory_equal(a, b, n * sizeof(*a));
}

static void compare(const struct event *a, const struct event *b)
{
	struct event x = *a, y = *b;
	unsigned i;

	for (i = 0; i < a->n_args; i++) {
		const struct arg *p = &a->args[i], *q = &b->args[i];

		assert_ptr_equal(p->key, q->key);
		assert_int_equal(p->type, q->type);
		if (p->type != ARG_STRING) {
			assert_int_equal(p->u, q->u);
			continue;
		}
		assert_int_equal(p->cut, q->cut);
		assert_int_equal(p->length, q->length);
		assert_memory_equal(p->s, q->s, p->length + 1);
	}
	compare_numbers(a->counters, b->counters, a->n_counters);
	compare_numbers(a->counter_enabled, b->counter_enabled, a->n_counters);
	compare_numbers(a->counter_running, b->counter_running, a->n_counters);
	/* Everything else must be the same, whatever fields there are. */
	x.args = y.args = NULL;
	x.counters = x.counter_enabled = x.counter_running = NULL;
	y.counters = y.counter_enabled = y.counter_running = NULL;
	assert_memory_equal(&x, &y, sizeof(x));
}

static void in_order(void **state)
{
	/* A queue of as many as ever fit. */
	enum {
		MOST = CAPACITY / 24 + 1
	};
	struct model *models = calloc(MOST, sizeof(*models));
	struct delay *d = delay_new(1);
	uint64_t seed = 12345, first = 0, last = 0, full = 0;
	struct event out;
	unsigned i;

	(void)state;
	assert_non_null(models);
	assert_non_null(d);
	assert_false(delay_pop(d, &out));
	assert_int_equal(delay_oldest_ns(d), UINT64_MAX);
	for (i = 0; i < 60000; i++) {
		/* In turns it fills up and runs empty. */
		bool put = chance(&seed, 100) < (i / 5000 % 2 ? 30 : 70);
		struct model *m = &models[last % MOST];

		if (put) {
			fill(m, &seed);
			if (delay_push(d, &m->event))
				last++;
			else
				full++;
		} else if (first < last) {
			const struct event *wanted = &models[first++ % MOST].event;

			assert_int_equal(delay_oldest_ns(d), wanted->ts_ns);
			assert_true(delay_pop(d, &out));
			compare(wanted, &out);
		} else {
			assert_false(delay_pop(d, &out));
		}
		assert_int_equal(delay_count(d), last - first);
	}
	assert_true(full > 100 && last > 10000);
	delay_free(d);
	free(models);
}

/* Every length of the gap at the end, and the ring full to the last word. */
static void around_the_end(void **state)
{
	struct model *m = calloc(1, sizeof(*m));
	struct event out;
	unsigned length;

	(void)state;
	assert_non_null(m);
	for (length = 0; length < 64; length += 4) {
		struct delay *d = delay_new(CAPACITY);
		unsigned i, n = 0, before;

		m->args[0] = (struct arg){ .type = ARG_STRING, .length = length };
		m->args[0].s = m->strings[0];
		memset(m->strings[0], 'x', length);
		m->event = (struct event){ .kind = EVENT_INSTANT, .n_args = 1, .args = m->args };
		for (; delay_push(d, &m->event); n++)
			;
		assert_true(n >= CAPACITY / (24 + 24 + length + 8) &&
			    n <= CAPACITY / (24 + 16 + length));
		before = n;
		for (i = 0; i < 5 * n; i++) {
			assert_true(delay_pop(d, &out));
			compare(&m->event, &out);
			assert_true(delay_push(d, &m->event));
			assert_int_equal(delay_count(d), before);
		}
		while (delay_pop(d, &out)) {
			compare(&m->event, &out);
			n--;
		}
		assert_int_equal(n, 0);
		delay_free(d);
	}
	free(m);
}

static void larger_than_all(void **state)
{
	static char text[40000];
	const struct arg arg = { .type = ARG_STRING, .s = text, .length = sizeof(text) - 1 };
	const struct event event = { .kind = EVENT_INSTANT, .n_args = 1, .args = &arg };
	struct delay *d = delay_new(CAPACITY);

	(void)state;
	assert_false(delay_push(d, &event));
	assert_int_equal(delay_count(d), 0);
	delay_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_order),
		cmocka_unit_test(around_the_end),
		cmocka_unit_test(larger_than_all),
	};

	return cmocka_run_group_tests_name("delay", tests, NULL, NULL);
}
