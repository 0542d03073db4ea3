/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fills in and prints failures. Objects and reasons may be foreign text, so what a terminal would
 * act on is replaced.
 */
#include "base/failure.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/text.h"

int failure_set(struct failure *f, int error, const char *what, const char *object,
		const char *reason)
{
	if (!f)
		return error;
	text_copy_visible(f->what, sizeof(f->what), what ? what : "");
	text_copy_visible(f->object, sizeof(f->object), object ? object : "");
	text_copy_visible(f->reason, sizeof(f->reason),
			  reason ? reason : (error ? strerror(-error) : ""));
	f->hint[0] = '\0';
	if (error == -EMFILE && !reason)
		failure_hint(f, "raise the limit on open files: `ulimit -n 1024`");
	if (error == -EFBIG && !reason)
		failure_hint(f, "raise the limit on the size of files: `ulimit -f unlimited`");
	return error;
}

void failure_hint(struct failure *f, const char *format, ...)
{
	va_list args;

	if (!f)
		return;
	va_start(args, format);
	format_visible(f->hint, sizeof(f->hint), format, args);
	va_end(args);
}

void failure_hint_memory(struct failure *f)
{
	failure_hint(f, "check the memory limits of the shell (ulimit -v) and of the control "
			"group; a smaller --buffer needs less");
}

void failure_hint_processes(struct failure *f, int error)
{
	if (error == -EAGAIN)
		failure_hint(f, "raise the limit on processes and threads: `ulimit -u`, or "
				"pids.max of the control group");
}

/* Only a static program has it: tools/static.c. */
extern const char static_program[] __attribute__((weak));

void failure_hint_library(struct failure *f, const char *package)
{
	if (!f)
		return;
	if (static_program)
		failure_hint(
			f,
			"a static proftrace loads no libraries; use one from a package or `make`");
	else
		failure_hint(f, "on Debian: apt install %s", package);
}

void failure_print(const struct failure *f, FILE *out)
{
	const char *quote = f->object[0] ? "'" : "";

	print_visible(out, "proftrace: %s%s%s%s%s%s%s\n", f->what, *quote ? " " : "", quote,
		      f->object, quote, f->reason[0] ? ": " : "", f->reason);
	if (f->hint[0])
		print_visible(out, "hint: %s\n", f->hint);
}
