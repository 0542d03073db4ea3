/* SPDX-License-Identifier: BSD-2-Clause */
/* The fields of an event, and those of the object around all events. */
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "formats/chrome/json_object.h"
#include "formats/chrome/reader.h"

#define FIELD(key, field)                   \
	{                                   \
		key, sizeof(key) - 1, field \
	}
static const struct known_field {
	const char *key;
	size_t length;
	enum chrome_field field;
} fields[] = {
	FIELD("continued", FIELD_CONTINUED), FIELD("memory", FIELD_MEMORY),
	FIELD("address", FIELD_ADDRESS), FIELD("track", FIELD_TRACK),
	FIELD("bind_id", FIELD_BIND), FIELD("flow_in", FIELD_FLOW_IN),
	FIELD("flow_out", FIELD_FLOW_OUT), FIELD("recorder", FIELD_RECORDER),
}, around[] = {
	FIELD("traceEvents", FIELD_EVENTS),
	FIELD("baseTimeNanoseconds", FIELD_BASE_TIME), /* PyTorch's: ns since 1970 */
	FIELD("distributedInfo", FIELD_DISTRIBUTED),
};
#undef FIELD

/* Not inlined: most keys are found without it. */
static __attribute__((noinline)) enum chrome_field
known_field_find(const struct known_field *known, size_t n, const char *text, size_t length)
{
	for (size_t i = 0; i < n; i++) {
		if (known[i].length == length && !memcmp(known[i].key, text, length))
			return known[i].field;
	}
	return FIELD_OTHER;
}

/* The frequent keys are compared as numbers, which is faster than memcmp(). */
enum chrome_field chrome_find_field(uint64_t word, const char *key, size_t length)
{
#define IS(name, field)              \
	if (word == JSON_WORD(name)) \
	return field
	switch (length) {
	case 1:
		IS("s", FIELD_SCOPE);
		return FIELD_OTHER;
	case 2:
		IS("ph", FIELD_PHASE);
		IS("ts", FIELD_TS);
		IS("id", FIELD_ID);
		return FIELD_OTHER;
	case 3:
		IS("pid", FIELD_PID);
		IS("tid", FIELD_TID);
		IS("cat", FIELD_CATEGORY);
		IS("dur", FIELD_DUR);
		IS("id2", FIELD_ID2);
		return FIELD_OTHER;
	case 4:
		IS("name", FIELD_NAME);
		IS("args", FIELD_ARGS);
		IS("unit", FIELD_UNIT);
		IS("size", FIELD_SIZE);
		return FIELD_OTHER;
	default:
		return known_field_find(fields, sizeof(fields) / sizeof(fields[0]), key, length);
	}
#undef IS
}

enum chrome_field chrome_find_around(const char *key, size_t length)
{
	return known_field_find(around, sizeof(around) / sizeof(around[0]), key, length);
}

static uint32_t fold_id(uint64_t id)
{
	return (uint32_t)(id ^ id >> 32);
}

static void chrome_set_owner(struct chrome *c, uint32_t *id, const struct name **word,
			     struct number number, const char *text, size_t length)
{
	*word = NULL;
	switch (number.type) {
	case NUMBER_INT: /* -1 is common and becomes 0xffffffff */
		*id = number.i < 0 ? (uint32_t)number.i : fold_id((uint64_t)number.i);
		break;
	case NUMBER_UINT:
		*id = fold_id(number.u);
		break;
	case NUMBER_DOUBLE:
		*id = number.d >= 0 && number.d < 4294967296.0 ? (uint32_t)number.d : 0;
		break;
	case NUMBER_NONE:
		*word = names_intern(c->sink->names, text, length, READ_MAX_NAME);
		break;
	}
}

/* An id that is not a number is hashed (FNV-1a). */
static uint64_t chrome_id(const char *text, size_t length)
{
	uint64_t id, hash = 0xcbf29ce484222325ull;

	if (number_id(text, length, &id))
		return id;
	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3ull;
	return hash;
}

