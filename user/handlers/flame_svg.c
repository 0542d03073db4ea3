/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The picture. Widths are percentages, so that it is as wide as the window; what the script does is
 * comfort: without it, frames have their labels, as they fit into 1200 pixels, and their tooltips.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "flame_script.h"
#include "flame_style.h"
#include "handlers/flame_tree.h"

enum {
	WIDTH = 1200, /* pixels */
	MARGIN = 10,
	TOP = 64, /* title and the line below it */
	BOTTOM = 46,
	ROW = 17,
	SHADES = 6, /* of each kind, in flame.css */
};

#define CHARACTER 6.65 /* pixels that one takes, at the most */
#define NARROWEST 0.1  /* pixels of a frame that is drawn */

struct drawing {
	const struct flame *flame;
	const struct flame_text *text;
	FILE *out;
	unsigned rows;
	uint64_t merged; /* frames too narrow to be drawn */
};

/* --- text -------------------------------------------------------------------------------------- */

/* Valid UTF-8 without control characters, as names are; but XML has no U+FFFE and U+FFFF. */
static void put_bytes(const char *text, size_t length, FILE *out)
{
	size_t i;

	for (i = 0; i < length; i++) {
		if (length - i >= 3 && !memcmp(text + i, "\xef\xbf", 2) &&
		    (uint8_t)text[i + 2] >= 0xbe) {
			fputs("\xef\xbf\xbd", out);
			i += 2;
			continue;
		}
		switch (text[i]) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		default:
			putc(text[i], out);
		}
	}
}

static void put_text(const char *text, FILE *out)
{
	put_bytes(text, strlen(text), out);
}

/* 1,234,567 */
static void put_count(uint64_t n, FILE *out)
{
	char digits[24];
	int i, length = snprintf(digits, sizeof(digits), "%" PRIu64, n);

	for (i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			putc(',', out);
		putc(digits[i], out);
	}
}

/* As many characters as have room, the last of them then an ellipsis. */
static void put_label(const char *text, double pixels, FILE *out)
{
	size_t room = pixels > 6 ? (size_t)((pixels - 6) / CHARACTER) : 0, i, n = 0, cut = 0;

	for (i = 0; text[i]; i++) {
		if ((text[i] & 0xc0) == 0x80)
			continue;
		if (n + 1 == room)
			cut = i;
		if (n++ == room)
			break;
	}
	if (n <= room) {
		put_text(text, out);
	} else if (room >= 3) {
		put_bytes(text, cut, out);
		fputs("\xe2\x80\xa6", out);
	}
}

/* --- frames ------------------------------------------------------------------------------------ */

static double percent(const struct drawing *d, uint64_t weight)
{
	return 100.0 * (double)weight / (double)d->flame->root.total;
}

static double pixels(const struct drawing *d, uint64_t weight)
{
	return (WIDTH - 2 * MARGIN) * percent(d, weight) / 100;
}

static bool is_narrow(const struct drawing *d, uint64_t weight)
{
	return pixels(d, weight) < NARROWEST;
}

/* The same name has the same shade, in every graph. */
static unsigned shade_of(const char *name)
{
	uint32_t hash = 2166136261u;

	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * 16777619u;
	return (hash >> 16) % SHADES;
}

static void put_frame(const struct drawing *d, const char *name, enum flame_kind kind,
		      uint64_t begin, uint64_t weight, unsigned depth)
{
	static const char classes[] = "nijko";
	unsigned y = (d->rows - 1 - depth) * ROW;
	FILE *out = d->out;

	fprintf(out, "<g><title>");
	put_text(name, out);
	fputs(" (", out);
	put_count(weight, out);
	fprintf(out,
		" %s, %.2f%%)</title><rect x=\"%.4f%%\" y=\"%u\" width=\"%.4f%%\" class=\"%c%u\"/>",
		d->text->unit, percent(d, weight), percent(d, begin), y, percent(d, weight),
		classes[kind], kind == FLAME_OTHER ? 0 : shade_of(name));
	fprintf(out, "<text x=\"%.4f%%\" y=\"%u\">", percent(d, begin), y + ROW - 5);
	put_label(name, pixels(d, weight), out);
	fputs("</text></g>\n", out);
}

/* Frames of it and of all that it called. */
static uint64_t count_frames(const struct flame_node *node)
{
	uint64_t n = 1;

	for (node = node->children; node; node = node->next)
		n += count_frames(node);
	return n;
}

