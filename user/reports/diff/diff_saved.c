/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Saved tables (`report --format json`) as runs. They have less than a trace: percentiles within
 * 1/16, and nothing about which slices were inside which.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yajl/yajl_tree.h>

#include "base/library/library.h"
#include "reports/diff/diff_internal.h"

enum {
	SAVED_MAX_BYTES = 64 << 20,
	SAVED_MAX_NESTING = 16, /* a report has six levels; yajl frees a tree by recursion */
};

bool diff_is_saved(int fd)
{
	char begin[64];
	ssize_t n = pread(fd, begin, sizeof(begin) - 1, 0);

	if (n <= 0)
		return false;
	begin[n] = '\0';
	return strstr(begin, "\"proftrace_report\"") != NULL;
}

static bool saved_is_too_nested(const char *text)
{
	unsigned depth = 0;
	bool in_string = false;

	for (; *text; text++) {
		if (in_string && *text == '\\' && text[1])
			text++;
		else if (*text == '"')
			in_string = !in_string;
		else if (!in_string && (*text == '{' || *text == '['))
			depth++;
		else if (!in_string && (*text == '}' || *text == ']'))
			depth -= depth > 0;
		if (depth > SAVED_MAX_NESTING)
			return true;
	}
	return false;
}

/* The whole file as a string, or NULL with errno. */
static char *saved_read(int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	char *text;
	ssize_t n;

	if (size < 0 || size > SAVED_MAX_BYTES) {
		errno = size < 0 ? errno : EFBIG;
		return NULL;
	}
	text = calloc(1, (size_t)size + 1);
	n = text ? pread(fd, text, (size_t)size, 0) : -1;
	if (n == size)
		return text;
	free(text);
	return NULL;
}

static double saved_number(yajl_val object, const char *key)
{
	const char *path[] = { key, NULL };
	yajl_val value = yajl_tree_get(object, path, yajl_t_number);

	return YAJL_IS_DOUBLE(value)	? YAJL_GET_DOUBLE(value)
	       : YAJL_IS_INTEGER(value) ? (double)YAJL_GET_INTEGER(value)
					: (double)NAN;
}

static const struct name *saved_name(struct diff *d, yajl_val object, const char *key)
{
	const char *path[] = { key, NULL };
	yajl_val value = yajl_tree_get(object, path, yajl_t_string);

	if (!YAJL_IS_STRING(value))
		return NULL;
	return names_intern(d->names, value->u.string, strlen(value->u.string), LIMIT_NAME);
}

static uint64_t saved_time(double value)
{
	return value >= 0 && value < 1.8e19 ? (uint64_t)value : 0;
}

static void saved_add_counters(struct diff *d, struct diff_row *row, yajl_val object, float *values,
			       double units)
{
	const char *path[] = { "counters", NULL };
	yajl_val counters = yajl_tree_get(object, path, yajl_t_object);
	unsigned k;

	for (size_t i = 0; counters && i < counters->u.object.len; i++) {
		const struct name *name = names_intern_string(d->names, counters->u.object.keys[i]);
		double total = saved_number(counters->u.object.values[i], "total");
		double calls = saved_number(counters->u.object.values[i], "calls");

		for (k = 0; k < d->n_counters && d->counters[k] != name; k++)
			;
		if (k == DIFF_COUNTERS)
			return;
		d->counters[k] = name;
		d->n_counters += k == d->n_counters;
		if (isnan(total) || isnan(calls))
			continue;
		values[METRIC_COUNTED + k] = (float)(total / units);
		row->side[d->is_b].counted[k] += saved_time(total);
		row->side[d->is_b].with_counter[k] += saved_time(calls);
	}
}

static void saved_add_times(struct diff *d, struct diff_row *row, yajl_val object, float *values,
			    double units)
{
	struct diff_sums *side = &row->side[d->is_b];
	double running = saved_number(object, "running_ns");

	values[METRIC_P50] = (float)saved_number(object, "p50_ns");
	values[METRIC_P95] = (float)saved_number(object, "p95_ns");
	values[METRIC_TOTAL] = (float)(saved_number(object, "total_ns") / units);
	values[METRIC_SELF] = (float)(saved_number(object, "self_ns") / units);
	side->total += saved_time(saved_number(object, "total_ns"));
	side->self += saved_time(saved_number(object, "self_ns"));
	if (isnan(running))
		return;
	values[METRIC_RUNNING] = (float)(running / units);
	values[METRIC_RUNNABLE] = (float)(saved_number(object, "runnable_ns") / units);
	values[METRIC_BLOCKED] = (float)(saved_number(object, "blocked_ns") / units);
	side->running += saved_time(running);
	side->runnable += saved_time(saved_number(object, "runnable_ns"));
	side->blocked += saved_time(saved_number(object, "blocked_ns"));
	side->states += saved_time(saved_number(object, "count"));
}

