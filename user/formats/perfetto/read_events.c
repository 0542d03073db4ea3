/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Converts TrackEvents to events. Slices on the track of a thread are slices of the thread; those on any other track
 * (a lane) become asynchronous slices. Some conventions are recognised in our own files only: ids of asynchronous
 * slices, flows, lost marks, counters too large for Perfetto, and hardware counters of threads.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "formats/perfetto/read_fields.h"

#define FIRST_LANE_ID (1ull << 48) /* far from the small numbers that programs use */

/* --- names, categories, arguments -------------------------------------------------------------- */

/* Appends ",text" to `joined` if it fits. */
static void category_append(char *joined, size_t size, size_t *length, const char *text,
			    size_t text_length)
{
	if (*length + text_length + 2 > size)
		return;
	if (*length)
		joined[(*length)++] = ',';
	memcpy(joined + *length, text, text_length);
	*length += text_length;
}

/* Joins several categories by commas. */
const struct name *perfetto_joined_categories(struct perfetto *p, struct sequence *s,
					      const TrackEvent *event)
{
	const struct name *category = NULL;
	char joined[READ_MAX_NAME];
	size_t i, length = 0;

	for (i = 0; i < event->n_category_iids && i < sizeof(joined); i++) {
		category = interned_name(s, INTERN_CATEGORY, event->category_iids[i]);
		if (category)
			category_append(joined, sizeof(joined), &length, category->text,
					category->length);
	}
	for (i = 0; i < event->n_categories && i < sizeof(joined); i++)
		category_append(joined, sizeof(joined), &length, event->categories[i],
				strlen(event->categories[i]));
	return length ? names_intern(p->sink->names, joined, length, READ_MAX_NAME) : NULL;
}

static const struct name *annotation_key(struct perfetto *p, struct sequence *s,
					 const Annotation *a)
{
	if (!a->name && a->has_name_iid)
		return interned_name(s, INTERN_KEY, a->name_iid);
	return a->name ? perfetto_name(p, a->name) : NULL;
}

static void annotation_add_value(struct perfetto *p, struct sequence *s, const Annotation *a,
				 const struct name *key)
{
	const struct interned *string;

	p->left_out[LEFT_ARGS] += a->base.n_unknown_fields > 0;
	if (a->has_uint_value) {
		draft_uint(p->draft, key, a->uint_value);
	} else if (a->has_int_value) {
		draft_int(p->draft, key, a->int_value);
	} else if (a->has_double_value) {
		draft_double(p->draft, key, a->double_value);
	} else if (a->string_value) {
		draft_string(p->draft, key, a->string_value, strlen(a->string_value));
	} else if (a->has_bool_value) {
		draft_bool(p->draft, key, a->bool_value);
	} else if (a->has_pointer_value) {
		draft_pointer(p->draft, key, a->pointer_value);
	} else if (a->has_string_value_iid) {
		string = perfetto_interned(s, INTERN_STRING, a->string_value_iid);
		if (string)
			draft_string(p->draft, key, string->bytes, string->length);
		else
			p->left_out[LEFT_ARGS]++;
	} else if (a->legacy_json_value) {
		draft_string(p->draft, key, a->legacy_json_value, strlen(a->legacy_json_value));
	} else {
		draft_null(p->draft, key);
	}
}

/*
 * Lists and dictionaries become arguments "key.sub" and "key[0]", as Perfetto shows them. wire_check() has limited their
 * depth. A `path` that is too long is cut.
 */
