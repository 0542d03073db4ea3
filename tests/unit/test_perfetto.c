// SPDX-License-Identifier: BSD-2-Clause
/* What the Perfetto output writes is decoded by the generated code and compared field by field. */
#include "perfetto_test.h"

#include <errno.h>
#include <math.h>

/* ----------------------------------------------------------------------------------------------- */

static void assert_clock(const Packet *packet, size_t i, unsigned id, uint64_t ns)
{
	assert_true(i < packet->clock_snapshot->n_clocks);
	assert_int_equal(packet->clock_snapshot->clocks[i]->clock_id, id);
	assert_int_equal(packet->clock_snapshot->clocks[i]->timestamp, ns);
}

static void starts_with_machine_clocks_and_defaults(void **state)
{
	struct decoded d;
	struct world w;
	Packet *p;

	(void)state;
	world_open(&w, SINK_PLAIN, true);
	fact(&w, FACT_CLOCK, 0, NULL); /* not newer: not repeated */
	w.fact.clock = w.info.clock;
	give(&w);
	fact(&w, FACT_CLOCK, 0, NULL);
	w.fact.clock = (struct clock_reading){ START_NS + 10, 6000000010, 1690000000000000000 };
	give(&w);
	fact(&w, FACT_CLOCK, 0, NULL); /* a boottime that goes back is left out */
	w.fact.clock = (struct clock_reading){ START_NS + 20, 6000000009, 1700000000000000000 };
	give(&w);
	w.account.orderly = false;
	finish(&w);
	decode(&w, &d);

	p = next(&d);
	assert_int_equal(p->chrome_events->n_metadata, 3); /* without a rank */
	assert_string_equal(p->chrome_events->metadata[1]->name, "proftrace.host");
	assert_string_equal(p->chrome_events->metadata[1]->string_value, "node7");
	assert_string_equal(p->chrome_events->metadata[2]->name, "proftrace.boot_id");
	assert_string_equal(p->chrome_events->metadata[2]->string_value, w.info.boot_id);
	p = next(&d);
	assert_true((uint64_t)p->trace_uuid->msb == 0x1122334455667788);
	assert_true((uint64_t)p->trace_uuid->lsb == 0x99aabbccddeeff00);
	p = next(&d);
	assert_string_equal(p->system_info->utsname->sysname, "Linux");
	assert_string_equal(p->system_info->utsname->release, "6.1.0-test");
	assert_string_equal(p->system_info->utsname->version, "#1 SMP \"x\"");
	assert_string_equal(p->system_info->utsname->machine, "x86_64");
	p = next(&d);
	assert_int_equal(p->clock_snapshot->n_clocks, 3);
	assert_int_equal(p->clock_snapshot->primary_trace_clock, 3);
	assert_clock(p, 0, 3, START_NS);
	assert_clock(p, 1, 6, 6000000000);
	assert_clock(p, 2, 1, 1700000000000000001);
	p = next(&d);
	assert_int_equal(p->sequence_flags, 1);
	assert_true(p->first_packet_on_sequence);
	assert_int_equal(p->clock_snapshot->n_clocks, 2);
	assert_clock(p, 0, 64, START_NS);
	assert_clock(p, 1, 3, START_NS);
	p = next(&d);
	assert_int_equal(p->clock_snapshot->n_clocks, 3);
	assert_clock(p, 0, 3, START_NS + 10);
	assert_clock(p, 2, 1, 1690000000000000000);
	p = next(&d);
	assert_int_equal(p->clock_snapshot->n_clocks, 2);
	assert_clock(p, 1, 1, 1700000000000000000);
	assert_end(&d, 0, 2);
	done(&w, &d);
}

