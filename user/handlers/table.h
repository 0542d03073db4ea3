/* SPDX-License-Identifier: BSD-2-Clause */
/* Plain text tables for terminals: aligned columns, names cut to what can be seen, human durations. */
#ifndef PROFTRACE_HANDLERS_TABLE_H
#define PROFTRACE_HANDLERS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TABLE_CELL    256 /* bytes of a cell with its NUL */
#define TABLE_COLUMNS 20

struct table_column {
	const char *title;
	bool left; /* aligned to the left: names */
};

struct table {
	const struct table_column *columns;
	unsigned n_columns;
	size_t n_rows;
	/* Writes the cells of a row. Called twice for each: to measure, and to print. */
	void (*row)(const void *context, size_t row, char cells[TABLE_COLUMNS][TABLE_CELL]);
	const void *context;
	bool color;
};

void table_print(const struct table *table, FILE *out);

/* How many columns of a terminal the text takes: wide characters two, combining ones none. */
unsigned text_width(const char *text);

/* Copies the text; one wider than `max_width` columns or too long for `size` loses its middle to "...". */
void text_shorten(char *out, size_t size, const char *text, unsigned max_width);

/* "999 ns", "1.234 us", "5.000 ms", "3600.000 s" */
void format_duration(char *out, size_t size, uint64_t ns);

#endif