static void annotation_add_nested(struct perfetto *p, struct sequence *s, const Annotation *a,
				  char *path, size_t length)
{
	if (!a->n_dict_entries && !a->n_array_values)
		annotation_add_value(p, s, a,
				     names_intern(p->sink->names, path, length, READ_MAX_NAME));
	for (size_t i = 0; i < a->n_dict_entries && !p->draft->excess; i++) {
		const char *key = annotation_key_text(s, a->dict_entries[i]);
		int n = snprintf(path + length, READ_MAX_NAME - length, ".%s", key ? key : "");

		if (n < 0 || (size_t)n >= READ_MAX_NAME - length)
			n = (int)(READ_MAX_NAME - length - 1);
		annotation_add_nested(p, s, a->dict_entries[i], path, length + (size_t)n);
	}
	for (size_t i = 0; i < a->n_array_values && !p->draft->excess; i++) {
		int n = snprintf(path + length, READ_MAX_NAME - length, "[%zu]", i);

		if (n < 0 || (size_t)n >= READ_MAX_NAME - length)
			n = (int)(READ_MAX_NAME - length - 1);
		annotation_add_nested(p, s, a->array_values[i], path, length + (size_t)n);
	}
}

/* Adds all annotations but the one at `except` as arguments. */
static void event_add_args(struct perfetto *p, struct sequence *s, const TrackEvent *event,
			   size_t except)
{
	for (size_t i = 0; i < event->n_debug_annotations && !p->draft->excess; i++) {
		const Annotation *a = event->debug_annotations[i];
		const struct name *key = i == except ? NULL : annotation_key(p, s, a);

		if (!key) {
			p->left_out[LEFT_ARGS] += i != except;
			continue;
		}
		if (a->n_dict_entries || a->n_array_values) {
			char path[READ_MAX_NAME];
			int n = snprintf(path, sizeof(path), "%s", key->text);

			if (n < 0 || (size_t)n >= sizeof(path))
				n = sizeof(path) - 1;
			annotation_add_nested(p, s, a, path, (size_t)n);
		} else {
			annotation_add_value(p, s, a, key);
		}
	}
}

/* --- for threads only ---------------------------------------------------------------------------- */

static bool event_has_flows(const TrackEvent *event)
{
	return event->n_flow_ids | event->n_terminating_flow_ids | event->n_flow_ids_old |
	       event->n_terminating_flow_ids_old;
}

/* Events represent flows and call stacks only for slices of threads. */
static void event_leave_out_flows(struct perfetto *p, const TrackEvent *event)
{
	p->left_out[LEFT_ARROWS] += event->n_flow_ids + event->n_terminating_flow_ids +
				    event->n_flow_ids_old + event->n_terminating_flow_ids_old;
}

static inline void event_leave_out_stack(struct perfetto *p, const TrackEvent *event)
{
	p->left_out[LEFT_STACKS] += event->has_callstack_iid && p->sink->callstacks;
}

/* --- slices on lanes --------------------------------------------------------------------------- */

static struct lane_slice *lane_push(struct perfetto *p, struct place *place)
{
	if (place->n_open == MAX_OPEN_ON_LANE || p->n_open_on_lanes == MAX_OPEN_ON_LANES ||
	    !array_reserve(place->open, place->n_open, place->capacity, 2))
		return NULL;
	p->n_open_on_lanes++;
	return &place->open[place->n_open++];
}

/* In our own files: the track of the times in which a thread was blocked. */
static bool place_is_waits(const struct perfetto *p, const struct place *place)
{
	return p->own && place->tid && place->kind == PLACE_LANE && place->name &&
	       text_equals(place->name->text, "waits");
}

static int wait_begin_read(struct perfetto *p, struct sequence *s, const TrackEvent *event,
			   struct place *place, uint64_t ts_ns)
{
	struct lane_slice *slice = place->n_open ? NULL : lane_push(p, place);

	if (!slice) {
		p->sink->account->waits_lost++;
		return 0;
	}
	*slice = (struct lane_slice){ .id = ts_ns, .name = event_name(p, s, event) };
	return 0;
}

static int wait_end_read(struct perfetto *p, struct sequence *s, const TrackEvent *event,
			 struct place *place, uint64_t ts_ns)
{
	const struct lane_slice *slice;

