/* SPDX-License-Identifier: BSD-2-Clause */
/* Parsing -f into a request: the grammar is in function_request.h. */
#include "capture/probes/function_request.h"

#include <ctype.h>
#include <string.h>

#include "capture/probes/spec_parser.h"

static const char *parse_function_type(struct spec_parser *p, struct function_value *v)
{
	static const struct {
		const char *name;
		uint8_t type, bits;
	} types[] = {
		{ "u8", VALUE_UINT, 8 },   { "u16", VALUE_UINT, 16 },	{ "u32", VALUE_UINT, 32 },
		{ "u64", VALUE_UINT, 64 }, { "s8", VALUE_INT, 8 },	{ "s16", VALUE_INT, 16 },
		{ "s32", VALUE_INT, 32 },  { "s64", VALUE_INT, 64 },	{ "x", VALUE_POINTER, 64 },
		{ "bool", VALUE_BOOL, 8 }, { "str", VALUE_STRING, 64 },
	};
	size_t n = strcspn(p->at, ",)");

	for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (strlen(types[i].name) != n || strncmp(types[i].name, p->at, n))
			continue;
		v->type = types[i].type;
		v->bits = types[i].bits;
		p->at += n;
		return NULL;
	}
	if (*p->at == 'f' || *p->at == 'd')
		return "floating-point values are in registers that the kernel does not show";
	return "types are u8 to u64, s8 to s64, x, bool and str";
}

static const char *parse_function_value(struct spec_parser *p, struct function_request *r)
{
	struct function_value v = { .type = VALUE_UINT, .bits = 64 };
	const char *why = NULL;
	bool returned = false;

	if (p->at[strcspn(p->at, "=,)")] == '=') {
		v.key = spec_copy(p, p->at, strcspn(p->at, "="));
		p->at += strlen(v.key) + 1;
		if (!*v.key)
			return "an argument has no name before the =";
	}
	if (spec_accept(p, "ret")) {
		returned = true;
	} else {
		if (!spec_accept_arg(p, FUNCTION_MAX_ARG, &v.number))
			return SPEC_WRONG_ARG ", and the returned value is ret";
	}
	if (spec_accept(p, ":"))
		why = parse_function_type(p, &v);
	if (why)
		return why;
	if (returned && r->has_value)
		return "a function returns one value";
	if (!returned && r->n_args == MAX_ARGS)
		return "an event has six arguments at most";
	if (returned) {
		r->has_value = true;
		r->value = v;
	} else {
		r->args[r->n_args++] = v;
	}
	return NULL;
}

/*
 * Finds the list of arguments; NULL: there is none. Parameters of a C++ function are part of the
 * name.
 */
static const char *find_function_values(const char *text)
{
	const char *at = strrchr(text, '('), *word;
	size_t n;

	if (!at || text[strlen(text) - 1] != ')')
		return NULL;
	word = at + 1;
	n = strcspn(word, "=,)");
	if (word[n] == '=')
		word += n + 1;
	if (!strncmp(word, "arg", 3) && isdigit((unsigned char)word[3]))
		return at;
	return !strncmp(word, "ret", 3) && word[3] && strchr(",:)", word[3]) ? at : NULL;
}

/* Finds the colon after the library, which is not part of a double colon. */
static const char *find_library_colon(const char *text, const char *end)
{
	const char *at;

	for (at = text; at < end && *at != '('; at++) {
		if (*at != ':')
			continue;
		if (at[1] != ':')
			return at;
		at++;
	}
	return NULL;
}

const char *function_request_parse(const char *text, struct function_request *r)
{
	const char *values, *end, *colon, *why = NULL;
	struct spec_parser p = { text, NULL };

	memset(r, 0, sizeof(*r));
	if (strlen(text) >= FUNCTION_MAX_TEXT)
		return "it is too long";
	r->text = text;
	p.to = r->strings;
	if (!*text)
		return "it is empty";
	values = find_function_values(text);
	end = values ? values : text + strlen(text);
	colon = find_library_colon(text, end);
	if (colon) {
		if (colon == text)
			return "there is no library before the :";
		r->library = spec_copy(&p, text, (size_t)(colon - text));
		text = colon + 1;
	}
	if (text == end)
		return "there is no name of a function";
	r->name = spec_copy(&p, text, (size_t)(end - text));
	if (!values)
		return NULL;
	p.at = values + 1;
	do
		why = parse_function_value(&p, r);
	while (!why && spec_accept(&p, ","));
	if (!why && (!spec_accept(&p, ")") || *p.at))
		why = "arguments are separated by commas and end with )";
	return why;
}
