/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads Chrome's trace event format: an array of events, or an object with such an array, traceEvents. yajl parses the
 * JSON as a stream; the fields of an object are collected, and the event is handled at its closing brace.
 *
 * A file that ends in the middle was cut off; its complete events have been read. A file that continues with malformed
 * JSON is an error.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/library/library.h"
#include "formats/chrome/read_parser.h"
#include "formats/input.h"

enum {
	MAX_BYTES_BEHIND = 1 << 20, /* bytes after the JSON that are read */
};

static int parser_stop(struct parser *p, int error, const char *problem)
{
	p->stop = error;
	p->problem = problem;
	return 0;
}

/* --- paths of values --------------------------------------------------------------------------- */

static void parser_add_to_path(struct parser *p, const char *separator, const char *bytes,
			       size_t length)
{
	size_t n = strlen(separator);

	if (p->path_length + n + length > sizeof(p->path)) {
		size_t space = sizeof(p->path) - p->path_length;

		n = n < space ? n : space;
		length = length < space - n ? length : space - n;
	}
	memcpy(p->path + p->path_length, separator, n);
	memcpy(p->path + p->path_length + n, bytes, length);
	p->path_length += n + length;
}

const struct name *chrome_arg_key(struct parser *p)
{
	return names_intern(p->c.sink->names, p->path, p->path_length, READ_MAX_NAME);
}

bool chrome_arg_fits(struct parser *p)
{
	if (p->c.draft->n_args < EVENT_MAX_ARGS)
		return true;
	p->c.draft->excess = true;
	return false;
}

bool chrome_skipping(const struct parser *p)
{
	return p->skip_depth && p->depth > p->skip_depth;
}

/* Counts a value in the array of events that is not an object, such as null, a number or a list. */
static int parser_misplaced(struct parser *p)
{
	if (p->where == IN_EVENTS) {
		p->c.n_objects++;
		p->c.n_refused++;
		reader_lost(p->c.sink, LOST_MALFORMED);
	}
	return 1;
}

/* --- scalars ----------------------------------------------------------------------------------- */

int chrome_on_null(void *context)
{
	struct parser *p = context;

	if (chrome_skipping(p))
		return 1;
	if (p->where == IN_LIST)
		list_word(&p->list, "null", 4);
	else if (p->where == IN_ARGS && chrome_arg_fits(p))
		draft_null(p->c.draft, chrome_arg_key(p));
	return parser_misplaced(p);
}

int chrome_on_boolean(void *context, int value)
{
	struct parser *p = context;

	if (chrome_skipping(p))
		return 1;
	if (p->where == IN_LIST)
		list_word(&p->list, value ? "true" : "false", value ? 4 : 5);
	else if (p->where == IN_ARGS && chrome_arg_fits(p))
		draft_bool(p->c.draft, chrome_arg_key(p), value);
	else if (p->where == IN_EVENT && p->field == FIELD_FLOW_IN)
		p->c.fields.flow_in = value;
	else if (p->where == IN_EVENT && p->field == FIELD_FLOW_OUT)
		p->c.fields.flow_out = value;
	else if (p->where == IN_EVENT && p->field == FIELD_CONTINUED)
		p->c.fields.continued = value;
	else if (p->where == IN_EVENT && p->field == FIELD_RECORDER)
		p->c.fields.recorder = p->c.own && value;
	return parser_misplaced(p);
}

void chrome_add_number(struct parser *p, const struct name *key, struct number number)
{
	switch (number.type) {
	case NUMBER_INT:
		draft_int(p->c.draft, key, number.i);
		break;
	case NUMBER_UINT:
		draft_uint(p->c.draft, key, number.u);
		break;
	case NUMBER_DOUBLE:
		draft_double(p->c.draft, key, number.d);
		break;
	case NUMBER_NONE:
		break;
	}
}

