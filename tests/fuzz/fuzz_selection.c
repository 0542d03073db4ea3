/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any globs after -D, any names of domains and categories, which are the program's: what is decided on
 * when a domain is attached to and what is decided on for its marks must agree. The input: up to
 * eight globs, a domain and categories, each ended by a newline; then a byte for each mark.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "capture/internal.h"

#define GLOBS	8
#define THREADS 4
#define LONGEST (2 * MAX_NAME)
#define MOST	512

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
	if (!condition)
		abort();
}

/* Takes a line. Returns false where there is none. */
static bool line(const uint8_t **data, size_t *size, char *out, size_t capacity)
{
	const uint8_t *end = memchr(*data, '\n', *size);
	size_t n = end ? (size_t)(end - *data) : 0;

	if (!end)
		return false;
	*size -= n + 1;
	if (n >= capacity)
		n = capacity - 1;
	memcpy(out, *data, n);
	out[n] = '\0';
	*data = end + 1;
	return true;
}

/* Slices of a few threads: an END is taken exactly when the BEGIN at its level was. */
static void marks(struct capture *c, const struct name *domain, const struct name *category,
		  const uint8_t *data, size_t size)
{
	bool taken[THREADS][MAX_NESTING + 1] = { 0 };
	int depth[THREADS] = { 0 };
	size_t i;

	for (i = 0; i < size; i++) {
		unsigned t = data[i] % THREADS;
		struct event e = { .tid = 10 + t };

		if (data[i] & 0x80) {
			selection_forget(c, e.tid);
			depth[t] = 0;
		} else if (data[i] & 0x40 && depth[t] < MAX_NESTING) {
			e.kind = EVENT_BEGIN;
			e.category = data[i] & 0x20 ? category : domain;
			e.level = depth[t];
			taken[t][depth[t]++] = selection_includes(c, domain, &e);
		} else if (depth[t]) {
			e.kind = EVENT_END;
			e.level = --depth[t];
			must(selection_includes(c, domain, &e) == taken[t][depth[t]]);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct capture c;
	static char globs[GLOBS][LONGEST];
	static const char *list[GLOBS];
	static struct names *names;
	static unsigned uses;
	char domain[MAX_NAME + 1], categories[MAX_NAME + 1], both[2 * MAX_NAME + 3];
	const struct name *d, *all;
	unsigned n = 0;

	if (!size || size > MOST)
		return 0;
	if (!names || ++uses % 1024 == 0) {
		names_free(names);
		names = names_new(0);
	}
	n = *data++ % (GLOBS + 1);
	size--;
	memset(&c, 0, sizeof(c));
	for (c.options.n_domains = 0; c.options.n_domains < n; c.options.n_domains++) {
		list[c.options.n_domains] = globs[c.options.n_domains];
		if (!line(&data, &size, globs[c.options.n_domains], LONGEST))
			return 0;
	}
	c.options.domains = list;
	if (!line(&data, &size, domain, sizeof(domain)) ||
	    !line(&data, &size, categories, sizeof(categories)))
		return 0;
	snprintf(both, sizeof(both), "%s,%s", domain, categories);
	d = names_intern_string(names, domain);
	all = names_intern(names, both, strlen(both), sizeof(both));
	/* Cleaning may make them longer, and then they are cut. */
	if (all->length <= d->length || selection_of(&c, d->text) == NOT_SELECTED)
		return 0;
	marks(&c, d, all, data, size);
	selection_free(&c);
	return 0;
}
