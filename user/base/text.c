/* SPDX-License-Identifier: BSD-2-Clause */
/* Endings of file names and sizes for people: see text.h. */
#include "base/text.h"

#include <string.h>

bool text_ends_with(const char *text, const char *ending)
{
	size_t n = strlen(text), m = strlen(ending);

	return n > m && !strcmp(text + n - m, ending);
}

size_t utf8_decode(const unsigned char *s, size_t left, uint32_t *ret_code)
{
	uint32_t code, least;
	size_t length;

	if (s[0] < 0x80) {
		*ret_code = s[0];
		return 1;
	}
	if (s[0] >= 0xc2 && s[0] <= 0xdf) {
		length = 2, code = s[0] & 0x1f, least = 0x80;
	} else if (s[0] >= 0xe0 && s[0] <= 0xef) {
		length = 3, code = s[0] & 0x0f, least = 0x800;
	} else if (s[0] >= 0xf0 && s[0] <= 0xf4) {
		length = 4, code = s[0] & 0x07, least = 0x10000;
	} else {
		return 0;
	}
	if (length > left)
		return 0;
	for (size_t i = 1; i < length; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	if (code < least || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	*ret_code = code;
	return length;
}

bool text_is_control(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code <= 0x9f) || code == 0x61c || code == 0x200e ||
	       code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

void text_copy_visible(char *out, size_t size, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t n = 0, left = strlen(text), length;
	uint32_t code = 0;

	for (; left; s += length, left -= length) {
		bool visible;

		length = utf8_decode(s, left, &code);
		visible = length && !text_is_control(code);
		length = length ? length : 1;
		if (n + (visible ? length : 1) >= size)
			break;
		if (visible)
			memmove(out + n, s, length);
		else
			out[n] = '?';
		n += visible ? length : 1;
	}
	if (size)
		out[n] = '\0';
}

void text_make_visible(char *text)
{
	text_copy_visible(text, strlen(text) + 1, text);
}

size_t format_visible(char *out, size_t size, const char *format, va_list args)
{
	size_t end = strlen(format), n;
	bool is_line = end && format[end - 1] == '\n';
	int length = vsnprintf(out, size - is_line, format, args);

	if (length < 0)
		out[0] = '\0';
	else if (is_line && (size_t)length < size - 1)
		out[length - 1] = '\0';
	text_make_visible(out);
	n = strlen(out);
	if (is_line)
		strcpy(out + n++, "\n");
	return n;
}

void print_visible(FILE *out, const char *format, ...)
{
	char text[TEXT_PRINTED];
	va_list args;

	va_start(args, format);
	fwrite(text, 1, format_visible(text, sizeof(text), format, args), out);
	va_end(args);
}

void print_size(char *out, size_t size, uint64_t bytes)
{
	static const char *const units[] = { "B", "KB", "MB", "GB", "TB" };
	double value = bytes;
	unsigned i = 0;

	while (value >= 1000 && i < 4) {
		value /= 1000;
		i++;
	}
	snprintf(out, size, i && value < 100 ? "%.1f %s" : "%.0f %s", value, units[i]);
}
