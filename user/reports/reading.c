/* SPDX-License-Identifier: BSD-2-Clause */
/* Traces on their way to a report. */
#include "reports/reading.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "formats/reader.h"
#include "timeline/callstack.h"
#include "timeline/timeline.h"

/* The trace that is being read. */
struct reading_trace {
	struct account account;
	struct trace_origin origin;
	struct timeline *timeline;
	uint64_t lost; /* marks that the recording had lost already */
};

static int reading_event(void *context, const struct event *event)
{
	struct reading_trace *t = context;

	if (event->kind == EVENT_LOST)
		t->lost += event->size;
	return timeline_event(t->timeline, event);
}

/* A recording that was not cut off contains its account. */
static void reading_add_account(struct reading *r, const struct reading_trace *t)
{
	struct account account = t->account;

	if (t->origin.has_account) {
		account = t->origin.account;
		for (unsigned i = 0; i < LOST_REASONS; i++)
			account.lost[i] += t->account.lost[i];
	} else {
		account.lost[LOST_BUFFER_FULL] += t->lost;
	}
	account_merge(&r->account, &account);
}

/* `report slow.*` reads both formats of a recording, which is a likely mistake. */
static void reading_warn_duplicate(const struct reading *r, const struct trace_origin *origin)
{
	const uint64_t *uuid = origin->trace_uuid;
	unsigned i, last = r->n_files - 1;

	memcpy(r->uuids[last], uuid, sizeof(r->uuids[last]));
	for (i = 0; i < last && (uuid[0] || uuid[1]) && !r->quiet; i++) {
		if (memcmp(r->uuids[i], uuid, sizeof(r->uuids[i])))
			continue;
		print_visible(
			stderr,
			"proftrace: '%s': the same recording as '%s', so its events are counted "
			"twice\n",
			r->files[last].path, r->files[i].path);
		fputs("hint: each format of a recording contains all events; use one of them\n",
		      stderr);
		return;
	}
}

static void reading_finish_trace(struct reading *r, const char *path, const struct reading_trace *t,
				 const struct reader_error *why)
{
	r->origin = t->origin;
	r->is_whole = source_is_whole(&t->origin, why);
	r->files[r->n_files++] = (struct stats_file){ .path = path,
						      .truncated_at = why->offset,
						      .is_truncated = why->truncated };
	if (r->next_trace)
		r->next_trace(r->consumer, r);
	if (r->is_again) /* all this was reported */
		return;
	reading_add_account(r, t);
	if (r->how != READING_PLACES)
		reading_warn_duplicate(r, &t->origin);
	if (!r->quiet)
		source_print_ending(path, &t->origin, why);
	if (why->skipped && !r->quiet)
		print_visible(stderr,
			      "proftrace: '%s': %" PRIu64
			      " events of kinds that proftrace does not represent (%s)\n",
			      path, why->skipped, why->skipped_kinds);
}

/*
 * Each trace has its own range of uuids, since equal PIDs of two traces are different processes.
 * `only_decide`: it will be read once more.
 */
static int reading_read_trace(struct reading *r, int fd, const char *path, bool only_decide,
			      struct failure *f)
{
	struct reading_trace t = { 0 };
	struct reader_error why = { 0 };
	const struct reader_sink sink = {
		.event = reading_event,
		.context = &t,
		.names = r->names,
		.account = &t.account,
		.origin = &t.origin,
		.callstacks = r->callstacks,
	};
	int error = -ENOMEM;

	t.timeline = timeline_new(r->names, &t.account, (uint64_t)(r->n_files + 1) << 40);
	if (t.timeline)
		error = timeline_add_consumer(t.timeline,
					      r->selection ? r->selection : r->consumer);
	if (!error && r->quiet)
		error = trace_read(fd, &sink, &why);
	else if (!error)
		error = source_read_shown(fd, path, &sink, &why);
	if (!error)
		timeline_finish(t.timeline);
	if (!error && r->selection)
		select_end(r->selection);
	if (error)
		source_read_failed(f, path, error, &why);
	else if (!only_decide)
		reading_finish_trace(r, path, &t, &why);
	timeline_free(t.timeline);
	return error;
}

