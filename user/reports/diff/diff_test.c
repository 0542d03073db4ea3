/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decides which changes are more than noise.
 *
 * If nothing has changed, it does not matter on which side a run is: any other distribution of the
 * runs onto the sides is as probable. So the difference of the sides is compared with those under
 * other distributions (permutations), all of them or 20000 random ones. Nothing is assumed about
 * how the values are distributed.
 *
 * Many names and metrics are looked at, so some differ by chance. For each permutation the largest
 * difference of all of them is what an observed one has to exceed (Westfall and Young's step-down
 * maxT): the procedure of Holm with the joint distribution in the place of a sum of probabilities.
 * The probability of one wrong decision or more is below 1 - confidence, however the names depend
 * on each other, and five runs on each side suffice for 99 %, where a bound that adds up
 * probabilities would need eight.
 *
 * Values are logarithms, as noise is mostly a factor. A part of it is common to all names of a run:
 * the machine was busy, or slow. So every time is looked at twice, as it is and without the median
 * deviation of all names of its run; what differs only in the second form has to agree with the
 * first one about the direction. What is further from the median than 1.5
 * robust standard deviations (of both sides together) is moved there, so that one disturbed run
 * does not hide what all others show; if the sides are apart, their values are less than one such
 * deviation from the median. All of this depends on no side, so the test stays exact.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "reports/diff/diff_internal.h"

enum {
	MAX_PERMUTATIONS = 20000,
	LEAST_RUNS = 3,
	LEAST_COMMON = 5, /* names that a common deviation needs */
};

/*
 * What is seen without the common deviation has to be seen with it at this share of its size: the
 * deviation is also that of the names that did change.
 */
#define LEAST_AGREEMENT 0.5

/* One metric of one name. */
struct hypothesis {
	struct diff_row *row;
	enum diff_metric metric;
	bool is_alone; /* without what all names of a run have in common */
	bool is_log;
	double sd; /* within the sides, of the transformed values */
	double p;
	double observed; /* the share of the variance that the sides explain */
	unsigned count;	 /* permutations that exceed it */
};

struct permutation_test {
	const struct diff *d;
	struct hypothesis *list;
	unsigned n, n_samples, n_a;
	float *values;	 /* [sample][hypothesis]: centred, of length 1 */
	float *sums;	 /* of the side A of a permutation, for each hypothesis */
	uint8_t *is_a;	 /* of the permutation, by sample */
	double *scratch; /* one for each sample, name, or pair of samples */
	double *common;	 /* of each sample, the deviation of all names; NULL: too few names */
	unsigned permutations;
	uint64_t random;
};

