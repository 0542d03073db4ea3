/* SPDX-License-Identifier: BSD-2-Clause */
#include "readers/json_object.h"

#include <endian.h>
#include <stdbool.h>
#include <string.h>

#define EACH 0x0101010101010101ull /* of eight bytes */

enum {
	MAX_SIZE = 8192, /* bytes of an object: json_filter.h lets all that fits pass */
	MAX_OPEN = 8,
};

struct cursor {
	const uint8_t *at, *end;
	struct json_object *object;
};

static bool is_space(uint8_t byte)
{
	return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r';
}

static inline void skip_space(struct cursor *c)
{
	if (c->at<c->end && * c->at> ' ')
		return;
	while (c->at < c->end && is_space(*c->at))
		c->at++;
}

static bool add(struct cursor *c, enum json_kind kind, const uint8_t *text, size_t length)
{
	struct json_object *o = c->object;

	if (o->n == JSON_MAX_TOKENS)
		return false;
	o->tokens[o->n++] = (struct json_token){ kind, (uint32_t)length, (const char *)text };
	return true;
}

/* Of eight bytes those that are zero: the lowest one at least has its highest bit set, and none before. */
static inline uint64_t zeros(uint64_t bytes)
{
	return (bytes - EACH * 1) & ~bytes & EACH * 0x80;
}

/* Up to what is no plain character. Strings are short: eight bytes at a time, most need one look. */
static const uint8_t *plain(const uint8_t *at, const uint8_t *end)
{
	uint64_t bytes, other;

	for (; end - at >= 8; at += 8) {
		memcpy(&bytes, at, sizeof(bytes));
		bytes = le64toh(bytes);
		other = zeros(bytes ^ EACH * '"') | zeros(bytes ^ EACH * '\\') |
			((bytes - EACH * ' ') & ~bytes & EACH * 0x80);
		if (other)
			return at + __builtin_ctzll(other) / 8;
	}
	while (at < end && *at >= ' ' && *at != '"' && *at != '\\')
		at++;
	return at;
}

/* Behind its first quote. */
static bool string(struct cursor *c, enum json_kind kind)
{
	const uint8_t *from = c->at, *at = plain(from, c->end);

	if (at == c->end || *at != '"')
		return false;
	c->at = at + 1;
	return add(c, kind, from, (size_t)(at - from));
}

static bool is_digit(const struct cursor *c)
{
	return c->at < c->end && *c->at >= '0' && *c->at <= '9';
}

/* Without an exponent. What is behind it is none of a number's, or it is not taken for the end. */
static bool number(struct cursor *c)
{
	const uint8_t *from = c->at;

	c->at += *c->at == '-';
	if (!is_digit(c))
		return false;
	if (*c->at++ != '0') {
		while (is_digit(c))
			c->at++;
	}
	if (c->at < c->end && *c->at == '.') {
		c->at++;
		if (!is_digit(c))
			return false;
		while (is_digit(c))
			c->at++;
	}
	return add(c, JSON_NUMBER, from, (size_t)(c->at - from));
}

static bool word(struct cursor *c, const char *text, enum json_kind kind)
{
	size_t length = strlen(text);

	if ((size_t)(c->end - c->at) < length || memcmp(c->at, text, length))
		return false;
	c->at += length;
	return add(c, kind, NULL, 0);
}

/* A value that is no map and no list. */
static bool scalar(struct cursor *c)
{
	switch (*c->at) {
	case '"':
		c->at++;
		return string(c, JSON_STRING);
	case 't':
		return word(c, "true", JSON_TRUE);
	case 'f':
		return word(c, "false", JSON_FALSE);
	case 'n':
		return word(c, "null", JSON_NULL);
	default:
		return number(c);
	}
}

static bool key(struct cursor *c)
{
	skip_space(c);
	if (c->at == c->end || *c->at++ != '"' || !string(c, JSON_KEY))
		return false;
	skip_space(c);
	if (c->at == c->end || *c->at++ != ':')
		return false;
	skip_space(c);
	return c->at < c->end;
}

/* What is open, innermost first: a bit for each, 1 = a list. */
struct nesting {
	unsigned depth, lists;
};

/* A value begins: true if it is whole, or opens what has something in it. *ret_opened says which. */
static bool value(struct cursor *c, struct nesting *open, bool *ret_opened)
{
	bool is_list = *c->at == '[';

	*ret_opened = false;
	if (!is_list && *c->at != '{')
		return scalar(c);
	c->at++;
	if (open->depth == MAX_OPEN || !add(c, is_list ? JSON_LIST_START : JSON_MAP_START, NULL, 0))
		return false;
	open->lists = open->lists << 1 | is_list;
	open->depth++;
	skip_space(c);
	*ret_opened = c->at < c->end && *c->at != (is_list ? ']' : '}');
	return c->at < c->end;
}

/* Behind a value: closes what ends here. False where neither that nor a comma stands. */
static bool close_all(struct cursor *c, struct nesting *open)
{
	while (open->depth) {
		bool is_list = open->lists & 1;

		skip_space(c);
		if (c->at == c->end)
			return false;
		if (*c->at == ',')
			return true;
		if (*c->at != (is_list ? ']' : '}') ||
		    !add(c, is_list ? JSON_LIST_END : JSON_MAP_END, NULL, 0))
			return false;
		c->at++;
		open->lists >>= 1;
		open->depth--;
	}
	return true;
}

static bool whole(struct cursor *c)
{
	struct nesting open = { 0 };
	bool opened;

	if (c->at == c->end || *c->at != '{' || !value(c, &open, &opened))
		return false;
	for (;;) {
		if (!opened) {
			if (!close_all(c, &open))
				return false;
			if (!open.depth)
				return true;
			c->at++; /* the comma */
		}
		if (!(open.lists & 1) && !key(c))
			return false;
		skip_space(c);
		if (c->at == c->end || !value(c, &open, &opened))
			return false;
	}
}

size_t json_object(const uint8_t *bytes, size_t size, struct json_object *object)
{
	struct cursor c = { bytes, bytes + (size < MAX_SIZE ? size : MAX_SIZE), object };

	object->n = 0;
	skip_space(&c);
	if (!whole(&c))
		return 0;
	skip_space(&c);
	if (c.at == c.end || *c.at++ != ',')
		return 0;
	skip_space(&c);
	return (size_t)(c.at - bytes);
}
