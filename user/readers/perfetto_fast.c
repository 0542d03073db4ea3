/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The packets of which a trace has millions, TrackEvents, without the detour of the generated code: that
 * first needs all of a packet checked, then allocates a structure for each message in it. What is not
 * seen here in the form in which it always comes is left to the generated code, whatever it is.
 */
#include <endian.h>
#include <string.h>

#include "readers/perfetto_internal.h"

enum {
	VARINT = 0,
	FIXED64 = 1,
	LENGTH = 2,
};

#define TAG(field, type) ((field) << 3 | (type))

struct span {
	const uint8_t *at;
	const uint8_t *end;
};

/* False: it does not end within the span, or has more bits than there are. */
static inline bool varint(struct span *s, uint64_t *ret_value)
{
	uint64_t value;
	unsigned shift;

	if (s->at == s->end)
		return false;
	value = *s->at++;
	if (value < 0x80) {
		*ret_value = value;
		return true;
	}
	value &= 0x7f;
	for (shift = 7; s->at < s->end && shift < 63; shift += 7) {
		uint8_t byte = *s->at++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*ret_value = value;
			return true;
		}
	}
	if (s->at == s->end || *s->at > 1)
		return false;
	*ret_value = value | (uint64_t)*s->at++ << 63;
	return true;
}

static inline bool fixed64(struct span *s, void *ret_value)
{
	uint64_t value;

	if (s->end - s->at < 8)
		return false;
	memcpy(&value, s->at, sizeof(value));
	value = le64toh(value);
	memcpy(ret_value, &value, sizeof(value));
	s->at += 8;
	return true;
}

static inline bool inside(struct span *s, struct span *ret_inner)
{
	uint64_t length;

	if (!varint(s, &length) || length > (uint64_t)(s->end - s->at))
		return false;
	*ret_inner = (struct span){ s->at, s->at + length };
	s->at += length;
	return true;
}

/* As the generated code has it: a copy that ends with NUL. */
static bool text(struct fast_packet *f, struct span *s, char **ret_text)
{
	struct span inner;
	size_t length;

	if (!inside(s, &inner))
		return false;
	length = (size_t)(inner.end - inner.at);
	if (length >= sizeof(f->text) - f->used)
		return false;
	*ret_text = f->text + f->used;
	memcpy(*ret_text, inner.at, length);
	(*ret_text)[length] = '\0';
	f->used += length + 1;
	return true;
}

static bool annotation(struct fast_packet *f, struct span s, Annotation *a)
{
	uint64_t tag, value;

	*a = f->empty_annotation;
	while (s.at < s.end) {
		if (!varint(&s, &tag))
			return false;
		switch (tag) {
		case TAG(1, VARINT):
			a->has_name_iid = true;
			if (!varint(&s, &a->name_iid))
				return false;
			break;
		case TAG(2, VARINT):
			if (!varint(&s, &value))
				return false;
			a->has_bool_value = true;
			a->bool_value = value != 0;
			break;
		case TAG(3, VARINT):
			a->has_uint_value = true;
			if (!varint(&s, &a->uint_value))
				return false;
			break;
		case TAG(4, VARINT):
			if (!varint(&s, &value))
				return false;
			a->has_int_value = true;
			a->int_value = (int64_t)value;
			break;
		case TAG(5, FIXED64):
			a->has_double_value = true;
			if (!fixed64(&s, &a->double_value))
				return false;
			break;
		case TAG(6, LENGTH):
			if (!text(f, &s, &a->string_value))
				return false;
			break;
		case TAG(7, VARINT):
			a->has_pointer_value = true;
			if (!varint(&s, &a->pointer_value))
				return false;
			break;
		case TAG(10, LENGTH):
			if (!text(f, &s, &a->name))
				return false;
			break;
		default:
			return false;
		}
	}
	return true;
}

/* One more number of a list that has room for FAST_LIST. */
static bool add_varint(struct span *s, uint64_t *list, size_t *n)
{
	return *n < FAST_LIST && varint(s, &list[(*n)++]);
}

static bool add_fixed64(struct span *s, uint64_t *list, size_t *n)
{
	return *n < FAST_LIST && fixed64(s, &list[(*n)++]);
}

