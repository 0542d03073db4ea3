// SPDX-License-Identifier: BSD-2-Clause
/*
 * Writes the Chrome trace event format as an array of events, one per line. Viewers accept an array without its end,
 * so that a file that was cut off loads. (They reject the other form of the format, an object, when its last brace is
 * missing.)
 *
 * Times are microseconds with three decimals since a base, which the first event has as `base_ns` of
 * CLOCK_MONOTONIC: loaders keep a time as a double, which is exact to the nanosecond only while it is small.
 *
 * What JSON cannot express, compared with the Perfetto trace of the same recording:
 *
 *	an unsigned number above 2^63-1	a string of decimal digits: loaders read it as a negative one
 *	NaN and infinities		the strings "NaN", "Infinity", "-Infinity": loaders drop them
 *	pointers			strings "0x7f...", like any other string
 *	a NULL string			null
 *	strings that were cut		end with U+2026 in both formats, and are not marked otherwise
 *	several categories		one string "a,b": a filter for "a" does not find it
 *	the unit of a counter		"unit" beside its "args", which viewers do not know
 *	the name of a single series	"value"; Perfetto's loader calls the counter "NAME value"
 *	counters of threads		events `counters` with the thread's number as id, before a B or E, but of each
 *					thread only so often (`counter_step_ns`); the deltas of an E are in its
 *					arguments. A delta of 0 is left out; one that is not known is null, and if
 *					none is known, "counters" is null. Where the program has an argument of the
 *					same name, "counters" has the deltas
 *	lanes of asynchronous slices	nothing: viewers pair by category and id. They mix up two slices of
 *					one category and id that overlap without nesting, and Perfetto's
 *					loader does not even distinguish processes
 *	arrows				bind to the slice around them; outside of any slice they are
 *					instants `flow out` and `flow in`, since an unbound arrow is an error
 *	their category			"flow", name "flow": both ends must agree on them
 *	arrows to slices with times	an argument "flow": only slices of threads can have one
 *	of their own
 *	their tracks			a key "track" that viewers ignore; each lane has an id
 *	counter samples repeated at the	a key "continued" beside the arguments instead of an annotation
 *	start of a later file
 *	when a process started		nothing
 *	clocks				events that viewers ignore; Perfetto's loader aligns nothing
 *	call stacks of slices and	an argument "stack": names alone, the outermost first, the innermost 256.
 *	instants			Frames without a symbol by then, such as of JIT code, are FILE+0xADDRESS
 *	samples of call stacks		nothing
 *	context switches and wakings	states of threads (write_sched.c): a waking that ended no sleep is
 *					missing, and the idle times of a CPU are the gaps
 *	why threads were blocked	complete events ("X") of category "wait" inside the slices of their threads
 *	lost marks			instants `events lost` and the account in the last event, but no
 *					statistics that a loader would show
 *	what tells these instants and	a key "recorder" that viewers ignore
 *	`flow out` from marks
 *	the end				the last event, `proftrace_account`, and the bracket after it
 */
#include <stdlib.h>
#include <string.h>

#include "formats/chrome/writer.h"
#include "formats/sink.h"

enum {
	BASE_STEP_NS = 1000000,
	SAMPLED_THREADS = 1024, /* a power of two; threads that share an entry have more samples */
};

struct chrome_json {
	struct consumer consumer;
	struct json_writer writer;
	struct chrome_sched *sched;
	uint32_t
		sampled_counters; /* bits: readers know them by a sample, so an E says if it has none */
	uint64_t counter_step_ns;
	struct {
		uint64_t thread; /* its uuid */
		uint64_t until_ns;
	} sampled[SAMPLED_THREADS];
	void (*name_stack)(void *context, const struct callstack *callstack);
	void *name_context;
};

/* A counter's value must be a number, or a string that reads as one. */
static char *chrome_put_counter_value(char *at, const struct arg *arg)
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

static inline char *chrome_put_args(struct json_writer *j, char *at, const struct fact *fact)
{
	const struct arg *end = fact->args + fact->n_args;

	for (const struct arg *arg = fact->args; arg < end; arg++) {
		at = json_key(j, at, arg->key);
		/* The frequent case: integers that are not negative are written alike. */
		if (arg->type <= ARG_UINT && arg->i >= 0)
			at = json_u64(at, arg->u);
		else
			at = json_value(at, arg);
	}
	return at;
}

/* --- the start of every event ------------------------------------------------------------------ */

