/* SPDX-License-Identifier: BSD-2-Clause */
/* Builds the text of a list. Text beyond the end of the buffer is dropped; draft_string() cuts it before that anyway. */
#include "formats/chrome/read_parser.h"

#include <string.h>

static void list_put(struct chrome_list *list, const char *text, size_t length)
{
	size_t space = sizeof(list->text) - list->length;

	length = length < space ? length : space;
	memcpy(list->text + list->length, text, length);
	list->length += length;
}

static inline void list_put_char(struct chrome_list *list, char c)
{
	if (list->length < sizeof(list->text))
		list->text[list->length++] = c;
}

static inline void list_put_comma(struct chrome_list *list)
{
	if (list->comma)
		list_put_char(list, ',');
	list->comma = true;
}

static void list_put_quoted(struct chrome_list *list, const char *text, size_t length)
{
	list_put_char(list, '"');
	for (size_t i = 0; i < length && list->length < sizeof(list->text); i++) {
		if (text[i] == '"' || text[i] == '\\')
			list_put_char(list, '\\');
		list_put_char(list, text[i]);
	}
	list_put_char(list, '"');
}

void list_begin(struct chrome_list *list)
{
	list->length = 0;
	list->comma = false;
}

void list_open(struct chrome_list *list, char bracket)
{
	list_put_comma(list);
	list_put_char(list, bracket);
	list->comma = false;
}

void list_close(struct chrome_list *list, char bracket)
{
	list_put_char(list, bracket);
	list->comma = true;
}

void list_key(struct chrome_list *list, const char *text, size_t length)
{
	list_put_comma(list);
	list_put_quoted(list, text, length);
	list_put_char(list, ':');
	list->comma = false;
}

void list_string(struct chrome_list *list, const char *text, size_t length)
{
	list_put_comma(list);
	list_put_quoted(list, text, length);
}

void list_word(struct chrome_list *list, const char *text, size_t length)
{
	list_put_comma(list);
	list_put(list, text, length);
}

void list_numbers(struct chrome_list *list, const char *text, size_t length, bool has_spaces)
{
	if (!has_spaces) {
		list_word(list, text, length);
		return;
	}
	list_put_comma(list);
	for (size_t i = 0; i < length; i++) {
		if (text[i] > ' ')
			list_put_char(list, text[i]);
	}
}
