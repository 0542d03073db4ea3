/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes JSON events into a sink.
 *
 * As the functions of json_text.h, each function writes at `at` and returns the end of what it wrote. json_start()
 * begins an event. It reserves space for two names and the fixed text of an event, and json_reserve() for as much
 * again or for one argument, so that the functions in between need no check; json_key() and similar functions call
 * json_reserve() themselves. After an error of the sink the text is discarded, and json_done() returns the error.
 */
#ifndef PROFTRACE_FORMATS_CHROME_JSON_WRITER_H
#define PROFTRACE_FORMATS_CHROME_JSON_WRITER_H

#include "formats/json_text.h"
#include "formats/sink.h"
#include "timeline/event.h"
#include "timeline/fact.h"

enum {
	JSON_RESERVE = 2 * 2 * LIMIT_NAME + 1024
};

_Static_assert(JSON_RESERVE >= 2 * (LIMIT_KEY + LIMIT_STRING) + 256, "one argument fits");

/*
 * Most events repeat names, categories and thread ids. The encoded text of these is cached by the ids that it stands
 * for, and copied.
 */
enum {
	JSON_PIECE_MAX = 240,
	/* Bytes copied at once, beyond the end of a shorter text. Most texts are no longer than one step. */
	JSON_NAME_STEP = 16,
	JSON_HEAD_STEP = 48,
	JSON_OWNER_STEP = 48,
	/* Entries of the caches, powers of two. A new entry replaces the one of the same hash. */
	JSON_CACHED_NAMES = 256,
	JSON_CACHED_HEADS = 512,
	JSON_CACHED_OWNERS = 64,
};

_Static_assert(JSON_PIECE_MAX % JSON_NAME_STEP == 0 && JSON_PIECE_MAX % JSON_HEAD_STEP == 0 &&
		       JSON_PIECE_MAX % JSON_OWNER_STEP == 0,
	       "a piece is a whole number of steps");

struct json_piece {
	uint64_t key; /* the ids that it stands for; 0: empty */
	uint64_t length;
	char text[JSON_PIECE_MAX];
};

struct json_writer {
	struct sink *sink;
	uint64_t base_ns; /* times are written relative to it */
	char *start;	  /* of the text that is not committed to the sink yet */
	uint64_t events;  /* written so far */
	bool comma;	  /* the open object of arguments is not empty */
	/* The leading digits that times have in common, the first of these times, and for how long (0: unset). */
	char high[16];
	uint64_t high_since_ns, high_for_ns;
	uint32_t high_length;
	struct json_piece names[JSON_CACHED_NAMES];   /* of a name */
	struct json_piece heads[JSON_CACHED_HEADS];   /* of a name and a category */
	struct json_piece owners[JSON_CACHED_OWNERS]; /* of a thread in a process */
	char discarded[2 * JSON_RESERVE];
};

void json_init(struct json_writer *j, struct sink *sink, uint64_t base_ns); /* `j` is zeroed */

static inline char *json_start(struct json_writer *j)
{
	char *at = sink_reserve(j->sink, 2 * JSON_RESERVE);

	j->start = at ? at : j->discarded;
	return j->start;
}

__attribute__((cold)) char *json_reserve_slow(struct json_writer *j, char *at);

/* Only a long event needs more than json_start() reserved. */
static inline char *json_reserve(struct json_writer *j, char *at)
{
	return at - j->start <= JSON_RESERVE ? at : json_reserve_slow(j, at);
}

/* Ends an event, returns the sink's error. */
static inline int json_done(struct json_writer *j, char *at)
{
	if (j->start == j->discarded)
		return sink_error(j->sink);
	sink_commit(j->sink, (size_t)(at - j->start));
	j->events++;
	return 0;
}

/* --- caches ------------------------------------------------------------------------------------ */

static inline uint64_t json_pair(uint32_t a, uint32_t b)
{
	return (uint64_t)a << 32 | b;
}

