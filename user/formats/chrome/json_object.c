/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Strings are scanned in pieces of 8 or 16 bytes and numbers in groups of eight digits. These may reach beyond the end of
 * the object, by less than INPUT_PADDING; the end is checked after each value.
 */
#include "formats/chrome/json_object.h"

#include <endian.h>

#include "formats/chrome/json_filter.h"
#include "formats/input.h"

#define EACH 0x0101010101010101ull /* of eight bytes */

enum {
	MAX_DIGITS = 19, /* any number of so many digits fits 64 bits */
};

struct json_cursor {
	const uint8_t *at, *end;
	struct json_token *token; /* the next one */
	char *unescaped;
};

#define INLINE static inline __attribute__((always_inline))

INLINE bool json_is_space(uint8_t byte)
{
	return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r';
}

/* Mostly there is no space or one. */
INLINE const uint8_t *json_skip_space(const uint8_t *at, const uint8_t *end)
{
	if (*at > ' ')
		return at;
	while (at < end && json_is_space(*at))
		at++;
	return at;
}

/* --- strings ------------------------------------------------------------------------------------ */

#ifdef __SSE2__
#include <emmintrin.h>

enum {
	PIECE = 16,
};

/* The number of plain characters of a string among PIECE bytes, before the first other one. */
INLINE unsigned json_plain_bytes(const uint8_t *at)
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

/* Sets the highest bit of the lowest zero byte, and perhaps of higher ones. */
INLINE uint64_t json_zero_bytes(uint64_t bytes)
{
	return (bytes - EACH * 1) & ~bytes & EACH * 0x80;
}

INLINE unsigned json_plain_bytes(const uint8_t *at)
{
	uint64_t bytes, other;

	memcpy(&bytes, at, sizeof(bytes));
	bytes = le64toh(bytes);
	other = json_zero_bytes(bytes ^ EACH * '"') | json_zero_bytes(bytes ^ EACH * '\\') |
		((bytes - EACH * ' ') & ~bytes & EACH * 0x80);
	return other ? (unsigned)__builtin_ctzll(other) / 8 : PIECE;
}
#endif

_Static_assert((int)PIECE <= (int)INPUT_PADDING, "a piece may begin at the last byte");

/* The character of a short escape sequence; '\0': a longer one, or none. */
static char json_unescape_letter(uint8_t byte)
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
 * Unescapes a string whose first backslash is at `at` and writes it to *out. Returns its end; NULL: not in the window, or
 * a case for yajl.
 */
static const uint8_t *json_unescape(const uint8_t *from, const uint8_t *at, const uint8_t *end,
				    char **out)
{
	for (;;) {
		memcpy(*out, from, (size_t)(at - from));
		*out += at - from;
		if (*at == '"')
			return at;
		if (*at != '\\' || end - at < 2 || !json_unescape_letter(at[1]))
			return NULL;
		*(*out)++ = json_unescape_letter(at[1]);
		from = at += 2;
		while (at < end && *at >= ' ' && *at != '"' && *at != '\\')
			at++;
		if (at >= end)
			return NULL;
	}
}