int chrome_on_number(void *context, const char *text, size_t length)
{
	struct parser *p = context;

	if (chrome_skipping(p))
		return 1;
	if (p->where == IN_LIST)
		list_word(&p->list, text, length);
	else if (p->where == IN_ARGS && chrome_arg_fits(p))
		chrome_add_number(p, chrome_arg_key(p), number_read(text, length, false));
	else if (p->where == IN_EVENT || p->where == IN_ID2)
		chrome_field(&p->c, p->field, text, length);
	else if (p->where == IN_OBJECT || p->where == IN_DISTRIBUTED)
		chrome_around(&p->c, p->field, text, length);
	return parser_misplaced(p);
}

int chrome_on_string(void *context, const unsigned char *bytes, size_t length)
{
	const char *text = (const char *)bytes;
	struct parser *p = context;

	if (chrome_skipping(p))
		return 1;
	if (p->where == IN_LIST)
		list_string(&p->list, text, length);
	else if (p->where == IN_ARGS && chrome_arg_fits(p))
		draft_string(p->c.draft, chrome_arg_key(p), text, length);
	else if (p->where == IN_STACK && p->c.sink->callstacks)
		chrome_stack_frame(&p->c, text, length);
	else if (p->where == IN_EVENT || p->where == IN_ID2)
		chrome_field(&p->c, p->field, text, length);
	return parser_misplaced(p);
}

/* --- objects and arrays ------------------------------------------------------------------------ */

int chrome_on_key(void *context, const unsigned char *bytes, size_t length)
{
	const char *text = (const char *)bytes;
	struct parser *p = context;

	if (chrome_skipping(p))
		return 1;
	p->field = FIELD_OTHER;
	if (p->where == IN_LIST) {
		list_key(&p->list, text, length);
	} else if (p->where == IN_ARGS) {
		p->path_length = p->lengths[p->depth];
		parser_add_to_path(p, p->depth > p->args_depth ? "." : "", text, length);
	} else if (p->where == IN_OBJECT) {
		p->field = chrome_find_around(text, length);
	} else if (p->where == IN_DISTRIBUTED) {
		p->field = length == 4 && !memcmp(text, "rank", 4) ? FIELD_RANK : FIELD_OTHER;
	} else if (p->where == IN_ID2) {
		p->field = FIELD_ID; /* local or global */
	} else if (p->where == IN_EVENT) {
		p->c.fields.any = true;
		p->field = chrome_find_field(json_word(text, length), text, length);
	}
	return 1;
}

bool chrome_is_stack(const struct parser *p, unsigned depth)
{
	return p->c.own && depth == p->args_depth && p->path_length == 5 &&
	       !memcmp(p->path, "stack", 5);
}

/* A list among the arguments becomes text, and a dictionary becomes arguments "key.sub". */
static int parser_open_value(struct parser *p, bool is_list)
{
	if (p->where != IN_LIST && is_list && chrome_is_stack(p, p->depth - 1)) {
		p->where = IN_STACK;
	} else if (p->where == IN_LIST) {
		list_open(&p->list, is_list ? '[' : '{');
	} else if (is_list) {
		p->where = IN_LIST;
		p->list_depth = p->depth;
		list_begin(&p->list);
		list_open(&p->list, '[');
	} else {
		p->lengths[p->depth] = p->path_length;
	}
	return 1;
}

static int parser_close_value(struct parser *p, bool is_list)
{
	list_close(&p->list, is_list ? ']' : '}');
	if (p->depth >= p->list_depth)
		return 1;
	p->where = IN_ARGS;
	if (chrome_arg_fits(p))
		draft_string(p->c.draft, chrome_arg_key(p), p->list.text, p->list.length);
	return 1;
}

