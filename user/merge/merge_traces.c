/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The traces are read one after the other, not in parallel: neither format requires events in the order of time, and
 * the loaders of both sort them. So nothing has to be kept in memory, independent of the size and the order of the
 * files.
 */
#include "merge/merge_traces.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	FILE_SHIFT =
		50, /* the bit of an id where the number of its file begins; programs use smaller ids */
};

/* --- one event --------------------------------------------------------------------------------- */

static inline uint64_t merge_move_time(struct merge_traces *m, uint64_t ts_ns)
{
	int64_t offset = m->parts[m->at].offset_ns, ns;

	if (!offset)
		return ts_ns;
	if (__builtin_add_overflow(ts_ns, offset, &ns)) {
		m->after_end++;
		return INT64_MAX;
	}
	if (ns < 0) {
		m->before_zero++;
		return 0;
	}
	return (uint64_t)ns;
}

static struct clock_reading merge_shift_clock(const struct merge_traces *m,
					      struct clock_reading clock)
{
	clock.monotonic += (uint64_t)m->shift_ns;
	if (clock.boottime)
		clock.boottime += (uint64_t)m->shift_ns;
	return clock;
}

/* Later files of a recording repeat the open slices and the counters, so that each can be read alone. */
static bool event_is_repeated(const struct event *event)
{
	if (event->kind != EVENT_BEGIN && event->kind != EVENT_ASYNC_BEGIN)
		return event->continued;
	for (unsigned i = 0; i < event->n_args; i++) {
		const struct arg *arg = &event->args[i];

		if (arg->type == ARG_BOOL && arg->key && !strcmp(arg->key->text, "continued"))
			return arg->u != 0;
	}
	return false;
}

/* Scheduling events of other machines are left out: their CPUs have the same numbers as those of the first. */
static int merge_sched_event(struct merge_traces *m, const struct event *event)
{
	const struct part *part = &m->parts[m->at];
	bool is_gap = event->kind == EVENT_SCHED_GAP;
	struct event e = *event;

	e.ts_ns = merge_move_time(m, e.ts_ns);
	if (!part->is_reference && !part->same_boot) {
		m->sched_elsewhere += !is_gap;
		return 0;
	}
	if (!merge_sched_accept(m->sched, part->recording, &e)) {
		m->sched_twice += !is_gap;
		return 0;
	}
	owners_find(m->owners, &e.pid, &e.tid);
	owners_find(m->owners, &e.sched.pid, &e.sched.tid);
	return rewrite_event(&m->rewrite, &e);
}

static int merge_event(void *context, const struct event *event)
{
	struct merge_traces *m = context;
	const struct part *part = &m->parts[m->at];
	struct arg args[EVENT_MAX_ARGS];
	struct event e = *event;

	if (e.kind >= EVENT_SWITCH && e.kind <= EVENT_SCHED_GAP)
		return merge_sched_event(m, event);
	/* The merged trace has the clock readings of the reference only. */
	if (e.kind == EVENT_CLOCK && !part->is_reference)
		return 0;
	if (e.kind == EVENT_CLOCK)
		e.clock = merge_shift_clock(m, e.clock);
	if (part->goes_on && event_is_repeated(event)) {
		m->rewrite.account.marked--;
		return 0;
	}
	if (e.ts_ns)
		e.ts_ns = merge_move_time(m, e.ts_ns);
	if (e.kind == EVENT_SLICE_AT || e.kind == EVENT_INSTANT_AT) {
		e.given.begin = merge_move_time(m, e.given.begin);
		e.given.end = merge_move_time(m, e.given.end);
	}
	if (e.kind >= EVENT_ASYNC_BEGIN && e.kind <= EVENT_SLICE_AT)
		merge_mix_ids(&e, (uint64_t)part->recording << FILE_SHIFT, !m->join_flows, args);
	owners_map(m->owners, &e);
	return rewrite_event(&m->rewrite, &e);
}

static int merge_thread_name(void *context, const struct event *event)
{
	struct merge_traces *m = context;

	m->rewrite.account.marked += event->kind == EVENT_THREAD_NAME;
	return rewrite_event(&m->rewrite, event);
}

