/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The packets of which a trace has millions, TrackEvents, without the detour of the generated code: that
 * first needs all of a packet checked, then allocates a structure for each message in it. What is not
 * seen here in the form in which it always comes is left to the generated code, whatever it is.
 */
#include <endian.h>
#include <string.h>

#include "readers/input.h"
#include "readers/perfetto_internal.h"

enum {
	VARINT = 0,
	FIXED64 = 1,
	LENGTH = 2,
};

#define TAG(field, type) ((field) << 3 | (type))

/* Of a field number above 15: both bytes of the tag as they lie there, the first one lowest. */
#define LONG_TAG(field, type) ((TAG(field, type) & 0x7f) | 0x80 | TAG(field, type) >> 7 << 8)

_Static_assert(2 + 10 <= INPUT_PADDING, "a tag and a number may be read before it is seen where "
					"the message ends");

/* Each is called where its tag is known already: nothing of a switch is left there. */
#define INLINE static inline __attribute__((always_inline))

/* All of three and more bytes, up to ten. */
static const uint8_t *long_varint(struct fast_packet *f, const uint8_t *at, uint64_t *ret_value)
{
	const uint64_t each = 0x0101010101010101ull;
	uint64_t bytes, last;

	memcpy(&bytes, at, sizeof(bytes));
	bytes = le64toh(bytes);
	last = ~bytes & each * 0x80;
	if (last) {
		at += __builtin_ctzll(last) / 8 + 1;
		bytes &= last ^ (last - 1); /* up to the last byte, and of that but its value */
	} else {
		at += sizeof(bytes);
	}
	/* Seven bits of each byte: they are put together in pairs, then these, then those. */
	bytes &= each * 0x7f;
	bytes = (bytes & 0x007f007f007f007full) | (bytes & 0x7f007f007f007f00ull) >> 1;
	bytes = (bytes & 0x00003fff00003fffull) | (bytes & 0x3fff00003fff0000ull) >> 2;
	bytes = (bytes & 0x000000000fffffffull) | (bytes & 0x0fffffff00000000ull) >> 4;
	if (!last) {
		bytes |= (uint64_t)(*at & 0x7f) << 56;
		if (*at++ & 0x80) {
			f->bad |= *at > 1; /* more bits than there are */
			bytes |= (uint64_t)*at++ << 63;
		}
	}
	*ret_value = bytes;
	return at;
}

/*
 * These read what stands at `at` and return where it ends. That may be beyond the end of the message, by
 * less than INPUT_PADDING: who has read all of the message looks at that, and at `bad`.
 */
static inline const uint8_t *varint(struct fast_packet *f, const uint8_t *at, uint64_t *ret_value)
{
	if (at[0] < 0x80) {
		*ret_value = at[0];
		return at + 1;
	}
	if (at[1] < 0x80) {
		*ret_value = (at[0] & 0x7f) | (uint64_t)at[1] << 7;
		return at + 2;
	}
	return long_varint(f, at, ret_value);
}

static inline const uint8_t *varint32(struct fast_packet *f, const uint8_t *at, uint32_t *ret_value)
{
	uint64_t value;

	at = varint(f, at, &value);
	f->bad |= value > UINT32_MAX;
	*ret_value = (uint32_t)value;
	return at;
}

static inline const uint8_t *fixed64(const uint8_t *at, void *ret_value)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	value = le64toh(value);
	memcpy(ret_value, &value, sizeof(value));
	return at + sizeof(value);
}

static const uint8_t *bad(struct fast_packet *f, const uint8_t *end)
{
	f->bad = true;
	return end;
}

/* Where the contents begin and end: not behind `end`. */
static inline const uint8_t *inside(struct fast_packet *f, const uint8_t *at, const uint8_t *end,
				    const uint8_t **ret_end)
{
	const uint8_t *from = at;
	uint64_t length;

	at = varint(f, at, &length);
	/* The generated code takes no length of more than five bytes. */
	if (at > end || length > (uint64_t)(end - at) || at - from > 5) {
		*ret_end = end;
		return bad(f, end);
	}
	*ret_end = at + length;
	return at;
}

/* As the generated code has it: a copy that ends with NUL. */
static const uint8_t *text(struct fast_packet *f, const uint8_t *at, const uint8_t *end,
			   char **ret_text)
{
	size_t length;

	at = inside(f, at, end, &end);
	length = (size_t)(end - at);
	if (length >= sizeof(f->text) - f->used)
		return bad(f, end);
	*ret_text = f->text + f->used;
	memcpy(*ret_text, at, length);
	(*ret_text)[length] = '\0';
	f->used += length + 1;
	return end;
}