/* Sets a field of an event, from a string or from a number as text. */
void chrome_field(struct chrome *c, enum chrome_field field, const char *text, size_t length)
{
	struct chrome_fields *f = &c->fields;
	struct names *names = c->sink->names;

	switch (field) {
	case FIELD_PHASE:
		f->phase = length ? text[0] : '\0';
		break;
	case FIELD_SCOPE:
		f->scope = length ? text[0] : '\0';
		break;
	case FIELD_TS:
		f->has_ts = true;
		f->broken |= !number_microseconds(text, length, &f->ts);
		break;
	case FIELD_DUR:
		f->has_dur = true;
		f->broken |= !number_microseconds(text, length, &f->dur);
		break;
	case FIELD_PID:
		chrome_set_owner(c, &f->pid, &f->pid_word, number_read(text, length, false), text,
				 length);
		break;
	case FIELD_TID:
		chrome_set_owner(c, &f->tid, &f->tid_word, number_read(text, length, false), text,
				 length);
		break;
	case FIELD_NAME:
		f->name = names_intern(names, text, length, READ_MAX_NAME);
		break;
	case FIELD_CATEGORY:
		f->category = length ? names_intern(names, text, length, READ_MAX_NAME) : NULL;
		break;
	case FIELD_MEMORY:
		f->memory = length ? text[0] : '\0';
		break;
	case FIELD_ADDRESS:
		if (!number_id(text, length, &f->address))
			f->address = 0;
		break;
	case FIELD_SIZE:
		if (!number_id(text, length, &f->size))
			f->size = 0;
		break;
	case FIELD_UNIT:
		f->unit = length ? names_intern(names, text, length, READ_MAX_NAME) : NULL;
		break;
	case FIELD_TRACK:
		f->track = names_intern(names, text, length, READ_MAX_NAME);
		break;
	case FIELD_ID:
		f->has_id = true;
		f->id = chrome_id(text, length);
		f->id_length = length;
		if (length <= sizeof(c->id_text))
			memcpy(c->id_text, text, length);
		break;
	case FIELD_BIND:
		f->has_bind = true;
		f->bind = chrome_id(text, length);
		break;
	default:
		break;
	}
}

void chrome_number(struct chrome *c, enum chrome_field field, const struct json_token *token)
{
	const struct number_parts parts = { token->word, token->fraction, token->negative };
	struct chrome_fields *f = &c->fields;
	struct number number;

	/* A number with too many digits for its parts, which is rare. */
	if (!token->fits) {
		chrome_field(c, field, token->text, token->length);
		return;
	}
	switch (field) {
	case FIELD_TS:
		f->has_ts = true;
		f->broken |= !number_parts_microseconds(&parts, &f->ts) &&
			     !number_microseconds(token->text, token->length, &f->ts);
		break;
	case FIELD_DUR:
		f->has_dur = true;
		f->broken |= !number_parts_microseconds(&parts, &f->dur) &&
			     !number_microseconds(token->text, token->length, &f->dur);
		break;
	case FIELD_PID:
		number = number_parts_read(&parts, token->text, token->length);
		chrome_set_owner(c, &f->pid, &f->pid_word, number, token->text, token->length);
		break;
	case FIELD_TID:
		number = number_parts_read(&parts, token->text, token->length);
		chrome_set_owner(c, &f->tid, &f->tid_word, number, token->text, token->length);
		break;
	default:
		chrome_field(c, field, token->text, token->length);
		break;
	}
}

/* Sets a field of the object around the events. */
void chrome_around(struct chrome *c, enum chrome_field field, const char *text, size_t length)
{
	struct trace_origin *origin = c->sink->origin;
	struct number number = number_read(text, length, false);

	if (number.type != NUMBER_INT || number.i < 0)
		return;
	if (field == FIELD_BASE_TIME)
		c->base_ns = (uint64_t)number.i;
	if (origin && field == FIELD_RANK)
		snprintf(origin->rank, sizeof(origin->rank), "%u", (unsigned)number.i);
}
