/* SPDX-License-Identifier: BSD-2-Clause */
/* The reader of Perfetto traces: what others write, and what makes no sense. (What proftrace writes: test_readers.c.) */
#include "read_perfetto_test.h"

#include <errno.h>

typedef Perfetto__Protos__ClockSnapshot__Clock Clock;

/* --- events ------------------------------------------------------------------------------------ */

static void slices_of_threads_lanes_and_processes(void **state)
{
	struct trace *t = trace_new();

	(void)state;
	put_event(t, BEGIN, THREAD, 10, "a");
	put_event(t, INSTANT, THREAD, 11, "i");
	put_event(t, END, THREAD, 12, NULL);
	put_event(t, BEGIN, LANE, 13, "b");
	put_event(t, BEGIN, LANE, 14, NULL);
	put_event(t, END, LANE, 15, NULL);
	put_event(t, END, LANE, 16, NULL);
	put_event(t, END, LANE, 17, NULL);
	put_event(t, INSTANT, PROCESS, 18, "p");
	put_event(t, INSTANT, 999, 19, "g");
	put_event(t, 77, THREAD, 20, "unknown type");
	reads(t,
	      "B 1/2 10 a\ni 1/2 11 i\nE 1/2 12\n"
	      "b 1/0 13 b #1000000000000\nb 1/0 14 lane #1000000000001\n"
	      "e 1/0 15 lane #1000000000001\ne 1/0 16 b #1000000000000\n"
	      "ip 1/0 18 p\nig 0/0 19 g\n",
	      2);
}

static void annotations(void **state)
{
	struct trace *t = trace_new();
	struct event_packet e;
	Annotation a[9], *list[9], inner[2], *inner_list[2];
	int i;

	(void)state;
	for (i = 0; i < 9; i++) {
		static const char *const keys[] = { "b", "u", "i", "d", "s", "p", "j", "o", "l" };

		perfetto__protos__debug_annotation__init(&a[i]);
		a[i].name = (char *)(uintptr_t)keys[i];
		list[i] = &a[i];
	}
	for (i = 0; i < 2; i++) {
		perfetto__protos__debug_annotation__init(&inner[i]);
		inner[i].has_uint_value = true;
		inner[i].uint_value = 5 + (unsigned)i;
		inner[i].name = (char *)(uintptr_t)(i ? "y" : "x");
		inner_list[i] = &inner[i];
	}
	a[0].has_bool_value = a[0].bool_value = true;
	a[1].has_uint_value = true;
	a[1].uint_value = UINT64_MAX;
	a[2].has_int_value = true;
	a[2].int_value = INT64_MIN;
	a[3].has_double_value = true;
	a[3].double_value = 0.5;
	a[4].string_value = (char *)(uintptr_t) "\x01\xff";
	a[5].has_pointer_value = true;
	a[5].pointer_value = 0xdead;
	a[6].legacy_json_value = (char *)(uintptr_t) "{}";
	a[7].n_dict_entries = 2;
	a[7].dict_entries = inner_list;
	a[8].n_array_values = 2;
	a[8].array_values = inner_list;
	event_init(&e, BEGIN, THREAD, 10);
	e.event.n_debug_annotations = 9;
	e.event.debug_annotations = list;
	put_packet(t, &e.packet);
	reads(t,
	      "B 1/2 10 b=true u=u18446744073709551615 i=i-9223372036854775808 d=d0.5 "
	      "s='\\x01\xef\xbf\xbd' p=pdead j='{}' o.x=u5 o.y=u6 l[0]=u5 l[1]=u6\n",
	      0);
}

static void flows_hold_on_to_slices(void **state)
{
	struct trace *t = trace_new();
	struct event_packet e;
	uint64_t out[] = { 5, 6 }, in[] = { 7 };

	(void)state;
	event_init(&e, BEGIN, THREAD, 10);
	e.event.n_flow_ids = 2;
	e.event.flow_ids = out;
	put_packet(t, &e.packet);
	event_init(&e, END, THREAD, 11);
	e.event.n_terminating_flow_ids = 1;
	e.event.terminating_flow_ids = in;
	put_packet(t, &e.packet);
	reads(t, "B 1/2 10\ns 1/2 10 #5\ns 1/2 10 #6\nf 1/2 11 #7\nE 1/2 11\n", 0);
}

