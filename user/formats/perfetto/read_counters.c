/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Samples of counters, in events of their own or as extra values of the begin or the end of a slice. Hardware counters
 * of threads, memory pools and numbers that are too large for Perfetto are recognised in our own files only.
 */
#include "formats/perfetto/read_fields.h"

/* Our own files mark samples that they repeat from an earlier file. */
static bool sample_is_continued(const struct perfetto *p, struct sequence *s,
				const TrackEvent *event)
{
	for (size_t i = 0; i < event->n_debug_annotations && p->own; i++) {
		const Annotation *a = event->debug_annotations[i];
		const char *key =
			a->has_bool_value && a->bool_value ? annotation_key_text(s, a) : NULL;

		if (key && text_equals(key, "continued"))
			return true;
	}
	return false;
}

/*
 * A hardware counter of a thread never decreases, and slices are charged with its differences. In files of others only
 * the builtin type of the counter shows this: another counter may be anything, such as a depth or a temperature.
 */
static bool track_is_counted(const struct perfetto *p, const struct place *place)
{
	const struct arg *value = p->draft->args;

	if (p->own)
		return !place->is_sampled;
	return place->is_counted && value->type == ARG_INT && value->i >= 0;
}

static int send_counter(struct perfetto *p, const struct place *place, uint64_t ts_ns,
			const struct name *category)
{
	draft_event(p->draft, EVENT_COUNTER, ts_ns, place->pid, place->tid);
	p->draft->event.name = place->name;
	p->draft->event.category = category;
	p->draft->event.unit = place->unit;
	p->draft->event.of_thread = place->tid && track_is_counted(p, place);
	p->draft->event.on_thread = place->tid && !p->draft->event.of_thread;
	p->draft->event.continued = p->continued;
	return draft_send(p->draft);
}

static int counter_int(struct perfetto *p, struct place *place, int64_t value, uint64_t ts_ns,
		       const struct name *category)
{
	int64_t product;

	draft_clear_args(p->draft);
	if (__builtin_mul_overflow(value, place->multiplier, &product)) {
		draft_double(p->draft, NULL, (double)value * (double)place->multiplier);
		return send_counter(p, place, ts_ns, category);
	}
	if (place->is_incremental) {
		place->sum = (int64_t)((uint64_t)place->sum + (uint64_t)product);
		product = place->sum;
	}
	draft_int(p->draft, NULL, product);
	return send_counter(p, place, ts_ns, category);
}

static int counter_double(struct perfetto *p, struct place *place, double value, uint64_t ts_ns,
			  const struct name *category)
{
	draft_clear_args(p->draft);
	value *= (double)place->multiplier;
	if (place->is_incremental)
		value = place->double_sum += value;
	draft_double(p->draft, NULL, value);
	return send_counter(p, place, ts_ns, category);
}

/* The annotations of a sample of a memory pool in our own files; NULL: missing. */
struct memory_sample {
	const Annotation *change, *address, *tid, *size;
};

static void memory_sample_annotation(struct memory_sample *m, const char *key, const Annotation *a)
{
	if (!m->change && text_equals(key, "memory"))
		m->change = a;
	else if (!m->address && text_equals(key, "address"))
		m->address = a;
	else if (!m->tid && text_equals(key, "tid"))
		m->tid = a;
	else if (!m->size && text_equals(key, "size"))
		m->size = a;
}

/* Reads the allocation or the free behind the sample. False: it has none. */
static bool memory_sample_read(struct perfetto *p, struct sequence *s, const TrackEvent *event,
			       const struct place *place, uint64_t ts_ns)
{
	struct memory_sample m = { 0 };
	enum event_kind kind;

	for (size_t i = 0; i < event->n_debug_annotations; i++) {
		const char *key = annotation_key_text(s, event->debug_annotations[i]);

		if (key)
			memory_sample_annotation(&m, key, event->debug_annotations[i]);
	}
	if (!m.change || !m.change->string_value)
		return false;
	if (text_equals(m.change->string_value, "alloc"))
		kind = EVENT_ALLOC;
	else if (text_equals(m.change->string_value, "free"))
		kind = EVENT_FREE;
	else if (text_equals(m.change->string_value, "gone"))
		kind = EVENT_MEMORY_RESET;
	else
		return false;
	draft_clear_args(p->draft);
	draft_int(p->draft, NULL, event->counter_value);
	draft_event(p->draft, kind, ts_ns, place->pid, m.tid ? (uint32_t)m.tid->uint_value : 0);
	p->draft->event.name = place->name;
	p->draft->event.category = event_category(p, s, event);
	p->draft->event.unit = place->unit;
	p->draft->event.continued = p->continued;
	p->draft->event.id = m.address ? m.address->pointer_value : 0;
	p->draft->event.size = m.size ? m.size->uint_value : 0;
	return true;
}