static inline char *chrome_put_owner(struct json_writer *j, char *at, const struct process *process,
				     const struct thread *thread)
{
	uint32_t pid = process ? process->pid : 0;

	if (thread)
		return json_owner(j, at, pid, thread->tid);
	return json_u64(json_literal(at, ",\"pid\":"), pid);
}

static char *chrome_put_time(struct json_writer *j, char *at, const struct fact *fact)
{
	at = json_literal(at, ",\"ts\":");
	at = json_time(j, at, fact->ts_ns);
	return chrome_put_owner(j, at, fact->process, fact->thread);
}

static char *chrome_put_phase(struct json_writer *j, char *at, const struct fact *fact, char phase)
{
	at = json_literal(at, ",\"ph\":\"");
	*at++ = phase;
	*at++ = '"';
	return chrome_put_time(j, at, fact);
}

static inline char *chrome_open_event(struct json_writer *j, const struct fact *fact, char phase)
{
	char *at = json_head(j, json_start(j), fact->name, fact->category);

	return chrome_put_phase(j, at, fact, phase);
}

static char *chrome_put_named_stack(struct chrome_json *c, char *at,
				    const struct callstack *callstack)
{
	if (c->name_stack)
		c->name_stack(c->name_context, callstack);
	return chrome_put_stack(&c->writer, at, callstack);
}

/*
 * These are not inlined: most events have few or no arguments and would have to save the registers that the others
 * need.
 */
static __attribute__((noinline)) char *chrome_put_special_args(struct chrome_json *c, char *at,
							       const struct fact *fact)
{
	if (fact->callstack)
		at = chrome_put_named_stack(c, at, fact->callstack);
	if (fact->end_reason == END_NORMAL)
		return at;
	return json_string_arg(&c->writer, at, "ended",
			       fact->end_reason == END_LOST ? "lost" : "unfinished");
}

static __attribute__((noinline)) int chrome_write_args(struct chrome_json *c, char *at,
						       const struct fact *fact)
{
	at = json_open_args(&c->writer, at);
	at = chrome_put_args(&c->writer, at, fact);
	if (fact->callstack || fact->end_reason != END_NORMAL)
		at = chrome_put_special_args(c, at, fact);
	return json_close_args(&c->writer, at);
}

/* Ends an event whose only arguments are those of the fact. */
static int chrome_close_event(struct chrome_json *c, char *at, const struct fact *fact)
{
	if (fact->n_args || fact->callstack || fact->end_reason != END_NORMAL)
		return chrome_write_args(c, at, fact);
	*at++ = '}';
	return json_done(&c->writer, at);
}

/* --- events ------------------------------------------------------------------------------------ */

/* Not one of the arguments, which are the series of the counter. Viewers ignore the key. */
static char *chrome_put_continued(char *at, const struct fact *fact)
{
	return fact->continued ? json_literal(at, ",\"continued\":true") : at;
}

/* Viewers assign a counter to its process whatever its tid is. The id distinguishes the counters of its threads. */
static char *chrome_put_counter_thread(char *at, const struct thread *thread)
{
	return json_hex(json_literal(at, ",\"id\":"), thread->tid);
}

/* The start of a sample of the hardware counters of a thread. */
static char *chrome_open_thread_counters(struct json_writer *j, const struct fact *fact,
					 const struct thread *thread)
{
	char *at = json_literal(json_start(j), ",\n{\"name\":\"counters\"");

	at = chrome_put_phase(j, at, fact, 'C');
	at = chrome_put_continued(chrome_put_counter_thread(at, thread), fact);
	return json_open_args(j, at);
}

static int chrome_write_reading(struct chrome_json *c, const struct fact *fact)
{
	struct json_writer *j = &c->writer;
	unsigned i, n = 0;
	char *at;

	for (i = 0; i < fact->n_counters; i++)
		n += fact->counters[i] != EVENT_NO_VALUE;
	if (!n)
		return 0;
	at = chrome_open_thread_counters(j, fact, fact->thread);
	for (i = 0; i < fact->n_counters; i++) {
		if (fact->counters[i] == EVENT_NO_VALUE)
			continue;
		c->sampled_counters |= 1u << i;
		at = json_key(j, at, fact->counter_tracks[i]->name);
		at = json_uint(at, fact->counters[i]);
	}
	return json_close_args(j, at);
}

