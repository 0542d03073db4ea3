/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Strings of arguments are cleaned and cut here, once for both formats, so that the account counts each repaired and
 * each cut string exactly once.
 */
#include "formats/draft.h"

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

/* Whether the writer of the file cut the string to the same limit, so that it is counted already. */
static bool draft_text_was_cut(const char *text, size_t length)
{
	const size_t mark = sizeof(TEXT_CUT_MARK) - 1;

	return length <= EVENT_MAX_STRING + mark &&
	       !memcmp(text + length - mark, TEXT_CUT_MARK, mark);
}

/* Cuts to EVENT_MAX_STRING bytes without splitting a character. */
static uint32_t draft_cut_text(char *text)
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
	/* draft_remove() does not free the text, so there may be less space than arguments. */
	if (sizeof(draft->text) - draft->used < READ_MAX_STRING + 1) {
		draft->n_args--;
		draft->excess = true;
		return;
	}
	/*
	 * text_clean() cuts without splitting a character. Four bytes beyond the limit show it
	 * whether the last character is complete.
	 */
	if (length > READ_MAX_STRING + 4)
		length = READ_MAX_STRING + 4;
	arg->length = (uint32_t)text_clean(text, READ_MAX_STRING + 1, bytes, length, &repaired);
	arg->s = text;
	arg->cut = arg->length > EVENT_MAX_STRING && !draft_text_was_cut(text, arg->length);
	if (arg->cut)
		arg->length = draft_cut_text(text);
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

void draft_read_end_reason(struct event *event, struct arg *args)
{
	for (unsigned i = 0; i < event->n_args; i++) {
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

void origin_records(struct trace_origin *origin, const char *name, uint64_t read, uint64_t said)
{
	origin->record_name = name;
	origin->records = said;
	origin->records_missing = said > read ? said - read : 0;
}

void origin_clock(const struct reader_sink *sink, const struct clock_reading *clock)
{
	if (sink->origin && !sink->origin->clock.monotonic)
		sink->origin->clock = *clock;
}
