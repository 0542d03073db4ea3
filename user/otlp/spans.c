/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chosen slices as spans.
 *
 * Each thread, and each lane of asynchronous slices, has a stack of its open slices. A chosen slice draws its ids when
 * it begins, so that slices inside it can name it as their parent. Its span is encoded in pieces, which are the bytes of
 * one message when they are put behind one another: what is known at its BEGIN, each instant inside it, and at its END
 * the times. Only the innermost chosen slice grows, so the bytes of a thread are a stack, too.
 *
 * The trace of a slice is that of its argument `traceparent`, or of the nearest slice around it that has one or is
 * chosen; otherwise it begins a trace of its own.
 */
#include "otlp/otlp.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/array.h"
#include "base/glob.h"
#include "base/hash.h"
#include "otlp/otlp_attributes.h"

enum {
	SPAN_MOST = 32 << 10, /* bytes of one span: events beyond that are dropped */
	SPAN_END = 2048,      /* of them, for what END adds beside arguments */
	MOST_TRACKS = 1 << 16,
	MOST_BYTES = 1 << 20, /* of the open slices of a thread */
	KEPT_FLOWS =
		1024, /* ends of arrows that are remembered: of those with the same low bits the latest */
	POOL = 256, /* random bytes that are drawn at once */
};

/* A slice that is open. Its context is what slices inside it inherit. */
struct span_frame {
	bool has_context, chosen;
	struct otlp_context context;
	uint64_t begin_ns;
	uint32_t begin; /* of a chosen one in the bytes of its track */
	uint32_t events_dropped;
};

struct span_track {
	uint64_t uuid, process;
	struct span_frame *frames;
	uint32_t n_frames, capacity, skipped; /* slices for which there was no memory */
	uint8_t *bytes;
	uint32_t n_bytes, bytes_capacity;
	UT_hash_handle hh;
};

/* Finished spans of a process that are not given yet. */
struct span_process {
	uint64_t uuid;
	size_t resource_size, size;
	uint64_t n;
	uint8_t resource[OTLP_RESOURCE], spans[OTLP_ITEMS];
	UT_hash_handle hh;
};

struct spans {
	struct consumer consumer;
	struct otlp *otlp;
	const struct otlp_options *options;
	char host[65];
	uint64_t epoch_ns; /* of CLOCK_MONOTONIC, since 1970 */
	uint64_t last_ns;
	struct span_track *tracks;
	struct span_process *processes;
	uint8_t *chosen; /* by the id of a name: 0: not known yet, 1: no, 2: yes */
	uint32_t n_chosen;
	struct span_flow {
		uint64_t id;
		struct otlp_context context;
	} flows[KEPT_FLOWS];
	uint8_t pool[POOL];
	unsigned pool_used;
	uint64_t unsampled, refused;
	struct otlp_attributes attributes;
};

/* --- what is chosen ---------------------------------------------------------------------------- */

static bool name_is_chosen(struct spans *s, const struct name *name)
{
	if (!name)
		return false;
	while (name->id >= s->n_chosen) {
		uint32_t before = s->n_chosen;

		if (!array_grow(&s->chosen, &s->n_chosen, 1024, 1))
			return globs_select(s->options->spans, s->options->n_spans, name->text,
					    false);
		memset(s->chosen + before, 0, s->n_chosen - before);
	}
	if (!s->chosen[name->id])
		s->chosen[name->id] =
			1 + globs_select(s->options->spans, s->options->n_spans, name->text, false);
	return s->chosen[name->id] == 2;
}

/* An id is never all zero. */
static void draw_id(struct spans *s, uint8_t *id, unsigned n)
{
	if (s->pool_used + n > POOL) {
		if (getrandom(s->pool, POOL, 0) != POOL)
			memset(s->pool, 0, POOL);
		s->pool_used = 0;
	}
	memcpy(id, s->pool + s->pool_used, n);
	s->pool_used += n;
	id[n - 1] |= !memcmp(id, (uint8_t[16]){ 0 }, n);
}

