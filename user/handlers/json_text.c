// SPDX-License-Identifier: BSD-2-Clause
#include "handlers/json_text.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static const char digit_pairs[] = "00010203040506070809101112131415161718192021222324"
				  "25262728293031323334353637383940414243444546474849"
				  "50515253545556575859606162636465666768697071727374"
				  "75767778798081828384858687888990919293949596979899";

static unsigned digits_of(uint64_t value)
{
	static const uint64_t powers[] = {
		0,
		10ull,
		100ull,
		1000ull,
		10000ull,
		100000ull,
		1000000ull,
		10000000ull,
		100000000ull,
		1000000000ull,
		10000000000ull,
		100000000000ull,
		1000000000000ull,
		10000000000000ull,
		100000000000000ull,
		1000000000000000ull,
		10000000000000000ull,
		100000000000000000ull,
		1000000000000000000ull,
		10000000000000000000ull,
	};
	/* log10(2) is 1233 / 4096, nearly: as many digits as that says, or one less. */
	unsigned guess = (64 - __builtin_clzll(value | 1)) * 1233 >> 12;

	return guess + 1 - (value < powers[guess]);
}

/*
 * From the last digit on, where it belongs: of so few bytes, a copy would cost as much as they do. Four
 * digits at a time, as long as there are so many: the divisions wait for one another.
 */
char *json_u64(char *at, uint64_t value)
{
	char *end = at + digits_of(value), *first = end;
	uint32_t rest;

	while (value >= 10000) {
		uint32_t four = value % 10000;

		value /= 10000;
		first -= 4;
		memcpy(first, digit_pairs + four / 100 * 2, 2);
		memcpy(first + 2, digit_pairs + four % 100 * 2, 2);
	}
	rest = (uint32_t)value;
	if (rest >= 100) {
		first -= 2;
		memcpy(first, digit_pairs + rest % 100 * 2, 2);
		rest /= 100;
	}
	if (rest >= 10)
		memcpy(first - 2, digit_pairs + rest * 2, 2);
	else
		first[-1] = (char)('0' + rest);
	return end;
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

/* `value` with leading zeros, exactly `digits` of them. */
static char *put_padded(char *at, uint64_t value, int digits)
{
	for (int i = digits - 1; i >= 0; i--, value /= 10)
		at[i] = (char)('0' + value % 10);
	return at + digits;
}

char *json_us(char *at, uint64_t ns)
{
	uint64_t us = ns / 1000;
	unsigned rest = (unsigned)(ns - us * 1000);

	at = json_u64(at, us);
	at[0] = '.';
	at[1] = (char)('0' + rest / 100);
	memcpy(at + 2, digit_pairs + rest % 100 * 2, 2);
	return at + 4;
}

/*
 * Most doubles that people record are short decimals: 0.5, 59.94, 3. Such a one is an integer of at
 * most 53 bits divided by a power of ten, both exact, so that the division rounds just as a parser
 * does: if it gives the value back, the text will.
 */
static char *put_short_decimal(char *at, double value)
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
		return put_padded(at, whole % power, decimals ? decimals : 1);
	}
	return NULL;
}

static char *put_printed(char *at, double value)
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
		} else if (!marked) { /* the locale's decimal point, of one or more bytes */
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
	end = put_short_decimal(at, value);
	return end ? end : put_printed(at, value);
}

static char escape_of(unsigned char c)
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

char *json_escaped(char *at, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		unsigned char c = text[i];

		if (c >= 0x20 && c != '"' && c != '\\') {
			*at++ = (char)c;
		} else if (escape_of(c)) {
			*at++ = '\\';
			*at++ = escape_of(c);
		} else {
			*at++ = '?';
		}
	}
	return at;
}
