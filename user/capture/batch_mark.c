/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From what stands in a stream to what the timeline takes.
 *
 * A mark is the same event each time it comes, but for its time, its level and its values: which site it
 * is of, its name, its categories and its keys are constants of the program, and stand in the second and
 * third word, or in one of their own. So an event is taken apart once, by way of the record that exact
 * mode would have (decode.c), and kept: the next one with the same words is that one with other values.
 * Only numbers are kept: what a program calls a number and then a string would become an address that it
 * has chosen. What has strings comes by the long way each time.
 */
#include "capture/batch_nesting.h"
#include "rare.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define META_OBJECT(meta) ((uint8_t)((meta) >> 40))
#define META_IS_MARKER	  (1ull << 44)

/* --- the long way --------------------------------------------------------------------------------- */

/* The site whose stub lies at this address, whose upper half is that of the flush site. */
static const struct site *site_of(struct capture *c, struct batch_stream *s, uint32_t stub,
				  uint32_t *ret_number)
{
	unsigned slot = (stub >> 5) % STREAM_SITES, i;
	uint64_t vaddr = s->file->flush_stub + (int32_t)(stub - (uint32_t)s->flush);

	if (s->sites[slot].site && s->sites[slot].stub == stub) {
		*ret_number = s->sites[slot].site - 1;
		return &c->sites[*ret_number];
	}
	for (i = 0; i < s->file->n_sites; i++) {
		const struct site *site = &c->sites[s->file->first_site + i];

		if (!site->batches || site->vaddr != vaddr)
			continue;
		s->sites[slot].stub = stub;
		s->sites[slot].site = s->file->first_site + i + 1;
		*ret_number = s->file->first_site + i;
		return site;
	}
	return NULL;
}

/* Whether it is a marker all the same: of a domain that is on for another tracer. */
static bool is_not_selected(const struct batch_stream *s, uint32_t stub)
{
	uint64_t vaddr = s->file->flush_stub + (int32_t)(stub - (uint32_t)s->flush);
	unsigned i;

	for (i = 0; i < s->file->sites.n; i++) {
		if (s->file->sites.sites[i].stub == vaddr)
			return true;
	}
	return false;
}

/* The strings of an event, behind the record as bpf/marks.bpf.c puts them. False: it makes no sense. */
static bool put_strings(struct batches *b, const struct batch_event *e, size_t *ret_size)
{
	struct record_full *r = &b->record.record;
	size_t bytes = 0;
	unsigned i;

	if (e->meta & META_NAME_DYNAMIC) {
		if (e->name_length & STRING_NULL) {
			r->head.flags |= RECORD_NAME_UNREADABLE;
		} else {
			r->head.flags |= RECORD_NAME_COPIED |
					 (e->name_length & STRING_CUT ? RECORD_NAME_CUT : 0);
			r->args.name_length = (uint32_t)e->name_length;
			bytes += r->args.name_length;
		}
		if (e->meta & META_CATEGORIES) {
			r->ops.b = e->b & STRING_NULL ? 0 : (uint32_t)e->b;
			bytes += r->ops.b;
		}
	}
	for (i = 0; i < e->n; i++) {
		if ((e->meta >> (8 + 4 * i) & 15) == VALUE_STRING && !(e->values[i] & STRING_NULL))
			bytes += (uint32_t)e->values[i];
		if (bytes > e->n_bytes)
			return false;
	}
	if (bytes > e->n_bytes || bytes > sizeof(b->record.bytes))
		return false;
	memcpy(b->record.bytes, e->bytes, bytes);
	*ret_size = sizeof(*r) + bytes;
	return true;
}

