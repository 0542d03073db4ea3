/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The limit on what markers cost the program they are in.
 *
 * Now and then, as soon as the processes have used enough of a CPU to be compared with, what all marks
 * have cost them is held against that (capture/guard.h). Above the limit domains are switched off, the
 * costliest first, until the others would be below it. They stay off: one that came back would bring
 * the same cost back, and a trace with holes of its own making is hard to read. What is left is measured
 * anew, so whatever grows later goes off later.
 */
#include "cmd/overhead.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "capture/capture.h"
#include "capture/guard.h"
#include "clock.h"
#include "cmd/record.h"

#define INTERVAL_NS  250000000ull
#define LEAST_CPU_NS 20000000ull /* some ticks of the slowest clocks */

struct overhead {
	uint64_t looked_ns;
	double latest, highest; /* percent; of an interval */
	bool helpless;		/* said that what is left cannot be switched off */
	unsigned n_off;
	struct switched_off {
		const struct name *domain;
		uint64_t at_ns;	 /* since the recording began */
		double all, own; /* percent in the interval */
		uint64_t marks;	 /* of it, in the recording */
	} off[GUARD_DOMAINS];
	struct costs costs;
};

int overhead_new(struct recording *r, struct failure *f)
{
	if (!capture_entry_ns(r->capture))
		return failure_set(f, -ENOTSUP, "cannot keep to --max-overhead", "",
				   "what a mark costs could not be measured");
	r->overhead = calloc(1, sizeof(*r->overhead));
	return r->overhead ? 0 : failure_set(f, -ENOMEM, "cannot start", "", NULL);
}

void overhead_free(struct overhead *o)
{
	free(o);
}

/* Of a program that does little else than mark, a little too much may be estimated. */
static double percent(uint64_t cost_ns, uint64_t cpu_ns)
{
	if (cost_ns >= cpu_ns)
		return cost_ns ? 100 : 0;
	return 100.0 * cost_ns / cpu_ns;
}

static uint64_t cost_of_all(const struct costs *costs)
{
	uint64_t sum = 0;
	unsigned i;

	for (i = 0; i < costs->n; i++)
		sum += costs->domains[i].cost_ns;
	return sum;
}

/* 0: none that could be switched off costs anything. */
static unsigned costliest(const struct costs *costs)
{
	unsigned i, found = 0;

	for (i = 1; i < costs->n; i++) {
		const struct domain_cost *d = &costs->domains[i];

		if (!d->off && d->cost_ns && (!found || d->cost_ns > costs->domains[found].cost_ns))
			found = i;
	}
	return found;
}

/* An instant in the trace, which no mark of anybody's. */
static void note(struct recording *r, const struct switched_off *s)
{
	struct arg args[] = {
		{ .key = names_intern_string(r->names, "domain"),
		  .type = ARG_STRING,
		  .length = s->domain->length,
		  .s = s->domain->text },
		{ .key = names_intern_string(r->names, "overhead_percent"),
		  .type = ARG_DOUBLE,
		  .d = s->all },
		{ .key = names_intern_string(r->names, "domain_percent"),
		  .type = ARG_DOUBLE,
		  .d = s->own },
		{ .key = names_intern_string(r->names, "limit_percent"),
		  .type = ARG_DOUBLE,
		  .d = r->options->max_overhead },
		{ .key = names_intern_string(r->names, "marks"), .type = ARG_UINT, .u = s->marks },
	};
	struct event e = { .kind = EVENT_INSTANT,
			   .level = -1,
			   .scope = SCOPE_GLOBAL,
			   .sampled = true,
			   .n_args = sizeof(args) / sizeof(args[0]),
			   .args = args };

	e.ts_ns = clock_ns(CLOCK_MONOTONIC);
	e.name = names_intern_string(r->names, "domain switched off");
	recording_event(r, &e);
}

