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
static void put_counter_value(struct json_writer *j, const struct arg *arg)
{
	switch (arg->type) {
	case ARG_BOOL:
	case ARG_POINTER:
		json_put_uint(j, arg->u);
		break;
	case ARG_STRING:
	case ARG_NULL:
		json_put(j, "\"NaN\"");
		break;
	case ARG_INT:
	case ARG_UINT:
	case ARG_DOUBLE:
		json_put_value(j, arg);
		break;
	}
}

/* Clocks are strings: nanoseconds since 1970 do not fit the doubles that other readers keep. */
static void clock_arg(struct json_writer *j, const char *name, uint64_t ns)
{
	if (!ns)
		return;
	json_key_text(j, name);
	*j->at++ = '"';
	j->at = json_u64(j->at, ns);
	*j->at++ = '"';
}

static void clock_args(struct json_writer *j, const struct clock_reading *clock)
{
	clock_arg(j, "monotonic", clock->monotonic);
	clock_arg(j, "boottime", clock->boottime);
	clock_arg(j, "realtime", clock->realtime);
}

static void own_args(struct json_writer *j, const struct fact *fact)
{
	for (unsigned i = 0; i < fact->n_args; i++) {
		json_key(j, fact->args[i].key);
		json_put_value(j, &fact->args[i]);
	}
}

/* --- the start of every event ------------------------------------------------------------------ */

static void put_owner(struct json_writer *j, const struct process *process,
		      const struct thread *thread)
{
	if (thread) {
		json_put_owner(j, process ? process->pid : 0, thread->tid);
		return;
	}
	json_put(j, ",\"pid\":");
	j->at = json_u64(j->at, process ? process->pid : 0);
}

static void put_time(struct json_writer *j, uint64_t ts_ns)
{
	json_put(j, ",\"ts\":");
	j->at = json_us(j->at, ts_ns > j->base_ns ? ts_ns - j->base_ns : 0);
}

static void put_category(struct json_writer *j, const struct name *category)
{
	if (!category)
		return;
	json_put(j, ",\"cat\":\"");
	json_put_name(j, category, LIMIT_NAME);
	*j->at++ = '"';
}

static void put_name(struct json_writer *j, const struct name *name)
{
	json_put(j, ",\n{\"name\":\"");
	if (name)
		json_put_name(j, name, LIMIT_NAME);
	*j->at++ = '"';
}

static void put_phase(struct json_writer *j, const struct fact *fact, char phase)
{
	json_put(j, ",\"ph\":\"");
	*j->at++ = phase;
	*j->at++ = '"';
	put_time(j, fact->ts_ns);
	put_owner(j, fact->process, fact->thread);
}

static void open_event(struct json_writer *j, const struct fact *fact, char phase)
{
	json_room(j);
	put_name(j, fact->name);
	put_category(j, fact->category);
	put_phase(j, fact, phase);
}

/* Ends an event whose only arguments are the fact's own. */
static int close_with_args(struct json_writer *j, const struct fact *fact)
{
	if (fact->n_args || fact->callstack || fact->end_reason != END_NORMAL) {
		json_open_args(j);
		own_args(j, fact);
		chrome_put_stack(j, fact->callstack);
		if (fact->end_reason != END_NORMAL)
			json_string_arg(j, "ended",
					fact->end_reason == END_LOST ? "lost" : "unfinished");
		*j->at++ = '}';
	}
	*j->at++ = '}';
	return json_done(j);
}

/* --- events ------------------------------------------------------------------------------------ */

/* Not among the arguments, which are the series. Viewers ignore it. */
static void put_continued(struct json_writer *j, const struct fact *fact)
{
	if (fact->continued)
		json_put(j, ",\"continued\":true");
}

/* What was counted on the thread until now: `id` makes the counters of threads different ones. */
static int write_counters(struct json_writer *j, const struct fact *fact)
{
	unsigned i, n = 0;

	for (i = 0; i < fact->n_counters; i++)
		n += fact->counters[i] != EVENT_NO_VALUE;
	if (!n)
		return 0;
	json_room(j);
	json_put(j, ",\n{\"name\":\"counters\"");
	put_phase(j, fact, 'C');
	json_put(j, ",\"id\":");
	j->at = json_hex(j->at, fact->thread->tid);
	put_continued(j, fact);
	json_open_args(j);
	for (i = 0; i < fact->n_counters; i++) {
		if (fact->counters[i] == EVENT_NO_VALUE)
			continue;
		json_key(j, fact->counter_tracks[i]->name);
		json_put_uint(j, fact->counters[i]);
	}
	json_put(j, "}}");
	return json_done(j);
}