static bool find_traceparent(const struct fact *fact, struct otlp_context *ret_context)
{
	unsigned i;

	for (i = 0; i < fact->n_args; i++) {
		const struct arg *arg = &fact->args[i];

		if (arg->type == ARG_STRING && arg->key && !strcmp(arg->key->text, "traceparent"))
			return otlp_parse_traceparent(arg->s, arg->length, ret_context);
	}
	return false;
}

/* --- tracks ------------------------------------------------------------------------------------ */

static struct span_track *track_find(struct spans *s, uint64_t uuid)
{
	struct span_track *track;

	HASH_FIND(hh, s->tracks, &uuid, sizeof(uuid), track);
	return track;
}

static struct span_track *track_get(struct spans *s, uint64_t uuid, const struct process *process)
{
	struct span_track *track = track_find(s, uuid);

	if (track || HASH_COUNT(s->tracks) >= MOST_TRACKS)
		return track;
	track = calloc(1, sizeof(*track));
	if (!track)
		return NULL;
	track->uuid = uuid;
	track->process = process ? process->uuid : 0;
	HASH_ADD(hh, s->tracks, uuid, sizeof(track->uuid), track);
	if (hash_added(hh, track))
		return track;
	free(track);
	return NULL;
}

static void track_free(struct spans *s, struct span_track *track)
{
	HASH_DEL(s->tracks, track);
	free(track->frames);
	free(track->bytes);
	free(track);
}

/* The innermost chosen slice that is open. */
static struct span_frame *track_chosen(const struct span_track *track)
{
	uint32_t i = track ? track->n_frames : 0;

	while (i-- > 0) {
		if (track->frames[i].chosen)
			return &track->frames[i];
	}
	return NULL;
}

/* Puts a piece behind the bytes of the track. False: it would become too long, or there is no memory. */
static bool track_put(struct span_track *track, const Otlp__Span *piece, uint32_t begin,
		      uint32_t most)
{
	size_t size = otlp__span__get_packed_size(piece);

	if (track->n_bytes - begin + size > most || track->n_bytes + size > MOST_BYTES)
		return false;
	while (track->n_bytes + size > track->bytes_capacity) {
		if (!array_grow(&track->bytes, &track->bytes_capacity, 1024, 1))
			return false;
	}
	track->n_bytes += (uint32_t)otlp__span__pack(piece, track->bytes + track->n_bytes);
	return true;
}

/* --- processes --------------------------------------------------------------------------------- */

static void process_flush(struct spans *s, struct span_process *p)
{
	if (p->n)
		otlp_give(s->otlp, OTLP_SPANS, p->resource, p->resource_size, p->spans, p->size,
			  p->n);
	p->size = p->n = 0;
}

static struct span_process *process_find(struct spans *s, uint64_t uuid)
{
	struct span_process *p;

	HASH_FIND(hh, s->processes, &uuid, sizeof(uuid), p);
	return p;
}

static struct span_process *process_get(struct spans *s, const struct process *process)
{
	uint64_t uuid = process ? process->uuid : 0;
	struct span_process *p = process_find(s, uuid);

	if (p)
		return p;
	p = malloc(sizeof(*p));
	if (!p)
		return NULL;
	p->uuid = uuid;
	p->size = p->n = 0;
	p->resource_size = otlp_pack_resource(process, s->host, p->resource);
	HASH_ADD(hh, s->processes, uuid, sizeof(p->uuid), p);
	if (hash_added(hh, p))
		return p;
	free(p);
	return NULL;
}

/* It has another name, or other labels: what it has done so far belongs to what it was. */
static void process_rename(struct spans *s, const struct process *process)
{
	struct span_process *p = process_find(s, process->uuid);

	if (!p)
		return;
	process_flush(s, p);
	p->resource_size = otlp_pack_resource(process, s->host, p->resource);
}