static bool add_annotation(struct fast_packet *f, struct span *s)
{
	TrackEvent *e = &f->event;
	struct span inner;

	if (e->n_debug_annotations == FAST_LIST || !inside(s, &inner))
		return false;
	return annotation(f, inner, &f->annotations[e->n_debug_annotations++]);
}

static bool event_field(struct fast_packet *f, struct span *s, uint64_t tag)
{
	TrackEvent *e = &f->event;
	uint64_t value;

	switch (tag) {
	case TAG(3, VARINT):
		return add_varint(s, f->categories, &e->n_category_iids);
	case TAG(4, LENGTH):
		return add_annotation(f, s);
	case TAG(9, VARINT):
		if (!varint(s, &value) || value > 5)
			return false;
		e->has_type = true;
		e->type = (Perfetto__Protos__TrackEvent__Type)value;
		return true;
	case TAG(10, VARINT):
		e->has_name_iid = true;
		return varint(s, &e->name_iid);
	case TAG(11, VARINT):
		e->has_track_uuid = true;
		return varint(s, &e->track_uuid);
	case TAG(12, VARINT):
		return add_varint(s, (uint64_t *)f->extra_values, &e->n_extra_counter_values);
	case TAG(23, LENGTH):
		return text(f, s, &e->name);
	case TAG(30, VARINT):
		e->has_counter_value = true;
		return varint(s, (uint64_t *)&e->counter_value);
	case TAG(31, VARINT):
		return add_varint(s, f->extra_tracks, &e->n_extra_counter_track_uuids);
	case TAG(44, FIXED64):
		e->has_double_counter_value = true;
		return fixed64(s, &e->double_counter_value);
	case TAG(47, FIXED64):
		return add_fixed64(s, f->flows, &e->n_flow_ids);
	case TAG(48, FIXED64):
		return add_fixed64(s, f->terminating_flows, &e->n_terminating_flow_ids);
	case TAG(56, VARINT):
		e->has_callstack_iid = true;
		return varint(s, &e->callstack_iid);
	default:
		return false;
	}
}

static bool track_event(struct fast_packet *f, struct span s)
{
	uint64_t tag;

	f->event = f->empty_event;
	while (s.at < s.end) {
		if (!varint(&s, &tag) || !event_field(f, &s, tag))
			return false;
	}
	return true;
}

void fast_packet_init(struct fast_packet *f)
{
	TrackEvent *e = &f->empty_event;
	unsigned i;

	perfetto__protos__trace_packet__init(&f->empty);
	perfetto__protos__track_event__init(e);
	perfetto__protos__debug_annotation__init(&f->empty_annotation);
	for (i = 0; i < FAST_LIST; i++)
		f->list[i] = &f->annotations[i];
	e->debug_annotations = f->list;
	e->category_iids = f->categories;
	e->extra_counter_values = f->extra_values;
	e->extra_counter_track_uuids = f->extra_tracks;
	e->flow_ids = f->flows;
	e->terminating_flow_ids = f->terminating_flows;
}

const Packet *fast_packet(struct fast_packet *f, const uint8_t *bytes, size_t size)
{
	struct span s = { bytes, bytes + size }, inner;
	Packet *p = &f->packet;
	uint64_t tag, value;

	f->used = 0;
	*p = f->empty;
	while (s.at < s.end) {
		if (!varint(&s, &tag))
			return NULL;
		switch (tag) {
		case TAG(8, VARINT):
			p->has_timestamp = true;
			if (!varint(&s, &p->timestamp))
				return NULL;
			break;
		case TAG(10, VARINT):
			if (!varint(&s, &value) || value > UINT32_MAX)
				return NULL;
			p->has_trusted_packet_sequence_id = true;
			p->trusted_packet_sequence_id = (uint32_t)value;
			break;
		case TAG(11, LENGTH):
			if (p->track_event || !inside(&s, &inner) || !track_event(f, inner))
				return NULL;
			p->track_event = &f->event;
			break;
		case TAG(13, VARINT):
			if (!varint(&s, &value) || value > UINT32_MAX)
				return NULL;
			p->has_sequence_flags = true;
			p->sequence_flags = (uint32_t)value;
			break;
		case TAG(58, VARINT):
			if (!varint(&s, &value) || value > UINT32_MAX)
				return NULL;
			p->has_timestamp_clock_id = true;
			p->timestamp_clock_id = (uint32_t)value;
			break;
		default:
			return NULL;
		}
	}
	return p->track_event ? p : NULL;
}