static int write_begin(struct json_writer *j, const struct fact *fact)
{
	write_counters(j, fact);
	open_event(j, fact, 'B');
	return close_with_args(j, fact);
}

static int write_end(struct json_writer *j, const struct fact *fact)
{
	write_counters(j, fact);
	json_room(j);
	json_put(j, ",\n{\"ph\":\"E\"");
	put_time(j, fact->ts_ns);
	put_owner(j, fact->process, fact->thread);
	return close_with_args(j, fact);
}

static void put_scope(struct json_writer *j, enum event_scope scope)
{
	json_put(j, ",\"s\":\"");
	*j->at++ = scope == SCOPE_THREAD ? 't' : scope == SCOPE_PROCESS ? 'p' : 'g';
	*j->at++ = '"';
}

/* The narrowest scope that can be said of something found on this thread, process or machine. */
static enum event_scope scope_of(const struct fact *fact)
{
	return fact->thread ? SCOPE_THREAD : fact->process ? SCOPE_PROCESS : SCOPE_GLOBAL;
}

static int write_instant(struct json_writer *j, const struct fact *fact)
{
	open_event(j, fact, 'i');
	put_scope(j, fact->scope);
	return close_with_args(j, fact);
}

/* A sample of a thread's counter on its own: found in a file, where it came with no slice. */
static int write_counter_of_thread(struct json_writer *j, const struct fact *fact)
{
	json_room(j);
	json_put(j, ",\n{\"name\":\"counters\"");
	put_phase(j, fact, 'C');
	json_put(j, ",\"id\":");
	j->at = json_hex(j->at, fact->tracks[0]->thread->tid);
	put_continued(j, fact);
	json_open_args(j);
	json_key(j, fact->name);
	put_counter_value(j, &fact->args[0]);
	json_put(j, "}}");
	return json_done(j);
}

static void put_memory(struct json_writer *j, const struct memory *memory)
{
	switch (memory->change) {
	case MEMORY_ALLOC:
		json_put(j, ",\"memory\":\"alloc\",\"size\":");
		j->at = json_u64(j->at, memory->size);
		break;
	case MEMORY_FREE:
		json_put(j, ",\"memory\":\"free\"");
		break;
	case MEMORY_GONE:
		json_put(j, ",\"memory\":\"gone\"");
		return;
	}
	json_put(j, ",\"address\":");
	j->at = json_hex(j->at, memory->address);
}

static int write_counter(struct json_writer *j, const struct fact *fact)
{
	const struct name *unit = fact->tracks[0]->unit;

	if (fact->n_args == 1 && fact->tracks[0]->thread)
		return write_counter_of_thread(j, fact);
	open_event(j, fact, 'C');
	put_continued(j, fact);
	if (unit) {
		json_put(j, ",\"unit\":\"");
		json_put_name(j, unit, LIMIT_NAME);
		*j->at++ = '"';
	}
	if (fact->memory)
		put_memory(j, fact->memory);
	json_open_args(j);
	for (unsigned i = 0; i < fact->n_args; i++) {
		json_key(j, fact->args[i].key);
		put_counter_value(j, &fact->args[i]);
	}
	json_put(j, "}}");
	return json_done(j);
}

static int write_async(struct json_writer *j, const struct fact *fact)
{
	open_event(j, fact, fact->kind == FACT_ASYNC_BEGIN ? 'b' : 'e');
	/* Of this process: a plain id would pair with the same one of another. */
	json_put(j, ",\"id2\":{\"local\":");
	j->at = json_hex(j->at, fact->id);
	json_put(j, "}");
	return close_with_args(j, fact);
}

static int write_flow(struct json_writer *j, const struct fact *fact)
{
	bool out = fact->kind == FACT_FLOW_OUT;

	json_room(j);
	if (fact->in_slice) {
		json_put(j, ",\n{\"name\":\"flow\",\"cat\":\"flow\"");
		put_phase(j, fact, out ? 's' : 'f');
		json_put(j, ",\"id\":");
		j->at = json_hex(j->at, fact->id);
		if (!out)
			json_put(j, ",\"bp\":\"e\"");
		return close_with_args(j, fact);
	}
	if (out)
		json_put(j, ",\n{\"name\":\"flow out\"");
	else
		json_put(j, ",\n{\"name\":\"flow in\"");
	put_category(j, fact->category);
	put_phase(j, fact, 'i');
	put_scope(j, scope_of(fact));
	json_open_args(j);
	json_uint_arg(j, "id", fact->id);
	own_args(j, fact);
	json_put(j, "}}");
	return json_done(j);
}

