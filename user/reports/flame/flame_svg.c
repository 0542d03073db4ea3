/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Draws a flame graph as SVG. Widths are percentages, so that the picture is as wide as the window.
 * The script only adds comfort: without it, frames have their labels, as they fit into 1200 pixels,
 * and their tooltips.
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "flame_script.h"
#include "flame_style.h"
#include "reports/flame/flame_tree.h"

enum {
	WIDTH = 1200, /* pixels */
	MARGIN = 10,
	TOP = 64, /* title and subtitle */
	BOTTOM = 46,
	ROW = 17,
	SHADES = 6, /* of each kind, in flame.css */
};

#define CHARACTER 6.65 /* the width of one character in pixels, at most */
#define NARROWEST 0.1  /* the width of the narrowest frame that is drawn, in pixels */

struct drawing {
	const struct flame *flame;
	const struct flame_text *text;
	FILE *out;
	unsigned rows;
	uint64_t merged; /* the number of frames too narrow to be drawn */
};

/* --- text -------------------------------------------------------------------------------------- */

/*
 * Names are valid UTF-8 without control characters, but XML does not permit U+FFFE and U+FFFF
 * either.
 */
static void svg_put_bytes(const char *text, size_t length, FILE *out)
{
	for (size_t i = 0; i < length; i++) {
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

static void svg_put_text(const char *text, FILE *out)
{
	svg_put_bytes(text, strlen(text), out);
}

/* 1,234,567 */
static void svg_put_count(uint64_t n, FILE *out)
{
	char digits[24];
	int i, length = snprintf(digits, sizeof(digits), "%" PRIu64, n);

	for (i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			putc(',', out);
		putc(digits[i], out);
	}
}

/* As many characters as fit, the last one replaced by an ellipsis if there are more. */
static void svg_put_label(const char *text, double pixels, FILE *out)
{
	size_t fitting = pixels > 6 ? (size_t)((pixels - 6) / CHARACTER) : 0, i, n = 0, cut = 0;

	for (i = 0; text[i]; i++) {
		if ((text[i] & 0xc0) == 0x80)
			continue;
		if (n + 1 == fitting)
			cut = i;
		if (n++ == fitting)
			break;
	}
	if (n <= fitting) {
		svg_put_text(text, out);
	} else if (fitting >= 3) {
		svg_put_bytes(text, cut, out);
		fputs("\xe2\x80\xa6", out);
	}
}

/* --- frames ------------------------------------------------------------------------------------ */

static double weight_percent(const struct drawing *d, uint64_t weight)
{
	return 100.0 * (double)weight / (double)d->flame->root.total;
}

static double weight_pixels(const struct drawing *d, uint64_t weight)
{
	return (WIDTH - 2 * MARGIN) * weight_percent(d, weight) / 100;
}

static bool is_too_narrow(const struct drawing *d, uint64_t weight)
{
	return weight_pixels(d, weight) < NARROWEST;
}

/* A hash: FNV-1a. */
static unsigned name_shade(const char *name)
{
	uint32_t hash = 2166136261u;

	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * 16777619u;
	return (hash >> 16) % SHADES;
}

void flame_put_class(enum flame_kind kind, const char *name, FILE *out)
{
	static const char classes[] = "nijpko";

	fprintf(out, "%c%u", classes[kind], kind == FLAME_OTHER ? 0 : name_shade(name));
}

/* In a differential graph: red shades for what grew, blue ones for what shrank. */
static void svg_put_class(const struct drawing *d, const struct flame_node *node, const char *name,
			  enum flame_kind kind)
{
	static const double steps[] = { 0.01, 0.03, 0.1, 0.3, 1 };
	unsigned shade = 0;
	double growth;

	if (!d->flame->ratio || !node || kind == FLAME_OTHER) {
		flame_put_class(kind, name, d->out);
		return;
	}
	growth = flame_growth(d->flame, node);
	while (shade < SHADES - 1 && fabs(growth) >= steps[shade])
		shade++;
	fprintf(d->out, "%c%u", growth > 0 ? 'g' : 's', shade);
}

static void svg_put_growth(const struct drawing *d, const struct flame_node *node)
{
	double growth = d->flame->ratio && node ? flame_growth(d->flame, node) : 0;

	if (isinf(growth))
		fputs(", new", d->out);
	else if (d->flame->ratio && node)
		fprintf(d->out, ", %+.1f%%", 100 * growth);
}

/* `node`: NULL for a frame that stands for others. */
static void svg_put_frame(const struct drawing *d, const struct flame_node *node, const char *name,
			  enum flame_kind kind, uint64_t begin, uint64_t weight, unsigned depth)
{
	unsigned y = (d->rows - 1 - depth) * ROW;
	FILE *out = d->out;

	fprintf(out, "<g><title>");
	svg_put_text(name, out);
	fputs(" (", out);
	svg_put_count(weight, out);
	fprintf(out, " %s, %.2f%%", d->text->unit, weight_percent(d, weight));
	svg_put_growth(d, node);
	fprintf(out, ")</title><rect x=\"%.4f%%\" y=\"%u\" width=\"%.4f%%\" class=\"",
		weight_percent(d, begin), y, weight_percent(d, weight));
	svg_put_class(d, node, name, kind);
	fprintf(out, "\"/><text x=\"%.4f%%\" y=\"%u\">", weight_percent(d, begin), y + ROW - 5);
	svg_put_label(name, weight_pixels(d, weight), out);
	fputs("</text></g>\n", out);
}

/* The number of frames below and including this one. */
static uint64_t count_frames(const struct flame_node *node)
{
	uint64_t n = 1;

	for (node = node->children; node; node = node->next)
		n += count_frames(node);
	return n;
}

/*
 * Draws children side by side in the order of their names; those too narrow to be seen are one
 * frame at the end.
 */
static void svg_draw_children(struct drawing *d, const struct flame_node *node, uint64_t begin,
			      unsigned depth)
{
	const struct flame_node *child;
	uint64_t narrow = 0, n = 0;
	char name[64];

	for (child = node->children; child; child = child->next) {
		if (is_too_narrow(d, child->total)) {
			narrow += child->total;
			n += count_frames(child);
			continue;
		}
		svg_put_frame(d, child, child->key.name->text, child->kind, begin, child->total,
			      depth);
		svg_draw_children(d, child, begin, depth + 1);
		begin += child->total;
	}
	d->merged += n;
	if (!n || is_too_narrow(d, narrow))
		return;
	snprintf(name, sizeof(name), "(%" PRIu64 " frames too narrow)", n);
	svg_put_frame(d, NULL, name, FLAME_OTHER, begin, narrow, depth);
}

static unsigned count_rows(const struct drawing *d, const struct flame_node *node)
{
	const struct flame_node *child;
	unsigned most = 0;

	for (child = node->children; child; child = child->next) {
		unsigned rows = is_too_narrow(d, child->total) ? 1 : count_rows(d, child);

		if (rows > most)
			most = rows;
	}
	return most + 1;
}

/* --- what is around them ----------------------------------------------------------------------- */

static void svg_put_head(const struct drawing *d, unsigned height)
{
	FILE *out = d->out;

	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"flame\" width=\"%d\" "
		"height=\"%u\">\n<title>",
		WIDTH, height);
	svg_put_text(d->text->title, out);
	fputs("</title>\n<style>\n", out);
	fputs(flame_style, out);
	fprintf(out, "</style>\n<rect class=\"page\" width=\"100%%\" height=\"100%%\"/>\n"
		     "<text class=\"title\" x=\"50%%\" y=\"26\">");
	svg_put_text(d->text->title, out);
	fputs("</text>\n<text class=\"about\" x=\"50%\" y=\"46\">", out);
	if (d->text->subtitle)
		svg_put_text(d->text->subtitle, out);
	fputs("</text>\n", out);
}

static void svg_put_legend(const struct drawing *d, unsigned y)
{
	static const struct legend {
		const char *name;
		char class;
	} legends[][5] = {
		{ { "native", 'n' },
		  { "inlined", 'i' },
		  { "JIT", 'j' },
		  { "Python", 'p' },
		  { "kernel", 'k' } },
		{ { "grew", 'g' }, { "shrank", 's' } },
	};
	const struct legend *kinds = legends[d->flame->ratio > 0];
	unsigned i, x = MARGIN, shade = d->flame->ratio > 0 ? SHADES - 2 : 2;

	fputs("<g class=\"legend\">", d->out);
	for (i = 0; i < 5 && kinds[i].name; i++) {
		fprintf(d->out,
			"<rect x=\"%u\" y=\"%u\" width=\"10\" height=\"10\" class=\"%c%u\"/>"
			"<text x=\"%u\" y=\"%u\">%s</text>",
			x, y - 9, kinds[i].class, shade, x + 14, y, kinds[i].name);
		x += 24 + 7 * (unsigned)strlen(kinds[i].name);
	}
	if (d->merged) {
		fprintf(d->out, "<text x=\"%u\" y=\"%u\">", x + 6, y);
		svg_put_count(d->merged, d->out);
		fputs(" frames too narrow to be drawn</text>", d->out);
	}
	fputs("</g>\n", d->out);
}

/* The script shows them; without it they have no use. */
static void svg_put_controls(const struct drawing *d)
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
	d.rows = count_rows(&d, &flame->root);
	height = TOP + d.rows * ROW + BOTTOM;
	svg_put_head(&d, height);
	svg_put_controls(&d);
	fprintf(out, "<svg id=\"frames\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%u\">\n", MARGIN,
		TOP, WIDTH - 2 * MARGIN, d.rows * ROW);
	if (flame->root.total) {
		svg_put_frame(&d, &flame->root, "all", FLAME_OTHER, 0, flame->root.total, 0);
		svg_draw_children(&d, &flame->root, 0, 1);
	}
	fprintf(out, "</svg>\n<text id=\"details\" x=\"%d\" y=\"%u\">%s</text>\n", MARGIN,
		height - BOTTOM + 18, flame->root.total ? "" : "no samples");
	svg_put_legend(&d, height - 10);
	fputs("<script><![CDATA[\n", out);
	fputs(flame_script, out);
	fputs("]]></script>\n</svg>\n", out);
}
