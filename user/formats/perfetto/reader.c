/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A Perfetto trace is a message of packets, each with its length. The reader checks (read_wire.h) and decodes one packet
 * at a time. Packets of a sequence refer to earlier ones of the same sequence: interned names, the clock, the track.
 *
 * A packet may be a compressed bundle of packets. Nested bundles are refused, since with them a file of a few bytes
 * could contain any amount of data.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/input.h"
#include "formats/perfetto/reader.h"
#include "formats/perfetto/read_wire.h"

enum {
	MAX_PACKET = 64 << 20,
	MAX_FIELD_HEADER = 32, /* at least a tag and a length */
};

/* --- the state of a sequence ------------------------------------------------------------------- */

const struct name *perfetto_name(struct perfetto *p, const char *text)
{
	return names_intern(p->sink->names, text, strlen(text), READ_MAX_NAME);
}

const struct interned *perfetto_find_interned(struct sequence *s, enum intern_kind kind,
					      uint64_t iid)
{
	const struct intern_key key = { .iid = iid, .kind = kind };
	struct interned *interned;

	HASH_FIND(hh, s->interned, &key, sizeof(key), interned);
	if (interned)
		s->recent[intern_slot(kind, iid)] = interned;
	return interned;
}

static void sequence_forget_interned(struct perfetto *p, struct sequence *s)
{
	memset(s->recent, 0, sizeof(s->recent));
	hash_clear(hh, s->interned, interned, p->n_interned--,
		   p->interned_bytes -= interned->length);
}

/* Takes over `interned`. */
static int sequence_add_interned(struct perfetto *p, struct sequence *s, struct interned *interned)
{
	HASH_ADD(hh, s->interned, key, sizeof(interned->key), interned);
	if (!hash_added(hh, interned)) {
		free(interned);
		return -ENOMEM;
	}
	p->n_interned++;
	p->interned_bytes += interned->length;
	return 0;
}

/* The first definition is used, as in Perfetto's loader. `text` NULL: nothing is defined. */
static int sequence_intern(struct perfetto *p, struct sequence *s, enum intern_kind kind,
			   uint64_t iid, const char *text, size_t length)
{
	size_t kept = 0;
	struct interned *interned;

	if (!text || perfetto_interned(s, kind, iid))
		return 0;
	if (kind ==
	    INTERN_STRING) /* a few bytes more than are kept, which show where the text may be cut */
		kept = length < READ_MAX_STRING + 4 ? length : READ_MAX_STRING + 4;
	if (p->n_interned == MAX_INTERNED || p->interned_bytes + kept > MAX_INTERNED_BYTES)
		return -E2BIG;
	interned = malloc(sizeof(*interned) + kept);
	if (!interned)
		return -ENOMEM;
	interned->key = (struct intern_key){ .iid = iid, .kind = kind };
	interned->name = NULL;
	interned->length = (uint32_t)kept;
	if (kind == INTERN_STRING)
		memcpy(interned->bytes, text, kept);
	else
		interned->name = names_intern(p->sink->names, text, length, READ_MAX_NAME);
	return sequence_add_interned(p, s, interned);
}

int perfetto_intern_object(struct perfetto *p, struct sequence *s, enum intern_kind kind,
			   uint64_t iid, const void *object)
{
	struct interned *interned;

	if (!object || perfetto_interned(s, kind, iid))
		return 0;
	if (p->n_interned == MAX_INTERNED)
		return -E2BIG;
	interned = malloc(sizeof(*interned));
	if (!interned)
		return -ENOMEM;
	interned->key = (struct intern_key){ .iid = iid, .kind = kind };
	interned->object = object;
	interned->length = 0;
	return sequence_add_interned(p, s, interned);
}

