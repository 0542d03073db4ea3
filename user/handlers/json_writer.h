/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One JSON event after the other, written into a sink piece by piece: names, values, arguments.
 *
 * As the functions for mere text do, each writes at a pointer and returns where it stopped. json_start() begins
 * an event. Between it, or json_room(), and the next json_room() there is room for two names and the
 * fixed text of an event, or for one argument, so that a piece is written without asking; json_key() and its
 * likes begin with a json_room() of their own. Once the sink has failed all goes nowhere, and
 * json_done() says it.
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

/*
 * Lines say the same things again and again: names, whose an event is. What was written once for one or two
 * numbers that stand for it is kept as it was written, and copied.
 */
enum {
	JSON_PIECE_MAX = 240,
	/* So much is copied at once, as there is room behind it: a few moves. Most are no longer. */
	JSON_NAME_STEP = 16,
	JSON_HEAD_STEP = 48,
	JSON_OWNER_STEP = 48,
	/* How many are kept, powers of two. Another one takes the place of what was there. */
	JSON_NAMES = 256,
	JSON_HEADS = 512,
	JSON_OWNERS = 64,
};

_Static_assert(JSON_PIECE_MAX % JSON_NAME_STEP == 0 && JSON_PIECE_MAX % JSON_HEAD_STEP == 0 &&
		       JSON_PIECE_MAX % JSON_OWNER_STEP == 0,
	       "no step ends behind it");

struct json_piece {
	uint64_t of; /* 0: of nothing */
	uint64_t length;
	char text[JSON_PIECE_MAX];
};

struct json_writer {
	struct sink *sink;
	uint64_t base_ns; /* times are written relative to it */
	char *start;	  /* of what the sink does not have yet */
	bool comma;	  /* the object of arguments that is open has one already */
	/* The digits that times have in common: as text, since when, for how long (0: there are none). */
	char high[16];
	uint64_t high_since_ns, high_for_ns;
	uint32_t high_length;
	struct json_piece names[JSON_NAMES];   /* of a name */
	struct json_piece heads[JSON_HEADS];   /* of a name and a category */
	struct json_piece owners[JSON_OWNERS]; /* of a thread in a process */
	char nowhere[2 * JSON_ROOM];
};

void json_init(struct json_writer *j, struct sink *sink, uint64_t base_ns); /* of a zeroed one */

static inline char *json_start(struct json_writer *j)
{
	char *at = sink_reserve(j->sink, 2 * JSON_ROOM);

	j->start = at ? at : j->nowhere;
	return j->start;
}

__attribute__((cold)) char *json_more_room(struct json_writer *j, char *at);

/* Only an event with much in it needs more than it began with. */
static inline char *json_room(struct json_writer *j, char *at)
{
	return at - j->start <= JSON_ROOM ? at : json_more_room(j, at);
}

/* Ends an event, returns the sink's error. */
static inline int json_done(struct json_writer *j, char *at)
{
	if (j->start == j->nowhere)
		return sink_error(j->sink);
	sink_commit(j->sink, (size_t)(at - j->start));
	return 0;
}

/* --- what is kept ------------------------------------------------------------------------------ */

/* What two numbers stand for. */
static inline uint64_t json_pair(uint32_t a, uint32_t b)
{
	return (uint64_t)a << 32 | b;
}

/* NULL: it is not that. */
static inline char *json_copy(char *at, const struct json_piece *piece, uint64_t of, size_t step)
{
	size_t length = piece->length, done;

	if (piece->of != of)
		return NULL;
	memcpy(at, piece->text, step);
	for (done = step; done < length; done += step)
		memcpy(at + done, piece->text + done, step);
	return at + length;
}

static inline struct json_piece *json_kept_name(struct json_writer *j, uint32_t name)
{
	return &j->names[name & (JSON_NAMES - 1)];
}

static inline struct json_piece *json_kept_head(struct json_writer *j, uint32_t name,
						uint32_t category)
{
	return &j->heads[(name ^ category * 31) & (JSON_HEADS - 1)];
}

static inline struct json_piece *json_kept_owner(struct json_writer *j, uint32_t pid, uint32_t tid)
{
	return &j->owners[(tid ^ pid * 31) & (JSON_OWNERS - 1)];
}

/* The same, written and then kept. */
__attribute__((cold)) char *json_new_name(struct json_writer *j, char *at, const struct name *name,
					  size_t max);
__attribute__((cold)) char *json_new_head(struct json_writer *j, char *at, const struct name *name,
					  const struct name *category);
__attribute__((cold)) char *json_new_owner(struct json_writer *j, char *at, uint32_t pid,
					   uint32_t tid);
__attribute__((cold)) char *json_new_time(struct json_writer *j, char *at, uint64_t ts_ns);

/* As a string, cut to `max`. */
static inline char *json_name(struct json_writer *j, char *at, const struct name *name, size_t max)
{
	char *end = json_copy(at, json_kept_name(j, name->id), name->id, JSON_NAME_STEP);

	return end ? end : json_new_name(j, at, name, max);
}

/* `,\n{"name":"a","cat":"b"`: either may be NULL */
static inline char *json_head(struct json_writer *j, char *at, const struct name *name,
			      const struct name *category)
{
	uint32_t of = name ? name->id : 0, in = category ? category->id : 0;
	char *end = json_copy(at, json_kept_head(j, of, in), json_pair(of, in), JSON_HEAD_STEP);

	return end ? end : json_new_head(j, at, name, category);
}

/* `,"pid":1,"tid":2` */
static inline char *json_owner(struct json_writer *j, char *at, uint32_t pid, uint32_t tid)
{
	char *end =
		json_copy(at, json_kept_owner(j, pid, tid), json_pair(pid, tid), JSON_OWNER_STEP);

	return end ? end : json_new_owner(j, at, pid, tid);
}

/* Microseconds since the base. */
static inline char *json_time(struct json_writer *j, char *at, uint64_t ts_ns)
{
	uint64_t low = ts_ns - j->high_since_ns;

	if (low >= j->high_for_ns)
		return json_new_time(j, at, ts_ns);
	memcpy(at, j->high, sizeof(j->high));
	return json_us_low(at + j->high_length, (uint32_t)low);
}

/* --- strings, values, arguments ---------------------------------------------------------------- */

/* The inside of a string, cut to `max`. */
char *json_text(char *at, const char *text, size_t length, size_t max);
char *json_string(char *at, const char *text, size_t length, size_t max); /* with its quotes */
char *json_uint(char *at, uint64_t value); /* a string above 2^63-1 */
char *json_value(char *at, const struct arg *arg);

/* The caller closes the object. */
static inline char *json_open_args(struct json_writer *j, char *at)
{
	j->comma = false;
	return json_literal(at, ",\"args\":{");
}

static inline char *json_open_key(struct json_writer *j, char *at)
{
	at = json_room(j, at);
	*at = ',';
	at += j->comma;
	j->comma = true;
	return at;
}

static inline char *json_key(struct json_writer *j, char *at, const struct name *name)
{
	at = json_open_key(j, at);
	at = name ? json_name(j, at, name, LIMIT_KEY) : json_literal(at, "\"value\"");
	*at++ = ':';
	return at;
}

char *json_key_text(struct json_writer *j, char *at, const char *name);
char *json_string_arg(struct json_writer *j, char *at, const char *name, const char *text);
char *json_uint_arg(struct json_writer *j, char *at, const char *name, uint64_t value);

#endif
