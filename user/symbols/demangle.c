/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of functions of C++ and Rust as their authors wrote them, by libiberty. */
#include "symbols/symbols.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

enum {
	/* Of mangled bytes: libiberty needs a hundred bytes of stack for each. */
	MAX_MANGLED = 4096,
};

struct output {
	char *out;
	size_t size, used;
	jmp_buf full;
};

/*
 * The demangler cannot be stopped by a return value, so when the buffer is full it is left by
 * longjmp().
 */
static void append_demangled(const char *text, size_t length, void *context)
{
	struct output *o = context;
	size_t space = o->size - 1 - o->used;
	size_t n = length < space ? length : space;

	/* For an empty piece `text` may be NULL. */
	if (n)
		memcpy(o->out + o->used, text, n);
	o->used += n;
	if (n < length)
		longjmp(o->full, 1);
}

/* Returns whether it was a mangled name. */
static int demangle_into(struct output *o, const char *mangled)
{
	/* The name is longer than the buffer, which has the beginning of it. */
	if (setjmp(o->full))
		return 1;
	if (rust_demangle_callback(mangled, DMGL_NO_OPTS, append_demangled, o))
		return 1;
	o->used = 0;
	return cplus_demangle_v3_callback(mangled, DMGL_NO_OPTS, append_demangled, o);
}

size_t symbol_demangle(const char *mangled, char *out, size_t size)
{
	struct output o = { .out = out, .size = size };
	size_t length = strnlen(mangled, MAX_MANGLED + 1);

	if (length <= MAX_MANGLED && (!strncmp(mangled, "_Z", 2) || !strncmp(mangled, "_R", 2)) &&
	    demangle_into(&o, mangled) && o.used) {
		out[o.used] = '\0';
		return o.used;
	}
	if (length > size - 1)
		length = size - 1;
	memcpy(out, mangled, length);
	out[length] = '\0';
	return length;
}