static int sequence_read_interned(struct perfetto *p, struct sequence *s,
				  const Perfetto__Protos__InternedData *data)
{
	int error = 0;

#define INTERN_ALL(list, kind)                                                       \
	for (size_t i = 0; i < data->n_##list && !error; i++)                        \
	error = sequence_intern(p, s, kind, data->list[i]->iid, data->list[i]->name, \
				data->list[i]->name ? strlen(data->list[i]->name) : 0)
	INTERN_ALL(event_categories, INTERN_CATEGORY);
	INTERN_ALL(event_names, INTERN_NAME);
	INTERN_ALL(debug_annotation_names, INTERN_KEY);
#undef INTERN_ALL
	for (size_t i = 0; i < data->n_debug_annotation_string_values && !error; i++) {
		const Perfetto__Protos__InternedString *string =
			data->debug_annotation_string_values[i];

		/* The data of an empty string is NULL. */
		error = sequence_intern(p, s, INTERN_STRING, string->iid,
					string->str.data ? (const char *)string->str.data : "",
					string->str.len);
	}
	return error ? error : perfetto_stack_data(p, s, data);
}

static struct sequence *sequence_find(struct perfetto *p, uint32_t id)
{
	struct sequence *s;

	HASH_FIND(hh, p->sequences, &id, sizeof(id), s);
	if (s)
		p->recent_sequences[id & (RECENT - 1)] = s;
	if (s || HASH_COUNT(p->sequences) >= MAX_SEQUENCES)
		return s;
	return hash_add_new(hh, p->sequences, id, id);
}

static inline struct sequence *sequence_get(struct perfetto *p, uint32_t id)
{
	struct sequence *s = p->recent_sequences[id & (RECENT - 1)];

	return s && s->id == id ? s : sequence_find(p, id);
}

static void sequence_clear(struct perfetto *p, struct sequence *s)
{
	sequence_forget_interned(p, s);
	s->valid = true;
	s->clock_id = 0;
	s->has_track = false;
	s->n_counters = s->n_double_counters = 0;
	s->period_ns = 0;
}

static unsigned sequence_copy_uuids(uint64_t *out, const uint64_t *uuids, size_t n)
{
	n = n < MAX_EXTRA_COUNTERS ? n : MAX_EXTRA_COUNTERS;
	if (n)
		memcpy(out, uuids, n * sizeof(*out));
	return (unsigned)n;
}

/* By uuid: see perfetto_extra_counters(). */
static void sequence_order_counters(struct sequence *s)
{
	unsigned k;

	for (unsigned i = 0; i < s->n_counters; i++) {
		for (k = i; k && s->counters[i] < s->counters[s->order[k - 1]]; k--)
			s->order[k] = s->order[k - 1];
		s->order[k] = (uint8_t)i;
	}
}

static void sequence_read_defaults(struct sequence *s,
				   const Perfetto__Protos__TracePacketDefaults *d)
{
	const Perfetto__Protos__TrackEventDefaults *e = d->track_event_defaults;

	if (d->has_timestamp_clock_id)
		perfetto_use_clock(s, d->timestamp_clock_id);
	if (d->perf_sample_defaults)
		perfetto_sample_default(s, d->perf_sample_defaults);
	if (!e)
		return;
	s->has_track = e->has_track_uuid;
	s->track_uuid = e->track_uuid;
	s->n_counters = sequence_copy_uuids(s->counters, e->extra_counter_track_uuids,
					    e->n_extra_counter_track_uuids);
	s->n_double_counters =
		sequence_copy_uuids(s->double_counters, e->extra_double_counter_track_uuids,
				    e->n_extra_double_counter_track_uuids);
	sequence_order_counters(s);
}

/* --- packets ----------------------------------------------------------------------------------- */

static inline int packet_read_event(struct perfetto *p, struct sequence *s, const Packet *packet)
{
	bool needs = packet->sequence_flags &
		     PERFETTO__PROTOS__TRACE_PACKET__SEQUENCE_FLAGS__SEQ_NEEDS_INCREMENTAL_STATE;
	uint64_t ts_ns;

	if (!perfetto_time(p, s, packet, &ts_ns) || (needs && !s->valid)) {
		reader_lost(p->sink, LOST_MALFORMED);
		return 0;
	}
	return perfetto_event(p, s, packet->track_event, ts_ns);
}

static void origin_read_metadata(struct perfetto *p, struct trace_origin *o,
				 const Perfetto__Protos__ChromeMetadata *m)
{
	const struct {
		const char *name;
		char *out;
		size_t size;
	} known[] = {
		{ "proftrace.version", o->version, sizeof(o->version) },
		{ "proftrace.host", o->host, sizeof(o->host) },
		{ "proftrace.boot_id", o->boot_id, sizeof(o->boot_id) },
		{ "proftrace.rank", o->rank, sizeof(o->rank) },
		{ "proftrace.clock_error_ns", o->clock_error, sizeof(o->clock_error) },
		{ "proftrace.instructions_compared", o->instructions_compared,
		  sizeof(o->instructions_compared) },
	};
	static const char account[] = "proftrace.account.";
	uint64_t *number = NULL;

	if (m->name && m->has_int_value && !strncmp(m->name, account, sizeof(account) - 1))
		number = account_number_named(&o->account, m->name + sizeof(account) - 1);
	if (number) {
		*number = (uint64_t)m->int_value;
		o->has_account = true;
	}
	/* Files that were put one behind the other have several ends. */
	if (m->name && m->has_int_value && m->int_value > 0 &&
	    !strcmp(m->name, "proftrace.packets"))
		p->packets_said += (uint64_t)m->int_value;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (m->name && !strcmp(m->name, known[i].name))
			origin_text(known[i].out, known[i].size, m->string_value);
	}
}

