/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The options of a recording, its state, and the functions of its parts. The verbs record and top
 * use it.
 */
#ifndef PROFTRACE_RECORD_RECORD_H
#define PROFTRACE_RECORD_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/failure.h"
#include "base/text.h"
#include "otlp/otlp.h"
#include "record/flight.h"
#include "record/control/job.h"
#include "record/metrics/metrics.h"
#include "record/service/service.h"
#include "counters/counters.h"
#include "timeline/consumer.h"
#include "timeline/event.h"
#include "formats/sink.h"
#include "privilege/target_filter.h"
#include "bpf/marks/schedule.h"
#include "tracee/spawn.h"
#include "timeline/origin.h"
#include "timeline/timeline.h"

/* Recorded processes that a signal killed: the first few by number, all of them as a count. */

#define KILLED_LISTED 8

struct recording;

struct killed_processes {
	struct killed_process {
		uint32_t pid;
		int signal;
	} list[KILLED_LISTED];
	uint64_t n;
	uint32_t last_pid;
	uint64_t last_ns;
};

/* Call for the exit of a thread before the timeline handles it, which then forgets the process. */
void killed_handle_exit(struct recording *r, const struct event *exit);
/* One line for each. */
void killed_print(const struct recording *r, FILE *out);
/* Fields of --summary-json, each followed by a comma. */
void killed_print_json(const struct recording *r, FILE *out);

#define MAX_PIDS       256
#define MAX_OUTPUTS    16
#define MAX_TRIGGERS   16
#define MAX_INCLUDES   64
#define MAX_DOMAINS    64
#define MAX_USDT       64
#define MAX_FUNCTIONS  64
#define MAX_PLUGINS    8
#define MAX_SAMPLE_HZ  20000
#define MAX_STACKS     64
#define MAX_OTLP_SPANS 64

struct record_options {
	pid_t pids[MAX_PIDS];
	unsigned n_pids;
	struct target_filter targets;	 /* processes that match are recorded, too */
	const char *names[TARGET_GLOBS]; /* the globs in it */
	unsigned n_names;
	char **command;	  /* NULL: none */
	bool itt, nvtx;	  /* its annotations become marks */
	char **arguments; /* what was typed before the command */
	unsigned n_arguments;
	bool per_rank; /* each rank of a job has a recorder of its own */
	const char *outputs[MAX_OUTPUTS];
	unsigned n_outputs;
	const char *domains[MAX_DOMAINS];
	unsigned n_domains;
	const char *usdt[MAX_USDT]; /* -u */
	unsigned n_usdt;
	const char *functions[MAX_FUNCTIONS]; /* -f */
	unsigned n_functions;
	bool return_probes;
	uint64_t duration_ns;	 /* 0: until the target ends */
	uint64_t start_at_ns;	 /* of the wall clock; 0: at once */
	uint64_t dump_period_ns; /* the files are complete on disk at least this often */
	uint64_t buffer_bytes;
	unsigned buffers; /* number of buffers that share these bytes: a power of two */
	bool no_children;
	bool batching;	     /* --mode batch */
	bool changing;	     /* --mode auto */
	bool stats_only;     /* the kernel aggregates marks, and no event leaves it */
	bool per_thread;     /* one row for each thread */
	double max_overhead; /* percent of the target's CPU time; 0: no limit */
	bool strict;
	bool compress; /* Perfetto files */
	int verbosity; /* -1 quiet, 0, 1, 2 */
	const char *summary_json;
	struct metrics_address metrics; /* where the table is served, if it is set */
	const char *otlp_url; /* of a collector; "env": from the environment; NULL: none */
	const char *otlp_spans[MAX_OTLP_SPANS];
	unsigned n_otlp_spans;
	uint64_t otlp_queue;	   /* bytes */
	uint64_t otlp_interval_ns; /* between metrics */
	bool otlp_gzip, otlp_profiles;
	struct schedule schedule; /* `active` 0: no schedule */
	uint64_t flight_ns;	  /* flight recorder: the window; 0: none */
	uint64_t flight_bytes;
	struct trigger triggers[MAX_TRIGGERS];
	unsigned n_triggers;
	const char *counters;	      /* NULL: the default ones */
	uint64_t counter_interval_ns; /* 0: only read at marks */
	const char *rank;  /* for {rank} in names; NULL: from the environment of the target */
	uint64_t max_size; /* of a file, after which new files begin; 0: no limit */
	uint64_t quota;	   /* bytes of all files in the directory; 0: no limit */
	uint64_t keep;	   /* files that are kept of each name; 0: all */
	const char *plugins[MAX_PLUGINS];
	unsigned n_plugins;
	bool sched;	   /* context switches and wakeups */
	bool wait_reasons; /* why threads were blocked; with `sched` */
	bool syscalls;
	const char *stacks[MAX_STACKS]; /* globs of names of marks that get a call stack */
	unsigned n_stacks;
	uint64_t offcpu_ns; /* call stacks of threads that were blocked longer than this; 0: none */
	bool debuginfod;    /* ask the servers in DEBUGINFOD_URLS for debug files */
	uint32_t sample_hz; /* call-stack samples per second on each CPU; 0: none */
	const char *system; /* counters of the machine; NULL: none */
	uint64_t system_interval_ns;
	const char *includes[MAX_INCLUDES]; /* traces of other profilers, included at the end */
	unsigned n_includes;
	int64_t include_offset_ns;
	const struct service *service; /* NULL: a recording that somebody waits for */
};

