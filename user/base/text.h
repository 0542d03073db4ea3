/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Small pieces of text that several parts of the program need in the same form: endings of file names
 * and sizes in bytes for people.
 */
#ifndef PROFTRACE_BASE_TEXT_H
#define PROFTRACE_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Whether `text` ends with `ending` and has something before it: ".json" alone is no file's name. */
bool text_ends_with(const char *text, const char *ending);

/*
 * The length of the well-formed UTF-8 character at `s`, of which `left` bytes are there; 0 if there is none. Overlong
 * forms, surrogates and code points above U+10FFFF are not well-formed.
 */
size_t utf8_decode(const unsigned char *s, size_t left, uint32_t *ret_code);

/*
 * Characters that do something to a terminal or to the text around them: the control characters C0, DEL and C1, line
 * and paragraph separators, marks that change the direction of text (U+202E hides what a name really says), and
 * the byte order mark.
 */
bool text_is_control(uint32_t code);

/*
 * Copies text for a terminal. Each control character, and each byte that is not part of a well-formed character,
 * becomes "?": on an 8-bit terminal a lone 0x9b begins a control sequence. A character that does not fit is
 * left out as a whole. All text of targets, files and peers that is not a name of timeline/names.h passes here.
 */
void text_copy_visible(char *out, size_t size, const char *text);

/* The same in place: it never gets longer. */
void text_make_visible(char *text);

/*
 * vsnprintf() of what is for a terminal: the whole result is replaced as above. Only a line feed at the end of `format`
 * stays one, so that no name begins a line that looks like ours. Returns the length of what is in `out`, which is cut
 * if it does not fit; a line has its end in any case. `size` is 2 or more.
 */
size_t format_visible(char *out, size_t size, const char *format, va_list args)
	__attribute__((format(printf, 3, 0)));

/* The same to a file. Every message is printed by this. Text beyond TEXT_PRINTED bytes is left out. */
enum {
	TEXT_PRINTED = 12288, /* a message with two paths of PATH_MAX bytes */
};
void print_visible(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "999 B", "1.2 KB", "12.5 MB", "125 MB": powers of 1000. */
void print_size(char *out, size_t size, uint64_t bytes);

#endif
