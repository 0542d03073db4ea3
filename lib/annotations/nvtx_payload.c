/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Schemas of NVTX payloads, and the values that payloads have by them. Schemas are copied when they are registered. What
 * they say about a payload may be wrong: nothing is read outside the bytes that the program passes, except for strings
 * to which those point.
 */
#include "nvtx_payload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_ENTRIES = 64,  /* of a schema; an event has 32 arguments */
	MAX_VALUES = 1024, /* of an enum */
	MAX_SCHEMAS = 4096,
	MAX_DEPTH = 4, /* of schemas within schemas */
	MAX_READ =
		1024, /* entries in an event: one schema that contains itself 64 times would have 64^5 */
	FLAG_POINTERS = 7 << 1,
	FLAG_ARRAY = 7 << 4,
	ARRAY_FIXED = 1 << 4,
	ARRAY_TO_ZERO = 2 << 4,
	ARRAY_BY_ENTRY = 3 << 4,
	FLAG_HIDE = 1 << 9,
	FLAG_MESSAGE_OR_TIME = 3 << 10,
	FLAG_MESSAGE = 1 << 10,
	SCHEMA_STATIC = 1,
	SCHEMA_DYNAMIC = 2,
};
#define FIRST_ID     (UINT64_C(1) << 24) /* of schemas and enums; those below are types */
#define FIRST_OWN_ID (UINT64_C(1) << 32)

static struct unsupported bad_schema = { "NVTX schemas of an unknown form", 0, NULL, 0 };
static struct unsupported unknown_schema = { "NVTX payloads of an unknown schema", 0, NULL, 0 };
static struct unsupported unknown_entry = { "NVTX payload entries of an unknown type", 0, NULL, 0 };
static struct unsupported too_short = { "NVTX payloads shorter than their schema", 0, NULL, 0 };
static struct unsupported too_deep = { "NVTX payload entries beyond the 1024th", 0, NULL, 0 };
static struct unsupported too_many = { "NVTX payload values beyond the 32nd", 0, NULL, 0 };

/* A schema, or an enum, which has no entries. */
struct nvtx_schema {
	const char *name;
	size_t size, alignment;
	size_t n;
	bool is_enum, is_dynamic;
	union {
		struct nvtx_schema_entry entries[MAX_ENTRIES];
		struct nvtx_enum_value *values;
	};
};

/* Sizes of types, and how they are read; '-': not at all. */
static const struct nvtx_type {
	uint8_t size;
	char kind;
} types[] = {
	[1] = { 1, 'c' },   [2] = { 1, 'u' },	[3] = { 2, 'i' },  [4] = { 2, 'u' },
	[5] = { 4, 'i' },   [6] = { 4, 'u' },	[7] = { 8, 'i' },  [8] = { 8, 'u' },
	[9] = { 8, 'i' },   [10] = { 8, 'u' },	[11] = { 1, 'i' }, [12] = { 1, 'u' },
	[13] = { 2, 'i' },  [14] = { 2, 'u' },	[15] = { 4, 'i' }, [16] = { 4, 'u' },
	[17] = { 8, 'i' },  [18] = { 8, 'u' },	[19] = { 4, 'f' }, [20] = { 8, 'f' },
	[21] = { 16, '-' }, [22] = { 8, 'u' },	[23] = { 8, 'p' }, [24] = { 4, '-' },
	[25] = { 1, 'c' },  [26] = { 2, '-' },	[27] = { 4, '-' }, [32] = { 1, 'u' },
	[33] = { 16, '-' }, [34] = { 16, '-' }, [42] = { 2, '-' }, [43] = { 4, 'f' },
	[44] = { 8, 'f' },  [45] = { 16, '-' }, [50] = { 2, '-' }, [68] = { 4, 'u' },
	[69] = { 4, 'u' },  [70] = { 8, 'u' },	[71] = { 4, 'u' }, [72] = { 8, 'u' },
	[73] = { 4, 'u' },  [74] = { 8, 'u' },	[75] = { 8, 's' }, [76] = { 8, 's' },
	[80] = { 8, 'r' },
};

static const char *nvtx_kept(const char *name)
{
	char text[NAME_KEPT];

	return name ? prof_event_get(text_copy(text, sizeof(text), name, NAME_KEPT))->object.name
		    : NULL;
}

/* --- schemas --------------------------------------------------------------------------------- */

/* A program chooses the ids of a domain. */
static uint64_t nvtx_schema_key(void *domain, uint64_t id)
{
	return map_key(MAP_NVTX_SCHEMA, (uint64_t)nvtx_domain_find(domain)->number << 40 ^ id);
}