static void process_exit(struct spans *s, const struct process *process)
{
	struct span_process *p = process_find(s, process->uuid);
	struct span_track *track, *next;

	if (p) {
		process_flush(s, p);
		HASH_DEL(s->processes, p);
		free(p);
	}
	HASH_ITER (hh, s->tracks, track, next) {
		if (track->process == process->uuid)
			track_free(s, track);
	}
}

/* --- slices ------------------------------------------------------------------------------------ */

/* The first piece. */
static bool frame_begin_span(struct spans *s, struct span_track *track, struct span_frame *frame,
			     const struct otlp_context *parent, const struct fact *fact)
{
	Otlp__Span span = OTLP__SPAN__INIT;

	span.trace_id = (ProtobufCBinaryData){ 16, frame->context.trace_id };
	span.span_id = (ProtobufCBinaryData){ 8, frame->context.span_id };
	if (parent)
		span.parent_span_id = (ProtobufCBinaryData){ 8, (uint8_t *)parent->span_id };
	span.name = (char *)fact->name->text;
	span.kind = 1;
	otlp_attributes_clear(&s->attributes);
	if (fact->category)
		otlp_attributes_add_text(&s->attributes, "proftrace.category",
					 fact->category->text);
	if (fact->thread)
		otlp_attributes_add_number(&s->attributes, "thread.id", fact->thread->tid);
	otlp_attributes_add(&s->attributes, fact->args, fact->n_args);
	span.attributes = s->attributes.list;
	span.n_attributes = s->attributes.n;
	span.dropped_attributes_count = s->attributes.dropped;
	return track_put(track, &span, frame->begin, SPAN_MOST - SPAN_END);
}

static void begin_slice(struct spans *s, const struct fact *fact, uint64_t uuid,
			const struct span_frame *around)
{
	struct span_track *track = track_get(s, uuid, fact->process);
	bool chosen = name_is_chosen(s, fact->name), own;
	struct otlp_context parent;
	struct span_frame frame = { .begin_ns = fact->ts_ns };

	if (!track || track->skipped ||
	    !array_reserve(track->frames, track->n_frames, track->capacity, 8)) {
		s->refused += chosen;
		if (track)
			track->skipped++;
		return;
	}
	if (!around && track->n_frames)
		around = &track->frames[track->n_frames - 1];
	own = find_traceparent(fact, &parent);
	frame.has_context = own || (around && around->has_context);
	if (!own && frame.has_context)
		parent = around->context;
	if (frame.has_context)
		frame.context = parent;
	if (chosen && frame.has_context && !parent.sampled) {
		s->unsampled++;
		chosen = false;
	}
	if (chosen) {
		if (!frame.has_context)
			draw_id(s, frame.context.trace_id, 16);
		draw_id(s, frame.context.span_id, 8);
		frame.context.sampled = true;
		frame.begin = track->n_bytes;
		frame.chosen = frame_begin_span(s, track, &frame,
						frame.has_context ? &parent : NULL, fact) &&
			       process_get(s, fact->process);
		s->refused += !frame.chosen;
		frame.has_context |= frame.chosen;
	}
	track->frames[track->n_frames++] = frame;
}

static void process_add_span(struct spans *s, struct span_process *p, const uint8_t *span,
			     uint32_t size)
{
	uint8_t head[1 + 10] = { 2 << 3 | 2 };
	size_t n = 1 + otlp_put_varint(head + 1, size);

	if (!p) {
		s->refused++;
		return;
	}
	if (p->size + n + size > sizeof(p->spans))
		process_flush(s, p);
	memcpy(p->spans + p->size, head, n);
	memcpy(p->spans + p->size + n, span, size);
	p->size += n + size;
	p->n++;
}

