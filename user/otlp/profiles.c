/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Samples of call stacks as profiles.
 *
 * Samples are kept as they come, because the functions in them are named later: when they are flushed, the ones of a process
 * become a profile, or several if one were too large. Each is a request of its own with a dictionary of its own
 * (profile_dictionary.c). A sample in a slice that is sent as a span, or that has a trace context, is linked to that span.
 */
#include "otlp/otlp.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/hash.h"
#include "otlp/otlp_attributes.h"
#include "otlp/profile_dictionary.h"

enum {
	MOST_SAMPLES = 1 << 15, /* that are kept */
	AT_ONCE = 1024,		/* times of a sample's stack in one message, at most 24 KiB */
	PROFILE_HEAD = 256,
};

/* To whom samples belong. */
struct profile_owner {
	struct profile_owner *next;
	uint64_t uuid;
	size_t resource_size;
	uint8_t resource[OTLP_RESOURCE];
	UT_hash_handle hh;
};

struct kept_sample {
	struct profile_owner *owner;
	const struct callstack *callstack; /* NULL: not known */
	uint64_t ts_ns, period_ns;
	uint32_t tid;
	bool linked;
	struct otlp_context link;
};

struct profiles {
	struct consumer consumer;
	struct otlp *otlp;
	const struct consumer *spans; /* NULL: none are sent */
	void (*name_frames)(void *context);
	void *context;
	char host[65];
	uint64_t epoch_ns;
	struct profile_owner *owners, *by_uuid;
	uint32_t n;
	uint64_t refused;
	struct kept_sample kept[MOST_SAMPLES];
	/* The profile that is put together. */
	struct profile_dictionary dictionary;
	size_t size;
	uint8_t samples[OTLP_ITEMS];
	uint8_t items[OTLP_ITEMS];
};

/* --- samples ----------------------------------------------------------------------------------- */

static struct profile_owner *owner_get(struct profiles *p, const struct process *process)
{
	struct profile_owner *owner;

	HASH_FIND(hh, p->by_uuid, &process->uuid, sizeof(process->uuid), owner);
	if (owner)
		return owner;
	owner = malloc(sizeof(*owner));
	if (!owner)
		return NULL;
	owner->uuid = process->uuid;
	owner->resource_size = otlp_pack_resource(process, p->host, owner->resource);
	HASH_ADD(hh, p->by_uuid, uuid, sizeof(owner->uuid), owner);
	if (!hash_added(hh, owner)) {
		free(owner);
		return NULL;
	}
	owner->next = p->owners;
	p->owners = owner;
	return owner;
}

/* It has another name, other labels or has ended: what comes belongs to another owner. */
static void owner_retire(struct profiles *p, const struct process *process)
{
	struct profile_owner *owner;

	HASH_FIND(hh, p->by_uuid, &process->uuid, sizeof(process->uuid), owner);
	if (owner)
		HASH_DEL(p->by_uuid, owner);
}

static void keep_sample(struct profiles *p, const struct fact *fact)
{
	struct profile_owner *owner;
	struct kept_sample *kept;

	if (p->n == MOST_SAMPLES)
		otlp_profiles_flush(&p->consumer);
	owner = fact->process ? owner_get(p, fact->process) : NULL;
	if (!owner) {
		p->refused++;
		return;
	}
	kept = &p->kept[p->n++];
	*kept = (struct kept_sample){
		.owner = owner,
		.callstack = fact->callstack,
		.ts_ns = fact->ts_ns,
		.period_ns = fact->sample->period_ns,
		.tid = fact->thread ? fact->thread->tid : 0,
	};
	kept->linked =
		p->spans && fact->thread && otlp_spans_context(p->spans, fact->thread, &kept->link);
}

/* --- profiles ---------------------------------------------------------------------------------- */

/* Those that become one message are beside one another, in the order of their times. */
static int compare_kinds(const struct kept_sample *a, const struct kept_sample *b)
{
	if (a->owner != b->owner)
		return a->owner < b->owner ? -1 : 1;
	if (a->callstack != b->callstack)
		return a->callstack < b->callstack ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	if (a->linked != b->linked)
		return a->linked ? 1 : -1;
	return a->linked ? memcmp(&a->link, &b->link, sizeof(a->link)) : 0;
}

static int compare_samples(const void *one, const void *other)
{
	const struct kept_sample *a = one, *b = other;
	int kinds = compare_kinds(a, b);

	return kinds ? kinds : (a->ts_ns > b->ts_ns) - (a->ts_ns < b->ts_ns);
}

/* `first` up to before `end` are of one kind. False: they do not fit any more. */
static bool put_samples(struct profiles *p, const struct kept_sample *first,
			const struct kept_sample *end)
{
	struct profile_dictionary *d = &p->dictionary;
	Otlp__Sample sample = OTLP__SAMPLE__INIT;
	uint64_t times[AT_ONCE];
	int64_t values[AT_ONCE];
	int32_t thread = 0;
	size_t size, i, n = (size_t)(end - first);

	sample.stack_index = profile_stack(d, first->callstack);
	thread = profile_thread(d, first->tid);
	sample.n_attribute_indices = thread != 0;
	sample.attribute_indices = &thread;
	sample.link_index = first->linked ? profile_link(d, &first->link) : 0;
	for (i = 0; i < n; i++) {
		times[i] = p->epoch_ns + first[i].ts_ns;
		values[i] = (int64_t)first[i].period_ns;
	}
	sample.n_values = sample.n_timestamps_unix_nano = n;
	sample.values = values;
	sample.timestamps_unix_nano = times;
	size = otlp__sample__get_packed_size(&sample);
	if (d->full || p->size + size + 16 + d->size + PROFILE_HEAD > OTLP_ITEMS)
		return false;
	p->samples[p->size++] = 2 << 3 | 2;
	p->size += otlp_put_varint(p->samples + p->size, size);
	p->size += otlp__sample__pack(&sample, p->samples + p->size);
	return true;
}