static int write_lost(struct json_writer *j, const struct fact *fact)
{
	json_room(j);
	json_put(j, ",\n{\"name\":\"events lost\"");
	put_phase(j, fact, 'i');
	put_scope(j, scope_of(fact));
	json_open_args(j);
	json_uint_arg(j, "count", fact->count);
	json_put(j, "}}");
	return json_done(j);
}

/* --- metadata ---------------------------------------------------------------------------------- */

static void open_metadata(struct json_writer *j, const char *name, const struct process *process,
			  const struct thread *thread)
{
	json_room(j);
	json_put(j, "{\"name\":\"");
	json_put_text(j, name, strlen(name), LIMIT_NAME);
	json_put(j, "\",\"ph\":\"M\"");
	put_owner(j, process, thread);
	if (!process)
		json_put(j, ",\"tid\":0");
	json_open_args(j);
}

static int write_owner_name(struct json_writer *j, const char *kind, const struct name *name,
			    const struct process *process, const struct thread *thread)
{
	/* An empty one is an error to the loader. */
	if (!name || !name->length)
		return 0;
	json_room(j);
	json_put(j, ",\n");
	open_metadata(j, kind, process, thread);
	json_key_text(j, "name");
	*j->at++ = '"';
	json_put_name(j, name, LIMIT_NAME);
	json_put(j, "\"}}");
	return json_done(j);
}

static int write_clock(struct json_writer *j, const struct clock_reading *clock)
{
	json_room(j);
	json_put(j, ",\n");
	open_metadata(j, "clock_snapshot", NULL, NULL);
	clock_args(j, clock);
	json_put(j, "}}");
	return json_done(j);
}

static void info_arg(struct json_writer *j, const char *name, const char *text)
{
	if (text && *text)
		json_string_arg(j, name, text);
}

static void hex_digits(char out[17], uint64_t value)
{
	for (int i = 15; i >= 0; i--, value >>= 4)
		out[i] = "0123456789abcdef"[value & 15];
	out[16] = '\0';
}

static void write_start(struct json_writer *j, const struct trace_info *info)
{
	char uuid[33];

	hex_digits(uuid, info->trace_uuid[0]);
	hex_digits(uuid + 16, info->trace_uuid[1]);
	json_room(j);
	*j->at++ = '[';
	open_metadata(j, "proftrace", NULL, NULL);
	info_arg(j, "version", info->version);
	json_string_arg(j, "clock", "monotonic");
	json_uint_arg(j, "base_ns", j->base_ns);
	json_string_arg(j, "trace_uuid", uuid);
	clock_args(j, &info->clock);
	info_arg(j, "sysname", info->sysname);
	info_arg(j, "kernel", info->kernel_release);
	info_arg(j, "kernel_version", info->kernel_version);
	info_arg(j, "machine", info->machine);
	info_arg(j, "host", info->host);
	info_arg(j, "boot_id", info->boot_id);
	info_arg(j, "rank", info->rank);
	json_put(j, "}}");
	json_done(j);
}

