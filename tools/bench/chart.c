/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The main figures as a picture: one bar per row, with its spread as a line. The colours come from a
 * style sheet that asks whether the reader's screen is dark, so that it reads well in either.
 */
#include "results.h"

#include "sections.h"

#include <math.h>
#include <string.h>

enum {
	WIDTH = 860,
	LEFT = 270,
	RIGHT = 110,
	BAR = 16,
	STEP = 24
};

struct bar {
	const char *section, *row, *column, *label, *style;
};

static const char style[] =
	"<style>\n"
	"text { font: 13px system-ui, sans-serif; fill: #1f2328 }\n"
	".title { font-weight: 600; font-size: 15px }\n"
	".value, .note { fill: #57606a }\n"
	".floor { fill: #8c959f } .ours { fill: #0969da } .other { fill: #bf8700 }\n"
	".spread { stroke: #1f2328; stroke-width: 1.5 }\n"
	"@media (prefers-color-scheme: dark) {\n"
	"text { fill: #e6edf3 } .value, .note { fill: #9198a1 }\n"
	".floor { fill: #656c76 } .ours { fill: #4493f8 } .other { fill: #d29922 }\n"
	".spread { stroke: #e6edf3 }\n"
	"}\n"
	"</style>\n";

static const struct bar program_bars[] = {
	{ SECTION_ON, "instant", "empty program", "instant, an empty BPF program", "floor" },
	{ SECTION_ON, "instant", "no counters", "instant, recorded", "ours" },
	{ SECTION_ON, "begin + end", "empty program", "begin, end, an empty BPF program", "floor" },
	{ SECTION_ON, "begin + end", "no counters", "begin, end, recorded", "ours" },
	{ SECTION_ON, "begin + end", "default counters", "begin, end, default counters", "ours" },
	{ SECTION_ON, "instant, 2 arguments", "no counters", "2 arguments, recorded", "ours" },
	{ SECTION_ON, "instant, 6 arguments", "no counters", "6 arguments, recorded", "ours" },
	{ SECTION_ON, "instant, a string of 12", "no counters", "a string, recorded", "ours" },
	{ SECTION_ON, "counter", "no counters", "counter, recorded", "ours" },
};

static const struct bar peer_bars[] = {
	{ SECTION_PEERS, "LTTng-UST, a tracepoint", "ns/event", "LTTng-UST", "other" },
	{ SECTION_PEERS, "uftrace, a function", "ns/event", "uftrace", "other" },
	{ SECTION_PEERS, "bpftrace, counting", "ns/event", "bpftrace, counting", "other" },
	{ SECTION_PEERS, "proftrace, Perfetto", "ns/event", "proftrace", "ours" },
	{ SECTION_PEERS, "perf record, SDT event", "ns/event", "perf record", "other" },
	{ SECTION_PEERS, "bpftrace, printing", "ns/event", "bpftrace, printing", "other" },
};

static const struct bar off_bars[] = {
	{ SECTION_OFF, "instant", "compiled out", "compiled out (an empty loop)", "floor" },
	{ SECTION_OFF, "instant", "off", "instant, off", "ours" },
	{ SECTION_OFF, "instant, 2 arguments", "off", "2 arguments, off", "ours" },
	{ SECTION_OFF, "instant", "on, nobody attached", "instant, on, nobody attached", "floor" },
};

static double longest(const struct results *r, const struct bar *bars, unsigned n)
{
	double max = 0;
	unsigned i;

	for (i = 0; i < n; i++) {
		const struct cell *c =
			results_find(r, bars[i].section, bars[i].row, bars[i].column);

		if (c && c->max > max)
			max = c->max;
	}
	return max;
}

/* Returns the y below it. */
static int print_bar(const struct results *r, const struct bar *bar, double scale, int y, FILE *out)
{
	const struct cell *c = results_find(r, bar->section, bar->row, bar->column);
	int middle = y + BAR / 2;

	if (!c)
		return y;
	fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", LEFT - 10, y + 13,
		bar->label);
	fprintf(out,
		"<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" rx=\"2\"/>\n",
		bar->style, LEFT, y, fmax(1, c->median * scale), BAR);
	fprintf(out, "<line class=\"spread\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n",
		LEFT + c->min * scale, LEFT + c->max * scale, middle, middle);
	fprintf(out, "<text class=\"value\" x=\"%.1f\" y=\"%d\">%.*f ns</text>\n",
		LEFT + c->max * scale + 8, y + 13, c->median < 10 ? 2 : 0, c->median);
	return y + STEP;
}

static int print_part(const struct results *r, const char *title, const struct bar *bars,
		      unsigned n, int y, FILE *out)
{
	double max = longest(r, bars, n);
	unsigned i;

	if (max <= 0)
		return y;
	fprintf(out, "<text class=\"title\" x=\"16\" y=\"%d\">%s</text>\n", y + 14, title);
	y += 28;
	for (i = 0; i < n; i++)
		y = print_bar(r, &bars[i], (WIDTH - LEFT - RIGHT) / max, y, out);
	return y + 16;
}

/* How many of the bars there are: the picture's height is said before it is drawn. */
static int height_of(const struct results *r, const struct bar *bars, unsigned n)
{
	int height = 0;
	unsigned i;

	for (i = 0; i < n; i++) {
		if (results_find(r, bars[i].section, bars[i].row, bars[i].column))
			height += STEP;
	}
	return height ? height + 44 : 0;
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

void print_chart(const struct results *r, FILE *out)
{
	int height = 40 + height_of(r, program_bars, COUNT(program_bars)) +
		     height_of(r, peer_bars, COUNT(peer_bars)) +
		     height_of(r, off_bars, COUNT(off_bars));
	int y = 16;

	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
		"height=\"%d\" role=\"img\" aria-label=\"What markers cost the program\">\n%s",
		WIDTH, height, WIDTH, height, style);
	y = print_part(r, "What an event costs the program while it is recorded", program_bars,
		       COUNT(program_bars), y, out);
	y = print_part(r, "Beside other tracers: an instant with one integer", peer_bars,
		       COUNT(peer_bars), y, out);
	y = print_part(r, "What a marker costs while nobody records", off_bars, COUNT(off_bars), y,
		       out);
	fprintf(out,
		"<text class=\"note\" x=\"16\" y=\"%d\">Nanoseconds per event: median, and the "
		"spread as a line. Shorter is better.</text>\n</svg>\n",
		y + 4);
}
