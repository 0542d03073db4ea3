/* SPDX-License-Identifier: BSD-2-Clause */
/* Text of other programs, as much of it as a tracer keeps. */
#include "annotations.h"

#include <string.h>

const char *text_copy(char *to, size_t size, const char *from, size_t length)
{
	size_t n = strnlen(from, length < size - 1 ? length : size - 1);

	memcpy(to, from, n);
	to[n] = '\0';
	return to;
}

static size_t text_put_code_point(char *to, uint32_t c)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		c = 0xfffd; /* no character */
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 0x3f));
		to[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 0x3f));
	to[2] = (char)(0x80 | (c >> 6 & 0x3f));
	to[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

const char *text_from_wide(char *to, size_t size, const wchar_t *from)
{
	size_t n = 0;

	while (*from && n + 4 < size)
		n += text_put_code_point(to + n, (uint32_t)*from++);
	to[n] = '\0';
	return to;
}

const prof_runtime_domain_t *domain_named(const char *name, const char *otherwise)
{
	const prof_runtime_domain_t *domain;
	char copy[NAME_KEPT], *comma;

	if (!name || !*name || !strcmp(name, "default"))
		name = otherwise;
	text_copy(copy, sizeof(copy), name, sizeof(copy));
	while ((comma = strchr(copy, ',')))
		*comma = ';';
	domain = prof_domain_get(copy);
	/* Without memory there is the built-in domain only, whose name is NULL. */
	return domain;
}
