// SPDX-License-Identifier: BSD-2-Clause
/*
 * Encodes any TrackEvent straight into the sink's buffer. write_ordinary.c encodes the frequent forms faster and
 * leaves all others to this file.
 *
 * An event is written in two steps. First every name that it refers to is looked up, which may write packets
 * that define new names. Then the buffer reserves space for the longest possible event, and the packet is
 * written from front to back. Nothing is allocated, and no length is computed beforehand.
 */

#include "formats/perfetto/write_packet.h"

/* The interned ids that an event refers to. 0: not interned, so a text is written in full. */
struct refs {
	struct sequence *sequence;
	uint64_t name;
	unsigned categories;
	uint64_t callstack;
	uint64_t keys[EVENT_MAX_ARGS];
};

static unsigned fact_arg_count(const struct fact *fact)
{
	return fact->n_args < EVENT_MAX_ARGS ? fact->n_args : EVENT_MAX_ARGS;
}

/* --- annotations ------------------------------------------------------------------------------- */

static uint8_t *annotation_put_string(uint8_t *at, const struct arg *arg)
{
	size_t length = text_fit(arg->s, arg->length, LIMIT_STRING);
	bool cut = arg->cut || length < arg->length;
	size_t mark = cut ? sizeof(TEXT_CUT_MARK) - 1 : 0;

	at = wire_varint(at, ANNOTATION_STRING << 3 | WIRE_LENGTH);
	at = wire_varint(at, length + mark);
	memcpy(at, arg->s, length);
	memcpy(at + length, TEXT_CUT_MARK, mark);
	return at + length + mark;
}

static uint8_t *annotation_put_value(uint8_t *at, const struct arg *arg)
{
	switch (arg->type) {
	case ARG_INT:
		return wire_number(at, ANNOTATION_INT, (uint64_t)arg->i);
	case ARG_UINT:
		return wire_number(at, ANNOTATION_UINT, arg->u);
	case ARG_DOUBLE:
		return wire_double(at, ANNOTATION_DOUBLE, arg->d);
	case ARG_STRING:
		return annotation_put_string(at, arg);
	case ARG_BOOL:
		return wire_number(at, ANNOTATION_BOOL, arg->u != 0);
	case ARG_POINTER:
		return wire_number(at, ANNOTATION_POINTER, arg->u);
	case ARG_NULL:
		return wire_text(at, ANNOTATION_STRING, "(null)", 6);
	}
	return at;
}

static uint8_t *annotation_put_arg(uint8_t *at, const struct arg *arg, uint64_t key)
{
	uint8_t *contents = at = wire_open(at, EVENT_ANNOTATION);

	if (key)
		at = wire_number(at, ANNOTATION_NAME_IID, key);
	else if (arg->key)
		at = wire_text(at, ANNOTATION_NAME, arg->key->text,
			       text_fit(arg->key->text, arg->key->length, LIMIT_KEY));
	else
		at = wire_text(at, ANNOTATION_NAME, "value", 5);
	return wire_close(contents, annotation_put_value(at, arg));
}

static uint8_t *annotation_put_text(uint8_t *at, const char *key, const char *text)
{
	uint8_t *contents = at = wire_open(at, EVENT_ANNOTATION);

	at = wire_text(at, ANNOTATION_NAME, key, strlen(key));
	return wire_close(contents, wire_text(at, ANNOTATION_STRING, text, strlen(text)));
}

static uint8_t *annotation_put_number(uint8_t *at, const char *key, unsigned field, uint64_t value)
{
	uint8_t *contents = at = wire_open(at, EVENT_ANNOTATION);

	at = wire_text(at, ANNOTATION_NAME, key, strlen(key));
	return wire_close(contents, wire_number(at, field, value));
}