/* Returns 0, an exit status after wrong usage, or -1 after --help. */
int record_options_parse(int argc, char **argv, struct record_options *ret_options);
/* For verbs with some of the same options. */
struct argp_state;
void record_options_init(struct record_options *options);
void record_options_pids(struct argp_state *state, struct record_options *options,
			 const char *list);
void record_options_buffer(struct argp_state *state, struct record_options *options,
			   const char *text);

/* A file that is being written. */
struct output {
	char *path;
	const char *format; /* for people: "Perfetto", "Chrome JSON" */
	unsigned name;	    /* index of its -o */
	struct sink *sink;
	struct consumer *consumer;
	bool displaced; /* `path` is not the one that was asked for */
};

struct top;
/* A finished file. */
struct written_file {
	char *path;
	const char *format;
	unsigned name;
	uint64_t set; /* the files of one outputs_begin(): 1, 2, 3, ... */
	uint64_t bytes;
	uint64_t marks;	       /* marks that are in it */
	uint64_t marks_of_set; /* marks that should be in it */
	int error;
	/* Its device and inode are known, so that no other file of its name is deleted. */
	bool known;
	dev_t device;
	ino_t inode;
};

/* The values of fields in file names. */
struct output_fields {
	bool has_step; /* epoch and batch are known */
	uint64_t epoch, batch, cycle;
};

/* collector.c: --otlp. */
struct collector {
	struct otlp_options options;
	struct otlp *otlp;	   /* NULL: nothing is sent */
	struct consumer *spans;	   /* NULL: no slices are chosen */
	struct consumer *profiles; /* NULL: they are not sent */
	bool fails;		   /* which has been reported */
	uint64_t metrics_ns;	   /* when they were given; 0: not yet */
};

