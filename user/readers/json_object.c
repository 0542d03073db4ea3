/* SPDX-License-Identifier: BSD-2-Clause */
#include "readers/json_object.h"

#include <endian.h>

#include "readers/input.h"
#include "readers/json_filter.h"

#define EACH 0x0101010101010101ull /* of eight bytes */

enum {
	MAX_DIGITS = 19, /* fit whatever they are */
};

/* What follows `at` is read in pieces that may reach beyond the end of the object, which is seen then. */
struct cursor {
	const uint8_t *at, *end;
	struct json_token *token; /* the next one */
	char *unescaped;
};

#define INLINE static inline __attribute__((always_inline))

INLINE bool is_space(uint8_t byte)
{
	return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r';
}

/* Mostly there is none, or one. */
INLINE const uint8_t *skip_space(const uint8_t *at, const uint8_t *end)
{
	if (*at > ' ')
		return at;
	while (at < end && is_space(*at))
		at++;
	return at;
}

/* --- strings ------------------------------------------------------------------------------------ */

#ifdef __SSE2__
#include <emmintrin.h>

enum {
	PIECE = 16,
};

/* How many of PIECE bytes are plain characters of a string, before the first that is none. */
INLINE unsigned plain(const uint8_t *at)
{
	const __m128i bytes = _mm_loadu_si128((const __m128i *)at);
	const __m128i control = _mm_set1_epi8(0x1f);
	const __m128i other = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
							_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'))),
					   _mm_cmpeq_epi8(_mm_min_epu8(bytes, control), bytes));

	return (unsigned)__builtin_ctz((unsigned)_mm_movemask_epi8(other) | 1u << PIECE);
}
#else
enum {
	PIECE = 8,
};

/* Of eight bytes those that are zero: the lowest one at least has its highest bit set, and none before. */
INLINE uint64_t zeros(uint64_t bytes)
{
	return (bytes - EACH * 1) & ~bytes & EACH * 0x80;
}

INLINE unsigned plain(const uint8_t *at)
{
	uint64_t bytes, other;

	memcpy(&bytes, at, sizeof(bytes));
	bytes = le64toh(bytes);
	other = zeros(bytes ^ EACH * '"') | zeros(bytes ^ EACH * '\\') |
		((bytes - EACH * ' ') & ~bytes & EACH * 0x80);
	return other ? (unsigned)__builtin_ctzll(other) / 8 : PIECE;
}
#endif

_Static_assert((int)PIECE <= (int)INPUT_PADDING,
	       "a piece may be read whose first byte is the last one");

/* What a backslash and this character stand for; '\0': something longer, or nothing. */
static char escaped(uint8_t byte)
{
	switch (byte) {
	case '"':
	case '\\':
	case '/':
		return (char)byte;
	case 'b':
		return '\b';
	case 'f':
		return '\f';
	case 'n':
		return '\n';
	case 'r':
		return '\r';
	case 't':
		return '\t';
	default:
		return '\0';
	}
}

/*
 * Where a string ends that has a backslash at `at`, the first one since `from`; NULL: not here, or it is
 * for yajl. It is put together at *out.
 */
static const uint8_t *unescape(const uint8_t *from, const uint8_t *at, const uint8_t *end,
			       char **out)
{
	for (;;) {
		memcpy(*out, from, (size_t)(at - from));
		*out += at - from;
		if (*at == '"')
			return at;
		if (*at != '\\' || end - at < 2 || !escaped(at[1]))
			return NULL;
		*(*out)++ = escaped(at[1]);
		from = at += 2;
		while (at < end && *at >= ' ' && *at != '"' && *at != '\\')
			at++;
		if (at >= end)
			return NULL;
	}
}

/* Behind its first quote. */
INLINE bool string(struct cursor *c, enum json_kind kind)
{
	const uint8_t *from = c->at, *at = from;
	unsigned n;

	while ((n = plain(at)) == PIECE) {
		at += PIECE;
		if (at >= c->end)
			return false;
	}
	at += n;
	if (at >= c->end)
		return false;
	c->token->kind = kind;
	c->token->text = (const char *)from;
	c->token->length = (uint32_t)(at - from);
	if (*at != '"') {
		char *out = c->unescaped;

		at = unescape(from, at, c->end, &out);
		if (!at)
			return false;
		c->token->text = c->unescaped;
		c->token->length = (uint32_t)(out - c->unescaped);
		c->unescaped = out;
	}
	c->at = at + 1;
	return true;
}

/* --- numbers ------------------------------------------------------------------------------------ */

INLINE uint64_t eight(const uint8_t *at)
{
	uint64_t bytes;

	memcpy(&bytes, at, sizeof(bytes));
	return le64toh(bytes);
}

/* Of eight bytes those that are no digits: the lowest one has its highest bit set, and none before. */
INLINE uint64_t no_digits(uint64_t bytes)
{
	return ((bytes - EACH * '0') | (bytes + EACH * (0x7f - '9')) | bytes) & EACH * 0x80;
}