static struct nvtx_schema *nvtx_schema_new(void)
{
	static uint32_t made;

	if (__atomic_add_fetch(&made, 1, __ATOMIC_RELAXED) > MAX_SCHEMAS)
		return NULL;
	return calloc(1, sizeof(struct nvtx_schema));
}

static uint64_t nvtx_schema_put(void *domain, struct nvtx_schema *schema, uint64_t id)
{
	static uint64_t ids = FIRST_OWN_ID;

	if (!id)
		id = __atomic_add_fetch(&ids, 1, __ATOMIC_RELAXED);
	if (schema)
		map_put(nvtx_schema_key(domain, id), schema);
	else
		unsupported_count(&bad_schema);
	return id;
}

uint64_t nvtx_schema_add(void *domain, const struct nvtx_schema_attributes *a, uint64_t id)
{
	const uint64_t needed = 1 << 2 | 1 << 4 | 1 << 5;
	struct nvtx_schema *s = NULL;
	size_t i;

	if (a && (a->mask & needed) == needed && a->entries && a->n_entries <= MAX_ENTRIES &&
	    (a->type == SCHEMA_STATIC || a->type == SCHEMA_DYNAMIC))
		s = nvtx_schema_new();
	if (s) {
		s->name = a->mask & 1 << 1 ? nvtx_kept(a->name) : NULL;
		s->n = a->n_entries;
		s->size = a->mask & 1 << 6 ? a->static_size : 0;
		s->alignment = a->mask & 1 << 7 ? a->alignment : 0;
		s->is_dynamic = a->type == SCHEMA_DYNAMIC;
		memcpy(s->entries, a->entries, s->n * sizeof(*s->entries));
		for (i = 0; i < s->n; i++)
			s->entries[i].name = nvtx_kept(s->entries[i].name);
	}
	return nvtx_schema_put(domain, s, a && a->mask & 1 << 8 && !id ? a->id : id);
}

uint64_t nvtx_enum_add(void *domain, const struct nvtx_enum_attributes *a, uint64_t id)
{
	const uint64_t needed = 1 << 2 | 1 << 3;
	struct nvtx_schema *s = NULL;
	size_t i;

	if (a && (a->mask & needed) == needed && a->values && a->n_values <= MAX_VALUES)
		s = nvtx_schema_new();
	if (s) {
		s->is_enum = true;
		s->size = a->mask & 1 << 4 ? a->size : 4;
		s->values = calloc(a->n_values ? a->n_values : 1, sizeof(*s->values));
		s->n = s->values ? a->n_values : 0;
		for (i = 0; i < s->n; i++) {
			s->values[i].name = nvtx_kept(a->values[i].name);
			s->values[i].value = a->values[i].value;
		}
	}
	return nvtx_schema_put(domain, s, a && a->mask & 1 << 5 && !id ? a->id : id);
}

/* --- values ---------------------------------------------------------------------------------- */

/* One payload that is being read. */
struct nvtx_reading {
	void *domain;
	struct nvtx_event *e;
	const char *message;
	unsigned n_read; /* entries */
};

/* An entry of it: how many of which type, and where. */
struct nvtx_item {
	const struct nvtx_schema_entry *entry;
	const struct nvtx_schema *nested; /* or the enum */
	struct nvtx_type type;
	uint64_t count;
	const char *data;
	bool is_text; /* characters in the payload itself */
};

static char *nvtx_text_new(struct nvtx_event *e, size_t size)
{
	char *text = e->text + e->text_used;

	if (size > sizeof(e->text) - e->text_used)
		return NULL;
	e->text_used += size;
	return text;
}

static const char *nvtx_text_of(struct nvtx_event *e, const char *from, size_t length)
{
	const size_t n = strnlen(from, length < TEXT_KEPT - 1 ? length : TEXT_KEPT - 1);
	char *text = nvtx_text_new(e, n + 1);

	return text ? text_copy(text, n + 1, from, n) : NULL;
}

static uint64_t nvtx_number(const char *data, unsigned size, bool is_signed)
{
	uint64_t value = 0;

	memcpy(&value, data, size);
	if (is_signed && size < 8 && value >> (8 * size - 1))
		value |= UINT64_MAX << 8 * size;
	return value;
}

static const char *nvtx_enum_name(const struct nvtx_schema *s, uint64_t value)
{
	size_t i;

	for (i = 0; i < s->n; i++) {
		if (s->values[i].value == value)
			return s->values[i].name;
	}
	return NULL;
}