/* --- all traces -------------------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Labels a trace by its rank, else by its host if there are several, else by its file. */
static void merge_choose_labels(struct merge_traces *m)
{
	bool several_hosts = false;

	for (unsigned i = 1; i < m->n_parts; i++)
		several_hosts |=
			strcmp(m->parts[i].source.origin.host, m->parts[0].source.origin.host) != 0;
	for (unsigned i = 0; i < m->n_parts; i++) {
		struct part *part = &m->parts[i];
		const struct trace_origin *o = &part->source.origin;
		const char *base = base_name(m->parts[part->recording].source.path);

		if (o->rank[0])
			snprintf(part->label, sizeof(part->label), "rank %s", o->rank);
		else if (several_hosts && o->host[0])
			snprintf(part->label, sizeof(part->label), "%s", o->host);
		else
			snprintf(part->label, sizeof(part->label), "%s",
				 strcmp(base, "-") ? base : "standard input");
	}
}

/* The next file of the recording, whose uuid is one higher. NULL: it is the last one. */
static struct part *part_next_file(const struct merge_traces *m, const struct part *part)
{
	const uint64_t *uuid = part->source.origin.trace_uuid;

	for (unsigned i = 0; i < m->n_parts && uuid[0]; i++) {
		const uint64_t *other = m->parts[i].source.origin.trace_uuid;

		if (other[0] == uuid[0] && other[1] == uuid[1] + 1 && !m->parts[i].goes_on)
			return &m->parts[i];
	}
	return NULL;
}

/* The time of the first scheduling event, if the trace is of the same machine as the reference; else 0. */
static uint64_t part_sched_start(const struct part *part)
{
	if (!part->source.switch_ns || (!part->is_reference && !part->same_boot))
		return 0;
	return part->source.switch_ns + (uint64_t)part->offset_ns;
}

/* Sorts the recordings that have scheduling events by the first of these. `heads` are the first files of each. */
static void parts_sort_by_sched(const struct merge_traces *m, unsigned *heads, unsigned n)
{
	unsigned head;

	for (unsigned i = 0; i < n; i++) {
		for (unsigned k = i + 1; k < n; k++) {
			uint64_t first = part_sched_start(&m->parts[heads[i]]);
			uint64_t other = part_sched_start(&m->parts[heads[k]]);

			if (!first || !other || first <= other)
				continue;
			head = heads[i];
			heads[i] = heads[k];
			heads[k] = head;
		}
	}
}

/* The files of a recording are read in their order, independent of the order of the arguments. */
static int merge_choose_order(struct merge_traces *m, struct failure *f)
{
	unsigned *heads = calloc(m->n_parts, sizeof(*heads));
	unsigned i, n_heads = 0, n = 0;

	m->order = calloc(m->n_parts, sizeof(*m->order));
	m->sched = merge_sched_new();
	if (!m->order || !m->sched || !heads) {
		free(heads);
		return failure_set(f, -ENOMEM, "cannot start", "", NULL);
	}
	for (i = 0; i < m->n_parts; i++) {
		struct part *next = part_next_file(m, &m->parts[i]);

		m->parts[i].next = next;
		if (next)
			next->goes_on = true;
	}
	for (i = 0; i < m->n_parts; i++) {
		if (!m->parts[i].goes_on)
			heads[n_heads++] = i;
	}
	parts_sort_by_sched(m, heads, n_heads);
	for (i = 0; i < n_heads; i++) {
		for (struct part *part = &m->parts[heads[i]]; part; part = part->next) {
			part->recording = heads[i];
			m->order[n++] = (unsigned)(part - m->parts);
		}
	}
	free(heads);
	return 0;
}

static bool offset_matches_path(const struct merge_offset *offset, const char *path)
{
	const char *base = base_name(path);

	return (strlen(path) == offset->length && !strncmp(path, offset->file, offset->length)) ||
	       (strlen(base) == offset->length && !strncmp(base, offset->file, offset->length));
}

static int merge_apply_offsets(struct merge_traces *m, struct failure *f)
{
	char file[256];

	for (unsigned k = 0; k < m->n_offsets; k++) {
		struct merge_offset *offset = &m->offsets[k];

		for (unsigned i = 0; i < m->n_parts; i++) {
			if (!offset_matches_path(offset, m->parts[i].source.path))
				continue;
			offset->used = true;
			if (__builtin_add_overflow(m->parts[i].moved_ns, offset->ns,
						   &m->parts[i].moved_ns))
				return failure_set(f, -ERANGE, "cannot move",
						   m->parts[i].source.path, NULL);
		}
		if (!offset->used) {
			snprintf(file, sizeof(file), "%.*s", (int)offset->length, offset->file);
			return failure_set(f, -ENOENT, "cannot move", file,
					   "it is not one of the traces to be merged");
		}
	}
	return 0;
}

/* Keeps what all traces have in common. */
static struct trace_origin merge_common_origin(const struct merge_traces *m)
{
	struct trace_origin origin = { 0 };
	const struct part *part;
	uint64_t error_ns = 0;

