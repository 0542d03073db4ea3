/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs and their values, and what is odd about them. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "reports/diff/diff_internal.h"

#define FIRST_BLOCK_NS 1000000ull

struct diff *diff_new(const struct diff_options *options, struct names *names)
{
	struct diff *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->consumer.ops = &diff_ops;
	d->options = options;
	d->names = names;
	d->runs = calloc(DIFF_MAX_RUNS + 1, sizeof(*d->runs));
	d->samples[0] = flame_samples_new(NULL);
	d->samples[1] = flame_samples_new(NULL);
	if (options->with_flame)
		d->flame = flame_new();
	if (!d->runs || !d->samples[0] || !d->samples[1] || (options->with_flame && !d->flame)) {
		diff_free(d);
		return NULL;
	}
	flame_samples_keep_slices(d->samples[0]);
	flame_samples_keep_slices(d->samples[1]);
	return d;
}

static void diff_row_free(struct diff *d, struct diff_row *row)
{
	for (unsigned i = 0; i < DIFF_BLOCKS; i++)
		diff_sums_free(d, &row->blocks[i]);
	free(row->blocks);
	free(row->values);
	free(row->results);
	free(row->functions);
	free(row);
}

void diff_free(struct diff *d)
{
	if (!d)
		return;
	diff_threads_forget(d);
	hash_clear(hh, d->edges, edge);
	hash_each (d->rows, row) {
		HASH_DEL(d->rows, row);
		diff_row_free(d, row);
	}
	for (unsigned i = 0; i < 2; i++) {
		if (d->samples[i])
			d->samples[i]->ops->free(d->samples[i]);
	}
	flame_free(d->flame);
	free(d->order);
	free(d->runs);
	free(d);
}

struct consumer *diff_consumer(struct diff *d)
{
	return &d->consumer;
}

struct flame *diff_flame(struct diff *d, bool *ret_of_samples)
{
	*ret_of_samples = d->flame_of_samples;
	return d->flame;
}

/* If both sides have samples of call stacks, these say more than slices. */
static int choose_flame(struct diff *d)
{
	int error = 0;

	if (diff_has_samples(d, false) && diff_has_samples(d, true)) {
		flame_free(d->flame);
		d->flame = flame_new();
		d->flame_of_samples = true;
	}
	for (unsigned i = 0; i < 2 && d->flame && d->flame_of_samples && !error; i++) {
		flame_add_to(d->flame, i);
		error = flame_samples_fill(d->samples[i], d->names, d->flame);
	}
	if (!d->flame)
		return -ENOMEM;
	flame_compare(d->flame, d->units[1] / fmax(d->units[0], 1e-9));
	return error;
}

/* --- values ------------------------------------------------------------------------------------ */

float *diff_row_values(struct diff_row *row, unsigned sample)
{
	uint32_t n = row->n_values ? row->n_values : 16;
	float *grown;

	if (sample >= row->n_values) {
		while (n <= sample)
			n *= 2;
		grown = reallocarray(row->values, n, METRICS * sizeof(*grown));
		if (!grown)
			return NULL;
		for (size_t i = (size_t)row->n_values * METRICS; i < (size_t)n * METRICS; i++)
			grown[i] = NAN;
		row->values = grown;
		row->n_values = n;
	}
	return row->values + (size_t)sample * METRICS;
}

double diff_value(const struct diff_row *row, unsigned sample, enum diff_metric metric)
{
	float value = sample < row->n_values ? row->values[(size_t)sample * METRICS + metric] : NAN;

	if (!isnan(value))
		return (double)value;
	/* What did not occur took no time. */
	if (metric == METRIC_COUNT || (metric == METRIC_TOTAL && row->key.kind <= DIFF_FRAME) ||
	    (metric == METRIC_SELF && row->key.kind == DIFF_SLICE))
		return 0;
	return NAN;
}

static void sums_to_values(float *values, const struct diff_row *row, const struct diff_sums *s,
			   double units)
{
	values[METRIC_COUNT] = (float)((double)s->count / units);
	if (row->key.kind == DIFF_COUNTER)
		values[METRIC_AVERAGE] = (float)(s->value / (double)s->count);
	if (row->key.kind > DIFF_FRAME)
		return;
	values[METRIC_P50] = (float)diff_percentile(&s->histogram, 0.5);
	values[METRIC_P95] = (float)diff_percentile(&s->histogram, 0.95);
	values[METRIC_TOTAL] = (float)((double)s->total / units);
	if (row->key.kind == DIFF_SLICE)
		values[METRIC_SELF] = (float)((double)s->self / units);
	if (diff_knows_states(s)) {
		double all = (double)s->count / (double)s->states / units;

		values[METRIC_RUNNING] = (float)((double)s->running * all);
		values[METRIC_RUNNABLE] = (float)((double)s->runnable * all);
		values[METRIC_BLOCKED] = (float)((double)s->blocked * all);
	}
	for (unsigned i = 0; i < DIFF_COUNTERS; i++) {
		if (s->with_counter[i] == s->count)
			values[METRIC_COUNTED + i] = (float)((double)s->counted[i] / units);
	}
}

