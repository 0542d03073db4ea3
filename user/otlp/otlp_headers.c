/* SPDX-License-Identifier: BSD-2-Clause */
/* The headers that a user adds to each request, a token for example. */
#include "otlp/otlp_internal.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

/* The value of two hexadecimal digits, or -1. */
static int hex_byte(const char *text)
{
	static const char digits[] = "0123456789abcdef";
	const char *high, *low;

	if (!text[0] || !text[1])
		return -1;
	high = strchr(digits, tolower((unsigned char)text[0]));
	low = strchr(digits, tolower((unsigned char)text[1]));
	return high && low ? (int)((high - digits) << 4 | (low - digits)) : -1;
}

/* A token of RFC 9110. */
static bool is_header_name(const char *text, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (!isalnum((unsigned char)text[i]) && !strchr("!#$%&'*+-.^_`|~", text[i]))
			return false;
	}
	return n > 0;
}

/* Puts one "key=value" as "key: value". Returns its size with the NUL, or -EINVAL. */
static long put_header(const char *text, size_t n, char *out, size_t size)
{
	const char *equals = memchr(text, '=', n);
	size_t at, used;

	if (!equals || !is_header_name(text, (size_t)(equals - text)) || n + 2 > size)
		return -EINVAL;
	used = (size_t)(equals - text);
	memcpy(out, text, used);
	out[used++] = ':';
	out[used++] = ' ';
	for (at = (size_t)(equals - text) + 1; at < n; at++) {
		int byte = (unsigned char)text[at];

		if (byte == '%') {
			byte = at + 2 < n ? hex_byte(text + at + 1) : -1;
			at += 2;
		}
		/* A line break would begin a header of its own. */
		if (byte < ' ' || byte == 0x7f)
			return -EINVAL;
		out[used++] = (char)byte;
	}
	out[used++] = '\0';
	return (long)used;
}

int otlp_parse_headers(const char *text, char *out, size_t size)
{
	int headers = 0;

	while (*text) {
		size_t n = strcspn(text, ","), end = n;
		long used;

		while (end && text[end - 1] == ' ')
			end--;
		while (end && *text == ' ')
			text++, end--, n--;
		if (end) {
			used = headers < OTLP_MAX_HEADERS ? put_header(text, end, out, size)
							  : -EINVAL;
			if (used < 0)
				return -EINVAL;
			out += used;
			size -= (size_t)used;
			headers++;
		}
		text += n + (text[n] == ',');
	}
	return headers;
}
