/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which domains are in exact mode, and which in buffered mode (--mode auto).
 *
 * Ten times a second the cost of all marks (capture/guard.h) is compared with the CPU time of the processes. Above the
 * limit, domains go over to buffered mode, the costliest first, until the rest is below the limit. A domain comes back
 * when its marks have been so rare for a time that they would cost a quarter of the limit in exact mode, so that it does
 * not change with each burst, and only while no thread waits for a library that it opens. Only when nothing is left that
 * can go over does overhead.c turn domains off, if the user has set a limit.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "capture/capture.h"
#include "capture/guard.h"
#include "record/record.h"
#include "reports/table/stats_print.h"
#include "timeline/fact.h"

#define DEFAULT_LIMIT 2.0 /* percent */
#define QUIET_NS      500000000ull
#define SETTLES_NS    300000000ull /* after a change, marks in the mode before may be counted */
#define IDLE_SHARE    10	   /* less of one CPU counts as this part of it */

struct domain_mode {
	const struct name *domain; /* NULL: it has never changed */
	bool buffered;
	unsigned changes;
	uint64_t first_ns;   /* when it changed first, since the recording began */
	double own, highest; /* percent of the CPU time, at the first change and at most */
	uint64_t quiet_ns;   /* since when it has been quiet; 0: it is not */
};

struct modes {
	struct domain_mode domains[GUARD_DOMAINS];
	bool moving[GUARD_DOMAINS]; /* these change together */
	uint64_t held;		    /* threads, so far */
	uint64_t held_ns;	    /* when the last of them was */
	bool begin_buffered;
	bool forbidden; /* capture_counter_forbidden() has been seen */
	uint64_t changed_ns;
};

int modes_new(struct recording *r)
{
	r->modes = calloc(1, sizeof(*r->modes));
	if (!r->modes)
		return -ENOMEM;
	r->modes->begin_buffered = r->options->command && !capture_counter_forbidden(r->capture);
	return 0;
}

void modes_free(struct modes *modes)
{
	free(modes);
}

double modes_limit(const struct recording *r)
{
	return r->options->max_overhead > 0 ? r->options->max_overhead : DEFAULT_LIMIT;
}

static double cost_percent(uint64_t cost_ns, uint64_t cpu_ns)
{
	return cpu_ns > cost_ns ? 100.0 * cost_ns / cpu_ns : cost_ns ? 100 : 0;
}

static void emit_mode_instant(struct recording *r, const struct domain_mode *m, double own)
{
	struct arg args[] = {
		{ .key = names_intern_string(r->names, "domain"),
		  .type = ARG_STRING,
		  .length = m->domain->length,
		  .s = m->domain->text },
		{ .key = names_intern_string(r->names, "domain_percent"),
		  .type = ARG_DOUBLE,
		  .d = own },
		{ .key = names_intern_string(r->names, "limit_percent"),
		  .type = ARG_DOUBLE,
		  .d = modes_limit(r) },
	};

	recording_emit_instant(r, 0, m->buffered ? INSTANT_DOMAIN_BUFFERED : INSTANT_DOMAIN_EXACT,
			       args, sizeof(args) / sizeof(args[0]));
}

static void note_change(struct recording *r, unsigned i, const struct costs *costs, bool buffered)
{
	const struct domain_cost *d = &costs->domains[i];
	struct domain_mode *m = &r->modes->domains[i];
	double own = cost_percent(d->cost_ns, costs->cpu_ns);

	if (!m->changes++) {
		m->first_ns = clock_ns(CLOCK_MONOTONIC) - r->started_ns;
		m->own = own;
	}
	m->domain = d->domain;
	m->buffered = buffered;
	m->quiet_ns = 0;
	if (m->buffered && own > m->highest)
		m->highest = own;
	emit_mode_instant(r, m, own);
}

/* They change together, because that costs hardly more than the change of one. */
static void change_modes(struct recording *r, const struct costs *costs, bool buffered)
{
	struct modes *modes = r->modes;

	capture_change_modes(r->capture, modes->moving);
	modes->changed_ns = clock_ns(CLOCK_MONOTONIC);
	for (unsigned i = 1; i < costs->n; i++) {
		if (modes->moving[i])
			note_change(r, i, costs, buffered);
	}
	memset(modes->moving, 0, sizeof(modes->moving));
}

/* A process has forbidden itself the processor's counter. The domains that were in buffered mode have left it. */
static void note_forbidden(struct recording *r, const struct costs *costs)
{
	r->modes->forbidden = true;
	for (unsigned i = 1; i < costs->n; i++) {
		const struct domain_mode *m = &r->modes->domains[i];

		if (costs->domains[i].can_buffer &&
		    (m->domain ? m->buffered : r->modes->begin_buffered))
			note_change(r, i, costs, false);
	}
}

static unsigned find_costliest_exact(const struct costs *costs, const bool *moving)
{
	unsigned i, found = 0;

	for (i = 1; i < costs->n; i++) {
		const struct domain_cost *d = &costs->domains[i];

		if (!d->off && d->can_buffer && !d->buffered && !moving[i] && d->cost_ns &&
		    (!found || d->cost_ns > costs->domains[found].cost_ns))
			found = i;
	}
	return found;
}

/* Whether the domain may come back: in exact mode all marks would cost little, and that for a time. */
static bool domain_is_quiet(struct recording *r, unsigned i, const struct costs *costs,
			    uint64_t exact_ns)
{
	const struct domain_cost *d = &costs->domains[i];
	struct domain_mode *m = &r->modes->domains[i];
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	/* One that has never had marks stays as it is. */
	if (d->off || !d->buffered || !d->marks_all ||
	    cost_percent(exact_ns + d->exact_ns, costs->cpu_ns) > modes_limit(r) / 4) {
		m->quiet_ns = 0;
		return false;
	}
	if (!m->quiet_ns)
		m->quiet_ns = now_ns;
	return now_ns - m->quiet_ns >= QUIET_NS;
}