/* The samples between `first` and `end` are in it. */
static void give_profile(struct profiles *p, const struct kept_sample *first,
			 const struct kept_sample *end)
{
	Otlp__Profile profile = OTLP__PROFILE__INIT;
	Otlp__ValueType cpu = OTLP__VALUE_TYPE__INIT;
	uint8_t head[PROFILE_HEAD], id[16] = { 0 };
	uint64_t from = UINT64_MAX, to = 0;
	const struct kept_sample *k;
	size_t size, n;

	if (!p->size)
		return;
	for (k = first; k < end; k++) {
		from = k->ts_ns < from ? k->ts_ns : from;
		to = k->ts_ns > to ? k->ts_ns : to;
	}
	cpu.type_strindex = PROFILE_STRING_CPU;
	cpu.unit_strindex = PROFILE_STRING_NANOSECONDS;
	profile.sample_type = profile.period_type = &cpu;
	profile.period = (int64_t)first->period_ns;
	profile.time_unix_nano = p->epoch_ns + from;
	profile.duration_nano = to - from + 1;
	if (getrandom(id, sizeof(id), 0) == (ssize_t)sizeof(id))
		profile.profile_id = (ProtobufCBinaryData){ sizeof(id), id };
	size = otlp__profile__pack(&profile, head);
	n = 0;
	p->items[n++] = 2 << 3 | 2;
	n += otlp_put_varint(p->items + n, size + p->size);
	memcpy(p->items + n, head, size);
	memcpy(p->items + n + size, p->samples, p->size);
	otlp_give_profile(p->otlp, first->owner->resource, first->owner->resource_size, p->items,
			  n + size + p->size, p->dictionary.bytes, p->dictionary.size);
}

static void profile_begin(struct profiles *p)
{
	p->size = 0;
	profile_dictionary_begin(&p->dictionary);
}

/* The profiles of an owner. */
static void give_owner(struct profiles *p, const struct kept_sample *first,
		       const struct kept_sample *end)
{
	const struct kept_sample *begun = first, *next;

	profile_begin(p);
	for (; first < end; first = next) {
		for (next = first + 1; next < end && next - first < AT_ONCE; next++) {
			if (compare_kinds(first, next))
				break;
		}
		if (put_samples(p, first, next))
			continue;
		give_profile(p, begun, first);
		profile_begin(p);
		begun = first;
		if (put_samples(p, first, next))
			continue;
		/* A single stack is too large. */
		p->refused += (uint64_t)(next - first);
		profile_begin(p);
		begun = next;
	}
	give_profile(p, begun, end);
}

void otlp_profiles_flush(struct consumer *consumer)
{
	struct profiles *p = (struct profiles *)consumer;
	struct kept_sample *first = p->kept, *end = p->kept + p->n, *next;
	struct profile_owner *owner;

	if (p->n)
		p->name_frames(p->context);
	qsort(p->kept, p->n, sizeof(p->kept[0]), compare_samples);
	for (; first < end; first = next) {
		for (next = first + 1; next < end && next->owner == first->owner;)
			next++;
		give_owner(p, first, next);
	}
	p->n = 0;
	HASH_CLEAR(hh, p->by_uuid);
	while ((owner = p->owners)) {
		p->owners = owner->next;
		free(owner);
	}
}

/* --- the consumer ------------------------------------------------------------------------------ */

static int profiles_fact(struct consumer *consumer, const struct fact *fact)
{
	struct profiles *p = (struct profiles *)consumer;

	switch (fact->kind) {
	case FACT_SAMPLE:
		keep_sample(p, fact);
		break;
	case FACT_CLOCK:
		p->epoch_ns = fact->clock.realtime - fact->clock.monotonic;
		break;
	case FACT_PROCESS:
	case FACT_LABELS:
		owner_retire(p, fact->process);
		break;
	case FACT_EXIT:
		if (!fact->thread)
			owner_retire(p, fact->process);
		break;
	default:
		break;
	}
	return 0;
}

static void profiles_free(struct consumer *consumer)
{
	struct profiles *p = (struct profiles *)consumer;

	p->n = 0;
	otlp_profiles_flush(consumer);
	profile_dictionary_free(&p->dictionary);
	free(p);
}

uint64_t otlp_profiles_refused(const struct consumer *consumer)
{
	return ((const struct profiles *)consumer)->refused;
}

struct consumer *otlp_profiles_new(struct otlp *otlp, const struct consumer *spans,
				   const struct trace_info *info,
				   void (*name_frames)(void *context), void *context)
{
	static const struct consumer_ops ops = {
		.fact = profiles_fact,
		.free = profiles_free,
	};
	struct profiles *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->consumer.ops = &ops;
	p->otlp = otlp;
	p->spans = spans;
	p->name_frames = name_frames;
	p->context = context;
	p->epoch_ns = info->clock.realtime - info->clock.monotonic;
	snprintf(p->host, sizeof(p->host), "%s", info->host ? info->host : "");
	return &p->consumer;
}
