// SPDX-License-Identifier: BSD-2-Clause
/*
 * The Chrome trace event format, as an array of events, one per line. The array may lack its end:
 * every viewer takes what is there, so that a file cut off anywhere loads. (The other form of the
 * format, an object, is refused as a whole when its last brace is missing.)
 *
 * Times are microseconds with three decimals since a base that the first event tells as `base_ns`
 * of CLOCK_MONOTONIC: loaders keep a time as a double, which is exact to the nanosecond only while
 * it is small.
 *
 * What JSON cannot say, compared with the Perfetto trace of the same recording:
 *
 *	an unsigned number above 2^63-1	a string of decimal digits: loaders read it as a negative one
 *	NaN and infinities		the strings "NaN", "Infinity", "-Infinity": loaders drop them
 *	pointers			strings "0x7f...", like any other string
 *	a NULL string			null
 *	strings that were cut		end with U+2026 here and there alike, nothing else tells
 *	several categories		one string "a,b": a filter for "a" does not find it
 *	the unit of a counter		"unit" beside its "args", which viewers do not know
 *	the name of a single series	"value"; Perfetto's loader calls the counter "NAME value"
 *	counters of threads		events `counters` with the thread's number as id, before each B and E
 *	lanes of asynchronous slices	nothing: viewers pair by category and id. Two of one category and
 *					id that overlap without nesting are mixed up, and Perfetto's
 *					loader makes no difference between processes either
 *	arrows				bind to the slice around them; outside of any slice they are
 *					instants `flow out` and `flow in`, since a loose arrow is an error
 *	their category			"flow", name "flow": both ends must agree on them
 *	samples that open a file that	a key "continued" beside the arguments, here and an annotation there
 *	begins in a recording's midst
 *	when a process started		nothing
 *	clocks				events that viewers ignore; Perfetto's loader aligns nothing
 *	call stacks of slices and	an argument "stack": names alone, the outermost first, the innermost 256.
 *	instants			What has no name then, code made at run time too, is FILE+0xADDRESS
 *	samples of call stacks		nothing
 *	switches and wakings		states of threads (chrome_sched.c): a waking that ended no sleep
 *					is not told, and times when nobody had a CPU are what is left
 *	lost marks			instants `events lost` and the account in the last event, but no
 *					statistics that a loader would show
 *	the end				the last event, `proftrace_account`, and the bracket after it
 */
#include <stdlib.h>

#include "handlers/chrome_metadata.h"
#include "handlers/chrome_sched.h"
#include "handlers/chrome_stacks.h"
#include "handlers/handler.h"
#include "handlers/json_writer.h"

enum {
	BASE_STEP_NS = 1000000
};

struct chrome_json {
	struct handler handler;
	struct json_writer writer;
	struct chrome_sched *sched;
	void (*name_stack)(void *context, const struct callstack *callstack);
	void *name_context;
};

/* A counter's value must be a number, or a string that reads as one. */
static char *put_counter_value(char *at, const struct arg *arg)
{
	switch (arg->type) {
	case ARG_BOOL:
	case ARG_POINTER:
		return json_uint(at, arg->u);
	case ARG_STRING:
	case ARG_NULL:
		return json_literal(at, "\"NaN\"");
	case ARG_INT:
	case ARG_UINT:
	case ARG_DOUBLE:
		break;
	}
	return json_value(at, arg);
}

static inline char *own_args(struct json_writer *j, char *at, const struct fact *fact)
{
	const struct arg *end = fact->args + fact->n_args;

	for (const struct arg *arg = fact->args; arg < end; arg++) {
		at = json_key(j, at, arg->key);
		/* Nearly all are such. Not negative, both are written alike. */
		if (arg->type <= ARG_UINT && arg->i >= 0)
			at = json_u64(at, arg->u);
		else
			at = json_value(at, arg);
	}
	return at;
}

/* --- the start of every event ------------------------------------------------------------------ */

static inline char *put_owner(struct json_writer *j, char *at, const struct process *process,
			      const struct thread *thread)
{
	uint32_t pid = process ? process->pid : 0;

	if (thread)
		return json_owner(j, at, pid, thread->tid);
	return json_u64(json_literal(at, ",\"pid\":"), pid);
}

static char *put_moment(struct json_writer *j, char *at, const struct fact *fact)
{
	at = json_literal(at, ",\"ts\":");
	at = json_time(j, at, fact->ts_ns);
	return put_owner(j, at, fact->process, fact->thread);
}