/* How often the unit of work occurred in a block. */
static uint64_t count_units(const struct diff *d, unsigned block)
{
	const struct diff_row *row;
	uint64_t n = 0;

	for (row = d->rows; row; row = row->hh.next) {
		if (row->key.kind <= DIFF_INSTANT && row->key.name &&
		    !strcmp(row->key.name->text, d->options->per))
			n += row->blocks[block].count;
	}
	return n;
}

/* The values of a block become a sample, unless no unit of work is in it. */
static int diff_read_block(struct diff *d, unsigned block, double seconds)
{
	double units = d->in_blocks ? seconds : 1;
	struct diff_row *row;
	float *values;

	if (d->options->per)
		units = (double)count_units(d, block);
	for (row = d->rows; row; row = row->hh.next) {
		struct diff_sums *s = &row->blocks[block];

		if (units > 0 && s->count) {
			values = diff_row_values(row, d->n_samples);
			if (!values)
				return -ENOMEM;
			sums_to_values(values, row, s, units);
			row->runs[d->is_b]++;
		}
		d->groups -= s->histogram.n;
		free(s->histogram.counts);
		s->histogram = (struct diff_histogram){ 0 };
		diff_sums_merge(d, &row->side[d->is_b], s);
		*s = (struct diff_sums){ 0 };
	}
	if (units > 0) {
		d->units[d->is_b] += units;
		d->n_samples++;
		d->n_side[d->is_b]++;
	}
	return 0;
}

/* The last block is shorter than the others. If it is very short, the one before gets it. */
static unsigned diff_count_blocks(struct diff *d)
{
	uint64_t span = d->last_ns - d->first_ns;
	unsigned n = d->in_blocks ? (unsigned)(span / d->block_ns) + 1 : 1;
	struct diff_row *row;

	if (n < 2 || span % d->block_ns >= d->block_ns / 2)
		return n;
	for (row = d->rows; row; row = row->hh.next) {
		diff_sums_merge(d, &row->blocks[n - 2], &row->blocks[n - 1]);
		diff_sums_free(d, &row->blocks[n - 1]);
	}
	return n - 1;
}

/* --- runs -------------------------------------------------------------------------------------- */

void diff_begin_run(struct diff *d, bool is_b, bool single, const char *path)
{
	d->is_b = is_b;
	d->in_blocks = single;
	d->first_ns = d->last_ns = 0;
	d->block_ns = FIRST_BLOCK_NS;
	d->runs[d->n_runs] =
		(struct diff_run){ .path = path, .is_b = is_b, .first_sample = d->n_samples };
}

static int diff_finish_run(struct diff *d, struct failure *f)
{
	struct diff_run *run = &d->runs[d->n_runs];
	unsigned before = d->n_side[0] + d->n_side[1], i, n = diff_count_blocks(d);
	uint64_t span = d->last_ns - d->first_ns;
	int error = 0;

	for (i = 0; i < n && !error; i++) {
		uint64_t length = i + 1 < n ? d->block_ns : span - (n - 1) * d->block_ns;

		error = diff_read_block(d, i, (double)(length ? length : 1) / 1e9);
	}
	if (error || d->failed)
		return failure_set(f, -ENOMEM, "cannot compare", run->path, NULL);
	d->n_runs++;
	if (d->n_side[0] + d->n_side[1] > before)
		return 0;
	failure_set(f, -ENODATA, "cannot compare", run->path,
		    "it has no slice of the name of --per");
	failure_hint(f, "`proftrace report %s` lists the names", run->path);
	return -ENODATA;
}

static double scheduled_share(const struct account *account)
{
	double all = (double)account->written + (double)account->unscheduled;

	return all > 0 ? (double)account->written / all : 1;
}

int diff_end_run(struct diff *d, const struct trace_origin *origin, struct failure *f)
{
	struct diff_run *run = &d->runs[d->n_runs];

	diff_threads_forget(d);
	if (!d->first_ns) {
		failure_set(f, -ENODATA, "cannot compare", run->path,
			    "nothing in it has ended, or nothing is selected");
		return -ENODATA;
	}
	run->scheduled = origin->has_account ? scheduled_share(&origin->account) : 1;
	run->lost = origin->has_account ? account_lost(&origin->account) : 0;
	run->has_clock = origin->clock.monotonic || origin->base_ns;
	snprintf(run->host, sizeof(run->host), "%s", origin->host);
	snprintf(run->machine, sizeof(run->machine), "%s", origin->machine);
	return diff_finish_run(d, f);
}

/* --- what is odd ------------------------------------------------------------------------------- */

static const struct diff_run *find_odd_run(const struct diff *d,
					   bool (*differs)(const struct diff_run *a,
							   const struct diff_run *b))
{
	for (unsigned i = 1; i < d->n_runs; i++) {
		if (!d->runs[0].is_saved && !d->runs[i].is_saved &&
		    differs(&d->runs[0], &d->runs[i]))
			return &d->runs[i];
	}
	return NULL;
}

static bool programs_differ(const struct diff_run *a, const struct diff_run *b)
{
	return a->process[0] && b->process[0] && strcmp(a->process, b->process);
}