struct recording {
	const struct record_options *options;
	struct top *top;       /* NULL: no live table */
	bool batching;	       /* buffered mode */
	bool changing;	       /* between exact and buffered mode */
	const char *why_exact; /* why --mode auto stays in exact mode; NULL: it does not */
	struct counters counters;
	struct capture *capture;
	struct system_counters *system; /* NULL: not requested */
	struct names *names;
	struct callstacks *callstacks; /* NULL: no call stacks */
	struct timeline *timeline;     /* handles events at once, for statistics and plug-ins */
	/* Writes the files: the same timeline, or a second one behind a delay. */
	struct timeline *writer;
	struct account accounting; /* the accounting of the writer */
	struct account seen;	   /* the accounting of `timeline`, if it is another one */
	struct flight *flight;	   /* NULL: none */
	struct consumer *stats;
	char default_name[128];
	bool many_files;			/* there may be several sets of files */
	struct output outputs[2 * MAX_OUTPUTS]; /* those that are being written */
	unsigned n_outputs;
	struct output_names *output_names;
	struct scheduler *scheduler; /* NULL: no schedule */
	struct overhead *overhead;   /* NULL: no limit */
	struct modes *modes;	     /* NULL: not --mode auto */
	struct written_file *files;  /* finished and not deleted */
	unsigned n_files;
	uint64_t files_bytes;	     /* of all finished files */
	uint64_t files_deleted;	     /* by --keep */
	struct quota *quota;	     /* NULL: no limit */
	uint64_t sets;		     /* number of sets of files so far */
	struct output_fields fields; /* of the latest */
	struct account begun;	     /* the accounting at the time when the open files were begun */
	struct {
		struct consumer *consumer;
		bool reported; /* its failure */
	} plugins[MAX_PLUGINS];
	unsigned n_plugins;
	struct includes *includes; /* include.c */
	bool of_others; /* some processes of --pid do not belong to the recorder's user */
	struct trace_info info;
	struct trace_origin origin; /* what `info` points to */
	struct command command;
	struct job job;
	bool handed_over;	      /* another recorder has the command */
	struct command_limits limits; /* those of the invoker, which the command gets */
	int command_status;	      /* from waitpid(); -1: still running, or no command */
	uint64_t started_ns, ended_ns;
	uint64_t reset_ns; /* when the table was reset; 0: never */
	struct clock_reading last_clock;
	uint64_t flushed_ns, clock_ns, shown_ns;
	struct killed_processes killed;
	struct sink *summary; /* --summary-json if it is not a regular file; NULL: not open */
	uint64_t begun_marks; /* marks written when the open files were begun */
	/* Events since the sizes of the files were last compared with --max-size. */
	unsigned since_sizes;
	struct metrics metrics;
	struct collector collector;
	struct labels *labels;	 /* NULL: the table is of all processes together */
	struct control *control; /* for `proftrace ctl`; NULL: no socket */
	int signals_fd;		 /* -1: not open yet */
	unsigned signals;	 /* number of signals that end the recording */
	unsigned interrupts;	 /* the same, but signals other than SIGINT count twice */
	unsigned end_requests; /* requests to end the recording, not only to wait for the command */
	uint64_t
		controls_ignored; /* calls of prof_stop(), of prof_dump() without the flight recorder */
	bool stop_said;		  /* that one of these was prof_stop() */
	bool stop_requested;	  /* by a program, or by `proftrace ctl` */
	bool dump_requested;	  /* the same, or by SIGUSR2 */
	bool starts_later;	  /* --start-at is still to come */
	bool child_ended;	  /* a child may have exited: call waitpid() */
	bool broker_died;
	bool cpu_used_up;      /* SIGXCPU */
	bool output_failed;    /* at least one output failed */
	bool output_displaced; /* at least one output has another name than was asked for */
	bool all_outputs_failed;
	bool write_failed; /* an error occurred that has not been handled yet */
	bool show_status;
};

/* cmd/record.c: a whole recording. Returns the exit status. */
int record(const struct record_options *options, struct top *top);

/* stats_only.c: the table that the kernel aggregates. */
uint32_t table_rows(const struct record_options *options); /* rows that fit; 0: no table */
void recording_print_table(struct recording *r);	   /* prints the table so far */
void recording_reset_table(struct recording *r);
void stats_from_tables(struct recording *r, uint64_t now); /* into r->stats */

/*
 * outputs.c: the files.
 *
 * A recording has no, one or several sets of files, one after the other. outputs_prepare() runs
 * before anything is attached and refuses outputs that could not be written. outputs_begin() opens
 * the next files of all names and gives them the current state; outputs_end() finishes them. Marks
 * are written only in between; at other times they count as unrecorded.
 *
 * Before the recording has started, a file that cannot be opened is an error, with the reason in
 * `f`. Later it is left out, and outputs_begin() prints a message; it returns an error only if no
 * file could be opened. `fields` may be NULL: the latest PROF_STEP.
 */
