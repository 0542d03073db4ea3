/* SPDX-License-Identifier: BSD-2-Clause */
#include "readers/draft.h"

#include <string.h>

void draft_clear_args(struct draft *draft)
{
	draft->n_args = 0;
	draft->excess = false;
	draft->used = 0;
}

void draft_clear(struct draft *draft)
{
	memset(&draft->event, 0, sizeof(draft->event));
	draft_clear_args(draft);
}

void draft_event(struct draft *draft, enum event_kind kind, uint64_t ts_ns, uint32_t pid,
		 uint32_t tid)
{
	draft->event = (struct event){
		.kind = kind,
		.ts_ns = ts_ns,
		.pid = pid,
		.tid = tid,
		.level = -1,
	};
}

static struct arg *add(struct draft *draft, const struct name *key, enum arg_type type)
{
	struct arg *arg;

	if (draft->n_args == EVENT_MAX_ARGS) {
		draft->excess = true;
		return NULL;
	}
	arg = &draft->args[draft->n_args++];
	*arg = (struct arg){ .key = key, .type = type };
	return arg;
}

void draft_int(struct draft *draft, const struct name *key, int64_t value)
{
	struct arg *arg = add(draft, key, ARG_INT);

	if (arg)
		arg->i = value;
}

void draft_uint(struct draft *draft, const struct name *key, uint64_t value)
{
	struct arg *arg = add(draft, key, ARG_UINT);

	if (arg)
		arg->u = value;
}

void draft_double(struct draft *draft, const struct name *key, double value)
{
	struct arg *arg = add(draft, key, ARG_DOUBLE);

	if (arg)
		arg->d = value;
}

void draft_bool(struct draft *draft, const struct name *key, bool value)
{
	struct arg *arg = add(draft, key, ARG_BOOL);

	if (arg)
		arg->u = value;
}

void draft_pointer(struct draft *draft, const struct name *key, uint64_t value)
{
	struct arg *arg = add(draft, key, ARG_POINTER);

	if (arg)
		arg->u = value;
}

void draft_null(struct draft *draft, const struct name *key)
{
	add(draft, key, ARG_NULL);
}

void draft_string(struct draft *draft, const struct name *key, const char *bytes, size_t length)
{
	struct arg *arg = add(draft, key, ARG_STRING);
	char *text = draft->text + draft->used;
	bool repaired = false;

	if (!arg)
		return;
	/* An argument that was removed leaves its text behind: there may be less room than arguments. */
	if (sizeof(draft->text) - draft->used < READ_MAX_STRING + 1) {
		draft->n_args--;
		draft->excess = true;
		return;
	}
	/*
	 * Cut by text_clean(), which splits no character; four bytes of UTF-8 beyond the limit let
	 * it see whether the last character is whole.
	 */
	arg->cut = length > READ_MAX_STRING;
	if (length > READ_MAX_STRING + 4)
		length = READ_MAX_STRING + 4;
	arg->length = (uint32_t)text_clean(text, READ_MAX_STRING + 1, bytes, length, &repaired);
	arg->s = text;
	draft->used += arg->length + 1;
	if (arg->cut)
		draft->sink->account->cut_strings++;
	if (repaired)
		draft->sink->account->repaired_strings++;
}

void draft_remove(struct draft *draft, unsigned i)
{
	draft->n_args--;
	memmove(&draft->args[i], &draft->args[i + 1], (draft->n_args - i) * sizeof(draft->args[0]));
}

int draft_send_bare(struct draft *draft)
{
	struct event *event = &draft->event;

	/* The others are what the kernel told: no marks. */
	if (event->kind <= EVENT_INCLUDE_JSON || event->kind == EVENT_THREAD_NAME)
		draft->sink->account->marked++;
	return draft->sink->event(draft->sink->context, event);
}

/* Our own files say so of a slice that did not end by its own END. */
static void take_end_reason(struct draft *draft)
{
	unsigned i;

	for (i = 0; i < draft->n_args; i++) {
		const struct arg *arg = &draft->args[i];

		if (!arg->key || arg->type != ARG_STRING || strcmp(arg->key->text, "ended"))
			continue;
		if (!strcmp(arg->s, "lost"))
			draft->event.end_reason = END_LOST;
		else if (!strcmp(arg->s, "unfinished"))
			draft->event.end_reason = END_UNFINISHED;
		else
			continue;
		draft_remove(draft, i);
		return;
	}
}

int draft_send(struct draft *draft)
{
	if (draft->event.kind == EVENT_END || draft->event.kind == EVENT_ASYNC_END)
		take_end_reason(draft);
	draft->event.args = draft->args;
	draft->event.n_args = draft->n_args;
	if (draft->excess)
		draft->sink->account->unreadable_args++;
	return draft_send_bare(draft);
}

void reader_lost(const struct reader_sink *sink, enum lost_reason reason)
{
	sink->account->marked++;
	sink->account->lost[reason]++;
}

void origin_text(char *out, size_t size, const char *text)
{
	bool repaired = false;

	if (text && *text)
		text_clean(out, size, text, strlen(text), &repaired);
}

void origin_clock(const struct reader_sink *sink, const struct clock_reading *clock)
{
	if (sink->origin && !sink->origin->clock.monotonic)
		sink->origin->clock = *clock;
}
