/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/usdt_request.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "capture/glob.h"

#define CAPTURE_END '\001' /* no glob and no sane name has it */

/* --- parsing ----------------------------------------------------------------------------------- */

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

/* Copies the bytes up to the first of `stops`. NULL: there are none. */
static const char *take_until(struct parser *p, const char *stops)
{
	size_t n = strcspn(p->at, stops);
	char *out = p->to;

	if (!n)
		return NULL;
	memcpy(out, p->at, n);
	out[n] = '\0';
	p->at += n;
	p->to += n + 1;
	return out;
}

static bool take_arg_number(struct parser *p, uint8_t *ret)
{
	unsigned n = 0;

	if (!take(p, "arg") || !isdigit((unsigned char)*p->at))
		return false;
	while (isdigit((unsigned char)*p->at) && n < 100)
		n = n * 10 + (unsigned)(*p->at++ - '0');
	*ret = (uint8_t)n;
	return n < USDT_MAX_ARGS;
}

static const char *take_arg(struct parser *p, struct usdt_choice *ret)
{
	static const struct {
		char letter;
		uint8_t type;
	} types[] = {
		{ 's', VALUE_STRING },	{ 'd', VALUE_INT },  { 'u', VALUE_UINT },
		{ 'x', VALUE_POINTER }, { 'b', VALUE_BOOL },
	};
	unsigned i;

	if (!take_arg_number(p, &ret->number))
		return "arguments are called arg0 to arg11";
	ret->type = VALUE_NONE;
	if (!take(p, ":"))
		return NULL;
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (types[i].letter == *p->at)
			ret->type = types[i].type;
	}
	if (ret->type == VALUE_NONE)
		return "types are s, d, u, x and b";
	p->at++;
	return NULL;
}

static const char *take_choices(struct parser *p, struct usdt_pattern *pattern)
{
	const char *why;

	pattern->n_choices = 0;
	while (!take(p, ")")) {
		struct usdt_choice *choice = &pattern->choices[pattern->n_choices];

		if (pattern->n_choices == MAX_ARGS)
			return "an event has six arguments at most";
		if (pattern->n_choices && !take(p, ","))
			return "arguments are separated by commas and end with )";
		if (p->at[strcspn(p->at, "=,)")] == '=') {
			choice->key = take_until(p, "=");
			if (!choice->key)
				return "an argument has no name before the =";
			p->at++;
		}
		why = take_arg(p, choice);
		if (why)
			return why;
		pattern->n_choices++;
	}
	return NULL;
}

static const char *take_pattern(struct parser *p, struct usdt_pattern *pattern)
{
	const char *why = NULL;
	uint8_t number;

	pattern->n_choices = USDT_WHOLE;
	pattern->key = USDT_KEY_NONE;
	pattern->provider = take_until(p, ":~()@/");
	if (!pattern->provider || !take(p, ":"))
		return "a probe is PROVIDER:NAME";
	pattern->name = take_until(p, ":~()@/");
	if (!pattern->name)
		return "a probe is PROVIDER:NAME";
	if (take(p, "("))
		why = take_choices(p, pattern);
	if (why || !take(p, "@"))
		return why;
	if (take(p, "tid"))
		pattern->key = USDT_KEY_THREAD;
	else if (take_arg_number(p, &number))
		pattern->key = number;
	else
		return "behind @ stands arg0 to arg11, or tid";
	return NULL;
}

static const char *take_field(struct parser *p, struct usdt_part *part)
{
	const char *why = NULL;

	if (take(p, "provider")) {
		part->kind = USDT_PART_PROVIDER;
	} else if (take(p, "name")) {
		part->kind = USDT_PART_NAME;
	} else {
		part->kind = USDT_PART_ARG;
		why = take_arg(p, &part->arg);
	}
	return why ? why : take(p, "}") ? NULL : "a field of the template has no }";
}

/* Text up to the next field; braces that stand twice are one. */
static void take_text(struct parser *p, struct usdt_part *part)
{
	part->kind = USDT_PART_TEXT;
	part->text = p->to;
	while (*p->at) {
		bool is_brace = *p->at == '{' || *p->at == '}';

		if (is_brace && p->at[1] != *p->at)
			break;
		*p->to++ = *p->at;
		p->at += is_brace ? 2 : 1;
	}
	*p->to++ = '\0';
}

static unsigned template_args(const struct usdt_request *r)
{
	unsigned i, seen = 0;

	for (i = 0; i < r->n_parts; i++)
		seen |= r->parts[i].kind == USDT_PART_ARG ? 1u << r->parts[i].arg.number : 0;
	return (unsigned)__builtin_popcount(seen);
}

static const char *take_template(struct parser *p, struct usdt_request *r)
{
	const char *why = NULL;

	if (!*p->at)
		return "the template is empty";
	while (!why && *p->at) {
		struct usdt_part *part = &r->parts[r->n_parts];

		if (r->n_parts == USDT_MAX_PARTS)
			return "the template has more than sixteen parts";
		r->n_parts++;
		if (p->at[0] == '{' && p->at[1] != '{') {
			p->at++;
			why = take_field(p, part);
		} else if (p->at[0] == '}' && p->at[1] != '}') {
			why = "a } in the template belongs to no field: write }}";
		} else {
			take_text(p, part);
		}
	}
	if (!why && template_args(r) > MAX_ARGS)
		why = "a template has six arguments at most";
	return why;
}

