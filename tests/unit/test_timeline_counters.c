/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters of threads: what slices counted, nested or not, and what is not known. Then the same facts
 * through both outputs and their readers.
 */
#include "timeline_test.h"

#include <fcntl.h>
#include <math.h>
#include <unistd.h>

#include "formats/sink.h"
#include "formats/reader.h"

#define NONE EVENT_NO_VALUE

static void count(struct test *x, unsigned n, const char *const *names)
{
	const struct name *interned[EVENT_MAX_COUNTERS];
	unsigned i;

	for (i = 0; i < n; i++)
		interned[i] = nm(x, names[i]);
	timeline_count(x->timeline, interned, n);
}

static const char *const two[] = { "cycles", "instructions" };

#define VALUES(...)                                    \
	.counters = (const uint64_t[]){ __VA_ARGS__ }, \
	.n_counters = sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t)

static void see_tracks(struct test *x, uint64_t ts_ns, unsigned n, const char *const *names)
{
	unsigned i;

	for (i = 0; i < n; i++) {
		const struct seen_fact *s = see(x, FACT_TRACK, ts_ns, names[i]);

		assert_non_null(s->first_track.thread);
		assert_int_equal(s->first_track.thread->tid, 10);
	}
}

static void see_arg(const struct seen_fact *s, unsigned i, const char *key, uint64_t value)
{
	assert_true(i < s->n_args);
	assert_string_equal(s->args[i].key->text, key);
	assert_int_equal(s->args[i].type, ARG_UINT);
	assert_int_equal(s->args[i].u, value);
}

static void see_values(const struct seen_fact *s, uint64_t a, uint64_t b)
{
	assert_int_equal(s->n_counters, 2);
	assert_int_equal(s->counters[0], a);
	assert_int_equal(s->counters[1], b);
}

static void slices_nest(void **state)
{
	struct test *x = test_started();
	const struct arg own = { .key = nm(x, "n"), .type = ARG_INT, .i = 7 };
	const struct seen_fact *s;

	(void)state;
	count(x, 2, two);
	PUT(x, EVENT_BEGIN, 10, 10, "outer", VALUES(1000, 500));
	see_tracks(x, 10, 2, two);
	see_values(see(x, FACT_BEGIN, 10, "outer"), 0, 0);
	PUT(x, EVENT_BEGIN, 10, 20, "inner", VALUES(1100, 600));
	see_values(see(x, FACT_BEGIN, 20, "inner"), 100, 100);
	PUT(x, EVENT_END, 10, 30, NULL, VALUES(1300, 1000), .args = &own, .n_args = 1);
	s = see(x, FACT_END, 30, "inner");
	see_values(s, 300, 500);
	assert_int_equal(s->n_args, 4);
	assert_string_equal(s->args[0].key->text, "n");
	see_arg(s, 1, "cycles", 200);
	see_arg(s, 2, "instructions", 400);
	assert_string_equal(s->args[3].key->text, "ipc");
	assert_true(s->args[3].type == ARG_DOUBLE && s->args[3].d == 2.0);
	assert_int_equal(s->selves[0], 200);
	PUT(x, EVENT_BEGIN, 10, 40, "inner", VALUES(1310, 1000));
	see(x, FACT_BEGIN, 40, "inner");
	PUT(x, EVENT_END, 10, 50, NULL, VALUES(1320, 1000));
	see_arg(see(x, FACT_END, 50, "inner"), 0, "cycles", 10);
	PUT(x, EVENT_END, 10, 60, NULL, VALUES(1400, 1000));
	s = see(x, FACT_END, 60, "outer");
	see_arg(s, 0, "cycles", 400);
	see_arg(s, 1, "instructions", 500);
	assert_int_equal(s->selves[0], 400 - 200 - 10);
	assert_int_equal(s->selves[1], 100);
	test_done(x);
}