/* Detects our own files, in which some annotations have a special meaning, before the first of these. */
static void packet_detect_own(struct perfetto *p, const Perfetto__Protos__ChromeEventBundle *bundle)
{
	for (size_t i = 0; i < bundle->n_metadata && !p->own; i++) {
		const Perfetto__Protos__ChromeMetadata *m = bundle->metadata[i];

		p->own = m->name && m->string_value && *m->string_value &&
			 !strcmp(m->name, "proftrace.version");
	}
	p->draft->foreign = !p->own;
}

/* Reads the origin and the account of the trace. */
static void origin_read_packet(struct perfetto *p, struct trace_origin *o, const Packet *packet)
{
	const Perfetto__Protos__SystemInfo *system = packet->system_info;

	if (packet->trace_uuid) {
		o->trace_uuid[0] = (uint64_t)packet->trace_uuid->msb;
		o->trace_uuid[1] = (uint64_t)packet->trace_uuid->lsb;
	}
	if (packet->trace_stats)
		o->ending =
			packet->trace_stats->final_flush_outcome ==
					PERFETTO__PROTOS__TRACE_STATS__FINAL_FLUSH_OUTCOME__FINAL_FLUSH_FAILED
				? ENDING_BROKEN
				: ENDING_ORDERLY;
	if (system && system->utsname) {
		origin_text(o->sysname, sizeof(o->sysname), system->utsname->sysname);
		origin_text(o->kernel_release, sizeof(o->kernel_release), system->utsname->release);
		origin_text(o->kernel_version, sizeof(o->kernel_version), system->utsname->version);
		origin_text(o->machine, sizeof(o->machine), system->utsname->machine);
	}
	for (size_t i = 0; packet->chrome_events && i < packet->chrome_events->n_metadata; i++)
		origin_read_metadata(p, o, packet->chrome_events->metadata[i]);
}

static int perfetto_use_packet(struct perfetto *p, const Packet *packet)
{
	bool cleared =
		packet->incremental_state_cleared ||
		packet->sequence_flags &
			PERFETTO__PROTOS__TRACE_PACKET__SEQUENCE_FLAGS__SEQ_INCREMENTAL_STATE_CLEARED;
	struct sequence *s = sequence_get(p, packet->trusted_packet_sequence_id);
	int error = 0;

	p->packets += !packet->has_compressed_packets; /* its contents count */
	if (!s) {
		if (packet->track_event)
			reader_lost(p->sink, LOST_LIMIT);
		return 0;
	}
	if (p->sink->origin && (packet->trace_uuid || packet->system_info ||
				packet->chrome_events || packet->trace_stats))
		origin_read_packet(p, p->sink->origin, packet);
	if (packet->chrome_events)
		packet_detect_own(p, packet->chrome_events);
	perfetto_count_left_out(p, packet);
	if (p->bundles_held && !packet->ftrace_events)
		error = perfetto_bundles_end(p);
	if (packet->previous_packet_dropped)
		s->valid = false;
	if (cleared)
		sequence_clear(p, s);
	if (!error && packet->clock_snapshot)
		error = perfetto_snapshot(p, s, packet->clock_snapshot);
	if (packet->trace_packet_defaults)
		sequence_read_defaults(s, packet->trace_packet_defaults);
	if (!error && packet->interned_data)
		error = sequence_read_interned(p, s, packet->interned_data);
	if (!error && packet->process_tree)
		error = perfetto_process_tree(p, packet->process_tree);
	if (!error && packet->track_descriptor)
		error = perfetto_track(p, s, packet->track_descriptor);
	if (!error && packet->ftrace_events)
		error = perfetto_bundle(p, packet->ftrace_events);
	if (!error && packet->perf_sample)
		error = perfetto_sample(p, s, packet);
	if (packet->module_symbols)
		perfetto_module(p, packet->module_symbols);
	if (!error && packet->track_event)
		error = packet_read_event(p, s, packet);
	return error;
}

