/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Traces that become other traces: what `convert` and `merge` share. Sources are read one after the
 * other, each on the road of a recording: events, one timeline, one handler for each output.
 */
#ifndef PROFTRACE_CMD_REWRITE_H
#define PROFTRACE_CMD_REWRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "failure.h"
#include "handlers/handler.h"
#include "handlers/sink.h"
#include "readers/reader.h"
#include "timeline/timeline.h"

#define REWRITE_MAX_OUTPUTS 16

/* A trace to be read. */
struct source {
	const char *path;
	int fd;
	struct trace_origin origin;
	uint64_t first_ns;	      /* of its first mark, 0: none */
	uint64_t switch_ns;	      /* of a switch before that, 0: none */
	struct reader_limits *limits; /* of all that is read of it; NULL: none */
};

/* `path` "-": standard input. What cannot be read twice is copied to a file without a name first. */
int source_open(struct source *source, const char *path, struct failure *f);
/* Reads the start: origin, clocks, first mark. */
int source_look(struct source *source, struct failure *f);
/* Reads all of it, so that `first_ns` is the time of the earliest mark. */
int source_find_first(struct source *source, struct failure *f);
/* Reads all of it from the beginning. */
int source_read(struct source *source, const struct reader_sink *sink,
		struct reader_error *ret_error, struct failure *f);
/* Whether it holds its recording up to the end, as far as can be told. */
bool source_is_whole(const struct trace_origin *origin, const struct reader_error *end);
/* On standard error, where it does not. */
void source_tell_ending(const char *path, const struct trace_origin *origin,
			const struct reader_error *end);
void source_close(struct source *source);

struct rewrite_output {
	char *path;
	const char *format; /* for people */
	struct sink *sink;
	struct handler *(*make)(struct sink *, const struct trace_info *);
	struct handler *handler;
	bool written; /* all of it */
};

struct rewrite {
	struct names *names;
	struct callstacks *callstacks;
	struct account account; /* of the reading */
	struct account before;	/* the same, up to the source that is being read */
	uint64_t lost_before;
	struct account told; /* to the outputs */
	struct timeline *timeline;
	struct rewrite_output outputs[2 * REWRITE_MAX_OUTPUTS];
	unsigned n_outputs;
	struct clock_reading clock; /* told at the start of the outputs */
	uint64_t base_ns;	    /* no earlier time can be written */
	uint64_t last_ns;	    /* of all events */
	uint64_t marks_lost;	    /* in the recordings */
	uint64_t before_base;	    /* events whose time is not their own */
	uint64_t samples;	    /* of call stacks */
	struct source *source; /* that is being read: where names of functions are looked for */
	bool has_names;	       /* all of its names are known */
	bool compress;	       /* Perfetto outputs */
	bool unfinished;       /* a source was */
	bool all_failed;       /* no output can be written any more */
};

/* What functions are called, a file may tell at its end: reads it once more, for that alone. */
void source_names(const struct source *source, struct names *names, struct callstacks *callstacks);

/* Clears all; what is asked of the outputs is set between this and rewrite_output(). */
int rewrite_init(struct rewrite *r, struct failure *f);
/* `name` as after -o of a recording: one output, or both formats. Before anything is read. */
int rewrite_output(struct rewrite *r, const char *name, struct failure *f);
/* `origin`: what the outputs say of themselves. `first_ns`: of the earliest mark. */
int rewrite_begin(struct rewrite *r, const struct trace_origin *origin, uint64_t first_ns,
		  struct failure *f);
/* One event, with the times and numbers it shall have. An error only where no output works any more. */
int rewrite_event(struct rewrite *r, const struct event *event);
/* Reads all of a source into the outputs. What source_read() returns. */
int rewrite_source(struct rewrite *r, struct source *source, const struct reader_sink *sink,
		   struct reader_error *ret_error, struct failure *f);
/*
 * A source was read to its end, by a sink that asked for its origin: what the outputs say of losses is
 * what their recordings said, and what was lost on the way.
 */
void rewrite_source_end(struct rewrite *r, const struct trace_origin *origin,
			const struct reader_error *end);
/*
 * After all: closes the outputs. Those that work have all of it, whatever became of others. Of these nothing
 * stays, and an older file does, since the sources are still there: an error, and the last of them in `f`.
 */
int rewrite_end(struct rewrite *r, struct failure *f);
bool rewrite_any_written(const struct rewrite *r);
/* On standard error: what was written, what was not as it was. */
void rewrite_summary(const struct rewrite *r);
void rewrite_source_notes(const struct source *source, const struct reader_error *end);
void rewrite_free(struct rewrite *r);

#endif