/* NULL: the piece is of another key. */
static inline char *json_copy_piece(char *at, const struct json_piece *piece, uint64_t key,
				    size_t step)
{
	size_t length = piece->length, done;

	if (piece->key != key)
		return NULL;
	memcpy(at, piece->text, step);
	for (done = step; done < length; done += step)
		memcpy(at + done, piece->text + done, step);
	return at + length;
}

static inline struct json_piece *json_cached_name(struct json_writer *j, uint32_t name)
{
	return &j->names[name & (JSON_CACHED_NAMES - 1)];
}

static inline struct json_piece *json_cached_head(struct json_writer *j, uint32_t name,
						  uint32_t category)
{
	return &j->heads[(name ^ category * 31) & (JSON_CACHED_HEADS - 1)];
}

static inline struct json_piece *json_cached_owner(struct json_writer *j, uint32_t pid,
						   uint32_t tid)
{
	return &j->owners[(tid ^ pid * 31) & (JSON_CACHED_OWNERS - 1)];
}

/* Encode and cache what json_name() and the functions below did not find. */
__attribute__((cold)) char *json_encode_name(struct json_writer *j, char *at,
					     const struct name *name, size_t max);
__attribute__((cold)) char *json_encode_head(struct json_writer *j, char *at,
					     const struct name *name, const struct name *category);
__attribute__((cold)) char *json_encode_owner(struct json_writer *j, char *at, uint32_t pid,
					      uint32_t tid);
__attribute__((cold)) char *json_encode_time(struct json_writer *j, char *at, uint64_t ts_ns);

/* A string, cut to `max` bytes. */
static inline char *json_name(struct json_writer *j, char *at, const struct name *name, size_t max)
{
	char *end = json_copy_piece(at, json_cached_name(j, name->id), name->id, JSON_NAME_STEP);

	return end ? end : json_encode_name(j, at, name, max);
}

/* `,\n{"name":"a","cat":"b"`: either may be NULL */
static inline char *json_head(struct json_writer *j, char *at, const struct name *name,
			      const struct name *category)
{
	uint32_t of = name ? name->id : 0, in = category ? category->id : 0;
	char *end =
		json_copy_piece(at, json_cached_head(j, of, in), json_pair(of, in), JSON_HEAD_STEP);

	return end ? end : json_encode_head(j, at, name, category);
}

/* `,"pid":1,"tid":2` */
static inline char *json_owner(struct json_writer *j, char *at, uint32_t pid, uint32_t tid)
{
	char *end = json_copy_piece(at, json_cached_owner(j, pid, tid), json_pair(pid, tid),
				    JSON_OWNER_STEP);

	return end ? end : json_encode_owner(j, at, pid, tid);
}

/* Microseconds since the base. */
static inline char *json_time(struct json_writer *j, char *at, uint64_t ts_ns)
{
	uint64_t low = ts_ns - j->high_since_ns;

	if (low >= j->high_for_ns)
		return json_encode_time(j, at, ts_ns);
	memcpy(at, j->high, sizeof(j->high));
	return json_us_low(at + j->high_length, (uint32_t)low);
}

/* --- strings, values, arguments ---------------------------------------------------------------- */

/* The inside of a string, cut to `max` bytes. */
char *json_text(char *at, const char *text, size_t length, size_t max);
char *json_string(char *at, const char *text, size_t length, size_t max); /* with its quotes */
char *json_uint(char *at, uint64_t value); /* a string above 2^63-1 */
char *json_value(char *at, const struct arg *arg);

static inline char *json_open_args(struct json_writer *j, char *at)
{
	j->comma = false;
	return json_literal(at, ",\"args\":{");
}

/* Ends an event whose object of arguments is open. */
static inline int json_close_args(struct json_writer *j, char *at)
{
	return json_done(j, json_literal(at, "}}"));
}

static inline char *json_open_key(struct json_writer *j, char *at)
{
	at = json_reserve(j, at);
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