/* The same for a packet of which the event is the only contents. */
static int perfetto_use_event(struct perfetto *p, const Packet *packet)
{
	struct sequence *s = sequence_get(p, packet->trusted_packet_sequence_id);
	int error = 0;

	p->packets++;
	if (!s) {
		reader_lost(p->sink, LOST_LIMIT);
		return 0;
	}
	if (p->bundles_held)
		error = perfetto_bundles_end(p);
	if (packet->sequence_flags &
	    PERFETTO__PROTOS__TRACE_PACKET__SEQUENCE_FLAGS__SEQ_INCREMENTAL_STATE_CLEARED)
		sequence_clear(p, s);
	return error ? error : packet_read_event(p, s, packet);
}

/* --- the file ---------------------------------------------------------------------------------- */

struct file {
	struct perfetto p;
	struct fast_packet fast;
	struct arena arena;
	struct draft draft;
	struct input *in;
	uint64_t marked_sent; /* events at the last input_mark_useful() */
};

static int packet_event_failed(struct file *f, int error, uint64_t offset)
{
	struct reader_error *report = f->p.error;

	return error == -E2BIG && !report->message[0]
		       ? reader_fail(report, error, offset, "too many interned strings")
		       : error;
}

static int file_read_packet(struct file *f, const uint8_t *bytes, size_t size, uint64_t offset,
			    uint8_t **ret_bundle, size_t *ret_bundle_size)
{
	const ProtobufCAllocator allocator = { perfetto_arena_alloc, perfetto_arena_ignore,
					       &f->arena };
	struct reader_error *report = f->p.error;
	const Packet *event = fast_packet_read(&f->fast, bytes, size);
	const char *problem;
	size_t at = 0;
	Packet *packet;
	int error;

	if (!size)
		return 0;
	if (event) {
		error = perfetto_use_event(&f->p, event);
		return error ? packet_event_failed(f, error, offset) : 0;
	}
	problem = wire_check(&perfetto__protos__trace_packet__descriptor, bytes, size, &at);
	if (problem)
		return reader_fail(report, -EBADMSG, offset + at, "%s", problem);
	perfetto_arena_clear(&f->arena, false);
	packet = perfetto__protos__trace_packet__unpack((ProtobufCAllocator *)&allocator, size,
							bytes);
	if (!packet)
		return reader_fail(
			report, -EBADMSG, offset,
			"a packet that does not match its definition, or does not fit into memory");
	error = perfetto_use_packet(&f->p, packet);
	if (error)
		return packet_event_failed(f, error, offset);
	if (!packet->has_compressed_packets)
		return 0;
	if (!ret_bundle)
		return reader_fail(report, -EBADMSG, offset,
				   "compressed packets within compressed packets");
	error = perfetto_unpack_bundle(&packet->compressed_packets, ret_bundle, ret_bundle_size);
	if (error == -EBADMSG)
		reader_fail(report, error, offset, "compressed packets that cannot be unpacked");
	if (error == -E2BIG)
		reader_fail(report, error, offset, "compressed packets of more than 64 MiB");
	return error;
}

static void perfetto_mark_useful(struct file *f)
{
	if (f->draft.sent != f->marked_sent)
		input_mark_useful(f->in, f->draft.sent - f->marked_sent);
	f->marked_sent = f->draft.sent;
}

/* Reads all packets of a bundle. Errors are reported at the offset of the bundle. */
static int file_read_bundle(struct file *f, const uint8_t *bytes, size_t size, uint64_t offset)
{
	struct wire_field field;
	int error = 0;

	for (size_t at = 0; at < size && !error; at += field.size) {
		if (wire_read_field(bytes + at, size - at, &field))
			return reader_fail(f->p.error, -EBADMSG, offset,
					   "malformed compressed packets");
		perfetto_mark_useful(f);
		error = input_unpack(f->in, field.size);
		if (error)
			return reader_fail_input(f->p.error, error, offset, f->in);
		if (field.number != TRACE_PACKET || field.type != WIRE_LENGTH)
			continue;
		error = file_read_packet(f, bytes + at + field.header, (size_t)field.value, offset,
					 NULL, NULL);
		if (error && f->p.error->message[0])
			f->p.error->offset = offset;
	}
	return error;
}

