/* SPDX-License-Identifier: BSD-2-Clause */
#include "readers/perfetto_fast.h"

#include <endian.h>
#include <string.h>

#include "readers/wire.h"

#define TAG(number, type) ((uint64_t)(number) << 3 | (type))

/* Field numbers, as in proto/perfetto_trace.proto. */
enum {
	PACKET_TIMESTAMP = TAG(8, WIRE_VARINT),
	PACKET_SEQUENCE = TAG(10, WIRE_VARINT),
	PACKET_EVENT = TAG(11, WIRE_LENGTH),
	PACKET_FLAGS = TAG(13, WIRE_VARINT),

	EVENT_CATEGORY_IID = TAG(3, WIRE_VARINT),
	EVENT_ANNOTATION = TAG(4, WIRE_LENGTH),
	EVENT_TYPE = TAG(9, WIRE_VARINT),
	EVENT_NAME_IID = TAG(10, WIRE_VARINT),
	EVENT_TRACK = TAG(11, WIRE_VARINT),
	EVENT_EXTRA_VALUE = TAG(12, WIRE_VARINT),
	EVENT_COUNTER_VALUE = TAG(30, WIRE_VARINT),
	EVENT_EXTRA_TRACK = TAG(31, WIRE_VARINT),
	EVENT_DOUBLE_COUNTER_VALUE = TAG(44, WIRE_FIXED64),

	ANNOTATION_NAME_IID = TAG(1, WIRE_VARINT),
	ANNOTATION_BOOL = TAG(2, WIRE_VARINT),
	ANNOTATION_UINT = TAG(3, WIRE_VARINT),
	ANNOTATION_INT = TAG(4, WIRE_VARINT),
	ANNOTATION_DOUBLE = TAG(5, WIRE_FIXED64),
	ANNOTATION_STRING = TAG(6, WIRE_LENGTH),
	ANNOTATION_POINTER = TAG(7, WIRE_VARINT),
	ANNOTATION_NAME = TAG(10, WIRE_LENGTH),
};

/* What is left of a message. */
struct rest {
	const uint8_t *at;
	const uint8_t *end;
};

/* One field. */
struct field {
	uint64_t tag;
	uint64_t value; /* VARINT, FIXED64; LENGTH: the length */
	const uint8_t *bytes;
};

static inline bool varint(struct rest *rest, uint64_t *ret_value)
{
	uint64_t value = 0;
	unsigned shift;

	for (shift = 0; shift < 70 && rest->at < rest->end; shift += 7) {
		uint8_t byte = *rest->at++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*ret_value = value;
			return true;
		}
	}
	return false;
}

static inline bool next_field(struct rest *rest, struct field *field)
{
	field->bytes = NULL;
	if (!varint(rest, &field->tag))
		return false;
	switch (field->tag & 7) {
	case WIRE_VARINT:
		return varint(rest, &field->value);
	case WIRE_FIXED64:
		if (rest->end - rest->at < 8)
			return false;
		memcpy(&field->value, rest->at, 8);
		field->value = le64toh(field->value);
		rest->at += 8;
		return true;
	case WIRE_LENGTH:
		if (!varint(rest, &field->value) || field->value > (uint64_t)(rest->end - rest->at))
			return false;
		field->bytes = rest->at;
		rest->at += field->value;
		return true;
	default:
		return false;
	}
}

static char *text(struct fast_packet *fast, const struct field *field)
{
	char *out = fast->text + fast->used;

	if (field->value >= sizeof(fast->text) - fast->used)
		return NULL;
	memcpy(out, field->bytes, field->value);
	out[field->value] = '\0';
	fast->used += field->value + 1;
	return out;
}

