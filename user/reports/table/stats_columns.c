/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The columns: which there are, their names, and their values.
 *
 * Each counter of threads adds four columns: its sum ("cycles"), its own sum ("cycles:self"), and
 * its rates ("cycles/call", "cycles/s"). A counter itself may have the name "cycles:u", so an exact
 * match comes first.
 */
#include "reports/table/stats_view.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PART(part) (1u << (part))
#define TIMES	   (PART(STATS_SLICES) | PART(STATS_ASYNCS) | PART(STATS_FRAMES))

static const struct {
	enum stats_what what;
	const char *name;
	unsigned parts;
} known[] = {
	{ STATS_COUNT, "count",
	  TIMES | PART(STATS_INSTANTS) | PART(STATS_COUNTERS) | PART(STATS_POOLS) },
	{ STATS_TOTAL, "total", TIMES },
	{ STATS_SELF, "self", PART(STATS_SLICES) },
	{ STATS_RUNNING, "on-cpu", PART(STATS_SLICES) },
	{ STATS_RUNNABLE, "runnable", PART(STATS_SLICES) },
	{ STATS_BLOCKED, "blocked", PART(STATS_SLICES) },
	{ STATS_UNKNOWN, "unknown", PART(STATS_SLICES) },
	{ STATS_FREES, "frees", PART(STATS_POOLS) },
	{ STATS_LIVE, "live", PART(STATS_POOLS) },
	{ STATS_PEAK, "peak", PART(STATS_POOLS) },
	{ STATS_LEAKED, "leaked", PART(STATS_POOLS) },
	{ STATS_LEAKS, "leaks", PART(STATS_POOLS) },
	{ STATS_MIN, "min", TIMES | PART(STATS_COUNTERS) },
	{ STATS_MAX, "max", TIMES | PART(STATS_COUNTERS) },
	{ STATS_AVG, "avg", TIMES | PART(STATS_COUNTERS) },
	{ STATS_P50, "p50", TIMES },
	{ STATS_P95, "p95", TIMES },
	{ STATS_P99, "p99", TIMES },
	{ STATS_LAST, "last", PART(STATS_COUNTERS) },
	{ STATS_SHARE, "share", TIMES },
};

#define N_KNOWN (sizeof(known) / sizeof(known[0]))

static const struct {
	enum stats_what what;
	const char *suffix;
} of_counters[] = {
	{ STATS_COUNTED_TOTAL, "" },
	{ STATS_COUNTED_SELF, ":self" },
	{ STATS_COUNTED_CALL, "/call" },
	{ STATS_COUNTED_SECOND, "/s" },
};

bool stats_part_has(enum stats_part part, enum stats_what what)
{
	if (what == STATS_NAME)
		return true;
	for (size_t i = 0; i < N_KNOWN; i++) {
		if (known[i].what == what)
			return known[i].parts & PART(part);
	}
	return part == STATS_SLICES;
}

bool stats_has(const struct stats *stats, enum stats_what what)
{
	switch (what) {
	case STATS_RUNNING:
	case STATS_RUNNABLE:
	case STATS_BLOCKED:
		return stats->known_ns;
	case STATS_UNKNOWN:
		return stats->known_ns && stats->unknown_ns;
	default:
		return true;
	}
}

bool stats_is_time(const struct name *counter)
{
	size_t n = strcspn(counter->text, ":");

	return (n == 10 && !memcmp(counter->text, "task_clock", n)) ||
	       (n == 9 && !memcmp(counter->text, "cpu_clock", n));
}

/* --- instructions per cycle -------------------------------------------------------------------- */

/* The modifier behind the name, as in "cycles:u"; NULL: it is another counter. */
static const char *counter_modifier(const struct name *counter, const char *name)
{
	size_t n = strlen(name);

	if (strncmp(counter->text, name, n) || (counter->text[n] && counter->text[n] != ':'))
		return NULL;
	return counter->text + n;
}

/* Their ratio makes sense only if both have the same modifiers. */
static bool find_ipc_columns(const struct stats *stats, unsigned *ret_cycles,
			     unsigned *ret_instructions)
{
	for (unsigned i = 0; i < stats->n_counters; i++) {
		const char *a = counter_modifier(stats->counters[i], "cycles"), *b;

		if (!a)
			a = counter_modifier(stats->counters[i], "cpu_cycles");
		for (unsigned j = 0; a && j < stats->n_counters; j++) {
			b = counter_modifier(stats->counters[j], "instructions");
			if (!b || strcmp(a, b))
				continue;
			*ret_cycles = i;
			*ret_instructions = j;
			return true;
		}
	}
	return false;
}

bool stats_has_ipc(const struct stats *stats)
{
	unsigned cycles, instructions;

	return find_ipc_columns(stats, &cycles, &instructions);
}

