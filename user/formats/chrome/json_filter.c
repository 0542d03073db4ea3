/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The filter only has to know whether a byte is in a string. Most blocks contain no long token and no escape, which is
 * tested without looking at each byte.
 */
#include "formats/chrome/json_filter.h"

#include <string.h>

enum {
	BLOCK = 4096, /* bytes that are tested together */
};

static inline bool ends_token(uint8_t byte)
{
	static const bool ends[256] = {
		[0 ... ' '] = true, [','] = true, [':'] = true, ['['] = true,
		[']'] = true,	    ['{'] = true, ['}'] = true,
	};

	return ends[byte];
}

/* An escape sequence is dropped or passed as a whole, so that yajl gets a valid string. */
static enum json_fate json_byte_fate(const struct json_filter *f, uint8_t byte)
{
	if (!f->in_string) {
		if (f->token >= JSON_MAX_NUMBER && byte != '"' && !ends_token(byte))
			return JSON_TOO_LONG;
		return JSON_PASS;
	}
	if (f->escape_start || f->escape)
		return f->drop ? JSON_DROP : JSON_PASS;
	if (f->token >= JSON_LONGEST_STRING && byte != '"')
		return JSON_TOO_LONG;
	return f->token >= JSON_MAX_STRING && byte != '"' ? JSON_DROP : JSON_PASS;
}

static void json_follow_byte(struct json_filter *f, uint8_t byte, enum json_fate fate)
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
 * Skips bytes that all have this fate: those of a string up to the next quote or backslash, or those between strings
 * up to a limit.
 */
static size_t json_skip_bytes(struct json_filter *f, const uint8_t *bytes, size_t size,
			      enum json_fate fate)
{
	const size_t limit = fate == JSON_DROP ? JSON_LONGEST_STRING : JSON_MAX_STRING;
	size_t i = 0, space;

	if (!f->in_string) {
		size_t token = f->token;

		while (i < size && bytes[i] != '"' && token < JSON_MAX_NUMBER) {
			token = ends_token(bytes[i]) ? 0 : token + 1;
			i++;
		}
		f->token = token;
		return i;
	}
	if (f->escape_start || f->escape || f->token >= limit)
		return 0;
	space = limit - f->token;
	if (size > space)
		size = space;
	while (i < size && bytes[i] != '"' && bytes[i] != '\\')
		i++;
	f->token += i;
	return i;
}

/* Whether the number of quotes is odd. Sixteen bytes at a time, with vector instructions. */
static bool has_odd_quotes(const uint8_t *bytes, size_t size)
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
 * Most of a file is short strings and short numbers without escape sequences. A block of these passes as a whole: if no
 * two neighbouring quotes are far apart, nothing in it is too long.
 */
static bool json_skip_block(struct json_filter *f, const uint8_t *bytes)
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
	f->in_string ^= has_odd_quotes(bytes, BLOCK);
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

	*ret_fate = size ? json_byte_fate(&f, bytes[0]) : JSON_PASS;
	while (i < size) {
		enum json_fate fate;

		if (*ret_fate == JSON_PASS && size - i >= BLOCK && json_skip_block(&f, bytes + i)) {
			i += BLOCK;
			continue;
		}
		if (*ret_fate != JSON_TOO_LONG)
			i += json_skip_bytes(&f, bytes + i, size - i, *ret_fate);
		if (i == size)
			break;
		fate = json_byte_fate(&f, bytes[i]);
		if (fate != *ret_fate)
			break;
		json_follow_byte(&f, bytes[i++], fate);
	}
	*filter = f;
	return i;
}