static int write_account(struct json_writer *j, const struct account *account)
{
	const struct {
		const char *name;
		uint64_t value;
	} rest[] = {
		{ "switched_off", account->switched_off },
		{ "unreadable_names", account->unreadable_names },
		{ "unreadable_args", account->unreadable_args },
		{ "cut_strings", account->cut_strings },
		{ "repaired_strings", account->repaired_strings },
		{ "other_names", account->other_names },
		{ "open_at_end", account->open_at_end },
		{ "unfinished", account->unfinished },
		{ "ended_off", account->ended_off },
		{ "ends_lost", account->ends_lost },
		{ "async_unmatched", account->async_unmatched },
		{ "started_twice", account->started_twice },
		{ "frees_unknown", account->frees_unknown },
		{ "allocs_not_followed", account->allocs_not_followed },
		{ "rescued", account->rescued },
		{ "kernel_events_lost", account->kernel_events_lost },
		{ "attached_late", account->attached_late },
		{ "batches_unread", account->batches_unread },
		{ "late_steps", account->late_steps },
		{ "processes_not_followed", account->processes_not_followed },
		{ "sched_events", account->sched_events },
		{ "sched_lost", account->sched_lost },
		{ "stacks", account->stacks },
		{ "stacks_lost", account->stacks_lost },
		{ "stacks_cut", account->stacks_cut },
		{ "stacks_other", account->stacks_other },
	};

	json_room(j);
	json_put(j, ",\n");
	open_metadata(j, "proftrace_account", NULL, NULL);
	json_uint_arg(j, "marked", account->marked);
	json_uint_arg(j, "written", account->written);
	json_uint_arg(j, "paused", account->paused);
	json_uint_arg(j, "left_out", account->left_out);
	json_uint_arg(j, "unscheduled", account->unscheduled);
	json_uint_arg(j, "unrecorded", account->unrecorded);
	json_key_text(j, "lost");
	*j->at++ = '{';
	j->comma = false;
	for (int i = 0; i < LOST_REASONS; i++)
		json_uint_arg(j, lost_reason_name(i), account->lost[i]);
	*j->at++ = '}';
	/* Readers take EVENT_MAX_ARGS of them. */
	for (size_t i = 0; i < sizeof(rest) / sizeof(rest[0]); i++) {
		if (rest[i].value)
			json_uint_arg(j, rest[i].name, rest[i].value);
	}
	json_key_text(j, "orderly");
	if (account->orderly)
		json_put(j, "true}}\n]\n");
	else
		json_put(j, "false}}\n]\n");
	return json_done(j);
}

/* --- the handler ------------------------------------------------------------------------------- */

static int describe(struct chrome_json *c, const struct process *process,
		    const struct thread *thread)
{
	int error = chrome_sched_describe(&c->sched, thread ? thread->tid : process->pid);

	if (error)
		return error;
	return write_owner_name(&c->writer, thread ? "thread_name" : "process_name",
				thread ? thread->name : process->name, process, thread);
}

static int chrome_json_fact(struct handler *handler, const struct fact *fact)
{
	struct chrome_json *chrome = (struct chrome_json *)handler;
	struct json_writer *j = &chrome->writer;

	if (fact->callstack && fact->kind != FACT_SAMPLE && chrome->name_stack)
		chrome->name_stack(chrome->name_context, fact->callstack);
	switch (fact->kind) {
	case FACT_PROCESS:
		return describe((struct chrome_json *)handler, fact->process, NULL);
	case FACT_THREAD:
		return describe((struct chrome_json *)handler, fact->thread->process, fact->thread);
	case FACT_BEGIN:
		return write_begin(j, fact);
	case FACT_END:
		return write_end(j, fact);
	case FACT_INSTANT:
		return write_instant(j, fact);
	case FACT_COUNTER:
		return write_counter(j, fact);
	case FACT_READING:
		return write_counters(j, fact);
	case FACT_ASYNC_BEGIN:
	case FACT_ASYNC_END:
		return write_async(j, fact);
	case FACT_FLOW_OUT:
	case FACT_FLOW_IN:
		return write_flow(j, fact);
	case FACT_LOST:
		return write_lost(j, fact);
	case FACT_CLOCK:
		return write_clock(j, &fact->clock);
	case FACT_TRACK: /* counters and asynchronous slices need no declaration here */
	case FACT_LEFT:	 /* the pool's sample tells of them together */
	case FACT_GONE:
	case FACT_SAMPLE: /* no viewer of this format knows them */
		return 0;
	case FACT_SWITCH:
	case FACT_WAKING:
	case FACT_SCHED_GAP:
		return chrome_sched_write(&chrome->sched, j, fact);
	}
	return 0;
}

static int chrome_json_flush(struct handler *handler)
{
	return sink_flush(((struct chrome_json *)handler)->writer.sink);
}

static int chrome_json_close(struct handler *handler, const struct account *account)
{
	struct json_writer *j = &((struct chrome_json *)handler)->writer;

	chrome_sched_finish(((struct chrome_json *)handler)->sched, j);
	write_account(j, account);
	return sink_close(j->sink);
}

static void chrome_json_free(struct handler *handler)
{
	struct chrome_json *chrome = (struct chrome_json *)handler;

	sink_free(chrome->writer.sink);
	chrome_sched_free(chrome->sched);
	free(chrome->writer.cache);
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
	chrome->writer.sink = sink;
	chrome->writer.base_ns = info->start_ns - info->start_ns % BASE_STEP_NS;
	write_start(&chrome->writer, info);
	return &chrome->handler;
}
