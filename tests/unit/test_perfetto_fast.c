/* SPDX-License-Identifier: BSD-2-Clause */
/* The fast way to take packets apart says what protobuf-c says, or nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "readers/perfetto_fast.h"

static uint64_t seed = 5;

static uint64_t number(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return seed >> 16 >> (seed >> 58);
}

static bool maybe(void)
{
	return number() % 2;
}

/* A packet of what the fast way knows, each field there or not. */
struct made {
	Packet packet;
	TrackEvent event;
	Annotation annotations[FAST_ANNOTATIONS];
	Annotation *list[FAST_ANNOTATIONS];
	uint64_t numbers[3][FAST_NUMBERS];
};

static void make_annotation(Annotation *a)
{
	static char texts[][12] = { "", "a", "some text", "gr\303\274n" };

	perfetto__protos__debug_annotation__init(a);
	a->has_name_iid = maybe();
	a->name_iid = number();
	a->name = maybe() ? NULL : texts[number() % 4];
	a->string_value = maybe() ? NULL : texts[number() % 4];
	a->has_bool_value = maybe();
	a->bool_value = maybe();
	a->has_uint_value = maybe();
	a->uint_value = number();
	a->has_int_value = maybe();
	a->int_value = -(int64_t)number();
	a->has_double_value = maybe();
	a->double_value = (double)number() / 3;
	a->has_pointer_value = maybe();
	a->pointer_value = number();
}

static void make(struct made *m)
{
	unsigned i, k;

	perfetto__protos__trace_packet__init(&m->packet);
	perfetto__protos__track_event__init(&m->event);
	m->packet.has_timestamp = maybe();
	m->packet.timestamp = number();
	m->packet.has_trusted_packet_sequence_id = maybe();
	m->packet.trusted_packet_sequence_id = (uint32_t)number();
	m->packet.has_sequence_flags = maybe();
	m->packet.sequence_flags = number() % 4;
	m->packet.track_event = &m->event;
	for (i = 0; i < 3; i++) {
		for (k = 0; k < FAST_NUMBERS; k++)
			m->numbers[i][k] = number();
	}
	m->event.n_category_iids = number() % (FAST_NUMBERS + 1);
	m->event.category_iids = m->numbers[0];
	m->event.n_extra_counter_values = number() % (FAST_NUMBERS + 1);
	m->event.extra_counter_values = (int64_t *)m->numbers[1];
	m->event.n_extra_counter_track_uuids = number() % (FAST_NUMBERS + 1);
	m->event.extra_counter_track_uuids = m->numbers[2];
	m->event.has_type = maybe();
	m->event.type = (Perfetto__Protos__TrackEvent__Type)(number() % 6);
	m->event.has_name_iid = maybe();
	m->event.name_iid = number();
	m->event.has_track_uuid = maybe();
	m->event.track_uuid = number();
	m->event.has_counter_value = maybe();
	m->event.counter_value = -(int64_t)number();
	m->event.has_double_counter_value = maybe();
	m->event.double_counter_value = (double)number() / 7;
	m->event.n_debug_annotations = number() % (FAST_ANNOTATIONS + 1);
	m->event.debug_annotations = m->list;
	for (i = 0; i < FAST_ANNOTATIONS; i++) {
		m->list[i] = &m->annotations[i];
		make_annotation(m->list[i]);
	}
}

static uint8_t *pack(const Packet *packet, size_t *ret_size)
{
	uint8_t *bytes;

	*ret_size = perfetto__protos__trace_packet__get_packed_size(packet);
	bytes = malloc(*ret_size + 1);
	assert_non_null(bytes);
	perfetto__protos__trace_packet__pack(packet, bytes);
	return bytes;
}

static void check_same(const Packet *a, const uint8_t *bytes, size_t size)
{
	size_t again_size;
	uint8_t *again = pack(a, &again_size);

	assert_int_equal(again_size, size);
	assert_memory_equal(again, bytes, size);
	free(again);
}

static void says_the_same(void **state)
{
	struct fast_packet *fast = calloc(1, sizeof(*fast));
	struct made *m = calloc(1, sizeof(*m));
	unsigned i;

	(void)state;
	assert_non_null(fast);
	assert_non_null(m);
	fast_packet_init(fast);
	for (i = 0; i < 20000; i++) {
		uint8_t *bytes, *exact;
		size_t size, k;

		make(m);
		bytes = pack(&m->packet, &size);
		assert_true(fast_packet_unpack(fast, bytes, size));
		check_same(&fast->packet, bytes, size);
		/* Cut anywhere, in memory that ends there: nothing is read beyond. */
		k = number() % (size + 1);
		exact = malloc(k ? k : 1);
		assert_non_null(exact);
		memcpy(exact, bytes, k);
		fast_packet_unpack(fast, exact, k);
		free(exact);
		free(bytes);
	}
	free(m);
	free(fast);
}

/* Of damaged bytes it says nothing, or what protobuf-c says. */
static void damaged(void **state)
{
	struct fast_packet *fast = calloc(1, sizeof(*fast));
	struct made *m = calloc(1, sizeof(*m));
	unsigned i, understood = 0;

	(void)state;
	assert_non_null(fast);
	assert_non_null(m);
	fast_packet_init(fast);
	for (i = 0; i < 20000; i++) {
		uint8_t *bytes, *wanted;
		size_t size, wanted_size;
		Packet *packet;

		make(m);
		bytes = pack(&m->packet, &size);
		bytes[number() % size] ^= (uint8_t)(1u << number() % 8);
		if (fast_packet_unpack(fast, bytes, size)) {
			understood++;
			packet = perfetto__protos__trace_packet__unpack(NULL, size, bytes);
			assert_non_null(packet);
			wanted = pack(packet, &wanted_size);
			check_same(&fast->packet, wanted, wanted_size);
			free(wanted);
			perfetto__protos__trace_packet__free_unpacked(packet, NULL);
		}
		free(bytes);
	}
	assert_true(understood > 1000);
	free(m);
	free(fast);
}

static void leaves_to_others(void **state)
{
	struct fast_packet *fast = calloc(1, sizeof(*fast));
	struct made *m = calloc(1, sizeof(*m));
	uint64_t flow = 7;
	uint8_t *bytes;
	size_t size;

	(void)state;
	assert_non_null(fast);
	assert_non_null(m);
	fast_packet_init(fast);
	assert_false(fast_packet_unpack(fast, (const uint8_t *)"", 0));
	make(m);
	m->event.n_flow_ids = 1;
	m->event.flow_ids = &flow;
	bytes = pack(&m->packet, &size);
	assert_false(fast_packet_unpack(fast, bytes, size));
	free(bytes);
	make(m);
	m->packet.track_event = NULL;
	bytes = pack(&m->packet, &size);
	assert_false(fast_packet_unpack(fast, bytes, size));
	free(bytes);
	free(m);
	free(fast);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_the_same),
		cmocka_unit_test(damaged),
		cmocka_unit_test(leaves_to_others),
	};

	return cmocka_run_group_tests_name("perfetto_fast", tests, NULL, NULL);
}
