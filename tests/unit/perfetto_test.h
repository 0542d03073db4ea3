/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the Perfetto output writes, decoded by the generated code, and what a packet leaves to its
 * sequence written out.
 */
#ifndef PROFTRACE_TESTS_PERFETTO_TEST_H
#define PROFTRACE_TESTS_PERFETTO_TEST_H

#include "output_fixture.h"

#include "perfetto_trace.pb-c.h"

typedef Perfetto__Protos__Trace Trace;
typedef Perfetto__Protos__TracePacket Packet;
typedef Perfetto__Protos__TrackEvent Event;
typedef Perfetto__Protos__DebugAnnotation Annotation;
typedef Perfetto__Protos__TrackDescriptor Descriptor;

/* What a reader knows of the names while it goes through the packets. */
enum {
	MAX_DEFINED = 4096,
	MAX_SEQUENCES = 256,
	SHARED = 1,
	FIRST_THREAD = 2,
};

struct defined {
	uint64_t iid[MAX_DEFINED];
	const char *text[MAX_DEFINED];
	size_t n;
};

/* What the packets of a sequence have said so far. */
struct sequence {
	struct defined names, keys, categories;
	bool begun;
	uint64_t last_ns, track_uuid;
	uint32_t clock_id;
	size_t n_counters;
	uint64_t counters[8];
};

struct decoded {
	Trace *trace;
	struct sequence *sequences; /* by their ids */
	struct sequence *s;	    /* of the latest packet */
	uint64_t last_clock;
	size_t next;
};

static void define(struct defined *d, uint64_t iid, const char *text)
{
	for (size_t i = 0; i < d->n; i++)
		assert_true(d->iid[i] != iid); /* nothing is defined twice */
	assert_true(d->n < MAX_DEFINED);
	d->iid[d->n] = iid;
	d->text[d->n++] = text;
}

static const char *look_up(const struct defined *d, uint64_t iid)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->iid[i] == iid)
			return d->text[i];
	fail_msg("nothing was interned as %llu", (unsigned long long)iid);
	return NULL;
}

static void decode(struct world *w, struct decoded *d)
{
	memset(d, 0, sizeof(*d));
	d->sequences = calloc(MAX_SEQUENCES, sizeof(*d->sequences));
	assert_non_null(d->sequences);
	d->trace = perfetto__protos__trace__unpack(NULL, w->size, (uint8_t *)w->bytes);
	assert_non_null(d->trace);
}

/* The clocks of the machine never go back. Those of a sequence come one after the other, each with any time. */
static void take_clocks(struct decoded *d, const Packet *packet)
{
	Perfetto__Protos__ClockSnapshot__Clock **clocks = packet->clock_snapshot->clocks;

	if (clocks[0]->clock_id < 64) {
		assert_true(clocks[0]->timestamp >= d->last_clock);
		d->last_clock = clocks[0]->timestamp;
		return;
	}
	if (clocks[0]->clock_id == d->s->clock_id)
		assert_true(clocks[0]->timestamp >= d->s->last_ns);
	else
		assert_int_equal(clocks[0]->clock_id,
				 d->s->begun && d->s->clock_id ? d->s->clock_id + 1 : 64);
	d->s->clock_id = clocks[0]->clock_id;
	assert_in_range(d->s->clock_id, 64, 127);
	assert_true(clocks[0]->is_incremental);
	assert_int_equal(clocks[1]->clock_id, 3);
	assert_int_equal(clocks[0]->timestamp, clocks[1]->timestamp);
	d->s->last_ns = clocks[0]->timestamp;
}

static void take_defaults(struct decoded *d, const Packet *packet)
{
	const Perfetto__Protos__TracePacketDefaults *defaults = packet->trace_packet_defaults;
	const Perfetto__Protos__TrackEventDefaults *event = defaults->track_event_defaults;

	assert_int_equal(defaults->timestamp_clock_id, d->s->clock_id);
	d->s->track_uuid = event ? event->track_uuid : 0;
	d->s->n_counters = event ? event->n_extra_counter_track_uuids : 0;
	assert_true(d->s->n_counters <= 8);
	for (size_t i = 0; i < d->s->n_counters; i++)
		d->s->counters[i] = event->extra_counter_track_uuids[i];
}

/* Writes out what the packet leaves to its sequence. */
static void complete(struct decoded *d, Packet *packet)
{
	Event *e = packet->track_event;

	if (!packet->has_timestamp_clock_id) {
		d->s->last_ns += packet->timestamp;
		packet->timestamp = d->s->last_ns;
	} else {
		assert_int_equal(packet->timestamp_clock_id, 3);
	}
	if (!e->has_track_uuid) {
		assert_true(d->s->track_uuid != 0);
		e->track_uuid = d->s->track_uuid;
	}
	assert_false(packet->has_sequence_flags); /* two bytes that no file needs */
}