bool outputs_are_packed(const struct recording *r); /* libdeflate is needed */
int outputs_prepare(struct recording *r, struct failure *f);
int outputs_begin(struct recording *r, const struct output_fields *fields, struct failure *f);
void outputs_flush(struct recording *r);
/*
 * `account`: that of the whole recording at its end, or NULL: the present one, because the
 * recording goes on. Returns 0, or an error if no file could be written.
 */
int outputs_end(struct recording *r, const struct account *account);
/* Continues in new files if one has become larger than --max-size. */
void outputs_rotate(struct recording *r);
uint64_t outputs_bytes(const struct recording *r); /* bytes of all files on disk */
void outputs_free(struct recording *r);

/* output_names.c: makes file paths from the NAME of -o with its {fields}. */
#define OUTPUT_FIELDS "{epoch} {batch} {cycle} {rank} {pid} {host} {time} {n}"
/* The offset of the first {field} in the name that is unknown or not closed, or -1. */
int output_name_check(const char *name);
struct output_names *output_names_new(const char *rank, const char *host, pid_t pid);
void output_names_free(struct output_names *names);
/*
 * The name for the next files, allocated. `suffixes` will be appended to it. No two calls return
 * names that make the same path: "-2", "-3", ... are added before the ending of the format.
 */
char *output_name_next(struct output_names *names, const char *name, const char *const *suffixes,
		       unsigned n_suffixes, uint64_t set, const struct output_fields *fields);
/* The file of this name was removed, so the path may be used again. */
void output_name_forget(struct output_names *names, const char *path);

/*
 * plugins.c: --handler. A plug-in that fails is named and gets no more events; the recording goes
 * on.
 */
int plugins_open(struct recording *r, struct failure *f);
void plugins_poll(struct recording *r);		   /* call regularly during the recording */
void plugins_recording_ended(struct recording *r); /* from now on the recorder waits for them */
void plugins_flush(struct recording *r);
void plugins_announce_trace(struct recording *r, const char *path);
void plugins_close(struct recording *r, const struct account *account);
unsigned plugins_pids(const struct recording *r, pid_t pids[MAX_PLUGINS]);
void plugins_free(struct recording *r);

/*
 * collector.c: --otlp. All of them do nothing without the option. collector_start() is called before anything is open
 * that the process must not inherit.
 */
int collector_start(struct recording *r, struct failure *f);
int collector_open(struct recording *r, struct failure *f);
void collector_poll(struct recording *r, uint64_t now);
void collector_flush(struct recording *r);
void collector_finish(struct recording *r, const struct account *account);
bool collector_has_lost(const struct recording *r);
void collector_print(const struct recording *r, FILE *out);
/* The i-th line for people; false: there are no more. */
enum {
	COLLECTOR_LINE = OTLP_URL + 512,
};
bool collector_line(const struct recording *r, unsigned i, char *line, size_t size);
/* A field of --summary-json, followed by a comma. */
void collector_json(const struct recording *r, FILE *out);
struct collector_number {
	const char *name;
	uint64_t value;
};
enum {
	COLLECTOR_NUMBERS = 18,
};
unsigned collector_numbers(const struct recording *r, struct collector_number *ret_numbers);
void collector_free(struct recording *r);

/* intake.c: handles an event of capture; `recording` is the context of capture. */
int recording_handle_event(void *recording, const struct event *event);
/* Handles an event of the recorder itself. */
int recording_emit_event(struct recording *r, const struct event *event);
/* Emits an instant of the recorder itself, now. It is not a mark, so no sampling applies. `pid` 0: of no process. */
void recording_emit_instant(struct recording *r, pid_t pid, const char *text,
			    const struct arg *args, unsigned n_args);
/* Writes an event to the files: one that was delayed, or one of an included trace. */
int outputs_write_event(struct recording *r, const struct event *event);

/* start_at.c: a timer that fires at that time of the wall clock, or -1 with errno; and what happens then. */
int start_timer_open(uint64_t at_ns);
void recording_start(struct recording *r);

