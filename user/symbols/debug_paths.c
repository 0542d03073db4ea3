/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where debug files are that were separated from the code: by build id under /usr/lib/debug, as
 * distributions install them, or beside the program, as gdb looks for them.
 */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "symbols/wire.h"

#define ROOT "/usr/lib/debug"

__attribute__((format(printf, 3, 4))) static bool format_path(char *out, size_t size,
							      const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(out, size, format, args);
	va_end(args);
	return n > 0 && (size_t)n < size;
}

static bool format_build_id_path(const struct symbol_file_request *wanted, char *out, size_t size)
{
	char hex[2 * SYMBOL_MAX_ID + 1];

	if (wanted->build_id_size < 2 || wanted->build_id_size > SYMBOL_MAX_ID)
		return false;
	for (uint32_t i = 0; i < wanted->build_id_size; i++)
		snprintf(hex + 2 * i, 3, "%02x", wanted->build_id[i]);
	return format_path(out, size, ROOT "/.build-id/%.2s/%s.debug", hex, hex + 2);
}

/* dwz writes /usr/lib/debug/.dwz/NAME, or the relative path there from the debug file. */
static bool format_dwz_path(const char *link, char *out, size_t size)
{
	const char *at = strstr(link, "/.dwz/");

	if (!at || strstr(at, "/../"))
		return false;
	return format_path(out, size, ROOT "%s", at);
}

bool debug_path(const struct symbol_file_request *wanted, const char *path, unsigned index,
		char *out, size_t size)
{
	const char *link = wanted->link, *slash = strrchr(path, '/');
	int directory = slash ? (int)(slash - path) : 0;

	if (index == 0)
		return format_build_id_path(wanted, out, size);
	if (wanted->is_alternate)
		return index == 1 && format_dwz_path(link, out, size);
	if (path[0] != '/' || !link[0] || strchr(link, '/') || !strcmp(link, "..") ||
	    !strcmp(link, "."))
		return false;
	switch (index) {
	case 1: /* unless the link is the file itself */
		return strcmp(link, slash + 1) &&
		       format_path(out, size, "%.*s/%s", directory, path, link);
	case 2:
		return format_path(out, size, "%.*s/.debug/%s", directory, path, link);
	case 3:
		return format_path(out, size, ROOT "%.*s/%s", directory, path, link);
	default:
		return false;
	}
}
