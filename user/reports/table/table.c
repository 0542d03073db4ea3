/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The layout of tables: every column is as wide as its widest cell. When the line is wider than the
 * terminal, columns are dropped by their priority until names have LEAST_NAME characters, and names
 * are shortened to the rest.
 */
#include "reports/table/table.h"

#include "base/text.h"

#include <inttypes.h>
#include <string.h>

/*
 * Ranges of characters that take no column or two, the large blocks of Unicode 15. The C library's
 * wcwidth() knows them one by one, but only after setlocale(), which a table should not depend on.
 */
static const struct {
	uint32_t first, last;
	unsigned width;
} widths[] = {
	{ 0x0300, 0x036f, 0 },	 { 0x0483, 0x0489, 0 },	  { 0x0591, 0x05bd, 0 },
	{ 0x0610, 0x061a, 0 },	 { 0x064b, 0x065f, 0 },	  { 0x1100, 0x115f, 2 },
	{ 0x1ab0, 0x1aff, 0 },	 { 0x1dc0, 0x1dff, 0 },	  { 0x200b, 0x200f, 0 },
	{ 0x202a, 0x202e, 0 },	 { 0x2060, 0x2064, 0 },	  { 0x20d0, 0x20ff, 0 },
	{ 0x2e80, 0x303e, 2 },	 { 0x3041, 0x33ff, 2 },	  { 0x3400, 0x4dbf, 2 },
	{ 0x4e00, 0xa4cf, 2 },	 { 0xa960, 0xa97f, 2 },	  { 0xac00, 0xd7a3, 2 },
	{ 0xf900, 0xfaff, 2 },	 { 0xfe00, 0xfe0f, 0 },	  { 0xfe20, 0xfe2f, 0 },
	{ 0xfe30, 0xfe6f, 2 },	 { 0xfeff, 0xfeff, 0 },	  { 0xff00, 0xff60, 2 },
	{ 0xffe0, 0xffe6, 2 },	 { 0x1f300, 0x1f64f, 2 }, { 0x1f680, 0x1f6ff, 2 },
	{ 0x1f900, 0x1f9ff, 2 }, { 0x20000, 0x3fffd, 2 }, { 0xe0100, 0xe01ef, 0 },
};

/* Advances over one character of valid UTF-8 and returns its width. */
static unsigned next_char_width(const char **text)
{
	const unsigned char *s = (const unsigned char *)*text;
	unsigned length = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	uint32_t code = length == 1 ? s[0] : s[0] & (0x7fu >> length);
	unsigned i;

	for (i = 1; i < length && s[i]; i++)
		code = code << 6 | (s[i] & 0x3f);
	*text += i;
	for (i = 0; i < sizeof(widths) / sizeof(widths[0]) && widths[i].first <= code; i++) {
		if (code <= widths[i].last)
			return widths[i].width;
	}
	return 1;
}

unsigned text_width(const char *text)
{
	unsigned width = 0;

	while (*text)
		width += next_char_width(&text);
	return width;
}

void text_shorten(char *out, size_t size, const char *text, unsigned max_width)
{
	static const char dots[] = "...";
	size_t length = strlen(text), half_bytes = (size - sizeof(dots)) / 2;
	unsigned width = text_width(text), head_width, tail_width, w;
	const char *head = text, *tail = text, *next;

	if (width <= max_width && length < size) {
		memcpy(out, text, length + 1);
		return;
	}
	tail_width = (max_width - 3) / 2;
	head_width = max_width - 3 - tail_width;
	for (next = head, w = 0;; head = next) {
		w += next_char_width(&next);
		if (w > head_width || (size_t)(next - text) > half_bytes)
			break;
	}
	/* The tail begins where the rest of the text is narrow and short enough. */
	while (tail < head || width > tail_width || length - (size_t)(tail - text) > half_bytes) {
		w = next_char_width(&tail);
		width -= w;
	}
	memcpy(out, text, (size_t)(head - text));
	out += head - text;
	memcpy(out, dots, 3);
	strcpy(out + 3, tail);
}

/* The widths of the columns. */
struct layout {
	unsigned width[TABLE_COLUMNS];
	bool dropped[TABLE_COLUMNS];
};

enum {
	GAP = 2,
	LEAST_NAME =
		12, /* characters that a name gets before columns of numbers are dropped for it */
	LEAST_WIDTH = 4,
};

/* Names are visible already; paths, patterns and whatever else comes here become so. */
static void format_table_cell(const struct table *table, size_t row, unsigned column, char *text)
{
	table->cell(table->context, row, column, text);
	text_make_visible(text);
}

static void format_table_title(const struct table *table, unsigned column, char *text)
{
	text_copy_visible(text, TABLE_CELL, table->columns[column].title);
}

static void measure_columns(const struct table *table, struct layout *layout, char *text)
{
	unsigned w;

	for (unsigned i = 0; i < table->n_columns; i++) {
		format_table_title(table, i, text);
		layout->width[i] = text_width(text);
		for (size_t row = 0; row < table->n_rows; row++) {
			format_table_cell(table, row, i, text);
			w = text_width(text);
			if (w > layout->width[i])
				layout->width[i] = w;
		}
	}
}

/* The width of a line in which no name is wider than `name`. */
static unsigned needed_width(const struct table *table, const struct layout *layout, unsigned name)
{
	unsigned i, sum = 0;

	for (i = 0; i < table->n_columns; i++) {
		unsigned w = layout->width[i];

		if (layout->dropped[i])
			continue;
		sum += (table->columns[i].left && w > name ? name : w) + (sum ? GAP : 0);
	}
	return sum;
}