static char *put_phase(struct json_writer *j, char *at, const struct fact *fact, char phase)
{
	at = json_literal(at, ",\"ph\":\"");
	*at++ = phase;
	*at++ = '"';
	return put_moment(j, at, fact);
}

static inline char *open_event(struct json_writer *j, const struct fact *fact, char phase)
{
	char *at = json_head(j, json_start(j), fact->name, fact->category);

	return put_phase(j, at, fact, phase);
}

static char *put_stack(struct chrome_json *c, char *at, const struct callstack *callstack)
{
	if (c->name_stack)
		c->name_stack(c->name_context, callstack);
	return chrome_put_stack(&c->writer, at, callstack);
}

static int close_args(struct json_writer *j, char *at)
{
	return json_done(j, json_literal(at, "}}"));
}

/*
 * Each of these is a function of its own, and stays one: most events have few arguments or none, and would
 * pay for the registers that the rest needs.
 */
static __attribute__((noinline)) char *put_more_args(struct chrome_json *c, char *at,
						     const struct fact *fact)
{
	if (fact->callstack)
		at = put_stack(c, at, fact->callstack);
	if (fact->end_reason == END_NORMAL)
		return at;
	return json_string_arg(&c->writer, at, "ended",
			       fact->end_reason == END_LOST ? "lost" : "unfinished");
}

static __attribute__((noinline)) int write_args(struct chrome_json *c, char *at,
						const struct fact *fact)
{
	at = json_open_args(&c->writer, at);
	at = own_args(&c->writer, at, fact);
	if (fact->callstack || fact->end_reason != END_NORMAL)
		at = put_more_args(c, at, fact);
	return close_args(&c->writer, at);
}

/* Ends an event whose only arguments are the fact's own. */
static int close_with_args(struct chrome_json *c, char *at, const struct fact *fact)
{
	if (fact->n_args || fact->callstack || fact->end_reason != END_NORMAL)
		return write_args(c, at, fact);
	*at++ = '}';
	return json_done(&c->writer, at);
}

/* --- events ------------------------------------------------------------------------------------ */

/* Not among the arguments, which are the series. Viewers ignore it. */
static char *put_continued(char *at, const struct fact *fact)
{
	return fact->continued ? json_literal(at, ",\"continued\":true") : at;
}

/* A counter is the process's, whatever its tid says: this makes those of threads different ones. */
static char *put_thread(char *at, const struct thread *thread)
{
	return json_hex(json_literal(at, ",\"id\":"), thread->tid);
}

/* The start of a sample of what was counted on a thread. */
static char *open_thread_counters(struct json_writer *j, const struct fact *fact,
				  const struct thread *thread)
{
	char *at = json_literal(json_start(j), ",\n{\"name\":\"counters\"");

	at = put_phase(j, at, fact, 'C');
	at = put_continued(put_thread(at, thread), fact);
	return json_open_args(j, at);
}

/* What was counted on the thread until now. */
static int write_counters(struct chrome_json *c, const struct fact *fact)
{
	struct json_writer *j = &c->writer;
	unsigned i, n = 0;
	char *at;

	for (i = 0; i < fact->n_counters; i++)
		n += fact->counters[i] != EVENT_NO_VALUE;
	if (!n)
		return 0;
	at = open_thread_counters(j, fact, fact->thread);
	for (i = 0; i < fact->n_counters; i++) {
		if (fact->counters[i] == EVENT_NO_VALUE)
			continue;
		at = json_key(j, at, fact->counter_tracks[i]->name);
		at = json_uint(at, fact->counters[i]);
	}
	return close_args(j, at);
}

static int write_begin(struct chrome_json *c, const struct fact *fact)
{
	struct json_writer *j = &c->writer;
	if (fact->n_counters)
		write_counters(c, fact);
	return close_with_args(c, open_event(j, fact, 'B'), fact);
}

static int write_end(struct chrome_json *c, const struct fact *fact)
{
	struct json_writer *j = &c->writer;
	char *at;

	if (fact->n_counters)
		write_counters(c, fact);
	at = json_literal(json_start(j), ",\n{\"ph\":\"E\"");
	return close_with_args(c, put_moment(j, at, fact), fact);
}

