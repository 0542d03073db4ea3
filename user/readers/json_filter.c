/* SPDX-License-Identifier: BSD-2-Clause */
#include "readers/json_filter.h"

#include <string.h>

enum {
	BLOCK = 4096, /* bytes that are looked at together */
};

static inline bool ends_token(uint8_t byte)
{
	static const bool ends[256] = {
		[0 ... ' '] = true, [','] = true, [':'] = true, ['['] = true,
		[']'] = true,	    ['{'] = true, ['}'] = true,
	};

	return ends[byte];
}

/* Escape sequences are dropped or passed as a whole, so that what yajl sees stays a string. */
static enum json_fate fate_of(const struct json_filter *f, uint8_t byte)
{
	if (!f->in_string) {
		if (f->token >= JSON_MAX_NUMBER && byte != '"' && !ends_token(byte))
			return JSON_TOO_LONG;
		return JSON_PASS;
	}
	if (f->escape_start || f->escape)
		return f->drop ? JSON_DROP : JSON_PASS;
	return f->token >= JSON_MAX_STRING && byte != '"' ? JSON_DROP : JSON_PASS;
}

static void follow(struct json_filter *f, uint8_t byte, enum json_fate fate)
{
	if (!f->in_string) {
		f->in_string = byte == '"';
		f->token = f->in_string || ends_token(byte) ? 0 : f->token + 1;
		return;
	}
	f->token++;
	if (f->escape_start) {
		f->escape_start = false;
		f->escape = byte == 'u' ? 4 : 0;
	} else if (f->escape) {
		f->escape--;
	} else if (byte == '"') {
		f->in_string = false;
		f->token = 0;
	} else if (byte == '\\') {
		f->escape_start = true;
		f->drop = fate == JSON_DROP;
	}
}

/*
 * How many bytes pass without a look at each: those of a string until the next quote or backslash, and
 * what stands between strings, as far as no limit is near.
 */
static size_t pass(struct json_filter *f, const uint8_t *bytes, size_t size)
{
	size_t i = 0, room;

	if (!f->in_string) {
		size_t token = f->token;

		while (i < size && bytes[i] != '"' && token < JSON_MAX_NUMBER) {
			token = ends_token(bytes[i]) ? 0 : token + 1;
			i++;
		}
		f->token = token;
		return i;
	}
	if (f->escape_start || f->escape || f->token >= JSON_MAX_STRING)
		return 0;
	room = JSON_MAX_STRING - f->token;
	if (size > room)
		size = room;
	while (i < size && bytes[i] != '"' && bytes[i] != '\\')
		i++;
	f->token += i;
	return i;
}

/* Whether there is an odd number of quotes: sixteen bytes at a time, as compilers know how to. */
static bool odd_quotes(const uint8_t *bytes, size_t size)
{
	typedef uint8_t sixteen __attribute__((vector_size(16)));
	sixteen quotes = { 0 }, at;
	uint8_t odd = 0;
	size_t i;

	for (i = 0; i + sizeof(at) <= size; i += sizeof(at)) {
		memcpy(&at, bytes + i, sizeof(at));
		quotes ^= (sixteen)(at == '"');
	}
	for (; i < size; i++)
		odd ^= bytes[i] == '"';
	for (i = 0; i < sizeof(quotes); i++)
		odd ^= quotes[i] & 1;
	return odd;
}

/*
 * Most of a file is short strings and short numbers, and no escape sequences. Where that is so, a block
 * passes as a whole, which is seen at a few of its bytes: nothing in it is too long where the quotes are
 * near to each other.
 */
static bool pass_block(struct json_filter *f, const uint8_t *bytes)
{
	const uint8_t *at = memchr(bytes, '"', JSON_MAX_NUMBER / 2), *end = bytes + BLOCK;

	if (!at || f->escape_start || f->escape || f->token > JSON_MAX_NUMBER / 2 ||
	    memchr(bytes, '\\', BLOCK))
		return false;
	while (end - at > JSON_MAX_NUMBER) {
		const uint8_t *next = memrchr(at + 1, '"', JSON_MAX_NUMBER);

		if (!next)
			return false;
		at = next;
	}
	at = (const uint8_t *)memrchr(at, '"', (size_t)(end - at)) + 1;
	f->in_string ^= odd_quotes(bytes, BLOCK);
	f->token = 0;
	for (; at < end; at++)
		f->token = f->in_string || !ends_token(*at) ? f->token + 1 : 0;
	return true;
}

size_t json_filter(struct json_filter *filter, const uint8_t *bytes, size_t size,
		   enum json_fate *ret_fate)
{
	struct json_filter f = *filter;
	size_t i = 0;

	*ret_fate = size ? fate_of(&f, bytes[0]) : JSON_PASS;
	while (i < size) {
		enum json_fate fate;

		if (*ret_fate == JSON_PASS && size - i >= BLOCK && pass_block(&f, bytes + i)) {
			i += BLOCK;
			continue;
		}
		if (*ret_fate == JSON_PASS)
			i += pass(&f, bytes + i, size - i);
		if (i == size)
			break;
		fate = fate_of(&f, bytes[i]);
		if (fate != *ret_fate)
			break;
		follow(&f, bytes[i++], fate);
	}
	*filter = f;
	return i;
}