/* Strings and their kin, or NULL: it is a number. */
static const char *nvtx_item_text(struct nvtx_reading *r, const struct nvtx_item *item,
				  const char *data)
{
	const char *text = NULL;

	if (item->is_text)
		return nvtx_text_of(r->e, data, item->count);
	if (item->nested)
		return nvtx_enum_name(item->nested, nvtx_number(data, item->type.size, false));
	if (item->type.kind == 's' || item->type.kind == 'r')
		memcpy(&text, data, sizeof(text));
	if (item->type.kind == 'r')
		text = text ? nvtx_string_find(text) : NULL;
	else if (text)
		text = nvtx_text_of(r->e, text, TEXT_KEPT);
	return text ? text : item->type.kind == 's' || item->type.kind == 'r' ? "" : NULL;
}

static void nvtx_put_value(struct nvtx_reading *r, const struct nvtx_item *item, const char *data,
			   const char *key)
{
	const char *const text = nvtx_item_text(r, item, data);
	const unsigned size = item->type.size;
	prof_arg_t *arg = &r->e->args[r->e->n_args];
	double number;
	float small;

	if (text && (item->entry->flags & FLAG_MESSAGE_OR_TIME) == FLAG_MESSAGE) {
		r->message = text;
		return;
	}
	if (!key || r->e->n_args >= NVTX_MAX_ARGS || (item->is_text && !text)) {
		unsupported_count(&too_many);
		return;
	}
	r->e->n_args++;
	if (text) {
		*arg = prof_arg_string(key, text);
	} else if (item->type.kind == 'f' && size == 4) {
		memcpy(&small, data, sizeof(small));
		*arg = prof_arg_double(key, (double)small);
	} else if (item->type.kind == 'f') {
		memcpy(&number, data, sizeof(number));
		*arg = prof_arg_double(key, number);
	} else if (item->type.kind == 'i' || item->type.kind == 'c') {
		*arg = prof_arg_int(key, (int64_t)nvtx_number(data, size, true));
	} else if (item->type.kind == 'p') {
		*arg = prof_arg_pointer(key, (void *)(uintptr_t)nvtx_number(data, size, false));
	} else {
		*arg = prof_arg_uint(key, nvtx_number(data, size, false));
	}
}

/* "outer.name[3]" */
static const char *nvtx_key(struct nvtx_reading *r, const char *around, const char *name,
			    const uint64_t *nth)
{
	char text[2 * NAME_KEPT], number[24] = "";

	name = name && *name ? name : "value";
	if (!*around && !nth)
		return name;
	if (nth)
		snprintf(number, sizeof(number), "[%llu]", (unsigned long long)*nth);
	snprintf(text, sizeof(text), "%s%s%s%s", around, *around ? "." : "", name, number);
	return nvtx_text_of(r->e, text, NAME_KEPT);
}

static bool nvtx_item_type(struct nvtx_reading *r, struct nvtx_item *item)
{
	const struct nvtx_schema_entry *entry = item->entry;

	if (entry->type >= FIRST_ID) {
		item->nested = map_get(nvtx_schema_key(r->domain, entry->type));
		if (!item->nested)
			return false;
		item->type = (struct nvtx_type){ 1, 'n' };
		if (item->nested->is_enum)
			item->type = (struct nvtx_type){ (uint8_t)item->nested->size, 'u' };
		return !item->nested->is_enum || item->nested->size == 1 ||
		       item->nested->size == 2 || item->nested->size == 4 ||
		       item->nested->size == 8;
	}
	if (entry->type < sizeof(types) / sizeof(*types))
		item->type = types[entry->type];
	/* A string that is in the payload itself. */
	if (item->type.kind == 's' && ((entry->flags & FLAG_ARRAY) || entry->detail))
		item->type = (struct nvtx_type){ 1, 'c' };
	return item->type.size && !(entry->flags & FLAG_POINTERS);
}

/* How many there are, by the entries before. False: it does not say in a way that is known. */
static bool nvtx_item_count(struct nvtx_item *item, const uint64_t *numbers, size_t n, size_t left)
{
	const struct nvtx_schema_entry *entry = item->entry;

	item->count = 1;
	item->is_text = item->type.kind == 'c' &&
			((entry->flags & FLAG_ARRAY) || entry->type == 75 || entry->type == 76);
	switch (entry->flags & FLAG_ARRAY) {
	case 0:
		if (item->is_text)
			item->count = entry->detail;
		return true;
	case ARRAY_FIXED:
		item->count = entry->detail;
		return true;
	case ARRAY_TO_ZERO:
		item->count = 0;
		while (item->count < left / item->type.size &&
		       nvtx_number(item->data + item->count * item->type.size,
				   item->type.size > 8 ? 8 : item->type.size, false))
			item->count++;
		return true;
	case ARRAY_BY_ENTRY:
		if (entry->detail >= n)
			return false;
		item->count = numbers[entry->detail];
		return true;
	}
	return false;
}