static void counters(void **state)
{
	struct trace *t = trace_new();
	Perfetto__Protos__CounterDescriptor counter = PERFETTO__PROTOS__COUNTER_DESCRIPTOR__INIT;
	struct event_packet e;
	int64_t extra[] = { 4, 5 };
	uint64_t uuids[] = { GAUGE, 200 };

	(void)state;
	counter.unit_name = (char *)(uintptr_t) "Hz";
	counter.has_unit_multiplier = counter.has_is_incremental = counter.is_incremental = true;
	counter.unit_multiplier = 10;
	put_track(t, 200, THREAD, "rate", NULL, NULL, &counter);
	event_init(&e, COUNTER, GAUGE, 10);
	e.event.has_counter_value = true;
	e.event.counter_value = -1;
	put_packet(t, &e.packet);
	e.event.has_counter_value = false;
	e.event.has_double_counter_value = true;
	e.event.double_counter_value = 2.5;
	put_packet(t, &e.packet);
	event_init(&e, BEGIN, THREAD, 11);
	e.event.n_extra_counter_values = e.event.n_extra_counter_track_uuids = 2;
	e.event.extra_counter_values = extra;
	e.event.extra_counter_track_uuids = uuids;
	put_packet(t, &e.packet);
	e.packet.timestamp = 12;
	e.event.type = (int)END;
	put_packet(t, &e.packet);
	put_event(t, COUNTER, THREAD, 13, "no counter");
	put_event(t, COUNTER, GAUGE, 14, "no value");
	reads(t,
	      "C 1/0 10 gauge in bytes =i-1\nC 1/0 10 gauge in bytes =d2.5\n"
	      "C 1/0 11 gauge in bytes =i4\nCt 1/2 11 rate in Hz =i50\nB 1/2 11\n"
	      "C 1/0 12 gauge in bytes =i4\nCt 1/2 12 rate in Hz =i100\nE 1/2 12\n",
	      2);
}

/* --- what is left out -------------------------------------------------------------------------- */

static void expect_left_out(struct trace *t, const char *events, const char *kinds)
{
	struct heard *h = hear(t->bytes, t->size);

	assert_int_equal(h->status, 0);
	assert_string_equal(h->text, events);
	assert_string_equal(h->why.skipped_kinds, kinds);
	assert_int_equal(account_lost(&h->account), 0);
	heard_free(h);
	free(t);
}

static void put_with_arrow(struct trace *t, int type, uint64_t track, uint64_t ts)
{
	struct event_packet e;
	uint64_t arrow = 5;

	event_init(&e, type, track, ts);
	e.event.flow_ids = e.event.terminating_flow_ids = &arrow;
	e.event.n_flow_ids = type == BEGIN;
	e.event.n_terminating_flow_ids = type != BEGIN;
	put_packet(t, &e.packet);
}

/* Arrows hold on to threads; states there are none. */
static void arrows_and_states_without_a_place(void **state)
{
	struct trace *t = trace_new();

	(void)state;
	put_with_arrow(t, BEGIN, LANE, 10);
	put_with_arrow(t, END, LANE, 11);
	put_with_arrow(t, INSTANT, PROCESS, 12);
	put_with_arrow(t, INSTANT, THREAD, 13);
	put_event(t, 5, THREAD, 14, "state");
	expect_left_out(t,
			"b 1/0 10 lane #1000000000000\ne 1/0 11 lane #1000000000000\n"
			"ip 1/0 12\ni 1/2 13\nf 1/2 13 #5\n",
			"states 1, flows outside threads 3");
}