static int saved_add_row(struct diff *d, enum diff_kind kind, yajl_val object, double units)
{
	const struct name *name = saved_name(d, object, "name");
	double count = saved_number(object, "count");
	struct diff_row *row;
	float *values;

	if (!name || isnan(count) || count <= 0)
		return 0;
	row = diff_row_get(d, kind, saved_name(d, object, "category"), name);
	if (!row)
		return d->failed ? -ENOMEM : 0;
	values = diff_row_values(row, d->n_samples);
	if (!values)
		return -ENOMEM;
	values[METRIC_COUNT] = (float)(count / units);
	row->runs[d->is_b]++;
	row->side[d->is_b].count += saved_time(count);
	if (kind == DIFF_COUNTER)
		values[METRIC_AVERAGE] = (float)saved_number(object, "avg");
	if (kind <= DIFF_FRAME)
		saved_add_times(d, row, object, values, units);
	if (kind == DIFF_SLICE)
		saved_add_counters(d, row, object, values, units);
	return 0;
}

static const char *const saved_parts[] = { "slices", "async_slices", "frames", "instants",
					   "counters" };

static yajl_val saved_part(yajl_val root, unsigned kind)
{
	const char *path[] = { saved_parts[kind], NULL };

	return yajl_tree_get(root, path, yajl_t_array);
}

/* How often the unit of work occurred. */
static double saved_units(const struct diff *d, yajl_val root)
{
	double units = 0;

	if (!d->options->per)
		return 1;
	for (unsigned kind = DIFF_SLICE; kind <= DIFF_INSTANT; kind++) {
		yajl_val part = saved_part(root, kind);

		for (size_t i = 0; part && i < part->u.array.len; i++) {
			const char *path[] = { "name", NULL };
			yajl_val object = part->u.array.values[i];
			yajl_val name = yajl_tree_get(object, path, yajl_t_string);
			double count = saved_number(object, "count");

			if (YAJL_IS_STRING(name) && !strcmp(name->u.string, d->options->per) &&
			    count > 0)
				units += count;
		}
	}
	return units;
}

static int saved_add_rows(struct diff *d, yajl_val root, double units)
{
	int error = 0;

	for (unsigned kind = DIFF_SLICE; kind <= DIFF_COUNTER; kind++) {
		yajl_val part = saved_part(root, kind);

		for (size_t i = 0; part && i < part->u.array.len && !error; i++)
			error = saved_add_row(d, kind, part->u.array.values[i], units);
	}
	d->n_samples++;
	d->n_side[d->is_b]++;
	return error;
}

int diff_add_saved(struct diff *d, int fd, const char *path, struct failure *f)
{
	struct diff_run *run = &d->runs[d->n_runs];
	char *text, reason[200] = "it is nested too deeply";
	yajl_val root = NULL;
	double units = 0;
	int error = library_load(&library_yajl, f);

	if (error)
		return error;
	text = saved_read(fd);
	if (!text)
		return failure_set(f, -errno, "cannot read", path, NULL);
	if (!saved_is_too_nested(text))
		root = yajl_tree_parse(text, reason, sizeof(reason));
	free(text);
	if (!root || !YAJL_IS_OBJECT(root)) {
		yajl_tree_free(root);
		return failure_set(f, -EBADMSG, "cannot read", path,
				   root ? "not a report" : reason);
	}
	units = saved_units(d, root);
	if (units > 0)
		error = saved_add_rows(d, root, units);
	yajl_tree_free(root);
	run->is_saved = true;
	d->n_runs++;
	if (error)
		return failure_set(f, error, "cannot compare", path, NULL);
	return units > 0 ? 0
			 : failure_set(f, -ENODATA, "cannot compare", path,
				       "it has no slice of the name of --per");
}