static void what_is_not_known(void **state)
{
	struct test *x = test_started();
	const struct seen_fact *s;

	(void)state;
	count(x, 2, two);
	/* A slice without a value gets no argument, and no ipc either. */
	PUT(x, EVENT_BEGIN, 10, 10, "a", VALUES(NONE, 5));
	see_tracks(x, 10, 2, two);
	see_values(see(x, FACT_BEGIN, 10, "a"), NONE, 0);
	PUT(x, EVENT_END, 10, 20, NULL, VALUES(100, 15));
	s = see(x, FACT_END, 20, "a");
	see_values(s, 0, 10);
	assert_int_equal(s->n_args, 1);
	see_arg(s, 0, "instructions", 10);
	/* The END of the inner one is lost: the outer one knows its sum, but not what was its own. */
	PUT_AT(x, EVENT_BEGIN, 10, 30, 0, "outer", VALUES(200, 20));
	see(x, FACT_BEGIN, 30, "outer");
	PUT_AT(x, EVENT_BEGIN, 10, 40, 1, "inner", VALUES(300, 30));
	see(x, FACT_BEGIN, 40, "inner");
	PUT_AT(x, EVENT_END, 10, 50, 0, NULL, VALUES(400, 40));
	s = see(x, FACT_END, 50, "inner");
	assert_int_equal(s->end_reason, END_LOST);
	assert_int_equal(s->n_args, 0);
	s = see(x, FACT_END, 50, "outer");
	see_arg(s, 0, "cycles", 200);
	assert_int_equal(s->selves[0], NONE);
	/* Values that go back a little are no counts of 2^64. */
	PUT(x, EVENT_BEGIN, 10, 60, "back", VALUES(500, 50));
	see(x, FACT_BEGIN, 60, "back");
	PUT(x, EVENT_END, 10, 70, NULL, VALUES(499, 50));
	s = see(x, FACT_END, 70, "back");
	see_arg(s, 0, "cycles", 0);
	assert_int_equal(s->n_args, 2); /* nothing can be divided by no cycles */
	/* An END without values. */
	PUT(x, EVENT_BEGIN, 10, 80, "bare", VALUES(600, 60));
	see(x, FACT_BEGIN, 80, "bare");
	PUT(x, EVENT_END, 10, 90, NULL);
	assert_int_equal(see(x, FACT_END, 90, "bare")->n_args, 0);
	test_done(x);
}

static void the_programs_own_argument_stands(void **state)
{
	struct test *x = test_started();
	const struct arg own = { .key = nm(x, "cycles"), .type = ARG_INT, .i = 7 };
	const struct seen_fact *s;

	(void)state;
	count(x, 2, two);
	PUT(x, EVENT_BEGIN, 10, 10, "a", VALUES(1, 1));
	see_tracks(x, 10, 2, two);
	see(x, FACT_BEGIN, 10, "a");
	PUT(x, EVENT_END, 10, 20, NULL, VALUES(3, 3), .args = &own, .n_args = 1);
	s = see(x, FACT_END, 20, "a");
	assert_int_equal(s->n_args, 3);
	assert_int_equal(s->args[0].i, 7);
	see_arg(s, 1, "instructions", 2);
	test_done(x);
}

static void threads_have_their_own(void **state)
{
	static const char *const one[] = { "task_clock" };
	struct test *x = test_started();
	const struct seen_fact *s;

	(void)state;
	count(x, 1, one);
	PUT(x, EVENT_BEGIN, 10, 10, "a", VALUES(UINT64_MAX - 10));
	s = see(x, FACT_TRACK, 10, "task_clock");
	assert_string_equal(s->first_track.unit->text, "ns");
	see(x, FACT_BEGIN, 10, "a");
	PUT(x, EVENT_BEGIN, 11, 20, "b", VALUES(5000));
	see(x, FACT_THREAD, 20, NULL);
	assert_int_equal(see(x, FACT_TRACK, 20, "task_clock")->first_track.thread->tid, 11);
	assert_int_equal(see(x, FACT_BEGIN, 20, "b")->counters[0], 0);
	/* Only differences mean something: they go through zero. */
	PUT(x, EVENT_END, 10, 30, NULL, VALUES(9));
	see_arg(see(x, FACT_END, 30, "a"), 0, "task_clock", 20);
	/* What began with nothing counted, in deep nesting, and a thread that is gone. */
	PUT(x, EVENT_THREAD_EXIT, 11, 40, NULL);
	assert_int_equal(see(x, FACT_END, 40, "b")->n_args, 0);
	see(x, FACT_EXIT, 40, NULL);
	test_done(x);
}

/* --- counters that take turns ------------------------------------------------------------------- */

static void take_turns(struct test *x)
{
	const struct name *shares[] = { nm(x, "cycles_share"), nm(x, "instructions_share") };

	count(x, 2, two);
	timeline_multiplex(x->timeline, shares);
}

