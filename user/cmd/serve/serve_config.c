/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The configuration of `proftrace serve`: one long option of `record` in each line, without its dashes.
 *
 *	# a comment
 *	name = nginx*
 *	sched
 *
 * The parser is that of the command line (record_options.c), so an option is the same in both, and its messages are.
 */
#include "cmd/serve/serve.h"

#include <ctype.h>
#include <string.h>

#include "cmd/record_options.h"
#include "cmd/usage.h"
#include "privilege/target_filter.h"
#include "record/record.h"

#define SERVE_DEFAULT_OVERHEAD 1.0	      /* percent */
#define SERVE_DEFAULT_QUOTA    1000000000ull  /* bytes */
#define SERVE_DEFAULT_WINDOW   10000000000ull /* ns */

/* What has no meaning without somebody who waits for the end, or without one program. */
static const char *const not_served[] = {
	"pid",	"wait",		"duration", "schedule", "include-json", "include-offset", "itt",
	"nvtx", "summary-json", "strict",   "rank",	"per-rank",	"max-size",
};

static bool key_is_served(const char *key)
{
	for (unsigned i = 0; i < sizeof(not_served) / sizeof(not_served[0]); i++) {
		if (!strcmp(key, not_served[i]))
			return false;
	}
	return true;
}

/* The text without white space around it. */
static char *trim_text(char *text)
{
	size_t n;

	while (isspace((unsigned char)*text))
		text++;
	n = strlen(text);
	while (n && isspace((unsigned char)text[n - 1]))
		n--;
	text[n] = '\0';
	return text;
}

static const struct argp_option *find_key(const char *key)
{
	const struct argp_option *o;

	for (o = record_options; o->name; o++) {
		if (!strcmp(o->name, key))
			return o;
	}
	return NULL;
}

static void config_parse_line(struct argp_state *state, char *line, bool given[KEYS])
{
	const struct argp_option *option;
	char *value = strchr(line, '=');

	if (value)
		*value++ = '\0';
	line = trim_text(line);
	value = value ? trim_text(value) : NULL;
	option = find_key(line);
	if (!option)
		usage_error(state, "'%s' is not a long option of record", line);
	if (!key_is_served(line))
		usage_error(state, "'%s' is not for a service", line);
	if (option->arg && !(value && *value))
		usage_error(state, "'%s' needs a value: %s", line, option->arg);
	if (!option->arg && value)
		usage_error(state, "'%s' takes no value", line);
	/* Which options are lists is said where they are described. */
	if (given[option->key] && !strstr(option->doc, "(repeatable)"))
		usage_error(state, "'%s' is given twice", line);
	given[option->key] = true;
	record_options_parse_one(option->key, value, state);
}

static void config_set_defaults(struct argp_state *state, struct record_options *o,
				const bool given[KEYS])
{
	static char output[] = SERVE_DIRECTORY "/trace-{time}.pftrace";
	static char metrics[] = SERVE_METRICS;

	if (target_filter_is_empty(&o->targets))
		usage_error(state,
			    "nothing to record: give a name, user, cgroup, unit or container");
	o->targets.waits = 1;
	if (!o->metrics.is_set)
		record_options_parse_one(KEY_METRICS, metrics, state);
	if (o->stats_only)
		return;
	if (!o->flight_ns)
		o->flight_ns = SERVE_DEFAULT_WINDOW;
	if (!given[KEY_MAX_OVERHEAD])
		o->max_overhead = SERVE_DEFAULT_OVERHEAD;
	if (!o->quota)
		o->quota = SERVE_DEFAULT_QUOTA;
	/* Counters are read at each mark, which is what a mark costs most of. */
	if (!o->counters)
		o->counters = "none";
	if (!o->n_outputs)
		record_options_parse_one('o', output, state);
}

void serve_config_parse(const char *file, char *text, struct record_options *ret_options)
{
	struct usage_place place = { .file = file, .manual = "proftrace-serve" };
	struct argp_state state = { .input = ret_options, .hook = &place };
	bool given[KEYS] = { false };
	char *next;

	record_options_parse_one(ARGP_KEY_INIT, NULL, &state);
	while (text) {
		next = strchr(text, '\n');
		if (next)
			*next++ = '\0';
		place.line++;
		text = trim_text(text);
		if (*text && *text != '#')
			config_parse_line(&state, text, given);
		text = next;
	}
	place.line = 0;
	config_set_defaults(&state, ret_options, given);
	record_options_parse_one(ARGP_KEY_END, NULL, &state);
}
