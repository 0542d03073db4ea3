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

static void separate(struct chrome_list *list)
{
	if (list->comma)
		put(list, ",", 1);
	list->comma = true;
}

static void quote(struct chrome_list *list, const char *text, size_t length)
{
	size_t i;

	put(list, "\"", 1);
	for (i = 0; i < length && list->length < sizeof(list->text); i++) {
		if (text[i] == '"' || text[i] == '\\')
			put(list, "\\", 1);
		put(list, text + i, 1);
	}
	put(list, "\"", 1);
}

void list_begin(struct chrome_list *list)
{
	list->length = 0;
	list->comma = false;
}

void list_open(struct chrome_list *list, char bracket)
{
	separate(list);
	put(list, &bracket, 1);
	list->comma = false;
}

void list_close(struct chrome_list *list, char bracket)
{
	put(list, &bracket, 1);
	list->comma = true;
}

void list_key(struct chrome_list *list, const char *text, size_t length)
{
	separate(list);
	quote(list, text, length);
	put(list, ":", 1);
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
