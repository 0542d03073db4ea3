/* SPDX-License-Identifier: BSD-2-Clause */
/* The checks of the wire format that protobuf-c lacks; see read_wire.h. */
#include "formats/perfetto/read_wire.h"

enum {
	MAX_DEPTH = 24, /* of nested messages; traces need about 6 beside nested annotations */
	MAX_FIELD_NUMBER = (1 << 29) - 1,
};

static enum wire_status wire_read_varint(const uint8_t *bytes, size_t size, uint64_t *ret_value,
					 size_t *ret_used)
{
	uint64_t value = 0;
	size_t i;

	for (i = 0; i < size && i < WIRE_VARINT_MAX; i++) {
		value |= (uint64_t)(bytes[i] & 0x7f) << (7 * i);
		if (!(bytes[i] & 0x80)) {
			*ret_value = value;
			*ret_used = i + 1;
			return WIRE_OK;
		}
	}
	return i == WIRE_VARINT_MAX ? WIRE_MALFORMED : WIRE_SHORT;
}

enum wire_status wire_read_field(const uint8_t *bytes, size_t size, struct wire_field *field)
{
	enum wire_status status;
	uint64_t tag;
	size_t used, n;

	*field = (struct wire_field){ .problem = "a varint of more than ten bytes" };
	status = wire_read_varint(bytes, size, &tag, &used);
	if (status)
		return status;
	field->problem = "a field with an impossible tag";
	if (tag >> 3 == 0 || tag >> 3 > MAX_FIELD_NUMBER)
		return WIRE_MALFORMED;
	field->number = (uint32_t)(tag >> 3);
	field->type = (enum wire_type)(tag & 7);
	switch (field->type) {
	case WIRE_VARINT:
	case WIRE_LENGTH:
		field->problem = "a varint of more than ten bytes";
		status = wire_read_varint(bytes + used, size - used, &field->value, &n);
		if (status)
			return status;
		field->header = used + n;
		break;
	case WIRE_FIXED64:
	case WIRE_FIXED32:
		field->header = used;
		field->value = field->type == WIRE_FIXED64 ? 8 : 4;
		break;
	default:
		return WIRE_MALFORMED;
	}
	field->problem = NULL;
	field->size = field->header;
	if (field->type == WIRE_VARINT)
		return WIRE_OK;
	if (field->value > SIZE_MAX / 2) {
		field->problem = "an impossible length";
		return WIRE_MALFORMED;
	}
	field->size += (size_t)field->value;
	return field->size > size ? WIRE_SHORT : WIRE_OK;
}

static const char *wire_check_message(const ProtobufCMessageDescriptor *descriptor,
				      const uint8_t *bytes, size_t size, unsigned depth,
				      size_t *ret_offset)
{
	size_t at = 0;

	while (at < size) {
		const ProtobufCFieldDescriptor *known;
		struct wire_field field;
		enum wire_status status = wire_read_field(bytes + at, size - at, &field);
		const char *problem = field.problem;
		size_t inside = 0;

		if (status) {
			*ret_offset = at;
			return status == WIRE_MALFORMED
				       ? problem
				       : "a field longer than the message around it";
		}
		known = field.type == WIRE_LENGTH
				? protobuf_c_message_descriptor_get_field(descriptor, field.number)
				: NULL;
		if (known && known->type == PROTOBUF_C_TYPE_MESSAGE) {
			problem = depth == MAX_DEPTH ? "messages nested too deeply"
						     : wire_check_message(known->descriptor,
									  bytes + at + field.header,
									  field.size - field.header,
									  depth + 1, &inside);
			if (problem) {
				*ret_offset = at + field.header + inside;
				return problem;
			}
		}
		at += field.size;
	}
	return NULL;
}

const char *wire_check(const ProtobufCMessageDescriptor *descriptor, const uint8_t *bytes,
		       size_t size, size_t *ret_offset)
{
	return wire_check_message(descriptor, bytes, size, 0, ret_offset);
}
