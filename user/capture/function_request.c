/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/function_request.h"

#include <ctype.h>
#include <string.h>

struct parser {
	const char *at;
	char *to; /* room in the request's strings: each byte of the text is copied once at most */
};

static bool take(struct parser *p, const char *text)
{
	size_t n = strlen(text);

	if (strncmp(p->at, text, n))
		return false;
	p->at += n;
	return true;
}

static const char *copy(struct parser *p, const char *from, size_t n)
{
	char *out = p->to;

	memcpy(out, from, n);
	out[n] = '\0';
	p->to += n + 1;
	return out;
}

static const char *take_type(struct parser *p, struct function_value *v)
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
	unsigned i;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
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

static const char *take_value(struct parser *p, struct function_request *r)
{
	struct function_value v = { .type = VALUE_UINT, .bits = 64 };
	const char *why = NULL;
	bool returned = false;
	unsigned n = 0;

	if (p->at[strcspn(p->at, "=,)")] == '=') {
		v.key = copy(p, p->at, strcspn(p->at, "="));
		p->at += strlen(v.key) + 1;
		if (!*v.key)
			return "an argument has no name before the =";
	}
	if (take(p, "ret")) {
		returned = true;
	} else {
		if (!take(p, "arg") || !isdigit((unsigned char)*p->at))
			return "arguments are called arg0 to arg11, and what is returned is ret";
		while (isdigit((unsigned char)*p->at) && n < 100)
			n = n * 10 + (unsigned)(*p->at++ - '0');
		if (n >= FUNCTION_MAX_ARG)
			return "arguments are called arg0 to arg11";
	}
	v.number = (uint8_t)n;
	if (take(p, ":"))
		why = take_type(p, &v);
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

/* Where the arguments begin. The parameters of C++ are part of the name: NULL. */
static const char *find_values(const char *text)
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

/* The colon behind the library: one that stands alone. */
static const char *find_colon(const char *text, const char *end)
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
	struct parser p = { text, NULL };

	memset(r, 0, sizeof(*r));
	if (strlen(text) >= FUNCTION_MAX_TEXT)
		return "it is too long";
	r->text = text;
	p.to = r->strings;
	if (!*text)
		return "it is empty";
	values = find_values(text);
	end = values ? values : text + strlen(text);
	colon = find_colon(text, end);
	if (colon) {
		if (colon == text)
			return "there is no library before the :";
		r->library = copy(&p, text, (size_t)(colon - text));
		text = colon + 1;
	}
	if (text == end)
		return "there is no function's name";
	r->name = copy(&p, text, (size_t)(end - text));
	if (!values)
		return NULL;
	p.at = values + 1;
	do
		why = take_value(&p, r);
	while (!why && take(&p, ","));
	if (!why && (!take(&p, ")") || *p.at))
		why = "arguments are separated by commas and end with )";
	return why;
}
