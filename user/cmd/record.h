/* SPDX-License-Identifier: BSD-2-Clause */
/* What `proftrace record` was asked to do, and the parts that do it. */
#ifndef PROFTRACE_CMD_RECORD_H
#define PROFTRACE_CMD_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "counters/counters.h"
#include "handlers/handler.h"
#include "handlers/sink.h"
#include "target/spawn.h"
#include "timeline/origin.h"
#include "timeline/timeline.h"

#define MAX_PIDS    256
#define MAX_OUTPUTS 16
#define MAX_DOMAINS 64

struct record_options {
	pid_t pids[MAX_PIDS];
	unsigned n_pids;
	char **command; /* NULL: none */
	const char *outputs[MAX_OUTPUTS];
	unsigned n_outputs;
	const char *domains[MAX_DOMAINS];
	unsigned n_domains;
	uint64_t duration_ns;	 /* 0: until the target ends */
	uint64_t dump_period_ns; /* make the files complete at least this often */
	uint64_t buffer_bytes;
	bool no_children;
	bool stats_only; /* the kernel adds up, no event leaves it */
	bool per_thread; /* a row for each thread */
	bool strict;
	int verbosity; /* -1 quiet, 0, 1, 2 */
	const char *summary_json;
	const char *counters; /* NULL: the usual ones */
	const char *system;   /* counters of the machine, NULL: none */
	uint64_t system_interval_ns;
};

/* Returns 0, or an exit status (usage printed already), or -1: --help was answered. */
int record_options_parse(int argc, char **argv, struct record_options *ret_options);
/* For verbs that take some of the same. */
struct argp_state;
void record_options_init(struct record_options *options);
void record_options_pids(struct argp_state *state, struct record_options *options,
			 const char *list);
void record_options_buffer(struct argp_state *state, struct record_options *options,
			   const char *text);
bool parse_duration(const char *text, uint64_t *ret_ns);
bool parse_size(const char *text, uint64_t *ret_bytes);

/* One file being written. */
struct output {
	char *path;
	const char *format; /* for people: "Perfetto", "Chrome JSON" */
	struct sink *sink;
	struct handler *handler;
};

struct top;

struct recording {
	const struct record_options *options;
	struct top *top; /* NULL: no live table */
	struct counters counters;
	struct capture *capture;
	struct system_counters *system; /* NULL: not asked for */
	struct names *names;
	struct timeline *timeline;
	struct account road; /* what the timeline counts */
	struct handler *stats;
	struct output outputs[2 * MAX_OUTPUTS];
	unsigned n_outputs;
	struct trace_info info;
	struct trace_origin origin; /* what `info` points to */
	struct command command;
	int nice;	    /* of the invoker: the command keeps it */
	int command_status; /* as waitpid() gave it, -1 = still running or none */
	uint64_t started_ns, ended_ns;
	uint64_t flushed_ns, clock_ns, shown_ns;
	uint64_t last_ts_ns;	/* of the latest event */
	FILE *summary;		/* --summary-json, open from the start so that it can be refused */
	uint64_t flushed_marks; /* written when the files were last complete */
	unsigned interrupts;	/* SIGINT or SIGTERM so far */
	bool broker_died;
	bool output_failed; /* at least one */
	bool all_outputs_failed;
	bool write_failed; /* an error came up: to be looked at */
	uint64_t nofile;   /* soft limit on descriptors, as the command shall have it */
	bool show_status;
};

/* record.c: all of it, from the first privilege to the last line. Returns the exit status. */
int record(const struct record_options *options, struct top *top);

/* stats_only.c: the table that the kernel adds up. */
uint32_t table_rows(const struct record_options *options); /* how many there is room for, 0: none */
void recording_table(struct recording *r);		   /* prints it, as far as it is */
void recording_table_reset(struct recording *r);	   /* it begins anew */
void stats_from_tables(struct recording *r);		   /* into r->stats */

/* outputs.c: chooses names, opens the files, makes the handlers. */
int outputs_open(struct recording *r, struct failure *f);
void outputs_flush(struct recording *r);
void outputs_close(struct recording *r, const struct account *account);
void outputs_free(struct recording *r);

/* recording.c: attach, run until the end, stop. */
int recording_run(struct recording *r, struct failure *f);
struct account recording_account(const struct recording *r);

/* summary.c */
void status_line(struct recording *r, uint64_t now);
void status_clear(const struct recording *r);
void summary_print(const struct recording *r, const struct account *account);
int summary_json(struct recording *r, const struct account *account); /* to r->summary */
void print_size(char *out, size_t size, uint64_t bytes);

#endif