static int parser_open(struct parser *p, bool is_list)
{
	if (p->depth == MAX_DEPTH)
		return parser_stop(p, -EBADMSG, "nested too deeply");
	if (chrome_skipping(p)) {
		p->depth++;
		return 1;
	}
	p->depth++;
	switch (p->where) {
	case AT_START:
		p->where = is_list ? IN_EVENTS : IN_OBJECT;
		return 1;
	case IN_EVENTS:
		if (is_list) {
			p->skip_depth = p->depth - 1;
			return parser_misplaced(p);
		}
		p->where = IN_EVENT;
		p->c.fields = (struct chrome_fields){ 0 };
		draft_clear_args(p->c.draft);
		return 1;
	case IN_ARGS:
	case IN_LIST:
		return parser_open_value(p, is_list);
	default:
		break;
	}
	if (p->where == IN_OBJECT && p->field == FIELD_DISTRIBUTED && !is_list) {
		p->where = IN_DISTRIBUTED;
	} else if (p->where == IN_OBJECT && p->field == FIELD_EVENTS && is_list) {
		p->where = IN_EVENTS;
	} else if (p->where == IN_EVENT && p->field == FIELD_ARGS && !is_list) {
		p->where = IN_ARGS;
		p->args_depth = p->depth;
		p->path_length = 0;
		p->lengths[p->depth] = 0;
	} else if (p->where == IN_EVENT && p->field == FIELD_ID2 && !is_list) {
		p->where = IN_ID2;
	} else {
		p->skip_depth = p->depth - 1;
	}
	return 1;
}

static int parser_close_event(struct parser *p)
{
	int error;

	p->where = IN_EVENTS;
	error = chrome_event(&p->c);
	return error ? parser_stop(p, error, NULL) : 1;
}

static int parser_close_any(struct parser *p, bool is_list)
{
	bool was_skipping = chrome_skipping(p);

	p->depth--;
	if (was_skipping) {
		if (p->depth == p->skip_depth)
			p->skip_depth = 0;
		return 1;
	}
	switch (p->where) {
	case IN_ARGS:
		if (p->depth < p->args_depth)
			p->where = IN_EVENT;
		return 1;
	case IN_LIST:
		return parser_close_value(p, is_list);
	case IN_STACK:
		p->where = IN_ARGS;
		return 1;
	case IN_ID2:
		p->where = IN_EVENT;
		return 1;
	case IN_DISTRIBUTED:
		p->where = IN_OBJECT;
		return 1;
	case IN_EVENT:
		return parser_close_event(p);
	case IN_EVENTS:
		p->where = AT_END;
		return 1;
	default:
		return 1;
	}
}

int chrome_on_start_map(void *context)
{
	return parser_open(context, false);
}

int chrome_on_start_array(void *context)
{
	return parser_open(context, true);
}

int chrome_on_end_map(void *context)
{
	return parser_close_any(context, false);
}

int chrome_on_end_array(void *context)
{
	return parser_close_any(context, true);
}

static const yajl_callbacks callbacks = {
	.yajl_null = chrome_on_null,
	.yajl_boolean = chrome_on_boolean,
	.yajl_number = chrome_on_number,
	.yajl_string = chrome_on_string,
	.yajl_start_map = chrome_on_start_map,
	.yajl_map_key = chrome_on_key,
	.yajl_end_map = chrome_on_end_map,
	.yajl_start_array = chrome_on_start_array,
	.yajl_end_array = chrome_on_end_array,
};

/* --- bytes ------------------------------------------------------------------------------------- */

/* The message of yajl in one line: "lexical error: invalid char in json text." */
static int parser_yajl_problem(struct parser *p, uint64_t offset)
{
	unsigned char *text = yajl_get_error(p->yajl, 0, NULL, 0);
	size_t length = text ? strcspn((char *)text, ".\n") : 0;

	reader_fail(p->error, -EBADMSG, offset, "%.*s", (int)length, text ? (char *)text : "");
	if (text)
		yajl_free_error(p->yajl, text);
	return -EBADMSG;
}

/* Whether yajl failed at a bracket because of a comma after the last event. */
static bool parser_is_last_comma(const struct parser *p, const uint8_t *bytes, size_t used)
{
	return p->where == IN_EVENTS && used && bytes[used - 1] == ']';
}