static bool drop_column(const struct table *table, struct layout *layout)
{
	unsigned i, found = table->n_columns;

	for (i = 0; i < table->n_columns; i++) {
		unsigned drop = layout->dropped[i] ? 0 : table->columns[i].drop;

		if (drop && (found == table->n_columns || drop >= table->columns[found].drop))
			found = i;
	}
	if (found == table->n_columns)
		return false;
	layout->dropped[found] = true;
	return true;
}

/* Drops columns until names have LEAST_NAME characters, then gives names the rest of the line. */
static unsigned fit_columns(const struct table *table, struct layout *layout)
{
	unsigned i, name, n_dropped = 0;

	if (!table->width)
		return 0;
	while (needed_width(table, layout, LEAST_NAME) > table->width && drop_column(table, layout))
		n_dropped++;
	for (name = table->width; name > LEAST_WIDTH; name--) {
		if (needed_width(table, layout, name) <= table->width)
			break;
	}
	for (i = 0; i < table->n_columns; i++) {
		if (table->columns[i].left && layout->width[i] > name)
			layout->width[i] = name;
	}
	return n_dropped;
}

/* The last column is not padded; a column that is too wide on its own is shortened. */
static void print_table_cell(FILE *out, const char *text, unsigned width, bool left, bool last)
{
	char shortened[TABLE_CELL];
	int pad;

	if (text_width(text) > width) {
		text_shorten(shortened, sizeof(shortened), text, width);
		text = shortened;
	}
	pad = (int)(width - text_width(text));
	if (!left)
		fprintf(out, "%*s", pad, "");
	fputs(text, out);
	if (left && !last)
		fprintf(out, "%*s", pad, "");
	if (!last)
		fprintf(out, "%*s", GAP, "");
}

static void print_table_line(const struct table *table, const struct layout *layout, FILE *out,
			     size_t row, bool titles, char *text)
{
	unsigned i, last = 0;

	for (i = 0; i < table->n_columns; i++) {
		if (!layout->dropped[i])
			last = i;
	}
	for (i = 0; i < table->n_columns; i++) {
		if (layout->dropped[i])
			continue;
		if (titles)
			format_table_title(table, i, text);
		else
			format_table_cell(table, row, i, text);
		print_table_cell(out, text, layout->width[i], table->columns[i].left, i == last);
	}
}

unsigned table_print(const struct table *table, FILE *out)
{
	struct layout layout = { 0 };
	char text[TABLE_CELL];
	unsigned n_dropped;

	measure_columns(table, &layout, text);
	n_dropped = fit_columns(table, &layout);
	if (table->color)
		fputs("\033[1m", out);
	print_table_line(table, &layout, out, 0, true, text);
	if (table->color)
		fputs("\033[0m", out);
	fputc('\n', out);
	for (size_t row = 0; row < table->n_rows; row++) {
		print_table_line(table, &layout, out, row, false, text);
		fputc('\n', out);
	}
	return n_dropped;
}

void format_duration(char *out, size_t size, uint64_t ns)
{
	/* Three decimals, rounded where there are more; the rounding may carry into the next unit. */
	uint64_t us = ns / 1000 + (ns % 1000 >= 500);
	uint64_t ms = ns / 1000000 + (ns % 1000000 >= 500000);

	if (ns < 1000)
		snprintf(out, size, "%" PRIu64 " ns", ns);
	else if (ns < 1000000)
		snprintf(out, size, "%" PRIu64 ".%03u us", ns / 1000, (unsigned)(ns % 1000));
	else if (us < 1000000)
		snprintf(out, size, "%" PRIu64 ".%03u ms", us / 1000, (unsigned)(us % 1000));
	else
		snprintf(out, size, "%" PRIu64 ".%03u s", ms / 1000, (unsigned)(ms % 1000));
}

static void format_with_unit(char *out, size_t size, uint64_t value, const char *const *units)
{
	uint64_t one = 1000;
	unsigned i = 0;

	/* The rounding of the last of three decimals may carry into the next unit. */
	while (i < 5 && value / one >= 1000) {
		one *= 1000;
		i++;
	}
	snprintf(out, size, "%.3f %s", (double)((long double)value / (long double)one), units[i]);
}

void format_bytes(char *out, size_t size, uint64_t bytes)
{
	static const char *const units[] = { "KB", "MB", "GB", "TB", "PB", "EB" };

	if (bytes < 1000)
		snprintf(out, size, "%" PRIu64 " B", bytes);
	else
		format_with_unit(out, size, bytes, units);
}

void format_count(char *out, size_t size, uint64_t count)
{
	static const char *const units[] = { "k", "M", "G", "T", "P", "E" };

	if (count < 1000000)
		snprintf(out, size, "%" PRIu64, count);
	else
		format_with_unit(out, size, count, units);
}

void format_real(char *out, size_t size, double value)
{
	double magnitude = value < 0 ? -value : value;

	if (magnitude >= 1e18 || (magnitude > 0 && magnitude < 1e-6) || value != value)
		snprintf(out, size, "%g", value);
	else if (value >= 1e6)
		format_count(out, size, (uint64_t)value);
	else if (magnitude >= 1000)
		snprintf(out, size, "%.1f", value);
	else if (magnitude >= 1 || magnitude == 0)
		snprintf(out, size, "%.3f", value);
	else
		snprintf(out, size, "%.6f", value);
}