/* Reads a string after its first quote. */
INLINE bool json_read_string(struct json_cursor *c, enum json_kind kind)
{
	const uint8_t *from = c->at, *at = from;
	unsigned n;

	while ((n = json_plain_bytes(at)) == PIECE) {
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

		at = json_unescape(from, at, c->end, &out);
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

INLINE uint64_t json_read_eight(const uint8_t *at)
{
	uint64_t bytes;

	memcpy(&bytes, at, sizeof(bytes));
	return le64toh(bytes);
}

/* Sets the highest bit of the lowest byte that is not a digit, and perhaps of higher ones. */
INLINE uint64_t json_non_digits(uint64_t bytes)
{
	return ((bytes - EACH * '0') | (bytes + EACH * (0x7f - '9')) | bytes) & EACH * 0x80;
}

/* Joins eight digits, the first in the lowest byte, in pairs, then the pairs, then the halves. */
INLINE uint64_t json_eight_digits(uint64_t bytes)
{
	bytes &= EACH * 0x0f;
	bytes = (bytes * 10 + (bytes >> 8)) & 0x00ff00ff00ff00ffull;
	bytes = (bytes * 100 + (bytes >> 16)) & 0x0000ffff0000ffffull;
	return (bytes * 10000 + (bytes >> 32)) & 0xffffffffull;
}

/* Appends digits to the number. Their end may be behind `end`. */
INLINE const uint8_t *json_read_digits(const uint8_t *at, const uint8_t *end, uint64_t *number)
{
	static const uint32_t powers[] = { 1, 10, 100, 1000, 10000, 100000, 1000000, 10000000 };
	uint64_t bytes = json_read_eight(at), other;
	unsigned n;

	while (!(other = json_non_digits(bytes)) && at < end) {
		*number = *number * 100000000 + json_eight_digits(bytes);
		at += 8;
		bytes = at < end ? json_read_eight(at) : 0;
	}
	if (!other)
		return at;
	n = (unsigned)__builtin_ctzll(other) / 8;
	if (n)
		*number = *number * powers[n] + json_eight_digits(bytes << (64 - 8 * n));
	return at + n;
}

/* Skips an exponent after its "e". False: it is malformed. */
static bool json_skip_exponent(const uint8_t **at, const uint8_t *end)
{
	const uint8_t *from;

	if (*at < end && (**at == '+' || **at == '-'))
		(*at)++;
	from = *at;
	while (*at < end && **at >= '0' && **at <= '9')
		(*at)++;
	return *at > from;
}

/* Reads a number, which has to be followed by another byte. */
INLINE bool json_read_number(struct json_cursor *c)
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
	at = *at == '0' ? at + 1 : json_read_digits(at, c->end, &value);
	if (at < c->end && *at == '.') {
		const uint8_t *point = at++;

		at = json_read_digits(at, c->end, &value);
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

		if (!json_skip_exponent(&behind, c->end) ||
		    behind - (const uint8_t *)t->text >= JSON_MAX_NUMBER)
			return false;
		at = behind;
		t->fits = false;
	}
	t->length = (uint32_t)(at - (const uint8_t *)t->text);
	c->at = at;
	return at < c->end;
}

/* Returns the end of a plain number at `at`, or NULL. */
INLINE const uint8_t *json_skip_number(const uint8_t *at, const uint8_t *end)
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
 * Lists of numbers, mostly shapes, may be long, and their numbers are not needed one by one. So the list is only checked.
 * Returns its end; NULL: it contains something else or is not complete.
 */
static const uint8_t *json_skip_numbers(const uint8_t *list, const uint8_t *end,
					struct json_token *t)
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
			at = json_skip_space(at, end);
			if (at >= end)
				return NULL;
			if (*at != ']')
				continue;
		} else {
			at = json_skip_number(at, end);
			if (!at)
				return NULL;
		}
		for (;;) {
			spaces |= at < end && *at <= ' ';
			at = json_skip_space(at, end);
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
		at = json_skip_space(at, end);
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

INLINE bool json_read_word(struct json_cursor *c, const char *text, size_t length,
			   enum json_kind kind)
{
	if ((size_t)(c->end - c->at) < length || memcmp(c->at, text, length))
		return false;
	c->at += length;
	c->token->kind = kind;
	c->token->text = NULL;
	c->token->length = 0;
	return true;
}

/* Reads a value that is not a map or a list. */
INLINE bool json_read_scalar(struct json_cursor *c)
{
	switch (*c->at) {
	case '"':
		c->at++;
		return json_read_string(c, JSON_STRING);
	case 't':
		return json_read_word(c, "true", 4, JSON_TRUE);
	case 'f':
		return json_read_word(c, "false", 5, JSON_FALSE);
	case 'n':
		return json_read_word(c, "null", 4, JSON_NULL);
	default:
		return json_read_number(c);
	}
}

/* Reads a key and its colon, which a value has to follow. */
INLINE bool json_read_key(struct json_cursor *c)
{
	struct json_token *t = c->token;

	if (*c->at++ != '"' || c->at >= c->end || !json_read_string(c, JSON_KEY))
		return false;
	/* At least a quote and INPUT_PADDING bytes follow the text. */
	memcpy(&t->word, t->text, sizeof(t->word));
	if (t->length < sizeof(t->word))
		t->word = htole64(le64toh(t->word) & ((1ull << t->length * 8) - 1));
	c->token++;
	c->at = json_skip_space(c->at, c->end);
	if (*c->at++ != ':')
		return false;
	c->at = json_skip_space(c->at, c->end);
	return c->at < c->end;
}

INLINE void json_bracket(struct json_cursor *c, enum json_kind kind)
{
	c->token->kind = kind;
	c->token->text = NULL;
	c->token->length = 0;
	c->token++;
	c->at++;
}

/* Open maps and lists, innermost first: a bit for each, 1 = a list. */
struct nesting {
	unsigned depth, lists;
};

/* Opens a map or a list. False: it is empty or nested too deeply. */
INLINE bool json_open_value(struct json_cursor *c, struct nesting *open)
{
	bool is_list = *c->at == '[';

	if (open->depth == JSON_MAX_OPEN)
		return false;
	json_bracket(c, is_list ? JSON_LIST_START : JSON_MAP_START);
	open->lists = open->lists << 1 | is_list;
	open->depth++;
	c->at = json_skip_space(c->at, c->end);
	return c->at < c->end && *c->at != (is_list ? ']' : '}');
}

/*
 * After a value: closes the maps and lists that end here and skips the comma. This reads a few bytes that may be behind
 * the end, which the caller checks.
 */
INLINE bool json_close_values(struct json_cursor *c, struct nesting *open)
{
	while (open->depth) {
		bool is_list = open->lists & 1;

		c->at = json_skip_space(c->at, c->end);
		if (*c->at == ',') {
			c->at = json_skip_space(c->at + 1, c->end);
			return true;
		}
		if (*c->at != (is_list ? ']' : '}'))
			return false;
		json_bracket(c, is_list ? JSON_LIST_END : JSON_MAP_END);
		open->lists >>= 1;
		open->depth--;
	}
	return true;
}

/* Each iteration reads a key, a value and the closing brackets behind it. */
static bool json_is_whole(struct json_cursor *c, const struct json_token *last)
{
	struct nesting open = { 0 };
	const uint8_t *behind;
	bool opened;

	if (c->at >= c->end || *c->at != '{')
		return false;
	opened = json_open_value(c, &open);
	if (!opened && (!json_close_values(c, &open) || open.depth))
		return false;
	while (open.depth) {
		if (c->token > last || c->at >= c->end)
			return false;
		if (!(open.lists & 1) && !json_read_key(c))
			return false;
		if (*c->at == '[' && (behind = json_skip_numbers(c->at, c->end, c->token))) {
			c->at = behind;
			c->token++;
		} else if (*c->at == '{' || *c->at == '[') {
			unsigned depth = open.depth;

			if (json_open_value(c, &open))
				continue;
			if (open.depth == depth)
				return false;
		} else {
			if (!json_read_scalar(c))
				return false;
			c->token++;
		}
		if (!json_close_values(c, &open))
			return false;
	}
	return true;
}

size_t json_object(const uint8_t *bytes, size_t size, struct json_object *object)
{
	struct json_cursor c = {
		.at = bytes,
		.end = bytes + (size < JSON_MAX_SIZE ? size : JSON_MAX_SIZE),
		.token = object->tokens,
		.unescaped = object->unescaped,
	};

	object->n = 0;
	c.at = json_skip_space(c.at, c.end);
	if (!json_is_whole(&c, object->tokens + JSON_MAX_TOKENS - 1) ||
	    c.token > object->tokens + JSON_MAX_TOKENS)
		return 0;
	c.at = json_skip_space(c.at, c.end);
	if (c.at >= c.end || *c.at++ != ',')
		return 0;
	object->n = (unsigned)(c.token - object->tokens);
	return (size_t)(json_skip_space(c.at, c.end) - bytes);
}