/* --- names ------------------------------------------------------------------------------------- */

/* perf writes "cache-misses", the argument of a slice is "cache_misses". */
static bool equal_but_dashes(const char *a, const char *b, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		char x = a[i] == '-' ? '_' : a[i];

		if (x != b[i])
			return false;
	}
	return true;
}

static bool find_counter_column(const struct stats *stats, const char *name,
				struct stats_column *column)
{
	size_t length = strlen(name), i, n;

	for (i = 0; i < sizeof(of_counters) / sizeof(of_counters[0]); i++) {
		n = strlen(of_counters[i].suffix);
		if (length <= n || strcmp(name + length - n, of_counters[i].suffix))
			continue;
		for (unsigned c = 0; c < stats->n_counters; c++) {
			if (stats->counters[c]->length != length - n ||
			    !equal_but_dashes(name, stats->counters[c]->text, length - n))
				continue;
			column->what = of_counters[i].what;
			column->counter = c;
			return true;
		}
	}
	return false;
}

static bool find_reason_column(const struct stats *stats, const char *name,
			       struct stats_column *column)
{
	enum wait_reason reason;

	if (!stats->has_reasons || strncmp(name, "blocked_in.", 11) ||
	    !wait_reason_parse(name + 11, &reason))
		return false;
	column->what = STATS_BLOCKED_IN;
	column->counter = reason;
	return true;
}

static void set_column_name(const struct stats *stats, struct stats_column *column)
{
	const char *base = "ipc", *suffix = column->what == STATS_IPC_SELF ? ":self" : "";

	for (size_t i = 0; i < sizeof(of_counters) / sizeof(of_counters[0]); i++) {
		if (of_counters[i].what == column->what) {
			base = stats->counters[column->counter]->text;
			suffix = of_counters[i].suffix;
		}
	}
	for (size_t i = 0; i < N_KNOWN; i++) {
		if (known[i].what == column->what)
			base = known[i].name;
	}
	if (column->what == STATS_BLOCKED_IN) {
		snprintf(column->name, sizeof(column->name), "blocked_in.%s",
			 wait_reason_text(column->counter));
		return;
	}
	snprintf(column->name, sizeof(column->name), "%.*s%s",
		 (int)sizeof(column->name) - 1 - (int)strlen(suffix), base, suffix);
}

static bool find_column(const struct stats *stats, const char *name, struct stats_column *column)
{
	*column = (struct stats_column){ 0 };
	if (!strcmp(name, "%"))
		name = "share";
	for (size_t i = 0; i < N_KNOWN; i++) {
		if (!strcmp(known[i].name, name)) {
			column->what = known[i].what;
			set_column_name(stats, column);
			return true;
		}
	}
	if (stats_has_ipc(stats) && (!strcmp(name, "ipc") || !strcmp(name, "ipc:self")))
		column->what = name[3] ? STATS_IPC_SELF : STATS_IPC;
	else if (!find_reason_column(stats, name, column) &&
		 !find_counter_column(stats, name, column))
		return false;
	set_column_name(stats, column);
	return true;
}

static int refuse_column(const struct stats *stats, const char *name, struct failure *f)
{
	char counters[256] = "";
	size_t used = 0;

	failure_set(f, -EINVAL, "unknown column", name, "the traces have no column of that name");
	for (unsigned i = 0; i < stats->n_counters && used < sizeof(counters); i++) {
		int n = snprintf(counters + used, sizeof(counters) - used, ", %s",
				 stats->counters[i]->text);

		used += n < 0 ? sizeof(counters) : (size_t)n;
	}
	failure_hint(
		f,
		"the columns are count, total, self, min, max, avg, p50, p95, p99, share%s%s%s%s%s",
		stats_has(stats, STATS_RUNNING) ? ", on-cpu, runnable, blocked, unknown" : "",
		stats->has_reasons ? ", blocked_in.REASON" : "",
		stats_has_ipc(stats) ? ", ipc" : "", counters,
		stats->n_counters
			? "; for each counter also COUNTER:self, COUNTER/call and COUNTER/s"
			: "");
	return -EINVAL;
}

/* --- which are shown --------------------------------------------------------------------------- */

static unsigned usual_columns(const struct stats_view *view, enum stats_part part,
			      struct stats_column *columns)
{
	unsigned n = 0, c;

	for (size_t i = 0; i < N_KNOWN; i++) {
		if (known[i].parts & PART(part) && stats_has(view->stats, known[i].what))
			columns[n++].what = known[i].what;
	}
	for (c = 0; part == STATS_SLICES && c < view->stats->n_counters; c++) {
		columns[n].what = STATS_COUNTED_TOTAL;
		columns[n++].counter = c;
	}
	if (part == STATS_SLICES && stats_has_ipc(view->stats))
		columns[n++].what = STATS_IPC;
	for (c = 0; c < n; c++)
		set_column_name(view->stats, &columns[c]);
	return n;
}