static void knows_one_clock_only(void **state)
{
	struct decoded d;
	struct world w;
	struct consumer *other;
	struct sink *sink;
	Packet *p;

	(void)state;
	world_open(&w, SINK_PLAIN, true);
	w.consumer->ops->free(w.consumer);
	w.info.clock = (struct clock_reading){ 0 };
	assert_int_equal(sink_open(w.path, SINK_PLAIN, &sink), 0);
	other = w.consumer = perfetto_writer_new(sink, &w.info);
	assert_non_null(other);
	finish(&w);
	decode(&w, &d);
	do
		p = next(&d);
	while (!p->clock_snapshot);
	/* A loader wants to know how its default clock goes with it. */
	assert_int_equal(p->clock_snapshot->n_clocks, 2);
	assert_clock(p, 0, 3, START_NS);
	assert_clock(p, 1, 6, START_NS);
	done(&w, &d);
}

static void declares_tracks(void **state)
{
	struct decoded d;
	struct world w;
	Descriptor *t;

	(void)state;
	world_open(&w, SINK_PLAIN, true);
	w.process.start_ns = 77;
	fact(&w, FACT_PROCESS, START_NS, NULL);
	give(&w);
	fact(&w, FACT_THREAD, START_NS, NULL);
	give(&w);
	track_fact(&w, &w.counter);
	track_fact(&w, &w.series[1]);
	track_fact(&w, &w.lane);
	finish(&w);
	decode(&w, &d);
	skip_start(&d);

	t = next_descriptor(&d, 100, 0);
	assert_int_equal(t->process->pid, 42);
	assert_string_equal(t->process->process_name, "train");
	assert_int_equal(t->process->start_timestamp_ns, 77);
	t = next_descriptor(&d, 101, 100);
	assert_int_equal(t->thread->pid, 42);
	assert_int_equal(t->thread->tid, 43);
	assert_string_equal(t->thread->thread_name, "loader \"1\"");
	t = next_descriptor(&d, 200, 100);
	assert_string_equal(t->name, "queue");
	assert_int_equal(t->counter->unit, 3);
	assert_null(t->counter->unit_name);
	t = next_descriptor(&d, 211, 100);
	assert_string_equal(t->name, "loss validation");
	assert_false(t->counter->has_unit);
	assert_string_equal(t->counter->unit_name, "nats");
	t = next_descriptor(&d, 300, 100);
	assert_string_equal(t->name, "request");
	assert_null(t->counter);
	assert_end(&d, 0, 1);
	done(&w, &d);
}

