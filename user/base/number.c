/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses numbers. Integers and short decimals, which are nearly all numbers of a trace, are parsed
 * with integer arithmetic; strtod(), which is slower, gets only the rest.
 */
#include "base/number.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	LONGEST = 1100, /* characters; the JSON reader refuses numbers of more than 1024 */
};

static bool is_number_word(const char *text, size_t length, const char *word)
{
	return length == strlen(word) && !memcmp(text, word, length);
}

/* Digits only, without a sign. False also when the number does not fit. */
static bool parse_digits(const char *text, size_t length, uint64_t *ret_value)
{
	uint64_t value = 0;
	size_t i;

	/* So many digits always fit. */
	for (i = 0; i < length && i < 19; i++) {
		unsigned digit = (unsigned char)text[i] - '0';

		if (digit > 9)
			return false;
		value = value * 10 + digit;
	}
	for (; i < length; i++) {
		if (!isdigit((unsigned char)text[i]) || __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(text[i] - '0'), &value))
			return false;
	}
	*ret_value = value;
	return length > 0;
}

static bool parse_long_double(const char *text, size_t length, long double *ret_value)
{
	char copy[LONGEST + 1], *end;

	if (!length || length > LONGEST)
		return false;
	for (size_t i = 0; i < length; i++) { /* strtold() accepts more than the numbers of JSON */
		if (!isdigit((unsigned char)text[i]) && !memchr("+-.eE", text[i], 5))
			return false;
	}
	memcpy(copy, text, length);
	copy[length] = '\0';
	*ret_value = strtold(copy, &end);
	return *end == '\0' && end != copy;
}

/* A conversion by way of long double would round twice. */
static double parse_nearest_double(const char *text, size_t length)
{
	char copy[LONGEST + 1];

	memcpy(copy, text, length);
	copy[length] = '\0';
	return strtod(copy, NULL);
}

/* A double represents these exactly, as it does all integers of fifteen digits. */
static const double powers[] = { 1,   1e1, 1e2,	 1e3,  1e4,  1e5,  1e6,	 1e7,
				 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15 };

/*
 * Parses a decimal of at most fifteen digits: an integer divided by a power of ten, both exact, so
 * the result is rounded only once. False: it is something else.
 */
static bool parse_short_decimal(const char *text, size_t length, double *ret_value)
{
	bool negative = length && text[0] == '-';
	size_t i, n = 0, behind = 0;
	uint64_t value = 0;
	bool point = false;

	for (i = negative; i < length; i++) {
		if (text[i] == '.' && !point && n) {
			point = true;
			continue;
		}
		if (!isdigit((unsigned char)text[i]) || ++n > 15)
			return false;
		value = value * 10 + (uint64_t)(text[i] - '0');
		behind += point;
	}
	if (!n || (point && !behind))
		return false;
	*ret_value = (double)value / powers[behind];
	if (negative)
		*ret_value = -*ret_value;
	return true;
}

struct number number_read(const char *text, size_t length, bool words)
{
	bool negative = length && text[0] == '-';
	long double wide;
	uint64_t value;
	double exact;

	if (words && is_number_word(text, length, "NaN"))
		return (struct number){ NUMBER_DOUBLE, { .d = NAN } };
	if (words && is_number_word(text, length, "Infinity"))
		return (struct number){ NUMBER_DOUBLE, { .d = INFINITY } };
	if (words && is_number_word(text, length, "-Infinity"))
		return (struct number){ NUMBER_DOUBLE, { .d = -INFINITY } };
	if (parse_digits(text + negative, length - negative, &value)) {
		if (!negative && value > INT64_MAX)
			return (struct number){ NUMBER_UINT, { .u = value } };
		if (value <= (uint64_t)INT64_MAX + negative)
			return (struct number){ NUMBER_INT,
						{ .i = (int64_t)(negative ? -value : value) } };
	}
	if (parse_short_decimal(text, length, &exact))
		return (struct number){ NUMBER_DOUBLE, { .d = exact } };
	if (!parse_long_double(text, length, &wide))
		return (struct number){ NUMBER_NONE, { .u = 0 } };
	return (struct number){ NUMBER_DOUBLE, { .d = parse_nearest_double(text, length) } };
}

struct number number_parts_read(const struct number_parts *parts, const char *text, size_t length)
{
	uint64_t value = parts->digits;
	double exact;

	if (!parts->fraction && !parts->negative && value > INT64_MAX)
		return (struct number){ NUMBER_UINT, { .u = value } };
	if (!parts->fraction && value <= INT64_MAX)
		return (struct number){ NUMBER_INT,
					{ .i = (int64_t)(parts->negative ? -value : value) } };
	if (parts->fraction > 15 || value >= 1000000000000000)
		return number_read(text, length, false);
	exact = (double)value / powers[parts->fraction];
	return (struct number){ NUMBER_DOUBLE, { .d = parts->negative ? -exact : exact } };
}

bool number_parts_microseconds(const struct number_parts *parts, int64_t *ret_ns)
{
	static const uint64_t scale[] = { 1000, 100, 10, 1 };
	uint64_t ns;

	if (parts->fraction > 3 ||
	    __builtin_mul_overflow(parts->digits, scale[parts->fraction], &ns) ||
	    ns > INT64_MAX - 2000)
		return false;
	*ret_ns = (int64_t)(parts->negative ? -ns : ns);
	return true;
}

static bool round_microseconds(const char *text, size_t length, int64_t *ret_ns)
{
	long double us;

	if (!parse_long_double(text, length, &us))
		return false;
	us = us * 1000 + (us < 0 ? -0.5L : 0.5L);
	if (!(us > -9.2e18L && us < 9.2e18L))
		return false;
	*ret_ns = (int64_t)us;
	return true;
}

bool number_microseconds(const char *text, size_t length, int64_t *ret_ns)
{
	bool negative = length && text[0] == '-';
	const char *point;
	uint64_t whole, ns = 0;
	size_t i, n_whole, n_fraction = 0;

	text += negative;
	length -= negative;
	point = memchr(text, '.', length);
	n_whole = point ? (size_t)(point - text) : length;
	if (point)
		n_fraction = length - n_whole - 1;
	for (i = 0; i < n_fraction; i++) {
		if (!isdigit((unsigned char)point[1 + i]))
			return round_microseconds(text - negative, length + negative, ret_ns);
	}
	if (!parse_digits(text, n_whole, &whole) || whole > INT64_MAX / 1000 - 1)
		return round_microseconds(text - negative, length + negative, ret_ns);
	for (i = 0; i < 3; i++)
		ns = ns * 10 + (i < n_fraction ? (uint64_t)(point[1 + i] - '0') : 0);
	if (n_fraction > 3 && point[4] >= '5')
		ns++;
	*ret_ns = (int64_t)(whole * 1000 + ns);
	if (negative)
		*ret_ns = -*ret_ns;
	return true;
}

bool number_id(const char *text, size_t length, uint64_t *ret_id)
{
	uint64_t id = 0;

	if (length < 3 || text[0] != '0' || (text[1] != 'x' && text[1] != 'X'))
		return parse_digits(text, length, ret_id);
	if (length > 2 + 16)
		return false;
	for (size_t i = 2; i < length; i++) {
		if (!isxdigit((unsigned char)text[i]))
			return false;
		id = id << 4 |
		     (uint64_t)(isdigit((unsigned char)text[i]) ? text[i] - '0'
								: (text[i] | 0x20) - 'a' + 10);
	}
	*ret_id = id;
	return true;
}