	if (!place->n_open) {
		p->sink->account->waits_lost++;
		return 0;
	}
	slice = &place->open[--place->n_open];
	p->n_open_on_lanes--;
	event_add_args(p, s, event, SIZE_MAX);
	draft_event(p->draft, EVENT_WAIT, ts_ns, place->pid, place->tid);
	p->draft->event.name = slice->name;
	p->draft->event.size = ts_ns > slice->id ? ts_ns - slice->id : 0;
	return draft_send(p->draft);
}

/* Our own files have the events of a thread in a sequence of its own, whose track is that of the thread. */
static uint32_t lane_event_thread(struct perfetto *p, const struct sequence *s,
				  const struct place *lane)
{
	const struct place *place =
		p->own && s->has_track ? perfetto_place(p, s->track_uuid) : NULL;

	return place && place->kind == PLACE_THREAD && place->pid == lane->pid ? place->tid : 0;
}

static int lane_slice_begin(struct perfetto *p, struct sequence *s, const TrackEvent *event,
			    struct place *place, uint64_t ts_ns)
{
	struct lane_slice *slice = lane_push(p, place);
	size_t id = find_own_uint(p, s, event, "id");

	event_leave_out_flows(p, event);
	event_leave_out_stack(p, event);
	if (!slice) {
		reader_lost(p->sink, LOST_LIMIT);
		return 0;
	}
	slice->name = event_name(p, s, event);
	if (!slice->name)
		slice->name = place->name;
	slice->category = event_category(p, s, event);
	slice->id = id == SIZE_MAX ? FIRST_LANE_ID + p->next_id++
				   : event->debug_annotations[id]->uint_value;
	event_add_args(p, s, event, id);
	draft_event(p->draft, EVENT_ASYNC_BEGIN, ts_ns, place->pid, lane_event_thread(p, s, place));
	p->draft->event.name = slice->name;
	p->draft->event.category = slice->category;
	p->draft->event.id = slice->id;
	return draft_send(p->draft);
}

static int lane_slice_end(struct perfetto *p, struct sequence *s, const TrackEvent *event,
			  struct place *place, uint64_t ts_ns)
{
	const struct lane_slice *slice;

	event_leave_out_flows(p, event);
	event_leave_out_stack(p, event);
	if (!place->n_open) {
		reader_lost(p->sink, LOST_UNMATCHED);
		return 0;
	}
	slice = &place->open[--place->n_open];
	p->n_open_on_lanes--;
	event_add_args(p, s, event, SIZE_MAX);
	draft_event(p->draft, EVENT_ASYNC_END, ts_ns, place->pid, lane_event_thread(p, s, place));
	p->draft->event.name = slice->name;
	p->draft->event.category = slice->category;
	p->draft->event.id = slice->id;
	return draft_send(p->draft);
}

/* --- slices and instants with times of their own, in our own files ------------------------------- */

static struct event *given_start(struct perfetto *p, struct sequence *s, const TrackEvent *event,
				 struct place *place, enum event_kind kind, uint64_t ts_ns)
{
	struct event *e = &p->draft->event;
	const struct name *path = perfetto_track_path(p, place);

	event_add_args(p, s, event, SIZE_MAX);
	draft_event(p->draft, kind, ts_ns, place->pid, 0);
	e->name = event_name(p, s, event);
	e->category = event_category(p, s, event);
	/* Where the track is that of the name alone, it was not given one. */
	e->given = (struct event_given){ .track = path == e->name ? NULL : path,
					 .begin = ts_ns,
					 .end = ts_ns };
	return e;
}

void perfetto_drop_given(struct perfetto *p)
{
	if (p->given_place)
		reader_lost(p->sink, LOST_UNMATCHED);
	p->given_place = NULL;
}

/* The END follows at once. Until then the arguments stay in the draft. */
static int given_slice_begin(struct perfetto *p, struct sequence *s, const TrackEvent *event,
			     struct place *place, uint64_t ts_ns)
{
	p->given = *given_start(p, s, event, place, EVENT_SLICE_AT, ts_ns);
	p->given_place = place;
	return 0;
}