static bool make_record(struct batches *b, const struct batch_event *e, size_t *ret_size)
{
	struct record_full *r = &b->record.record;

	r->ops.a = e->a;
	r->ops.b = e->b;
	if (e->meta & META_CATEGORIES)
		r->head.flags |= RECORD_CATEGORIES;
	r->args.keys = e->keys;
	r->args.name_length = 0;
	if (e->n)
		memcpy(r->args.values, e->values, e->n * sizeof(*e->values));
	*ret_size = e->n ? offsetof(struct record_full, args.values) + e->n * sizeof(*e->values)
			 : sizeof(struct record_plain);
	if (e->meta & (META_NAME_DYNAMIC | META_HAS_STRINGS))
		return put_strings(b, e, ret_size);
	return true;
}

/* What exact mode leaves away, where it says nothing. */
static bool is_short(const struct batch_mark *m)
{
	return m->kind <= RECORD_INSTANT &&
	       !(m->meta & (15 | META_CATEGORIES | META_NAME_DYNAMIC | META_IS_MARKER));
}

/* --- what is kept --------------------------------------------------------------------------------- */

struct known_mark {
	/* The event's two words, and of which file they are, where: the key; */
	uint64_t head, meta, place;
	/* with those where its keys and its categories are, or, without, the first one once more. */
	uint64_t keys, categories;
	uint8_t keys_at, categories_at;
	struct batch_mark mark;
	uint32_t site;
	/* Where in the event its operands and values are; 0: a and b are none. */
	uint8_t a_at, b_at, values_at, n_values;
	bool has_id, has_size; /* what the timeline takes of a and b */
	struct event event;
	struct arg args[MAX_ARGS];
};

static struct known_mark **place_of(struct batches *b, const uint64_t *event)
{
	uint64_t hash = (event[1] ^ event[2] << 7) * 0x9e3779b97f4a7c15ull;

	return &b->known[hash >> (64 - BATCH_KNOWN_BITS)];
}

/* As they stand in the event, word for word: of anything else decode.c makes something. */
static bool are_numbers(const struct event *e, uint64_t meta)
{
	unsigned i;

	for (i = 0; i < e->n_args; i++) {
		unsigned type = meta >> (8 + 4 * i) & 15;

		/* The value of a counter without series. */
		if (!(meta & 15))
			type = meta >> 4 & 15;
		if (type != VALUE_INT && type != VALUE_UINT && type != VALUE_DOUBLE &&
		    type != VALUE_BOOL && type != VALUE_POINTER)
			return false;
	}
	return true;
}

/* In the place of another, should there be one. */
static void keep_mark(struct batches *b, const struct batch_stream *s, const uint64_t *event,
		      const struct batch_event *parts, const struct batch_mark *m,
		      const struct event *e)
{
	struct known_mark **place = place_of(b, event), *k = *place;

	if (!k)
		k = *place = calloc(1, sizeof(*k));
	if (!k)
		return;
	k->head = event[1];
	k->meta = event[2];
	k->place = s->place_of_file;
	k->keys_at = parts->keys_at ? parts->keys_at : 1;
	k->keys = event[k->keys_at];
	k->categories_at = m->meta & META_CATEGORIES && parts->b_at ? parts->b_at : 1;
	k->categories = event[k->categories_at];
	k->mark = *m;
	k->site = b->record.record.head.site;
	k->a_at = parts->a_at;
	k->b_at = parts->b_at;
	k->has_id = !is_short(m) && operand_is_id(m->kind);
	k->has_size = !is_short(m) && operand_is_size(m->kind);
	/* The value of a counter without series is an operand. */
	k->values_at = parts->n ? parts->values - event : parts->a_at;
	k->n_values = k->values_at ? e->n_args : 0;
	k->event = *e;
	k->event.args = k->args;
	if (e->n_args)
		memcpy(k->args, e->args, e->n_args * sizeof(*e->args));
}

static bool decode(struct capture *c, const struct batch_event *e, const struct batch_mark *m,
		   bool whole, struct event *ret)
{
	struct batches *b = c->batches;
	struct record *r = &b->record.record.head;
	size_t size;

	if (!whole || !make_record(b, e, &size))
		return false;
	return decode_mark(c, r, is_short(m) ? sizeof(*r) : size, ret);
}

