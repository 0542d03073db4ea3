/* SPDX-License-Identifier: BSD-2-Clause */
/* The outputs of `convert` and `merge`: their files, the account that they get, and the summary. */
#include "merge/rewrite.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/text.h"

#define DAY_NS 86400000000000ull
/* Loaders of JSON keep times as doubles, which are exact up to here. */
#define LARGEST_NS (100 * DAY_NS)

enum {
	/*
	 * Files of other profilers have more names than programs with markers; a name takes about
	 * 150 bytes.
	 */
	MAX_NAMES = 1 << 18,
};

int rewrite_init(struct rewrite *r, struct failure *f)
{
	uint64_t base = 0;

	temporaries_begin();
	*r = (struct rewrite){ 0 };
	if (getrandom(&base, 4, 0) < 0)
		return failure_set(f, -errno, "cannot start", "", NULL);
	r->names = names_new(MAX_NAMES);
	r->uuid_base = base << 31;
	if (r->names)
		r->timeline = timeline_new(r->names, &r->account, r->uuid_base);
	if (r->timeline)
		r->callstacks = callstacks_new(r->names, 0);
	return r->callstacks ? 0 : failure_set(f, -ENOMEM, "cannot start", "", NULL);
}

/* --- outputs ----------------------------------------------------------------------------------- */

static int rewrite_add_output(struct rewrite *r, const char *name, const char *suffix, bool json,
			      enum sink_format format, struct failure *f)
{
	struct rewrite_output *o = &r->outputs[r->n_outputs];
	int error;

	*o = (struct rewrite_output){ .format = json ? "Chrome JSON" : "Perfetto",
				      .make = json ? chrome_writer_new : perfetto_writer_new };
	if (asprintf(&o->path, "%s%s", name, suffix) < 0) {
		o->path = NULL;
		return failure_set(f, -ENOMEM, "cannot write", name, NULL);
	}
	r->n_outputs++;
	error = temporaries_open(o->path, format, &o->sink);
	return error ? failure_set(f, error, "cannot write", o->path, sink_refusal(error)) : 0;
}

int rewrite_output(struct rewrite *r, const char *name, struct failure *f)
{
	enum sink_format perfetto = r->compress ? SINK_BUNDLES : SINK_PLAIN;
	int error;

	if (text_ends_with(name, ".pftrace") || !strcmp(name, "-"))
		return rewrite_add_output(r, name, "", false, perfetto, f);
	if (text_ends_with(name, ".json"))
		return rewrite_add_output(r, name, "", true, SINK_PLAIN, f);
	if (text_ends_with(name, ".json.gz"))
		return rewrite_add_output(r, name, "", true, SINK_GZIP, f);
	error = rewrite_add_output(r, name, ".pftrace", false, perfetto, f);
	return error ? error : rewrite_add_output(r, name, ".json", true, SINK_PLAIN, f);
}

/*
 * Events of a file need not be sorted by time, so the earliest is known at its end only. Small
 * times are kept as they are; large ones become relative to a day before the first mark.
 */
static uint64_t rewrite_base_ns(uint64_t first_ns)
{
	return first_ns < LARGEST_NS ? 0 : first_ns - DAY_NS;
}

/*
 * Formats that write names of functions at once call this for every stack; the first unnamed one
 * causes the source to be searched.
 */
static void rewrite_name_stack(void *context, const struct callstack *callstack)
{
	struct rewrite *r = context;

	while (callstack && (callstack->frame->n_lines || !callstack->frame->mapping))
		callstack = callstack->caller;
	if (!callstack || r->has_names || !r->source)
		return;
	r->has_names = true;
	source_names(r->source, r->names, r->callstacks);
}

int rewrite_source(struct rewrite *r, struct source *source, const struct reader_sink *sink,
		   struct reader_error *ret_error, struct failure *f)
{
	int error;

	r->source = source;
	r->has_names = false;
	error = source_read(source, sink, ret_error, f);
	r->source = NULL;
	return error;
}

int rewrite_decide(struct rewrite *r, uint64_t first_ns,
		   int (*read)(void *context, struct failure *f), void *context, struct failure *f)
{
	struct rewrite after = *r;
	int error = -ENOMEM;

	r->cut_consumer = r->cut->decide(r->cut->context, r->names, first_ns);
	if (r->cut_consumer)
		error = timeline_add_consumer(r->timeline, r->cut_consumer);
	if (error)
		return failure_set(f, error, "cannot start", "", NULL);
	r->base_ns = rewrite_base_ns(first_ns);
	error = read(context, f);
	if (!error) {
		timeline_finish(r->timeline);
		r->cut->decided(r->cut->context);
		error = r->cut_consumer->error;
		if (error)
			failure_set(f, error, "cannot read", "the traces", NULL);
	}
	timeline_free(r->timeline);
	after.cut_consumer = r->cut_consumer;
	*r = after; /* all that the first reading has counted */
	r->timeline = timeline_new(r->names, &r->account, after.uuid_base);
	if (!error && !r->timeline)
		error = failure_set(f, -ENOMEM, "cannot start", "", NULL);
	return error;
}