/* Side by side in the order of their names; at the end, as one, those too narrow to be seen. */
static void draw_children(struct drawing *d, const struct flame_node *node, uint64_t begin,
			  unsigned depth)
{
	const struct flame_node *child;
	uint64_t narrow = 0, n = 0;
	char name[64];

	for (child = node->children; child; child = child->next) {
		if (is_narrow(d, child->total)) {
			narrow += child->total;
			n += count_frames(child);
			continue;
		}
		put_frame(d, child->key.name->text, child->kind, begin, child->total, depth);
		draw_children(d, child, begin, depth + 1);
		begin += child->total;
	}
	d->merged += n;
	if (!n || is_narrow(d, narrow))
		return;
	snprintf(name, sizeof(name), "(%" PRIu64 " frames too narrow)", n);
	put_frame(d, name, FLAME_OTHER, begin, narrow, depth);
}

static unsigned rows_of(const struct drawing *d, const struct flame_node *node)
{
	const struct flame_node *child;
	unsigned most = 0;

	for (child = node->children; child; child = child->next) {
		unsigned rows = is_narrow(d, child->total) ? 1 : rows_of(d, child);

		if (rows > most)
			most = rows;
	}
	return most + 1;
}

/* --- what is around them ----------------------------------------------------------------------- */

static void put_head(const struct drawing *d, unsigned height)
{
	FILE *out = d->out;

	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"flame\" width=\"%d\" "
		"height=\"%u\">\n<title>",
		WIDTH, height);
	put_text(d->text->title, out);
	fputs("</title>\n<style>\n", out);
	fputs(flame_style, out);
	fprintf(out, "</style>\n<rect class=\"page\" width=\"100%%\" height=\"100%%\"/>\n"
		     "<text class=\"title\" x=\"50%%\" y=\"26\">");
	put_text(d->text->title, out);
	fputs("</text>\n<text class=\"about\" x=\"50%\" y=\"46\">", out);
	if (d->text->subtitle)
		put_text(d->text->subtitle, out);
	fputs("</text>\n", out);
}

static void put_legend(const struct drawing *d, unsigned y)
{
	static const struct {
		const char *name;
		char class;
	} kinds[] = {
		{ "native", 'n' },
		{ "inlined", 'i' },
		{ "JIT", 'j' },
		{ "kernel", 'k' },
	};
	unsigned i, x = MARGIN;

	fputs("<g class=\"legend\">", d->out);
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		fprintf(d->out,
			"<rect x=\"%u\" y=\"%u\" width=\"10\" height=\"10\" class=\"%c2\"/>"
			"<text x=\"%u\" y=\"%u\">%s</text>",
			x, y - 9, kinds[i].class, x + 14, y, kinds[i].name);
		x += 24 + 7 * (unsigned)strlen(kinds[i].name);
	}
	if (d->merged) {
		fprintf(d->out, "<text x=\"%u\" y=\"%u\">", x + 6, y);
		put_count(d->merged, d->out);
		fputs(" frames too narrow to be drawn</text>", d->out);
	}
	fputs("</g>\n", d->out);
}

/* Shown by the script, which they are of no use without. */
static void put_controls(const struct drawing *d)
{
	fprintf(d->out,
		"<g id=\"controls\" display=\"none\">"
		"<text id=\"reset\" class=\"button\" x=\"%d\" y=\"26\" tabindex=\"0\">"
		"reset zoom</text>"
		"<text id=\"search\" class=\"button right\" x=\"100%%\" dx=\"-%d\" y=\"26\" "
		"tabindex=\"0\">search (Ctrl-F)</text></g>\n"
		"<text id=\"matched\" class=\"about right\" x=\"100%%\" dx=\"-%d\" "
		"y=\"46\"></text>\n",
		MARGIN, MARGIN, MARGIN);
}

void flame_write_svg(struct flame *flame, const struct flame_text *text, FILE *out)
{
	struct drawing d = { .flame = flame, .text = text, .out = out };
	unsigned height;

	flame_sort(&flame->root);
	d.rows = rows_of(&d, &flame->root);
	height = TOP + d.rows * ROW + BOTTOM;
	put_head(&d, height);
	put_controls(&d);
	fprintf(out, "<svg id=\"frames\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%u\">\n", MARGIN,
		TOP, WIDTH - 2 * MARGIN, d.rows * ROW);
	if (flame->root.total) {
		put_frame(&d, "all", FLAME_OTHER, 0, flame->root.total, 0);
		draw_children(&d, &flame->root, 0, 1);
	}
	fprintf(out, "</svg>\n<text id=\"details\" x=\"%d\" y=\"%u\">%s</text>\n", MARGIN,
		height - BOTTOM + 18, flame->root.total ? "" : "no samples");
	put_legend(&d, height - 10);
	fputs("<script><![CDATA[\n", out);
	fputs(flame_script, out);
	fputs("]]></script>\n</svg>\n", out);
}
