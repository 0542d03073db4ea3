/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a value of the JSON belongs: what chrome_json.c, which hears of it from yajl, and chrome_plain.c,
 * which takes plain objects apart itself, share.
 */
#ifndef PROFTRACE_READERS_CHROME_PARSER_H
#define PROFTRACE_READERS_CHROME_PARSER_H

#include <yajl/yajl_parse.h>

#include "readers/chrome_internal.h"
#include "readers/chrome_list.h"
#include "readers/json_filter.h"
#include "readers/json_object.h"
#include "readers/number.h"

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
	IN_STACK, /* a list of names that our own files have there */
	IN_ID2,
	IN_DISTRIBUTED, /* PyTorch's distributedInfo, around traceEvents */
	AT_END,		/* the array of events is closed */
};

struct parser {
	struct chrome c;
	struct reader_error *error;
	yajl_handle yajl;
	enum where where;
	unsigned depth;	     /* of everything */
	unsigned skip_depth; /* > 0: what is deeper than this is not of interest */
	unsigned args_depth; /* depth of "args" itself */
	enum chrome_field field;
	int stop; /* why a callback stopped yajl: negative errno, or what the sink said */
	const char *problem;
	size_t lengths[MAX_DEPTH + 1]; /* of the paths to the open dictionaries, by depth */
	unsigned list_depth;	       /* of the outermost list */
	struct chrome_list list;
	char path[READ_MAX_NAME];
	size_t path_length;

	struct json_filter filter;
	bool behind_comma; /* what yajl was given last is a comma, and white space */
	struct json_object object;
	struct draft draft;
};

/* chrome_json.c: what yajl tells. 0: it shall stop. */
int chrome_on_null(void *parser);
int chrome_on_boolean(void *parser, int value);
int chrome_on_number(void *parser, const char *text, size_t length);
int chrome_on_string(void *parser, const unsigned char *bytes, size_t length);
int chrome_on_key(void *parser, const unsigned char *bytes, size_t length);
int chrome_on_start_map(void *parser);
int chrome_on_end_map(void *parser);
int chrome_on_start_array(void *parser);
int chrome_on_end_array(void *parser);
/* Whether what comes is of no interest. */
bool chrome_skipping(const struct parser *p);
/* Whether the list that begins in what is so deep, of our own files, is a call stack. */
bool chrome_is_stack(const struct parser *p, unsigned depth);
/* What an argument is called whose value comes. */
const struct name *chrome_arg_key(struct parser *p);
/* Whether there is room for one more argument; where there is none, that is noted. */
bool chrome_arg_room(struct parser *p);
void chrome_add_number(struct parser *p, const struct name *key, struct number number);

/*
 * chrome_plain.c: takes objects for as long as they are plain. Each goes with the comma behind it, so
 * that yajl, which knows of neither, still waits for what comes behind a comma. Returns how many bytes
 * they are. *ret_stopped_at: the same up to the object at which it was stopped.
 */
size_t chrome_take_plain(struct parser *p, const uint8_t *bytes, size_t size, bool *ret_stopped,
			 size_t *ret_stopped_at);

#endif
