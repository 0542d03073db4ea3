/* SPDX-License-Identifier: BSD-2-Clause */
/* Events of existing USDT probes, and their names if these are made of arguments by a template. */
#include "capture/probes/probes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PAIR_SHIFT 40 /* keeps ids of different pairs apart */

/*
 * The text of a name. Text that does not fit makes the name longer than allowed, so that it is cut
 * visibly.
 */
struct text {
	char bytes[MAX_NAME + 2];
	size_t n;
};

static void append_name_text(struct text *t, const char *bytes, size_t n)
{
	if (n > sizeof(t->bytes) - t->n)
		n = sizeof(t->bytes) - t->n;
	memcpy(t->bytes + t->n, bytes, n);
	t->n += n;
}

static void append_name_arg(struct text *t, const struct arg *arg)
{
	char number[32];
	int n = 0;

	switch (arg->type) {
	case ARG_INT:
		n = snprintf(number, sizeof(number), "%" PRId64, arg->i);
		break;
	case ARG_UINT:
		n = snprintf(number, sizeof(number), "%" PRIu64, arg->u);
		break;
	case ARG_DOUBLE:
		n = snprintf(number, sizeof(number), "%g", arg->d);
		break;
	case ARG_POINTER:
		n = snprintf(number, sizeof(number), "0x%" PRIx64, arg->u);
		break;
	case ARG_BOOL:
		n = snprintf(number, sizeof(number), "%s", arg->u ? "true" : "false");
		break;
	case ARG_STRING:
		append_name_text(t, arg->s, arg->length);
		break;
	case ARG_NULL:
		n = snprintf(number, sizeof(number), "(null)");
		break;
	}
	append_name_text(t, number, (size_t)n);
}

/* `first`: the field of the first part. */
static const struct name *format_probe_name(struct capture *c, const struct probe *probe,
					    const struct event *e, const struct usdt_part *parts,
					    unsigned n_parts, unsigned first)
{
	struct text t = { .n = 0 };

	for (unsigned i = 0; i < n_parts; i++) {
		const struct usdt_part *part = &parts[i];

		switch (part->kind) {
		case USDT_PART_TEXT:
			append_name_text(&t, part->text, strlen(part->text));
			break;
		case USDT_PART_PROVIDER:
			append_name_text(&t, probe->provider->text, probe->provider->length);
			break;
		case USDT_PART_NAME:
			append_name_text(&t, probe->name->text, probe->name->length);
			break;
		case USDT_PART_ARG:
			if (probe->fields[first + i] < e->n_args)
				append_name_arg(&t, &e->args[probe->fields[first + i]]);
			else
				append_name_text(&t, "(unreadable)", strlen("(unreadable)"));
			break;
		}
	}
	return names_intern(c->options.names, t.bytes, t.n, MAX_NAME);
}

/* The number in a field of the times; false: it is not an integer, or was not read. */
static bool probe_time(const struct probe *probe, const struct event *e, enum usdt_time time,
		       uint64_t *ret)
{
	unsigned i = probe->fields[USDT_MAX_PARTS + time];
	const struct arg *arg = &e->args[i];

	if (i >= e->n_args ||
	    (arg->type != ARG_INT && arg->type != ARG_UINT && arg->type != ARG_POINTER))
		return false;
	*ret = arg->u;
	return true;
}

/*
 * Makes it an event with times of its own, of which the record has the time of the hit. False: they cannot be read.
 * `ret_flow`: the id of the arrow, 0: none.
 */
static bool decode_probe_times(struct capture *c, const struct probe *probe, struct event *e,
			       uint64_t *ret_flow)
{
	const struct usdt_request *r = probe->request;
	uint64_t start = e->ts_ns, end = e->ts_ns, dur = 0;

	*ret_flow = 0;
	if ((usdt_request_has(r, USDT_TIME_START) &&
	     !probe_time(probe, e, USDT_TIME_START, &start)) ||
	    (usdt_request_has(r, USDT_TIME_END) && !probe_time(probe, e, USDT_TIME_END, &end)) ||
	    (usdt_request_has(r, USDT_TIME_DUR) && !probe_time(probe, e, USDT_TIME_DUR, &dur)) ||
	    (usdt_request_has(r, USDT_TIME_FLOW) &&
	     !probe_time(probe, e, USDT_TIME_FLOW, ret_flow)))
		return false;
	if (usdt_request_has(r, USDT_TIME_DUR) && !usdt_request_has(r, USDT_TIME_START))
		start = dur < end ? end - dur : 0;
	else if (usdt_request_has(r, USDT_TIME_DUR) && __builtin_add_overflow(start, dur, &end))
		end = UINT64_MAX;
	e->kind = r->given == USDT_GIVEN_SLICE	   ? EVENT_SLICE_AT
		  : r->given == USDT_GIVEN_READING ? EVENT_CLOCK_READING
						   : EVENT_INSTANT_AT;
	e->size = r->of_clock ? GIVEN_TICKS : 0;
	e->given.begin = start;
	e->given.end = end;
	if (r->n_track_parts)
		e->given.track = format_probe_name(c, probe, e, r->track_parts, r->n_track_parts,
						   USDT_MAX_PARTS + USDT_TIMES);
	return true;
}

bool decode_probe_event(struct capture *c, const struct record *r, const struct probe *probe,
			struct event *e)
{
	const struct usdt_request *request = probe->request;
	uint64_t flow = 0;

	if (META_A_TYPE(r->types) == VALUE_UNREADABLE)
		return false;
	e->name = probe->marker.name;
	if (e->kind == EVENT_ASYNC_BEGIN || e->kind == EVENT_ASYNC_END)
		e->id ^= (uint64_t)probe->pair << PAIR_SHIFT;
	if (probe->has_template)
		e->name = format_probe_name(c, probe, e, request->parts, request->n_parts, 0);
	/* The name of its BEGIN is not known here; the nesting or the id identifies it. */
	else if (e->kind == EVENT_END || (e->kind == EVENT_ASYNC_END && probe->request->n_parts))
		e->name = NULL;
	if (request && request->given && !decode_probe_times(c, probe, e, &flow))
		return false;
	if (e->n_args > probe->n_shown)
		e->n_args = probe->n_shown;
	if (flow) {
		c->args[e->n_args++] = (struct arg){
			.key = names_intern_string(c->options.names, "flow"),
			.type = ARG_UINT,
			.u = flow,
		};
		e->args = c->args;
	}
	return true;
}