static int given_slice_end(struct perfetto *p, uint64_t ts_ns)
{
	p->given_place = NULL;
	p->draft->event = p->given;
	p->draft->event.given.end = ts_ns;
	return draft_send(p->draft);
}

static int given_instant(struct perfetto *p, struct sequence *s, const TrackEvent *event,
			 struct place *place, uint64_t ts_ns)
{
	given_start(p, s, event, place, EVENT_INSTANT_AT, ts_ns);
	return draft_send(p->draft);
}

/* --- slices of threads, instants, flows --------------------------------------------------------- */

static int perfetto_send_flow(struct perfetto *p, enum event_kind kind, uint64_t id)
{
	struct event event = p->draft->event;
	int error;

	draft_event(p->draft, kind, event.ts_ns, event.pid, event.tid);
	p->draft->event.category = event.category;
	p->draft->event.id = id;
	error = draft_send(p->draft);
	p->draft->event = event;
	return error;
}

static int event_send_flows(struct perfetto *p, const TrackEvent *event)
{
	int error = 0;

	for (size_t i = 0; i < event->n_flow_ids && !error; i++)
		error = perfetto_send_flow(p, EVENT_FLOW_OUT, event->flow_ids[i]);
	for (size_t i = 0; i < event->n_flow_ids_old && !error; i++)
		error = perfetto_send_flow(p, EVENT_FLOW_OUT, event->flow_ids_old[i]);
	for (size_t i = 0; i < event->n_terminating_flow_ids && !error; i++)
		error = perfetto_send_flow(p, EVENT_FLOW_IN, event->terminating_flow_ids[i]);
	for (size_t i = 0; i < event->n_terminating_flow_ids_old && !error; i++)
		error = perfetto_send_flow(p, EVENT_FLOW_IN, event->terminating_flow_ids_old[i]);
	return error;
}

static int perfetto_send_lost(struct perfetto *p, const struct place *place, uint64_t count,
			      uint64_t ts_ns)
{
	draft_event(p->draft, EVENT_LOST, ts_ns, place->pid, place->tid);
	p->draft->event.size = count;
	return draft_send_bare(p->draft);
}

static int perfetto_read_instant(struct perfetto *p, struct sequence *s, const TrackEvent *event,
				 const struct place *place, uint64_t ts_ns)
{
	const struct name *name = event_name(p, s, event);
	bool own_flow = p->own && name &&
			(text_equals(name->text, "flow out") || text_equals(name->text, "flow in"));
	size_t count;
	int error;

	if (name && text_equals(name->text, "events lost")) {
		count = find_own_uint(p, s, event, "count");
		if (count != SIZE_MAX)
			return perfetto_send_lost(
				p, place, event->debug_annotations[count]->uint_value, ts_ns);
	}
	event_add_args(p, s, event, SIZE_MAX);
	draft_event(p->draft, EVENT_INSTANT, ts_ns, place->pid,
		    place->kind == PLACE_THREAD ? place->tid : 0);
	p->draft->event.category = event_category(p, s, event);
	if (place->kind == PLACE_THREAD && own_flow && event_has_flows(event))
		return event_send_flows(p, event);
	p->draft->event.name = name;
	p->draft->event.scope = place->kind == PLACE_THREAD ? SCOPE_THREAD
				: place->has_owner	    ? SCOPE_PROCESS
							    : SCOPE_GLOBAL;
	p->draft->event.callstack = event_callstack(s, event);
	error = draft_send(p->draft);
	if (place->kind != PLACE_THREAD)
		event_leave_out_flows(p, event);
	if (error || place->kind != PLACE_THREAD || !event_has_flows(event))
		return error;
	draft_clear_args(p->draft);
	draft_event(p->draft, EVENT_INSTANT, ts_ns, place->pid, place->tid);
	return event_send_flows(p, event);
}

