/* SPDX-License-Identifier: BSD-2-Clause */
#include "symbols/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

enum {
	/* Of mangled bytes: libiberty takes a hundred bytes of stack for each. */
	MAX_MANGLED = 4096,
};

struct output {
	char *out;
	size_t size, used;
	jmp_buf full;
};

/* The only way to stop a demangler is not to return to it. */
static void take(const char *text, size_t length, void *context)
{
	struct output *o = context;
	size_t room = o->size - 1 - o->used;
	size_t n = length < room ? length : room;

	/* Nothing may be no text. */
	if (n)
		memcpy(o->out + o->used, text, n);
	o->used += n;
	if (n < length)
		longjmp(o->full, 1);
}

/* Whether it was one. */
static int demangle(struct output *o, const char *mangled)
{
	/* With as much of it as fits, where it does not fit. */
	if (setjmp(o->full))
		return 1;
	if (rust_demangle_callback(mangled, DMGL_NO_OPTS, take, o))
		return 1;
	o->used = 0;
	return cplus_demangle_v3_callback(mangled, DMGL_NO_OPTS, take, o);
}

size_t symbol_demangle(const char *mangled, char *out, size_t size)
{
	struct output o = { .out = out, .size = size };
	size_t length = strnlen(mangled, MAX_MANGLED + 1);

	if (length <= MAX_MANGLED && (!strncmp(mangled, "_Z", 2) || !strncmp(mangled, "_R", 2)) &&
	    demangle(&o, mangled) && o.used) {
		out[o.used] = '\0';
		return o.used;
	}
	if (length > size - 1)
		length = size - 1;
	memcpy(out, mangled, length);
	out[length] = '\0';
	return length;
}
