/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A view is the part of the statistics that is printed, in whatever form: which rows in which order
 * (stats_view.c), and which columns with which values (stats_columns.c). Private to reports/.
 */
#ifndef PROFTRACE_REPORTS_TABLE_STATS_VIEW_H
#define PROFTRACE_REPORTS_TABLE_STATS_VIEW_H

#include "reports/table/stats_print.h"
#include "reports/table/stats_rows.h"

enum {
	STATS_MAX_COLUMNS = 64,
	STATS_COLUMN_NAME = 160,
	STATS_DISPLAY_NAME = 2048, /* bytes of "NAME SERIES" */
};

enum stats_what {
	STATS_COUNT,
	STATS_TOTAL,
	STATS_SELF,
	STATS_RUNNING,
	STATS_RUNNABLE,
	STATS_BLOCKED,
	STATS_UNKNOWN,
	STATS_MIN,
	STATS_MAX,
	STATS_AVG,
	STATS_P50,
	STATS_P95,
	STATS_P99,
	STATS_SHARE,
	STATS_LAST,
	STATS_FREES,
	STATS_LIVE,
	STATS_PEAK,
	STATS_LEAKED,
	STATS_LEAKS,
	STATS_BLOCKED_IN, /* `counter` is the reason */
	STATS_COUNTED_TOTAL,
	STATS_COUNTED_SELF,
	STATS_COUNTED_CALL,
	STATS_COUNTED_SECOND,
	STATS_IPC,
	STATS_IPC_SELF,
	STATS_NAME, /* only for sorting */
};

struct stats_column {
	enum stats_what what;
	unsigned counter; /* STATS_COUNTED_*: of stats->counters; BLOCKED_IN: enum wait_reason */
	char name[STATS_COLUMN_NAME];
};

enum stats_value_kind {
	STATS_VALUE_NONE, /* not known, which is never printed as 0 */
	STATS_VALUE_COUNT,
	STATS_VALUE_TIME, /* ns */
	STATS_VALUE_BYTES,
	STATS_VALUE_REAL,
	STATS_VALUE_PERCENT,
	STATS_VALUE_ARG, /* as in the mark */
};

struct stats_value {
	enum stats_value_kind kind;
	long double number; /* for sorting */
	uint64_t u;	    /* COUNT, TIME, BYTES */
	struct arg arg;
};

struct stats_view {
	const struct stats *stats;
	const struct stats_options *options;
	uint64_t wall_ns;
	unsigned n_columns; /* of slices */
	struct stats_column *columns;
	bool chosen; /* by the user, instead of the default ones */
	bool has_sort;
	struct stats_column sort;
	/* Of the part that is printed now. */
	enum stats_part part;
	size_t n_rows;
	size_t n_all; /* before max_rows */
	struct stats_row *rows;
};

/* stats_columns.c */
int stats_columns_init(struct stats_view *view, struct failure *f);
/* Whether the traces have data for it: other columns are printed on request only. */
bool stats_has(const struct stats *stats, enum stats_what what);
bool stats_part_has(enum stats_part part, enum stats_what what);
/*
 * The default columns of the part, or the chosen ones that it has; `columns` has space for
 * STATS_MAX_COLUMNS.
 */
unsigned stats_part_columns(const struct stats_view *view, struct stats_column *columns);
struct stats_value stats_value(const struct stats_view *view, const struct stats_row *row,
			       const struct stats_column *column);
bool stats_is_time(const struct name *counter); /* its values are in ns */
bool stats_has_ipc(const struct stats *stats);

/*
 * stats_print_rest.c: prints leaks, and `account` if it is not NULL; `first`: nothing was printed
 * yet. Returns 0.
 */
int stats_print_rest(const struct stats_view *view, const struct account *account, FILE *out,
		     bool first);

/* stats_print_waits.c: what slices waited for; the same as JSON. */
bool stats_print_waits(const struct stats_view *view, FILE *out, bool first);
int stats_print_json_waits(const struct stats_view *view, FILE *out);

/* Prints the numbers of the account that are a reason for concern. */
void stats_print_diagnostics(const struct stats_options *options, const struct account *account,
			     FILE *out, bool first);

/* stats_print.c: a time in a table cell (TABLE_CELL bytes), and a line below a table. */
void stats_put_time(enum stats_unit unit, uint64_t ns, char *cell);
void stats_print_note(const struct stats_options *options, FILE *out, const char *text);

/* stats_json.c: the lists of files and of diagnostics, which all JSON reports have. */
void stats_print_json_files(const struct stats_file *files, unsigned n, FILE *out);
void stats_print_json_diagnostics(const struct account *account, FILE *out);

/* stats_view.c */
int stats_view_init(struct stats_view *view, const struct consumer *stats,
		    const struct stats_options *options, struct failure *f);
/* Selects, joins and sorts the rows of a part. */
int stats_view_part(struct stats_view *view, enum stats_part part);
void stats_view_free(struct stats_view *view);
/*
 * The name of a row: "NAME", "NAME SERIES", "(other)". Returns `buffer`, or a text that lives as
 * long as the names.
 */
bool stats_wait_wanted(const void *view, const struct stats_wait_key *key);
bool stats_leak_wanted(const struct stats_view *view, const struct stats_leak *leak);
const char *stats_row_name(const struct stats_row *row, char buffer[STATS_DISPLAY_NAME]);
/* NULL: the row has no owner. */
const struct stats_owner *stats_row_owner(const struct stats *stats, const struct stats_row *row);

#endif
