/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One JSON event after the other, written into a sink piece by piece: names, values, arguments.
 *
 * Between json_room() and the next one there is room for two names and the fixed text of an event,
 * or for one argument, so that a piece is written without asking; json_key() and its likes begin
 * with a json_room() of their own. Once the sink has failed all goes nowhere, and json_done() says it.
 */
#ifndef PROFTRACE_HANDLERS_JSON_WRITER_H
#define PROFTRACE_HANDLERS_JSON_WRITER_H

#include "handlers/json_text.h"
#include "handlers/sink.h"
#include "handlers/text_limit.h"
#include "timeline/event.h"

enum {
	JSON_ROOM = 2 * 2 * LIMIT_NAME + 1024
};

_Static_assert(JSON_ROOM >= 2 * (LIMIT_KEY + LIMIT_STRING) + 256, "one argument fits");

/* Whose an event is, as text: the same threads come again and again. */
enum {
	JSON_OWNERS = 16, /* a power of two */
	JSON_OWNER_MAX = 2 * (7 + 10),
};

struct json_owner {
	uint32_t pid, tid;
	uint32_t length; /* 0: nobody's yet */
	char text[JSON_OWNER_MAX];
};

struct json_writer {
	struct sink *sink;
	uint64_t base_ns; /* times are written relative to it */
	char *start;	  /* of what was written since the last json_room() */
	char *at;
	bool comma; /* the object of arguments that is open has one already */
	/* By the id of a name: whether it can be copied as it is. Most can. */
	uint8_t *cache;
	uint32_t cache_size;
	struct json_owner owners[JSON_OWNERS];
	char nowhere[JSON_ROOM];
};

#define json_put(j, text) ((j)->at = json_literal((j)->at, text))

void json_room(struct json_writer *j);
int json_done(struct json_writer *j); /* ends an event, returns the sink's error */

/* The inside of a string, cut to `max`. */
void json_put_text(struct json_writer *j, const char *text, size_t length, size_t max);
void json_put_name(struct json_writer *j, const struct name *name, size_t max);
void json_put_owner(struct json_writer *j, uint32_t pid, uint32_t tid); /* `,"pid":1,"tid":2` */
void json_put_uint(struct json_writer *j, uint64_t value);		/* a string above 2^63-1 */
void json_put_value(struct json_writer *j, const struct arg *arg);

void json_open_args(struct json_writer *j);		       /* the caller closes the object */
void json_key(struct json_writer *j, const struct name *name); /* NULL: "value" */
void json_key_text(struct json_writer *j, const char *name);
void json_string_arg(struct json_writer *j, const char *name, const char *text);
void json_uint_arg(struct json_writer *j, const char *name, uint64_t value);

#endif
