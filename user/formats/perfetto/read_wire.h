/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks the protobuf wire format before protobuf-c decodes untrusted bytes: protobuf-c neither reports where a message
 * is malformed, nor limits the depth of nested messages, which a file could use to overflow the stack.
 */
#ifndef PROFTRACE_FORMATS_PERFETTO_READ_WIRE_H
#define PROFTRACE_FORMATS_PERFETTO_READ_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "formats/perfetto/fields.h"

enum wire_status {
	WIRE_OK = 0,
	WIRE_SHORT,	/* the bytes end in the middle of the field */
	WIRE_MALFORMED, /* malformed, whatever follows */
};

struct wire_field {
	uint32_t number;
	enum wire_type type;
	uint64_t value; /* VARINT; LENGTH: the length */
	size_t header;	/* bytes before the contents: tag, and length or value */
	size_t size; /* of the whole field; with WIRE_SHORT more than available, or 0 if unknown */
	const char *problem; /* with WIRE_MALFORMED */
};

/* Reads the field at `bytes`. With WIRE_SHORT, `header` is 0 if not even the header is complete. */
enum wire_status wire_read_field(const uint8_t *bytes, size_t size, struct wire_field *ret_field);

/*
 * Checks a message and the nested messages that the descriptor knows. Returns NULL, or what is wrong, and at which
 * offset.
 */
const char *wire_check(const ProtobufCMessageDescriptor *descriptor, const uint8_t *bytes,
		       size_t size, size_t *ret_offset);

#endif
