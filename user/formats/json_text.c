// SPDX-License-Identifier: BSD-2-Clause
/*
 * printf() would spend most of the time that it takes to write a Chrome JSON trace, so numbers are converted here,
 * eight digits at a time, and strings are copied eight bytes at a time.
 */
#include "formats/json_text.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static char *json_u64_long(char *at, uint64_t value)
{
	uint64_t high = value / JSON_EIGHT;

	at = json_u64(at, high);
	json_put_word(at, json_digits((uint32_t)(value - high * JSON_EIGHT)) + JSON_ZEROS);
	return at + 8;
}

char *json_u64(char *at, uint64_t value)
{
	uint64_t digits;
	unsigned zeros;

	if (value < 10) {
		*at = (char)('0' + value);
		return at + 1;
	}
	if (value >= JSON_EIGHT)
		return json_u64_long(at, value);
	digits = json_digits((uint32_t)value);
	zeros = (unsigned)__builtin_ctzll(digits) / 8;
	json_put_word(at, (digits + JSON_ZEROS) >> zeros * 8);
	return at + 8 - zeros;
}

char *json_i64(char *at, int64_t value)
{
	if (value >= 0)
		return json_u64(at, (uint64_t)value);
	*at++ = '-';
	return json_u64(at, -(uint64_t)value);
}

char *json_hex(char *at, uint64_t value)
{
	int shift = value ? (63 - __builtin_clzll(value)) / 4 * 4 : 0;

	at = json_literal(at, "\"0x");
	for (; shift >= 0; shift -= 4)
		*at++ = "0123456789abcdef"[value >> shift & 15];
	*at++ = '"';
	return at;
}

/* Exactly `digits` digits, with leading zeros. */
static char *json_put_padded(char *at, uint64_t value, int digits)
{
	for (int i = digits - 1; i >= 0; i--, value /= 10)
		at[i] = (char)('0' + value % 10);
	return at + digits;
}

char *json_us(char *at, uint64_t ns)
{
	uint64_t high = ns / JSON_EIGHT;

	if (high)
		return json_us_low(json_u64(at, high), (uint32_t)(ns - high * JSON_EIGHT));
	at = json_u64(at, ns / 1000);
	*at++ = '.';
	return json_put_padded(at, ns % 1000, 3);
}

/*
 * Most doubles that people record are short decimals: 0.5, 59.94, 3. Such a number is an integer of at most 53 bits
 * divided by a power of ten. Both are exact as doubles, so the division rounds as a parser does: if it returns
 * `value`, the text will as well.
 */
static char *json_put_short_decimal(char *at, double value)
{
	static const double powers[] = { 1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9 };

	for (int decimals = 0; decimals < 10; decimals++) {
		double scaled = value * powers[decimals] + 0.5;
		uint64_t whole, power;

		if (scaled >= 1e15)
			return NULL;
		whole = (uint64_t)scaled;
		if ((double)whole / powers[decimals] != value)
			continue;
		power = (uint64_t)powers[decimals];
		at = json_u64(at, whole / power);
		*at++ = '.';
		return json_put_padded(at, whole % power, decimals ? decimals : 1);
	}
	return NULL;
}

static char *json_put_printed(char *at, double value)
{
	char text[64];
	bool marked = false;

	for (int precision = 15; precision <= 17; precision++) {
		snprintf(text, sizeof(text), "%.*g", precision, value);
		if (strtod(text, NULL) == value)
			break;
	}
	for (const char *c = text; *c; c++) {
		if ((*c >= '0' && *c <= '9') || *c == '-' || *c == '+') {
			*at++ = *c;
		} else if (*c == 'e') {
			*at++ = *c;
			marked = true;
		} else if (!marked) { /* the decimal point of the locale has one or more bytes */
			*at++ = '.';
			marked = true;
		}
	}
	return marked ? at : json_literal(at, ".0");
}

char *json_double(char *at, double value)
{
	char *end;

	if (isnan(value))
		return json_literal(at, "\"NaN\"");
	if (isinf(value))
		return value > 0 ? json_literal(at, "\"Infinity\"")
				 : json_literal(at, "\"-Infinity\"");
	if (signbit(value)) {
		*at++ = '-';
		value = -value;
	}
	end = json_put_short_decimal(at, value);
	return end ? end : json_put_printed(at, value);
}

static char json_escape_letter(unsigned char c)
{
	switch (c) {
	case '"':
	case '\\':
		return (char)c;
	case '\b':
		return 'b';
	case '\f':
		return 'f';
	case '\n':
		return 'n';
	case '\r':
		return 'r';
	case '\t':
		return 't';
	}
	return 0;
}

static char *json_put_escaped(char *at, unsigned char c)
{
	if (c >= 0x20 && c != '"' && c != '\\') {
		*at++ = (char)c;
	} else if (json_escape_letter(c)) {
		*at++ = '\\';
		*at++ = json_escape_letter(c);
	} else {
		*at++ = '?';
	}
	return at;
}

#define EACH_BYTE 0x0101010101010101ull

/* Whether any of eight bytes is below `limit` (at most 0x80): the subtraction then borrows from its highest bit. */
static bool any_byte_below(uint64_t bytes, unsigned limit)
{
	return (bytes - EACH_BYTE * limit) & ~bytes & EACH_BYTE * 0x80;
}

static bool any_byte_equal(uint64_t bytes, unsigned char c)
{
	return any_byte_below(bytes ^ EACH_BYTE * c, 1);
}

/* Few characters need an escape, so eight bytes are tested and copied at once. */
char *json_escaped(char *at, const char *text, size_t length)
{
	size_t i = 0;
	uint64_t bytes;

	for (; length - i >= 8; i += 8) {
		memcpy(&bytes, text + i, 8);
		if (any_byte_below(bytes, 0x20) || any_byte_equal(bytes, '"') ||
		    any_byte_equal(bytes, '\\')) {
			for (size_t end = i + 8, k = i; k < end; k++)
				at = json_put_escaped(at, (unsigned char)text[k]);
			continue;
		}
		memcpy(at, &bytes, 8);
		at += 8;
	}
	for (; i < length; i++)
		at = json_put_escaped(at, (unsigned char)text[i]);
	return at;
}