static double real(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static bool annotation(struct fast_packet *fast, const struct field *from)
{
	struct rest rest = { from->bytes, from->bytes + from->value };
	Annotation *a = &fast->annotations[fast->event.n_debug_annotations];
	struct field field;

	if (fast->event.n_debug_annotations == FAST_ANNOTATIONS)
		return false;
	fast->event.n_debug_annotations++;
	a->has_name_iid = a->has_bool_value = a->has_uint_value = a->has_int_value = false;
	a->has_double_value = a->has_pointer_value = false;
	a->name = a->string_value = NULL;
	while (rest.at < rest.end) {
		if (!next_field(&rest, &field))
			return false;
		switch (field.tag) {
		case ANNOTATION_NAME_IID:
			a->has_name_iid = true;
			a->name_iid = field.value;
			break;
		case ANNOTATION_BOOL:
			a->has_bool_value = true;
			a->bool_value = field.value != 0;
			break;
		case ANNOTATION_UINT:
			a->has_uint_value = true;
			a->uint_value = field.value;
			break;
		case ANNOTATION_INT:
			a->has_int_value = true;
			a->int_value = (int64_t)field.value;
			break;
		case ANNOTATION_DOUBLE:
			a->has_double_value = true;
			a->double_value = real(field.value);
			break;
		case ANNOTATION_STRING:
			a->string_value = text(fast, &field);
			if (!a->string_value)
				return false;
			break;
		case ANNOTATION_POINTER:
			a->has_pointer_value = true;
			a->pointer_value = field.value;
			break;
		case ANNOTATION_NAME:
			a->name = text(fast, &field);
			if (!a->name)
				return false;
			break;
		default:
			return false;
		}
	}
	return true;
}

static void clear_event(TrackEvent *e)
{
	e->n_category_iids = e->n_debug_annotations = 0;
	e->n_extra_counter_values = e->n_extra_counter_track_uuids = 0;
	e->has_type = e->has_name_iid = e->has_track_uuid = false;
	e->has_counter_value = e->has_double_counter_value = false;
	e->type = PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_UNSPECIFIED;
}

static bool event(struct fast_packet *fast, const struct field *from)
{
	struct rest rest = { from->bytes, from->bytes + from->value };
	TrackEvent *e = &fast->event;
	struct field field;

	clear_event(e);
	while (rest.at < rest.end) {
		if (!next_field(&rest, &field))
			return false;
		switch (field.tag) {
		case EVENT_CATEGORY_IID:
			if (e->n_category_iids == FAST_NUMBERS)
				return false;
			fast->categories[e->n_category_iids++] = field.value;
			break;
		case EVENT_ANNOTATION:
			if (!annotation(fast, &field))
				return false;
			break;
		case EVENT_TYPE:
			e->has_type = true;
			e->type = (Perfetto__Protos__TrackEvent__Type)(uint32_t)field.value;
			break;
		case EVENT_NAME_IID:
			e->has_name_iid = true;
			e->name_iid = field.value;
			break;
		case EVENT_TRACK:
			e->has_track_uuid = true;
			e->track_uuid = field.value;
			break;
		case EVENT_EXTRA_VALUE:
			if (e->n_extra_counter_values == FAST_NUMBERS)
				return false;
			fast->values[e->n_extra_counter_values++] = (int64_t)field.value;
			break;
		case EVENT_EXTRA_TRACK:
			if (e->n_extra_counter_track_uuids == FAST_NUMBERS)
				return false;
			fast->counters[e->n_extra_counter_track_uuids++] = field.value;
			break;
		case EVENT_COUNTER_VALUE:
			e->has_counter_value = true;
			e->counter_value = (int64_t)field.value;
			break;
		case EVENT_DOUBLE_COUNTER_VALUE:
			e->has_double_counter_value = true;
			e->double_counter_value = real(field.value);
			break;
		default:
			return false;
		}
	}
	return true;
}

bool fast_packet_unpack(struct fast_packet *fast, const uint8_t *bytes, size_t size)
{
	struct rest rest = { bytes, bytes + size };
	Packet *packet = &fast->packet;
	struct field field;

	packet->has_timestamp = packet->has_trusted_packet_sequence_id = false;
	packet->has_sequence_flags = false;
	packet->trusted_packet_sequence_id = packet->sequence_flags = 0;
	packet->track_event = NULL;
	fast->used = 0;
	while (rest.at < rest.end) {
		if (!next_field(&rest, &field))
			return false;
		switch (field.tag) {
		case PACKET_TIMESTAMP:
			packet->has_timestamp = true;
			packet->timestamp = field.value;
			break;
		case PACKET_SEQUENCE:
			packet->has_trusted_packet_sequence_id = true;
			packet->trusted_packet_sequence_id = (uint32_t)field.value;
			break;
		case PACKET_FLAGS:
			packet->has_sequence_flags = true;
			packet->sequence_flags = (uint32_t)field.value;
			break;
		case PACKET_EVENT:
			/* One that comes in pieces is put together by protobuf's rules. */
			if (packet->track_event || !event(fast, &field))
				return false;
			packet->track_event = &fast->event;
			break;
		default:
			return false;
		}
	}
	return packet->track_event != NULL;
}

void fast_packet_init(struct fast_packet *fast)
{
	unsigned i;

	perfetto__protos__trace_packet__init(&fast->packet);
	perfetto__protos__track_event__init(&fast->event);
	for (i = 0; i < FAST_ANNOTATIONS; i++) {
		perfetto__protos__debug_annotation__init(&fast->annotations[i]);
		fast->list[i] = &fast->annotations[i];
	}
	fast->event.category_iids = fast->categories;
	fast->event.debug_annotations = fast->list;
	fast->event.extra_counter_values = fast->values;
	fast->event.extra_counter_track_uuids = fast->counters;
}