/* With a cut, the timeline passes facts to that one, and it to the outputs. */
static int rewrite_connect(struct rewrite *r, struct consumer *output)
{
	if (r->cut)
		return r->cut->add_output(r->cut->context, output);
	return timeline_add_consumer(r->timeline, output);
}

int rewrite_begin(struct rewrite *r, const struct trace_origin *origin, uint64_t first_ns,
		  struct failure *f)
{
	struct trace_info info = {
		.start_ns = rewrite_base_ns(first_ns),
		.clock = origin->clock,
		.trace_uuid = { origin->trace_uuid[0], origin->trace_uuid[1] },
		.version = PROFTRACE_VERSION,
		.kernel_release = origin->kernel_release,
		.kernel_version = origin->kernel_version,
		.machine = origin->machine,
		.sysname = origin->sysname,
		.host = origin->host,
		.boot_id = origin->boot_id,
		.rank = origin->rank,
		.clock_error = origin->clock_error,
		.instructions_compared = origin->instructions_compared,
		.name_stack = rewrite_name_stack,
		.name_context = r,
	};
	int error;

	r->base_ns = info.start_ns;
	r->clock = info.clock;
	if (!info.trace_uuid[0] && !info.trace_uuid[1] &&
	    getrandom(info.trace_uuid, sizeof(info.trace_uuid), 0) < 0)
		return failure_set(f, -errno, "cannot start", "", NULL);
	for (unsigned i = 0; i < r->n_outputs; i++) {
		struct rewrite_output *o = &r->outputs[i];

		o->consumer = o->make(o->sink, &info);
		error = o->consumer ? rewrite_connect(r, o->consumer) : -ENOMEM;
		if (error)
			return failure_set(f, error, "cannot write", o->path, NULL);
	}
	error = r->cut ? timeline_add_consumer(r->timeline, r->cut_consumer) : 0;
	return error ? failure_set(f, error, "cannot start", "", NULL) : 0;
}

void rewrite_source_end(struct rewrite *r, const struct trace_origin *origin,
			const struct reader_error *end)
{
	struct account added = account_since(&r->account, &r->before);
	struct account account = origin->account;
	uint64_t lost = account_lost(&added);

	if (origin->has_account) {
		for (unsigned i = 0; i < LOST_REASONS; i++)
			account.lost[i] += added.lost[i];
		account.written -= lost < account.written ? lost : account.written;
	} else {
		account = added;
		account.marked += r->marks_lost - r->lost_before;
		account.lost[LOST_BUFFER_FULL] += r->marks_lost - r->lost_before;
	}
	account_merge(&r->written_account, &account);
	r->before = r->account;
	r->lost_before = r->marks_lost;
	r->unfinished |= !source_is_whole(origin, end);
}

static int rewrite_output_failed(const struct rewrite *r, struct failure *f)
{
	int error = 0;

	for (unsigned i = 0; i < r->n_outputs; i++) {
		const struct rewrite_output *o = &r->outputs[i];
		struct failure this = { 0 };
		int failed = o->written ? sink_displaced_failure(o->sink, o->path, &this)
					: failure_set(&this, o->consumer->error, "cannot write",
						      o->path, NULL);

		if (!failed)
			continue;
		if (error)
			failure_print(f, stderr);
		error = failed;
		*f = this;
	}
	return error;
}

/* What is not wanted in the outputs is left out on request. */
static void account_leave_out(struct account *account, uint64_t marks)
{
	if (marks > account->written)
		marks = account->written;
	account->written -= marks;
	account->left_out += marks;
}

int rewrite_end(struct rewrite *r, struct failure *f)
{
	uint64_t left_out;

	timeline_finish(r->timeline);
	if (r->cut) {
		r->cut->count(r->cut->context, &left_out, &r->account.open_at_end);
		account_leave_out(&r->written_account, left_out);
		account_leave_out(&r->account, left_out);
	}
	r->written_account.open_at_end = r->account.open_at_end;
	r->written_account.sched_events = r->account.sched_events;
	r->written_account.stacks = r->account.stacks;
	r->written_account.orderly = !r->unfinished;
	for (unsigned i = 0; i < r->n_outputs; i++) {
		struct consumer *h = r->outputs[i].consumer;

		if (!h->error)
			h->error = h->ops->close(h, &r->written_account);
		r->outputs[i].written = !h->error;
	}
	return rewrite_output_failed(r, f);
}