static inline char *put_scope(char *at, enum event_scope scope)
{
	if (scope == SCOPE_THREAD)
		return json_literal(at, ",\"s\":\"t\"");
	if (scope == SCOPE_PROCESS)
		return json_literal(at, ",\"s\":\"p\"");
	return json_literal(at, ",\"s\":\"g\"");
}

/* The narrowest scope that can be said of something found on this thread, process or machine. */
static enum event_scope scope_of(const struct fact *fact)
{
	return fact->thread ? SCOPE_THREAD : fact->process ? SCOPE_PROCESS : SCOPE_GLOBAL;
}

static int write_instant(struct chrome_json *c, const struct fact *fact)
{
	struct json_writer *j = &c->writer;
	return close_with_args(c, put_scope(open_event(j, fact, 'i'), fact->scope), fact);
}

/* A sample of a thread's counter on its own: found in a file, where it came with no slice. */
static int write_counter_of_thread(struct json_writer *j, const struct fact *fact)
{
	char *at = open_thread_counters(j, fact, fact->tracks[0]->thread);

	at = json_key(j, at, fact->name);
	return close_args(j, put_counter_value(at, &fact->args[0]));
}

static char *put_unit(struct json_writer *j, char *at, const struct name *unit)
{
	at = json_literal(json_room(j, at), ",\"unit\":");
	return json_name(j, at, unit, LIMIT_NAME);
}

static char *put_memory(char *at, const struct memory *memory)
{
	switch (memory->change) {
	case MEMORY_ALLOC:
		at = json_literal(at, ",\"memory\":\"alloc\",\"size\":");
		at = json_u64(at, memory->size);
		break;
	case MEMORY_FREE:
		at = json_literal(at, ",\"memory\":\"free\"");
		break;
	case MEMORY_GONE:
		return json_literal(at, ",\"memory\":\"gone\"");
	}
	at = json_literal(at, ",\"address\":");
	return json_hex(at, memory->address);
}

static int write_counter(struct chrome_json *c, const struct fact *fact)
{
	struct json_writer *j = &c->writer;
	const struct track *track = fact->tracks[0];
	const struct name *unit = track->unit;
	char *at;

	if (fact->n_args == 1 && track->is_counted)
		return write_counter_of_thread(j, fact);
	at = open_event(j, fact, 'C');
	if (track->thread)
		at = put_thread(at, track->thread);
	at = put_continued(at, fact);
	if (unit)
		at = put_unit(j, at, unit);
	if (fact->memory)
		at = put_memory(at, fact->memory);
	at = json_open_args(j, at);
	for (unsigned i = 0; i < fact->n_args; i++) {
		at = json_key(j, at, fact->args[i].key);
		at = put_counter_value(at, &fact->args[i]);
	}
	return close_args(j, at);
}

static int write_async(struct chrome_json *c, const struct fact *fact)
{
	struct json_writer *j = &c->writer;
	char *at = open_event(j, fact, fact->kind == FACT_ASYNC_BEGIN ? 'b' : 'e');

	/* Of this process: a plain id would pair with the same one of another. */
	at = json_literal(at, ",\"id2\":{\"local\":");
	at = json_hex(at, fact->id);
	*at++ = '}';
	return close_with_args(c, at, fact);
}

/* Outside of any slice: an instant, and the id is an argument. */
static int write_loose_flow(struct chrome_json *c, const struct fact *fact)
{
	struct json_writer *j = &c->writer;
	char *at = json_start(j);

	if (fact->kind == FACT_FLOW_OUT)
		at = json_literal(at, ",\n{\"name\":\"flow out\"");
	else
		at = json_literal(at, ",\n{\"name\":\"flow in\"");
	if (fact->category) {
		at = json_literal(at, ",\"cat\":");
		at = json_name(j, at, fact->category, LIMIT_NAME);
	}
	at = put_phase(j, at, fact, 'i');
	at = put_scope(at, scope_of(fact));
	at = json_open_args(j, at);
	at = json_uint_arg(j, at, "id", fact->id);
	return close_args(j, own_args(j, at, fact));
}