/* Reads a trace as often as the conditions require. */
static int reading_read_source(struct reading *r, struct source *source, struct failure *f)
{
	const struct select_options *o = r->select;
	const char *rank = source->origin.rank;
	enum select_mode mode = r->only_samples		    ? SELECT_SAMPLES
				: r->is_again		    ? SELECT_ALL
				: r->how == READING_TWICE   ? SELECT_ENDS
				: r->how == READING_PLACES  ? SELECT_PLACES
				: r->how == READING_PAGE    ? SELECT_PLACES
				: r->how == READING_SAMPLES ? SELECT_SAMPLES
							    : SELECT_TABLE;
	int error = 0;

	if (o && (select_needs_start(o) || o->by == BY_RANK))
		error = source_read_start(source, f);
	if (!error && o && select_needs_start(o))
		error = source_find_first(source, f);
	error = error ?: source_rewind(source, f);
	if (!error && o && mode == SELECT_SAMPLES) {
		select_begin(r->selection, SELECT_DECIDE, source->first_ns, rank);
		error = reading_read_trace(r, source->fd, source->path, true, f);
		error = error ?: source_rewind(source, f);
	}
	if (error)
		return error;
	if (o)
		select_begin(r->selection, mode, source->first_ns, rank);
	error = reading_read_trace(r, source->fd, source->path, false, f);
	source_rest(source);
	return error;
}

static int reading_read_sources(struct reading *r, struct source *sources, struct failure *f)
{
	int error = 0;

	r->n_files = 0;
	for (unsigned i = 0; i < r->n_paths && !error; i++)
		error = reading_read_source(r, &sources[i], f);
	return error;
}

static int reading_read_twice(struct reading *r, struct source *sources, struct failure *f)
{
	int error = reading_read_sources(r, sources, f);

	if (error)
		return error;
	error = r->again(r->consumer);
	if (error < 0)
		return failure_set(f, error, "cannot read", r->paths[0], NULL);
	r->is_again = true;
	error = error == READING_ENOUGH ? 0 : reading_read_sources(r, sources, f);
	if (!error && r->selection && r->wants_samples && r->wants_samples(r->consumer)) {
		r->only_samples = true;
		error = reading_read_sources(r, sources, f);
	}
	return error;
}

static int reading_open_all(struct reading *r, struct failure *f)
{
	struct source *sources = calloc(r->n_paths, sizeof(*sources));
	unsigned i, n = 0;
	int error = 0;

	if (!sources)
		return failure_set(f, -ENOMEM, "cannot read", r->paths[0], NULL);
	while (n < r->n_paths && !error) {
		error = source_open(&sources[n], r->paths[n], f);
		source_rest(&sources[n++]);
	}
	error = error ?: reading_read_twice(r, sources, f);
	for (i = 0; i < n; i++)
		source_close(&sources[i]);
	free(sources);
	return error;
}

/* With conditions, a file that can be read more than once. */
static int reading_read_selected(struct reading *r, const char *path, struct failure *f)
{
	struct source source;
	int error = source_open(&source, path, f);

	error = error ?: reading_read_source(r, &source, f);
	source_close(&source);
	return error;
}

int reading_read_path(struct reading *r, const char *path, struct failure *f)
{
	bool is_stdin = !strcmp(path, "-");
	int fd, error;

	if (r->select)
		return reading_read_selected(r, path, f);
	fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return failure_set(f, -errno, "cannot open", path, NULL);
	error = reading_read_trace(r, fd, path, false, f);
	if (!is_stdin)
		close(fd);
	return error;
}

int reading_init(struct reading *r, bool with_callstacks)
{
	r->names = names_new(0);
	if (r->names && with_callstacks)
		r->callstacks = callstacks_new(r->names, 0);
	r->files = calloc(r->n_paths, sizeof(*r->files));
	r->uuids = calloc(r->n_paths, sizeof(*r->uuids));
	if (r->select && r->names)
		r->selection = select_new(r->select, r->names);
	if (r->selection && r->consumer)
		select_add_out(r->selection, r->consumer);
	if (!r->names || !r->files || !r->uuids || (with_callstacks && !r->callstacks) ||
	    (r->select && !r->selection))
		return -ENOMEM;
	return 0;
}

int reading_read(struct reading *r, struct failure *f)
{
	int error = 0;
	bool is_twice = r->how == READING_TWICE || r->how == READING_PAGE;

	if (is_twice)
		error = reading_open_all(r, f);
	for (unsigned i = 0; i < r->n_paths && !error && !is_twice; i++)
		error = reading_read_path(r, r->paths[i], f);
	if (!error && names_count(r->names)->capped && !r->quiet)
		print_visible(stderr,
			      "proftrace: %" PRIu64
			      " uses of the name (other): too many distinct names\n",
			      names_count(r->names)->capped);
	return error;
}

void reading_free(struct reading *r)
{
	if (r->selection)
		r->selection->ops->free(r->selection);
	callstacks_free(r->callstacks);
	names_free(r->names);
	free(r->files);
	free(r->uuids);
}
