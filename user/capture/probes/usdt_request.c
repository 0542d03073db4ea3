/* SPDX-License-Identifier: BSD-2-Clause */
/* Parsing -u into a request, and matching probes with it: the grammar is in usdt_request.h. */
#include "capture/probes/usdt_request.h"

#include <stdio.h>
#include <string.h>

#include "base/glob.h"
#include "capture/probes/spec_parser.h"

#define CAPTURE_END '\001' /* not used by globs and names */

/* --- parsing ----------------------------------------------------------------------------------- */

/* Copies the bytes up to the first of `stops`. NULL: there are none. */
static const char *usdt_spec_copy_until(struct spec_parser *p, const char *stops)
{
	size_t n = strcspn(p->at, stops);

	p->at += n;
	return n ? spec_copy(p, p->at - n, n) : NULL;
}

static const char *parse_usdt_choice(struct spec_parser *p, struct usdt_choice *ret)
{
	static const struct {
		char letter;
		uint8_t type;
	} types[] = {
		{ 's', VALUE_STRING },	{ 'd', VALUE_INT },  { 'u', VALUE_UINT },
		{ 'x', VALUE_POINTER }, { 'b', VALUE_BOOL },
	};

	if (!spec_accept_arg(p, USDT_MAX_ARGS, &ret->number))
		return SPEC_WRONG_ARG;
	ret->type = VALUE_NONE;
	if (!spec_accept(p, ":"))
		return NULL;
	for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (types[i].letter == *p->at)
			ret->type = types[i].type;
	}
	if (ret->type == VALUE_NONE)
		return "types are s, d, u, x and b";
	p->at++;
	return NULL;
}

static const char *parse_usdt_choices(struct spec_parser *p, struct usdt_pattern *pattern)
{
	const char *why;

	pattern->n_choices = 0;
	while (!spec_accept(p, ")")) {
		struct usdt_choice *choice = &pattern->choices[pattern->n_choices];

		if (pattern->n_choices == MAX_ARGS)
			return "an event has six arguments at most";
		if (pattern->n_choices && !spec_accept(p, ","))
			return "arguments are separated by commas and end with )";
		if (p->at[strcspn(p->at, "=,)")] == '=') {
			choice->key = usdt_spec_copy_until(p, "=");
			if (!choice->key)
				return "an argument has no name before the =";
			p->at++;
		}
		why = parse_usdt_choice(p, choice);
		if (why)
			return why;
		pattern->n_choices++;
	}
	return NULL;
}

static const char *parse_usdt_pattern(struct spec_parser *p, struct usdt_pattern *pattern)
{
	const char *why = NULL;
	uint8_t number;

	pattern->n_choices = USDT_WHOLE;
	pattern->key = USDT_KEY_NONE;
	pattern->provider = usdt_spec_copy_until(p, ":~()@/");
	if (!pattern->provider || !spec_accept(p, ":"))
		return "a probe is PROVIDER:NAME";
	pattern->name = usdt_spec_copy_until(p, ":~()@/");
	if (!pattern->name)
		return "a probe is PROVIDER:NAME";
	if (spec_accept(p, "("))
		why = parse_usdt_choices(p, pattern);
	if (why || !spec_accept(p, "@"))
		return why;
	if (spec_accept(p, "tid"))
		pattern->key = USDT_KEY_THREAD;
	else if (spec_accept_arg(p, USDT_MAX_ARGS, &number))
		pattern->key = number;
	else
		return "@ is followed by arg0 to arg11, or tid";
	return NULL;
}

static const char *parse_template_field(struct spec_parser *p, struct usdt_part *part)
{
	const char *why = NULL;

	if (spec_accept(p, "provider")) {
		part->kind = USDT_PART_PROVIDER;
	} else if (spec_accept(p, "name")) {
		part->kind = USDT_PART_NAME;
	} else {
		part->kind = USDT_PART_ARG;
		why = parse_usdt_choice(p, &part->arg);
	}
	return why		     ? why
	       : spec_accept(p, "}") ? NULL
				     : "a field of the template does not end with }";
}

/* Parses text up to the next field; a doubled brace stands for one. */
static void parse_template_text(struct spec_parser *p, struct usdt_part *part)
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

static const struct usdt_choice *usdt_part_arg(const struct usdt_part *part)
{
	return part->kind == USDT_PART_ARG ? &part->arg : NULL;
}

const struct usdt_choice *usdt_request_field(const struct usdt_request *r, unsigned i)
{
	if (i < USDT_MAX_PARTS)
		return i < r->n_parts ? usdt_part_arg(&r->parts[i]) : NULL;
	i -= USDT_MAX_PARTS;
	if (i < USDT_TIMES)
		return usdt_request_has(r, i) ? &r->times[i] : NULL;
	i -= USDT_TIMES;
	return i < r->n_track_parts ? usdt_part_arg(&r->track_parts[i]) : NULL;
}