static int parser_canceled(struct parser *p, uint64_t offset)
{
	if (p->problem)
		reader_fail(p->error, p->stop, offset, "%s", p->problem);
	return p->stop;
}

/* Passes bytes at `offset` of the file to yajl. Returns 1 at the end of the trace. */
static int parser_feed(struct parser *p, const uint8_t *bytes, size_t size, uint64_t offset)
{
	yajl_status status;
	size_t used;

	if (!size)
		return 0;
	status = yajl_parse(p->yajl, bytes, size);
	if (status == yajl_status_ok)
		return 0;
	used = yajl_get_bytes_consumed(p->yajl);
	if (status == yajl_status_client_canceled)
		return parser_canceled(p, offset + used - (used > 0));
	if (parser_is_last_comma(p, bytes, used))
		return 1;
	/* yajl counts the byte that it rejected. */
	return parser_yajl_problem(p, offset + used - (used > 0));
}

/* --- all bytes ---------------------------------------------------------------------------------- */

/* yajl only gets bytes up to the possible end of an object, since the next one may be plain. */
static size_t parser_piece_size(const uint8_t *bytes, size_t size)
{
	/* A minimum, since yajl scans a string again with each piece of it. */
	const size_t least = 1024;
	const uint8_t *end;

	if (size <= least)
		return size;
	end = memmem(bytes + least, size - least, "},", 2);
	return end ? (size_t)(end - bytes) + 2 : size;
}