/* What may be set in it, or is looked at though it is not. */
static inline void annotation_clear(Annotation *a)
{
	a->has_name_iid = a->has_bool_value = a->has_uint_value = a->has_int_value = false;
	a->has_double_value = a->has_pointer_value = false;
	a->uint_value = a->pointer_value = 0;
	a->string_value = a->name = NULL;
}

static inline const uint8_t *annotation_field(struct fast_packet *f, const uint8_t *at,
					      const uint8_t *end, Annotation *a)
{
	uint64_t value;

	switch (*at++) {
	case TAG(1, VARINT):
		a->has_name_iid = true;
		return varint(f, at, &a->name_iid);
	case TAG(2, VARINT):
		at = varint(f, at, &value);
		a->has_bool_value = true;
		a->bool_value = value != 0;
		return at;
	case TAG(3, VARINT):
		a->has_uint_value = true;
		return varint(f, at, &a->uint_value);
	case TAG(4, VARINT):
		a->has_int_value = true;
		return varint(f, at, (uint64_t *)&a->int_value);
	case TAG(5, FIXED64):
		a->has_double_value = true;
		return fixed64(at, &a->double_value);
	case TAG(6, LENGTH):
		return text(f, at, end, &a->string_value);
	case TAG(7, VARINT):
		a->has_pointer_value = true;
		return varint(f, at, &a->pointer_value);
	case TAG(10, LENGTH):
		return text(f, at, end, &a->name);
	default:
		return bad(f, end);
	}
}

static const uint8_t *add_annotation(struct fast_packet *f, const uint8_t *at, const uint8_t *end)
{
	TrackEvent *e = &f->event;
	Annotation *a = &f->annotations[e->n_debug_annotations];

	if (e->n_debug_annotations == FAST_LIST)
		return bad(f, end);
	e->n_debug_annotations++;
	annotation_clear(a);
	at = inside(f, at, end, &end);
	if (at < end && *at == TAG(1, VARINT)) {
		a->has_name_iid = true;
		at = varint(f, at + 1, &a->name_iid);
	}
	while (at < end)
		at = annotation_field(f, at, end, a);
	return at == end ? at : bad(f, end);
}

/* One more number of a list that has room for FAST_LIST. */
static inline const uint8_t *add_varint(struct fast_packet *f, const uint8_t *at, uint64_t *list,
					size_t *n)
{
	uint64_t value;

	at = varint(f, at, &value);
	if (*n == FAST_LIST)
		f->bad = true;
	else
		list[(*n)++] = value;
	return at;
}

static inline const uint8_t *add_fixed64(struct fast_packet *f, const uint8_t *at, uint64_t *list,
					 size_t *n)
{
	if (*n == FAST_LIST)
		f->bad = true;
	else
		fixed64(at, &list[(*n)++]);
	return at + sizeof(*list);
}

/* Those with a tag of two bytes. */
static const uint8_t *seldom(struct fast_packet *f, const uint8_t *at, const uint8_t *end)
{
	TrackEvent *e = &f->event;
	unsigned tag = at[0] | (unsigned)at[1] << 8;

	at += 2;
	switch (tag) {
	case LONG_TAG(23, LENGTH):
		return text(f, at, end, &e->name);
	case LONG_TAG(30, VARINT):
		e->has_counter_value = true;
		return varint(f, at, (uint64_t *)&e->counter_value);
	case LONG_TAG(31, VARINT):
		return add_varint(f, at, f->extra_tracks, &e->n_extra_counter_track_uuids);
	case LONG_TAG(44, FIXED64):
		e->has_double_counter_value = true;
		return fixed64(at, &e->double_counter_value);
	case LONG_TAG(47, FIXED64):
		return add_fixed64(f, at, f->flows, &e->n_flow_ids);
	case LONG_TAG(48, FIXED64):
		return add_fixed64(f, at, f->terminating_flows, &e->n_terminating_flow_ids);
	case LONG_TAG(56, VARINT):
		e->has_callstack_iid = true;
		return varint(f, at, &e->callstack_iid);
	default:
		return bad(f, end);
	}
}

static inline void event_clear(TrackEvent *e)
{
	e->has_type = false;
	e->type = PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_UNSPECIFIED;
	e->has_name_iid = e->has_track_uuid = e->has_callstack_iid = false;
	e->has_counter_value = e->has_double_counter_value = false;
	e->name = NULL;
	e->n_category_iids = e->n_debug_annotations = 0;
	e->n_extra_counter_values = e->n_extra_counter_track_uuids = 0;
	e->n_flow_ids = e->n_terminating_flow_ids = 0;
}

