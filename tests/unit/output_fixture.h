/* SPDX-License-Identifier: BSD-2-Clause */
/* A small world of tracks and a file in memory, for the tests of the outputs. */
#ifndef PROFTRACE_TESTS_OUTPUT_FIXTURE_H
#define PROFTRACE_TESTS_OUTPUT_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "formats/sink.h"

#define START_NS 5000123456ull /* the base is 5000000000 */

struct world {
	struct names *names;
	char directory[32];
	char path[64];
	struct sink *sink;
	struct consumer *consumer;
	struct trace_info info;
	struct process process;
	struct thread thread;
	struct track counter, series[2], lane;
	const struct track *tracks[2];
	struct fact fact;
	struct account account;
	/* After finish(). */
	char *bytes;
	size_t size;
};

static const struct name *n(struct world *w, const char *text)
{
	return names_intern_string(w->names, text);
}

static void world_tracks(struct world *w)
{
	w->process = (struct process){ .uuid = 100, .pid = 42, .name = n(w, "train") };
	w->thread = (struct thread){
		.uuid = 101, .tid = 43, .process = &w->process, .name = n(w, "loader \"1\"")
	};
	w->counter = (struct track){ .kind = TRACK_COUNTER,
				     .uuid = 200,
				     .process = &w->process,
				     .name = n(w, "queue"),
				     .unit = n(w, "bytes") };
	for (int i = 0; i < 2; i++)
		w->series[i] = (struct track){ .kind = TRACK_COUNTER,
					       .uuid = 210 + (unsigned)i,
					       .process = &w->process,
					       .name = n(w, "loss"),
					       .key = n(w, i ? "validation" : "training"),
					       .unit = n(w, "nats") };
	w->lane = (struct track){
		.kind = TRACK_ASYNC, .uuid = 300, .process = &w->process, .name = n(w, "request")
	};
}

static void world_open(struct world *w, enum sink_format format, bool perfetto)
{
	memset(w, 0, sizeof(*w));
	strcpy(w->directory, "/tmp/test_output.XXXXXX");
	assert_non_null(mkdtemp(w->directory));
	snprintf(w->path, sizeof(w->path), "%s/out", w->directory);
	w->names = names_new(0);
	world_tracks(w);
	w->info = (struct trace_info){
		.start_ns = START_NS,
		.clock = { .monotonic = START_NS,
			   .boottime = 6000000000,
			   .realtime = 1700000000000000001 },
		.trace_uuid = { 0x1122334455667788, 0x99aabbccddeeff00 },
		.version = "1.2.3",
		.kernel_release = "6.1.0-test",
		.kernel_version = "#1 SMP \"x\"",
		.machine = "x86_64",
		.sysname = "Linux",
		.host = "node7",
		.boot_id = "0b1c2d3e-0000-4000-8000-123456789abc",
		.rank = "",
	};
	assert_int_equal(sink_open(w->path, format, &w->sink), 0);
	w->consumer = perfetto ? perfetto_writer_new(w->sink, &w->info)
			       : chrome_writer_new(w->sink, &w->info);
	assert_non_null(w->consumer);
	w->account.orderly = true;
}

/* Hands over w->fact, and makes it empty for the next. */
static void give(struct world *w)
{
	assert_int_equal(w->consumer->ops->fact(w->consumer, &w->fact), 0);
	w->fact = (struct fact){ 0 };
}

static void fact(struct world *w, enum fact_kind kind, uint64_t ts_ns, const char *name)
{
	w->fact = (struct fact){ .kind = kind,
				 .ts_ns = ts_ns,
				 .process = &w->process,
				 .thread = &w->thread,
				 .name = name ? n(w, name) : NULL };
}

__attribute__((unused)) static void track_fact(struct world *w, const struct track *track)
{
	fact(w, FACT_TRACK, START_NS, NULL);
	w->tracks[0] = track;
	w->fact.tracks = w->tracks;
	give(w);
}

static void read_all(struct world *w)
{
	FILE *file = fopen(w->path, "rb");

	assert_non_null(file);
	w->bytes = calloc(1, 8 << 20);
	assert_non_null(w->bytes);
	w->size = fread(w->bytes, 1, (8 << 20) - 1, file);
	fclose(file);
}

static void finish(struct world *w)
{
	assert_int_equal(w->consumer->ops->close(w->consumer, &w->account), 0);
	read_all(w);
}

static void world_free(struct world *w)
{
	w->consumer->ops->free(w->consumer);
	names_free(w->names);
	free(w->bytes);
	unlink(w->path);
	assert_int_equal(rmdir(w->directory), 0); /* nothing else was left there */
}

#endif