/* With a sample before each B and E, six of ten bytes of a trace were samples. The first of a thread is written. */
static void chrome_write_edge_reading(struct chrome_json *c, const struct fact *fact)
{
	unsigned slot = fact->thread->tid & (SAMPLED_THREADS - 1);
	unsigned i = 0;

	if (c->sampled[slot].thread == fact->thread->uuid &&
	    fact->ts_ns < c->sampled[slot].until_ns)
		return;
	while (i < fact->n_counters && fact->counters[i] == EVENT_NO_VALUE)
		i++;
	if (i == fact->n_counters)
		return;
	c->sampled[slot].thread = fact->thread->uuid;
	c->sampled[slot].until_ns = fact->ts_ns + c->counter_step_ns;
	chrome_write_reading(c, fact);
}

static int chrome_write_begin(struct chrome_json *c, const struct fact *fact)
{
	struct json_writer *j = &c->writer;

	if (fact->n_counters)
		chrome_write_edge_reading(c, fact);
	return chrome_close_event(c, chrome_open_event(j, fact, 'B'), fact);
}

/* In a file with counters of threads. */
static int chrome_write_counted_end(struct chrome_json *c, char *at, const struct fact *fact)
{
	struct json_writer *j = &c->writer;

	at = chrome_put_counted_args(j, json_open_args(j, at), fact, c->sampled_counters);
	if (fact->callstack || fact->end_reason != END_NORMAL)
		at = chrome_put_special_args(c, at, fact);
	if (j->comma)
		return json_close_args(j, at);
	/* There is no argument, so there need not be an object. */
	return json_done(j, json_literal(at - strlen(",\"args\":{"), "}"));
}

static int chrome_write_end(struct chrome_json *c, const struct fact *fact)
{
	struct json_writer *j = &c->writer;
	char *at;

	if (fact->n_counters)
		chrome_write_edge_reading(c, fact);
	at = json_literal(json_start(j), ",\n{\"ph\":\"E\"");
	at = chrome_put_time(j, at, fact);
	return c->sampled_counters ? chrome_write_counted_end(c, at, fact)
				   : chrome_close_event(c, at, fact);
}

/* A thread is the default of the format. */
static inline char *chrome_put_scope(char *at, enum event_scope scope)
{
	if (scope == SCOPE_THREAD)
		return at;
	if (scope == SCOPE_PROCESS)
		return json_literal(at, ",\"s\":\"p\"");
	return json_literal(at, ",\"s\":\"g\"");
}

static enum event_scope chrome_fact_scope(const struct fact *fact)
{
	return fact->thread ? SCOPE_THREAD : fact->process ? SCOPE_PROCESS : SCOPE_GLOBAL;
}

/*
 * Local to the process: a plain id would pair with the same id of another process. The track is for our reader; empty,
 * it has the name of the event.
 */
static char *chrome_put_lane(struct json_writer *j, char *at, const struct fact *fact)
{
	const struct track *track = fact->tracks[0];

	at = json_literal(at, ",\"id2\":{\"local\":");
	at = json_hex(at, track->is_given ? track->uuid : fact->id);
	*at++ = '}';
	if (!track->is_given)
		return at;
	if (fact->kind == FACT_ASYNC_BEGIN)
		at = json_us(json_literal(at, ",\"dur\":"), fact->end_ns - fact->ts_ns);
	at = json_literal(json_reserve(j, at), ",\"track\":");
	return track->path ? json_name(j, at, track->path, LIMIT_NAME) : json_literal(at, "\"\"");
}

static int chrome_write_instant(struct chrome_json *c, const struct fact *fact)
{
	struct json_writer *j = &c->writer;

	if (fact->tracks)
		return chrome_close_event(
			c, chrome_put_lane(j, chrome_open_event(j, fact, 'n'), fact), fact);
	return chrome_close_event(c, chrome_put_scope(chrome_open_event(j, fact, 'i'), fact->scope),
				  fact);
}

/* A sample of a counter of a thread that belongs to no slice, from a trace file. */
static int chrome_write_thread_counter(struct json_writer *j, const struct fact *fact)
{
	char *at = chrome_open_thread_counters(j, fact, fact->tracks[0]->thread);

	at = json_key(j, at, fact->name);
	return json_close_args(j, chrome_put_counter_value(at, &fact->args[0]));
}

static char *chrome_put_unit(struct json_writer *j, char *at, const struct name *unit)
{
	at = json_literal(json_reserve(j, at), ",\"unit\":");
	return json_name(j, at, unit, LIMIT_NAME);
}

