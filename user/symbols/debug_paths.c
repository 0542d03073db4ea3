/* SPDX-License-Identifier: BSD-2-Clause */
#include "symbols/debug_paths.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "symbols/wire.h"

#define ROOT "/usr/lib/debug"

__attribute__((format(printf, 3, 4))) static bool put(char *out, size_t size, const char *format,
						      ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(out, size, format, args);
	va_end(args);
	return n > 0 && (size_t)n < size;
}

static bool by_build_id(const struct symbol_want *want, char *out, size_t size)
{
	char hex[2 * SYMBOL_MAX_ID + 1];
	uint32_t i;

	if (want->build_id_size < 2 || want->build_id_size > SYMBOL_MAX_ID)
		return false;
	for (i = 0; i < want->build_id_size; i++)
		snprintf(hex + 2 * i, 3, "%02x", want->build_id[i]);
	return put(out, size, ROOT "/.build-id/%.2s/%s.debug", hex, hex + 2);
}

/* dwz writes /usr/lib/debug/.dwz/NAME, or the way there from the debug file. */
static bool shared(const char *link, char *out, size_t size)
{
	const char *at = strstr(link, "/.dwz/");

	if (!at || strstr(at, "/../"))
		return false;
	return put(out, size, ROOT "%s", at);
}

bool debug_path(const struct symbol_want *want, const char *path, unsigned index, char *out,
		size_t size)
{
	const char *link = want->link, *slash = strrchr(path, '/');
	int directory = slash ? (int)(slash - path) : 0;

	if (index == 0)
		return by_build_id(want, out, size);
	if (want->is_alternate)
		return index == 1 && shared(link, out, size);
	if (path[0] != '/' || !link[0] || strchr(link, '/') || !strcmp(link, "..") ||
	    !strcmp(link, "."))
		return false;
	switch (index) {
	case 1: /* unless it names itself */
		return strcmp(link, slash + 1) && put(out, size, "%.*s/%s", directory, path, link);
	case 2:
		return put(out, size, "%.*s/.debug/%s", directory, path, link);
	case 3:
		return put(out, size, ROOT "%.*s/%s", directory, path, link);
	default:
		return false;
	}
}
