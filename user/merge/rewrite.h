/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Traces that become other traces, which `convert` and `merge` share. Sources are read one after
 * the other through the same pipeline as a recording: events, one timeline, and a trace writer for
 * each output.
 *
 * rewrite.h and merge.h are the headers to include from outside; this folder calls formats/, timeline/
 * and base/.
 */
#ifndef PROFTRACE_MERGE_REWRITE_H
#define PROFTRACE_MERGE_REWRITE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/failure.h"
#include "timeline/consumer.h"
#include "formats/sink.h"
#include "formats/reader.h"
#include "timeline/timeline.h"

#define REWRITE_MAX_OUTPUTS (TEMPORARIES_MAX / 2) /* each may be one file of both formats */

/* A trace that is read. Where possible its file is open only while it is read. */
struct source {
	const char *path;
	int fd; /* -1: closed */
	struct stat
		reopen; /* of a file that may be opened again by its path; st_nlink 0: it may not */
	struct trace_origin origin;
	uint64_t first_ns;	      /* the time of its first mark, 0: none */
	uint64_t switch_ns;	      /* the time of a context switch before that, 0: none */
	struct reader_limits *limits; /* of everything that is read of it; NULL: none */
	bool quiet;		      /* how far it has been read is not shown */
};

/*
 * Opens a source; `path` "-" is standard input. A pipe, which cannot be read twice, is copied to a
 * file without a name.
 */
int source_open(struct source *source, const char *path, struct failure *f);
/* Reads the beginning: origin, clocks, first mark. */
int source_read_start(struct source *source, struct failure *f);
/* Reads the whole trace, so that `first_ns` becomes the time of the earliest mark. */
int source_find_first(struct source *source, struct failure *f);
/* Reads the whole trace from its beginning, and lets the file rest. */
int source_read(struct source *source, const struct reader_sink *sink,
		struct reader_error *ret_error, struct failure *f);
/* The same for somebody who wants its events alone. */
int source_read_events(struct source *source,
		       int (*event)(void *context, const struct event *event), void *context,
		       struct failure *f);
/* progress.c: trace_read() that shows on a terminal how far it is. */
int source_read_shown(int fd, const char *path, const struct reader_sink *sink,
		      struct reader_error *ret_error);
/* Says why a trace could not be read. Returns `error`. */
int source_read_failed(struct failure *f, const char *path, int error,
		       const struct reader_error *why);
/* Whether the trace has its recording up to the end, as far as this is known. */
bool source_is_whole(const struct trace_origin *origin, const struct reader_error *end);
/* Prints on standard error that it has not. */
void source_print_ending(const char *path, const struct trace_origin *origin,
			 const struct reader_error *end);
/* Opens the source again if necessary, and goes to its beginning. */
int source_rewind(struct source *source, struct failure *f);
/* Closes the file until the next source_rewind(), so that the number of sources has no limit. */
void source_rest(struct source *source);
void source_close(struct source *source);

struct rewrite_output {
	char *path;
	const char *format; /* for people */
	struct sink *sink;
	struct consumer *(*make)(struct sink *, const struct trace_info *);
	struct consumer *consumer;
	bool written; /* completely */
};

/*
 * A part of the sources. `decide` gets the facts of a first reading and passes on nothing; of the
 * second reading, `pass` passes to the outputs what is wanted.
 */
struct rewrite_cut {
	void *context;
	/* The source or the first of several begins; `first_ns`: as for rewrite_begin(). */
	struct consumer *(*decide)(void *context, struct names *names, uint64_t first_ns);
	void (*decided)(void *context); /* the first reading is complete */
	int (*add_output)(void *context, struct consumer *output);
	/* Marks that were not passed on, and slices that were and are still open. */
	void (*count)(void *context, uint64_t *ret_left_out, uint64_t *ret_open);
};

struct rewrite {
	const struct rewrite_cut *cut; /* NULL: everything is written */
	struct consumer *cut_consumer; /* borrowed from it */
	struct names *names;
	struct callstacks *callstacks;
	struct account account; /* of this reading */
	struct account before;	/* the same, up to the present source */
	uint64_t lost_before;
	struct account written_account; /* the account that the outputs get */
	struct timeline *timeline;
	struct rewrite_output outputs[2 * REWRITE_MAX_OUTPUTS];
	unsigned n_outputs;
	struct clock_reading clock; /* written at the beginning of the outputs */
	uint64_t uuid_base;	    /* of the timeline */
	uint64_t base_ns;	    /* no earlier time can be written */
	uint64_t last_ns;	    /* the latest time of all events */
	uint64_t marks_lost;	    /* lost while the sources were recorded */
	uint64_t before_base;	    /* events before base_ns, whose time is changed */
	uint64_t samples;	    /* of call stacks */
	struct source *source; /* the present source, in which names of functions are looked up */
	bool has_names;	       /* all names of its functions are known */
	bool compress;	       /* Perfetto outputs */
	bool unfinished;       /* a source was cut off */
	bool all_failed;       /* no output can be written any more */
};

/*
 * Reads the names of functions, which a file may have at its end only: the source is read once more
 * for that.
 */
void source_names(const struct source *source, struct names *names, struct callstacks *callstacks);

/* Initializes everything. Options of the outputs are set between this and rewrite_output(). */
int rewrite_init(struct rewrite *r, struct failure *f);
/*
 * Adds an output, before anything is read. `name`: as with -o of a recording, one format or both.
 */
int rewrite_output(struct rewrite *r, const char *name, struct failure *f);
/*
 * `origin`: what the outputs say about their recording. `first_ns`: the time of the earliest mark.
 */
int rewrite_begin(struct rewrite *r, const struct trace_origin *origin, uint64_t first_ns,
		  struct failure *f);
/*
 * With `cut`, before rewrite_begin(): `read` reads all sources by rewrite_event(), and leaves itself
 * ready to do the same again.
 */
int rewrite_decide(struct rewrite *r, uint64_t first_ns,
		   int (*read)(void *context, struct failure *f), void *context, struct failure *f);
/*
 * Processes one event, with its final times and PIDs. An error is returned only when no output
 * works any more.
 */
int rewrite_event(struct rewrite *r, const struct event *event);
/* Reads a whole source into the outputs. Returns what source_read() returns. */
int rewrite_source(struct rewrite *r, struct source *source, const struct reader_sink *sink,
		   struct reader_error *ret_error, struct failure *f);
/*
 * Call it when a source was read to its end by a sink with `origin`: losses in the outputs are
 * those of the recordings plus those of this reading.
 */
void rewrite_source_end(struct rewrite *r, const struct trace_origin *origin,
			const struct reader_error *end);
/*
 * Closes the outputs. Those without an error are complete, whatever happened to others. Of a failed
 * output nothing stays, and an older file of its name is kept, since the sources still exist.
 * Returns the error of the last failed output, with `f` filled.
 */
int rewrite_end(struct rewrite *r, struct failure *f);
bool rewrite_any_written(const struct rewrite *r);
/* Prints on standard error what was written and what could not be kept as it was. */
void rewrite_summary(const struct rewrite *r);
void rewrite_source_notes(const struct source *source, const struct reader_error *end);
void rewrite_free(struct rewrite *r);

#endif