/* What a reader needs to match an allocation with its free. */
static uint8_t *annotation_put_memory(uint8_t *at, const struct memory *memory)
{
	static const char *const changes[] = {
		[MEMORY_ALLOC] = "alloc", [MEMORY_FREE] = "free", [MEMORY_RESET] = "gone"
	};

	at = annotation_put_text(at, "memory", changes[memory->change]);
	if (memory->change == MEMORY_RESET)
		return at;
	at = annotation_put_number(at, "address", ANNOTATION_POINTER, memory->address);
	if (memory->tid)
		at = annotation_put_number(at, "tid", ANNOTATION_UINT, memory->tid);
	return memory->change == MEMORY_ALLOC
		       ? annotation_put_number(at, "size", ANNOTATION_UINT, memory->size)
		       : at;
}

/* --- names, categories, arguments -------------------------------------------------------------- */

static void event_find_refs(struct perfetto *p, const struct fact *fact, bool named,
			    struct refs *refs)
{
	struct sequence *s = perfetto_sequence(p, fact);

	refs->sequence = s;
	refs->name = named ? perfetto_intern(p, s, fact->name, INTERN_NAME) : 0;
	/* The name and the category of a slice are written with its BEGIN. */
	refs->categories = named ? perfetto_intern_category(p, s, fact->category) : 0;
	for (unsigned i = 0; i < fact_arg_count(fact); i++)
		refs->keys[i] = perfetto_intern(p, s, fact->args[i].key, INTERN_KEY);
	refs->callstack = fact->callstack ? perfetto_callstack(p, s, fact->callstack) : 0;
}

static size_t event_max_size(const struct fact *fact)
{
	size_t size = SIZE_EVENT;

	for (unsigned i = 0; i < fact_arg_count(fact); i++) {
		const struct arg *arg = &fact->args[i];

		size += SIZE_ANNOTATION + LIMIT_KEY;
		if (arg->type == ARG_STRING)
			size += arg->length < LIMIT_STRING ? arg->length : LIMIT_STRING;
	}
	return size;
}

static uint8_t *event_put_categories(uint8_t *at, const struct name *category, unsigned parts)
{
	if (!category)
		return at;
	if (!parts && category->length)
		return wire_text(at, EVENT_CATEGORY, category->text,
				 text_fit(category->text, category->length, LIMIT_NAME));
	for (uint64_t iid = category->id; parts > 0; parts--, iid += 1 << INTERN_PART_SHIFT)
		at = wire_number(at, EVENT_CATEGORY_IID, iid);
	return at;
}

static uint8_t *event_put_name(uint8_t *at, const struct name *name, uint64_t iid)
{
	if (iid)
		return wire_number(at, EVENT_NAME_IID, iid);
	if (!name)
		return at;
	return wire_text(at, EVENT_NAME, name->text,
			 text_fit(name->text, name->length, LIMIT_NAME));
}

static uint8_t *event_put_args(uint8_t *at, const struct fact *fact, const struct refs *refs)
{
	for (unsigned i = 0; i < fact_arg_count(fact); i++)
		at = annotation_put_arg(at, &fact->args[i], refs->keys[i]);
	return at;
}

/* Whether the values are of the counters that the defaults of the sequence name, in their order. */
static bool counters_match_sequence(const struct sequence *s, const struct fact *fact)
{
	if (fact->n_counters != s->n_counters)
		return false;
	for (unsigned i = 0; i < fact->n_counters; i++) {
		unsigned which = s->order[i];

		if (fact->counters[which] == EVENT_NO_VALUE ||
		    fact->counter_tracks[which]->uuid != s->counters[i])
			return false;
	}
	return true;
}

/*
 * Perfetto's loader reads the values of an event only up to the first 0 and takes the rest as 0 as well
 * (trace_token_buffer.cc). So values of 0 have to be the last ones.
 */
static bool counters_are_hidden(const struct sequence *s, const struct fact *fact)
{
	bool zero = false;

	if (fact->n_counters != s->n_counters)
		return false;
	for (unsigned i = 0; i < fact->n_counters; i++) {
		if (!fact->counters[s->order[i]])
			zero = true;
		else if (zero)
			return true;
	}
	return false;
}

