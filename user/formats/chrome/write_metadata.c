// SPDX-License-Identifier: BSD-2-Clause
/* Events "M" of Chrome JSON: the trace's origin and clocks, names of processes and threads, and the account. */
#include "formats/chrome/writer.h"

/* Clocks are strings: nanoseconds since 1970 do not fit into the doubles of other readers. */
static char *chrome_put_clock(struct json_writer *j, char *at, const char *name, uint64_t ns)
{
	if (!ns)
		return at;
	at = json_key_text(j, at, name);
	*at++ = '"';
	at = json_u64(at, ns);
	*at++ = '"';
	return at;
}

static char *chrome_put_clocks(struct json_writer *j, char *at, const struct clock_reading *clock)
{
	at = chrome_put_clock(j, at, "monotonic", clock->monotonic);
	at = chrome_put_clock(j, at, "boottime", clock->boottime);
	return chrome_put_clock(j, at, "realtime", clock->realtime);
}

static char *chrome_open_metadata(char *at, const char *name)
{
	at = json_literal(at, "{\"name\":");
	at = json_string(at, name, strlen(name), LIMIT_NAME);
	return json_literal(at, ",\"ph\":\"M\"");
}

/* Metadata that belongs to no process. */
static char *chrome_open_global_metadata(struct json_writer *j, char *at, const char *name)
{
	at = json_owner(j, chrome_open_metadata(at, name), 0, 0);
	return json_open_args(j, at);
}

static int chrome_close_with_name(struct json_writer *j, char *at, const char *key,
				  const struct name *name)
{
	at = json_key_text(j, json_open_args(j, at), key);
	return json_close_args(j, json_name(j, at, name, LIMIT_NAME));
}

/* Perfetto's loader reports an empty name as an error. */
static bool name_is_writable(const struct name *name)
{
	return name && name->length;
}

static int chrome_write_process_text(struct json_writer *j, uint32_t pid, const char *what,
				     const char *key, const struct name *text)
{
	char *at;

	if (!name_is_writable(text))
		return 0;
	at = json_literal(json_start(j), ",\n");
	at = chrome_open_metadata(at, what);
	at = json_u64(json_literal(at, ",\"pid\":"), pid);
	return chrome_close_with_name(j, at, key, text);
}

int chrome_write_process(struct json_writer *j, const struct process *process)
{
	return chrome_write_process_text(j, process->pid, "process_name", "name", process->name);
}

int chrome_write_labels(struct json_writer *j, const struct process *process)
{
	return chrome_write_process_text(j, process->pid, "process_labels", "labels",
					 process->labels);
}

int chrome_write_thread(struct json_writer *j, const struct thread *thread)
{
	char *at;

	if (!name_is_writable(thread->name))
		return 0;
	at = json_literal(json_start(j), ",\n");
	at = chrome_open_metadata(at, "thread_name");
	at = json_owner(j, at, thread->process ? thread->process->pid : 0, thread->tid);
	return chrome_close_with_name(j, at, "name", thread->name);
}

int chrome_write_clock(struct json_writer *j, const struct clock_reading *clock)
{
	char *at = json_literal(json_start(j), ",\n");

	at = chrome_open_global_metadata(j, at, "clock_snapshot");
	return json_close_args(j, chrome_put_clocks(j, at, clock));
}

static char *chrome_put_info(struct json_writer *j, char *at, const char *name, const char *text)
{
	return text && *text ? json_string_arg(j, at, name, text) : at;
}

static void chrome_uuid_digits(char out[17], uint64_t value)
{
	for (int i = 15; i >= 0; i--, value >>= 4)
		out[i] = "0123456789abcdef"[value & 15];
	out[16] = '\0';
}