/* Value, for how long it was to be counted, for how long it was: of both counters. */
#define TURNS(v0, e0, r0, v1, e1, r1)                                                              \
	VALUES(v0, v1), .counter_enabled = (uint64_t[]){ e0, e1 }, .counter_running = (uint64_t[]) \
	{                                                                                          \
		r0, r1                                                                             \
	}

static void see_share(const struct seen_fact *s, unsigned i, const char *key, double value)
{
	assert_true(i < s->n_args);
	assert_string_equal(s->args[i].key->text, key);
	assert_int_equal(s->args[i].type, ARG_DOUBLE);
	assert_true(s->args[i].d == value);
}

static void estimates_say_their_share(void **state)
{
	struct test *x = test_started();
	const struct seen_fact *s;

	(void)state;
	take_turns(x);
	assert_true(isnan(timeline_share(x->timeline, 0)));
	PUT(x, EVENT_BEGIN, 10, 10, "outer", TURNS(1000, 50, 50, 10, 70, 20));
	see_tracks(x, 10, 2, two);
	see_values(see(x, FACT_BEGIN, 10, "outer"), 0, 0);
	/* All of the time, and three quarters of it. */
	PUT(x, EVENT_BEGIN, 10, 20, "inner", TURNS(1100, 150, 150, 40, 170, 95));
	see_values(see(x, FACT_BEGIN, 20, "inner"), 100, 40);
	/* All of the time, and none of it: there is no value, and the thread's stays where it is. */
	PUT(x, EVENT_END, 10, 30, NULL, TURNS(1300, 250, 250, 40, 270, 95));
	s = see(x, FACT_END, 30, "inner");
	see_values(s, 300, NONE);
	assert_int_equal(s->n_args, 2);
	see_arg(s, 0, "cycles", 200);
	see_share(s, 1, "instructions_share", 0);
	assert_int_equal(s->selves[1], NONE);
	/* A third of the time: 30 + 60 in 150 of 300. What was its own is known of 150 of 200. */
	PUT(x, EVENT_END, 10, 60, NULL, TURNS(1400, 350, 350, 100, 370, 170));
	s = see(x, FACT_END, 60, "outer");
	assert_int_equal(s->n_args, 4);
	see_arg(s, 0, "cycles", 400);
	see_arg(s, 1, "instructions", 180);
	see_share(s, 2, "instructions_share", 0.5);
	assert_string_equal(s->args[3].key->text, "ipc");
	assert_int_equal(s->selves[0], 200);
	assert_int_equal(s->selves[1], 120);
	/* The thread's: 40 and then 60 counted in 75 of the 200 since. */
	see_values(s, 400, 200);
	assert_true(timeline_share(x->timeline, 0) == 1);
	assert_true(timeline_share(x->timeline, 1) == 0.5);
	test_done(x);
}

static void shares_at_their_ends(void **state)
{
	const uint64_t most = UINT64_MAX - 1;
	struct test *x = test_started();
	const struct seen_fact *s;

	(void)state;
	take_turns(x);
	/* Hardly ever is not never, and almost always is not always. */
	PUT(x, EVENT_BEGIN, 10, 10, "a", TURNS(0, 1, 1, 0, 1, 1));
	see_tracks(x, 10, 2, two);
	see(x, FACT_BEGIN, 10, "a");
	PUT(x, EVENT_END, 10, 20, NULL, TURNS(1, 1000001, 2, 7000, 1000001, 1000000));
	s = see(x, FACT_END, 20, "a");
	see_arg(s, 0, "cycles", 1000000);
	see_share(s, 1, "cycles_share", 0.0001);
	see_arg(s, 2, "instructions", 7000);
	see_share(s, 3, "instructions_share", 0.9999);
	/* What is too much for a number; a counter of the kernel's own has no times. */
	PUT(x, EVENT_BEGIN, 10, 30, "b", TURNS(0, 0, 0, 5, 0, 0));
	see(x, FACT_BEGIN, 30, "b");
	PUT(x, EVENT_END, 10, 40, NULL, TURNS(UINT64_MAX / 2, 100, 1, 9, 0, 0));
	s = see(x, FACT_END, 40, "b");
	see_arg(s, 0, "cycles", most);
	see_share(s, 1, "cycles_share", 0.01);
	see_arg(s, 2, "instructions", 4);
	/* Unknown is unknown, whatever its times; and no time at all is no share. */
	PUT(x, EVENT_BEGIN, 10, 50, "c", TURNS(NONE, 200, 100, 3, 200, 100));
	see(x, FACT_BEGIN, 50, "c");
	PUT(x, EVENT_END, 10, 60, NULL, TURNS(7, 300, 150, 3, 200, 100));
	s = see(x, FACT_END, 60, "c");
	assert_int_equal(s->n_args, 1);
	see_arg(s, 0, "instructions", 0);
	test_done(x);
}