/*
 * Counter values of a slice. The loader drops an event that does not have exactly one value for each track, in the
 * same order and not packed.
 */
static uint8_t *event_put_counters(uint8_t *at, const struct sequence *s, const struct fact *fact)
{
	if (counters_match_sequence(s, fact)) {
		for (unsigned i = 0; i < fact->n_counters; i++)
			at = wire_number(at, EVENT_EXTRA_VALUE, fact->counters[s->order[i]]);
		return at;
	}
	for (unsigned zero = 0; zero < 2; zero++)
		for (unsigned i = 0; i < fact->n_counters; i++)
			if (fact->counters[i] != EVENT_NO_VALUE && (fact->counters[i] == 0) == zero)
				at = wire_number(at, EVENT_EXTRA_TRACK,
						 fact->counter_tracks[i]->uuid);
	for (unsigned zero = 0; zero < 2; zero++)
		for (unsigned i = 0; i < fact->n_counters; i++)
			if (fact->counters[i] != EVENT_NO_VALUE && (fact->counters[i] == 0) == zero)
				at = wire_number(at, EVENT_EXTRA_VALUE, fact->counters[i]);
	return at;
}

/* --- the events -------------------------------------------------------------------------------- */

static int event_check_counters(struct perfetto *p, struct sequence *s, const struct fact *fact)
{
	if (fact->n_counters > s->n_counters || counters_are_hidden(s, fact))
		return perfetto_sequence_set_counters(p, s, fact);
	return 0;
}

/* An END is written without a name: the loader ignores an END whose name is not that of the open slice. */
int perfetto_write_event(struct perfetto *p, const struct fact *fact, enum event_type type,
			 uint64_t track_uuid)
{
	bool named = type != TYPE_END;
	struct packet packet;
	struct refs refs;
	char *at;
	int r;

	event_find_refs(p, fact, named, &refs);
	if (fact->n_counters) {
		r = event_check_counters(p, refs.sequence, fact);
		if (r < 0)
			return r;
	}
	at = sink_reserve(p->sink, event_max_size(fact));
	if (!at)
		return sink_error(p->sink);
	packet = packet_open(at, refs.sequence, fact->ts_ns, type, track_uuid);
	if (named) {
		packet.at = event_put_name(packet.at, fact->name, refs.name);
		packet.at = event_put_categories(packet.at, fact->category, refs.categories);
	}
	/* The track pairs it with its END; the id of the program is an argument. */
	if (fact->kind == FACT_ASYNC_BEGIN && !fact->tracks[0]->is_given)
		packet.at = annotation_put_number(packet.at, "id", ANNOTATION_UINT, fact->id);
	else if (fact->kind == FACT_ASYNC_BEGIN && fact->flow)
		packet.at = wire_fixed64(packet.at, EVENT_TERMINATING_FLOW, fact->flow);
	packet.at = event_put_args(packet.at, fact, &refs);
	if (refs.callstack)
		packet.at = wire_number(packet.at, EVENT_CALLSTACK, refs.callstack);
	if (fact->end_reason != END_NORMAL)
		packet.at = annotation_put_text(
			packet.at, "ended", fact->end_reason == END_LOST ? "lost" : "unfinished");
	if (fact->n_counters)
		packet.at = event_put_counters(packet.at, refs.sequence, fact);
	packet_close(p, &packet);
	return 0;
}

int perfetto_write_async(struct perfetto *p, const struct fact *fact)
{
	return perfetto_write_event(p, fact, fact->kind == FACT_ASYNC_BEGIN ? TYPE_BEGIN : TYPE_END,
				    fact->tracks[0]->uuid);
}

/* Both ends of a wait are written when it has ended, which is in the order of time for its track. */
int perfetto_write_wait(struct perfetto *p, const struct fact *fact)
{
	struct fact begin = *fact;
	int error;

	begin.ts_ns = fact->begin_ns;
	begin.n_args = 0;
	error = perfetto_write_event(p, &begin, TYPE_BEGIN, fact->tracks[0]->uuid);
	return error ? error : perfetto_write_event(p, fact, TYPE_END, fact->tracks[0]->uuid);
}