static char *chrome_put_memory(char *at, const struct memory *memory)
{
	switch (memory->change) {
	case MEMORY_ALLOC:
		at = json_literal(at, ",\"memory\":\"alloc\",\"size\":");
		at = json_u64(at, memory->size);
		break;
	case MEMORY_FREE:
		at = json_literal(at, ",\"memory\":\"free\"");
		break;
	case MEMORY_RESET:
		return json_literal(at, ",\"memory\":\"gone\"");
	}
	at = json_literal(at, ",\"address\":");
	return json_hex(at, memory->address);
}

/* A counter is of its process. Its thread is only written where the report needs it. */
static char *chrome_open_counter(struct json_writer *j, const struct fact *fact)
{
	bool of_thread = fact->memory || fact->tracks[0]->thread;
	char *at = json_head(j, json_start(j), fact->name, fact->category);

	at = json_time(j, json_literal(at, ",\"ph\":\"C\",\"ts\":"), fact->ts_ns);
	return chrome_put_owner(j, at, fact->process, of_thread ? fact->thread : NULL);
}

static int chrome_write_counter(struct chrome_json *c, const struct fact *fact)
{
	struct json_writer *j = &c->writer;
	const struct track *track = fact->tracks[0];
	const struct name *unit = track->unit;
	char *at;

	if (fact->n_args == 1 && track->is_counted)
		return chrome_write_thread_counter(j, fact);
	at = chrome_open_counter(j, fact);
	if (track->thread)
		at = chrome_put_counter_thread(at, track->thread);
	at = chrome_put_continued(at, fact);
	if (unit)
		at = chrome_put_unit(j, at, unit);
	if (fact->memory)
		at = chrome_put_memory(at, fact->memory);
	at = json_open_args(j, at);
	for (unsigned i = 0; i < fact->n_args; i++) {
		at = json_key(j, at, fact->args[i].key);
		at = chrome_put_counter_value(at, &fact->args[i]);
	}
	return json_close_args(j, at);
}

static int chrome_write_async(struct chrome_json *c, const struct fact *fact)
{
	struct json_writer *j = &c->writer;
	char *at = chrome_open_event(j, fact, fact->kind == FACT_ASYNC_BEGIN ? 'b' : 'e');

	return chrome_close_event(c, chrome_put_lane(j, at, fact), fact);
}

/* A flow outside of any slice becomes an instant with the id as an argument. */
static int chrome_write_loose_flow(struct chrome_json *c, const struct fact *fact)
{
	struct json_writer *j = &c->writer;
	char *at = json_start(j);

	if (fact->kind == FACT_FLOW_OUT)
		at = json_literal(at, ",\n{\"name\":\"flow out\",\"recorder\":true");
	else
		at = json_literal(at, ",\n{\"name\":\"flow in\",\"recorder\":true");
	if (fact->category) {
		at = json_literal(at, ",\"cat\":");
		at = json_name(j, at, fact->category, LIMIT_NAME);
	}
	at = chrome_put_phase(j, at, fact, 'i');
	at = chrome_put_scope(at, chrome_fact_scope(fact));
	at = json_open_args(j, at);
	at = json_uint_arg(j, at, "id", fact->id);
	return json_close_args(j, chrome_put_args(j, at, fact));
}

static int chrome_write_flow(struct chrome_json *c, const struct fact *fact)
{
	struct json_writer *j = &c->writer;
	bool out = fact->kind == FACT_FLOW_OUT;
	char *at;

	if (!fact->in_slice)
		return chrome_write_loose_flow(c, fact);
	at = json_literal(json_start(j), ",\n{\"name\":\"flow\",\"cat\":\"flow\"");
	at = chrome_put_phase(j, at, fact, out ? 's' : 'f');
	at = json_literal(at, ",\"id\":");
	at = json_hex(at, fact->id);
	if (!out)
		at = json_literal(at, ",\"bp\":\"e\"");
	return chrome_close_event(c, at, fact);
}

static int chrome_write_lost(struct chrome_json *c, const struct fact *fact)
{
	struct json_writer *j = &c->writer;
	char *at = json_literal(json_start(j), ",\n{\"name\":\"events lost\",\"recorder\":true");

	at = chrome_put_phase(j, at, fact, 'i');
	at = chrome_put_scope(at, chrome_fact_scope(fact));
	at = json_open_args(j, at);
	return json_close_args(j, json_uint_arg(j, at, "count", fact->count));
}

/* --- the consumer ------------------------------------------------------------------------------ */