const char *usdt_request_parse(const char *text, struct usdt_request *r)
{
	struct parser p = { text, NULL };
	const char *why;

	memset(r, 0, sizeof(*r));
	if (strlen(text) >= USDT_MAX_TEXT)
		return "it is too long";
	r->text = text;
	p.to = r->strings;
	why = take_pattern(&p, &r->begin);
	if (!why && take(&p, "~")) {
		r->is_pair = true;
		why = take_pattern(&p, &r->end);
	}
	if (!why && take(&p, "/"))
		why = take_template(&p, r);
	if (!why && *p.at)
		why = "a probe's name has neither : nor ) in it";
	if (!why && !r->is_pair && r->begin.key != USDT_KEY_NONE)
		why = "@ is for pairs: PROBE~PROBE";
	if (why)
		return why;
	if (r->is_pair && r->begin.key == USDT_KEY_NONE)
		r->begin.key = r->end.key;
	if (r->is_pair && r->end.key == USDT_KEY_NONE)
		r->end.key = r->begin.key;
	return NULL;
}

/* --- fitting ----------------------------------------------------------------------------------- */

/* Adds what the stars stand for, each with a mark behind it. */
static void capture(const char *text, const struct glob_stars *stars, char *out, unsigned *n)
{
	size_t used = strlen(out);
	unsigned i;

	for (i = 0; i < stars->n; i++) {
		size_t length = stars->of[i].length;

		(*n)++;
		if (used + length + 2 > USDT_MAX_CAPTURES)
			return;
		memcpy(out + used, text + stars->of[i].at, length);
		used += length;
		out[used++] = CAPTURE_END;
		out[used] = '\0';
	}
}

static bool fits_pattern(const struct usdt_pattern *p, const char *provider, const char *name,
			 char *captures, unsigned *n)
{
	const char *glob = p->name;
	struct glob_stars of_provider, of_name;

	*n = 0;
	captures[0] = '\0';
	if (!glob_fits(p->provider, strlen(p->provider), provider, &of_provider))
		return false;
	for (;;) {
		size_t length = strcspn(glob, "|");

		if (glob_fits(glob, length, name, &of_name))
			break;
		if (!glob[length])
			return false;
		glob += length + 1;
	}
	capture(provider, &of_provider, captures, n);
	capture(name, &of_name, captures, n);
	return true;
}

static unsigned stars_of(const struct usdt_pattern *p)
{
	const char *at;
	unsigned n = 0;

	for (at = p->provider; *at; at++)
		n += *at == '*';
	for (at = p->name; *at && *at != '|'; at++)
		n += *at == '*';
	return n;
}

enum usdt_role usdt_request_role(const struct usdt_request *r, const char *provider,
				 const char *name, char captures[USDT_MAX_CAPTURES])
{
	enum usdt_role role = USDT_NO_ROLE;
	unsigned n;

	if (fits_pattern(&r->begin, provider, name, captures, &n))
		role = r->is_pair ? USDT_BEGIN : USDT_INSTANT;
	else if (r->is_pair && fits_pattern(&r->end, provider, name, captures, &n))
		role = USDT_END;
	/* As many on either side, and in this alternative too. */
	if (role != USDT_NO_ROLE && r->is_pair &&
	    (stars_of(&r->begin) != stars_of(&r->end) || n != stars_of(&r->begin)))
		captures[0] = '\0';
	return role;
}

/* The first alternative, with what its stars stand for; ends where that is not known. */
static void expand(const struct usdt_pattern *p, const char *captures, char *out, size_t size)
{
	const char *at;
	size_t n = 0;

	for (at = p->provider; *at; at++) {
		if (*at == '*')
			captures += strcspn(captures, "\001") + (strchr(captures, '\001') != NULL);
	}
	for (at = p->name; *at && *at != '|' && n + 1 < size; at++) {
		if (*at == '?' || *at == '[' || (*at == '*' && !*captures))
			break;
		if (*at != '*') {
			out[n++] = *at;
			continue;
		}
		while (*captures && *captures != CAPTURE_END && n + 1 < size)
			out[n++] = *captures++;
		captures += *captures == CAPTURE_END;
	}
	out[n] = '\0';
}

void usdt_pair_name(const struct usdt_request *r, const char *captures, char *out, size_t size)
{
	char begin[USDT_MAX_TEXT], end[USDT_MAX_TEXT];
	size_t n = 0, whole;

	expand(&r->begin, captures, begin, sizeof(begin));
	expand(&r->end, captures, end, sizeof(end));
	while (begin[n] && begin[n] == end[n])
		n++;
	/* query__start and query__done: query; but of start and stop, nothing is left. */
	whole = n;
	if (begin[n] || end[n])
		while (whole && begin[whole - 1] != '_' && begin[whole - 1] != '-')
			whole--;
	while (whole && (begin[whole - 1] == '_' || begin[whole - 1] == '-'))
		whole--;
	if (!whole)
		snprintf(out, size, "%s", begin[0] ? begin : r->begin.name);
	else
		snprintf(out, size, "%.*s", (int)whole, begin);
}