/* No name, a name and a string that were never told; what a sample of a counter has beside its value. */
static void arguments_without_a_place(void **state)
{
	struct trace *t = trace_new();
	struct event_packet e;
	Annotation a[4], *list[4];
	unsigned i;

	(void)state;
	for (i = 0; i < 4; i++) {
		perfetto__protos__debug_annotation__init(&a[i]);
		a[i].has_uint_value = i != 2;
		list[i] = &a[i];
	}
	a[1].has_name_iid = a[2].has_string_value_iid = true;
	a[1].name_iid = a[2].string_value_iid = 9;
	a[2].name = a[3].name = (char *)(uintptr_t) "x";
	event_init(&e, INSTANT, THREAD, 10);
	e.event.n_debug_annotations = 4;
	e.event.debug_annotations = list;
	put_packet(t, &e.packet);
	event_init(&e, COUNTER, GAUGE, 11);
	e.event.has_counter_value = true;
	e.event.n_debug_annotations = 1;
	e.event.debug_annotations = list + 3;
	put_packet(t, &e.packet);
	e.event.n_debug_annotations = 0;
	e.event.has_correlation_id = true;
	put_packet(t, &e.packet);
	expect_left_out(t,
			"i 1/2 10 x=u0\nC 1/0 11 gauge in bytes =i0\nC 1/0 11 gauge in bytes =i0\n",
			"arguments 4, other fields 1");
}

static void more_values_than_tracks(void **state)
{
	struct trace *t = trace_new();
	struct event_packet e;
	int64_t values[] = { 4, 5, 6 };
	double doubles[] = { 7 };
	uint64_t track = GAUGE;

	(void)state;
	event_init(&e, BEGIN, THREAD, 10);
	e.event.n_extra_counter_values = 3;
	e.event.extra_counter_values = values;
	e.event.n_extra_counter_track_uuids = 1;
	e.event.extra_counter_track_uuids = &track;
	e.event.n_extra_double_counter_values = 1;
	e.event.extra_double_counter_values = doubles;
	put_packet(t, &e.packet);
	reads(t, "C 1/0 10 gauge in bytes =i4\nB 1/2 10\n", 3);
}

/* --- what packets of a sequence say to each other ---------------------------------------------- */

static void put_interned(struct trace *t, uint32_t flags, bool dropped, const char *name)
{
	Packet packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
	Perfetto__Protos__InternedData data = PERFETTO__PROTOS__INTERNED_DATA__INIT;
	Perfetto__Protos__EventName one = PERFETTO__PROTOS__EVENT_NAME__INIT, *names[] = { &one };
	Perfetto__Protos__TracePacketDefaults defaults =
		PERFETTO__PROTOS__TRACE_PACKET_DEFAULTS__INIT;
	Perfetto__Protos__TrackEventDefaults event = PERFETTO__PROTOS__TRACK_EVENT_DEFAULTS__INIT;

	packet.has_trusted_packet_sequence_id = packet.has_sequence_flags = true;
	packet.trusted_packet_sequence_id = 1;
	packet.sequence_flags = flags;
	packet.has_previous_packet_dropped = packet.previous_packet_dropped = dropped;
	one.has_iid = true;
	one.iid = 3;
	one.name = (char *)(uintptr_t)name;
	data.n_event_names = name != NULL;
	data.event_names = names;
	packet.interned_data = &data;
	event.has_track_uuid = true;
	event.track_uuid = THREAD;
	defaults.track_event_defaults = &event;
	if (flags & 1)
		packet.trace_packet_defaults = &defaults;
	put_packet(t, &packet);
}

static void put_by_iid(struct trace *t, uint64_t ts)
{
	struct event_packet e;

	event_init(&e, INSTANT, 0, ts);
	e.packet.has_sequence_flags = true;
	e.packet.sequence_flags = 2;
	e.event.has_track_uuid = false;
	e.event.has_name_iid = true;
	e.event.name_iid = 3;
	put_packet(t, &e.packet);
}

static void names_are_those_of_the_sequence(void **state)
{
	struct trace *t = trace_new();

	(void)state;
	put_by_iid(t, 10); /* nothing was said yet */
	put_interned(t, 1, false, "first");
	put_by_iid(t, 11);
	put_interned(t, 2, false, "second"); /* the first counts */
	put_by_iid(t, 12);
	put_interned(t, 2, true, NULL); /* packets are missing: what they said is not known */
	put_by_iid(t, 13);
	put_interned(t, 1, true, "third");
	put_by_iid(t, 14);
	reads(t, "i 1/2 11 first\ni 1/2 12 first\ni 1/2 14 third\n", 2);
}

