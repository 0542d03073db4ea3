/* SPDX-License-Identifier: BSD-2-Clause */
/* The reader of Perfetto traces: what our own files say to it means nothing in those of others. */
#include "read_perfetto_test.h"

/* As the first packet of an own file tells it. */
static void put_version(struct trace *t)
{
	Packet packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
	Perfetto__Protos__ChromeEventBundle bundle = PERFETTO__PROTOS__CHROME_EVENT_BUNDLE__INIT;
	Perfetto__Protos__ChromeMetadata version = PERFETTO__PROTOS__CHROME_METADATA__INIT;
	Perfetto__Protos__ChromeMetadata *list[] = { &version };

	version.name = (char *)(uintptr_t) "proftrace.version";
	version.string_value = (char *)(uintptr_t) "test";
	bundle.n_metadata = 1;
	bundle.metadata = list;
	packet.chrome_events = &bundle;
	put_packet(t, &packet);
}

static void put_sample(struct trace *t, uint64_t track, uint64_t ts, int64_t value)
{
	struct event_packet e;

	event_init(&e, COUNTER, track, ts);
	e.event.has_counter_value = true;
	e.event.counter_value = value;
	put_packet(t, &e.packet);
}

/* A depth may be anything; a thread's time is counted; ours are, but for those that say they are not. */
static void put_counters_of_a_thread(struct trace *t)
{
	Perfetto__Protos__CounterDescriptor any = PERFETTO__PROTOS__COUNTER_DESCRIPTOR__INIT,
					    time = any, sampled = any;
	char *categories[] = { (char *)(uintptr_t) "x", (char *)(uintptr_t) "sampled" };

	time.has_type = true;
	time.type =
		PERFETTO__PROTOS__COUNTER_DESCRIPTOR__BUILTIN_COUNTER_TYPE__COUNTER_THREAD_TIME_NS;
	sampled.n_categories = 2;
	sampled.categories = categories;
	put_track(t, 200, THREAD, "depth", NULL, NULL, &any);
	put_track(t, 201, THREAD, NULL, NULL, NULL, &time);
	put_track(t, 202, THREAD, "level", NULL, NULL, &sampled);
	put_sample(t, 200, 10, 3);
	put_sample(t, 200, 11, -5);
	put_sample(t, 201, 12, 7);
	put_sample(t, 201, 13, -1);
	put_sample(t, 202, 14, -2);
	put_sample(t, GAUGE, 15, -3);
}

static void counters_of_threads(void **state)
{
	struct trace *others = trace_new(), *own = trace_new();

	(void)state;
	put_counters_of_a_thread(others);
	reads(others,
	      "Ct 1/2 10 depth =i3\nCt 1/2 11 depth =i-5\nCn 1/2 12 thread_time =i7\n"
	      "Ct 1/2 13 thread_time =i-1\nCt 1/2 14 level =i-2\n"
	      "C 1/0 15 gauge in bytes =i-3\n",
	      0);
	put_version(own);
	put_counters_of_a_thread(own);
	reads(own,
	      "Cn 1/2 10 depth =i3\nCn 1/2 11 depth =i-5\nCn 1/2 12 thread_time =i7\n"
	      "Cn 1/2 13 thread_time =i-1\nCt 1/2 14 level =i-2\n"
	      "C 1/0 15 gauge in bytes =i-3\n",
	      0);
}

/* An event with one annotation, a number or (where there is one) a text. */
static void put_with(struct trace *t, struct event_packet *e, const char *key, uint64_t value,
		     const char *text)
{
	Annotation a = PERFETTO__PROTOS__DEBUG_ANNOTATION__INIT, *list[] = { &a };

	a.name = (char *)(uintptr_t)key;
	a.has_uint_value = !text;
	a.uint_value = value;
	a.string_value = (char *)(uintptr_t)text;
	e->event.n_debug_annotations = 1;
	e->event.debug_annotations = list;
	put_packet(t, &e->packet);
}

static void put_what_means_something(struct trace *t)
{
	uint64_t arrow = 5;
	struct event_packet e;

	event_init(&e, BEGIN, LANE, 10);
	put_with(t, &e, "id", 7, NULL);
	event_init(&e, INSTANT, THREAD, 11);
	e.event.name = (char *)(uintptr_t) "events lost";
	put_with(t, &e, "count", 12, NULL);
	event_init(&e, INSTANT, THREAD, 12);
	e.event.name = (char *)(uintptr_t) "flow out";
	e.event.n_flow_ids = 1;
	e.event.flow_ids = &arrow;
	put_with(t, &e, "x", 1, NULL);
	event_init(&e, COUNTER, GAUGE, 13);
	e.event.has_double_counter_value = true;
	e.event.double_counter_value = 0.5;
	put_with(t, &e, "value", 6, NULL);
	event_init(&e, COUNTER, GAUGE, 14);
	e.event.has_counter_value = true;
	e.event.counter_value = 8;
	put_with(t, &e, "memory", 0, "alloc");
	event_init(&e, END, LANE, 15);
	put_with(t, &e, "ended", 0, "lost");
}

static void what_only_our_own_files_say(void **state)
{
	struct trace *others = trace_new(), *own = trace_new();
	struct heard *h;

	(void)state;
	put_what_means_something(others);
	reads(others,
	      "b 1/0 10 lane #1000000000000 id=u7\ni 1/2 11 events lost count=u12\n"
	      "i 1/2 12 flow out x=u1\ns 1/2 12 #5\nC 1/0 13 gauge in bytes =d0.5\n"
	      "C 1/0 14 gauge in bytes =i8\ne 1/0 15 lane #1000000000000 ended='lost'\n",
	      0);
	put_version(own);
	put_what_means_something(own);
	h = hear(own->bytes, own->size);
	assert_string_equal(h->text,
			    "b 1/0 10 lane #7\nlost 1/2 11 *12\ns 1/2 12 #5 x=u1\n"
			    "C 1/0 13 gauge in bytes =u6\nalloc 1/0 14 gauge in bytes =i8\n"
			    "e 1/0 15 lane #7\n");
	heard_free(h);
	free(own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counters_of_threads),
		cmocka_unit_test(what_only_our_own_files_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