static int parse_columns(struct stats_view *view, struct failure *f)
{
	const char *at = view->options->columns;
	char name[STATS_COLUMN_NAME];
	size_t length;

	for (;; at += length + 1) {
		length = strcspn(at, ",");
		if (length >= sizeof(name) || view->n_columns == STATS_MAX_COLUMNS)
			return failure_set(f, -EINVAL, "too many or too long column names", at, "");
		memcpy(name, at, length);
		name[length] = '\0';
		if (!find_column(view->stats, name, &view->columns[view->n_columns++]))
			return refuse_column(view->stats, name, f);
		if (!at[length])
			return 0;
	}
}

int stats_columns_init(struct stats_view *view, struct failure *f)
{
	const char *sort = view->options->sort;
	int error = 0;

	view->columns = calloc(STATS_MAX_COLUMNS, sizeof(*view->columns));
	if (!view->columns)
		return failure_set(f, -ENOMEM, "cannot print", "the table", NULL);
	view->chosen = view->options->columns != NULL;
	if (view->chosen)
		error = parse_columns(view, f);
	else
		view->n_columns = usual_columns(view, STATS_SLICES, view->columns);
	if (error || !sort)
		return error;
	view->has_sort = true;
	if (!strcmp(sort, "name"))
		view->sort.what = STATS_NAME;
	else if (!find_column(view->stats, sort, &view->sort))
		error = refuse_column(view->stats, sort, f);
	return error;
}

unsigned stats_part_columns(const struct stats_view *view, struct stats_column *columns)
{
	bool times = TIMES & PART(view->part);
	unsigned i, n = 0;

	memset(columns, 0, STATS_MAX_COLUMNS * sizeof(*columns));
	if (!view->chosen || !times)
		return usual_columns(view, view->part, columns);
	for (i = 0; i < view->n_columns; i++) {
		if (stats_part_has(view->part, view->columns[i].what))
			columns[n++] = view->columns[i];
	}
	return n;
}

/* --- values ------------------------------------------------------------------------------------ */

static struct stats_value no_value(void)
{
	return (struct stats_value){ .kind = STATS_VALUE_NONE, .number = NAN };
}

static struct stats_value integer_value(enum stats_value_kind kind, uint64_t value)
{
	return (struct stats_value){ .kind = kind, .number = value, .u = value };
}

static struct stats_value real_value(enum stats_value_kind kind, long double value)
{
	return (struct stats_value){ .kind = kind, .number = value };
}

static struct stats_value stats_arg_value(const struct arg *arg)
{
	return (struct stats_value){ .kind = STATS_VALUE_ARG,
				     .number = stats_number(arg),
				     .arg = *arg };
}

static struct stats_value ratio_value(uint64_t a, uint64_t b, long double factor)
{
	if (!b)
		return no_value();
	return real_value(STATS_VALUE_REAL, (long double)a / (long double)b * factor);
}

/* Multiplexed counters are known for different slices, so this is the ratio of their rates. */
static struct stats_value ipc_value(const struct stats *stats, const struct stats_row *row,
				    bool self)
{
	const struct stats_counted *c, *i;
	unsigned cycles, instructions;

	if (!row->counted || !find_ipc_columns(stats, &cycles, &instructions))
		return no_value();
	c = &row->counted[cycles];
	i = &row->counted[instructions];
	if (self && c->selves && i->selves)
		return ratio_value(i->self, c->self, (long double)c->selves / i->selves);
	if (self || !c->total_ns || !i->total_ns)
		return no_value();
	return ratio_value(i->total, c->total, (long double)c->total_ns / i->total_ns);
}

static struct stats_value counted_value(const struct stats *stats, const struct stats_row *row,
					const struct stats_column *column)
{
	bool time = stats_is_time(stats->counters[column->counter]);
	enum stats_value_kind kind = time ? STATS_VALUE_TIME : STATS_VALUE_COUNT;
	const struct stats_counted *c = row->counted ? &row->counted[column->counter] : NULL;

	if (!c || !c->calls)
		return no_value();
	switch (column->what) {
	case STATS_COUNTED_SELF:
		return c->selves ? integer_value(kind, c->self) : no_value();
	case STATS_COUNTED_CALL:
		if (time)
			return integer_value(kind, c->sum / c->calls);
		return ratio_value(c->sum, c->calls, 1);
	case STATS_COUNTED_SECOND:
		return ratio_value(c->total, c->total_ns, 1e9L);
	default:
		return integer_value(kind, c->total);
	}
}