/* A flow belongs to the slice, so it is sent while the slice is open. */
static int thread_slice_begin(struct perfetto *p, struct sequence *s, const TrackEvent *event,
			      const struct place *place, uint64_t ts_ns)
{
	int error;

	event_add_args(p, s, event, SIZE_MAX);
	draft_event(p->draft, EVENT_BEGIN, ts_ns, place->pid, place->tid);
	p->draft->event.name = event_name(p, s, event);
	p->draft->event.category = event_category(p, s, event);
	p->draft->event.callstack = event_callstack(s, event);
	error = draft_send(p->draft);
	if (error || !event_has_flows(event))
		return error;
	draft_clear_args(p->draft);
	draft_event(p->draft, EVENT_BEGIN, ts_ns, place->pid, place->tid);
	return event_send_flows(p, event);
}

static int thread_slice_end(struct perfetto *p, struct sequence *s, const TrackEvent *event,
			    const struct place *place, uint64_t ts_ns)
{
	int error = 0;

	event_leave_out_stack(p, event);
	if (event_has_flows(event)) {
		draft_event(p->draft, EVENT_END, ts_ns, place->pid, place->tid);
		error = event_send_flows(p, event);
	}
	if (error)
		return error;
	event_add_args(p, s, event, SIZE_MAX);
	draft_event(p->draft, EVENT_END, ts_ns, place->pid, place->tid);
	p->draft->event.deltas_in_args = true; /* if it comes from JSON */
	return draft_send(p->draft);
}

static struct place *event_place(struct perfetto *p, struct sequence *s, const TrackEvent *event)
{
	if (event->has_track_uuid)
		return perfetto_place(p, event->track_uuid);
	if (s->has_track)
		return perfetto_place(p, s->track_uuid);
	return perfetto_place(p, s->thread_uuid);
}

int perfetto_event(struct perfetto *p, struct sequence *s, const TrackEvent *event, uint64_t ts_ns)
{
	struct place *place = event_place(p, s, event);
	bool of_thread = place && place->kind == PLACE_THREAD;
	int error = 0;

	if (!place) {
		reader_lost(p->sink, LOST_LIMIT);
		return 0;
	}
	if (place == p->given_place &&
	    event->type == PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_END)
		return given_slice_end(p, ts_ns);
	perfetto_drop_given(p);
	if (event->n_extra_counter_values || event->n_extra_double_counter_values)
		error = perfetto_extra_counters(p, s, event, ts_ns);
	if (error)
		return error;
	draft_clear_args(p->draft);
	if (!of_thread && place_is_waits(p, place))
		return event->type == PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN
			       ? wait_begin_read(p, s, event, place, ts_ns)
			       : wait_end_read(p, s, event, place, ts_ns);
	if (place->is_given && event->type == PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN)
		return given_slice_begin(p, s, event, place, ts_ns);
	if (place->is_given && event->type == PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_INSTANT)
		return given_instant(p, s, event, place, ts_ns);
	switch ((int)event->type) {
	case PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN:
		return of_thread ? thread_slice_begin(p, s, event, place, ts_ns)
				 : lane_slice_begin(p, s, event, place, ts_ns);
	case PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_END:
		return of_thread ? thread_slice_end(p, s, event, place, ts_ns)
				 : lane_slice_end(p, s, event, place, ts_ns);
	case PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_INSTANT:
		return perfetto_read_instant(p, s, event, place, ts_ns);
	case PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_COUNTER:
		event_leave_out_flows(p, event);
		event_leave_out_stack(p, event);
		return perfetto_counter(p, s, event, place, ts_ns);
	case PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_STATE:
		p->left_out[LEFT_STATES]++;
		return 0;
	default:
		reader_lost(p->sink, LOST_MALFORMED);
		return 0;
	}
}
