/* SPDX-License-Identifier: BSD-2-Clause */
#include "readers/chrome_list.h"

#include <string.h>

static void put(struct chrome_list *list, const char *text, size_t length)
{
	size_t room = sizeof(list->text) - list->length;

	length = length < room ? length : room;
	memcpy(list->text + list->length, text, length);
	list->length += length;
}

static inline void put_one(struct chrome_list *list, char c)
{
	if (list->length < sizeof(list->text))
		list->text[list->length++] = c;
}

static inline void separate(struct chrome_list *list)
{
	if (list->comma)
		put_one(list, ',');
	list->comma = true;
}

static void quote(struct chrome_list *list, const char *text, size_t length)
{
	size_t i;

	put_one(list, '"');
	for (i = 0; i < length && list->length < sizeof(list->text); i++) {
		if (text[i] == '"' || text[i] == '\\')
			put_one(list, '\\');
		put_one(list, text[i]);
	}
	put_one(list, '"');
}

void list_begin(struct chrome_list *list)
{
	list->length = 0;
	list->comma = false;
}

void list_open(struct chrome_list *list, char bracket)
{
	separate(list);
	put_one(list, bracket);
	list->comma = false;
}

void list_close(struct chrome_list *list, char bracket)
{
	put_one(list, bracket);
	list->comma = true;
}

void list_key(struct chrome_list *list, const char *text, size_t length)
{
	separate(list);
	quote(list, text, length);
	put_one(list, ':');
	list->comma = false;
}

void list_string(struct chrome_list *list, const char *text, size_t length)
{
	separate(list);
	quote(list, text, length);
}

void list_word(struct chrome_list *list, const char *text, size_t length)
{
	separate(list);
	put(list, text, length);
}

void list_numbers(struct chrome_list *list, const char *text, size_t length, bool has_spaces)
{
	size_t i;

	if (!has_spaces) {
		list_word(list, text, length);
		return;
	}
	separate(list);
	for (i = 0; i < length; i++) {
		if (text[i] > ' ')
			put_one(list, text[i]);
	}
}