int perfetto_counter(struct perfetto *p, struct sequence *s, const TrackEvent *event,
		     struct place *place, uint64_t ts_ns)
{
	const struct name *category = event_category(p, s, event);
	size_t exact;

	if (place->kind != PLACE_COUNTER ||
	    (!event->has_counter_value && !event->has_double_counter_value)) {
		reader_lost(p->sink, LOST_MALFORMED);
		return 0;
	}
	if (!place->name)
		place->name = event_name(p, s, event);
	p->continued = sample_is_continued(p, s, event);
	if (!p->own)
		p->left_out[LEFT_ARGS] += event->n_debug_annotations;
	if (event->has_counter_value && event->n_debug_annotations && p->own &&
	    memory_sample_read(p, s, event, place, ts_ns))
		return draft_send(p->draft);
	if (event->has_counter_value)
		return counter_int(p, place, event->counter_value, ts_ns, category);
	exact = find_own_uint(p, s, event, "value");
	if (exact == SIZE_MAX)
		return counter_double(p, place, event->double_counter_value, ts_ns, category);
	draft_clear_args(p->draft);
	draft_uint(p->draft, NULL, event->debug_annotations[exact]->uint_value);
	return send_counter(p, place, ts_ns, category);
}

/*
 * The values of one event are of one moment. Their order depends on the values (see counters_are_hidden()), so they
 * are sent in the order of their tracks, which is always the same.
 */
static size_t counter_next_by_uuid(const uint64_t *uuids, size_t n, size_t i, uint32_t *done)
{
	size_t next = 0, k;

	if (n > EVENT_MAX_COUNTERS)
		return i;
	for (k = 0; k < n; k++) {
		if (!(*done >> k & 1) && (*done >> next & 1 || uuids[k] < uuids[next]))
			next = k;
	}
	*done |= 1u << next;
	return next;
}

/* Counts values without a track. */
static void count_missing_tracks(struct perfetto *p, size_t values, size_t tracks)
{
	for (; values > tracks; tracks++)
		reader_lost(p->sink, LOST_MALFORMED);
}

int perfetto_extra_counters(struct perfetto *p, struct sequence *s, const TrackEvent *event,
			    uint64_t ts_ns)
{
	bool own = event->n_extra_counter_track_uuids > 0;
	bool own_double = event->n_extra_double_counter_track_uuids > 0;
	const uint64_t *uuids = own ? event->extra_counter_track_uuids : s->counters;
	size_t n = own ? event->n_extra_counter_track_uuids : s->n_counters;
	bool ordered = !own && n <= event->n_extra_counter_values;
	struct place *place;
	uint32_t done = 0;
	int error = 0;
	size_t which;

	p->continued = event->n_extra_counter_values > 0 && sample_is_continued(p, s, event);
	count_missing_tracks(p, event->n_extra_counter_values, n);
	if (n > event->n_extra_counter_values)
		n = event->n_extra_counter_values;
	for (size_t i = 0; i < n && !error; i++) {
		which = ordered ? s->order[i] : counter_next_by_uuid(uuids, n, i, &done);
		place = perfetto_place(p, uuids[which]);
		if (place && place->kind == PLACE_COUNTER)
			error = counter_int(p, place, event->extra_counter_values[which], ts_ns,
					    NULL);
		else
			reader_lost(p->sink, LOST_MALFORMED);
	}
	uuids = own_double ? event->extra_double_counter_track_uuids : s->double_counters;
	n = own_double ? event->n_extra_double_counter_track_uuids : s->n_double_counters;
	count_missing_tracks(p, event->n_extra_double_counter_values, n);
	for (size_t i = 0; i < event->n_extra_double_counter_values && i < n && !error; i++) {
		place = perfetto_place(p, uuids[i]);
		if (place && place->kind == PLACE_COUNTER)
			error = counter_double(p, place, event->extra_double_counter_values[i],
					       ts_ns, NULL);
		else
			reader_lost(p->sink, LOST_MALFORMED);
	}
	return error;
}