static void slices_with_every_kind_of_argument(void **state)
{
	static char long_text[3000];
	struct decoded d;
	struct world w;
	Event *e;

	(void)state;
	world_open(&w, SINK_PLAIN, true);
	memset(long_text, 'l', sizeof(long_text) - 1);
	memcpy(long_text + 1023, "\xc3\xa9", 2); /* the limit falls within a character */
	const struct arg args[] = {
		{ .key = n(&w, "int"), .type = ARG_INT, .i = INT64_MIN },
		{ .key = n(&w, "uint"), .type = ARG_UINT, .u = UINT64_MAX },
		{ .key = n(&w, "double"), .type = ARG_DOUBLE, .d = -0.1 },
		{ .key = n(&w, "nan"), .type = ARG_DOUBLE, .d = NAN },
		{ .key = n(&w, "string"), .type = ARG_STRING, .s = "h\xc3\xa9", .length = 3 },
		{ .key = n(&w, "cut"), .type = ARG_STRING, .s = "abc", .length = 3, .cut = true },
		{ .key = n(&w, "long"), .type = ARG_STRING, .s = long_text, .length = 2999 },
		{ .key = n(&w, "true"), .type = ARG_BOOL, .u = 1 },
		{ .key = n(&w, "false"), .type = ARG_BOOL, .u = 0 },
		{ .key = n(&w, "pointer"), .type = ARG_POINTER, .u = 0xdeadbeefcafe },
		{ .key = n(&w, "null"), .type = ARG_NULL },
	};
	fact(&w, FACT_BEGIN, START_NS + 1, "step");
	w.fact.category = n(&w, "a,b,,c");
	w.fact.args = args;
	w.fact.n_args = sizeof(args) / sizeof(args[0]);
	give(&w);
	fact(&w, FACT_END, START_NS + 2, "step");
	w.fact.category = n(&w, "a,b,,c");
	w.fact.args = args;
	w.fact.n_args = 1;
	give(&w);
	fact(&w, FACT_BEGIN, START_NS + 3, "step");
	w.fact.category = n(&w, "a");
	give(&w);
	fact(&w, FACT_END, START_NS + 4, "step");
	w.fact.end_reason = END_LOST;
	give(&w);
	fact(&w, FACT_END, START_NS + 5, "step");
	w.fact.end_reason = END_UNFINISHED;
	give(&w);
	finish(&w);
	decode(&w, &d);
	skip_start(&d);

	e = next_event(&d, START_NS + 1, 1, 101);
	assert_string_equal(look_up(&d.s->names, e->name_iid), "step");
	assert_int_equal(e->n_category_iids, 3);
	assert_string_equal(look_up(&d.s->categories, e->category_iids[0]), "a");
	assert_string_equal(look_up(&d.s->categories, e->category_iids[1]), "b");
	assert_string_equal(look_up(&d.s->categories, e->category_iids[2]), "c");
	assert_int_equal(e->n_debug_annotations, 11);
	assert_true(annotation(&d, e, 0, "int")->int_value == INT64_MIN);
	assert_true(annotation(&d, e, 1, "uint")->uint_value == UINT64_MAX);
	assert_true(annotation(&d, e, 2, "double")->double_value == -0.1);
	assert_true(isnan(annotation(&d, e, 3, "nan")->double_value));
	assert_string_equal(annotation(&d, e, 4, "string")->string_value, "h\xc3\xa9");
	assert_string_equal(annotation(&d, e, 5, "cut")->string_value, "abc\xe2\x80\xa6");
	assert_int_equal(strlen(annotation(&d, e, 6, "long")->string_value), 1023 + 3);
	assert_true(annotation(&d, e, 7, "true")->has_bool_value);
	assert_true(annotation(&d, e, 7, "true")->bool_value);
	assert_true(annotation(&d, e, 8, "false")->has_bool_value);
	assert_false(annotation(&d, e, 8, "false")->bool_value);
	assert_true(annotation(&d, e, 9, "pointer")->pointer_value == 0xdeadbeefcafe);
	assert_string_equal(annotation(&d, e, 10, "null")->string_value, "(null)");

	e = next_event(&d, START_NS + 2, 2, 101);
	assert_names(&d, e, NULL, NULL);
	assert_true(annotation(&d, e, 0, "int")->int_value == INT64_MIN);
	e = next_event(&d, START_NS + 3, 1, 101);
	assert_names(&d, e, "step", "a");
	assert_int_equal(e->n_debug_annotations, 0);
	e = next_event(&d, START_NS + 4, 2, 101);
	assert_string_equal(annotation(&d, e, 0, "ended")->string_value, "lost");
	e = next_event(&d, START_NS + 5, 2, 101);
	assert_string_equal(annotation(&d, e, 0, "ended")->string_value, "unfinished");
	assert_end(&d, 0, 1);
	done(&w, &d);
}

static void instants_by_scope(void **state)
{
	const uint64_t global = 0x1122334455667788 ^ 0x99aabbccddeeff00;
	struct decoded d;
	struct world w;

	(void)state;
	world_open(&w, SINK_PLAIN, true);
	for (int i = 0; i < 4; i++) {
		fact(&w, FACT_INSTANT, START_NS + (unsigned)i, "mark");
		w.fact.category = n(&w, "c");
		w.fact.scope = i == 0 ? SCOPE_THREAD : i == 1 ? SCOPE_PROCESS : SCOPE_GLOBAL;
		give(&w);
	}
	finish(&w);
	decode(&w, &d);
	skip_start(&d);
	assert_names(&d, next_event(&d, START_NS, 3, 101), "mark", "c");
	assert_names(&d, next_event(&d, START_NS + 1, 3, 100), "mark", "c");
	assert_non_null(next_descriptor(&d, global | 1ull << 63, 0)->name);
	assert_names(&d, next_event(&d, START_NS + 2, 3, global | 1ull << 63), "mark", "c");
	assert_names(&d, next_event(&d, START_NS + 3, 3, global | 1ull << 63), "mark", "c");
	assert_end(&d, 0, 1);
	done(&w, &d);
}