/* --- between marks ------------------------------------------------------------------------------ */

static void readings(void **state)
{
	struct test *x = test_started();
	const struct seen_fact *s;

	(void)state;
	/* Nobody said what they are of: that is no fact. */
	PUT(x, EVENT_READING, 10, 10, NULL, VALUES(1000, 500));
	assert_int_equal(x->account.samples_lost, 1);
	count(x, 2, two);
	/* A thread without any mark so far, and one that nobody knew of. */
	PUT(x, EVENT_READING, 10, 20, NULL, VALUES(1000, NONE));
	see_tracks(x, 20, 2, two);
	s = see(x, FACT_READING, 20, "counters");
	see_values(s, 0, NONE);
	assert_int_equal(s->n_args, 1);
	see_arg(s, 0, "cycles", 0);
	PUT(x, EVENT_READING, 11, 20, NULL, VALUES(7, 7));
	see(x, FACT_THREAD, 20, NULL);
	see(x, FACT_TRACK, 20, "cycles");
	see(x, FACT_TRACK, 20, "instructions");
	see_values(see(x, FACT_READING, 20, "counters"), 0, 0);
	/* In a slice, which counts what it counts. */
	PUT(x, EVENT_BEGIN, 10, 30, "a", VALUES(1100, 10));
	see_values(see(x, FACT_BEGIN, 30, "a"), 100, 0);
	PUT(x, EVENT_READING, 10, 60, NULL, VALUES(1200, 20));
	see_values(see(x, FACT_READING, 60, "counters"), 200, 10);
	/* In the midst of the mark that ends it: that one knows better when it was. */
	PUT(x, EVENT_END, 10, 50, NULL, VALUES(1190, 19));
	s = see(x, FACT_END, 50, "a");
	see_arg(s, 0, "cycles", 90);
	see_arg(s, 1, "instructions", 9);
	/* Nothing known is no fact. */
	PUT(x, EVENT_READING, 10, 70, NULL, VALUES(NONE, NONE));
	assert_int_equal(x->account.samples, 4);
	assert_int_equal(x->account.samples_lost, 1);
	assert_int_equal(x->account.written, 2);
	test_done(x);
}

static void readings_out_of_turn(void **state)
{
	struct test *x = test_started();
	const struct seen_fact *s;

	(void)state;
	take_turns(x);
	PUT(x, EVENT_READING, 10, 10, NULL, TURNS(100, 10, 10, 100, 10, 10));
	see_tracks(x, 10, 2, two);
	see_values(see(x, FACT_READING, 10, "counters"), 0, 0);
	/* A reading that is newer than the mark told after it, and the next one. */
	PUT(x, EVENT_READING, 10, 50, NULL, TURNS(150, 60, 60, 125, 60, 35));
	see_values(see(x, FACT_READING, 50, "counters"), 50, 50);
	PUT(x, EVENT_BEGIN, 10, 40, "a", TURNS(140, 50, 50, 120, 50, 30));
	see_values(see(x, FACT_BEGIN, 40, "a"), NONE, NONE);
	PUT(x, EVENT_END, 10, 60, NULL, TURNS(160, 70, 70, 130, 70, 40));
	s = see(x, FACT_END, 60, "a");
	see_arg(s, 0, "cycles", 20);
	see_arg(s, 1, "instructions", 20);
	see_share(s, 2, "instructions_share", 0.5);
	see_values(s, 60, 60);
	assert_true(timeline_share(x->timeline, 1) == 0.5);
	test_done(x);
}

static void without_counters_nothing_is_added(void **state)
{
	struct test *x = test_started();

	(void)state;
	PUT(x, EVENT_BEGIN, 10, 10, "a");
	assert_int_equal(see(x, FACT_BEGIN, 10, "a")->n_counters, 0);
	PUT(x, EVENT_END, 10, 20, NULL);
	assert_int_equal(see(x, FACT_END, 20, "a")->n_args, 0);
	test_done(x);
}

/* Samples before the begin and the end of a slice, as a file has them. */
#define READ(x, time, name, number)                              \
	PUT(x, EVENT_COUNTER, 10, time, name, .of_thread = true, \
	    .args = &(const struct arg){ .type = ARG_INT, .i = (number) }, .n_args = 1)