/* The next packet that is not a definition of names, nor one that begins a thread's sequence. */
static Packet *next(struct decoded *d)
{
	for (;;) {
		Packet *packet;

		assert_true(d->next < d->trace->n_packet);
		packet = d->trace->packet[d->next++];
		assert_in_range(packet->trusted_packet_sequence_id, 1, MAX_SEQUENCES - 1);
		d->s = &d->sequences[packet->trusted_packet_sequence_id];
		assert_int_equal(packet->base.n_unknown_fields, 0);
		if (packet->sequence_flags == 1) {
			d->s->names.n = d->s->keys.n = d->s->categories.n = 0;
			d->s->begun = true;
		}
		if (packet->clock_snapshot)
			take_clocks(d, packet);
		if (packet->trace_packet_defaults)
			take_defaults(d, packet);
		if (packet->track_event) {
			assert_true(d->s->begun);
			complete(d, packet);
		}
		if (packet->trusted_packet_sequence_id != SHARED && !packet->track_event &&
		    !packet->interned_data && !packet->previous_packet_dropped) {
			assert_non_null(packet->trace_packet_defaults);
			continue;
		}
		if (!packet->interned_data)
			return packet;
		assert_int_equal(packet->sequence_flags, 2);
		for (size_t i = 0; i < packet->interned_data->n_event_names; i++)
			define(&d->s->names, packet->interned_data->event_names[i]->iid,
			       packet->interned_data->event_names[i]->name);
		for (size_t i = 0; i < packet->interned_data->n_event_categories; i++)
			define(&d->s->categories, packet->interned_data->event_categories[i]->iid,
			       packet->interned_data->event_categories[i]->name);
		for (size_t i = 0; i < packet->interned_data->n_debug_annotation_names; i++)
			define(&d->s->keys, packet->interned_data->debug_annotation_names[i]->iid,
			       packet->interned_data->debug_annotation_names[i]->name);
	}
}

static Event *next_event(struct decoded *d, uint64_t ts, int type, uint64_t track)
{
	Packet *packet = next(d);

	assert_non_null(packet->track_event);
	assert_int_equal(packet->timestamp, ts);
	assert_int_equal(packet->track_event->type, type);
	assert_int_equal(packet->track_event->track_uuid, track);
	assert_int_equal(packet->track_event->base.n_unknown_fields, 0);
	return packet->track_event;
}

__attribute__((unused)) static Descriptor *next_descriptor(struct decoded *d, uint64_t uuid,
							   uint64_t parent)
{
	Packet *packet = next(d);

	assert_non_null(packet->track_descriptor);
	assert_int_equal(packet->track_descriptor->uuid, uuid);
	assert_int_equal(packet->track_descriptor->has_parent_uuid, parent != 0);
	assert_int_equal(packet->track_descriptor->parent_uuid, parent);
	return packet->track_descriptor;
}

static void assert_names(struct decoded *d, Event *e, const char *name, const char *category)
{
	if (name)
		assert_string_equal(e->has_name_iid ? look_up(&d->s->names, e->name_iid) : e->name,
				    name);
	else
		assert_false(e->has_name_iid || e->name);
	assert_int_equal(e->n_category_iids, category != NULL);
	assert_int_equal(e->n_categories, 0);
	if (category)
		assert_string_equal(look_up(&d->s->categories, e->category_iids[0]), category);
}

__attribute__((unused)) static Annotation *annotation(struct decoded *d, Event *e, size_t i,
						      const char *key)
{
	Annotation *a;

	assert_true(i < e->n_debug_annotations);
	a = e->debug_annotations[i];
	assert_string_equal(a->has_name_iid ? look_up(&d->s->keys, a->name_iid) : a->name, key);
	return a;
}

static void skip_start(struct decoded *d)
{
	while (!next(d)->trace_packet_defaults)
		;
}

static void assert_end(struct decoded *d, uint64_t lost, int outcome)
{
	Packet *packet = next(d);

	/* The account, as far as it is not zero. */
	if (packet->chrome_events) {
		for (size_t i = 0; i < packet->chrome_events->n_metadata; i++) {
			const Perfetto__Protos__ChromeMetadata *m =
				packet->chrome_events->metadata[i];

			assert_true(!strncmp(m->name, "proftrace.account.", 18) ||
				    !strcmp(m->name, "proftrace.packets"));
			assert_true(m->has_int_value && m->int_value);
		}
		packet = next(d);
	} else {
		assert_int_equal(lost, 0);
	}
	assert_non_null(packet->trace_stats);
	assert_int_equal(packet->trace_stats->n_buffer_stats, 1);
	assert_int_equal(packet->trace_stats->buffer_stats[0]->trace_writer_packet_loss, lost);
	assert_int_equal(packet->trace_stats->final_flush_outcome, outcome);
	assert_int_equal(d->next, d->trace->n_packet);
}

static void done(struct world *w, struct decoded *d)
{
	perfetto__protos__trace__free_unpacked(d->trace, NULL);
	free(d->sequences);
	world_free(w);
}

#endif
