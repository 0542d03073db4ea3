/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of the JSON parser, shared by reader.c, which gets values from the callbacks of yajl, and read_plain.c,
 * which gets them from json_object.c.
 */
#ifndef PROFTRACE_FORMATS_CHROME_READ_PARSER_H
#define PROFTRACE_FORMATS_CHROME_READ_PARSER_H

#include <stdbool.h>
#include <stddef.h>
#include <yajl/yajl_parse.h>

#include "base/number.h"
#include "formats/chrome/json_filter.h"
#include "formats/chrome/json_object.h"
#include "formats/chrome/reader.h"
#include "formats/draft.h"

/* Even if a string consists of escape sequences of six bytes, draft_string() sees that it is cut. */
_Static_assert(JSON_MAX_STRING > 6 * (READ_MAX_STRING + 4), "yajl gets more than is read");

/*
 * Lists among the arguments of an event are kept as text: "[[1,3,224,224],[]]". An argument for each element would
 * exceed the limit of arguments, and nobody needs the elements of a shape as separate arguments.
 */

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

enum {
	MAX_DEPTH = 64,
};

enum where {
	AT_START,
	IN_OBJECT, /* around traceEvents */
	IN_EVENTS,
	IN_EVENT,
	IN_ARGS,
	IN_LIST,  /* within args */
	IN_STACK, /* the call stack in args of our own files */
	IN_ID2,
	IN_DISTRIBUTED, /* PyTorch's distributedInfo, around traceEvents */
	AT_END,		/* the array of events is closed */
};

struct parser {
	struct chrome c;
	struct reader_error *error;
	yajl_handle yajl;
	enum where where;
	unsigned depth;	     /* of the current value */
	unsigned skip_depth; /* > 0: values deeper than this are skipped */
	unsigned args_depth; /* depth of "args" itself */
	enum chrome_field field;
	int stop; /* why a callback stopped yajl: negative errno, or what the sink returned */
	const char *problem;
	size_t lengths[MAX_DEPTH + 1]; /* of the paths to the open dictionaries, by depth */
	unsigned list_depth;	       /* of the outermost list */
	struct chrome_list list;
	char path[READ_MAX_NAME];
	size_t path_length;

	struct json_filter filter;
	bool after_comma; /* the last bytes passed to yajl are a comma and white space */
	size_t space;	  /* bytes of white space at the end of these */
	size_t behind;	  /* bytes read after the end of the JSON */
	uint64_t events;  /* at the last input_mark_useful() */
	struct json_object object;
	struct draft draft;
};

/* reader.c: the callbacks of yajl. Return 0 to stop it. */
int chrome_on_null(void *parser);
int chrome_on_boolean(void *parser, int value);
int chrome_on_number(void *parser, const char *text, size_t length);
int chrome_on_string(void *parser, const unsigned char *bytes, size_t length);
int chrome_on_key(void *parser, const unsigned char *bytes, size_t length);
int chrome_on_start_map(void *parser);
int chrome_on_end_map(void *parser);
int chrome_on_start_array(void *parser);
int chrome_on_end_array(void *parser);
/* Whether the current value is skipped. */
bool chrome_skipping(const struct parser *p);
/* Whether a list that begins at this depth is a call stack of our own files. */
bool chrome_is_stack(const struct parser *p, unsigned depth);
/* The key of the argument whose value follows. */
const struct name *chrome_arg_key(struct parser *p);
/* Whether the event may have one more argument; else sets `excess` of the draft. */
bool chrome_arg_fits(struct parser *p);
void chrome_add_number(struct parser *p, const struct name *key, struct number number);

/*
 * read_plain.c: reads objects as long as they have the plain form. Each is consumed with the comma behind it, so that
 * yajl, which sees neither, still expects a value after a comma. Returns the number of bytes consumed.
 * *ret_stopped_at: the offset of the object at which a callback stopped.
 */
size_t chrome_read_plain(struct parser *p, const uint8_t *bytes, size_t size, bool *ret_stopped,
			 size_t *ret_stopped_at);

#endif
