/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Draws the main figures: one bar per row, with its spread as a line. A style sheet selects the
 * colours by whether the screen of the reader is dark. It also selects the background, because the
 * page around the picture may differ.
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
	".paper { fill: #ffffff }\n"
	".floor { fill: #8c959f } .ours { fill: #0969da } .other { fill: #bf8700 }\n"
	".spread { stroke: #1f2328; stroke-width: 1.5 }\n"
	"@media (prefers-color-scheme: dark) {\n"
	"text { fill: #e6edf3 } .value, .note { fill: #9198a1 }\n"
	".paper { fill: #0d1117 }\n"
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
	{ SECTION_ON, "begin + end", "batch", "begin, end, --mode batch", "ours" },
};

static const struct bar peer_bars[] = {
	{ SECTION_PEERS, "the processor's clock and three stores", "ns/event",
	  "the clock and three stores", "floor" },
	{ SECTION_PEERS, "clock_gettime", "ns/event", "clock_gettime", "floor" },
	{ SECTION_PEERS, BATCH_ROW, "ns/event", "proftrace --mode batch", "ours" },
	{ SECTION_PEERS, "uftrace, a function", "ns/event", "uftrace", "other" },
	{ SECTION_PEERS, "LTTng-UST, a tracepoint", "ns/event", "LTTng-UST", "other" },
	{ SECTION_PEERS, "an empty BPF program", "ns/event", "an empty BPF program", "floor" },
	{ SECTION_PEERS, "bpftrace, counting", "ns/event", "bpftrace, counting", "other" },
	{ SECTION_PEERS, EXACT_ROW, "ns/event", "proftrace", "ours" },
	{ SECTION_PEERS, "perf record, SDT event", "ns/event", "perf record", "other" },
	{ SECTION_PEERS, "bpftrace, printing", "ns/event", "bpftrace, printing", "other" },
};

static const struct bar thread_bars[] = {
	{ SECTION_THREADS, BATCH_ROW, "1 thread", "proftrace --mode batch, 1 thread", "ours" },
	{ SECTION_THREADS, BATCH_ROW, "2 threads", "2 threads", "ours" },
	{ SECTION_THREADS, BATCH_ROW, "4 threads", "4 threads", "ours" },
	{ SECTION_THREADS, "LTTng-UST, a tracepoint", "1 thread", "LTTng-UST, 1 thread", "other" },
	{ SECTION_THREADS, "LTTng-UST, a tracepoint", "2 threads", "2 threads", "other" },
	{ SECTION_THREADS, "LTTng-UST, a tracepoint", "4 threads", "4 threads", "other" },
	{ SECTION_THREADS, EXACT_ROW, "1 thread", "proftrace, 1 thread", "ours" },
	{ SECTION_THREADS, EXACT_ROW, "2 threads", "2 threads", "ours" },
	{ SECTION_THREADS, EXACT_ROW, "4 threads", "4 threads", "ours" },
	{ SECTION_THREADS, "perf record, SDT event", "1 thread", "perf record, 1 thread", "other" },
	{ SECTION_THREADS, "perf record, SDT event", "2 threads", "2 threads", "other" },
	{ SECTION_THREADS, "perf record, SDT event", "4 threads", "4 threads", "other" },
};

static const struct bar off_bars[] = {
	{ SECTION_OFF, "instant", "compiled out", "compiled out (an empty loop)", "floor" },
	{ SECTION_OFF, "instant", "off", "instant, off", "ours" },
	{ SECTION_OFF, "instant, 2 arguments", "off", "2 arguments, off", "ours" },
	{ SECTION_OFF, "instant", "on, nobody attached", "instant, on, nobody attached", "floor" },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct part {
	const char *title;
	const struct bar *bars;
	unsigned n;
	bool logarithmic; /* starts at 1 ns, because the values differ by a factor of a thousand */
} parts[] = {
	{ "What an event costs the program while it is recorded", program_bars, COUNT(program_bars),
	  false },
	{ "Beside other tracers: an instant with one integer (logarithmic)", peer_bars,
	  COUNT(peer_bars), true },
	{ "The same from several threads at once: CPU time (logarithmic)", thread_bars,
	  COUNT(thread_bars), true },
	{ "What a marker costs while nobody records", off_bars, COUNT(off_bars), false },
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

/* The length of the bar of a value; that of `max` fills the space. */
static double length_of(double value, double max, bool logarithmic)
{
	if (logarithmic) {
		value = log10(fmax(value, 1));
		max = log10(fmax(max, 10));
	}
	return fmax(1, value / max * (WIDTH - LEFT - RIGHT));
}

/* Returns the y below it. */
static int print_bar(const struct results *r, const struct bar *bar, double max, bool logarithmic,
		     int y, FILE *out)
{
	const struct cell *c = results_find(r, bar->section, bar->row, bar->column);
	int middle = y + BAR / 2;
	double low, high;

	if (!c)
		return y;
	low = LEFT + length_of(c->min, max, logarithmic);
	high = LEFT + length_of(c->max, max, logarithmic);
	fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", LEFT - 10, y + 13,
		bar->label);
	fprintf(out,
		"<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" rx=\"2\"/>\n",
		bar->style, LEFT, y, length_of(c->median, max, logarithmic), BAR);
	fprintf(out, "<line class=\"spread\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n", low,
		high, middle, middle);
	fprintf(out, "<text class=\"value\" x=\"%.1f\" y=\"%d\">%.*f ns</text>\n", high + 8, y + 13,
		c->median < 10 ? 2 : 0, c->median);
	return y + STEP;
}

static int print_part(const struct results *r, const struct part *part, int y, FILE *out)
{
	double max = longest(r, part->bars, part->n);
	unsigned i;

	if (max <= 0)
		return y;
	fprintf(out, "<text class=\"title\" x=\"16\" y=\"%d\">%s</text>\n", y + 14, part->title);
	y += 28;
	for (i = 0; i < part->n; i++)
		y = print_bar(r, &part->bars[i], max, part->logarithmic, y, out);
	return y + 16;
}

/* The number of bars that have a value. SVG needs the height of the picture first. */
static int height_of(const struct results *r, const struct part *part)
{
	int height = 0;
	unsigned i;

	for (i = 0; i < part->n; i++) {
		const struct bar *bar = &part->bars[i];

		if (results_find(r, bar->section, bar->row, bar->column))
			height += STEP;
	}
	return height ? height + 44 : 0;
}

void print_chart(const struct results *r, FILE *out)
{
	int height = 40, y = 16;
	unsigned i;

	for (i = 0; i < COUNT(parts); i++)
		height += height_of(r, &parts[i]);
	fprintf(out,
		"<!-- SPDX-License-Identifier: BSD-2-Clause -->\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
		"height=\"%d\" role=\"img\" aria-label=\"What markers cost the program\">\n%s"
		"<rect class=\"paper\" width=\"%d\" height=\"%d\" rx=\"6\"/>\n",
		WIDTH, height, WIDTH, height, style, WIDTH, height);
	for (i = 0; i < COUNT(parts); i++)
		y = print_part(r, &parts[i], y, out);
	fprintf(out,
		"<text class=\"note\" x=\"16\" y=\"%d\">Nanoseconds per event: median, and the "
		"spread as a line. Shorter is better.</text>\n</svg>\n",
		y + 4);
}