bool rewrite_any_written(const struct rewrite *r)
{
	unsigned i;

	for (i = 0; i < r->n_outputs && !r->outputs[i].written; i++)
		;
	return i < r->n_outputs;
}

void rewrite_free(struct rewrite *r)
{
	timeline_free(r->timeline);
	for (unsigned i = 0; i < r->n_outputs; i++) {
		if (!r->outputs[i].written)
			sink_abandon(r->outputs[i].sink);
	}
	temporaries_end();
	while (r->n_outputs) {
		struct rewrite_output *o = &r->outputs[--r->n_outputs];

		if (o->consumer)
			o->consumer->ops->free(o->consumer);
		else
			sink_free(o->sink);
		free(o->path);
	}
	callstacks_free(r->callstacks);
	names_free(r->names);
}

/* --- events ------------------------------------------------------------------------------------ */

/* Outputs have no consumer yet while a cut is decided on. */
static bool is_stopped(const struct consumer *output)
{
	return !output || output->error;
}

static bool any_output_works(const struct rewrite *r)
{
	unsigned i;

	for (i = 0; i < r->n_outputs && is_stopped(r->outputs[i].consumer); i++)
		;
	return i < r->n_outputs;
}

int rewrite_event(struct rewrite *r, const struct event *event)
{
	int error;

	if (event->kind == EVENT_CLOCK && event->clock.monotonic == r->clock.monotonic)
		return 0;
	if (event->ts_ns > r->last_ns)
		r->last_ns = event->ts_ns;
	if (event->ts_ns < r->base_ns && event->kind <= EVENT_STEP)
		r->before_base++;
	if (event->kind == EVENT_LOST)
		r->marks_lost += event->size;
	r->samples += event->kind == EVENT_SAMPLE;
	error = timeline_event(r->timeline, event);
	if (!error || any_output_works(r))
		return 0;
	r->all_failed = true;
	return error;
}

/* --- what is said ------------------------------------------------------------------------------ */

void rewrite_source_notes(const struct source *source, const struct reader_error *end)
{
	source_print_ending(source->path, &source->origin, end);
	if (end->skipped)
		print_visible(stderr,
			      "proftrace: '%s': %" PRIu64
			      " events were skipped: their kinds are not supported (%s)\n",
			      source->path, end->skipped, end->skipped_kinds);
}

static void rewrite_print_count(uint64_t count, const char *text)
{
	if (count)
		print_visible(stderr, "%12" PRIu64 "  %s\n", count, text);
}

static bool writes_only_json(const struct rewrite *r)
{
	for (unsigned i = 0; i < r->n_outputs; i++) {
		if (r->outputs[i].make == perfetto_writer_new)
			return false;
	}
	return true;
}

void rewrite_summary(const struct rewrite *r)
{
	const struct account *a = &r->account;

	for (unsigned i = 0; i < r->n_outputs; i++) {
		const struct rewrite_output *o = &r->outputs[i];
		const char *path;
		char size[32];

		if (!o->written)
			continue;
		sink_displaced(o->sink, &path);
		print_size(size, sizeof(size), sink_size(o->sink));
		print_visible(stderr, "%s  %s (%s)\n", path, size, o->format);
	}
	print_visible(stderr, "%" PRIu64 " event%s\n", a->written, a->written == 1 ? "" : "s");
	rewrite_print_count(
		writes_only_json(r) ? r->samples : 0,
		"samples of call stacks not written: Chrome JSON cannot represent them");
	rewrite_print_count(a->stacks_lost, "malformed samples of call stacks");
	rewrite_print_count(callstacks_refused(r->callstacks),
			    "call stacks not written: there are too many different ones");
	rewrite_print_count(r->marks_lost, "marks were lost while they were recorded");
	for (unsigned i = 0; i < LOST_REASONS; i++)
		rewrite_print_count(a->lost[i], lost_reason_text(i));
	rewrite_print_count(a->unreadable_args, "events with too many arguments, which were cut");
	rewrite_print_count(a->cut_strings, "strings were cut to their limit");
	rewrite_print_count(a->repaired_strings, "strings were not valid UTF-8 and were repaired");
	rewrite_print_count(names_count(r->names)->capped,
			    "uses of the name (other): too many distinct names");
	rewrite_print_count(a->async_unmatched,
			    "asynchronous ENDs without a BEGIN became instants");
	rewrite_print_count(r->before_base,
			    "events more than a day before the first mark were moved to that time");
	rewrite_print_count(a->open_at_end, "slices are still open at the end");
}
