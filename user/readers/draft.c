/* SPDX-License-Identifier: BSD-2-Clause */
#include "readers/draft.h"

#include <string.h>

void draft_clear(struct draft *draft)
{
	memset(&draft->event, 0, sizeof(draft->event));
	draft_clear_args(draft);
}

void draft_bool(struct draft *draft, const struct name *key, bool value)
{
	struct arg *arg = draft_add(draft, key, ARG_BOOL);

	if (arg)
		arg->u = value;
}

void draft_pointer(struct draft *draft, const struct name *key, uint64_t value)
{
	struct arg *arg = draft_add(draft, key, ARG_POINTER);

	if (arg)
		arg->u = value;
}

void draft_null(struct draft *draft, const struct name *key)
{
	draft_add(draft, key, ARG_NULL);
}

/* By whoever wrote it, to the same limit. */
static bool was_cut(const char *text, size_t length)
{
	const size_t mark = sizeof(TEXT_CUT_MARK) - 1;

	return length <= EVENT_MAX_STRING + mark &&
	       !memcmp(text + length - mark, TEXT_CUT_MARK, mark);
}

/* Here and not by those who write it, so that it is counted, once. Splits no character. */
static uint32_t cut(char *text)
{
	uint32_t length = EVENT_MAX_STRING;

	while (length && ((unsigned char)text[length] & 0xc0) == 0x80)
		length--;
	text[length] = '\0';
	return length;
}

void draft_string(struct draft *draft, const struct name *key, const char *bytes, size_t length)
{
	struct arg *arg = draft_add(draft, key, ARG_STRING);
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
	if (length > READ_MAX_STRING + 4)
		length = READ_MAX_STRING + 4;
	arg->length = (uint32_t)text_clean(text, READ_MAX_STRING + 1, bytes, length, &repaired);
	arg->s = text;
	arg->cut = arg->length > EVENT_MAX_STRING && !was_cut(text, arg->length);
	if (arg->cut)
		arg->length = cut(text);
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

/* Our own files say so of a slice that did not end by its own END. */
void draft_take_end_reason(struct event *event, struct arg *args)
{
	unsigned i;

	for (i = 0; i < event->n_args; i++) {
		const struct arg *arg = &args[i];

		if (!arg->key || arg->type != ARG_STRING || arg->key->text[0] != 'e' ||
		    strcmp(arg->key->text, "ended"))
			continue;
		if (!strcmp(arg->s, "lost"))
			event->end_reason = END_LOST;
		else if (!strcmp(arg->s, "unfinished"))
			event->end_reason = END_UNFINISHED;
		else
			continue;
		event->n_args--;
		memmove(&args[i], &args[i + 1], (event->n_args - i) * sizeof(args[0]));
		return;
	}
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
