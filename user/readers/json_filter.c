/* SPDX-License-Identifier: BSD-2-Clause */
#include "readers/json_filter.h"

static bool ends_token(uint8_t byte)
{
	switch (byte) {
	case ',':
	case ':':
	case '[':
	case ']':
	case '{':
	case '}':
		return true;
	default:
		return byte <= ' ';
	}
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

/* How many of the bytes pass without a change of state, nearly all of them. */
static size_t plain_run(struct json_filter *f, const uint8_t *bytes, size_t size)
{
	size_t i = 0, room;

	if (f->escape_start || f->escape)
		return 0;
	if (f->in_string) {
		room = f->token < JSON_MAX_STRING ? JSON_MAX_STRING - f->token : 0;
		size = size < room ? size : room;
		while (i < size && bytes[i] != '"' && bytes[i] != '\\')
			i++;
		f->token += i;
		return i;
	}
	for (; i < size && bytes[i] != '"' && f->token < JSON_MAX_NUMBER; i++)
		f->token = ends_token(bytes[i]) ? 0 : f->token + 1;
	return i;
}

size_t json_filter(struct json_filter *filter, const uint8_t *bytes, size_t size,
		   enum json_fate *ret_fate)
{
	struct json_filter f = *filter;
	size_t i;

	*ret_fate = size ? fate_of(&f, bytes[0]) : JSON_PASS;
	for (i = 0; i < size; i++) {
		enum json_fate fate;

		if (*ret_fate == JSON_PASS) {
			i += plain_run(&f, bytes + i, size - i);
			if (i == size)
				break;
		}
		fate = fate_of(&f, bytes[i]);
		if (fate != *ret_fate)
			break;
		follow(&f, bytes[i], fate);
	}
	*filter = f;
	return i;
}
