/* SPDX-License-Identifier: BSD-2-Clause */
/* What `proftrace record` was asked to do, and the parts that do it. */
#ifndef PROFTRACE_RECORD_RECORD_H
#define PROFTRACE_RECORD_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/text.h"
#include "record/killed.h"
#include "record/flight.h"
#include "counters/counters.h"
#include "timeline/consumer.h"
#include "formats/writer.h"
#include "schedule.h"
#include "tracee/spawn.h"
#include "timeline/origin.h"
#include "timeline/timeline.h"

#define MAX_PIDS      256
#define MAX_OUTPUTS   16
#define MAX_TRIGGERS  16
#define MAX_INCLUDES  64
#define MAX_DOMAINS   64
#define MAX_USDT      64
#define MAX_FUNCTIONS 64
#define MAX_PLUGINS   8
#define MAX_SAMPLE_HZ 20000
#define MAX_STACKS    64

struct record_options {
	pid_t pids[MAX_PIDS];
	unsigned n_pids;
	char **command; /* NULL: none */
	const char *outputs[MAX_OUTPUTS];
	unsigned n_outputs;
	const char *domains[MAX_DOMAINS];
	unsigned n_domains;
	const char *usdt[MAX_USDT]; /* probes of others */
	unsigned n_usdt;
	const char *functions[MAX_FUNCTIONS]; /* that nobody marked */
	unsigned n_functions;
	uint64_t duration_ns;	 /* 0: until the target ends */
	uint64_t dump_period_ns; /* make the files complete at least this often */
	uint64_t buffer_bytes;
	unsigned buffers; /* that these are shared among: a power of two */
	bool no_children;
	bool batching;	     /* --mode batch */
	bool stats_only;     /* the kernel adds up, no event leaves it */
	bool per_thread;     /* a row for each thread */
	double max_overhead; /* of the target's CPU time, in percent; 0: no limit */
	bool strict;
	bool compress; /* Perfetto files */
	int verbosity; /* -1 quiet, 0, 1, 2 */
	const char *summary_json;
	struct schedule schedule; /* active 0: none */
	uint64_t flight_ns;	  /* flight recorder: the window; 0: none */
	uint64_t flight_bytes;
	struct trigger triggers[MAX_TRIGGERS];
	unsigned n_triggers;
	const char *counters;	      /* NULL: the usual ones */
	uint64_t counter_interval_ns; /* 0: only read at marks */
	const char *rank;  /* for {rank} in names; NULL: as the target's environment says */
	uint64_t max_size; /* of a file: then the next ones begin; 0: none */
	uint64_t keep;	   /* so many files of each name; 0: all */
	const char *plugins[MAX_PLUGINS];
	unsigned n_plugins;
	bool sched;			/* who has which CPU */
	const char *stacks[MAX_STACKS]; /* globs of marks whose call stacks are taken */
	unsigned n_stacks;
	uint64_t offcpu_ns; /* call stacks of threads that had no CPU for longer; 0: none */
	uint32_t sample_hz; /* call stacks a second, of each CPU; 0: none */
	const char *system; /* counters of the machine, NULL: none */
	uint64_t system_interval_ns;
	const char *includes[MAX_INCLUDES]; /* traces of others, joining at the end */
	unsigned n_includes;
	int64_t include_offset_ns;
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

/* One file being written. */
struct output {
	char *path;
	const char *format; /* for people: "Perfetto", "Chrome JSON" */
	unsigned name;	    /* which -o it is of */
	struct sink *sink;
	struct consumer *consumer;
};

struct top;
/* One that is finished. */
struct written_file {
	char *path;
	const char *format;
	unsigned name;
	uint64_t set; /* the files of one outputs_begin(): 1, 2, 3, ... */
	uint64_t bytes;
	uint64_t marks;	       /* that are in it */
	uint64_t marks_of_set; /* that should be */
	int error;
	bool known; /* which file it is, so that no other one of its name is ever deleted */
	dev_t device;
	ino_t inode;
};

/* What the names of files can say of where the program is. */
struct output_fields {
	bool has_step; /* epoch and batch are known */
	uint64_t epoch, batch, cycle;
};

struct recording {
	const struct record_options *options;
	struct top *top; /* NULL: no live table */
	bool batching;	 /* marks come in batches */
	struct counters counters;
	struct capture *capture;
	struct system_counters *system; /* NULL: not asked for */
	struct names *names;
	struct callstacks *callstacks; /* NULL: none are taken */
	struct timeline *timeline;     /* sees what comes at once: statistics, trace handlers */
	struct timeline
		*writer;       /* the one that files are written from: the same, or after a delay */
	struct account road;   /* the accounting of the writer */
	struct account seen;   /* what the other one does, if it is another */
	struct flight *flight; /* NULL: none */
	struct consumer *stats;
	char default_name[128];
	bool many_files;			/* there may be more than one set of them */
	struct output outputs[2 * MAX_OUTPUTS]; /* being written now */
	unsigned n_outputs;
	struct output_names *output_names;
	struct scheduler *scheduler; /* NULL: no schedule */
	struct overhead *overhead;   /* NULL: no limit */
	struct written_file *files;  /* finished, and still there */
	unsigned n_files;
	uint64_t files_bytes;	     /* of all that were finished */
	uint64_t files_deleted;	     /* older than --keep */
	uint64_t sets;		     /* of files, begun so far */
	struct output_fields fields; /* of the latest */
	struct account begun;	     /* the account when the files now open were begun */
	struct {
		struct consumer *consumer;
		bool reported; /* its failure */
	} plugins[MAX_PLUGINS];
	unsigned n_plugins;
	struct includes *includes; /* include.c */
	bool of_others;		   /* some of --pid are not the recorder's user's */
	struct trace_info info;
	struct trace_origin origin; /* what `info` points to */
	struct command command;
	int nice;	    /* of the invoker: the command keeps it */
	int command_status; /* as waitpid() gave it, -1 = still running or none */
	uint64_t started_ns, ended_ns;
	uint64_t reset_ns; /* when the table of --stats-only was reset; 0: never */
	struct clock_reading last_clock;
	uint64_t flushed_ns, clock_ns, shown_ns;
	uint64_t last_ts_ns; /* of the latest event */
	struct killed_processes killed;
	struct sink *summary; /* --summary-json, where it is no file of its own; NULL: not open */
	uint64_t begun_marks; /* written when the files that are open were begun */
	unsigned since_sizes; /* events since the sizes of the files were looked at */
	struct control *control; /* `proftrace ctl`; NULL: cannot be reached by it */
	int signals_fd;		 /* -1: not open yet */
	unsigned signals;	 /* that shall end us, so far */
	unsigned interrupts;	 /* the same, where those that are not SIGINT count twice */
	unsigned end_requests;	 /* how often, since it is not to wait for a command */
	bool stop_asked;	 /* by a program, or by `proftrace ctl` */
	bool dump_asked;	 /* the same, or by SIGUSR2 */
	bool child_ended;	 /* some child, or may have: to be waited for */
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
void recording_print_table(struct recording *r);	   /* prints it, as far as it is */
void recording_reset_table(struct recording *r);
void stats_from_tables(struct recording *r, uint64_t now); /* into r->stats */

/*
 * outputs.c: the files.
 *
 * A recording has none, one or many sets of files, one after the other. outputs_prepare(), before
 * anything is attached, refuses what could not be written. outputs_begin() opens the next files of
 * all names and tells them what holds now; outputs_end() finishes them. In between (and only there)
 * marks are written; else they count as unrecorded.
 *
 * Before the recording has started, a file that cannot be opened is an error, and `f` says why. Later
 * it is left out, which has been said when outputs_begin() returns; an error is returned only if there
 * is none at all. `fields` may be NULL: the latest PROF_STEP.
 */
int outputs_prepare(struct recording *r, struct failure *f);
int outputs_begin(struct recording *r, const struct output_fields *fields, struct failure *f);
void outputs_flush(struct recording *r);
/*
 * `account`: of the whole recording, at its end; NULL: as it is now, and there is more to come. Returns 0, or an error when no file could be written. */
int outputs_end(struct recording *r, const struct account *account);
/* Goes on in new files when one has become larger than --max-size. */
void outputs_rotate(struct recording *r);
uint64_t outputs_bytes(const struct recording *r); /* on disk, of all files */
void outputs_free(struct recording *r);

/* output_names.c: NAME of -o, with its {fields}, becomes the paths of files. */
#define OUTPUT_FIELDS "{epoch} {batch} {cycle} {rank} {pid} {host} {n}"
/* The first {field} that is not known or not closed, as an offset into the name, or -1. */
int output_name_check(const char *name);
struct output_names *output_names_new(const char *rank, const char *host, pid_t pid);
void output_names_free(struct output_names *names);
/*
 * The name for the next files, malloc'ed: `suffixes` are what will be appended to it. No two calls
 * return names that make the same path: "-2", "-3", ... are added, before the format's own ending.
 */
char *output_name_next(struct output_names *names, const char *name, const char *const *suffixes,
		       unsigned n_suffixes, uint64_t set, const struct output_fields *fields);

/* plugins.c: --handler. One that fails is named and gets no more; the recording goes on. */
int plugins_open(struct recording *r, struct failure *f);
void plugins_poll(struct recording *r);		   /* every now and then, while it records */
void plugins_recording_ended(struct recording *r); /* from here on they are waited for */
void plugins_flush(struct recording *r);
void plugins_announce_trace(struct recording *r, const char *path);
void plugins_close(struct recording *r, const struct account *account);
unsigned plugins_pids(const struct recording *r, pid_t pids[MAX_PLUGINS]);
void plugins_free(struct recording *r);

/* intake.c: an event. `recording` is what capture gives back; */
int recording_handle_event(void *recording, const struct event *event);
int recording_emit_event(struct recording *r,
			 const struct event *event); /* or of the recorder itself; */
int outputs_write_event(struct recording *r,
			const struct event *event); /* or one that comes later */

/* recording.c: give up what is not needed, open the files, attach, run until the end, stop. */
int recording_run(struct recording *r, struct failure *f);
/* Where it was told to stop before the command ended. */
void recording_wait_for_command(struct recording *r);
/* Makes what was recorded so far complete on disk. */
void recording_dump(struct recording *r);
/* A line for people, at -v (1) or always (0). `recording` is what capture gives back. */
void recording_log(void *recording, int verbosity, const char *line);
void recording_pause(struct recording *r, bool pause);
/* Whether an output that does not take what it is given shall be given up. context: the recording. */
bool recording_should_give_up(void *context);
/* How often it was told to end, and not merely to wait for a command that does. */
unsigned recording_end_requests(void *context);
/* How many signals have come that shall end it. context: the recording. */
unsigned recording_signals(void *context);
/* It died, or does not answer. */
bool recording_lost_broker(const struct recording *r);
struct account recording_account(const struct recording *r);

/* summary.c */
void status_line(struct recording *r, uint64_t now);
void status_clear(const struct recording *r);
void summary_print(struct recording *r, const struct account *account);

/*
 * summary_json.c: --summary-json. summary_prepare(), before anything is attached, refuses what could not be
 * written; summary_json() writes it, and says so where it cannot. Nothing to do without the option.
 */
int summary_prepare(struct recording *r, struct failure *f);
int summary_json(struct recording *r, const struct account *account);

#endif
