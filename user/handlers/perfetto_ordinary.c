// SPDX-License-Identifier: BSD-2-Clause
/*
 * Ordinary events, which nearly all are: in the order of time, with names that their sequence knows
 * already, and of arguments none or a few numbers. All that is asked first, so that what is left is to
 * write some twenty bytes, whose number is bounded, into a buffer that has room for them: nothing is
 * called for that. The bytes are those that perfetto_event.c would write.
 */
#include "handlers/perfetto_packet.h"

enum {
	MOST_ARGS = 4, /* two of its own, and those of PROF_STEP */
	/* As much as any of these would be given there, so that a buffer is full at the same event. */
	ROOM_ORDINARY = ROOM_EVENT + MOST_ARGS * (ROOM_ANNOTATION + LIMIT_KEY),
	LONGEST_ID = 3,
	LONGEST_TIME = 1 + WIRE_VARINT_MAX,
	LONGEST_TRACK = 1 + WIRE_VARINT_MAX,
	LONGEST_NAMES = 2 * (1 + LONGEST_ID),
	LONGEST_ARG = 2 + 1 + LONGEST_ID + 1 + WIRE_VARINT_MAX,
	LONGEST_HEAD = 4 * 2, /* sequence, flags, event, type */
};

_Static_assert(LONGEST_TIME + LONGEST_HEAD + LONGEST_TRACK + LONGEST_NAMES +
			       MOST_ARGS * LONGEST_ARG <
		       0x80,
	       "its length takes one byte");
_Static_assert(INTERN_MAX_ID <= 1 << (7 * LONGEST_ID), "see above");

/* None, or a single one. */
static inline bool is_known_category(const struct sequence *s, const struct name *category)
{
	return !category || perfetto_defined_parts(&s->interned, category) == 1;
}

static inline bool are_known(const struct sequence *s, const struct fact *fact)
{
	return fact->name && perfetto_is_defined(&s->interned, fact->name, INTERN_NAME) &&
	       is_known_category(s, fact->category);
}

static inline bool is_special(const struct fact *fact)
{
	return fact->callstack || fact->n_counters || fact->end_reason != END_NORMAL;
}

static inline bool is_number(const struct arg *arg)
{
	return arg->type == ARG_UINT || arg->type == ARG_INT || arg->type == ARG_DOUBLE;
}

INLINE bool are_ordinary_args(const struct sequence *s, const struct fact *fact, unsigned n)
{
	if (n > MOST_ARGS)
		return false;
	for (unsigned i = 0; i < n; i++) {
		const struct arg *arg = &fact->args[i];

		if (!is_number(arg) || !arg->key ||
		    !perfetto_is_defined(&s->interned, arg->key, INTERN_KEY))
			return false;
	}
	return true;
}

INLINE struct packet open_packet(char *at, struct sequence *s, bool refers, uint64_t ts_ns,
				 enum event_type type, uint64_t track_uuid)
{
	struct packet packet = { .start = wire_open((uint8_t *)at, TRACE_PACKET) };

	packet.at = put_time_since(packet.start, s, ts_ns);
	packet_head(&packet, s, refers, type, track_uuid);
	return packet;
}

/* Of both lengths it is known that they fit a byte. */
INLINE int close_packet(struct perfetto *p, struct packet *packet)
{
	packet->event[-1] = (uint8_t)(packet->at - packet->event);
	packet->start[-1] = (uint8_t)(packet->at - packet->start);
	sink_commit(p->sink, packet->at - (packet->start - 2));
	return 0;
}

INLINE uint8_t *put_category(uint8_t *at, const struct name *category)
{
	return category ? wire_number(at, EVENT_CATEGORY_IID, category->id) : at;
}

INLINE uint8_t *put_arg(uint8_t *at, const struct arg *arg)
{
	uint8_t *contents = at = wire_open(at, EVENT_ANNOTATION);

	at = wire_number(at, ANNOTATION_NAME_IID, arg->key->id);
	if (arg->type == ARG_DOUBLE)
		at = wire_double(at, ANNOTATION_DOUBLE, arg->d);
	else
		at = wire_any(at, arg->type == ARG_INT ? ANNOTATION_INT : ANNOTATION_UINT, arg->u);
	contents[-1] = (uint8_t)(at - contents);
	return at;
}

