/* SPDX-License-Identifier: BSD-2-Clause */
/* The results as tables for people, and as JSON for machines. */
#include "results.h"

#include <math.h>
#include <string.h>

enum {
	MAX_SIDE = 32
};

/* One section's rows or columns, in order. */
struct side {
	unsigned n;
	const char *names[MAX_SIDE];
};

static void side_add(struct side *s, const char *name)
{
	unsigned i;

	for (i = 0; i < s->n; i++) {
		if (!strcmp(s->names[i], name))
			return;
	}
	if (s->n < MAX_SIDE)
		s->names[s->n++] = name;
}

/* Three digits that count, thousands apart: 0.31, 14.2, 756, 23,100. */
static void print_number(char *out, size_t size, double value)
{
	char digits[32];
	size_t i, n, at = 0;

	if (fabs(value) < 99.95) {
		snprintf(out, size, "%.*f", fabs(value) < 9.995 ? 2 : 1, value);
		return;
	}
	n = snprintf(digits, sizeof(digits), "%.0f", value);
	for (i = 0; i < n && at + 2 < size; i++) {
		out[at++] = digits[i];
		if ((n - i) % 3 == 1 && i + 1 < n && digits[i] != '-')
			out[at++] = ',';
	}
	out[at] = '\0';
}

static void print_cell(char *out, size_t size, const struct cell *c)
{
	char median[24], min[24], max[24];

	if (!c) {
		snprintf(out, size, "-");
		return;
	}
	if (!*c->unit) { /* a count */
		snprintf(out, size, "%.0f", c->median);
		return;
	}
	print_number(median, sizeof(median), c->median);
	print_number(min, sizeof(min), c->min);
	print_number(max, sizeof(max), c->max);
	if (c->n == 1 || (!strcmp(min, max)))
		snprintf(out, size, "%s", median);
	else
		snprintf(out, size, "%s (%s-%s)", median, min, max);
}

static unsigned column_width(const struct results *r, const char *section, const struct side *rows,
			     const char *column)
{
	unsigned width = strlen(column), i;
	char text[80];

	for (i = 0; i < rows->n; i++) {
		print_cell(text, sizeof(text), results_find(r, section, rows->names[i], column));
		if (strlen(text) > width)
			width = strlen(text);
	}
	return width;
}

static void print_section(const struct results *r, const char *section, FILE *out)
{
	struct side rows = { 0 }, columns = { 0 };
	unsigned widths[MAX_SIDE], i, j, first = 0;
	char text[80];

	for (i = 0; i < r->n_cells; i++) {
		if (strcmp(r->cells[i].section, section))
			continue;
		side_add(&rows, r->cells[i].row);
		side_add(&columns, r->cells[i].column);
	}
	for (i = 0; i < rows.n; i++)
		first = strlen(rows.names[i]) > first ? strlen(rows.names[i]) : first;
	fprintf(out, "\n%s\n\n  %-*s", section, (int)first, "");
	for (j = 0; j < columns.n; j++) {
		widths[j] = column_width(r, section, &rows, columns.names[j]);
		fprintf(out, "  %*s", (int)widths[j], columns.names[j]);
	}
	for (i = 0; i < rows.n; i++) {
		fprintf(out, "\n  %-*s", (int)first, rows.names[i]);
		for (j = 0; j < columns.n; j++) {
			print_cell(text, sizeof(text),
				   results_find(r, section, rows.names[i], columns.names[j]));
			fprintf(out, "  %*s", (int)widths[j], text);
		}
	}
	fputc('\n', out);
	for (i = 0; i < r->n_notes; i++) {
		if (!strcmp(r->notes[i], section))
			fprintf(out, "  * %s\n", r->notes[i] + strlen(section) + 1);
	}
}

static void list_sections(const struct results *r, struct side *sections)
{
	unsigned i;

	for (i = 0; i < r->n_cells; i++)
		side_add(sections, r->cells[i].section);
	for (i = 0; i < r->n_notes; i++)
		side_add(sections, r->notes[i]);
}

void print_tables(const struct results *r, FILE *out)
{
	struct side sections = { 0 };
	unsigned i;

	for (i = 0; i < r->n_facts; i++)
		fprintf(out, "%s: %s\n", r->facts[i], r->facts[i] + strlen(r->facts[i]) + 1);
	fprintf(out, "Medians, with the lowest and the highest in brackets.\n");
	list_sections(r, &sections);
	for (i = 0; i < sections.n; i++)
		print_section(r, sections.names[i], out);
}

static void json_string(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		if ((unsigned char)*text < 0x20)
			fprintf(out, "\\u%04x", (unsigned char)*text);
		else
			fputc(*text, out);
	}
	fputc('"', out);
}

static void json_pairs(FILE *out, char *const *pairs, unsigned n, const char *name,
		       const char *value)
{
	unsigned i;

	for (i = 0; i < n; i++) {
		fprintf(out, "%s\n    {\"%s\": ", i ? "," : "", name);
		json_string(out, pairs[i]);
		fprintf(out, ", \"%s\": ", value);
		json_string(out, pairs[i] + strlen(pairs[i]) + 1);
		fputc('}', out);
	}
}

static void json_cell(FILE *out, const struct cell *c)
{
	unsigned i;

	fputs("    {\"section\": ", out);
	json_string(out, c->section);
	fputs(", \"row\": ", out);
	json_string(out, c->row);
	fputs(", \"column\": ", out);
	json_string(out, c->column);
	fputs(", \"unit\": ", out);
	json_string(out, c->unit);
	fprintf(out, ", \"median\": %.6g, \"min\": %.6g, \"max\": %.6g, \"samples\": [", c->median,
		c->min, c->max);
	for (i = 0; i < c->n; i++)
		fprintf(out, "%s%.6g", i ? ", " : "", c->samples[i]);
	fputs("]}", out);
}

void print_json(const struct results *r, FILE *out)
{
	unsigned i;

	fputs("{\n  \"machine\": [", out);
	json_pairs(out, r->facts, r->n_facts, "name", "value");
	fputs("\n  ],\n  \"notes\": [", out);
	json_pairs(out, r->notes, r->n_notes, "section", "note");
	fputs("\n  ],\n  \"figures\": [\n", out);
	for (i = 0; i < r->n_cells; i++) {
		json_cell(out, &r->cells[i]);
		fputs(i + 1 < r->n_cells ? ",\n" : "\n", out);
	}
	fputs("  ]\n}\n", out);
}