/* --- clocks ------------------------------------------------------------------------------------ */

static void put_snapshot(struct trace *t, const Clock *clocks, size_t n)
{
	Packet packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
	Perfetto__Protos__ClockSnapshot snapshot = PERFETTO__PROTOS__CLOCK_SNAPSHOT__INIT;
	Clock *list[8];
	size_t i;

	for (i = 0; i < n; i++)
		list[i] = (Clock *)(uintptr_t)&clocks[i];
	snapshot.n_clocks = n;
	snapshot.clocks = list;
	packet.clock_snapshot = &snapshot;
	packet.has_trusted_packet_sequence_id = true;
	packet.trusted_packet_sequence_id = 1;
	put_packet(t, &packet);
}

static void put_on_clock(struct trace *t, uint32_t clock, uint64_t ts)
{
	struct event_packet e;

	event_init(&e, INSTANT, THREAD, ts);
	e.packet.has_timestamp_clock_id = clock != 0;
	e.packet.timestamp_clock_id = clock;
	put_packet(t, &e.packet);
}

#define CLOCK(id, ns)                                                                            \
	{                                                                                        \
		.base = PROTOBUF_C_MESSAGE_INIT(                                                 \
			&perfetto__protos__clock_snapshot__clock__descriptor),                   \
		.has_clock_id = true, .clock_id = (id), .has_timestamp = true, .timestamp = (ns) \
	}

static void all_clocks_become_monotonic(void **state)
{
	struct trace *t = trace_new();
	Clock clocks[] = { CLOCK(6, 5000), CLOCK(3, 1000), CLOCK(1, 700000), CLOCK(64, 10),
			   CLOCK(65, 10) };

	(void)state;
	clocks[3].has_is_incremental = clocks[3].is_incremental = true;
	clocks[3].has_unit_multiplier_ns = true;
	clocks[3].unit_multiplier_ns = 1000;
	put_snapshot(t, clocks, 5);
	put_on_clock(t, 3, 1100);
	put_on_clock(t, 6, 5200);
	put_on_clock(t, 1, 700300);
	put_on_clock(t, 0, 5400); /* boot time, where nothing is said */
	put_on_clock(t, 64, 1);
	put_on_clock(t, 64, 2);
	put_on_clock(t, 65, 20);
	put_on_clock(t, 5, 1); /* not in the snapshot */
	put_on_clock(t, 99, 1);
	put_on_clock(t, 6, 1); /* before there was time */
	reads(t,
	      "clock 0/0 1000 1000 5000 700000\n"
	      "i 1/2 1100\ni 1/2 1200\ni 1/2 1300\ni 1/2 1400\n"
	      "i 1/2 2000\ni 1/2 4000\ni 1/2 1010\n",
	      3);
}

/* Each begins earlier than the one before it, and beside it the clocks of the machine stay what they were. */
static void clocks_of_a_sequence_one_after_the_other(void **state)
{
	struct trace *t = trace_new();
	Clock machine[] = { CLOCK(6, 5000), CLOCK(3, 1000), CLOCK(1, 700000) };

	(void)state;
	put_snapshot(t, machine, 3);
	for (unsigned i = 0; i < 6; i++) {
		Clock own[] = { CLOCK(64 + i, 900 - i), CLOCK(3, 900 - i) };

		own[0].has_is_incremental = own[0].is_incremental = true;
		put_snapshot(t, own, 2);
		put_on_clock(t, 64 + i, 10);
		put_on_clock(t, 6, 5000 + i);
	}
	put_snapshot(t, &machine[1], 1); /* nothing new */
	machine[1].timestamp = 2000;
	put_snapshot(t, &machine[1], 1);
	reads(t,
	      "clock 0/0 1000 1000 5000 700000\n"
	      "i 1/2 910\ni 1/2 1000\ni 1/2 909\ni 1/2 1001\ni 1/2 908\ni 1/2 1002\n"
	      "i 1/2 907\ni 1/2 1003\ni 1/2 906\ni 1/2 1004\ni 1/2 905\ni 1/2 1005\n"
	      "clock 0/0 2000 2000 5000 700000\n",
	      0);
}

