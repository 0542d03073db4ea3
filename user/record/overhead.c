/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The limit on what markers cost the program.
 *
 * Four times a second, as soon as the processes have used enough CPU time, the cost of all marks
 * (capture/guard.h) is compared with that CPU time. Above the limit, domains are turned off, the costliest first,
 * until the rest is below the limit. A domain stays off: turning it on again would bring the same cost back, and a
 * trace with gaps that the recorder made is hard to read. The remaining domains are measured again in each interval.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "capture/guard.h"
#include "base/clock.h"
#include "record/record.h"
#include "reports/table/stats_print.h"

#define INTERVAL_NS  250000000ull
#define CHANGING_NS  100000000ull /* the same, under --mode auto */
#define LEAST_CPU_NS 20000000ull  /* several ticks of the slowest CPU clock, which is 10 ms */

struct overhead {
	uint64_t checked_ns;
	double latest, highest;	   /* percent; of an interval */
	bool unavoidable_reported; /* reported that the remaining markers cannot be turned off */
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
	if (!capture_entry_ns(r->capture) && !r->changing)
		return failure_set(f, -ENOTSUP, "cannot apply --max-overhead", "",
				   "the cost of a mark could not be measured");
	r->overhead = calloc(1, sizeof(*r->overhead));
	return r->overhead ? 0 : failure_set(f, -ENOMEM, "cannot start", "", NULL);
}

void overhead_free(struct overhead *o)
{
	free(o);
}

/* The estimate can exceed the CPU time of a program that does little else than mark. */
static double overhead_percent(uint64_t cost_ns, uint64_t cpu_ns)
{
	if (cost_ns >= cpu_ns)
		return cost_ns ? 100 : 0;
	return 100.0 * cost_ns / cpu_ns;
}

static uint64_t sum_domain_costs(const struct costs *costs)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < costs->n; i++)
		sum += costs->domains[i].cost_ns;
	return sum;
}

/* 0: no domain that can be turned off costs anything. */
static unsigned find_costliest_domain(const struct costs *costs)
{
	unsigned i, found = 0;

	for (i = 1; i < costs->n; i++) {
		const struct domain_cost *d = &costs->domains[i];

		if (!d->off && !d->stays && d->cost_ns &&
		    (!found || d->cost_ns > costs->domains[found].cost_ns))
			found = i;
	}
	return found;
}

static void overhead_emit_instant(struct recording *r, const struct switched_off *s)
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

	recording_emit_instant(r, 0, "domain switched off", args, sizeof(args) / sizeof(args[0]));
}

static void turn_off_domain(struct recording *r, unsigned domain, double all, double own)
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
	overhead_emit_instant(r, s);
	o->n_off++;
	if (overhead_line(r, o->n_off - 1, line, sizeof(line)))
		recording_log(r, 0, line);
}

static void overhead_enforce_limit(struct recording *r)
{
	struct overhead *o = r->overhead;
	struct costs *costs = &o->costs;
	uint64_t cpu_ns = costs->cpu_ns, cost_ns = sum_domain_costs(costs);
	double limit = r->options->max_overhead, all = overhead_percent(cost_ns, cpu_ns);
	bool changed = false;
	char line[160];

	o->latest = all;
	if (all > o->highest)
		o->highest = all;
	while (overhead_percent(cost_ns, cpu_ns) > limit) {
		unsigned i = find_costliest_domain(costs);
		uint64_t own_ns = costs->domains[i].cost_ns;

		if (!i)
			break;
		turn_off_domain(r, i, all, overhead_percent(own_ns, costs->cpu_ns));
		costs->domains[i].cost_ns = 0;
		cost_ns -= own_ns;
		/* The program will not spend this CPU time any more. */
		cpu_ns -= own_ns < cpu_ns ? own_ns : cpu_ns;
		changed = true;
	}
	/* Marks that the domains made until now must not count in the next interval. */
	if (changed)
		capture_costs(r->capture, 0, costs);
	if (overhead_percent(cost_ns, cpu_ns) <= limit || o->unavoidable_reported)
		return;
	o->unavoidable_reported = true;
	snprintf(line, sizeof(line),
		 "markers that cannot be turned off (PROF_STEP and other control marks) cost %.2g "
		 "%%",
		 overhead_percent(cost_ns, cpu_ns));
	recording_log(r, 0, line);
}

void overhead_poll(struct recording *r, uint64_t now_ns)
{
	struct overhead *o = r->overhead;
	uint64_t since_ns;

	if (!o->checked_ns)
		o->checked_ns = r->started_ns;
	since_ns = now_ns - o->checked_ns;
	if (since_ns < (r->modes ? CHANGING_NS : INTERVAL_NS) ||
	    !capture_costs(r->capture, r->modes ? 0 : LEAST_CPU_NS, &o->costs))
		return;
	if (r->modes && modes_balance(r, &o->costs, since_ns))
		/* Marks that were made in the mode before must not count in the next interval. */
		capture_costs(r->capture, 0, &o->costs);
	else if (r->options->max_overhead > 0 && !(r->modes && modes_settle(r)))
		overhead_enforce_limit(r);
	o->checked_ns = clock_ns(CLOCK_MONOTONIC);
}

/* --- reports ------------------------------------------------------------------------------ */

double overhead_latest(const struct recording *r)
{
	return r->overhead ? r->overhead->latest : 0;
}

unsigned overhead_domains_off(const struct recording *r)
{
	const struct name *with;
	unsigned n = 0;

	if (!r->overhead)
		return 0;
	while (capture_off_with(r->capture, n, &with))
		n++;
	return r->overhead->n_off + n;
}

bool overhead_line(const struct recording *r, unsigned i, char *line, size_t size)
{
	const struct overhead *o = r->overhead;
	const struct switched_off *s;
	const struct name *domain, *with;

	if (!o)
		return false;
	if (i >= o->n_off) {
		domain = capture_off_with(r->capture, i - o->n_off, &with);
		if (domain)
			snprintf(line, size, GUARD_OFF_WITH, domain->text, with->text);
		return domain;
	}
	s = &o->off[i];
	snprintf(line, size,
		 "domain '%s' switched off after %.1f s: the markers used %.2f %% of the CPU time, "
		 "this domain %.2f %%; it had %" PRIu64 " marks",
		 s->domain->text, s->at_ns / 1e9, s->all, s->own, s->marks);
	return true;
}

void overhead_print(const struct recording *r, FILE *out)
{
	char line[512];

	for (unsigned i = 0; overhead_line(r, i, line, sizeof(line)); i++)
		print_visible(out, "%s\n", line);
}

void overhead_json(const struct recording *r, FILE *out)
{
	const struct overhead *o = r->overhead;

	if (!o || r->options->max_overhead <= 0)
		return;
	fprintf(out,
		"  \"overhead\": {\"limit_percent\": %g, \"latest_percent\": %.3f, "
		"\"highest_percent\": %.3f, \"entry_ns\": %" PRIu64 ", \"domains_off\": [",
		r->options->max_overhead, o->latest, o->highest, capture_entry_ns(r->capture));
	for (unsigned i = 0; i < o->n_off; i++) {
		const struct switched_off *s = &o->off[i];

		put_json_string(
			out, i ? ",\n    {\"domain\": " : "\n    {\"domain\": ", s->domain->text);
		fprintf(out,
			", \"at_ns\": %" PRIu64 ", \"overhead_percent\": %.3f, "
			"\"domain_percent\": %.3f, \"marks\": %" PRIu64 "}",
			s->at_ns, s->all, s->own, s->marks);
	}
	fputs("]},\n", out);
}
