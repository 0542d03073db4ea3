/* SPDX-License-Identifier: BSD-2-Clause */
/* Any bytes as a packet: what is unpacked by hand is what the generated code makes of it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "readers/perfetto_internal.h"
#include "readers/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void must(int condition)
{
	if (!condition)
		abort();
}

static uint8_t *packed(const Packet *packet, size_t *ret_size)
{
	uint8_t *bytes;

	*ret_size = perfetto__protos__trace_packet__get_packed_size(packet);
	bytes = malloc(*ret_size + 1);
	must(bytes != NULL);
	must(perfetto__protos__trace_packet__pack(packet, bytes) == *ret_size);
	return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct fast_packet fast;
	const Packet *by_hand;
	uint8_t *one, *other;
	size_t one_size, other_size, at;
	Packet *generated;

	fast_packet_init(&fast);
	by_hand = fast_packet(&fast, bytes, size);
	if (!by_hand)
		return 0;
	must(!wire_check(&perfetto__protos__trace_packet__descriptor, bytes, size, &at));
	generated = perfetto__protos__trace_packet__unpack(NULL, size, bytes);
	must(generated != NULL);
	one = packed(by_hand, &one_size);
	other = packed(generated, &other_size);
	must(one_size == other_size && !memcmp(one, other, one_size));
	free(one);
	free(other);
	perfetto__protos__trace_packet__free_unpacked(generated, NULL);
	return 0;
}