/* The lowest one is the first digit. They are put together in pairs, then these, then those. */
INLINE uint64_t number_of(uint64_t bytes)
{
	bytes &= EACH * 0x0f;
	bytes = (bytes * 10 + (bytes >> 8)) & 0x00ff00ff00ff00ffull;
	bytes = (bytes * 100 + (bytes >> 16)) & 0x0000ffff0000ffffull;
	return (bytes * 10000 + (bytes >> 32)) & 0xffffffffull;
}

/* Adds what digits there are to the number. It may so end behind `end`, if that is in the midst of them. */
INLINE const uint8_t *digits(const uint8_t *at, const uint8_t *end, uint64_t *number)
{
	static const uint32_t powers[] = { 1, 10, 100, 1000, 10000, 100000, 1000000, 10000000 };
	uint64_t bytes = eight(at), other;
	unsigned n;

	while (!(other = no_digits(bytes)) && at < end) {
		*number = *number * 100000000 + number_of(bytes);
		at += 8;
		bytes = at < end ? eight(at) : 0;
	}
	if (!other)
		return at;
	n = (unsigned)__builtin_ctzll(other) / 8;
	if (n)
		*number = *number * powers[n] + number_of(bytes << (64 - 8 * n));
	return at + n;
}

/* Behind its "e". False: there is none. */
static bool exponent(const uint8_t **at, const uint8_t *end)
{
	const uint8_t *from;

	if (*at < end && (**at == '+' || **at == '-'))
		(*at)++;
	from = *at;
	while (*at < end && **at >= '0' && **at <= '9')
		(*at)++;
	return *at > from;
}

/* What is behind it is none of a number's, or it is not taken for the end. */
INLINE bool number(struct cursor *c)
{
	const uint8_t *from = c->at, *at = from;
	struct json_token *t = c->token;
	uint64_t value = 0;
	unsigned fraction = 0;

	t->kind = JSON_NUMBER;
	t->text = (const char *)from;
	t->negative = *at == '-';
	at += t->negative;
	from = at;
	if (*at < '0' || *at > '9')
		return false;
	at = *at == '0' ? at + 1 : digits(at, c->end, &value);
	if (at < c->end && *at == '.') {
		const uint8_t *point = at++;

		at = digits(at, c->end, &value);
		fraction = (unsigned)(at - point) - 1;
		if (!fraction)
			return false;
		from++; /* the point is no digit */
	}
	t->word = value;
	t->fraction = (uint8_t)fraction;
	t->fits = at - from <= MAX_DIGITS;
	if (at < c->end && (*at == 'e' || *at == 'E')) {
		const uint8_t *behind = at + 1;

		if (!exponent(&behind, c->end) ||
		    behind - (const uint8_t *)t->text >= JSON_MAX_NUMBER)
			return false;
		at = behind;
		t->fits = false;
	}
	t->length = (uint32_t)(at - (const uint8_t *)t->text);
	c->at = at;
	return at < c->end;
}

/* Where a plain number ends that begins at `at`; NULL: there is none. */
INLINE const uint8_t *pass_number(const uint8_t *at, const uint8_t *end)
{
	const uint8_t *from;

	at += *at == '-';
	from = at;
	while (at < end && *at >= '0' && *at <= '9')
		at++;
	if (at == from || (*from == '0' && at > from + 1))
		return NULL;
	if (at == end || *at != '.')
		return at;
	from = ++at;
	while (at < end && *at >= '0' && *at <= '9')
		at++;
	return at > from ? at : NULL;
}

/*
 * Lists of numbers, shapes mostly, are long, and nobody asks for one of the numbers: they are not taken
 * apart, only looked through. Returns where it ends; NULL: there is something else in it, or it is not all here.
 */
static const uint8_t *numbers(const uint8_t *list, const uint8_t *end, struct json_token *t)
{
	const uint8_t *at = list;
	unsigned depth = 0;
	bool spaces = false;

	do {
		if (*at == '[') {
			if (depth++ == JSON_MAX_OPEN)
				return NULL;
			at++;
			spaces |= at < end && *at <= ' ';
			at = skip_space(at, end);
			if (at >= end)
				return NULL;
			if (*at != ']')
				continue;
		} else {
			at = pass_number(at, end);
			if (!at)
				return NULL;
		}
		for (;;) {
			spaces |= at < end && *at <= ' ';
			at = skip_space(at, end);
			if (at >= end)
				return NULL;
			if (*at != ']')
				break;
			at++;
			if (!--depth)
				break;
		}
		if (!depth)
			break;
		if (*at++ != ',')
			return NULL;
		spaces |= at < end && *at <= ' ';
		at = skip_space(at, end);
	} while (at < end);
	if (depth)
		return NULL;
	t->kind = JSON_NUMBERS;
	t->text = (const char *)list;
	t->length = (uint32_t)(at - list);
	t->word = spaces;
	return at;
}