INLINE const uint8_t *event_field(struct fast_packet *f, const uint8_t *at, const uint8_t *end)
{
	TrackEvent *e = &f->event;

	switch (*at) {
	case TAG(3, VARINT):
		return add_varint(f, at + 1, f->categories, &e->n_category_iids);
	case TAG(4, LENGTH):
		return add_annotation(f, at + 1, end);
	case TAG(9, VARINT):
		f->bad |= at[1] > 5;
		e->has_type = true;
		e->type = (Perfetto__Protos__TrackEvent__Type)at[1];
		return at + 2;
	case TAG(10, VARINT):
		e->has_name_iid = true;
		return varint(f, at + 1, &e->name_iid);
	case TAG(11, VARINT):
		e->has_track_uuid = true;
		return varint(f, at + 1, &e->track_uuid);
	case TAG(12, VARINT):
		return add_varint(f, at + 1, (uint64_t *)f->extra_values,
				  &e->n_extra_counter_values);
	default:
		return seldom(f, at, end);
	}
}

/* First what most of them begin with, in the order in which it comes. */
static const uint8_t *track_event(struct fast_packet *f, const uint8_t *at, const uint8_t *end)
{
	TrackEvent *e = &f->event;

	event_clear(e);
	if (at < end && *at == TAG(9, VARINT))
		at = event_field(f, at, end);
	if (at < end && *at == TAG(11, VARINT))
		at = event_field(f, at, end);
	if (at < end && *at == TAG(10, VARINT))
		at = event_field(f, at, end);
	if (at < end && *at == TAG(3, VARINT))
		at = event_field(f, at, end);
	while (at < end)
		at = event_field(f, at, end);
	return at == end ? at : bad(f, end);
}

void fast_packet_init(struct fast_packet *f)
{
	TrackEvent *e = &f->event;
	unsigned i;

	perfetto__protos__trace_packet__init(&f->packet);
	perfetto__protos__track_event__init(e);
	for (i = 0; i < FAST_LIST; i++) {
		perfetto__protos__debug_annotation__init(&f->annotations[i]);
		f->list[i] = &f->annotations[i];
	}
	e->debug_annotations = f->list;
	e->category_iids = f->categories;
	e->extra_counter_values = f->extra_values;
	e->extra_counter_track_uuids = f->extra_tracks;
	e->flow_ids = f->flows;
	e->terminating_flow_ids = f->terminating_flows;
}

static inline void packet_clear(Packet *p)
{
	p->has_timestamp = p->has_trusted_packet_sequence_id = false;
	p->has_sequence_flags = p->has_timestamp_clock_id = false;
	p->trusted_packet_sequence_id = p->sequence_flags = p->timestamp_clock_id = 0;
	p->track_event = NULL;
}

static const uint8_t *packet_event(struct fast_packet *f, const uint8_t *at, const uint8_t *end)
{
	if (f->packet.track_event)
		return bad(f, end);
	f->packet.track_event = &f->event;
	at = inside(f, at, end, &end);
	return track_event(f, at, end);
}

INLINE const uint8_t *packet_field(struct fast_packet *f, const uint8_t *at, const uint8_t *end)
{
	Packet *p = &f->packet;

	switch (*at) {
	case TAG(8, VARINT):
		p->has_timestamp = true;
		return varint(f, at + 1, &p->timestamp);
	case TAG(10, VARINT):
		p->has_trusted_packet_sequence_id = true;
		return varint32(f, at + 1, &p->trusted_packet_sequence_id);
	case TAG(11, LENGTH):
		return packet_event(f, at + 1, end);
	case TAG(13, VARINT):
		p->has_sequence_flags = true;
		return varint32(f, at + 1, &p->sequence_flags);
	case LONG_TAG(58, VARINT) & 0xff:
		f->bad |= at[1] != LONG_TAG(58, VARINT) >> 8;
		p->has_timestamp_clock_id = true;
		return varint32(f, at + 2, &p->timestamp_clock_id);
	default:
		return bad(f, end);
	}
}

const Packet *fast_packet(struct fast_packet *f, const uint8_t *bytes, size_t size)
{
	const uint8_t *at = bytes, *end = bytes + size;
	Packet *p = &f->packet;

	f->used = 0;
	f->bad = false;
	packet_clear(p);
	if (at < end && *at == TAG(8, VARINT))
		at = packet_field(f, at, end);
	if (at < end && *at == TAG(10, VARINT))
		at = packet_field(f, at, end);
	if (at < end && *at == TAG(13, VARINT))
		at = packet_field(f, at, end);
	while (at < end)
		at = packet_field(f, at, end);
	return at == end && !f->bad && p->track_event ? p : NULL;
}
