/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A second way to read the objects of a trace: json_object.c tokenizes one object at a time, and this file
 * assigns its keys and values. Frequent keys are recognised at once; all others take the same path as the
 * callbacks of yajl. An object that is not in the plain form is left to yajl altogether.
 *
 * What it buys: `proftrace report` of 300 MB of Chrome JSON (1.5 million events) takes 0.8 s of CPU time with it
 * and 2.1 s with yajl alone. yajl is the oracle: tests/unit/test_json_object.c reads the same bytes both ways
 * and compares.
 */
#include "formats/chrome/read_parser.h"

static struct number plain_token_number(const struct json_token *token)
{
	const struct number_parts parts = { token->word, token->fraction, token->negative };

	return token->fits ? number_parts_read(&parts, token->text, token->length)
			   : number_read(token->text, token->length, false);
}

static void plain_pass_numbers(struct parser *p, const struct json_token *token)
{
	struct chrome_list *list = &p->list;

	if (chrome_skipping(p))
		return;
	if (p->where == IN_ARGS && !chrome_is_stack(p, p->depth)) {
		list_begin(list);
		list_numbers(list, token->text, token->length, token->word);
		if (chrome_arg_fits(p))
			draft_string(p->c.draft, chrome_arg_key(p), list->text, list->length);
	} else if (p->where == IN_LIST) {
		list_numbers(list, token->text, token->length, token->word);
	}
}

static int plain_pass_token(struct parser *p, const struct json_token *token)
{
	const unsigned char *bytes = (const unsigned char *)token->text;

	switch (token->kind) {
	case JSON_MAP_START:
		return chrome_on_start_map(p);
	case JSON_MAP_END:
		return chrome_on_end_map(p);
	case JSON_LIST_START:
		return chrome_on_start_array(p);
	case JSON_LIST_END:
		return chrome_on_end_array(p);
	case JSON_KEY:
		return chrome_on_key(p, bytes, token->length);
	case JSON_STRING:
		return chrome_on_string(p, bytes, token->length);
	case JSON_NUMBER:
		return chrome_on_number(p, token->text, token->length);
	case JSON_TRUE:
	case JSON_FALSE:
		return chrome_on_boolean(p, token->kind == JSON_TRUE);
	case JSON_NULL:
		return chrome_on_null(p);
	case JSON_NUMBERS:
		plain_pass_numbers(p, token);
		return 1;
	}
	return 1;
}

/* Adds an argument of the event that is not a map or a list. */
static void plain_add_arg(struct parser *p, const struct json_token *key,
			  const struct json_token *value)
{
	struct draft *draft = p->c.draft;
	const struct name *name;

	if (!chrome_arg_fits(p))
		return;
	name = names_intern(p->c.sink->names, key->text, key->length, READ_MAX_NAME);
	switch (value->kind) {
	case JSON_STRING:
		draft_string(draft, name, value->text, value->length);
		break;
	case JSON_NUMBER:
		chrome_add_number(p, name, plain_token_number(value));
		break;
	case JSON_NULL:
		draft_null(draft, name);
		break;
	default:
		draft_bool(draft, name, value->kind == JSON_TRUE);
		break;
	}
}

/* Reads a key and its value, if that is not a map or a list, of an event or of its arguments. */
static bool plain_read_pair(struct parser *p, const struct json_token *key)
{
	const struct json_token *value = key + 1;
	enum chrome_field field;

	if (value->kind < JSON_STRING || value->kind > JSON_NULL)
		return false;
	if (p->where == IN_ARGS && p->depth == p->args_depth && key->length <= READ_MAX_NAME) {
		plain_add_arg(p, key, value);
		return true;
	}
	if (p->where != IN_EVENT || value->kind > JSON_NUMBER)
		return false;
	p->c.fields.any = true;
	field = chrome_find_field(key->word, key->text, key->length);
	if (value->kind == JSON_NUMBER)
		chrome_number(&p->c, field, value);
	else
		chrome_field(&p->c, field, value->text, value->length);
	return true;
}

/* False: a callback stopped. */
static bool plain_read_object(struct parser *p)
{
	const struct json_token *at = p->object.tokens, *end = at + p->object.n;

	while (at < end) {
		if (at->kind == JSON_KEY && !p->skip_depth && plain_read_pair(p, at))
			at += 2;
		else if (!plain_pass_token(p, at++))
			return false;
	}
	return true;
}

size_t chrome_read_plain(struct parser *p, const uint8_t *bytes, size_t size, bool *ret_stopped,
			 size_t *ret_stopped_at)
{
	size_t at = 0, n;

	*ret_stopped = false;
	if (!p->after_comma || p->where != IN_EVENTS || p->skip_depth || p->filter.in_string)
		return 0;
	while ((n = json_object(bytes + at, size - at, &p->object))) {
		*ret_stopped_at = at;
		at += n;
		*ret_stopped = !plain_read_object(p);
		if (*ret_stopped)
			break;
	}
	return at;
}