static void counters_are_exact(void **state)
{
	const struct arg values[] = {
		{ .type = ARG_INT, .i = -5 },	      { .type = ARG_INT, .i = INT64_MAX },
		{ .type = ARG_UINT, .u = INT64_MAX }, { .type = ARG_UINT, .u = UINT64_MAX - 1 },
		{ .type = ARG_DOUBLE, .d = 0.1 },     { .type = ARG_DOUBLE, .d = INFINITY },
		{ .type = ARG_BOOL, .u = 1 },
	};
	struct decoded d;
	struct world w;
	Event *e[7];

	(void)state;
	world_open(&w, SINK_PLAIN, true);
	w.tracks[0] = &w.counter;
	for (int i = 0; i < 7; i++) {
		fact(&w, FACT_COUNTER, START_NS, "queue");
		w.fact.category = n(&w, "c");
		w.fact.tracks = w.tracks;
		w.fact.args = &values[i];
		w.fact.n_args = 1;
		give(&w);
	}
	w.tracks[0] = &w.series[0];
	w.tracks[1] = &w.series[1];
	fact(&w, FACT_COUNTER, START_NS + 1, "loss");
	w.fact.tracks = w.tracks;
	w.fact.args = &values[0];
	w.fact.n_args = 2;
	give(&w);
	finish(&w);
	decode(&w, &d);
	skip_start(&d);
	for (int i = 0; i < 7; i++) {
		e[i] = next_event(&d, START_NS, 4, 200);
		assert_names(&d, e[i], NULL, "c");
		assert_int_equal(e[i]->has_counter_value + e[i]->has_double_counter_value, 1);
		assert_int_equal(e[i]->n_debug_annotations, i == 3);
	}
	assert_true(e[0]->counter_value == -5);
	assert_true(e[1]->counter_value == INT64_MAX);
	assert_true(e[2]->counter_value == INT64_MAX);
	assert_true(e[3]->double_counter_value == 0x1p64);
	assert_true(annotation(&d, e[3], 0, "value")->uint_value == UINT64_MAX - 1);
	assert_true(e[4]->double_counter_value == 0.1);
	assert_true(isinf(e[5]->double_counter_value));
	assert_true(e[6]->counter_value == 1);
	assert_true(next_event(&d, START_NS + 1, 4, 210)->counter_value == -5);
	assert_true(next_event(&d, START_NS + 1, 4, 211)->counter_value == INT64_MAX);
	assert_end(&d, 0, 1);
	done(&w, &d);
}

static void async_slices_and_flows(void **state)
{
	struct decoded d;
	struct world w;
	Event *e;

	(void)state;
	world_open(&w, SINK_PLAIN, true);
	w.tracks[0] = &w.lane;
	fact(&w, FACT_ASYNC_BEGIN, START_NS, "request");
	w.fact.tracks = w.tracks;
	w.fact.id = UINT64_MAX;
	w.fact.category = n(&w, "net");
	give(&w);
	fact(&w, FACT_FLOW_OUT, START_NS + 1, NULL);
	w.fact.id = 0xfedcba9876543210;
	w.fact.category = n(&w, "net");
	give(&w);
	fact(&w, FACT_FLOW_IN, START_NS + 2, NULL);
	w.fact.id = 7;
	give(&w);
	fact(&w, FACT_ASYNC_END, START_NS + 3, "request");
	w.fact.tracks = w.tracks;
	w.fact.id = UINT64_MAX;
	give(&w);
	finish(&w);
	decode(&w, &d);
	skip_start(&d);
	e = next_event(&d, START_NS, 1, 300);
	assert_names(&d, e, "request", "net");
	assert_true(annotation(&d, e, 0, "id")->uint_value == UINT64_MAX);
	e = next_event(&d, START_NS + 1, 3, 101);
	assert_names(&d, e, "flow out", "net");
	assert_int_equal(e->n_flow_ids, 1);
	assert_true(e->flow_ids[0] == 0xfedcba9876543210);
	assert_int_equal(e->n_terminating_flow_ids, 0);
	e = next_event(&d, START_NS + 2, 3, 101);
	assert_names(&d, e, "flow in", NULL);
	assert_int_equal(e->n_flow_ids, 0);
	assert_int_equal(e->n_terminating_flow_ids, 1);
	assert_true(e->terminating_flow_ids[0] == 7);
	e = next_event(&d, START_NS + 3, 2, 300);
	assert_names(&d, e, NULL, NULL);
	assert_int_equal(e->n_debug_annotations, 0);
	assert_end(&d, 0, 1);
	done(&w, &d);
}