static int file_read_field(struct file *f, const uint8_t *bytes, const struct wire_field *field,
			   uint64_t offset)
{
	uint8_t *bundle = NULL;
	size_t bundle_size = 0;
	int error;

	if (field->number != TRACE_PACKET || field->type != WIRE_LENGTH)
		return 0;
	error = file_read_packet(f, bytes + field->header, (size_t)field->value,
				 offset + field->header, &bundle, &bundle_size);
	if (!error && bundle)
		error = file_read_bundle(f, bundle, bundle_size, offset);
	free(bundle);
	return error;
}

/* Reads the packets of events in the window with read_fast.c, up to the first packet that this does not decode. */
static int file_read_events(struct file *f, struct input *in)
{
	const uint8_t *start = input_bytes(in), *at = start, *end = at + input_available(in);
	int error = 0;

	while (end - at >= 2 && *at == (TRACE_PACKET << 3 | WIRE_LENGTH)) {
		const uint8_t *contents = at + 2;
		size_t size = at[1];
		const Packet *event;

		if (size > 0x7f) {
			size = (size & 0x7f) | (size_t)*contents << 7;
			if (*contents++ > 0x7f)
				break;
		}
		if (contents > end || size > (size_t)(end - contents))
			break;
		event = fast_packet_read(&f->fast, contents, size);
		if (!event)
			break;
		error = perfetto_use_event(&f->p, event);
		if (error) {
			error = packet_event_failed(
				f, error, input_offset(in) + (uint64_t)(contents - start));
			break;
		}
		at = contents + size;
	}
	input_consume(in, (size_t)(at - start));
	return error;
}

/* Reads fields until the end. A file that ends in the middle of one was cut off. */
static int file_read_fields(struct file *f, struct input *in)
{
	struct reader_error *report = f->p.error;
	int error;

	for (;;) {
		struct wire_field field;
		enum wire_status status;
		uint64_t offset;

		error = file_read_events(f, in);
		if (error)
			return error;
		perfetto_mark_useful(f);
		offset = input_offset(in);
		error = input_want(in, MAX_FIELD_HEADER);
		if (error || !input_available(in))
			break;
		status = wire_read_field(input_bytes(in), input_available(in), &field);
		if (status == WIRE_MALFORMED) {
			if (!input_bytes(in)[0] && input_rest_is_zero(in)) {
				report->truncated = true;
				report->offset = offset;
				return 0;
			}
			return reader_fail(report, -EBADMSG, offset, "%s", field.problem);
		}
		if (field.header && field.size > MAX_PACKET)
			return reader_fail(report, -E2BIG, offset, "a packet of %zu bytes",
					   field.size);
		if (status == WIRE_SHORT && field.header) {
			error = input_want(in, field.size);
			if (error)
				break;
		}
		if (!field.header || input_available(in) < field.size) {
			report->truncated = true;
			report->offset = offset;
			return 0;
		}
		error = file_read_field(f, input_bytes(in), &field, offset);
		if (error)
			return error;
		input_consume(in, field.size);
	}
	if (error)
		reader_fail_input(report, error, input_offset(in) + input_available(in), in);
	if (!error && input_is_cut(in)) {
		report->truncated = true;
		report->offset = input_offset(in);
	}
	return error;
}

int perfetto_read_input(struct input *in, const struct reader_sink *sink,
			struct reader_error *ret_error)
{
	struct file *f = calloc(1, sizeof(*f));
	int error;

	if (!f)
		return -ENOMEM;
	fast_packet_init(&f->fast);
	f->draft.sink = sink;
	f->draft.foreign = true;
	f->p.sink = sink;
	f->p.error = ret_error;
	f->p.draft = &f->draft;
	f->in = in;
	error = file_read_fields(f, in);
	if (!error && f->p.sched)
		error = perfetto_bundles_end(&f->p);
	if (sink->origin)
		origin_records(sink->origin, "packets", f->p.packets, f->p.packets_said);
	perfetto_drop_given(&f->p);
	perfetto_bundles_free(&f->p);
	perfetto_report_left_out(&f->p, ret_error);
	hash_clear(hh, f->p.sequences, s, sequence_forget_interned(&f->p, s));
	perfetto_places_free(&f->p);
	perfetto_arena_clear(&f->arena, true);
	free(f);
	return error;
}