/* The instant makes the arrow visible where no slice is open; else it starts or ends at the open slice. */
int perfetto_write_flow(struct perfetto *p, const struct fact *fact, uint64_t track_uuid)
{
	bool out = fact->kind == FACT_FLOW_OUT;
	const char *name = out ? "flow out" : "flow in";
	struct packet packet;
	struct refs refs;
	char *at;

	event_find_refs(p, fact, true, &refs);
	at = sink_reserve(p->sink, event_max_size(fact));
	if (!at)
		return sink_error(p->sink);
	packet = packet_open(at, refs.sequence, fact->ts_ns, TYPE_INSTANT, track_uuid);
	packet.at = wire_text(packet.at, EVENT_NAME, name, strlen(name));
	packet.at = event_put_categories(packet.at, fact->category, refs.categories);
	packet.at = wire_fixed64(packet.at, out ? EVENT_FLOW : EVENT_TERMINATING_FLOW, fact->id);
	packet.at = event_put_args(packet.at, fact, &refs);
	packet_close(p, &packet);
	return 0;
}

/*
 * Counters of Perfetto are int64 or double. A larger unsigned value is written as the nearest double, which viewers
 * show, and exactly in an annotation.
 */
static uint8_t *event_put_counter_value(uint8_t *at, const struct arg *arg)
{
	switch (arg->type) {
	case ARG_DOUBLE:
		return wire_double(at, EVENT_DOUBLE_COUNTER_VALUE, arg->d);
	case ARG_UINT:
	case ARG_POINTER:
		if (arg->u > INT64_MAX) {
			at = wire_double(at, EVENT_DOUBLE_COUNTER_VALUE, (double)arg->u);
			return annotation_put_number(at, "value", ANNOTATION_UINT, arg->u);
		}
		break;
	case ARG_STRING:
	case ARG_NULL: /* not a number */
		return wire_double(at, EVENT_DOUBLE_COUNTER_VALUE, __builtin_nan(""));
	case ARG_INT:
	case ARG_BOOL:
		break;
	}
	return wire_number(at, EVENT_COUNTER_VALUE, arg->u);
}

int perfetto_write_reading(struct perfetto *p, const struct fact *fact)
{
	struct sequence *s = perfetto_sequence(p, fact);

	for (unsigned i = 0; i < fact->n_counters; i++) {
		struct packet packet;
		char *at;

		if (fact->counters[i] == EVENT_NO_VALUE)
			continue;
		at = sink_reserve(p->sink, SIZE_FIXED);
		if (!at)
			return sink_error(p->sink);
		packet = packet_open(at, s, fact->ts_ns, TYPE_COUNTER,
				     fact->counter_tracks[i]->uuid);
		packet.at = wire_number(packet.at, EVENT_COUNTER_VALUE, fact->counters[i]);
		packet_close(p, &packet);
	}
	return 0;
}

int perfetto_write_samples(struct perfetto *p, const struct fact *fact)
{
	struct sequence *s = perfetto_sequence(p, fact);
	unsigned categories = perfetto_intern_category(p, s, fact->category);

	for (unsigned i = 0; i < fact_arg_count(fact); i++) {
		char *at = sink_reserve(p->sink, SIZE_FIXED + SIZE_CATEGORY);
		struct packet packet;

		if (!at)
			return sink_error(p->sink);
		packet = packet_open(at, s, fact->ts_ns, TYPE_COUNTER, fact->tracks[i]->uuid);
		packet.at = event_put_categories(packet.at, fact->category, categories);
		packet.at = event_put_counter_value(packet.at, &fact->args[i]);
		if (fact->continued)
			packet.at =
				annotation_put_number(packet.at, "continued", ANNOTATION_BOOL, 1);
		if (fact->memory)
			packet.at = annotation_put_memory(packet.at, fact->memory);
		packet_close(p, &packet);
	}
	return 0;
}
