/* SPDX-License-Identifier: BSD-2-Clause */
#include "failure.h"

#include <stdarg.h>
#include <string.h>

bool failure_acts_on_terminals(const char *at)
{
	const unsigned char *c = (const unsigned char *)at;

	/* The controls of ISO 6429 are two bytes in UTF-8; without the first the second is none. */
	return *c < 0x20 || *c == 0x7f || (*c == 0xc2 && c[1] >= 0x80 && c[1] <= 0x9f);
}

void failure_clean(char *text)
{
	for (; *text; text++) {
		if (failure_acts_on_terminals(text))
			*text = '?';
	}
}

static void copy_printable(char *out, size_t size, const char *text)
{
	size_t n = 0;

	for (; text && *text && n + 1 < size; text++)
		out[n++] = failure_acts_on_terminals(text) ? '?' : *text;
	out[n] = '\0';
}

int failure_set(struct failure *f, int error, const char *what, const char *object,
		const char *reason)
{
	if (!f)
		return error;
	copy_printable(f->what, sizeof(f->what), what);
	copy_printable(f->object, sizeof(f->object), object);
	copy_printable(f->reason, sizeof(f->reason),
		       reason ? reason : (error ? strerror(-error) : NULL));
	f->hint[0] = '\0';
	return error;
}

void failure_hint(struct failure *f, const char *format, ...)
{
	char text[sizeof(f->hint)];
	va_list args;

	if (!f)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	copy_printable(f->hint, sizeof(f->hint), text);
}

void failure_hint_memory(struct failure *f)
{
	failure_hint(f, "is there a limit on memory, of this shell (ulimit -v) or of its control "
			"group? A smaller --buffer takes less");
}

void failure_print(const struct failure *f, FILE *out)
{
	fprintf(out, "proftrace: %s", f->what);
	if (f->object[0])
		fprintf(out, " '%s'", f->object);
	if (f->reason[0])
		fprintf(out, ": %s", f->reason);
	fputc('\n', out);
	if (f->hint[0])
		fprintf(out, "hint: %s\n", f->hint);
}
