/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lists among the arguments of an event are kept as text: "[[1,3,224,224],[]]". An argument for each element would
 * exceed the limit of arguments, and nobody needs the elements of a shape as separate arguments.
 */
#ifndef PROFTRACE_FORMATS_CHROME_READ_LIST_H
#define PROFTRACE_FORMATS_CHROME_READ_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/draft.h"

struct chrome_list {
	size_t length;
	bool comma;
	/* A little more than is kept of a string, so that draft_string() counts it as cut. */
	char text[READ_MAX_STRING + 64];
};

void list_begin(struct chrome_list *list);
void list_open(struct chrome_list *list, char bracket);
void list_close(struct chrome_list *list, char bracket);
void list_key(struct chrome_list *list, const char *text, size_t length);
void list_string(struct chrome_list *list, const char *text, size_t length);
void list_word(struct chrome_list *list, const char *text,
	       size_t length); /* a number, true, null */
/* A whole list of numbers, as text. */
void list_numbers(struct chrome_list *list, const char *text, size_t length, bool has_spaces);

#endif
