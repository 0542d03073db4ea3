/* SPDX-License-Identifier: BSD-2-Clause */
/* Any bytes as a packet: what is unpacked by hand is what the generated code makes of it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "formats/input.h"
#include "formats/perfetto/reader.h"
#include "formats/perfetto/read_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void must(int condition)
{
	if (!condition)
		abort();
}

/* A packet with all that is unpacked by hand: what it leaves behind must not show in the next one. */
static const uint8_t everything[] = {
	0x40, 0x81, 0x80, 0x04,				/* time */
	0x50, 0x07,					/* sequence */
	0x68, 0x02,					/* flags */
	0xd0, 0x03, 0x40,				/* clock */
	0x5a, 0x5c,					/* event */
	0x48, 0x01,					/* type */
	0x58, 0x88, 0x01,				/* track */
	0x50, 0x09,					/* name */
	0x18, 0x01, 0x18, 0x02,				/* categories */
	0x22, 0x1b, 0x08, 0x03, 0x10, 0x01,		/* an annotation of all types */
	0x18, 0x04, 0x20, 0x05,				/* unsigned, signed */
	0x29, 1,    2,	  3,	4,    5,    6, 7, 8,	/* double */
	0x32, 0x01, 0x61, 0x38, 0x06,			/* string, pointer */
	0x52, 0x03, 0x6b, 0x65, 0x79,			/* key */
	0x22, 0x02, 0x08, 0x03,				/* another one, of none */
	0x60, 0x0b, 0x60, 0x0c,				/* values */
	0xba, 0x01, 0x02, 0x6e, 0x6e,			/* name */
	0xf0, 0x01, 0x0d,				/* counter */
	0xf8, 0x01, 0x0e,				/* track of a value */
	0xe1, 0x02, 1,	  2,	3,    4,    5, 6, 7, 8, /* counter */
	0xf9, 0x02, 1,	  0,	0,    0,    0, 0, 0, 0, /* arrow */
	0x81, 0x03, 2,	  0,	0,    0,    0, 0, 0, 0, /* its end */
	0xc0, 0x03, 0x0f,				/* call stack */
	0,    0,    0,	  0,	0,    0,    0, 0,	/* that may be read */
	0,    0,    0,	  0,	0,    0,    0, 0,
};

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
	uint8_t *padded;
	uint8_t *one, *other;
	size_t one_size, other_size, at;
	Packet *generated;

	fast_packet_init(&fast);
	must(fast_packet_read(&fast, everything, sizeof(everything) - INPUT_PADDING) != NULL);
	padded = malloc(size + INPUT_PADDING);
	must(padded != NULL);
	memcpy(padded, bytes, size);
	/* Anything: more of the same, here. */
	memset(padded + size, size ? bytes[size / 2] : 0xff, INPUT_PADDING);
	by_hand = fast_packet_read(&fast, padded, size);
	free(padded);
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
