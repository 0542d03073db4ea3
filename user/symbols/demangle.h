/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of functions as their authors wrote them: of C++ and Rust. */
#ifndef PROFTRACE_SYMBOLS_DEMANGLE_H
#define PROFTRACE_SYMBOLS_DEMANGLE_H

#include <stddef.h>

/*
 * Without parameters and return type: as people call it. What is not mangled, or makes no sense, stays as
 * it is; both are cut at `size` - 1 bytes. Returns the length. A short mangled name can stand for an
 * endless one: no more of it is made than fits.
 */
size_t symbol_demangle(const char *mangled, char *out, size_t size);

#endif