static struct stats_value percentile_value(const struct stats_row *row, unsigned percent)
{
	if (!row->histogram.n)
		return no_value();
	return integer_value(STATS_VALUE_TIME, histogram_percentile(&row->histogram, percent,
								    row->min_ns, row->max_ns));
}

static struct stats_value share_value(const struct stats_view *view, const struct stats_row *row)
{
	if (!view->wall_ns)
		return no_value();
	return real_value(STATS_VALUE_PERCENT,
			  100 * (long double)row->total_ns / (long double)view->wall_ns);
}

static struct stats_value sampled_value(const struct stats_row *row, enum stats_what what)
{
	if (what == STATS_LAST)
		return stats_arg_value(&row->last);
	if (!row->numbers)
		return no_value();
	if (what == STATS_AVG)
		return real_value(STATS_VALUE_REAL, stats_sum(row) / (long double)row->numbers);
	return stats_arg_value(what == STATS_MIN ? &row->min : &row->max);
}

/* The states add up to Total: the rest of it is unknown. */
static struct stats_value state_value(const struct stats_view *view, const struct stats_row *row,
				      enum stats_what what)
{
	uint64_t known_ns = row->running_ns + row->runnable_ns + row->blocked_ns;

	if (!stats_has(view->stats, STATS_RUNNING))
		return no_value();
	if (what == STATS_RUNNING)
		return integer_value(STATS_VALUE_TIME, row->running_ns);
	if (what == STATS_RUNNABLE)
		return integer_value(STATS_VALUE_TIME, row->runnable_ns);
	if (what == STATS_BLOCKED)
		return integer_value(STATS_VALUE_TIME, row->blocked_ns);
	return integer_value(STATS_VALUE_TIME,
			     known_ns < row->total_ns ? row->total_ns - known_ns : 0);
}

static struct stats_value duration_value(const struct stats_view *view, const struct stats_row *row,
					 enum stats_what what)
{
	switch (what) {
	case STATS_TOTAL:
		return integer_value(STATS_VALUE_TIME, row->total_ns);
	case STATS_SELF:
		return integer_value(STATS_VALUE_TIME, row->self_ns);
	case STATS_RUNNING:
	case STATS_RUNNABLE:
	case STATS_BLOCKED:
	case STATS_UNKNOWN:
		return state_value(view, row, what);
	case STATS_MIN:
		return integer_value(STATS_VALUE_TIME, row->min_ns);
	case STATS_MAX:
		return integer_value(STATS_VALUE_TIME, row->max_ns);
	case STATS_AVG:
		return row->count ? integer_value(STATS_VALUE_TIME, row->sum_ns / row->count)
				  : no_value();
	case STATS_P50:
		return percentile_value(row, 50);
	case STATS_P95:
		return percentile_value(row, 95);
	case STATS_P99:
		return percentile_value(row, 99);
	case STATS_SHARE:
		return share_value(view, row);
	default:
		return no_value();
	}
}

/* The sum is negative if a trace begins in the middle of a recording. */
static struct stats_value bytes_value(int64_t value)
{
	return integer_value(STATS_VALUE_BYTES, value > 0 ? (uint64_t)value : 0);
}

static struct stats_value pool_value(const struct stats_row *row, enum stats_what what)
{
	switch (what) {
	case STATS_FREES:
		return integer_value(STATS_VALUE_COUNT, row->frees);
	case STATS_LIVE:
		return bytes_value(stats_bytes_sum(row->live_before, row->live));
	case STATS_PEAK:
		return bytes_value(row->peak);
	case STATS_LEAKED:
		return integer_value(STATS_VALUE_BYTES, row->leaked);
	case STATS_LEAKS:
		return integer_value(STATS_VALUE_COUNT, row->leaks);
	default:
		return no_value();
	}
}

struct stats_value stats_value(const struct stats_view *view, const struct stats_row *row,
			       const struct stats_column *column)
{
	if (!stats_part_has(view->part, column->what))
		return no_value();
	switch (column->what) {
	case STATS_COUNT:
		return integer_value(STATS_VALUE_COUNT, row->count);
	case STATS_IPC:
	case STATS_IPC_SELF:
		return ipc_value(view->stats, row, column->what == STATS_IPC_SELF);
	case STATS_COUNTED_TOTAL:
	case STATS_COUNTED_SELF:
	case STATS_COUNTED_CALL:
	case STATS_COUNTED_SECOND:
		return counted_value(view->stats, row, column);
	default:
		break;
	}
	if (column->what == STATS_BLOCKED_IN)
		return integer_value(STATS_VALUE_TIME, row->blocked_in[column->counter]);
	if (view->part == STATS_COUNTERS)
		return sampled_value(row, column->what);
	if (view->part == STATS_POOLS)
		return pool_value(row, column->what);
	return duration_value(view, row, column->what);
}
