/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The protobuf wire format, as far as it must be understood before protobuf-c may be trusted with
 * foreign bytes: protobuf-c says neither where a message stops making sense, nor does it limit how
 * deep messages may contain themselves, which a file could use to overrun the stack.
 */
#ifndef PROFTRACE_READERS_WIRE_H
#define PROFTRACE_READERS_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

enum wire_type {
	WIRE_VARINT = 0,
	WIRE_FIXED64 = 1,
	WIRE_LENGTH = 2,
	WIRE_FIXED32 = 5,
};

enum wire_status {
	WIRE_OK = 0,
	WIRE_SHORT,    /* the bytes end in the middle of the field */
	WIRE_NO_SENSE, /* no file that goes on could make this right */
};

struct wire_field {
	uint32_t number;
	enum wire_type type;
	uint64_t value; /* VARINT; LENGTH: the length */
	size_t header;	/* bytes before the contents: tag, and length or value */
	size_t size; /* of all of it; larger than what there is with WIRE_SHORT, if known, else 0 */
	const char *problem; /* with WIRE_NO_SENSE */
};

/* Reads the field at `bytes`. With WIRE_SHORT `header` is 0 when not even that much was there. */
enum wire_status wire_field(const uint8_t *bytes, size_t size, struct wire_field *ret_field);

/*
 * Checks a whole message and those in it that the descriptor knows. Returns NULL, or what is wrong,
 * and where from `bytes` on.
 */
const char *wire_check(const ProtobufCMessageDescriptor *descriptor, const uint8_t *bytes,
		       size_t size, size_t *ret_offset);

#endif
