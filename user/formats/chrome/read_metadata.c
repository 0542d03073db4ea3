/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts metadata events: names of processes and threads and, in files of our own, clocks, origin and accounting. */
#include <string.h>

#include "base/number.h"
#include "formats/chrome/reader.h"

static int chrome_send_clock(struct chrome *c)
{
	struct clock_reading clock = { 0 };

	chrome_arg_uint(chrome_find_arg(c, "monotonic"), &clock.monotonic);
	chrome_arg_uint(chrome_find_arg(c, "boottime"), &clock.boottime);
	chrome_arg_uint(chrome_find_arg(c, "realtime"), &clock.realtime);
	if (!clock.monotonic)
		return 0;
	origin_clock(c->sink, &clock);
	draft_event(c->draft, EVENT_CLOCK, clock.monotonic, 0, 0);
	c->draft->event.clock = clock;
	return draft_send_bare(c->draft);
}

static void origin_read_text(struct chrome *c, const char *key, char *out, size_t size)
{
	const struct arg *arg = chrome_find_arg(c, key);

	if (arg && arg->type == ARG_STRING)
		origin_text(out, size, arg->s);
}

/* 32 hexadecimal digits. */
static void origin_read_uuid(struct chrome *c, uint64_t out[2])
{
	const struct arg *arg = chrome_find_arg(c, "trace_uuid");

	if (!arg || arg->type != ARG_STRING || arg->length != 32)
		return;
	for (unsigned i = 0; i < 2; i++) {
		char half[19] = "0x";

		memcpy(half + 2, arg->s + 16 * i, 16);
		if (!number_id(half, 18, &out[i]))
			out[i] = 0;
	}
}

static void origin_read_args(struct chrome *c)
{
	struct trace_origin *o = c->sink->origin;

	if (!o)
		return;
	o->base_ns = c->base_ns;
	origin_read_uuid(c, o->trace_uuid);
	origin_read_text(c, "version", o->version, sizeof(o->version));
	origin_read_text(c, "sysname", o->sysname, sizeof(o->sysname));
	origin_read_text(c, "kernel", o->kernel_release, sizeof(o->kernel_release));
	origin_read_text(c, "kernel_version", o->kernel_version, sizeof(o->kernel_version));
	origin_read_text(c, "machine", o->machine, sizeof(o->machine));
	origin_read_text(c, "host", o->host, sizeof(o->host));
	origin_read_text(c, "boot_id", o->boot_id, sizeof(o->boot_id));
	origin_read_text(c, "rank", o->rank, sizeof(o->rank));
	origin_read_text(c, "clock_error_ns", o->clock_error, sizeof(o->clock_error));
	origin_read_text(c, "instructions_compared", o->instructions_compared,
			 sizeof(o->instructions_compared));
}

static void origin_read_account(struct chrome *c)
{
	struct trace_origin *o = c->sink->origin;
	uint64_t events;

	if (o)
		o->ending = ENDING_ORDERLY;
	for (unsigned i = 0; o && i < c->draft->n_args; i++) {
		const struct arg *arg = &c->draft->args[i];
		uint64_t *number =
			arg->key ? account_number_named(&o->account, arg->key->text) : NULL;

		if (arg->key && arg->type == ARG_BOOL && !arg->u &&
		    !strcmp(arg->key->text, "orderly"))
			o->ending = ENDING_BROKEN;
		if (number && chrome_arg_uint(arg, number))
			o->has_account = true;
		/* Files that were joined have several ends. */
		if (arg->key && !strcmp(arg->key->text, "events") && chrome_arg_uint(arg, &events))
			c->events_said += events;
	}
}

static int chrome_read_labels(struct chrome *c)
{
	const struct arg *labels = chrome_find_arg(c, "labels");

	if (!labels || labels->type != ARG_STRING)
		return chrome_skip(c);
	return chrome_send_name(
		c, EVENT_PROCESS_LABELS, c->fields.pid, 0,
		names_intern(c->sink->names, labels->s, labels->length, READ_MAX_NAME));
}

int chrome_read_metadata(struct chrome *c)
{
	bool process = chrome_is_named(c, "process_name");
	const struct arg *name = chrome_find_arg(c, "name");
	uint64_t base;

	if (chrome_is_named(c, "proftrace")) {
		if (chrome_arg_uint(chrome_find_arg(c, "base_ns"), &base) && base <= INT64_MAX)
			c->base_ns = base;
		c->own = true;
		c->zeros_left_out = chrome_find_arg(c, "zero_deltas") != NULL;
		origin_read_args(c);
		return chrome_send_clock(c);
	}
	if (chrome_is_named(c, "proftrace_account"))
		origin_read_account(c);
	if (chrome_is_named(c, "clock_snapshot"))
		return chrome_send_clock(c);
	if (chrome_is_named(c, "proftrace_account"))
		return 0;
	if (chrome_is_named(c, "process_labels"))
		return chrome_read_labels(c);
	if (!process && !chrome_is_named(c, "thread_name"))
		return chrome_skip(c); /* for viewers: colours, order */
	if (!name || name->type != ARG_STRING)
		return chrome_refuse(c);
	/* A task that is not recorded, or its process, which has its name. */
	if (chrome_task_name(c, names_intern(c->sink->names, name->s, name->length, READ_MAX_NAME)))
		return 0;
	/* A name applies to the whole trace, so it has no time. */
	return chrome_send_name(c, process ? EVENT_PROCESS_NAME : EVENT_THREAD_NAME, c->fields.pid,
				process		? 0
				: c->fields.tid ? c->fields.tid
						: c->fields.pid,
				names_intern(c->sink->names, name->s, name->length, READ_MAX_NAME));
}