void chrome_write_start(struct json_writer *j, const struct trace_info *info)
{
	char uuid[33], *at = json_start(j);

	chrome_uuid_digits(uuid, info->trace_uuid[0]);
	chrome_uuid_digits(uuid + 16, info->trace_uuid[1]);
	*at++ = '[';
	at = chrome_open_global_metadata(j, at, "proftrace");
	at = chrome_put_info(j, at, "version", info->version);
	at = json_string_arg(j, at, "clock", "monotonic");
	at = json_uint_arg(j, at, "base_ns", j->base_ns);
	at = json_string_arg(j, at, "trace_uuid", uuid);
	at = json_string_arg(j, at, "zero_deltas", "left out");
	at = chrome_put_clocks(j, at, &info->clock);
	at = chrome_put_info(j, at, "sysname", info->sysname);
	at = chrome_put_info(j, at, "kernel", info->kernel_release);
	at = chrome_put_info(j, at, "kernel_version", info->kernel_version);
	at = chrome_put_info(j, at, "machine", info->machine);
	at = chrome_put_info(j, at, "host", info->host);
	at = chrome_put_info(j, at, "boot_id", info->boot_id);
	at = chrome_put_info(j, at, "rank", info->rank);
	at = chrome_put_info(j, at, "clock_error_ns", info->clock_error);
	at = chrome_put_info(j, at, "instructions_compared", info->instructions_compared);
	json_close_args(j, at);
}

int chrome_write_account(struct json_writer *j, const struct account *account)
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
		{ "args_dropped", account->args_dropped },
		{ "readings_refused", account->readings_refused },
		{ "frees_unknown", account->frees_unknown },
		{ "allocs_not_followed", account->allocs_not_followed },
		{ "rescued", account->rescued },
		{ "kernel_events_lost", account->kernel_events_lost },
		{ "attached_late", account->attached_late },
		{ "followed_late", account->followed_late },
		{ "followed_late_ns", account->followed_late_ns },
		{ "first_exited", account->first_exited },
		{ "batches_unread", account->batches_unread },
		{ "late_steps", account->late_steps },
		{ "processes_not_followed", account->processes_not_followed },
		{ "processes_protected", account->processes_protected },
		{ "sched_events", account->sched_events },
		{ "sched_lost", account->sched_lost },
		{ "stacks", account->stacks },
		{ "stacks_lost", account->stacks_lost },
		{ "stacks_cut", account->stacks_cut },
		{ "stacks_other", account->stacks_other },
		{ "python_frames", account->python_frames },
		{ "python_unreadable", account->python_unreadable },
		{ "python_unmatched", account->python_unmatched },
		{ "python_refused", account->python_refused },
		{ "files_uncompared", account->files_uncompared },
		{ "frames_unnamed", account->frames_unnamed },
		{ "stacks_whole", account->stacks_whole },
		{ "stacks_frame_pointers", account->stacks_frame_pointers },
		{ "stacks_unmapped", account->stacks_unmapped },
		{ "stacks_no_table", account->stacks_no_table },
		{ "stacks_pending", account->stacks_pending },
		{ "stacks_refused", account->stacks_refused },
		{ "tables_refused", account->tables_refused },
		{ "stacks_unsupported", account->stacks_unsupported },
		{ "stacks_unreadable", account->stacks_unreadable },
	};
	const uint64_t events = j->events + 1;
	char *at = json_literal(json_start(j), ",\n");

	at = chrome_open_global_metadata(j, at, "proftrace_account");
	/* With this one: a reader that finds fewer says so. */
	at = json_uint_arg(j, at, "events", events);
	at = json_uint_arg(j, at, "marked", account->marked);
	at = json_uint_arg(j, at, "written", account->written);
	at = json_uint_arg(j, at, "paused", account->paused);
	at = json_uint_arg(j, at, "left_out", account->left_out);
	at = json_uint_arg(j, at, "unscheduled", account->unscheduled);
	at = json_uint_arg(j, at, "unrecorded", account->unrecorded);
	at = json_key_text(j, at, "lost");
	*at++ = '{';
	j->comma = false;
	for (int i = 0; i < LOST_REASONS; i++)
		at = json_uint_arg(j, at, lost_reason_name(i), account->lost[i]);
	*at++ = '}';
	/* Only those that are not 0: readers keep at most EVENT_MAX_ARGS arguments. */
	for (size_t i = 0; i < sizeof(rest) / sizeof(rest[0]); i++) {
		if (rest[i].value)
			at = json_uint_arg(j, at, rest[i].name, rest[i].value);
	}
	at = json_key_text(j, at, "orderly");
	at = account->orderly ? json_literal(at, "true") : json_literal(at, "false");
	return json_done(j, json_literal(at, "}}\n]\n"));
}
