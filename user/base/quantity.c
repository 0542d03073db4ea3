/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses the quantities of the command line. */
#include "base/quantity.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NS_PER_S 1000000000ull

bool parse_duration(const char *text, uint64_t *ret_ns)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {
		{ "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 },   { "s", 1e9 },
		{ "", 1e9 }, { "m", 60e9 }, { "min", 60e9 }, { "h", 3600e9 },
	};
	char *end;
	double value;

	if (!isdigit((unsigned char)text[0]) && text[0] != '.')
		return false;
	value = strtod(text, &end);
	for (unsigned i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].unit))
			continue;
		value *= units[i].ns;
		if (!(value >= 1 && value < 1e18))
			return false;
		*ret_ns = value;
		return true;
	}
	return false;
}

bool parse_offset(const char *text, int64_t *ret_ns)
{
	bool negative = *text == '-';
	uint64_t ns;

	if (!parse_duration(text + (negative || *text == '+'), &ns))
		return false;
	*ret_ns = negative ? -(int64_t)ns : (int64_t)ns;
	return true;
}

bool parse_size(const char *text, uint64_t *ret_bytes)
{
	static const char units[] = "KMG";
	unsigned long long value;
	const char *unit;
	unsigned shift = 0;
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	value = strtoull(text, &end, 10);
	unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
	if (unit) {
		shift = 10 * (unit - units + 1);
		end++;
	}
	if (errno || value > (~0ull >> shift) || (*end && strcmp(end, "B") && strcmp(end, "iB")))
		return false;
	*ret_bytes = value << shift;
	return true;
}

bool parse_percent(const char *text, double *ret_percent)
{
	double value;
	char *end;

	/* strtod() also reads hexadecimal numbers, exponents and "nan". */
	if (!isdigit((unsigned char)text[0]) || strspn(text, "0123456789.") > 20 ||
	    text[strspn(text, "0123456789.%")])
		return false;
	value = strtod(text, &end);
	if ((*end && strcmp(end, "%")) || !(value > 0 && value <= 100))
		return false;
	*ret_percent = value;
	return true;
}

bool parse_integer(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || !isdigit((unsigned char)*text) || *end || value < min || value > max)
		return false;
	*ret_value = value;
	return true;
}

/* The next time of day. */
static bool parse_time_of_day(const char *text, uint64_t now_ns, uint64_t *ret_ns)
{
	time_t now = (time_t)(now_ns / NS_PER_S), at;
	struct tm day;
	const char *end;

	if (!localtime_r(&now, &day))
		return false;
	day.tm_sec = 0;
	end = strptime(text, "%H:%M:%S", &day) ?: strptime(text, "%H:%M", &day);
	day.tm_isdst = -1;
	at = end && !*end ? mktime(&day) : -1;
	if (at >= 0 && at <= now) {
		day.tm_mday++;
		at = mktime(&day);
	}
	if (at <= now)
		return false;
	*ret_ns = (uint64_t)at * NS_PER_S;
	return true;
}

bool parse_moment(const char *text, uint64_t now_ns, uint64_t *ret_ns)
{
	uint64_t number;

	if (*text == '/') {
		if (!parse_duration(text + 1, &number))
			return false;
		*ret_ns = ((now_ns + NS_PER_S) / number + 1) * number;
		return true;
	}
	if (*text != '@')
		return parse_time_of_day(text, now_ns, ret_ns);
	if (!parse_integer(text + 1, now_ns / NS_PER_S + 1, INT64_MAX / NS_PER_S, &number))
		return false;
	*ret_ns = number * NS_PER_S;
	return true;
}
