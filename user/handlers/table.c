/* SPDX-License-Identifier: BSD-2-Clause */
#include "handlers/table.h"

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

/* Steps over one character of valid UTF-8 and says how wide it is. */
static unsigned next_char(const char **text)
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
		width += next_char(&text);
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
		w += next_char(&next);
		if (w > head_width || (size_t)(next - text) > half_bytes)
			break;
	}
	/* The tail is what is left once the rest is narrow enough and short enough. */
	while (tail < head || width > tail_width || length - (size_t)(tail - text) > half_bytes) {
		w = next_char(&tail);
		width -= w;
	}
	memcpy(out, text, (size_t)(head - text));
	out += head - text;
	memcpy(out, dots, 3);
	strcpy(out + 3, tail);
}

static void print_cell(FILE *out, const char *text, unsigned width, bool left, bool last)
{
	int pad = (int)(width - text_width(text));

	if (!left)
		fprintf(out, "%*s", pad, "");
	fputs(text, out);
	if (left && !last)
		fprintf(out, "%*s", pad, "");
	if (!last)
		fputs("  ", out);
}

void table_print(const struct table *table, FILE *out)
{
	char cells[TABLE_COLUMNS][TABLE_CELL];
	unsigned width[TABLE_COLUMNS], i, n = table->n_columns;
	size_t row;

	for (i = 0; i < n; i++)
		width[i] = text_width(table->columns[i].title);
	for (row = 0; row < table->n_rows; row++) {
		table->row(table->context, row, cells);
		for (i = 0; i < n; i++) {
			unsigned w = text_width(cells[i]);

			if (w > width[i])
				width[i] = w;
		}
	}
	if (table->color)
		fputs("\033[1m", out);
	for (i = 0; i < n; i++)
		print_cell(out, table->columns[i].title, width[i], table->columns[i].left,
			   i + 1 == n);
	if (table->color)
		fputs("\033[0m", out);
	fputc('\n', out);
	for (row = 0; row < table->n_rows; row++) {
		table->row(table->context, row, cells);
		for (i = 0; i < n; i++)
			print_cell(out, cells[i], width[i], table->columns[i].left, i + 1 == n);
		fputc('\n', out);
	}
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