static int chrome_json_process(struct chrome_json *c, const struct fact *fact)
{
	int error = chrome_sched_describe(&c->sched, fact->process->pid);

	return error ? error : chrome_write_process(&c->writer, fact->process);
}

static int chrome_json_thread(struct chrome_json *c, const struct fact *fact)
{
	int error = chrome_sched_describe(&c->sched, fact->thread->tid);

	return error ? error : chrome_write_thread(&c->writer, fact->thread);
}

static int chrome_json_clock(struct chrome_json *c, const struct fact *fact)
{
	return chrome_write_clock(&c->writer, &fact->clock);
}

static int chrome_json_sched(struct chrome_json *c, const struct fact *fact)
{
	return chrome_sched_write(&c->sched, &c->writer, fact);
}

/* A complete event on its thread, inside of the slices that are open. */
static int chrome_json_wait(struct chrome_json *c, const struct fact *fact)
{
	struct json_writer *j = &c->writer;
	struct fact at_begin = *fact;
	char *at;

	at_begin.ts_ns = fact->begin_ns;
	at = json_literal(chrome_open_event(j, &at_begin, 'X'), ",\"dur\":");
	at = json_us(at, fact->ts_ns - fact->begin_ns);
	return chrome_close_event(c, at, fact);
}

static int chrome_json_labels(struct chrome_json *c, const struct fact *fact)
{
	return chrome_write_labels(&c->writer, fact->process);
}

static int (*const writers[])(struct chrome_json *c, const struct fact *fact) = {
	[FACT_PROCESS] = chrome_json_process,
	[FACT_THREAD] = chrome_json_thread,
	[FACT_TRACK] = NULL, /* counters and asynchronous slices need no declaration here */
	[FACT_BEGIN] = chrome_write_begin,
	[FACT_END] = chrome_write_end,
	[FACT_INSTANT] = chrome_write_instant,
	[FACT_COUNTER] = chrome_write_counter,
	[FACT_READING] = chrome_write_reading,
	[FACT_ASYNC_BEGIN] = chrome_write_async,
	[FACT_ASYNC_END] = chrome_write_async,
	[FACT_FLOW_OUT] = chrome_write_flow,
	[FACT_FLOW_IN] = chrome_write_flow,
	[FACT_LOST] = chrome_write_lost,
	[FACT_CLOCK] = chrome_json_clock,
	[FACT_LEAK] = NULL, /* in the total of the memory pool */
	[FACT_EXIT] = NULL,
	[FACT_SWITCH] = chrome_json_sched,
	[FACT_WAKING] = chrome_json_sched,
	[FACT_SCHED_GAP] = chrome_json_sched,
	[FACT_WAIT] = chrome_json_wait,
	[FACT_LABELS] = chrome_json_labels,
	[FACT_SAMPLE] = NULL, /* no viewer of this format shows them */
};

static int chrome_json_fact(struct consumer *consumer, const struct fact *fact)
{
	struct chrome_json *c = (struct chrome_json *)consumer;

	return writers[fact->kind] ? writers[fact->kind](c, fact) : 0;
}

static int chrome_json_flush(struct consumer *consumer)
{
	return sink_flush(((struct chrome_json *)consumer)->writer.sink);
}

static int chrome_json_close(struct consumer *consumer, const struct account *account)
{
	struct json_writer *j = &((struct chrome_json *)consumer)->writer;

	chrome_sched_finish(((struct chrome_json *)consumer)->sched, j);
	chrome_write_account(j, account);
	return sink_close(j->sink);
}

static void chrome_json_free(struct consumer *consumer)
{
	struct chrome_json *chrome = (struct chrome_json *)consumer;

	sink_free(chrome->writer.sink);
	chrome_sched_free(chrome->sched);
	free(chrome);
}

static const struct consumer_ops chrome_json_ops = {
	.fact = chrome_json_fact,
	.flush = chrome_json_flush,
	.close = chrome_json_close,
	.free = chrome_json_free,
};

struct consumer *chrome_writer_new(struct sink *sink, const struct trace_info *info)
{
	struct chrome_json *chrome = calloc(1, sizeof(*chrome));

	if (!chrome)
		return NULL;
	chrome->consumer.ops = &chrome_json_ops;
	chrome->counter_step_ns = info->counter_step_ns;
	chrome->name_stack = info->name_stack;
	chrome->name_context = info->name_context;
	json_init(&chrome->writer, sink, info->start_ns - info->start_ns % BASE_STEP_NS);
	chrome_write_start(&chrome->writer, info);
	return &chrome->consumer;
}