	for (part = m->parts; part < m->parts + m->n_parts; part++) {
		if (part->is_reference)
			origin = part->source.origin;
	}
	for (part = m->parts; part < m->parts + m->n_parts; part++) {
		const struct trace_origin *o = &part->source.origin;

		if (strcmp(o->host, origin.host))
			origin.host[0] = '\0';
		if (strcmp(o->boot_id, origin.boot_id))
			origin.boot_id[0] = '\0';
		if (strcmp(o->rank, origin.rank))
			origin.rank[0] = '\0';
		if (strcmp(o->instructions_compared, origin.instructions_compared))
			origin.instructions_compared[0] = '\0';
		if (part->error_ns > error_ns)
			error_ns = part->error_ns;
	}
	origin.clock_error[0] = '\0';
	if (error_ns && error_ns < UINT64_MAX)
		snprintf(origin.clock_error, sizeof(origin.clock_error), "%" PRIu64, error_ns);
	memset(origin.trace_uuid, 0, sizeof(origin.trace_uuid)); /* the merged trace gets its own */
	return origin;
}

static int merge_open_parts(struct merge_traces *m, struct failure *f)
{
	int error = 0;

	for (unsigned i = 0; i < m->n_parts && !error; i++) {
		error = source_open(&m->parts[i].source, m->paths[i], f);
		m->parts[i].source.quiet = m->quiet;
		error = error ?: source_read_start(&m->parts[i].source, f);
	}
	return error;
}

static int merge_read_parts(struct merge_traces *m, struct failure *f)
{
	struct reader_sink sink = { merge_event,	 m,    m->rewrite.names,
				    &m->rewrite.account, NULL, m->rewrite.callstacks };
	int error = 0;

	m->owners = owners_new(m->rewrite.names, false);
	if (!m->owners)
		return failure_set(f, -ENOMEM, "cannot start", "", NULL);
	for (unsigned i = 0; i < m->n_parts && !error; i++) {
		struct part *part = &m->parts[m->order[i]];

		m->at = m->order[i];
		sink.origin = &part->source.origin;
		owners_begin(m->owners, part);
		error = rewrite_source(&m->rewrite, &part->source, &sink, &part->end, f);
		error = error ?: owners_end(m->owners, merge_thread_name, m);
		rewrite_source_end(&m->rewrite, &part->source.origin, &part->end);
	}
	return error;
}

/* The first reading, which only decides what is selected. */
static int merge_decide(void *context, struct failure *f)
{
	struct merge_traces *m = context;
	int error = merge_read_parts(m, f);

	owners_free(m->owners);
	m->owners = NULL;
	free(m->sched);
	m->sched = merge_sched_new();
	m->before_zero = m->after_end = m->sched_twice = m->sched_elsewhere = 0;
	return error || m->sched ? error : failure_set(f, -ENOMEM, "cannot start", "", NULL);
}

int merge_traces(struct merge_traces *m, struct failure *f)
{
	struct trace_origin origin;
	uint64_t first_ns;
	int error = 0;

	m->parts = calloc(m->n_parts, sizeof(*m->parts));
	if (!m->parts)
		return failure_set(f, -ENOMEM, "cannot start", "", NULL);
	for (unsigned i = 0; i < m->n_outputs && !error; i++)
		error = rewrite_output(&m->rewrite, m->outputs[i], f);
	error = error ?: merge_open_parts(m, f);
	error = error ?: merge_apply_offsets(m, f);
	error = error ?: merge_align(m->parts, m->n_parts, m->align, m->join_flows, f);
	if (error)
		return error;
	error = merge_choose_order(m, f);
	if (error)
		return error;
	merge_choose_labels(m);
	origin = merge_common_origin(m);
	error = merge_first(m->parts, m->n_parts, &m->shift_ns, &first_ns, f);
	if (error)
		return error;
	if (origin.clock.monotonic)
		origin.clock = merge_shift_clock(m, origin.clock);
	if (m->rewrite.cut)
		error = rewrite_decide(&m->rewrite, first_ns, merge_decide, m, f);
	error = error ?: rewrite_begin(&m->rewrite, &origin, first_ns, f);
	error = error ?: merge_read_parts(m, f);
	if (!error || m->rewrite.all_failed)
		error = rewrite_end(&m->rewrite, f);
	return error;
}

void merge_traces_free(struct merge_traces *m)
{
	for (unsigned i = 0; m->parts && i < m->n_parts; i++)
		source_close(&m->parts[i].source);
	owners_free(m->owners);
	rewrite_free(&m->rewrite);
	free(m->order);
	free(m->sched);
	free(m->parts);
}
