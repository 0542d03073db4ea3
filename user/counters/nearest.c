/* SPDX-License-Identifier: BSD-2-Clause */
/* Suggests names for one that cannot be counted, by the edit distance (Levenshtein). */
#include "counters/counters.h"

#include <string.h>

#define NEAREST 3

static unsigned least_of_three(unsigned a, unsigned b, unsigned c)
{
	unsigned m = a < b ? a : b;

	return m < c ? m : c;
}

/* How many letters have to be inserted, deleted or replaced to make one name the other. */
static unsigned edit_distance(const char *a, const char *b)
{
	unsigned row[COUNTER_NAME + 1], i, j;
	size_t n = strnlen(b, COUNTER_NAME);

	for (j = 0; j <= n; j++)
		row[j] = j;
	for (i = 1; a[i - 1]; i++) {
		unsigned corner = row[0];

		row[0] = i;
		for (j = 1; j <= n; j++) {
			unsigned above = row[j];

			row[j] = least_of_three(above + 1, row[j - 1] + 1,
						corner + (a[i - 1] != b[j - 1]));
			corner = above;
		}
	}
	return row[n];
}

struct nearest {
	const char *name; /* the name that cannot be counted */
	bool (*counts)(const char *name);
	unsigned distance[NEAREST];
	char names[NEAREST][COUNTER_NAME];
};

static bool nearest_is_new(const struct nearest *n, const char *name)
{
	for (int i = 0; i < NEAREST; i++) {
		if (!strcmp(n->names[i], name))
			return false;
	}
	return true;
}

static void consider_name(struct nearest *n, const char *name)
{
	size_t wanted = strlen(n->name), length = strlen(name);
	size_t apart = wanted > length ? wanted - length : length - wanted;
	int i, at = NEAREST;
	unsigned d = ~0u;

	/*
	 * A prefix of a name means that name. The distance is at least the difference in length, so
	 * most names need no computation.
	 */
	if (!strncmp(n->name, name, wanted))
		d = 1;
	else if (length < COUNTER_NAME && apart < n->distance[NEAREST - 1])
		d = edit_distance(n->name, name);
	while (at > 0 && d < n->distance[at - 1])
		at--;
	if (at == NEAREST || !nearest_is_new(n, name) || (n->counts && !n->counts(name)))
		return;
	for (i = NEAREST - 1; i > at; i--) {
		n->distance[i] = n->distance[i - 1];
		memcpy(n->names[i], n->names[i - 1], COUNTER_NAME);
	}
	n->distance[at] = d;
	snprintf(n->names[at], COUNTER_NAME, "%s", name);
}

static void consider_event_name(void *context, const char *name, const char *text)
{
	const char *event = strstr(name, "::");

	(void)text;
	consider_name(context, event ? event + 2 : name);
}

void counters_nearest(const char *name, bool (*counts)(const char *name), char *out, size_t size)
{
	struct nearest nearest = { .name = name, .counts = counts };
	size_t n = 0;

	for (unsigned i = 0; i < NEAREST; i++) /* names further away are no help */
		nearest.distance[i] = (unsigned)strlen(name) / 2 + 1;
	for (unsigned i = 0; counters_known(i); i++) {
		consider_name(&nearest, counters_known(i));
		if (counters_other_name(i))
			consider_name(&nearest, counters_other_name(i));
	}
	libpfm_each(consider_event_name, &nearest);
	out[0] = '\0';
	for (unsigned i = 0; i < NEAREST && nearest.names[i][0] && n < size; i++)
		n += (size_t)snprintf(out + n, size - n, "%s%s", i ? ", " : "", nearest.names[i]);
}