static void after_a_loss_everything_is_said_again(void **state)
{
	struct decoded d;
	struct world w;
	Packet *p;

	(void)state;
	world_open(&w, SINK_PLAIN, true);
	for (int i = 0; i < 2; i++) {
		fact(&w, FACT_BEGIN, START_NS + 1, "step");
		w.fact.category = n(&w, "c");
		give(&w);
		fact(&w, FACT_LOST, START_NS + 2, NULL);
		w.fact.count = 12;
		if (i)
			w.fact.thread = NULL;
		give(&w);
	}
	for (int i = 0; i < LOST_REASONS; i++)
		w.account.lost[i] = 1ull << i;
	finish(&w);
	decode(&w, &d);
	skip_start(&d);
	for (int i = 0; i < 2; i++) {
		assert_names(&d, next_event(&d, START_NS + 1, 1, 101), "step", "c");
		p = next(&d);
		assert_int_equal(p->sequence_flags, 1);
		assert_int_equal(p->previous_packet_dropped, 1);
		assert_non_null(p->trace_packet_defaults);
		p = next(&d);
		assert_int_equal(p->timestamp, START_NS + 2);
		assert_int_equal(p->track_event->type, 3);
		assert_int_equal(p->track_event->track_uuid, i ? 100 : 101);
		assert_string_equal(p->track_event->name, "events lost");
		assert_string_equal(p->track_event->debug_annotations[0]->name, "count");
		assert_int_equal(p->track_event->debug_annotations[0]->uint_value, 12);
	}
	assert_end(&d, (1 << LOST_REASONS) - 1 - (1 << LOST_CUT) - (1 << LOST_UNMATCHED), 1);
	done(&w, &d);
}

/* Names past the table's bound are written in full; the largest event there can be still fits. */
static void names_beyond_the_table_and_the_largest_event(void **state)
{
	enum {
		SIZE = 2000
	};
	struct arg args[EVENT_MAX_ARGS];
	struct name *name;
	struct decoded d;
	struct world w;
	Event *e;

	(void)state;
	world_open(&w, SINK_PLAIN, true);
	name = calloc(1, sizeof(*name) + SIZE + 1);
	name->id = UINT32_MAX;
	name->length = SIZE;
	memset(name->text, 'n', SIZE);
	for (int i = 0; i < EVENT_MAX_ARGS; i++)
		args[i] = (struct arg){
			.key = name, .type = ARG_STRING, .s = name->text, .length = SIZE
		};
	for (int i = 0; i < 10; i++) {
		fact(&w, FACT_BEGIN, START_NS, NULL);
		w.fact.name = w.fact.category = name;
		w.fact.args = args;
		w.fact.n_args = EVENT_MAX_ARGS;
		give(&w);
	}
	finish(&w);
	decode(&w, &d);
	skip_start(&d);
	for (int i = 0; i < 10; i++) {
		e = next_event(&d, START_NS, 1, 101);
		assert_false(e->has_name_iid);
		assert_int_equal(strlen(e->name), 1024);
		assert_int_equal(e->n_categories, 1);
		assert_int_equal(strlen(e->categories[0]), 1024);
		assert_int_equal(e->n_debug_annotations, EVENT_MAX_ARGS);
		assert_int_equal(strlen(e->debug_annotations[31]->name), 256);
		assert_int_equal(strlen(e->debug_annotations[31]->string_value), 1024 + 3);
	}
	assert_end(&d, 0, 1);
	free(name);
	done(&w, &d);
}