static int write_flow(struct chrome_json *c, const struct fact *fact)
{
	struct json_writer *j = &c->writer;
	bool out = fact->kind == FACT_FLOW_OUT;
	char *at;

	if (!fact->in_slice)
		return write_loose_flow(c, fact);
	at = json_literal(json_start(j), ",\n{\"name\":\"flow\",\"cat\":\"flow\"");
	at = put_phase(j, at, fact, out ? 's' : 'f');
	at = json_literal(at, ",\"id\":");
	at = json_hex(at, fact->id);
	if (!out)
		at = json_literal(at, ",\"bp\":\"e\"");
	return close_with_args(c, at, fact);
}

static int write_lost(struct chrome_json *c, const struct fact *fact)
{
	struct json_writer *j = &c->writer;
	char *at = json_literal(json_start(j), ",\n{\"name\":\"events lost\"");

	at = put_phase(j, at, fact, 'i');
	at = put_scope(at, scope_of(fact));
	at = json_open_args(j, at);
	return close_args(j, json_uint_arg(j, at, "count", fact->count));
}

/* --- the handler ------------------------------------------------------------------------------- */

static int write_process(struct chrome_json *c, const struct fact *fact)
{
	int error = chrome_sched_describe(&c->sched, fact->process->pid);

	return error ? error : chrome_write_process(&c->writer, fact->process);
}

static int write_thread(struct chrome_json *c, const struct fact *fact)
{
	int error = chrome_sched_describe(&c->sched, fact->thread->tid);

	return error ? error : chrome_write_thread(&c->writer, fact->thread);
}

static int write_clock(struct chrome_json *c, const struct fact *fact)
{
	return chrome_write_clock(&c->writer, &fact->clock);
}

static int write_sched(struct chrome_json *c, const struct fact *fact)
{
	return chrome_sched_write(&c->sched, &c->writer, fact);
}

static int (*const writers[])(struct chrome_json *c, const struct fact *fact) = {
	[FACT_PROCESS] = write_process,
	[FACT_THREAD] = write_thread,
	[FACT_TRACK] = NULL, /* counters and asynchronous slices need no declaration here */
	[FACT_BEGIN] = write_begin,
	[FACT_END] = write_end,
	[FACT_INSTANT] = write_instant,
	[FACT_COUNTER] = write_counter,
	[FACT_READING] = write_counters,
	[FACT_ASYNC_BEGIN] = write_async,
	[FACT_ASYNC_END] = write_async,
	[FACT_FLOW_OUT] = write_flow,
	[FACT_FLOW_IN] = write_flow,
	[FACT_LOST] = write_lost,
	[FACT_CLOCK] = write_clock,
	[FACT_LEFT] = NULL, /* the pool's sample tells of them together */
	[FACT_GONE] = NULL,
	[FACT_SWITCH] = write_sched,
	[FACT_WAKING] = write_sched,
	[FACT_SCHED_GAP] = write_sched,
	[FACT_SAMPLE] = NULL, /* no viewer of this format knows them */
};

static int chrome_json_fact(struct handler *handler, const struct fact *fact)
{
	struct chrome_json *c = (struct chrome_json *)handler;

	return writers[fact->kind] ? writers[fact->kind](c, fact) : 0;
}

static int chrome_json_flush(struct handler *handler)
{
	return sink_flush(((struct chrome_json *)handler)->writer.sink);
}

static int chrome_json_close(struct handler *handler, const struct account *account)
{
	struct json_writer *j = &((struct chrome_json *)handler)->writer;

	chrome_sched_finish(((struct chrome_json *)handler)->sched, j);
	chrome_write_account(j, account);
	return sink_close(j->sink);
}

static void chrome_json_free(struct handler *handler)
{
	struct chrome_json *chrome = (struct chrome_json *)handler;

	sink_free(chrome->writer.sink);
	chrome_sched_free(chrome->sched);
	free(chrome);
}

static const struct handler_ops chrome_json_ops = {
	.name = "chrome_json",
	.fact = chrome_json_fact,
	.flush = chrome_json_flush,
	.close = chrome_json_close,
	.free = chrome_json_free,
};

struct handler *chrome_json_handler_new(struct sink *sink, const struct trace_info *info)
{
	struct chrome_json *chrome = calloc(1, sizeof(*chrome));

	if (!chrome)
		return NULL;
	chrome->handler.ops = &chrome_json_ops;
	chrome->name_stack = info->name_stack;
	chrome->name_context = info->name_context;
	json_init(&chrome->writer, sink, info->start_ns - info->start_ns % BASE_STEP_NS);
	chrome_write_start(&chrome->writer, info);
	return &chrome->handler;
}