static void switch_off(struct recording *r, unsigned domain, double all, double own)
{
	struct overhead *o = r->overhead;
	struct switched_off *s = &o->off[o->n_off];
	char line[512];

	*s = (struct switched_off){
		.domain = o->costs.domains[domain].domain,
		.at_ns = clock_ns(CLOCK_MONOTONIC) - r->started_ns,
		.all = all,
		.own = own,
		.marks = o->costs.domains[domain].marks_all,
	};
	capture_switch_off(r->capture, domain);
	note(r, s);
	o->n_off++;
	if (overhead_line(r, o->n_off - 1, line, sizeof(line)))
		recording_log(r, 0, line);
}

static void look(struct recording *r)
{
	struct overhead *o = r->overhead;
	struct costs *costs = &o->costs;
	uint64_t cpu_ns = costs->cpu_ns, cost_ns = cost_of_all(costs);
	double limit = r->options->max_overhead, all = percent(cost_ns, cpu_ns);
	bool changed = false;
	char line[160];

	o->latest = all;
	if (all > o->highest)
		o->highest = all;
	while (percent(cost_ns, cpu_ns) > limit) {
		unsigned i = costliest(costs);
		uint64_t own_ns = costs->domains[i].cost_ns;

		if (!i)
			break;
		switch_off(r, i, all, percent(own_ns, costs->cpu_ns));
		costs->domains[i].cost_ns = 0;
		cost_ns -= own_ns;
		/* Nor is the time used any more. */
		cpu_ns -= own_ns < cpu_ns ? own_ns : cpu_ns;
		changed = true;
	}
	/* What came meanwhile of domains that are off by now is not of the next interval. */
	if (changed)
		capture_costs(r->capture, 0, costs);
	if (percent(cost_ns, cpu_ns) <= limit || o->helpless)
		return;
	o->helpless = true;
	snprintf(line, sizeof(line),
		 "the markers that cannot be switched off cost %.2g %% (PROF_STEP and its like)",
		 percent(cost_ns, cpu_ns));
	recording_log(r, 0, line);
}

void overhead_tick(struct recording *r, uint64_t now_ns)
{
	struct overhead *o = r->overhead;

	if (!o->looked_ns)
		o->looked_ns = r->started_ns;
	if (now_ns - o->looked_ns < INTERVAL_NS ||
	    !capture_costs(r->capture, LEAST_CPU_NS, &o->costs))
		return;
	look(r);
	o->looked_ns = clock_ns(CLOCK_MONOTONIC);
}

/* --- what is said ------------------------------------------------------------------------------ */

bool overhead_line(const struct recording *r, unsigned i, char *line, size_t size)
{
	const struct overhead *o = r->overhead;
	const struct switched_off *s;

	if (!o || i >= o->n_off)
		return false;
	s = &o->off[i];
	snprintf(line, size,
		 "domain '%s' switched off after %.1f s: the markers took %.2f %% of the CPU time, "
		 "%.2f %% its own; %" PRIu64 " marks until then",
		 s->domain->text, s->at_ns / 1e9, s->all, s->own, s->marks);
	return true;
}

void overhead_print(const struct recording *r, FILE *out)
{
	char line[512];
	unsigned i;

	for (i = 0; overhead_line(r, i, line, sizeof(line)); i++)
		fprintf(out, "%s\n", line);
}

void overhead_json(const struct recording *r, FILE *out)
{
	const struct overhead *o = r->overhead;
	unsigned i;

	if (!o)
		return;
	fprintf(out,
		"  \"overhead\": {\"limit_percent\": %g, \"latest_percent\": %.3f, "
		"\"highest_percent\": %.3f, \"entry_ns\": %" PRIu64 ", \"domains_off\": [",
		r->options->max_overhead, o->latest, o->highest, capture_entry_ns(r->capture));
	for (i = 0; i < o->n_off; i++) {
		const struct switched_off *s = &o->off[i];

		fputs(i ? ",\n    {\"domain\": " : "\n    {\"domain\": ", out);
		print_json_string(out, s->domain->text);
		fprintf(out,
			", \"at_ns\": %" PRIu64 ", \"overhead_percent\": %.3f, "
			"\"domain_percent\": %.3f, \"marks\": %" PRIu64 "}",
			s->at_ns, s->all, s->own, s->marks);
	}
	fputs("]},\n", out);
}
