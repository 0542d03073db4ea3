// SPDX-License-Identifier: BSD-2-Clause
#include "handlers/json_writer.h"

#include <stdlib.h>

enum {
	CACHE_MAX_ID = 1 << 20
};
enum {
	CACHE_UNKNOWN = 0,
	CACHE_PLAIN,
	CACHE_ESCAPED
};

static void commit(struct json_writer *j)
{
	if (j->start != j->nowhere)
		sink_commit(j->sink, j->at - j->start);
	j->start = j->at;
}

void json_room(struct json_writer *j)
{
	if (j->start)
		commit(j);
	j->at = sink_reserve(j->sink, JSON_ROOM);
	if (!j->at)
		j->at = j->nowhere;
	j->start = j->at;
}

int json_done(struct json_writer *j)
{
	commit(j);
	j->start = NULL;
	return sink_error(j->sink);
}

void json_put_text(struct json_writer *j, const char *text, size_t length, size_t max)
{
	j->at = json_escaped(j->at, text, text_fit(text, length, max));
}

static uint8_t *cache_of(struct json_writer *j, const struct name *name)
{
	uint32_t size = j->cache_size ? j->cache_size : 256;
	uint8_t *cache;

	if (name->id < j->cache_size)
		return &j->cache[name->id];
	if (name->id >= CACHE_MAX_ID)
		return NULL;
	while (size <= name->id)
		size *= 2;
	cache = realloc(j->cache, size);
	if (!cache)
		return NULL;
	memset(cache + j->cache_size, CACHE_UNKNOWN, size - j->cache_size);
	j->cache = cache;
	j->cache_size = size;
	return &cache[name->id];
}

void json_put_name(struct json_writer *j, const struct name *name, size_t max)
{
	uint8_t *cached = cache_of(j, name);
	char *start = j->at;

	if (cached && *cached == CACHE_PLAIN) {
		j->at = json_copy(j->at, name->text, name->length);
		return;
	}
	json_put_text(j, name->text, name->length, max);
	if (cached && *cached == CACHE_UNKNOWN) {
		bool same = j->at - start == name->length && name->length <= LIMIT_KEY &&
			    memcmp(start, name->text, name->length) == 0;

		*cached = same ? CACHE_PLAIN : CACHE_ESCAPED;
	}
}

void json_put_owner(struct json_writer *j, uint32_t pid, uint32_t tid)
{
	struct json_owner *owner = &j->owners[(tid ^ pid * 31) & (JSON_OWNERS - 1)];
	char *at = owner->text;

	if (!owner->length || owner->pid != pid || owner->tid != tid) {
		at = json_literal(at, ",\"pid\":");
		at = json_u64(at, pid);
		at = json_literal(at, ",\"tid\":");
		at = json_u64(at, tid);
		owner->pid = pid;
		owner->tid = tid;
		owner->length = (uint32_t)(at - owner->text);
	}
	/* As many bytes for all of them: that is three moves and no loop. */
	memcpy(j->at, owner->text, JSON_OWNER_MAX);
	j->at += owner->length;
}

void json_put_uint(struct json_writer *j, uint64_t value)
{
	bool quoted = value > INT64_MAX;

	if (quoted)
		*j->at++ = '"';
	j->at = json_u64(j->at, value);
	if (quoted)
		*j->at++ = '"';
}

static void put_string_arg(struct json_writer *j, const struct arg *arg)
{
	size_t length = text_fit(arg->s, arg->length, LIMIT_STRING);

	*j->at++ = '"';
	json_put_text(j, arg->s, length, LIMIT_STRING);
	if (arg->cut || length < arg->length)
		json_put(j, TEXT_CUT_MARK);
	*j->at++ = '"';
}

void json_put_value(struct json_writer *j, const struct arg *arg)
{
	switch (arg->type) {
	case ARG_INT:
		j->at = json_i64(j->at, arg->i);
		break;
	case ARG_UINT:
		json_put_uint(j, arg->u);
		break;
	case ARG_DOUBLE:
		j->at = json_double(j->at, arg->d);
		break;
	case ARG_STRING:
		put_string_arg(j, arg);
		break;
	case ARG_BOOL:
		if (arg->u)
			json_put(j, "true");
		else
			json_put(j, "false");
		break;
	case ARG_POINTER:
		j->at = json_hex(j->at, arg->u);
		break;
	case ARG_NULL:
		json_put(j, "null");
		break;
	}
}

void json_open_args(struct json_writer *j)
{
	json_put(j, ",\"args\":{");
	j->comma = false;
}

void json_key(struct json_writer *j, const struct name *name)
{
	json_room(j);
	if (j->comma)
		*j->at++ = ',';
	j->comma = true;
	*j->at++ = '"';
	if (name)
		json_put_name(j, name, LIMIT_KEY);
	else
		json_put(j, "value");
	json_put(j, "\":");
}

void json_key_text(struct json_writer *j, const char *text)
{
	json_room(j);
	if (j->comma)
		*j->at++ = ',';
	j->comma = true;
	*j->at++ = '"';
	json_put_text(j, text, strlen(text), LIMIT_KEY);
	json_put(j, "\":");
}

void json_string_arg(struct json_writer *j, const char *name, const char *text)
{
	json_key_text(j, name);
	*j->at++ = '"';
	json_put_text(j, text, strlen(text), LIMIT_STRING);
	*j->at++ = '"';
}

void json_uint_arg(struct json_writer *j, const char *name, uint64_t value)
{
	json_key_text(j, name);
	json_put_uint(j, value);
}