static void from_a_file(void **state)
{
	struct test *x = test_started();
	const struct seen_fact *s;

	(void)state;
	READ(x, 10, "cycles", 0);
	see_tracks(x, 10, 1, two);
	PUT(x, EVENT_BEGIN, 10, 10, "outer");
	s = see(x, FACT_BEGIN, 10, "outer");
	assert_int_equal(s->n_counters, 1);
	assert_int_equal(s->counters[0], 0);
	/* A second one that begins later: what the outer slice has of it is not known. */
	READ(x, 20, "cycles", 100);
	READ(x, 20, "instructions", 0);
	assert_string_equal(next(x, FACT_TRACK)->name, "instructions");
	PUT(x, EVENT_BEGIN, 10, 20, "inner");
	see_values(see(x, FACT_BEGIN, 20, "inner"), 100, 0);
	READ(x, 30, "cycles", 300);
	READ(x, 30, "instructions", 500);
	PUT(x, EVENT_END, 10, 30, NULL);
	s = see(x, FACT_END, 30, "inner");
	see_arg(s, 0, "cycles", 200);
	see_arg(s, 1, "instructions", 500);
	READ(x, 40, "cycles", 1000);
	PUT(x, EVENT_END, 10, 40, NULL);
	s = see(x, FACT_END, 40, "outer");
	assert_int_equal(s->n_args, 1);
	see_arg(s, 0, "cycles", 1000);
	assert_int_equal(s->selves[0], 800);
	test_done(x);
}

/* No slice comes for them: they are told as they are, and the slices after them have nothing. */
static void alone_in_a_file(void **state)
{
	struct test *x = test_started();
	const struct seen_fact *s;

	(void)state;
	READ(x, 10, "cycles", 5);
	see_tracks(x, 10, 1, two);
	READ(x, 20, "cycles", 6);
	s = see(x, FACT_COUNTER, 10, "cycles");
	assert_int_equal(s->args[0].u, 5);
	PUT(x, EVENT_BEGIN, 10, 30, "a");
	assert_int_equal(see(x, FACT_BEGIN, 30, "a")->counters[0], NONE);
	READ(x, 40, "cycles", 8);
	see(x, FACT_COUNTER, 20, "cycles");
	timeline_finish(x->timeline);
	s = see(x, FACT_COUNTER, 40, "cycles");
	assert_int_equal(s->args[0].u, 8);
	test_done(x);
}

/* --- through the outputs and back -------------------------------------------------------------- */

struct heard {
	char text[4096];
	size_t length;
};

static int hear(void *context, const struct event *e)
{
	struct heard *h = context;
	unsigned i;

	if (e->kind != EVENT_BEGIN && e->kind != EVENT_END && e->kind != EVENT_COUNTER)
		return 0;
	h->length +=
		(size_t)snprintf(h->text + h->length, sizeof(h->text) - h->length, "%c%u %d",
				 " BE-C"[e->kind], e -> of_thread ? e -> tid : 0, (int)e -> ts_ns);
	if (e->kind == EVENT_COUNTER)
		h->length += (size_t)snprintf(h->text + h->length, sizeof(h->text) - h->length,
					      " %s", e->name->text);
	for (i = 0; i < e->n_args; i++)
		h->length += (size_t)snprintf(h->text + h->length, sizeof(h->text) - h->length,
					      " %s=%g", e->args[i].key ? e->args[i].key->text : "",
					      e->args[i].type == ARG_DOUBLE ? e->args[i].d
									    : (double)e->args[i].u);
	h->length += (size_t)snprintf(h->text + h->length, sizeof(h->text) - h->length, "\n");
	assert_true(h->length < sizeof(h->text));
	return 0;
}

