/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * In which functions a slice spends its additional time: from the samples of call stacks within it,
 * if both sides have some. The two sides may have been sampled at different rates, so a function's
 * share of the samples is applied to the time that the slice was on a CPU.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reports/diff/diff_internal.h"
#include "reports/table/stats_view.h"

enum {
	MOST_EXPLAINED = 32, /* slices; each one reads all stacks again */
	/* In standard deviations: chance alone shows so large a difference once in 16,000 functions. */
	LEAST_DEVIATIONS = 4,
};

static double counter_average(const struct diff_sums *s, unsigned counter)
{
	if (!s->with_counter[counter])
		return 0;
	return (double)s->counted[counter] / (double)s->with_counter[counter];
}

/* How long a slice was on a CPU, on each side; if one side does not tell that, how long it was. */
static void find_cpu_time(const struct diff *d, const struct diff_row *row, double ret_ns[2])
{
	const struct diff_sums *a = &row->side[0], *b = &row->side[1];

	if (diff_knows_states(a) && diff_knows_states(b)) {
		ret_ns[0] = (double)a->running / (double)a->states;
		ret_ns[1] = (double)b->running / (double)b->states;
		return;
	}
	for (unsigned i = 0; i < d->n_counters; i++) {
		ret_ns[0] = counter_average(a, i);
		ret_ns[1] = counter_average(b, i);
		if (stats_is_time(d->counters[i]) && ret_ns[0] > 0 && ret_ns[1] > 0)
			return;
	}
	ret_ns[0] = (double)a->total / (double)a->count;
	ret_ns[1] = (double)b->total / (double)b->count;
}

/*
 * If nothing changed, the samples of a function are distributed over the sides like samples of equal
 * time, so their number on side B is binomial.
 */
static bool exceeds_chance(const uint64_t samples[2], const double rates[2])
{
	double n = (double)samples[0] + (double)samples[1];
	double share = rates[1] / (rates[0] + rates[1]);

	return fabs((double)samples[1] - n * share) >
	       LEAST_DEVIATIONS * sqrt(n * share * (1 - share));
}

/* Keeps those that changed most, in either direction. */
static void keep_function(struct diff_functions *kept, const struct diff_function *function)
{
	unsigned i = kept->n < DIFF_CAUSES ? kept->n++ : DIFF_CAUSES;

	for (; i && fabs(kept->functions[i - 1].change_ns) < fabs(function->change_ns); i--) {
		if (i < DIFF_CAUSES)
			kept->functions[i] = kept->functions[i - 1];
	}
	if (i < DIFF_CAUSES)
		kept->functions[i] = *function;
}

static void compare_functions(const struct diff *d, const struct diff_row *row,
			      const struct flame_function *functions, unsigned n,
			      struct diff_functions *kept)
{
	double cpu[2], rates[2]; /* ns in a slice; samples in a ns of it */

	find_cpu_time(d, row, cpu);
	for (unsigned i = 0; i < 2; i++)
		rates[i] = (double)kept->samples[i] / cpu[i];
	if (!(cpu[0] > 0 && cpu[1] > 0 && kept->samples[0] && kept->samples[1]))
		return;
	for (unsigned i = 0; i < n; i++) {
		const struct flame_function *f = &functions[i];
		struct diff_function function = {
			.name = f->name,
			.caller = f->caller,
			.samples = { f->self[0], f->self[1] },
			.change_ns = (double)f->self[1] / rates[1] - (double)f->self[0] / rates[0],
		};

		if (exceeds_chance(f->self, rates))
			keep_function(kept, &function);
	}
}

static int explain_functions(const struct diff *d, struct diff_row *row)
{
	struct diff_functions *kept = calloc(1, sizeof(*kept));
	struct flame *flame = flame_new();
	struct flame_function *functions = NULL;
	unsigned i, n = 0;
	int error = kept && flame ? 0 : -ENOMEM;

	row->functions = kept;
	for (i = 0; i < 2 && !error; i++) {
		flame_add_to(flame, i);
		error = flame_samples_fill_within(d->samples[i], d->names, row->key.name, flame,
						  &kept->samples[i]);
	}
	if (!error) {
		flame_compare(flame, (double)row->side[1].count / (double)row->side[0].count);
		flame_weights(flame, kept->samples);
		error = flame_functions(flame, &functions, &n);
	}
	if (!error)
		compare_functions(d, row, functions, n, kept);
	free(functions);
	flame_free(flame);
	return error;
}

bool diff_has_samples(const struct diff *d, bool is_b)
{
	struct flame_samples_count count;

	flame_samples_counts(d->samples[is_b], &count);
	return count.samples != 0;
}

int diff_find_functions(struct diff *d)
{
	unsigned i, n = 0;
	int error = 0;

	if (!diff_has_samples(d, false) || !diff_has_samples(d, true))
		return 0;
	for (i = 0; i < d->n_order && n < MOST_EXPLAINED && !error; i++) {
		struct diff_row *row = d->order[i];

		if (row->key.kind != DIFF_SLICE || !row->side[0].count || !row->side[1].count ||
		    (row->verdict != VERDICT_SLOWER && row->verdict != VERDICT_FASTER &&
		     row->verdict != VERDICT_CHANGED))
			continue;
		error = explain_functions(d, row);
		n++;
	}
	return error;
}