/* recording.c: what the recorder may call; the filter of system calls lets nothing be loaded later. */
int recording_load_libraries(const struct recording *recording, struct failure *f);
/* Drops privileges, opens the files, attaches, runs until the end, and stops. */
int recording_run(struct recording *r, struct failure *f);
/* Waits for the command if the recording was ended before it. */
void recording_wait_for_command(struct recording *r);
/* Makes what was recorded so far complete on disk. */
void recording_dump(struct recording *r);
/*
 * Whether programs are recorded that the user has neither started nor numbered. Nobody asked them, and they may be several
 * users': none of them ends the recording, or has files written.
 */
bool recording_is_of_others(const struct recording *r);
/*
 * Prints a line: always if `verbosity` is 0, with -v if it is 1. `recording`: the context of
 * capture.
 */
void recording_log(void *recording, int verbosity, const char *line);
void recording_pause(struct recording *r, bool pause);
/* The same for one of its processes. */
int recording_pause_process(struct recording *r, pid_t pid, bool pause, struct failure *f);
/* Whether to give up an output that accepts no data. `context`: the recording. */
bool recording_should_give_up(void *context);
/* Number of requests to end the recording, not only to wait for the command. */
unsigned recording_end_requests(void *context);
/* Number of signals that end the recording. `context`: the recording. */
unsigned recording_signals(void *context);
/* Whether the broker has died or does not answer. */
bool recording_lost_broker(const struct recording *r);
struct account recording_account(const struct recording *r);

/* summary.c */
void status_line(struct recording *r, uint64_t now);
void status_clear(const struct recording *r);
void summary_print(struct recording *r, const struct account *account);

/*
 * summary_json.c: --summary-json. summary_prepare() runs before anything is attached and refuses a
 * file that could not be written. summary_json() writes the file, and prints a message if it fails.
 * Both do nothing without the option.
 */
int summary_prepare(struct recording *r, struct failure *f);
int summary_json(struct recording *r, const struct account *account);

/* --max-overhead: turns off domains whose marks cost the target too much. */

struct overhead;

/* Call after the capture was opened. Fails if the cost of a mark could not be measured. */
int overhead_new(struct recording *r, struct failure *f);
void overhead_free(struct overhead *overhead);
/* Call regularly: compares the cost with the limit a few times per second. */
void overhead_poll(struct recording *r, uint64_t now_ns);

/* Percent of the CPU time in the latest interval; 0 without a limit. */
double overhead_latest(const struct recording *r);
unsigned overhead_domains_off(const struct recording *r);
/* One line for each domain that was turned off. */
void overhead_print(const struct recording *r, FILE *out);
/* The line of the i-th of them; false: there are no more. */
bool overhead_line(const struct recording *r, unsigned i, char *line, size_t size);
/* A field of --summary-json, followed by a comma. */
void overhead_json(const struct recording *r, FILE *out);

/* modes.c: --mode auto. */

struct modes;
struct costs;

int modes_new(struct recording *r);
void modes_free(struct modes *modes);
/* Percent of the CPU time above which domains go over to buffered mode. */
double modes_limit(const struct recording *r);
/* Changes modes after an interval with these costs, of which it removes what will not come again. */
bool modes_balance(struct recording *r, struct costs *costs, uint64_t interval_ns);
/* Whether marks of a domain that has just gone over may still be counted in the mode before. */
bool modes_settle(const struct recording *r);
void modes_print(const struct recording *r, FILE *out);
/* A field of --summary-json, followed by a comma. */
void modes_json(const struct recording *r, FILE *out);

/* --schedule in the recorder: files for each cycle, and probes that are detached while all processes wait. */

struct scheduler;

/* "skip_first=0,wait=0,warmup=1,active=4,repeat=1", any subset, in any order. */
bool schedule_parse(const char *text, struct schedule *ret_schedule);

struct scheduler *scheduler_new(void);
void scheduler_free(struct scheduler *scheduler);
/* Call for every event before the timeline handles it. */
void scheduler_handle_event(struct recording *r, const struct event *event);
/* Call after draining: finishes a cycle that is over, and detaches the probes while all processes wait. */
void scheduler_poll(struct recording *r);
uint64_t scheduler_cycles(const struct recording *r); /* recorded so far, in all epochs */

#endif