static void write_and_read(bool perfetto, struct heard *h)
{
	char directory[] = "/tmp/test_counters.XXXXXX", path[64];
	struct trace_info info = { .clock = { .monotonic = 1 }, .version = "test" };
	struct account account = { 0 };
	struct names *names = names_new(0);
	struct reader_sink to = { hear, h, names, &account, NULL, NULL };
	struct reader_error why;
	struct test *x = test_new();
	struct consumer *consumer;
	struct sink *sink;
	int fd;

	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/out", directory);
	assert_int_equal(sink_open(path, SINK_PLAIN, &sink), 0);
	consumer = perfetto ? perfetto_writer_new(sink, &info) : chrome_writer_new(sink, &info);
	assert_non_null(consumer);
	assert_int_equal(timeline_add_consumer(x->timeline, consumer), 0);
	count(x, 2, two);
	PUT(x, EVENT_BEGIN, 10, 10, "a", VALUES(1000, NONE));
	PUT(x, EVENT_BEGIN, 10, 20, "b", VALUES(1010, 7));
	PUT(x, EVENT_READING, 10, 25, NULL, VALUES(1020, 8));
	PUT(x, EVENT_END, 10, 30, NULL, VALUES(1030, 17));
	PUT(x, EVENT_END, 10, 40, NULL, VALUES(1000000001000, 27));
	assert_int_equal(consumer->ops->close(consumer, &x->account), 0);
	x->next = x->facts.n;
	timeline_free(x->timeline);
	x->timeline = NULL;
	consumer->ops->free(consumer);
	test_done(x);
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	assert_int_equal(trace_read(fd, &to, &why), 0);
	assert_int_equal(account_lost(&account), 0);
	close(fd);
	unlink(path);
	assert_int_equal(rmdir(directory), 0);
	names_free(names);
}

static void both_outputs_say_the_same(void **state)
{
	static const char wanted[] =
		"C10 10 cycles =0\nB0 10\n"
		"C10 20 cycles =10\nC10 20 instructions =0\nB0 20\n"
		"C10 25 cycles =20\nC10 25 instructions =1\n"
		"C10 30 cycles =30\nC10 30 instructions =10\nE0 30 cycles=20 instructions=10 "
		"ipc=0.5\n"
		"C10 40 cycles =1e+12\nC10 40 instructions =20\nE0 40 cycles=1e+12\n";
	struct heard json = { 0 }, perfetto = { 0 };

	(void)state;
	write_and_read(false, &json);
	assert_string_equal(json.text, wanted);
	write_and_read(true, &perfetto);
	assert_string_equal(perfetto.text, wanted);
}

/* Events without times are handled by functions of their own; times that are all 0 say as little. */
static void without_times(void **state)
{
	static const uint64_t no_times[2];
	struct test *x = test_started(), *y = test_started();
	unsigned i, j, open = 0;

	(void)state;
	count(x, 2, two);
	count(y, 2, two);
	srand(1);
	for (i = 0; i < 2000; i++) {
		const uint64_t values[2] = { rand() % 8 ? 10ull * i + rand() % 30 : NONE,
					     rand() % 8 ? (uint64_t)rand() % 100 : NONE };
		struct event e = { .kind = open && (open > 9 || rand() % 2) ? EVENT_END
									    : EVENT_BEGIN,
				   .pid = 10,
				   .tid = 10,
				   .ts_ns = 10 + i,
				   .level = -1,
				   .counters = values,
				   .n_counters = rand() % 16 ? 2 : 0 };

		open += e.kind == EVENT_BEGIN ? 1 : -1;
		put(x, &e);
		e.counter_enabled = e.counter_running = no_times;
		put(y, &e);
	}
	assert_int_equal(x->facts.n, y->facts.n);
	for (i = x->next; i < x->facts.n; i++) {
		const struct seen_fact *a = &x->facts.all[i], *b = &y->facts.all[i];

		assert_int_equal(a->kind, b->kind);
		assert_int_equal(a->n_args, b->n_args);
		for (j = 0; j < a->n_args; j++) {
			assert_string_equal(a->args[j].key->text, b->args[j].key->text);
			assert_int_equal(a->args[j].u, b->args[j].u);
		}
		assert_int_equal(a->n_counters, b->n_counters);
		for (j = 0; j < a->n_counters; j++) {
			assert_int_equal(a->counters[j], b->counters[j]);
			assert_int_equal(a->selves[j], b->selves[j]);
		}
	}
	x->next = x->facts.n;
	y->next = y->facts.n;
	test_done(x);
	test_done(y);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slices_nest),
		cmocka_unit_test(without_times),
		cmocka_unit_test(what_is_not_known),
		cmocka_unit_test(the_programs_own_argument_stands),
		cmocka_unit_test(threads_have_their_own),
		cmocka_unit_test(estimates_say_their_share),
		cmocka_unit_test(shares_at_their_ends),
		cmocka_unit_test(readings),
		cmocka_unit_test(readings_out_of_turn),
		cmocka_unit_test(without_counters_nothing_is_added),
		cmocka_unit_test(from_a_file),
		cmocka_unit_test(alone_in_a_file),
		cmocka_unit_test(both_outputs_say_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