static void without_a_snapshot_times_are_taken_as_they_are(void **state)
{
	struct trace *t = trace_new();

	(void)state;
	put_on_clock(t, 6, 5);
	put_on_clock(t, 1, 6);
	reads(t, "i 1/2 5\ni 1/2 6\n", 0);
}

/* --- bundles ----------------------------------------------------------------------------------- */

static void put_bundle(struct trace *t, const void *bytes, size_t size)
{
	Packet packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;

	packet.has_compressed_packets = true;
	packet.compressed_packets.data = packed(bytes, size, 15, &packet.compressed_packets.len);
	put_packet(t, &packet);
	free(packet.compressed_packets.data);
}

static void bundles_are_unpacked(void **state)
{
	struct trace *t = calloc(1, sizeof(*t)), *inner = trace_new();

	(void)state;
	put_event(inner, BEGIN, THREAD, 10, "a");
	put_event(inner, END, THREAD, 11, NULL);
	put_bundle(t, inner->bytes, inner->size);
	put_event(t, INSTANT, THREAD, 12, "b");
	free(inner);
	reads(t, "B 1/2 10 a\nE 1/2 11\ni 1/2 12 b\n", 0);
}

static void bundles_that_make_no_sense(void **state)
{
	struct trace *t = trace_new(), *inner = trace_new();
	size_t before = t->size, large = 65 << 20;
	void *zeros = calloc(1, large);
	Packet packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;

	(void)state;
	put_bundle(inner, inner->bytes, inner->size);
	put_bundle(t, inner->bytes, inner->size);
	expect_error(t->bytes, t->size, before, "within compressed packets");
	t->size = before;
	put_bundle(t, zeros, large); /* a bomb */
	expect_error(t->bytes, t->size, before + 4, "more than 64 MiB");
	t->size = before;
	put_bundle(t, "\n\x7f\x01", 3);
	expect_error(t->bytes, t->size, before, "malformed");
	t->size = before;
	packet.has_compressed_packets = true;
	packet.compressed_packets.data = (uint8_t *)"nonsense";
	packet.compressed_packets.len = 8;
	put_packet(t, &packet);
	expect_error(t->bytes, t->size, before + 2, "cannot be unpacked");
	free(zeros);
	free(inner);
	free(t);
}

/* --- bytes that make no sense ------------------------------------------------------------------ */

static void expect_error_after_tracks(const void *bytes, size_t size, size_t offset,
				      const char *message)
{
	struct trace *t = trace_new();
	size_t before = t->size;

	memcpy(t->bytes + before, bytes, size);
	expect_error(t->bytes, before + size, before + offset, message);
	free(t);
}

#define NONSENSE(bytes, offset, message) \
	expect_error_after_tracks(bytes, sizeof(bytes) - 1, offset, message)