static bool machines_differ(const struct diff_run *a, const struct diff_run *b)
{
	return a->host[0] && b->host[0] &&
	       (strcmp(a->host, b->host) || strcmp(a->machine, b->machine));
}

static bool clocks_differ(const struct diff_run *a, const struct diff_run *b)
{
	return a->has_clock != b->has_clock;
}

/* A trace does not contain its schedule, but what the schedule left out. */
static bool schedules_differ(const struct diff_run *a, const struct diff_run *b)
{
	return (a->scheduled < 1) != (b->scheduled < 1) || fabs(a->scheduled - b->scheduled) > 0.1;
}

static void diff_warn(const struct diff *d)
{
	static const struct {
		bool (*differs)(const struct diff_run *a, const struct diff_run *b);
		const char *what, *why;
	} odd[] = {
		{ programs_differ, "is of another program", "" },
		{ machines_differ, "was recorded on another machine", "" },
		{ clocks_differ, "has another clock",
		  ": one of them was not written by proftrace" },
		{ schedules_differ, "has another schedule", ": one of them leaves out more steps" },
	};
	const struct diff_run *run;

	for (unsigned i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		run = find_odd_run(d, odd[i].differs);
		if (run)
			print_visible(stderr, "proftrace: '%s': %s than '%s'%s\n", run->path,
				      odd[i].what, d->runs[0].path, odd[i].why);
	}
	if (diff_has_samples(d, false) != diff_has_samples(d, true))
		print_visible(
			stderr,
			"proftrace: only side %c has samples of call stacks, so functions are not "
			"compared\n",
			diff_has_samples(d, true) ? 'B' : 'A');
	for (unsigned i = 0; i < d->n_runs; i++) {
		run = &d->runs[i];
		if (run->lost)
			print_visible(stderr,
				      "proftrace: '%s': %" PRIu64
				      " marks were lost: its counts are too small\n",
				      run->path, run->lost);
	}
	if (d->rows_left_out)
		print_visible(stderr,
			      "proftrace: more than %d names: the others are not compared\n",
			      DIFF_MAX_NAMES);
}

/* --- decisions --------------------------------------------------------------------------------- */

static void decide_row(const struct diff *d, struct diff_row *row)
{
	const struct diff_result *total = &row->results[METRIC_TOTAL];
	double change;
	enum diff_metric metric;
	bool any = false, faster = false;

	for (unsigned m = 0; m < METRICS; m++) {
		any |= row->results[m].decided;
		faster |= row->results[m].decided && diff_metric_is_time(m);
	}
	if (!row->runs[0])
		row->verdict = VERDICT_ONLY_B;
	else if (!row->runs[1])
		row->verdict = VERDICT_ONLY_A;
	else if (!d->testable)
		row->verdict = VERDICT_UNTESTED;
	else if (diff_row_regressed(row, &change, &metric))
		row->verdict = VERDICT_SLOWER;
	else
		row->verdict = faster ? VERDICT_FASTER : any ? VERDICT_CHANGED : VERDICT_NONE;
	row->weight = total->known ? fabs(total->b - total->a) : 0;
	if (row->verdict == VERDICT_SLOWER || row->verdict == VERDICT_FASTER)
		row->weight += 1e30;
	else if (row->verdict != VERDICT_NONE && row->verdict != VERDICT_UNTESTED)
		row->weight += 1e20;
}

static int compare_weights(const void *left, const void *right)
{
	const struct diff_row *a = *(struct diff_row *const *)left;
	const struct diff_row *b = *(struct diff_row *const *)right;

	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return strcmp(a->key.name ? a->key.name->text : "", b->key.name ? b->key.name->text : "");
}

static bool sides_have_common_name(const struct diff *d)
{
	const struct diff_row *row;

	for (row = d->rows; row; row = row->hh.next) {
		if (row->runs[0] && row->runs[1])
			return true;
	}
	return false;
}

int diff_decide(struct diff *d, bool quiet, struct failure *f)
{
	struct diff_row *row;

	if (!quiet)
		diff_warn(d);
	if (!sides_have_common_name(d)) {
		failure_set(f, -ENODATA, "nothing to compare with", d->runs[0].path,
			    "the two sides have no name in common");
		failure_hint(f, "are they of the same program? `proftrace report` lists the names");
		return -ENODATA;
	}
	d->order = calloc(HASH_COUNT(d->rows), sizeof(struct diff_row *));
	if (!d->order || diff_test(d) || (d->flame && choose_flame(d)))
		return failure_set(f, -ENOMEM, "cannot compare", d->runs[0].path, NULL);
	for (row = d->rows; row; row = row->hh.next) {
		if (!row->runs[0] && !row->runs[1])
			continue;
		decide_row(d, row);
		d->order[d->n_order++] = row;
	}
	diff_find_parents(d);
	qsort(d->order, d->n_order, sizeof(struct diff_row *), compare_weights);
	if (diff_find_functions(d))
		return failure_set(f, -ENOMEM, "cannot compare", d->runs[0].path, NULL);
	return 0;
}