/* --- values ------------------------------------------------------------------------------------- */

INLINE bool word(struct cursor *c, const char *text, size_t length, enum json_kind kind)
{
	if ((size_t)(c->end - c->at) < length || memcmp(c->at, text, length))
		return false;
	c->at += length;
	c->token->kind = kind;
	c->token->text = NULL;
	c->token->length = 0;
	return true;
}

/* A value that is no map and no list. */
INLINE bool scalar(struct cursor *c)
{
	switch (*c->at) {
	case '"':
		c->at++;
		return string(c, JSON_STRING);
	case 't':
		return word(c, "true", 4, JSON_TRUE);
	case 'f':
		return word(c, "false", 5, JSON_FALSE);
	case 'n':
		return word(c, "null", 4, JSON_NULL);
	default:
		return number(c);
	}
}

/* Behind it, there is something. */
INLINE bool key(struct cursor *c)
{
	struct json_token *t = c->token;

	if (*c->at++ != '"' || c->at >= c->end || !string(c, JSON_KEY))
		return false;
	/* Behind the text lies its quote at least, and then what may be read. */
	memcpy(&t->word, t->text, sizeof(t->word));
	if (t->length < sizeof(t->word))
		t->word = htole64(le64toh(t->word) & ((1ull << t->length * 8) - 1));
	c->token++;
	c->at = skip_space(c->at, c->end);
	if (*c->at++ != ':')
		return false;
	c->at = skip_space(c->at, c->end);
	return c->at < c->end;
}

INLINE void bracket(struct cursor *c, enum json_kind kind)
{
	c->token->kind = kind;
	c->token->text = NULL;
	c->token->length = 0;
	c->token++;
	c->at++;
}

/* What is open, innermost first: a bit for each, 1 = a list. */
struct nesting {
	unsigned depth, lists;
};

/* A value that is one: true unless there is nothing in it, or it cannot be. */
INLINE bool open_value(struct cursor *c, struct nesting *open)
{
	bool is_list = *c->at == '[';

	if (open->depth == JSON_MAX_OPEN)
		return false;
	bracket(c, is_list ? JSON_LIST_START : JSON_MAP_START);
	open->lists = open->lists << 1 | is_list;
	open->depth++;
	c->at = skip_space(c->at, c->end);
	return c->at < c->end && *c->at != (is_list ? ']' : '}');
}

/*
 * Behind a value: closes what ends here, and takes the comma. If that is behind the end of all, it is
 * seen when it is done: these are a few bytes.
 */
INLINE bool close_values(struct cursor *c, struct nesting *open)
{
	while (open->depth) {
		bool is_list = open->lists & 1;

		c->at = skip_space(c->at, c->end);
		if (*c->at == ',') {
			c->at = skip_space(c->at + 1, c->end);
			return true;
		}
		if (*c->at != (is_list ? ']' : '}'))
			return false;
		bracket(c, is_list ? JSON_LIST_END : JSON_MAP_END);
		open->lists >>= 1;
		open->depth--;
	}
	return true;
}

/* Each step adds a key, a value, and all that closes behind it. */
static bool whole(struct cursor *c, const struct json_token *last)
{
	struct nesting open = { 0 };
	const uint8_t *behind;
	bool opened;

	if (c->at >= c->end || *c->at != '{')
		return false;
	opened = open_value(c, &open);
	if (!opened && (!close_values(c, &open) || open.depth))
		return false;
	while (open.depth) {
		if (c->token > last || c->at >= c->end)
			return false;
		if (!(open.lists & 1) && !key(c))
			return false;
		if (*c->at == '[' && (behind = numbers(c->at, c->end, c->token))) {
			c->at = behind;
			c->token++;
		} else if (*c->at == '{' || *c->at == '[') {
			unsigned depth = open.depth;

			if (open_value(c, &open))
				continue;
			if (open.depth == depth)
				return false;
		} else {
			if (!scalar(c))
				return false;
			c->token++;
		}
		if (!close_values(c, &open))
			return false;
	}
	return true;
}

size_t json_object(const uint8_t *bytes, size_t size, struct json_object *object)
{
	struct cursor c = {
		.at = bytes,
		.end = bytes + (size < JSON_MAX_SIZE ? size : JSON_MAX_SIZE),
		.token = object->tokens,
		.unescaped = object->unescaped,
	};

	object->n = 0;
	c.at = skip_space(c.at, c.end);
	if (!whole(&c, object->tokens + JSON_MAX_TOKENS - 1) ||
	    c.token > object->tokens + JSON_MAX_TOKENS)
		return 0;
	c.at = skip_space(c.at, c.end);
	if (c.at >= c.end || *c.at++ != ',')
		return 0;
	object->n = (unsigned)(c.token - object->tokens);
	return (size_t)(skip_space(c.at, c.end) - bytes);
}
