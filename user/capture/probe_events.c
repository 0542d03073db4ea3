/* SPDX-License-Identifier: BSD-2-Clause */
/* What a record of others' probes says: its name, where a template makes that of its arguments. */
#include "capture/probes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PAIR_SHIFT 40 /* of ids: numbers of two pairs are no two slices of one */

/* Text of a name that grows. What does not fit shows as cut. */
struct text {
	char bytes[MAX_NAME + 2];
	size_t n;
};

static void put(struct text *t, const char *bytes, size_t n)
{
	if (n > sizeof(t->bytes) - t->n)
		n = sizeof(t->bytes) - t->n;
	memcpy(t->bytes + t->n, bytes, n);
	t->n += n;
}

static void put_arg(struct text *t, const struct arg *arg)
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
		put(t, arg->s, arg->length);
		break;
	case ARG_NULL:
		n = snprintf(number, sizeof(number), "(null)");
		break;
	}
	put(t, number, (size_t)n);
}

static const struct name *make_name(struct capture *c, const struct probe *probe,
				    const struct event *e)
{
	struct text t = { .n = 0 };
	unsigned i;

	for (i = 0; i < probe->request->n_parts; i++) {
		const struct usdt_part *part = &probe->request->parts[i];

		switch (part->kind) {
		case USDT_PART_TEXT:
			put(&t, part->text, strlen(part->text));
			break;
		case USDT_PART_PROVIDER:
			put(&t, probe->provider->text, probe->provider->length);
			break;
		case USDT_PART_NAME:
			put(&t, probe->name->text, probe->name->length);
			break;
		case USDT_PART_ARG:
			if (probe->fields[i] < e->n_args)
				put_arg(&t, &e->args[probe->fields[i]]);
			else
				put(&t, "(unreadable)", strlen("(unreadable)"));
			break;
		}
	}
	return names_intern(c->options.names, t.bytes, t.n, MAX_NAME);
}

bool probe_event(struct capture *c, const struct record *r, const struct probe *probe,
		 struct event *e)
{
	if ((r->types >> 4 & 15) == VALUE_UNREADABLE)
		return false;
	e->name = probe->marker.name;
	if (e->kind == EVENT_ASYNC_BEGIN || e->kind == EVENT_ASYNC_END)
		e->id ^= (uint64_t)probe->pair << PAIR_SHIFT;
	if (probe->has_template)
		e->name = make_name(c, probe, e);
	/* Its BEGIN's name is not known here, and its id says which it is. */
	else if (e->kind == EVENT_END || (e->kind == EVENT_ASYNC_END && probe->request->n_parts))
		e->name = NULL;
	if (e->n_args > probe->n_shown)
		e->n_args = probe->n_shown;
	return true;
}