/*
 * To detach from hundreds of files can take longer than a thread waits for the library that it opens, whose first marks
 * would then be missing. No domain has to come back soon.
 */
static bool threads_have_waited(struct recording *r)
{
	uint64_t held = capture_counts(r->capture)->held, now_ns = clock_ns(CLOCK_MONOTONIC);

	if (held != r->modes->held)
		r->modes->held_ns = now_ns;
	r->modes->held = held;
	return now_ns - r->modes->held_ns < QUIET_NS;
}

bool modes_balance(struct recording *r, struct costs *costs, uint64_t interval_ns)
{
	uint64_t cpu_ns, exact_ns = 0;
	bool changed = false, waited;
	unsigned i;

	/* Of a program that sleeps, a few marks would be a large share. */
	if (costs->cpu_ns < interval_ns / IDLE_SHARE)
		costs->cpu_ns = interval_ns / IDLE_SHARE;
	cpu_ns = costs->cpu_ns;
	if (capture_counter_forbidden(r->capture)) {
		if (!r->modes->forbidden)
			note_forbidden(r, costs);
		return false;
	}
	for (i = 0; i < costs->n; i++)
		exact_ns += costs->domains[i].buffered ? 0 : costs->domains[i].cost_ns;
	while (cost_percent(exact_ns, cpu_ns) > modes_limit(r)) {
		i = find_costliest_exact(costs, r->modes->moving);
		if (!i)
			break;
		r->modes->moving[i] = changed = true;
		exact_ns -= costs->domains[i].cost_ns;
		/* The program will not spend this CPU time any more. */
		cpu_ns -= costs->domains[i].cost_ns < cpu_ns ? costs->domains[i].cost_ns : cpu_ns;
	}
	if (changed) {
		change_modes(r, costs, true);
		return true;
	}
	waited = threads_have_waited(r);
	for (i = 1; i < costs->n; i++) {
		if (!domain_is_quiet(r, i, costs, exact_ns) || waited)
			continue;
		exact_ns += costs->domains[i].exact_ns;
		r->modes->moving[i] = changed = true;
	}
	if (changed)
		change_modes(r, costs, false);
	return changed;
}

bool modes_settle(const struct recording *r)
{
	return clock_ns(CLOCK_MONOTONIC) - r->modes->changed_ns < SETTLES_NS;
}

/* --- reports ------------------------------------------------------------------------------ */

void modes_print(const struct recording *r, FILE *out)
{
	unsigned i, n = r->modes ? capture_exact_files(r->capture) : 0;
	pid_t forbidden = r->modes ? capture_counter_forbidden(r->capture) : 0;
	uint64_t strings = r->modes ? capture_strings_read(r->capture) : 0;

	if (r->why_exact)
		print_visible(out, "all domains were in exact mode: %s\n", r->why_exact);
	for (i = 1; r->modes && i < GUARD_DOMAINS; i++) {
		const struct domain_mode *m = &r->modes->domains[i];

		if (!m->domain)
			continue;
		print_visible(out, "domain '%s' changed its mode ", m->domain->text);
		if (m->changes > 1)
			print_visible(out, "%u times, first ", m->changes);
		print_visible(out, "after %.1f s, ", m->first_ns / 1e9);
		if (m->highest > 0)
			print_visible(out, "because its marks used up to %.2f %% of the CPU time; ",
				      m->highest);
		print_visible(out, "at the end it was in %s mode\n",
			      m->buffered ? "buffered" : "exact");
	}
	if (forbidden)
		print_visible(out,
			      "process %d has forbidden itself the processor's counter, which "
			      "buffered mode reads: all domains were in exact mode from then on\n",
			      (int)forbidden);
	if (n)
		print_visible(out,
			      "%u file%s stayed in exact mode: static, or compiled with another "
			      "proftrace.h\n",
			      n, n == 1 ? "" : "s");
	if (strings)
		print_visible(out,
			      "%" PRIu64 " marks in buffered mode entered the kernel, which reads "
			      "strings that the program might not be able to read\n",
			      strings);
}

void modes_json(const struct recording *r, FILE *out)
{
	bool first = true;

	if (r->why_exact) {
		put_json_string(out, "  \"why_exact\": ", r->why_exact);
		fputs(",\n", out);
	}
	if (!r->modes)
		return;
	fprintf(out,
		"  \"modes\": {\"limit_percent\": %g, \"begins\": \"%s\", \"exact_files\": %u, "
		"\"counter_forbidden_by\": %d, \"strings_read\": %" PRIu64 ", \"domains\": [",
		modes_limit(r), r->modes->begin_buffered ? "batch" : "exact",
		capture_exact_files(r->capture), (int)capture_counter_forbidden(r->capture),
		capture_strings_read(r->capture));
	for (unsigned i = 1; i < GUARD_DOMAINS; i++) {
		const struct domain_mode *m = &r->modes->domains[i];

		if (!m->domain)
			continue;
		put_json_string(out, first ? "\n    {\"domain\": " : ",\n    {\"domain\": ",
				m->domain->text);
		fprintf(out,
			", \"changes\": %u, \"mode\": \"%s\", \"first_ns\": %" PRIu64
			", \"highest_percent\": %.3f}",
			m->changes, m->buffered ? "batch" : "exact", m->first_ns, m->highest);
		first = false;
	}
	fputs("]},\n", out);
}