static void take_unknown(struct capture *c, struct batch_stream *s, const uint64_t *event,
			 uint64_t ns)
{
	struct batches *b = c->batches;
	struct record *r = &b->record.record.head;
	uint64_t unreadable = c->unreadable_names;
	struct batch_event e;
	struct batch_mark m = { 0 };
	const struct site *site;
	struct event decoded = { 0 };
	int level;
	bool whole;

	whole = batch_event_read(event, &e);
	site = site_of(c, s, e.stub, &r->site);
	if (!site) {
		b->unreadable += !is_not_selected(s, e.stub);
		return;
	}
	m.kind = site->kind;
	m.meta = e.meta;
	m.only_categories = site->only_categories;
	m.plain_token = site->plain_token;
	level = batch_nesting(b, s->thread, &m, e.a);
	if (level < 0)
		return;
	r->ts = ns;
	r->tgid = s->thread->pid;
	r->tid = s->thread->tid;
	r->name = e.name;
	r->types = (uint32_t)m.meta;
	r->kind = m.kind;
	r->flags = m.flags;
	r->level = level;
	r->object = META_OBJECT(m.meta);
	decoded.ts_ns = ns;
	decoded.pid = r->tgid;
	decoded.tid = r->tid;
	c->decoded++;
	if (!decode(c, &e, &m, whole, &decoded)) {
		c->malformed++;
		return;
	}
	if (c->unreadable_names == unreadable && !(e.meta & META_NAME_DYNAMIC) &&
	    are_numbers(&decoded, e.meta))
		keep_mark(b, s, event, &e, &m, &decoded);
	capture_mark(c, r->site, &decoded);
}

/* --- the short way -------------------------------------------------------------------------------- */

static bool is_known(const struct known_mark *k, const struct batch_stream *s,
		     const uint64_t *event)
{
	return k && k->head == event[1] && k->meta == event[2] && k->place == s->place_of_file &&
	       k->keys == event[k->keys_at] && k->categories == event[k->categories_at];
}

static void put_values(struct known_mark *k, const uint64_t *values)
{
	unsigned i;

	for (i = 0; i < k->n_values; i++)
		k->args[i].u = k->args[i].type == ARG_BOOL ? values[i] != 0 : values[i];
}

static void take_known(struct capture *c, const struct batch_stream *s, struct known_mark *k,
		       const uint64_t *event, uint64_t ns)
{
	uint64_t a = k->a_at ? event[k->a_at] : 0;
	int level = batch_nesting(c->batches, s->thread, &k->mark, a);
	struct event *e = &k->event;

	if (rare(level < 0))
		return;
	e->ts_ns = ns;
	e->pid = s->thread->pid;
	e->tid = s->thread->tid;
	e->level = level;
	e->closes_inner = k->mark.flags & RECORD_CLOSES_INNER;
	e->left_out = k->mark.flags & RECORD_LEFT_OUT;
	if (k->has_id)
		e->id = a;
	if (k->has_size)
		e->size = k->b_at ? event[k->b_at] : 0;
	put_values(k, event + k->values_at);
	c->decoded++;
	capture_mark(c, k->site, e);
}

void batch_event_take(struct capture *c, struct batch_stream *s, const uint64_t *event, uint64_t ns)
{
	struct known_mark *k = *place_of(c->batches, event);

	/* From before or after the recording: the batch was there then, or still is. */
	if (rare(ns < s->thread->process->from_ns || ns > c->batches->until_ns))
		return;
	if (rare(!is_known(k, s, event)))
		take_unknown(c, s, event, ns);
	else
		take_known(c, s, k, event, ns);
}

void batch_marks_free(struct batches *b)
{
	unsigned i;

	for (i = 0; i < 1 << BATCH_KNOWN_BITS; i++)
		free(b->known[i]);
}
