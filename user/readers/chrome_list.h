/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A list among an event's arguments, as text: "[[1,3,224,224],[]]". An argument for each element would
 * use up what an event may have of them, and nobody asks for the elements of a shape one by one.
 */
#ifndef PROFTRACE_READERS_CHROME_LIST_H
#define PROFTRACE_READERS_CHROME_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "readers/draft.h"

struct chrome_list {
	size_t length;
	bool comma;
	/* A little more than is kept of a string, so that it is seen to be cut. */
	char text[READ_MAX_STRING + 64];
};

void list_begin(struct chrome_list *list);
void list_open(struct chrome_list *list, char bracket);
void list_close(struct chrome_list *list, char bracket);
void list_key(struct chrome_list *list, const char *text, size_t length);
void list_string(struct chrome_list *list, const char *text, size_t length);
void list_word(struct chrome_list *list, const char *text,
	       size_t length); /* a number, true, null */
/* A whole list of numbers, as it is written. */
void list_numbers(struct chrome_list *list, const char *text, size_t length, bool has_spaces);

#endif
