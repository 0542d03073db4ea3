/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From the events of a stream to events of the timeline.
 *
 * Two marks of one site only differ in time, level and values. Site, name, categories and keys are
 * constants of the program, and they are in the second and third word of the event or in a word of
 * their own. So an event is parsed and decoded once, through the record that exact mode would have
 * (decode.c), and the result is cached. The next event with the same words is the cached one with
 * new values.
 *
 * Only marks with numbers are cached. If a program could say that a cached number is a string, the
 * number would become a pointer of its choice. Events with strings are decoded each time.
 */
#include "capture/batch/nesting.h"
#include "base/rare.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/*
 * --- decoding a new mark
 * --------------------------------------------------------------------------
 */

/*
 * The site with the stub at this address. The upper half of the address is that of the flush site.
 */
static const struct site *find_stub_site(struct capture *c, struct batch_stream *s, uint32_t stub,
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

/*
 * Whether the stub is a marker of a domain that is not selected here, but that another tracer has
 * turned on.
 */
static bool stub_is_unselected(const struct batch_stream *s, uint32_t stub)
{
	uint64_t vaddr = s->file->flush_stub + (int32_t)(stub - (uint32_t)s->flush);

	for (unsigned i = 0; i < s->file->sites.n; i++) {
		if (s->file->sites.sites[i].stub == vaddr)
			return true;
	}
	return false;
}

/*
 * Copies the strings of an event behind the record, as bpf/marks/marks.bpf.c does. False: it is
 * malformed.
 */
static bool append_event_strings(struct batches *b, const struct batch_event *e, size_t *ret_size)
{
	struct record_full *r = &b->record.record;
	size_t bytes = 0;

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
	for (unsigned i = 0; i < e->n; i++) {
		if (META_TYPE(e->meta, i) == VALUE_STRING &&
		    !(e->values[i] & (STRING_NULL | STRING_UNREADABLE)))
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

static bool build_mark_record(struct batches *b, const struct batch_event *e, size_t *ret_size)
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
		return append_event_strings(b, e, ret_size);
	return true;
}

/* Whether exact mode would send only the head of the record. */
static bool mark_has_short_record(const struct batch_mark *m)
{
	return m->kind <= RECORD_INSTANT && !(m->meta & (15 | META_CATEGORIES | META_NAME_DYNAMIC |
							 META_CLASS(META_CLASS_MARKER)));
}

/*
 * --- cached marks
 * ---------------------------------------------------------------------------------
 */

struct known_mark {
	/* The key: the two words of the event, and the file with its load address, */
	uint64_t head, meta, place;
	/*
	 * and the words with its keys and its categories, if there are any, else the first word
	 * again.
	 */
	uint64_t keys, categories;
	uint8_t keys_at, categories_at;
	struct batch_mark mark;
	uint32_t site;
	uint64_t *of_domain; /* counts its marks */
	/* Indices of the operands and values in the event; 0: there is none. */
	uint8_t a_at, b_at, values_at, n_values;
	bool has_id, has_size; /* whether a is the id, and b the size */
	struct event event;
	struct arg args[MAX_ARGS];
};

static struct known_mark **known_mark_slot(struct batches *b, const uint64_t *event)
{
	uint64_t hash = (event[1] ^ event[2] << 7) * 0x9e3779b97f4a7c15ull;

	return &b->known[hash >> (64 - BATCH_KNOWN_BITS)];
}

/* Whether all arguments are in the event word by word, so that they need no decoding. */
static bool args_are_numbers(const struct event *e, uint64_t meta)
{
	unsigned i, n = META_ARGS(meta) ? META_ARGS(meta) : e->n_args;

	for (i = 0; i < n; i++) {
		unsigned type = META_TYPE(meta, i);

		/* a counter without series has its value in an operand */
		if (!META_ARGS(meta))
			type = META_A_TYPE(meta);
		if (type != VALUE_INT && type != VALUE_UINT && type != VALUE_DOUBLE &&
		    type != VALUE_BOOL && type != VALUE_POINTER)
			return false;
	}
	return true;
}

/* Replaces the mark that was cached in the same slot. */
static void cache_known_mark(struct capture *c, const struct batch_stream *s, const uint64_t *event,
			     const struct batch_event *parts, const struct batch_mark *m,
			     const struct event *e)
{
	struct batches *b = c->batches;
	struct known_mark **place = known_mark_slot(b, event), *k = *place;

	if (!k)
		k = *place = calloc(1, sizeof(*k));
	if (!k)
		return;
	k->head = event[1];
	k->meta = event[2];
	k->place = s->file_and_base;
	k->keys_at = parts->keys_at ? parts->keys_at : 1;
	k->keys = event[k->keys_at];
	k->categories_at = m->meta & META_CATEGORIES && parts->b_at ? parts->b_at : 1;
	k->categories = event[k->categories_at];
	k->mark = *m;
	k->site = b->record.record.head.site;
	k->of_domain = &c->guard.domains[c->sites[k->site].guard].in_batches;
	k->a_at = parts->a_at;
	k->b_at = parts->b_at;
	k->has_id = !mark_has_short_record(m) && operand_is_id(m->kind);
	k->has_size = !mark_has_short_record(m) && operand_is_size(m->kind);
	/* A counter without series has its value in an operand. */
	k->values_at = parts->n ? parts->values - event : parts->a_at;
	k->n_values = k->values_at ? e->n_args : 0;
	k->event = *e;
	k->event.args = k->args;
	if (e->n_args)
		memcpy(k->args, e->args, e->n_args * sizeof(*e->args));
}

static bool decode_batch_event(struct capture *c, const struct batch_event *e,
			       const struct batch_mark *m, bool whole, struct event *ret)
{
	struct batches *b = c->batches;
	struct record *r = &b->record.record.head;
	size_t size;

	if (!whole || !build_mark_record(b, e, &size))
		return false;
	return decode_mark(c, r, mark_has_short_record(m) ? sizeof(*r) : size, ret);
}

static void emit_new_mark(struct capture *c, struct batch_stream *s, const uint64_t *event,
			  uint64_t ns)
{
	struct batches *b = c->batches;
	struct record *r = &b->record.record.head;
	uint64_t unreadable = c->decoded.unreadable_names;
	struct batch_event e;
	struct batch_mark m = { 0 };
	const struct site *site;
	struct event decoded = { 0 };
	int level;
	bool whole;

	whole = batch_event_parse(event, &e);
	site = find_stub_site(c, s, e.stub, &r->site);
	if (!site) {
		b->unreadable += !stub_is_unselected(s, e.stub);
		return;
	}
	m.kind = site->kind;
	m.meta = e.meta;
	m.only_categories = site->only_categories;
	m.plain_token = site->plain_token;
	c->guard.domains[site->guard].in_batches++;
	level = batch_apply_nesting(b, s->thread, &m, e.a);
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
	c->decoded.marks++;
	/* Who names a file is what the kernel says, not the program's memory. */
	if (m.kind == RECORD_INCLUDE_JSON || !decode_batch_event(c, &e, &m, whole, &decoded)) {
		c->decoded.malformed++;
		return;
	}
	if (c->decoded.unreadable_names == unreadable && !(e.meta & META_NAME_DYNAMIC) &&
	    args_are_numbers(&decoded, e.meta))
		cache_known_mark(c, s, event, &e, &m, &decoded);
	batch_set_counters(c, s->thread, &decoded);
	capture_mark(c, r->site, &decoded);
}

/*
 * --- emitting a cached mark
 * -----------------------------------------------------------------------
 */

static bool known_mark_matches(const struct known_mark *k, const struct batch_stream *s,
			       const uint64_t *event)
{
	return k && k->head == event[1] && k->meta == event[2] && k->place == s->file_and_base &&
	       k->keys == event[k->keys_at] && k->categories == event[k->categories_at];
}

static void set_known_values(struct known_mark *k, const uint64_t *values)
{
	for (unsigned i = 0; i < k->n_values; i++)
		k->args[i].u = k->args[i].type == ARG_BOOL ? values[i] != 0 : values[i];
}

static void emit_known_mark(struct capture *c, const struct batch_stream *s, struct known_mark *k,
			    const uint64_t *event, uint64_t ns)
{
	uint64_t a = k->a_at ? event[k->a_at] : 0;
	int level = batch_apply_nesting(c->batches, s->thread, &k->mark, a);
	struct event *e = &k->event;

	++*k->of_domain;
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
	set_known_values(k, event + k->values_at);
	c->decoded.marks++;
	batch_set_counters(c, s->thread, e);
	capture_mark(c, k->site, e);
}

bool batch_apply_record(struct capture *c, struct record *r, size_t *size)
{
	struct batches *b = c->batches;
	const struct site *site = r->site < c->n_sites ? &c->sites[r->site] : NULL;
	struct batch_thread *t = site ? batch_thread_get(b, r->tgid, r->tid) : NULL;
	bool is_plain = *size == sizeof(struct record_plain);
	struct batch_mark m = { .kind = r->kind };
	int level;

	/* It is counted as malformed. */
	if (!t)
		return true;
	m.meta = r->flags & RECORD_CATEGORIES ? META_CATEGORIES : 0;
	m.only_categories = site->only_categories;
	m.plain_token = site->plain_token;
	level = batch_apply_nesting(
		b, t, &m,
		*size >= sizeof(struct record_plain) ? ((const struct record_plain *)r)->ops.a : 0);
	/* The kernel has counted it. */
	b->marked--;
	if (level < 0)
		return false;
	r->level = (uint8_t)level;
	r->flags |= m.flags;
	if (is_plain && r->kind <= RECORD_END && !m.meta && !(r->object >> 4 & META_CLASS_MARKER))
		*size = sizeof(*r);
	return true;
}

void batch_event_emit(struct capture *c, struct batch_stream *s, const uint64_t *event, uint64_t ns)
{
	struct known_mark *k = *known_mark_slot(c->batches, event);

	/* The event was made before or after the recording, while the batch existed. */
	if (rare(ns < s->thread->process->from_ns || ns > c->batches->until_ns))
		return;
	if (rare(!known_mark_matches(k, s, event)))
		emit_new_mark(c, s, event, ns);
	else
		emit_known_mark(c, s, k, event, ns);
}

void batch_marks_free(struct batches *b)
{
	for (unsigned i = 0; i < 1 << BATCH_KNOWN_BITS; i++)
		free(b->known[i]);
}