/* What is constant where this is called is not asked. */
INLINE int write_event(struct perfetto *p, const struct fact *fact, enum event_type type,
		       uint64_t track_uuid, bool named, unsigned n_args)
{
	struct sequence *s = perfetto_sequence_known(p, fact->thread);
	struct packet packet;

	if (!s || !sink_has_room(p->sink, ROOM_ORDINARY) || fact->ts_ns < s->last_ns ||
	    is_special(fact) || (named && !are_known(s, fact)) ||
	    !are_ordinary_args(s, fact, n_args))
		return perfetto_write_event(p, fact, type, track_uuid);
	packet = open_packet(sink_at(p->sink), s, named || n_args, fact->ts_ns, type, track_uuid);
	if (named) {
		packet.at = wire_number(packet.at, EVENT_NAME_IID, fact->name->id);
		packet.at = put_category(packet.at, fact->category);
	}
	for (unsigned i = 0; i < n_args; i++)
		packet.at = put_arg(packet.at, &fact->args[i]);
	return close_packet(p, &packet);
}

/* Those without arguments need fewer registers, and those with one need no loop: each is by itself. */
#define APART static __attribute__((noinline)) int

APART write_end(struct perfetto *p, const struct fact *fact, uint64_t track_uuid)
{
	return write_event(p, fact, TYPE_END, track_uuid, false, 0);
}

APART write_named(struct perfetto *p, const struct fact *fact, enum event_type type,
		  uint64_t track_uuid)
{
	return write_event(p, fact, type, track_uuid, true, 0);
}

APART write_with_one(struct perfetto *p, const struct fact *fact, enum event_type type,
		     uint64_t track_uuid)
{
	return write_event(p, fact, type, track_uuid, type != TYPE_END, 1);
}

APART write_with_several(struct perfetto *p, const struct fact *fact, enum event_type type,
			 uint64_t track_uuid)
{
	return write_event(p, fact, type, track_uuid, type != TYPE_END, fact->n_args);
}

static inline int write_ordinary(struct perfetto *p, const struct fact *fact, enum event_type type,
				 uint64_t track_uuid)
{
	if (fact->n_args > 1)
		return write_with_several(p, fact, type, track_uuid);
	if (fact->n_args == 1)
		return write_with_one(p, fact, type, track_uuid);
	if (type == TYPE_END)
		return write_end(p, fact, track_uuid);
	return write_named(p, fact, type, track_uuid);
}

int perfetto_write_slice(struct perfetto *p, const struct fact *fact)
{
	if (fact->kind == FACT_BEGIN)
		return write_ordinary(p, fact, TYPE_BEGIN, fact->thread->uuid);
	return write_ordinary(p, fact, TYPE_END, fact->thread->uuid);
}

int perfetto_write_instant(struct perfetto *p, const struct fact *fact, uint64_t track_uuid)
{
	return write_ordinary(p, fact, TYPE_INSTANT, track_uuid);
}

/* One number that Perfetto's counters can hold. */
static inline bool is_ordinary_sample(const struct fact *fact)
{
	const struct arg *arg = fact->args;

	if (fact->n_args != 1 || fact->continued || fact->memory || !is_number(arg))
		return false;
	return arg->type != ARG_UINT || arg->u <= INT64_MAX;
}

int perfetto_write_counters(struct perfetto *p, const struct fact *fact)
{
	struct sequence *s = perfetto_sequence_known(p, fact->thread);
	const struct arg *arg = fact->args;
	struct packet packet;

	if (!s || !sink_has_room(p->sink, ROOM_ORDINARY) || fact->ts_ns < s->last_ns ||
	    !is_ordinary_sample(fact) || !is_known_category(s, fact->category))
		return perfetto_write_samples(p, fact);
	packet = open_packet(sink_at(p->sink), s, fact->category, fact->ts_ns, TYPE_COUNTER,
			     fact->tracks[0]->uuid);
	packet.at = put_category(packet.at, fact->category);
	if (arg->type == ARG_DOUBLE)
		packet.at = wire_double(packet.at, EVENT_DOUBLE_COUNTER_VALUE, arg->d);
	else
		packet.at = wire_any(packet.at, EVENT_COUNTER_VALUE, arg->u);
	return close_packet(p, &packet);
}