static void bad_bytes(void **state)
{
	(void)state;
	NONSENSE("\x0f", 0, "impossible tag");
	NONSENSE("\x03", 0, "impossible tag"); /* number 0 */
	NONSENSE("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 0, "ten bytes");
	NONSENSE("\n\xff\xff\xff\xff\x7f", 0, "a packet of");
	NONSENSE("\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 0, "impossible length");
	NONSENSE("\n\x03\x08\x01\x07", 4, "impossible tag");
	NONSENSE("\n\x04\x5a\x7f\x01\x02", 2, "longer than the message around it");
	NONSENSE("\n\x02\x58\x01", 2,
		 "does not match its definition"); /* an event that is a number */
}

static void unknown_fields_are_skipped(void **state)
{
	struct trace *t = trace_new();

	(void)state;
	put_field(t, 99, "anything", 8);
	put_field(t, 1, "\xc2\x3e\x01x\xc9\x3e\x01\x02\x03\x04\x05\x06\x07\x08", 14);
	put_event(t, INSTANT, THREAD, 1, "a");
	reads(t, "i 1/2 1 a\n", 0);
}

/* protobuf-c would follow it to the end of the stack. */
static void nesting_is_limited(void **state)
{
	enum {
		DEPTH = 10000
	};
	uint8_t *bytes = malloc(DEPTH * 8), *at = bytes + DEPTH * 8;
	struct trace *t = trace_new();
	size_t size = 0;
	int i;

	(void)state;
	for (i = 0; i < DEPTH; i++) {
		uint8_t head[16];
		size_t n = put_varint(head, 12 << 3 | 2);

		n += put_varint(head + n, size);
		size += n;
		at -= n;
		memcpy(at, head, n);
	}
	struct trace *event = calloc(1, sizeof(*event));
	struct trace *packet = calloc(1, sizeof(*packet));

	put_field(event, 4, at, size);
	put_field(packet, 11, event->bytes, event->size);
	put_field(t, 1, packet->bytes, packet->size);
	struct heard *h = hear(t->bytes, t->size);

	assert_int_equal(h->status, -EBADMSG);
	assert_string_equal(h->why.message, "messages nested too deeply");
	heard_free(h);
	free(event);
	free(packet);
	free(bytes);
	free(t);
}

/* Two bytes of the file become a structure of hundreds: memory for one packet is limited. */
static void a_packet_may_not_claim_all_memory(void **state)
{
	size_t n = 3 << 20, size = 2 * n, at = 0, i;
	uint8_t *bytes = malloc(size + 32);
	struct heard *h;

	(void)state;
	bytes[at++] = 1 << 3 | 2;
	at += put_varint(bytes + at, 1 + 4 + size);
	bytes[at++] = 11 << 3 | 2;
	i = put_varint(bytes + at, size);
	assert_int_equal(i, 4);
	at += i;
	for (i = 0; i < n; i++) {
		bytes[at++] = 4 << 3 | 2;
		bytes[at++] = 0;
	}
	h = hear(bytes, at);
	assert_int_equal(h->status, -EBADMSG);
	assert_non_null(strstr(h->why.message, "not fit into memory"));
	heard_free(h);
	free(bytes);
}

static void cut_anywhere(void **state)
{
	struct trace *t = trace_new();
	size_t tracks = t->size, first, n;

	(void)state;
	put_event(t, BEGIN, THREAD, 10, "a");
	first = t->size;
	put_event(t, END, THREAD, 11, NULL);
	for (n = tracks + 1; n < t->size; n++) {
		struct heard *h = hear(t->bytes, n);

		assert_int_equal(h->status, 0);
		assert_int_equal(h->why.truncated, n != first);
		if (n != first)
			assert_int_equal(h->why.offset, n < first ? tracks : first);
		assert_int_equal(h->n, n >= first);
		heard_free(h);
	}
	/* What a crash left where packets should be. */
	struct heard *h = hear(t->bytes, t->size + 5000);

	assert_int_equal(h->status, 0);
	assert_true(h->why.truncated);
	assert_int_equal(h->why.offset, t->size);
	assert_int_equal(h->n, 2);
	heard_free(h);
	free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slices_of_threads_lanes_and_processes),
		cmocka_unit_test(annotations),
		cmocka_unit_test(flows_hold_on_to_slices),
		cmocka_unit_test(counters),
		cmocka_unit_test(arrows_and_states_without_a_place),
		cmocka_unit_test(arguments_without_a_place),
		cmocka_unit_test(more_values_than_tracks),
		cmocka_unit_test(names_are_those_of_the_sequence),
		cmocka_unit_test(all_clocks_become_monotonic),
		cmocka_unit_test(clocks_of_a_sequence_one_after_the_other),
		cmocka_unit_test(without_a_snapshot_times_are_taken_as_they_are),
		cmocka_unit_test(bundles_are_unpacked),
		cmocka_unit_test(bundles_that_make_no_sense),
		cmocka_unit_test(bad_bytes),
		cmocka_unit_test(unknown_fields_are_skipped),
		cmocka_unit_test(nesting_is_limited),
		cmocka_unit_test(a_packet_may_not_claim_all_memory),
		cmocka_unit_test(cut_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