/* The last piece. `why` NULL: it ended by its own END. */
static void end_span(struct spans *s, struct span_track *track, const struct span_frame *frame,
		     const struct fact *fact, const char *why)
{
	Otlp__Span span = OTLP__SPAN__INIT;
	Otlp__Status status = OTLP__STATUS__INIT;

	/* Both by the same offset: the wall clock may have been set in between. */
	span.start_time_unix_nano = s->epoch_ns + frame->begin_ns;
	span.end_time_unix_nano = s->epoch_ns + fact->ts_ns;
	span.dropped_events_count = frame->events_dropped;
	status.code = 2;
	status.message = (char *)why;
	if (why)
		span.status = &status;
	otlp_attributes_clear(&s->attributes);
	otlp_attributes_add(&s->attributes, fact->args, fact->n_args);
	span.attributes = s->attributes.list;
	span.n_attributes = s->attributes.n;
	span.dropped_attributes_count = s->attributes.dropped;
	if (!track_put(track, &span, frame->begin, SPAN_MOST)) {
		span.n_attributes = 0;
		span.dropped_attributes_count += s->attributes.n;
		if (!track_put(track, &span, frame->begin, SPAN_MOST)) {
			s->refused++;
			return;
		}
	}
	process_add_span(s, process_find(s, track->process), track->bytes + frame->begin,
			 track->n_bytes - frame->begin);
}

static void end_slice(struct spans *s, const struct fact *fact, uint64_t uuid)
{
	static const char *const reasons[] = {
		[END_NORMAL] = NULL,
		[END_LOST] = "its end was lost: it ended at some time before",
		[END_UNFINISHED] =
			"unfinished: its thread, its program or the slice around it ended",
	};
	struct span_track *track = track_find(s, uuid);
	struct span_frame frame;

	if (track && track->skipped) {
		track->skipped--;
		return;
	}
	if (!track || !track->n_frames)
		return;
	frame = track->frames[--track->n_frames];
	if (!frame.chosen)
		return;
	end_span(s, track, &frame, fact, reasons[fact->end_reason]);
	track->n_bytes = frame.begin;
}

/* --- what belongs to a slice -------------------------------------------------------------------- */

static void add_event(struct spans *s, const struct fact *fact)
{
	struct span_track *track = fact->thread ? track_find(s, fact->thread->uuid) : NULL;
	struct span_frame *frame = track_chosen(track);
	Otlp__Span span = OTLP__SPAN__INIT;
	Otlp__SpanEvent event = OTLP__SPAN_EVENT__INIT, *list = &event;

	if (!frame)
		return;
	event.time_unix_nano = s->epoch_ns + fact->ts_ns;
	event.name = (char *)(fact->name ? fact->name->text : "");
	otlp_attributes_clear(&s->attributes);
	otlp_attributes_add(&s->attributes, fact->args, fact->n_args);
	event.attributes = s->attributes.list;
	event.n_attributes = s->attributes.n;
	span.events = &list;
	span.n_events = 1;
	frame->events_dropped += !track_put(track, &span, frame->begin, SPAN_MOST - SPAN_END);
}

/* An arrow from another chosen slice becomes a link to it. */
static void add_flow(struct spans *s, const struct fact *fact)
{
	struct span_track *track = fact->thread ? track_find(s, fact->thread->uuid) : NULL;
	struct span_frame *frame = track_chosen(track);
	struct span_flow *flow = &s->flows[fact->id % KEPT_FLOWS];
	Otlp__Span span = OTLP__SPAN__INIT;
	Otlp__SpanLink link = OTLP__SPAN_LINK__INIT, *list = &link;

	if (!frame)
		return;
	if (fact->kind == FACT_FLOW_OUT) {
		*flow = (struct span_flow){ fact->id, frame->context };
	} else if (flow->id == fact->id && flow->context.sampled) {
		link.trace_id = (ProtobufCBinaryData){ 16, flow->context.trace_id };
		link.span_id = (ProtobufCBinaryData){ 8, flow->context.span_id };
		span.links = &list;
		span.n_links = 1;
		track_put(track, &span, frame->begin, SPAN_MOST - SPAN_END);
	}
}

/* --- the consumer ------------------------------------------------------------------------------ */

static const struct span_frame *thread_frame(struct spans *s, const struct thread *thread)
{
	const struct span_track *track = thread ? track_find(s, thread->uuid) : NULL;

	return track && track->n_frames ? &track->frames[track->n_frames - 1] : NULL;
}

