// SPDX-License-Identifier: BSD-2-Clause
#include "handlers/chrome_metadata.h"

/* Clocks are strings: nanoseconds since 1970 do not fit the doubles that other readers keep. */
static char *clock_arg(struct json_writer *j, char *at, const char *name, uint64_t ns)
{
	if (!ns)
		return at;
	at = json_key_text(j, at, name);
	*at++ = '"';
	at = json_u64(at, ns);
	*at++ = '"';
	return at;
}

static char *clock_args(struct json_writer *j, char *at, const struct clock_reading *clock)
{
	at = clock_arg(j, at, "monotonic", clock->monotonic);
	at = clock_arg(j, at, "boottime", clock->boottime);
	return clock_arg(j, at, "realtime", clock->realtime);
}

static char *open_metadata(char *at, const char *name)
{
	at = json_literal(at, "{\"name\":");
	at = json_string(at, name, strlen(name), LIMIT_NAME);
	return json_literal(at, ",\"ph\":\"M\"");
}

/* Of no process. */
static char *open_general(struct json_writer *j, char *at, const char *name)
{
	at = json_owner(j, open_metadata(at, name), 0, 0);
	return json_open_args(j, at);
}

static int close_metadata(struct json_writer *j, char *at)
{
	return json_done(j, json_literal(at, "}}"));
}

static int close_with_name(struct json_writer *j, char *at, const struct name *name)
{
	at = json_key_text(j, json_open_args(j, at), "name");
	return close_metadata(j, json_name(j, at, name, LIMIT_NAME));
}

/* An empty name is an error to the loader. */
static bool has_name(const struct name *name)
{
	return name && name->length;
}

int chrome_write_process(struct json_writer *j, const struct process *process)
{
	char *at;

	if (!has_name(process->name))
		return 0;
	at = json_literal(json_start(j), ",\n");
	at = open_metadata(at, "process_name");
	at = json_u64(json_literal(at, ",\"pid\":"), process->pid);
	return close_with_name(j, at, process->name);
}

int chrome_write_thread(struct json_writer *j, const struct thread *thread)
{
	char *at;

	if (!has_name(thread->name))
		return 0;
	at = json_literal(json_start(j), ",\n");
	at = open_metadata(at, "thread_name");
	at = json_owner(j, at, thread->process ? thread->process->pid : 0, thread->tid);
	return close_with_name(j, at, thread->name);
}

int chrome_write_clock(struct json_writer *j, const struct clock_reading *clock)
{
	char *at = json_literal(json_start(j), ",\n");

	at = open_general(j, at, "clock_snapshot");
	return close_metadata(j, clock_args(j, at, clock));
}

static char *info_arg(struct json_writer *j, char *at, const char *name, const char *text)
{
	return text && *text ? json_string_arg(j, at, name, text) : at;
}

static void hex_digits(char out[17], uint64_t value)
{
	for (int i = 15; i >= 0; i--, value >>= 4)
		out[i] = "0123456789abcdef"[value & 15];
	out[16] = '\0';
}

void chrome_write_start(struct json_writer *j, const struct trace_info *info)
{
	char uuid[33], *at = json_start(j);

	hex_digits(uuid, info->trace_uuid[0]);
	hex_digits(uuid + 16, info->trace_uuid[1]);
	*at++ = '[';
	at = open_general(j, at, "proftrace");
	at = info_arg(j, at, "version", info->version);
	at = json_string_arg(j, at, "clock", "monotonic");
	at = json_uint_arg(j, at, "base_ns", j->base_ns);
	at = json_string_arg(j, at, "trace_uuid", uuid);
	at = clock_args(j, at, &info->clock);
	at = info_arg(j, at, "sysname", info->sysname);
	at = info_arg(j, at, "kernel", info->kernel_release);
	at = info_arg(j, at, "kernel_version", info->kernel_version);
	at = info_arg(j, at, "machine", info->machine);
	at = info_arg(j, at, "host", info->host);
	at = info_arg(j, at, "boot_id", info->boot_id);
	at = info_arg(j, at, "rank", info->rank);
	close_metadata(j, at);
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

	char *at = json_literal(json_start(j), ",\n");

	at = open_general(j, at, "proftrace_account");
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
	/* Readers take EVENT_MAX_ARGS of them. */
	for (size_t i = 0; i < sizeof(rest) / sizeof(rest[0]); i++) {
		if (rest[i].value)
			at = json_uint_arg(j, at, rest[i].name, rest[i].value);
	}
	at = json_key_text(j, at, "orderly");
	at = account->orderly ? json_literal(at, "true") : json_literal(at, "false");
	return json_done(j, json_literal(at, "}}\n]\n"));
}