static unsigned count_template_args(const struct usdt_request *r)
{
	unsigned i, seen = 0;

	for (i = 0; i < USDT_MAX_FIELDS; i++)
		seen |= usdt_request_field(r, i) ? 1u << usdt_request_field(r, i)->number : 0;
	return (unsigned)__builtin_popcount(seen);
}

/* --- times of their own ------------------------------------------------------------------------ */

/* Text with arguments in it, up to the next comma or brace. */
static const char *parse_usdt_track(struct spec_parser *p, struct usdt_request *r)
{
	static const char ends[] = ",{}";

	r->n_track_parts = 0;
	while (*p->at && !strchr(ends, *p->at)) {
		struct usdt_part *part = &r->track_parts[r->n_track_parts];
		const char *why = NULL, *from = p->at;

		if (r->n_track_parts == USDT_MAX_TRACK_PARTS)
			return "the track has more than eight parts";
		r->n_track_parts++;
		part->kind =
			strncmp(p->at, "arg", 3) || !strchr("0123456789", p->at[3]) || !p->at[3]
				? USDT_PART_TEXT
				: USDT_PART_ARG;
		if (part->kind == USDT_PART_ARG) {
			why = parse_usdt_choice(p, &part->arg);
			if (why)
				return why;
			continue;
		}
		do
			p->at++;
		while (*p->at && !strchr(ends, *p->at) &&
		       (strncmp(p->at, "arg", 3) || !p->at[3] || !strchr("0123456789", p->at[3])));
		part->text = spec_copy(p, from, (size_t)(p->at - from));
	}
	return r->n_track_parts ? NULL : "the track has no name";
}

static bool starts_usdt_times(const char *at)
{
	static const char *const words[] = { "start=", "end=",	"dur=",	  "track=",
					     "flow=",  "clock", "ticks=", "time=" };

	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!strncmp(at, words[i], strlen(words[i])))
			return true;
	}
	return false;
}

static const char *parse_usdt_time(struct spec_parser *p, struct usdt_request *r)
{
	static const struct {
		const char *word;
		enum usdt_time time;
		bool of_reading;
	} words[] = {
		{ "start=", USDT_TIME_START, false }, { "end=", USDT_TIME_END, false },
		{ "dur=", USDT_TIME_DUR, false },     { "flow=", USDT_TIME_FLOW, false },
		{ "ticks=", USDT_TIME_START, true },  { "time=", USDT_TIME_END, true },
	};

	if (spec_accept(p, "track="))
		return parse_usdt_track(p, r);
	if (spec_accept(p, "clock")) {
		r->of_clock = true;
		return NULL;
	}
	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!spec_accept(p, words[i].word))
			continue;
		if (usdt_request_has(r, words[i].time))
			return "a time is given twice";
		r->has |= 1u << words[i].time;
		if (words[i].of_reading)
			r->given = USDT_GIVEN_READING;
		return parse_usdt_choice(p, &r->times[words[i].time]);
	}
	return "times are start, end, dur, track, flow, clock, ticks and time";
}

/* What the times say together. */
static const char *check_usdt_times(struct usdt_request *r)
{
	const bool start = usdt_request_has(r, USDT_TIME_START);
	const bool end = usdt_request_has(r, USDT_TIME_END),
		   dur = usdt_request_has(r, USDT_TIME_DUR);

	if (r->is_pair)
		return "a pair of probes has no times of its own";
	if (r->given == USDT_GIVEN_READING)
		return !start || dur || usdt_request_has(r, USDT_TIME_FLOW) || !r->n_track_parts
			       ? "a reading of a clock has ticks, track and perhaps time"
			       : NULL;
	if (r->of_clock && !r->n_track_parts)
		return "the clock is that of a track, and there is no track";
	if (r->of_clock && !start)
		return "the hit has no time of this clock: start is missing";
	if ((end && dur) || (!start && !dur))
		return "a slice has start and end, start and dur, or dur alone";
	r->given = end || dur ? USDT_GIVEN_SLICE : USDT_GIVEN_INSTANT;
	return NULL;
}

static const char *parse_usdt_times(struct spec_parser *p, struct usdt_request *r)
{
	const char *why;

	if (r->given)
		return "the template has times twice";
	do {
		why = parse_usdt_time(p, r);
		if (why)
			return why;
	} while (spec_accept(p, ","));
	why = check_usdt_times(r);
	return why		     ? why
	       : spec_accept(p, "}") ? NULL
				     : "times are separated by commas and end with }";
}