static bool chrome_is_blank(uint8_t byte)
{
	return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

static void parser_remember_end(struct parser *p, const uint8_t *bytes, size_t size)
{
	size_t end = size;

	while (end && chrome_is_blank(bytes[end - 1]))
		end--;
	if (end) {
		p->after_comma = bytes[end - 1] == ',';
		p->space = 0;
	}
	p->space = p->filter.in_string ? 0 : p->space + size - end;
}

static int parser_feed_all(struct parser *p, const uint8_t *bytes, size_t size, uint64_t offset)
{
	enum json_fate fate;
	size_t n, stopped_at;
	bool stopped;
	int error = 0;

	for (size_t at = 0; at < size && !error; at += n) {
		n = chrome_read_plain(p, bytes + at, size - at, &stopped, &stopped_at);
		if (stopped)
			error = parser_canceled(p, offset + at + stopped_at);
		if (n) {
			p->space = 0;
			continue;
		}
		n = json_filter(&p->filter, bytes + at, parser_piece_size(bytes + at, size - at),
				&fate);
		if (fate == JSON_PASS)
			error = parser_feed(p, bytes + at, n, offset + at);
		else if (fate == JSON_TOO_LONG)
			error = reader_fail(p->error, -EBADMSG, offset + at,
					    p->filter.in_string
						    ? "a string of more than 256 MiB"
						    : "a number of more than 1024 digits");
		parser_remember_end(p, bytes + at, n);
		if (!error && p->space > JSON_LONGEST_SPACE)
			error = reader_fail(p->error, -EBADMSG, offset + at,
					    "white space of more than 8 MiB");
	}
	return error;
}

static int parser_cut(struct parser *p, uint64_t offset)
{
	p->error->truncated = true;
	p->error->offset = offset;
	return 0;
}

static void chrome_mark_useful(struct parser *p, struct input *in)
{
	uint64_t events = p->draft.sent + p->c.n_pushed;

	input_mark_useful(in, events - p->events);
	p->events = events;
}

/*
 * Whether the JSON is complete. Bytes after it are ignored; some of them are read, so that a damaged end of a gzip
 * member is detected.
 */
static bool chrome_has_ended(struct parser *p, struct input *in)
{
	if (p->where == AT_START || p->depth)
		return false;
	p->behind += input_available(in);
	return true;
}

static int parser_read_input(struct parser *p, struct input *in)
{
	uint64_t offset;
	int error = 0;

	/* An error is returned again below. */
	if (!input_want(in, 3) && input_available(in) >= 3 &&
	    !memcmp(input_bytes(in), "\xef\xbb\xbf", 3))
		input_consume(in, 3); /* a byte order mark */
	while (!error && p->behind < MAX_BYTES_BEHIND) {
		error = input_want(in, 1);
		if (error)
			return reader_fail_input(p->error, error, input_offset(in), in);
		if (!input_available(in))
			break;
		offset = input_offset(in);
		if (!chrome_has_ended(p, in))
			error = parser_feed_all(p, input_bytes(in), input_available(in), offset);
		chrome_mark_useful(p, in);
		/* After a crash of the machine, a file may end in zeros. */
		if (error == -EBADMSG && !p->problem && p->error->offset >= offset &&
		    p->error->offset - offset < input_available(in)) {
			input_consume(in, p->error->offset - offset);
			offset = input_offset(in);
			if (input_rest_is_zero(in)) {
				p->error->message[0] = '\0';
				return parser_cut(p, offset);
			}
		}
		if (!error)
			input_consume(in, input_available(in));
	}
	if (error)
		return error > 0 && !p->stop ? 0 : error;
	if (p->where == AT_START)
		return reader_fail(p->error, -EBADMSG, input_offset(in), "it contains no JSON");
	if (input_is_cut(in) || yajl_complete_parse(p->yajl) != yajl_status_ok)
		return parser_cut(p, input_offset(in));
	if (p->where != AT_END)
		return reader_fail(p->error, -EBADMSG, input_offset(in),
				   "JSON without an array traceEvents");
	return 0;
}

/* "P 12, v 3" */
static void chrome_report_skipped(const struct chrome *c, struct reader_error *error)
{
	size_t length = 0;

	for (unsigned i = 0; i < 128; i++) {
		if (!c->skipped[i])
			continue;
		error->skipped += c->skipped[i];
		if (length < sizeof(error->skipped_kinds))
			length += (size_t)snprintf(error->skipped_kinds + length,
						   sizeof(error->skipped_kinds) - length,
						   "%s%c %" PRIu64, length ? ", " : "", i,
						   c->skipped[i]);
	}
}

int chrome_json_read_input(struct input *in, const struct reader_sink *sink,
			   struct reader_error *ret_error)
{
	struct parser *p = calloc(1, sizeof(*p));
	int error, finish_error;
	struct failure f = { 0 };

	if (!p)
		return -ENOMEM;
	error = library_load(&library_yajl, &f);
	if (error) {
		free(p);
		/* Without a message, it is the error of the system. */
		return error != -ELIBACC ? error
					 : reader_fail(ret_error, error, 0, "%s '%s': %s", f.what,
						       f.object, f.reason);
	}
	error = -ENOMEM;
	p->error = ret_error;
	p->c.sink = p->draft.sink = sink;
	p->c.draft = &p->draft;
	p->yajl = yajl_alloc(&callbacks, NULL, p);
	if (p->yajl) {
		yajl_config(p->yajl, yajl_dont_validate_strings, 1); /* they will be repaired */
		yajl_config(p->yajl, yajl_allow_trailing_garbage, 1);
		error = parser_read_input(p, in);
		/* Also after an error: what was read of the file so far is whole. */
		finish_error = p->stop && !p->problem ? 0 : chrome_finish(&p->c);
		error = error ?: finish_error;
		yajl_free(p->yajl);
	}
	chrome_report_skipped(&p->c, ret_error);
	if (sink->origin)
		origin_records(sink->origin, "events", p->c.n_objects, p->c.events_said);
	if (!error && p->c.n_objects && p->c.n_objects == p->c.n_refused) {
		ret_error->truncated = false;
		error = reader_fail(ret_error, -EBADMSG, 0,
				    "no item of its array is a trace event");
	}
	chrome_slices_free(&p->c);
	chrome_events_free(&p->c);
	chrome_states_free(&p->c);
	free(p);
	return error;
}