static int compare_doubles(const void *left, const void *right)
{
	const double *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

static double median_of(double *values, unsigned n)
{
	qsort(values, n, sizeof(*values), compare_doubles);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* --- values ------------------------------------------------------------------------------------ */

static bool row_has_metric(const struct diff *d, const struct diff_row *row, unsigned metric)
{
	if (!row->runs[0] || !row->runs[1])
		return false;
	for (unsigned i = 0; i < d->n_samples; i++) {
		if (isnan(diff_value(row, i, metric)))
			return false;
	}
	return true;
}

/* Moves what is far off to the bounds. `x` has all samples; scratch twice as many. */
static void clip_outliers(double *x, unsigned n, double *scratch)
{
	double middle, deviation;

	memcpy(scratch, x, n * sizeof(*x));
	middle = median_of(scratch, n);
	for (unsigned i = 0; i < n; i++)
		scratch[i] = fabs(x[i] - middle);
	deviation = 1.5 * 1.4826 * median_of(scratch, n);
	for (unsigned i = 0; i < n && deviation > 0; i++)
		x[i] = fmin(fmax(x[i], middle - deviation), middle + deviation);
}

/* The transformed values of a hypothesis. */
static void read_values(const struct permutation_test *t, struct hypothesis *h, double *x)
{
	h->is_log = true;
	for (unsigned i = 0; i < t->n_samples; i++) {
		x[i] = diff_value(h->row, i, h->metric);
		h->is_log &= x[i] > 0;
	}
	for (unsigned i = 0; i < t->n_samples && h->is_log; i++)
		x[i] = log(x[i]) - (h->is_alone ? t->common[i] : 0);
	clip_outliers(x, t->n_samples, x + t->n_samples);
}

/* The median deviation of the p50 of all slices of a run from their medians over all runs. */
static void find_common(struct permutation_test *t, double *x)
{
	struct hypothesis *h;
	double *middles = calloc(t->n + 1, sizeof(*middles));
	unsigned i, n = 0, k;

	for (h = t->list; middles && h < t->list + t->n; h++) {
		if (h->metric != METRIC_P50)
			continue;
		for (i = 0; i < t->n_samples; i++)
			x[i] = log(fmax(diff_value(h->row, i, METRIC_P50), 1));
		middles[n++] = median_of(x, t->n_samples);
	}
	if (n >= LEAST_COMMON && !t->d->in_blocks)
		t->common = calloc(t->n_samples, sizeof(*t->common));
	for (i = 0; t->common && i < t->n_samples; i++) {
		for (k = n = 0; k < t->n; k++) {
			double value = diff_value(t->list[k].row, i, METRIC_P50);

			if (t->list[k].metric == METRIC_P50) {
				t->scratch[n] = log(fmax(value, 1)) - middles[n];
				n++;
			}
		}
		t->common[i] = median_of(t->scratch, n);
	}
	free(middles);
}

static double side_mean(const double *x, unsigned n)
{
	double sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += x[i];
	return sum / n;
}

/*
 * How far values are apart that are the same but for rounding, as a standard deviation: the width of
 * the histograms' buckets. Otherwise values that fall into two buckets could be more certain than
 * those that were measured.
 */
static double rounding_of(const struct diff *d, const struct hypothesis *h)
{
	if (!h->is_log)
		return 0;
	if (h->metric != METRIC_P50 && h->metric != METRIC_P95)
		return 0.001;
	for (unsigned i = 0; i < d->n_runs; i++) {
		if (d->runs[i].is_saved)
			return 0.018; /* 1/16 / sqrt(12) */
	}
	return 0.00225; /* 1/128 / sqrt(12) */
}

/* Adds the values to the matrix, unless they are all the same. */
static void add_values(struct permutation_test *t, unsigned at, const double *x)
{
	struct hypothesis *h = &t->list[at];
	unsigned i, n_b = t->n_samples - t->n_a;
	double mean = side_mean(x, t->n_samples), a = side_mean(x, t->n_a);
	double b = side_mean(x + t->n_a, n_b), all = 0, within = 0;
	double rounding = rounding_of(t->d, h);

	for (i = 0; i < t->n_samples; i++) {
		all += (x[i] - mean) * (x[i] - mean);
		within += (x[i] - (i < t->n_a ? a : b)) * (x[i] - (i < t->n_a ? a : b));
	}
	h->sd = sqrt(within / fmax(1, t->n_samples - 2));
	/* Floats keep seven digits. */
	if (all <= 1e-12 * fmax(1, mean * mean))
		return;
	all += t->n_samples * rounding * rounding;
	for (i = 0; i < t->n_samples; i++)
		t->values[(size_t)i * t->n + at] = (float)((x[i] - mean) / sqrt(all));
}

/* --- permutations ------------------------------------------------------------------------------ */

/* The statistic of each hypothesis for the present permutation is the square of its sum. */
static void sum_side(struct permutation_test *t)
{
	memset(t->sums, 0, t->n * sizeof(*t->sums));
	for (unsigned i = 0; i < t->n_samples; i++) {
		const float *row = t->values + (size_t)i * t->n;

		for (unsigned k = 0; t->is_a[i] && k < t->n; k++)
			t->sums[k] += row[k];
	}
}

/* Hypotheses are sorted by what was observed, the largest first. */
static void count_permutation(struct permutation_test *t)
{
	double most = 0;

	sum_side(t);
	for (unsigned k = t->n; k-- > 0;) {
		most = fmax(most, (double)t->sums[k] * (double)t->sums[k]);
		t->list[k].count += most >= t->list[k].observed - 1e-6;
	}
	t->permutations++;
}

static double count_combinations(unsigned n, unsigned k)
{
	double result = 1;

	for (unsigned i = 1; i <= k; i++)
		result = result * (n - k + i) / i;
	return result;
}

/* The next subset of the same size in lexical order; false: it was the last one. */
static bool next_combination(uint8_t *is_a, unsigned n)
{
	unsigned i = n, ones = 0, k;

	/* The last 1 with a 0 behind it moves on; all ones behind it follow directly. */
	while (i && is_a[i - 1]) {
		is_a[--i] = 0;
		ones++;
	}
	while (i && !is_a[i - 1])
		i--;
	if (!i)
		return false;
	is_a[i - 1] = 0;
	for (k = 0; k <= ones; k++)
		is_a[i + k] = 1;
	return true;
}

static void shuffle(struct permutation_test *t)
{
	for (unsigned i = t->n_samples - 1; i > 0; i--) {
		unsigned k = (unsigned)(number_next_random(&t->random) % (i + 1));
		uint8_t other = t->is_a[i];

		t->is_a[i] = t->is_a[k];
		t->is_a[k] = other;
	}
}

/* The observed distribution is one of the permutations: no probability is 0. */
static void run_permutations(struct permutation_test *t)
{
	memset(t->is_a, 0, t->n_samples);
	memset(t->is_a, 1, t->n_a);
	count_permutation(t);
	if (count_combinations(t->n_samples, t->n_a) <= MAX_PERMUTATIONS) {
		while (next_combination(t->is_a, t->n_samples))
			count_permutation(t);
		return;
	}
	for (unsigned i = 1; i < MAX_PERMUTATIONS; i++) {
		shuffle(t);
		count_permutation(t);
	}
}

/* --- results ----------------------------------------------------------------------------------- */

/* The value that a standard normal variable exceeds with probability p (Abramowitz, 26.2.23). */
static double normal_quantile(double p)
{
	double t = sqrt(-2 * log(p));

	return t - (2.515517 + 0.802853 * t + 0.010328 * t * t) /
			   (1 + 1.432788 * t + 0.189269 * t * t + 0.001308 * t * t * t);
}

/*
 * The change and its interval: the median of the ratios of all pairs of runs, and those of their
 * order statistics between which it lies with this confidence (Hodges and Lehmann; the interval
 * belongs to the test of Mann and Whitney).
 */
static void estimate_change(const struct permutation_test *t, const struct hypothesis *h,
			    struct diff_result *result)
{
	unsigned n_a = t->n_a, n_b = t->n_samples - t->n_a, i, k, n = 0, skip;
	double *pairs = t->scratch, z = normal_quantile((1 - t->d->options->confidence) / 2);
	double product = (double)n_a * n_b, below;

	for (i = 0; i < n_a; i++) {
		for (k = n_a; k < t->n_samples; k++) {
			double a = diff_value(h->row, i, h->metric);
			double b = diff_value(h->row, k, h->metric);

			pairs[n] = h->is_log ? log(b / a) : b - a;
			if (h->is_alone)
				pairs[n] -= t->common[k] - t->common[i];
			n++;
		}
	}
	result->change = median_of(pairs, n);
	below = product / 2 - z * sqrt(product * (n_a + n_b + 1) / 12);
	skip = below > 0 ? (unsigned)below : 0;
	result->low = pairs[skip];
	result->high = pairs[n - 1 - skip];
	if (h->is_log) {
		result->change = expm1(result->change);
		result->low = expm1(result->low);
		result->high = expm1(result->high);
	} else if (result->a > 0) {
		result->change /= result->a;
		result->low /= result->a;
		result->high /= result->a;
	} else {
		result->change = result->low = result->high = NAN;
	}
}

/* How many runs on each side would probably (80 %) show a change of the size that is seen. */
static unsigned estimate_runs(const struct permutation_test *t, const struct hypothesis *h,
			      const struct diff_result *result)
{
	double z = normal_quantile((1 - t->d->options->confidence) / 2 / t->n) + 0.842;
	double size = h->is_log ? log1p(result->change) : result->b - result->a;
	double n = size ? 2 * z * z * h->sd * h->sd / (size * size) + z * z / 4 : 0;

	if (!isfinite(n) || n > 10000)
		return 0;
	return n < t->d->least_runs ? t->d->least_runs : (unsigned)ceil(n);
}

static void report_hypothesis(struct permutation_test *t, struct hypothesis *h, double p)
{
	struct diff_result *result = &h->row->results[h->metric];
	unsigned k, n_b = t->n_samples - t->n_a;

	for (k = 0; k < t->n_samples; k++)
		t->scratch[k] = diff_value(h->row, k, h->metric);
	result->known = true;
	result->b = median_of(t->scratch + t->n_a, n_b);
	result->a = median_of(t->scratch, t->n_a);
	result->p = p;
	result->decided = t->d->testable && p <= 1 - t->d->options->confidence;
	estimate_change(t, h, result);
	if (!result->decided)
		result->needed = estimate_runs(t, h, result);
}

/* The second look at a time, after the first one. */
static void report_alone(struct permutation_test *t, struct hypothesis *h, double p)
{
	struct diff_result *first = &h->row->results[h->metric];
	struct diff_result alone = *first;

	alone.decided = t->d->testable && p <= 1 - t->d->options->confidence;
	if (!h->is_log || first->decided)
		return;
	estimate_change(t, h, &alone);
	if (alone.decided && first->change / alone.change >= LEAST_AGREEMENT &&
	    (alone.change > 0) == (first->b > first->a)) {
		alone.p = p;
		alone.is_alone = true;
		alone.needed = 0;
		*first = alone;
	} else if (!alone.decided) {
		alone.needed = estimate_runs(t, h, &alone);
		if (alone.needed && (!first->needed || alone.needed < first->needed))
			first->needed = alone.needed;
	}
}

static int compare_observed(const void *left, const void *right)
{
	const struct hypothesis *a = left, *b = right;

	if (a->observed != b->observed)
		return a->observed > b->observed ? -1 : 1;
	return a->metric < b->metric ? -1 : a->metric > b->metric;
}

/* --- all together ------------------------------------------------------------------------------ */

static int list_hypotheses(struct permutation_test *t)
{
	struct diff_row *row;
	unsigned m, n = 0;

	for (row = t->d->rows; row; row = row->hh.next) {
		row->results = calloc(METRICS, sizeof(*row->results));
		if (!row->results)
			return -ENOMEM;
		for (m = 0; m < METRICS; m++)
			n += row_has_metric(t->d, row, m);
	}
	t->list = calloc(2 * (size_t)n + 1, sizeof(*t->list));
	if (!t->list)
		return -ENOMEM;
	for (row = t->d->rows; row; row = row->hh.next) {
		for (m = 0; m < METRICS; m++) {
			if (row_has_metric(t->d, row, m))
				t->list[t->n++] = (struct hypothesis){ .row = row, .metric = m };
		}
	}
	return 0;
}

/* Once it is known what all names of a run have in common, times are looked at without that, too. */
static void list_alone(struct permutation_test *t)
{
	unsigned k, n = t->n;

	for (k = 0; t->common && k < n; k++) {
		enum diff_metric m = t->list[k].metric;

		if (m < METRIC_P50 || m > METRIC_BLOCKED)
			continue;
		t->list[t->n] = t->list[k];
		t->list[t->n++].is_alone = true;
	}
}

/* Fills the matrix in the order of the list, and each hypothesis with what was observed. */
static void fill_matrix(struct permutation_test *t, double *x)
{
	memset(t->values, 0, (size_t)t->n_samples * t->n * sizeof(*t->values));
	for (unsigned k = 0; k < t->n; k++) {
		read_values(t, &t->list[k], x);
		add_values(t, k, x);
	}
	memset(t->is_a, 0, t->n_samples);
	memset(t->is_a, 1, t->n_a);
	sum_side(t);
	for (unsigned k = 0; k < t->n; k++)
		t->list[k].observed = (double)t->sums[k] * (double)t->sums[k];
}

static void test_all(struct permutation_test *t, double *x)
{
	double p = 0;

	fill_matrix(t, x);
	qsort(t->list, t->n, sizeof(*t->list), compare_observed);
	fill_matrix(t, x);
	run_permutations(t);
	for (unsigned k = 0; k < t->n; k++) {
		p = fmax(p, (double)t->list[k].count / t->permutations);
		t->list[k].p = t->list[k].observed > 0 ? p : 1;
		if (!t->list[k].is_alone)
			report_hypothesis(t, &t->list[k], t->list[k].p);
	}
	for (unsigned k = 0; k < t->n; k++) {
		if (t->list[k].is_alone)
			report_alone(t, &t->list[k], t->list[k].p);
	}
}

static unsigned find_least_runs(double confidence)
{
	unsigned n = LEAST_RUNS;

	while (n < 50 && 2 / count_combinations(2 * n, n) > 1 - confidence)
		n++;
	return n;
}

int diff_test(struct diff *d)
{
	struct permutation_test t = { .d = d, .n_samples = d->n_samples, .n_a = d->n_side[0] };
	size_t pairs = (size_t)d->n_side[0] * d->n_side[1];
	double *x = calloc(3 * (size_t)d->n_samples, sizeof(*x));
	int error = list_hypotheses(&t);
	double distributions = count_combinations(d->n_samples, d->n_side[0]);

	d->least_runs = find_least_runs(d->options->confidence);
	d->testable = d->n_side[0] >= LEAST_RUNS && d->n_side[1] >= LEAST_RUNS &&
		      (d->n_side[0] == d->n_side[1] ? 2 : 1) / distributions <=
			      1 - d->options->confidence;
	t.random = 0x9e3779b97f4a7c15ull;
	t.values = calloc((size_t)t.n_samples * (2 * t.n + 1), sizeof(*t.values));
	t.sums = calloc(2 * t.n + 1, sizeof(*t.sums));
	t.is_a = calloc(t.n_samples + 1, 1);
	t.scratch = calloc(pairs + t.n_samples + t.n, sizeof(*t.scratch));
	if (!error && (!x || !t.values || !t.sums || !t.is_a || !t.scratch))
		error = -ENOMEM;
	if (!error && t.n) {
		find_common(&t, x);
		list_alone(&t);
		test_all(&t, x);
	}
	d->n_tests = t.n;
	d->most_permutations = t.permutations;
	free(x);
	free(t.list);
	free(t.values);
	free(t.sums);
	free(t.is_a);
	free(t.scratch);
	free(t.common);
	return error;
}
