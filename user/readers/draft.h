/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A draft is an event being put together from what a file says of it: it holds the arguments and
 * their strings, keeps them within the limits of one event, and hands the event on.
 */
#ifndef PROFTRACE_READERS_DRAFT_H
#define PROFTRACE_READERS_DRAFT_H

#include <stdarg.h>

#include "readers/reader.h"

/*
 * Bytes of a name and of a string that are looked at. Not MAX_NAME and MAX_STRING of bpf/event.h: a
 * name of that length may have become up to six times as long when it was cleaned and written (an
 * escaped character), and reading it again must not change it. Of the string of an argument
 * EVENT_MAX_STRING are kept.
 */
enum {
	READ_MAX_NAME = 128 * 6,
	READ_MAX_STRING = 256 * 6,
};

struct draft {
	const struct reader_sink *sink;
	struct event event;
	unsigned n_args;
	bool excess;  /* more arguments than an event may have */
	bool foreign; /* what our own files say of how a slice ended is but an argument here */
	size_t used;  /* of text */
	struct arg args[EVENT_MAX_ARGS];
	char text[EVENT_MAX_ARGS * (READ_MAX_STRING + 1)];
};

/* Forgets the arguments; the event is for draft_event(). */
void draft_clear(struct draft *draft);

/* Where the event is cleared next, as draft_event() does. */
static inline void draft_clear_args(struct draft *draft)
{
	draft->n_args = 0;
	draft->excess = false;
	draft->used = 0;
}

/* Clears the event, not the arguments. */
static inline void draft_event(struct draft *draft, enum event_kind kind, uint64_t ts_ns,
			       uint32_t pid, uint32_t tid)
{
	draft->event = (struct event){
		.kind = kind,
		.ts_ns = ts_ns,
		.pid = pid,
		.tid = tid,
		.level = -1,
	};
}

/* Each adds an argument, or notes that there is no room. `key` NULL: see struct arg. */
static inline struct arg *draft_add(struct draft *draft, const struct name *key, enum arg_type type)
{
	struct arg *arg = &draft->args[draft->n_args];

	if (draft->n_args == EVENT_MAX_ARGS) {
		draft->excess = true;
		return NULL;
	}
	draft->n_args++;
	*arg = (struct arg){ .key = key, .type = type };
	return arg;
}

static inline void draft_int(struct draft *draft, const struct name *key, int64_t value)
{
	struct arg *arg = draft_add(draft, key, ARG_INT);

	if (arg)
		arg->i = value;
}

static inline void draft_uint(struct draft *draft, const struct name *key, uint64_t value)
{
	struct arg *arg = draft_add(draft, key, ARG_UINT);

	if (arg)
		arg->u = value;
}

static inline void draft_double(struct draft *draft, const struct name *key, double value)
{
	struct arg *arg = draft_add(draft, key, ARG_DOUBLE);

	if (arg)
		arg->d = value;
}

void draft_bool(struct draft *draft, const struct name *key, bool value);
void draft_pointer(struct draft *draft, const struct name *key, uint64_t value);
void draft_string(struct draft *draft, const struct name *key, const char *bytes, size_t length);
void draft_null(struct draft *draft, const struct name *key);
/* Takes argument `i` out. */
void draft_remove(struct draft *draft, unsigned i);

/* Of an END: its argument `ended`, if it has one, becomes its reason. `args`: its own. */
void draft_take_end_reason(struct event *event, struct arg *args);

/* Hands an event on and counts it. What the sink returns. */
static inline int reader_send(const struct reader_sink *sink, const struct event *event)
{
	/* The others are what the kernel told: no marks. */
	if (event->kind <= EVENT_INCLUDE_JSON || event->kind == EVENT_THREAD_NAME)
		sink->account->marked++;
	return sink->event(sink->context, event);
}

/* The draft's event, with the arguments or without any. */
static inline int draft_send_bare(struct draft *draft)
{
	return reader_send(draft->sink, &draft->event);
}

static inline int draft_send(struct draft *draft)
{
	struct event *event = &draft->event;

	event->args = draft->args;
	event->n_args = draft->n_args;
	if (event->n_args && (event->kind == EVENT_END || event->kind == EVENT_ASYNC_END) &&
	    !draft->foreign)
		draft_take_end_reason(event, draft->args);
	if (draft->excess)
		draft->sink->account->unreadable_args++;
	return draft_send_bare(draft);
}

/* Copies a text of the file's origin, cleaned and cut; an empty one stays as it was. */
void origin_text(char *out, size_t size, const char *text);
void origin_clock(const struct reader_sink *sink, const struct clock_reading *clock);

/* Counts an event that makes no sense, or for which there is no room. */
void reader_lost(const struct reader_sink *sink, enum lost_reason reason);

/* Fills in and returns `error`. */
int reader_fail(struct reader_error *ret_error, int error, uint64_t offset, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* The readers proper, on an input from which nothing was consumed. */
struct input;
int perfetto_read_input(struct input *input, const struct reader_sink *sink,
			struct reader_error *ret_error);
int chrome_json_read_input(struct input *input, const struct reader_sink *sink,
			   struct reader_error *ret_error);

#endif