/* Lengths of one, two and three bytes at every border. */
static void packets_of_every_length(void **state)
{
	struct decoded d;
	struct world w;
	char text[1024];

	(void)state;
	memset(text, 'x', sizeof(text));
	world_open(&w, SINK_PLAIN, true);
	for (unsigned i = 0; i < 1024; i++) {
		struct arg args[20];

		for (int k = 0; k < 20; k++)
			args[k] = (struct arg){
				.key = n(&w, "k"), .type = ARG_STRING, .s = text, .length = i
			};
		fact(&w, FACT_INSTANT, START_NS + i, "name");
		w.fact.args = args;
		w.fact.n_args = i % 2 ? 20 : 1;
		give(&w);
	}
	finish(&w);
	decode(&w, &d);
	skip_start(&d);
	for (unsigned i = 0; i < 1024; i++) {
		Event *e = next_event(&d, START_NS + i, 3, 101);

		assert_int_equal(e->n_debug_annotations, i % 2 ? 20 : 1);
		assert_int_equal(strlen(e->debug_annotations[0]->string_value), i);
	}
	assert_end(&d, 0, 1);
	done(&w, &d);
}

/* Four thousand names, so that the table grows; each is defined once, before its first use. */
static void many_names(void **state)
{
	static struct decoded d;
	struct world w;
	char text[32];

	(void)state;
	world_open(&w, SINK_PLAIN, true);
	for (int i = 0; i < 8000; i++) {
		snprintf(text, sizeof(text), "name %d", i % 4000);
		fact(&w, FACT_INSTANT, START_NS + (unsigned)i, text);
		give(&w);
	}
	finish(&w);
	decode(&w, &d);
	skip_start(&d);
	for (int i = 0; i < 8000; i++) {
		snprintf(text, sizeof(text), "name %d", i % 4000);
		assert_names(&d, next_event(&d, START_NS + (unsigned)i, 3, 101), text, NULL);
	}
	assert_int_equal(d.sequences[FIRST_THREAD].names.n, 4000);
	assert_end(&d, 0, 1);
	done(&w, &d);
}

static void a_full_disk_reaches_the_caller(void **state)
{
	struct consumer *consumer;
	struct sink *sink;
	struct world w;
	int r = 0;

	(void)state;
	world_open(&w, SINK_PLAIN, true);
	assert_int_equal(sink_open("/dev/full", SINK_PLAIN, &sink), 0);
	consumer = perfetto_writer_new(sink, &w.info);
	fact(&w, FACT_INSTANT, START_NS, "x");
	for (int i = 0; i < 100000 && r == 0; i++)
		r = consumer->ops->fact(consumer, &w.fact);
	assert_int_equal(r, -ENOSPC);
	consumer->ops->free(consumer);
	finish(&w);
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(starts_with_machine_clocks_and_defaults),
		cmocka_unit_test(knows_one_clock_only),
		cmocka_unit_test(declares_tracks),
		cmocka_unit_test(slices_with_every_kind_of_argument),
		cmocka_unit_test(instants_by_scope),
		cmocka_unit_test(counters_are_exact),
		cmocka_unit_test(async_slices_and_flows),
		cmocka_unit_test(after_a_loss_everything_is_said_again),
		cmocka_unit_test(names_beyond_the_table_and_the_largest_event),
		cmocka_unit_test(packets_of_every_length),
		cmocka_unit_test(many_names),
		cmocka_unit_test(a_full_disk_reaches_the_caller),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
