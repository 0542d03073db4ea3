/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text tables for terminals: aligned columns, names shortened to the width there is, and numbers in
 * units for people.
 */
#ifndef PROFTRACE_REPORTS_TABLE_TABLE_H
#define PROFTRACE_REPORTS_TABLE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TABLE_CELL    1600 /* bytes of a cell with its NUL: enough for the longest name */
#define TABLE_COLUMNS 80

struct table_column {
	const char *title;
	bool left; /* left-aligned, and shortened when the line is too wide: names */
	/* columns with the largest number are dropped first when the line is too wide; 0: never */
	unsigned drop;
};

struct table {
	const struct table_column *columns;
	unsigned n_columns;
	size_t n_rows;
	/*
	 * Writes the text of a cell (TABLE_CELL bytes). Called twice for each: to measure and to
	 * print.
	 */
	void (*cell)(const void *context, size_t row, unsigned column, char *text);
	const void *context;
	bool color;
	unsigned width; /* of the terminal: no line is wider. 0: not limited */
};

/* Returns how many columns were dropped because the line was too wide. */
unsigned table_print(const struct table *table, FILE *out);

/* How many columns of a terminal the text takes: wide characters two, combining ones none. */
unsigned text_width(const char *text);

/* Copies the text; one wider than `max_width` columns or too long for `size` loses its middle to "...". */
void text_shorten(char *out, size_t size, const char *text, unsigned max_width);

/* "999 ns", "1.234 us", "5.000 ms", "3600.000 s" */
void format_duration(char *out, size_t size, uint64_t ns);

/* "999 B", "1.500 KB", "12.000 GB": powers of 1000 */
void format_bytes(char *out, size_t size, uint64_t bytes);

/* "999999", then "1.235 M", "12.000 G", "18.447 E" */
void format_count(char *out, size_t size, uint64_t count);

/* "0.001234", "1.234", "1234.5", then as a count */
void format_real(char *out, size_t size, double value);

#endif
