/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of containers in the JSON of their runtimes. Where a string is says what it means: only its depth and the keys
 * around it are looked at, so that a label that looks like a name is none. Nothing is allocated and nothing recurses.
 */
#include "privilege/containers.h"

#include <stdio.h>
#include <string.h>

enum {
	STATE_LEVELS = 4, /* no name is deeper */
};

struct state_string {
	const char *text;
	size_t length;
};

struct state_reader {
	const char *at, *end;
	unsigned depth;
	struct state_string
		keys[STATE_LEVELS + 1]; /* of the member that is being read at each depth */
	char id[CONTAINER_ID + 1];
	container_fn found;
	void *context;
};

static bool state_is(const struct state_string *s, const char *word)
{
	return s->length == strlen(word) && !memcmp(s->text, word, s->length);
}

/* Moves behind the string that begins here. False: it has no end. */
static bool state_read_string(struct state_reader *r, struct state_string *ret)
{
	const char *begin = ++r->at;

	while (r->at < r->end && *r->at != '"')
		r->at += *r->at == '\\' ? 2 : 1;
	if (r->at >= r->end)
		return false;
	*ret = (struct state_string){ begin, (size_t)(r->at++ - begin) };
	return true;
}

static bool state_is_key(const struct state_reader *r)
{
	const char *at = r->at;

	while (at < r->end && strchr(" \t\r\n", *at))
		at++;
	return at < r->end && *at == ':';
}

static bool state_copy_id(char id[CONTAINER_ID + 1], const struct state_string *s)
{
	snprintf(id, CONTAINER_ID + 1, "%.*s", (int)s->length, s->text);
	return s->length == CONTAINER_ID && strspn(id, "0123456789abcdef") == CONTAINER_ID;
}

/* All runtimes permit letters, digits and three other characters. */
static void state_found(const struct state_reader *r, const struct state_string *s)
{
	char name[CONTAINER_NAME];
	size_t skip = s->length && *s->text == '/';

	if (!r->id[0] || s->length - skip >= sizeof(name))
		return;
	snprintf(name, sizeof(name), "%.*s", (int)(s->length - skip), s->text + skip);
	if (name[0] && strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_.-") == s->length - skip)
		r->found(r->context, r->id, name);
}

static bool state_is_annotation(const struct state_string *key)
{
	return state_is(key, "io.kubernetes.cri.container-name") ||
	       state_is(key, "io.kubernetes.container.name") || state_is(key, "nerdctl/name");
}

static void state_read_value(struct state_reader *r, const struct state_string *s, bool has_id)
{
	const struct state_string *keys = r->keys;

	if (has_id) {
		if ((r->depth == 1 && state_is(&keys[1], "Name")) ||
		    (r->depth == 2 && state_is(&keys[1], "annotations") &&
		     state_is_annotation(&keys[2])))
			state_found(r, s);
	} else if (r->depth == 2 && state_is(&keys[2], "id")) {
		if (!state_copy_id(r->id, s))
			r->id[0] = '\0';
	} else if (r->depth == 3 && state_is(&keys[2], "names")) {
		state_found(r, s);
	}
}

void container_state_read(const char *text, size_t size, const char *id, container_fn found,
			  void *context)
{
	struct state_reader r = {
		.at = text, .end = text + size, .found = found, .context = context
	};
	struct state_string s;

	if (id)
		snprintf(r.id, sizeof(r.id), "%s", id);
	while (r.at < r.end) {
		if (*r.at == '"') {
			if (!state_read_string(&r, &s))
				return;
			if (r.depth > STATE_LEVELS)
				continue;
			if (state_is_key(&r))
				r.keys[r.depth] = s;
			else
				state_read_value(&r, &s, id != NULL);
			continue;
		}
		if (*r.at == '{' || *r.at == '[') {
			r.depth++;
			if (r.depth <= STATE_LEVELS)
				r.keys[r.depth] = (struct state_string){ "", 0 };
			/* The next container of a list. */
			if (!id && r.depth == 2)
				r.id[0] = '\0';
		} else if ((*r.at == '}' || *r.at == ']') && r.depth) {
			r.depth--;
		}
		r.at++;
	}
}
