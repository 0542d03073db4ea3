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

static const struct name *format_probe_name(struct capture *c, const struct probe *probe,
					    const struct event *e)
{
	struct text t = { .n = 0 };
	unsigned i;

	for (i = 0; i < probe->request->n_parts; i++) {
		const struct usdt_part *part = &probe->request->parts[i];

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
			if (probe->fields[i] < e->n_args)
				append_name_arg(&t, &e->args[probe->fields[i]]);
			else
				append_name_text(&t, "(unreadable)", strlen("(unreadable)"));
			break;
		}
	}
	return names_intern(c->options.names, t.bytes, t.n, MAX_NAME);
}

bool decode_probe_event(struct capture *c, const struct record *r, const struct probe *probe,
			struct event *e)
{
	if (META_A_TYPE(r->types) == VALUE_UNREADABLE)
		return false;
	e->name = probe->marker.name;
	if (e->kind == EVENT_ASYNC_BEGIN || e->kind == EVENT_ASYNC_END)
		e->id ^= (uint64_t)probe->pair << PAIR_SHIFT;
	if (probe->has_template)
		e->name = format_probe_name(c, probe, e);
	/* The name of its BEGIN is not known here; the nesting or the id identifies it. */
	else if (e->kind == EVENT_END || (e->kind == EVENT_ASYNC_END && probe->request->n_parts))
		e->name = NULL;
	if (e->n_args > probe->n_shown)
		e->n_args = probe->n_shown;
	return true;
}
