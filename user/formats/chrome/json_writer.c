// SPDX-License-Identifier: BSD-2-Clause
/* The functions of the JSON writer that are not called for every event: caches are filled, values are encoded. */
#include "formats/chrome/json_writer.h"

void json_init(struct json_writer *j, struct sink *sink, uint64_t base_ns)
{
	j->sink = sink;
	j->base_ns = base_ns;
	/* The key 0 also marks an empty entry, so the entries of key 0 are filled now. */
	json_encode_head(j, j->discarded, NULL, NULL);
	json_encode_owner(j, j->discarded, 0, 0);
}

char *json_reserve_slow(struct json_writer *j, char *at)
{
	json_done(j, at);
	j->events--; /* it goes on */
	return json_start(j);
}

/* --- caches ------------------------------------------------------------------------------------ */

/* Longer texts are not cached. */
static char *json_cache_piece(struct json_piece *piece, uint64_t key, const char *text, char *end)
{
	size_t length = (size_t)(end - text);

	if (length <= JSON_PIECE_MAX) {
		memcpy(piece->text, text, length);
		piece->key = key;
		piece->length = length;
	}
	return end;
}

/* Callers pass different limits; a text that is short enough to be cached exceeds none of them. */
_Static_assert((int)JSON_PIECE_MAX <= (int)LIMIT_KEY, "a name that was cut is not cached");

char *json_encode_name(struct json_writer *j, char *at, const struct name *name, size_t max)
{
	return json_cache_piece(json_cached_name(j, name->id), name->id, at,
				json_string(at, name->text, name->length, max));
}

char *json_encode_head(struct json_writer *j, char *at, const struct name *name,
		       const struct name *category)
{
	uint32_t of = name ? name->id : 0, in = category ? category->id : 0;
	char *start = at;

	at = json_literal(at, ",\n{\"name\":");
	at = name ? json_string(at, name->text, name->length, LIMIT_NAME)
		  : json_literal(at, "\"\"");
	if (category) {
		at = json_literal(at, ",\"cat\":");
		at = json_string(at, category->text, category->length, LIMIT_NAME);
	}
	return json_cache_piece(json_cached_head(j, of, in), json_pair(of, in), start, at);
}

char *json_encode_owner(struct json_writer *j, char *at, uint32_t pid, uint32_t tid)
{
	char *start = at;

	at = json_literal(at, ",\"pid\":");
	at = json_u64(at, pid);
	at = json_literal(at, ",\"tid\":");
	at = json_u64(at, tid);
	return json_cache_piece(json_cached_owner(j, pid, tid), json_pair(pid, tid), start, at);
}

char *json_encode_time(struct json_writer *j, char *at, uint64_t ts_ns)
{
	uint64_t ns = ts_ns > j->base_ns ? ts_ns - j->base_ns : 0;
	char *end = json_us(at, ns);

	/* A smaller time has no leading digits, nor zeros instead. */
	j->high_for_ns = 0;
	if (ns >= JSON_EIGHT) {
		j->high_for_ns = JSON_EIGHT;
		j->high_since_ns = ts_ns - ns % JSON_EIGHT;
		j->high_length = (uint32_t)(end - at) - JSON_US_LOW;
		memcpy(j->high, at, j->high_length);
	}
	return end;
}

/* --- strings, values, arguments ---------------------------------------------------------------- */

char *json_text(char *at, const char *text, size_t length, size_t max)
{
	return json_escaped(at, text, text_fit(text, length, max));
}

char *json_string(char *at, const char *text, size_t length, size_t max)
{
	*at++ = '"';
	at = json_text(at, text, length, max);
	*at++ = '"';
	return at;
}

char *json_uint(char *at, uint64_t value)
{
	if (value <= INT64_MAX)
		return json_u64(at, value);
	*at++ = '"';
	at = json_u64(at, value);
	*at++ = '"';
	return at;
}

static char *json_string_value(char *at, const struct arg *arg)
{
	size_t length = text_fit(arg->s, arg->length, LIMIT_STRING);

	*at++ = '"';
	at = json_escaped(at, arg->s, length);
	if (arg->cut || length < arg->length)
		at = json_literal(at, TEXT_CUT_MARK);
	*at++ = '"';
	return at;
}

char *json_value(char *at, const struct arg *arg)
{
	switch (arg->type) {
	case ARG_INT:
		return json_i64(at, arg->i);
	case ARG_UINT:
		return json_uint(at, arg->u);
	case ARG_DOUBLE:
		return json_double(at, arg->d);
	case ARG_STRING:
		return json_string_value(at, arg);
	case ARG_BOOL:
		return arg->u ? json_literal(at, "true") : json_literal(at, "false");
	case ARG_POINTER:
		return json_hex(at, arg->u);
	case ARG_NULL:
		return json_literal(at, "null");
	}
	return at;
}

char *json_key_text(struct json_writer *j, char *at, const char *text)
{
	at = json_string(json_open_key(j, at), text, strlen(text), LIMIT_KEY);
	*at++ = ':';
	return at;
}

char *json_string_arg(struct json_writer *j, char *at, const char *name, const char *text)
{
	return json_string(json_key_text(j, at, name), text, strlen(text), LIMIT_STRING);
}

char *json_uint_arg(struct json_writer *j, char *at, const char *name, uint64_t value)
{
	return json_uint(json_key_text(j, at, name), value);
}