/* Finds an entry in the payload, behind `at` bytes. */
static bool nvtx_item_find(struct nvtx_reading *r, const struct nvtx_schema *s,
			   struct nvtx_item *item, const uint64_t *numbers, const char *data,
			   size_t size, size_t *at)
{
	const size_t n = (size_t)(item->entry - s->entries);
	size_t alignment;

	if (!nvtx_item_type(r, item)) {
		unsupported_count(&unknown_entry);
		return false;
	}
	alignment = item->type.kind == 'n' ? 8 : item->type.size;
	if (s->alignment && s->alignment < alignment)
		alignment = s->alignment;
	*at = item->entry->offset ? item->entry->offset
				  : (*at + alignment - 1) / alignment * alignment;
	if (*at > size) {
		unsupported_count(&too_short);
		return false;
	}
	item->data = data + *at;
	if (!nvtx_item_count(item, numbers, n, size - *at)) {
		unsupported_count(&unknown_entry);
		return false;
	}
	if (item->count > (size - *at) / item->type.size) {
		unsupported_count(&too_short);
		return false;
	}
	return true;
}

static void nvtx_item_put(struct nvtx_reading *r, const struct nvtx_item *item, const char *around)
{
	const char *const name = item->entry->name;
	uint64_t i;

	if (item->type.kind == '-') {
		unsupported_count(&unknown_entry);
	} else if (item->is_text || !(item->entry->flags & FLAG_ARRAY)) {
		nvtx_put_value(r, item, item->data, nvtx_key(r, around, name, NULL));
	} else {
		for (i = 0; i < item->count && r->e->n_args < NVTX_MAX_ARGS; i++)
			nvtx_put_value(r, item, item->data + i * item->type.size,
				       nvtx_key(r, around, name, &i));
		if (i < item->count)
			unsupported_count(&too_many);
	}
}

/* Returns how many bytes it has, or SIZE_MAX: the rest cannot be known. */
static size_t nvtx_schema_read(struct nvtx_reading *r, const struct nvtx_schema *s,
			       const char *data, size_t size, const char *around, int depth)
{
	uint64_t numbers[MAX_ENTRIES];
	size_t at = 0, i;

	for (i = 0; i < s->n; i++) {
		struct nvtx_item item = { .entry = &s->entries[i] };

		if (r->n_read++ == MAX_READ)
			unsupported_count(&too_deep);
		if (depth > MAX_DEPTH || r->n_read > MAX_READ ||
		    !nvtx_item_find(r, s, &item, numbers, data, size, &at))
			return SIZE_MAX;
		numbers[i] = 0;
		if (item.type.kind == 'n') {
			const char *const key = nvtx_key(r, around, item.entry->name, NULL);
			size_t inner = nvtx_schema_read(r, item.nested, item.data, size - at,
							key ? key : "", depth + 1);

			if (item.nested->size && item.nested->size <= size - at)
				inner = item.nested->size;
			if (inner == SIZE_MAX || item.count != 1)
				return SIZE_MAX;
			at += inner;
			continue;
		}
		if (item.type.size <= 8 && item.count)
			numbers[i] = nvtx_number(item.data, item.type.size, false);
		if (!(item.entry->flags & FLAG_HIDE))
			nvtx_item_put(r, &item, around);
		at += item.count * item.type.size;
		if ((item.entry->flags & FLAG_ARRAY) == ARRAY_TO_ZERO &&
		    size - at >= item.type.size)
			at += item.type.size;
	}
	return at;
}

const char *nvtx_payloads_read(void *domain, const struct nvtx_payload *payloads, size_t n,
			       struct nvtx_event *e)
{
	struct nvtx_reading r = { .domain = domain, .e = e };
	const char *name = NULL;
	size_t i;

	for (i = 0; payloads && i < n && i < NVTX_MAX_ARGS; i++) {
		const struct nvtx_schema *s = map_get(nvtx_schema_key(domain, payloads[i].schema));
		const size_t size = payloads[i].size != SIZE_MAX ? payloads[i].size
				    : s && !s->is_dynamic	 ? s->size
								 : 0;

		if (!s || s->is_enum || !payloads[i].data) {
			unsupported_count(&unknown_schema);
			continue;
		}
		nvtx_schema_read(&r, s, payloads[i].data, size, "", 0);
		if (!name)
			name = s->name;
	}
	return r.message ? r.message : name;
}