bool otlp_spans_context(const struct consumer *consumer, const struct thread *thread,
			struct otlp_context *ret_context)
{
	const struct span_frame *frame = thread_frame((struct spans *)consumer, thread);

	if (!frame || !frame->has_context || !frame->context.sampled)
		return false;
	*ret_context = frame->context;
	return true;
}

static int spans_fact(struct consumer *consumer, const struct fact *fact)
{
	struct spans *s = (struct spans *)consumer;
	struct span_track *track;

	s->last_ns = fact->ts_ns > s->last_ns ? fact->ts_ns : s->last_ns;
	switch (fact->kind) {
	case FACT_BEGIN:
		begin_slice(s, fact, fact->thread->uuid, NULL);
		break;
	case FACT_END:
		end_slice(s, fact, fact->thread->uuid);
		break;
	case FACT_ASYNC_BEGIN:
		begin_slice(s, fact, fact->tracks[0]->uuid, thread_frame(s, fact->thread));
		break;
	case FACT_ASYNC_END:
		end_slice(s, fact, fact->tracks[0]->uuid);
		break;
	case FACT_INSTANT:
		add_event(s, fact);
		break;
	case FACT_FLOW_OUT:
	case FACT_FLOW_IN:
		add_flow(s, fact);
		break;
	case FACT_CLOCK:
		s->epoch_ns = fact->clock.realtime - fact->clock.monotonic;
		break;
	case FACT_PROCESS:
	case FACT_LABELS:
		process_rename(s, fact->process);
		break;
	case FACT_EXIT:
		track = fact->thread ? track_find(s, fact->thread->uuid) : NULL;
		if (track)
			track_free(s, track);
		else if (!fact->thread)
			process_exit(s, fact->process);
		break;
	default:
		break;
	}
	return 0;
}

static int spans_flush(struct consumer *consumer)
{
	struct spans *s = (struct spans *)consumer;
	struct span_process *p;

	for (p = s->processes; p; p = p->hh.next)
		process_flush(s, p);
	return 0;
}

/* Slices that are still open have no END that could come. */
static int spans_close(struct consumer *consumer, const struct account *account)
{
	struct spans *s = (struct spans *)consumer;
	const struct fact fact = { .ts_ns = s->last_ns };
	struct span_track *track;

	(void)account;
	for (track = s->tracks; track; track = track->hh.next) {
		while (track->n_frames) {
			struct span_frame frame = track->frames[--track->n_frames];

			if (!frame.chosen)
				continue;
			end_span(s, track, &frame, &fact, "unfinished: the recording ended");
			track->n_bytes = frame.begin;
		}
	}
	return spans_flush(consumer);
}

static void spans_free(struct consumer *consumer)
{
	struct spans *s = (struct spans *)consumer;
	struct span_process *p, *next;
	struct span_track *track, *next_track;

	HASH_ITER (hh, s->processes, p, next) {
		HASH_DEL(s->processes, p);
		free(p);
	}
	HASH_ITER (hh, s->tracks, track, next_track)
		track_free(s, track);
	free(s->chosen);
	free(s);
}

uint64_t otlp_spans_unsampled(const struct consumer *consumer)
{
	return ((const struct spans *)consumer)->unsampled;
}

uint64_t otlp_spans_refused(const struct consumer *consumer)
{
	return ((const struct spans *)consumer)->refused;
}

struct consumer *otlp_spans_new(struct otlp *otlp, const struct otlp_options *options,
				const struct trace_info *info)
{
	static const struct consumer_ops ops = {
		.fact = spans_fact,
		.flush = spans_flush,
		.close = spans_close,
		.free = spans_free,
	};
	struct spans *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->consumer.ops = &ops;
	s->otlp = otlp;
	s->options = options;
	s->epoch_ns = info->clock.realtime - info->clock.monotonic;
	s->pool_used = POOL;
	snprintf(s->host, sizeof(s->host), "%s", info->host ? info->host : "");
	return &s->consumer;
}
