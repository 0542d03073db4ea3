/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints the statistics (stats.h): as tables for people, as JSON, CSV and OpenMetrics for programs. This and
 * stats.h are the headers of reports/table/ to include from outside.
 */
#ifndef PROFTRACE_REPORTS_TABLE_STATS_PRINT_H
#define PROFTRACE_REPORTS_TABLE_STATS_PRINT_H

#include <stdio.h>

#include "otlp/otlp.h"
#include "base/failure.h"
#include "reports/table/stats.h"
#include "reports/table/stats_metrics.h"

enum stats_unit {
	STATS_UNIT_AUTO,
	STATS_UNIT_NS,
	STATS_UNIT_US,
	STATS_UNIT_MS,
	STATS_UNIT_S,
};

/* All zero: all rows, sorted by Total. Strings are borrowed. */
struct stats_options {
	unsigned max_rows; /* of each part, 0 = all; a line says how many were left out */
	bool color;
	unsigned width; /* of the terminal: no line is wider. 0: not known, all columns are shown */
	enum stats_unit unit;
	const char *sort; /* the name of a column; NULL: Total, or the default of the part */
	bool ascending;
	const char *columns;	    /* names, separated by commas; NULL: the default ones */
	const char *const *domains; /* globs of categories; !GLOB excludes */
	unsigned n_domains;
	const char *const *names; /* globs of names; !GLOB excludes */
	unsigned n_names;
};

/* A trace that was read, for the JSON. */
struct stats_file {
	const char *path;
	uint64_t truncated_at; /* byte offset, if is_truncated */
	bool is_truncated;
};

/*
 * Each returns 0, or negative errno with `f` filled: the traces have no such column. `account`:
 * what went wrong while the traces were recorded and read; NULL: it is printed elsewhere.
 */
int stats_print_table(const struct consumer *stats, FILE *out, const struct stats_options *options,
		      const struct account *account, struct failure *f);
int stats_print_csv(const struct consumer *stats, FILE *out, const struct stats_options *options,
		    const struct account *account, struct failure *f);
int stats_print_json(const struct consumer *stats, FILE *out, const struct stats_options *options,
		     const struct account *account, const struct stats_file *files,
		     unsigned n_files, struct failure *f);
/* Metrics, in three forms (stats_metrics.h). */
int stats_print_openmetrics(const struct consumer *stats, FILE *out,
			    const struct stats_options *options, const struct account *account,
			    metrics_more *more, const void *of, struct failure *f);
int stats_print_protobuf(const struct consumer *stats, FILE *out,
			 const struct stats_options *options, const struct account *account,
			 metrics_more *more, const void *of, struct failure *f);
int stats_give_otlp(const struct consumer *stats, const struct stats_options *options,
		    const struct account *account, metrics_more *more, const void *of,
		    struct otlp_metrics *m, struct failure *f);

/* --- print_text.c: strings and numbers in JSON and CSV --- */

/*
 * `before`, such as the key, and the text in quotes with the escapes of JSON; null for a name that
 * is NULL.
 */
void put_json_string(FILE *out, const char *before, const char *text);
void put_json_name(FILE *out, const char *before, const struct name *name);
/* The next field of an object: , "key": value */
void put_json_u64(FILE *out, const char *key, uint64_t value);
/* NaN and infinity, which JSON does not have, become null. */
void put_json_double(FILE *out, double value);

/* An integer, or a double as put_json_double() or put_csv_double() prints it. */
void put_number(FILE *out, const struct arg *arg, void (*put_double)(FILE *out, double value));

/* Quoted if necessary. */
void put_csv_text(FILE *out, const char *text);
void put_csv_double(FILE *out, double value);
/* With all digits; in nanoseconds when no unit was requested. */
void put_csv_time(FILE *out, enum stats_unit unit, uint64_t ns);

/*
 * If `fd` is a terminal, sets the width of tables, and colour unless NO_COLOR is set. Returns the number of its lines,
 * else 0.
 */
unsigned stats_fit_terminal(int fd, struct stats_options *options);

#endif
