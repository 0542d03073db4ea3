/* SPDX-License-Identifier: BSD-2-Clause */
/* Collects samples and computes their medians (results.h). */
#include "results.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void *grown(void *array, unsigned n, size_t size)
{
	void *bigger = n % 64 ? array : realloc(array, (n + 64) * size);

	if (!bigger) {
		fprintf(stderr, "bench: no memory\n");
		exit(1);
	}
	return bigger;
}

static struct cell *find(const struct results *r, const char *section, const char *row,
			 const char *column)
{
	unsigned i;

	for (i = 0; i < r->n_cells; i++) {
		struct cell *c = &r->cells[i];

		if (!strcmp(c->section, section) && !strcmp(c->row, row) &&
		    !strcmp(c->column, column))
			return c;
	}
	return NULL;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void sum_up(struct cell *c)
{
	double sorted[MAX_SAMPLES];

	memcpy(sorted, c->samples, c->n * sizeof(sorted[0]));
	qsort(sorted, c->n, sizeof(sorted[0]), compare);
	c->min = sorted[0];
	c->max = sorted[c->n - 1];
	c->median = (sorted[(c->n - 1) / 2] + sorted[c->n / 2]) / 2;
}

void results_add(struct results *r, const char *section, const char *row, const char *column,
		 const char *unit, double sample)
{
	struct cell *c = find(r, section, row, column);

	if (!c) {
		r->cells = grown(r->cells, r->n_cells, sizeof(*r->cells));
		c = &r->cells[r->n_cells++];
		memset(c, 0, sizeof(*c));
		c->section = section;
		c->row = row;
		c->column = column;
		c->unit = unit;
	}
	if (c->n == MAX_SAMPLES)
		return;
	c->samples[c->n++] = sample;
	sum_up(c);
}

/* "name\0value" in one piece. */
static char *pair(const char *name, const char *format, va_list args)
{
	size_t n = strlen(name) + 1;
	char value[512], *text;

	vsnprintf(value, sizeof(value), format, args);
	text = malloc(n + strlen(value) + 1);
	if (!text) {
		fprintf(stderr, "bench: no memory\n");
		exit(1);
	}
	memcpy(text, name, n);
	strcpy(text + n, value);
	return text;
}

static const char *value_of(const char *text)
{
	return text + strlen(text) + 1;
}

static void keep(char ***list, unsigned *n, char *text)
{
	unsigned i;

	for (i = 0; i < *n; i++) {
		if (!strcmp((*list)[i], text) && !strcmp(value_of((*list)[i]), value_of(text))) {
			free(text);
			return;
		}
	}
	*list = grown(*list, *n, sizeof(**list));
	(*list)[(*n)++] = text;
}

void results_note(struct results *r, const char *section, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	keep(&r->notes, &r->n_notes, pair(section, format, args));
	va_end(args);
}

void results_fact(struct results *r, const char *name, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	keep(&r->facts, &r->n_facts, pair(name, format, args));
	va_end(args);
}

const struct cell *results_find(const struct results *r, const char *section, const char *row,
				const char *column)
{
	return find(r, section, row, column);
}

double results_last(const struct results *r, const char *section, const char *row,
		    const char *column)
{
	const struct cell *c = find(r, section, row, column);

	return c ? c->samples[c->n - 1] : NAN;
}

void results_free(struct results *r)
{
	unsigned i;

	for (i = 0; i < r->n_notes; i++)
		free(r->notes[i]);
	for (i = 0; i < r->n_facts; i++)
		free(r->facts[i]);
	free(r->notes);
	free(r->facts);
	free(r->cells);
	memset(r, 0, sizeof(*r));
}