static const char *parse_usdt_template(struct spec_parser *p, struct usdt_request *r)
{
	const char *why = NULL;

	if (!*p->at)
		return "the template is empty";
	while (!why && *p->at) {
		struct usdt_part *part = &r->parts[r->n_parts];

		if (*p->at == '{' && starts_usdt_times(p->at + 1)) {
			p->at++;
			why = parse_usdt_times(p, r);
			continue;
		}
		if (r->n_parts == USDT_MAX_PARTS)
			return "the template has more than sixteen parts";
		r->n_parts++;
		if (p->at[0] == '{' && p->at[1] != '{') {
			p->at++;
			why = parse_template_field(p, part);
		} else if (p->at[0] == '}' && p->at[1] != '}') {
			why = "a } in the template belongs to no field: write }}";
		} else {
			parse_template_text(p, part);
		}
	}
	if (!why && count_template_args(r) > MAX_ARGS)
		why = "a template has six arguments at most";
	return why;
}

const char *usdt_request_parse(const char *text, struct usdt_request *r)
{
	struct spec_parser p = { text, NULL };
	const char *why;

	memset(r, 0, sizeof(*r));
	if (strlen(text) >= USDT_MAX_TEXT)
		return "it is too long";
	r->text = text;
	p.to = r->strings;
	why = parse_usdt_pattern(&p, &r->begin);
	if (!why && spec_accept(&p, "~")) {
		r->is_pair = true;
		why = parse_usdt_pattern(&p, &r->end);
	}
	if (!why && spec_accept(&p, "/"))
		why = parse_usdt_template(&p, r);
	if (!why && *p.at)
		why = "a probe's name contains neither : nor )";
	if (!why && !r->is_pair && r->begin.key != USDT_KEY_NONE)
		why = "@ is for pairs: PROBE~PROBE";
	r->column = (unsigned)(p.at - text) + 1;
	if (why)
		return why;
	if (r->is_pair && r->begin.key == USDT_KEY_NONE)
		r->begin.key = r->end.key;
	if (r->is_pair && r->end.key == USDT_KEY_NONE)
		r->end.key = r->begin.key;
	return NULL;
}

/*
 * --- matching
 * -------------------------------------------------------------------------------------
 */

/* Appends what the stars stand for, each with a separator behind it. */
static void append_captures(const char *text, const struct glob_stars *stars, char *out,
			    unsigned *n)
{
	size_t used = strlen(out);

	for (unsigned i = 0; i < stars->n; i++) {
		size_t length = stars->list[i].length;

		(*n)++;
		if (used + length + 2 > USDT_MAX_CAPTURES)
			return;
		memcpy(out + used, text + stars->list[i].at, length);
		used += length;
		out[used++] = CAPTURE_END;
		out[used] = '\0';
	}
}

static bool usdt_pattern_matches(const struct usdt_pattern *p, const char *provider,
				 const char *name, char *captures, unsigned *n)
{
	const char *glob = p->name;
	struct glob_stars of_provider, of_name;

	*n = 0;
	captures[0] = '\0';
	if (!glob_matches(p->provider, strlen(p->provider), provider, &of_provider))
		return false;
	for (;;) {
		size_t length = strcspn(glob, "|");

		if (glob_matches(glob, length, name, &of_name))
			break;
		if (!glob[length])
			return false;
		glob += length + 1;
	}
	append_captures(provider, &of_provider, captures, n);
	append_captures(name, &of_name, captures, n);
	return true;
}

static unsigned count_pattern_stars(const struct usdt_pattern *p)
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

	if (usdt_pattern_matches(&r->begin, provider, name, captures, &n))
		role = r->is_pair ? USDT_BEGIN : USDT_INSTANT;
	else if (r->is_pair && usdt_pattern_matches(&r->end, provider, name, captures, &n))
		role = USDT_END;
	/*
	 * Captures only identify pairs if both patterns, and this alternative, have the same number
	 * of stars.
	 */
	if (role != USDT_NO_ROLE && r->is_pair &&
	    (count_pattern_stars(&r->begin) != count_pattern_stars(&r->end) ||
	     n != count_pattern_stars(&r->begin)))
		captures[0] = '\0';
	return role;
}

/*
 * Expands the first alternative with what its stars stand for, up to the first unknown character.
 */
static void expand_usdt_pattern(const struct usdt_pattern *p, const char *captures, char *out,
				size_t size)
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

	expand_usdt_pattern(&r->begin, captures, begin, sizeof(begin));
	expand_usdt_pattern(&r->end, captures, end, sizeof(end));
	while (begin[n] && begin[n] == end[n])
		n++;
	/* Of query__start and query__done remains query; of start and stop remains nothing. */
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
