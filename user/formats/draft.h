/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A draft is an event that a trace reader builds from a file. It holds the arguments and their strings, keeps them
 * within the limits of one event, and sends the event to the reader's sink.
 */
#ifndef PROFTRACE_FORMATS_DRAFT_H
#define PROFTRACE_FORMATS_DRAFT_H

#include <stdarg.h>

#include "formats/reader.h"

/*
 * How many bytes of a name and of a string are read. These are larger than MAX_NAME and MAX_STRING of bpf/event.h:
 * cleaning and escaping may have made a name up to six times as long, and reading it again must not change it. Of
 * a string argument, EVENT_MAX_STRING bytes are kept.
 */
enum {
	READ_MAX_NAME = NAME_LONGEST_REPAIRED,
	READ_MAX_STRING = 256 * 6,
};
_Static_assert((int)READ_MAX_NAME <= (int)NAME_LONGEST, "what is read of a name is kept");
_Static_assert(READ_MAX_STRING > EVENT_MAX_STRING, "a string that is cut was read further");

struct draft {
	const struct reader_sink *sink;
	struct event event;
	unsigned n_args;
	bool excess;   /* more arguments than an event may have */
	bool foreign;  /* the file is not ours, so an argument `ended` is an argument like others */
	size_t used;   /* of text */
	uint64_t sent; /* number of events */
	struct arg args[EVENT_MAX_ARGS];
	char text[EVENT_MAX_ARGS * (READ_MAX_STRING + 1)];
};

/* Clears the event and the arguments. */
void draft_clear(struct draft *draft);

/* Clears the arguments. draft_event() clears the event. */
static inline void draft_clear_args(struct draft *draft)
{
	draft->n_args = 0;
	draft->excess = false;
	draft->used = 0;
}

/* Begins an event, and leaves the arguments as they are. */
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

/* Each adds an argument, or sets `excess` if there are too many. `key` may be NULL: see struct arg. */
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
/* Removes argument `i`. */
void draft_remove(struct draft *draft, unsigned i);

/* Turns an argument `ended` of an END, which our own files have, into its end reason. `args` are its arguments. */
void draft_read_end_reason(struct event *event, struct arg *args);

/* Sends an event and counts it. Returns what the sink returns. */
static inline int reader_send(const struct reader_sink *sink, const struct event *event)
{
	/* Events of other kinds come from the kernel and are not marks. */
	if (event->kind <= EVENT_INCLUDE_JSON || event->kind == EVENT_THREAD_NAME)
		sink->account->marked++;
	return sink->event(sink->context, event);
}

/* Sends the event without arguments. */
static inline int draft_send_bare(struct draft *draft)
{
	draft->sent++;
	return reader_send(draft->sink, &draft->event);
}

static inline int draft_send(struct draft *draft)
{
	struct event *event = &draft->event;

	event->args = draft->args;
	event->n_args = draft->n_args;
	if (event->n_args && (event->kind == EVENT_END || event->kind == EVENT_ASYNC_END) &&
	    !draft->foreign)
		draft_read_end_reason(event, draft->args);
	if (draft->excess)
		draft->sink->account->unreadable_args++;
	return draft_send_bare(draft);
}

/* Copies a text of the file's origin, cleaned and cut. An empty `text` leaves `out` unchanged. */
void origin_text(char *out, size_t size, const char *text);
/* Compares how many records the file has with what it says at its end (0: it does not). */
void origin_records(struct trace_origin *origin, const char *name, uint64_t read, uint64_t said);
void origin_clock(const struct reader_sink *sink, const struct clock_reading *clock);

/* Counts an event as lost. */
void reader_lost(const struct reader_sink *sink, enum lost_reason reason);

struct input;

/* Fills in and returns `error`. */
int reader_fail(struct reader_error *ret_error, int error, uint64_t offset, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* The same for an error of the input. */
int reader_fail_input(struct reader_error *ret_error, int error, uint64_t offset,
		      const struct input *input);

/* The readers of the two formats. Nothing has been consumed of `input`. */
int perfetto_read_input(struct input *input, const struct reader_sink *sink,
			struct reader_error *ret_error);
int chrome_json_read_input(struct input *input, const struct reader_sink *sink,
			   struct reader_error *ret_error);

#endif
