/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes that a signal killed. Their slices end in the middle of something, so the trace has an instant where
 * it happened, and the summary names the signal.
 */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "record/record.h"

#define DUPLICATE_NS 1000000000ull

static void signal_text(int number, char *out, size_t size)
{
	const char *name = sigabbrev_np(number);

	if (name)
		snprintf(out, size, "SIG%s", name);
	else
		snprintf(out, size, "signal %d", number);
}

/* Two threads that exit at the same time may both report to be the last one. */
static bool killed_is_duplicate(const struct killed_processes *killed, const struct event *exit)
{
	return killed->n && killed->last_pid == exit->pid &&
	       exit->ts_ns - killed->last_ns < DUPLICATE_NS;
}

/* The instant is global and sampled, because it is not a mark of the program. */
static void killed_emit_instant(struct recording *r, const struct event *exit, int number)
{
	struct arg args[] = {
		{ .key = names_intern_string(r->names, "pid"), .type = ARG_UINT, .u = exit->pid },
		{ .key = names_intern_string(r->names, "signal"),
		  .type = ARG_UINT,
		  .u = (uint64_t)number },
	};
	struct event e = { .kind = EVENT_INSTANT,
			   .level = -1,
			   .scope = SCOPE_GLOBAL,
			   .sampled = true,
			   .ts_ns = exit->ts_ns,
			   .n_args = sizeof(args) / sizeof(args[0]),
			   .args = args };
	char signal[32], text[64];

	signal_text(number, signal, sizeof(signal));
	snprintf(text, sizeof(text), "killed by %s", signal);
	e.name = names_intern_string(r->names, text);
	recording_emit_event(r, &e);
}

void killed_handle_exit(struct recording *r, const struct event *exit)
{
	struct killed_processes *killed = &r->killed;
	int number = exit->name ? atoi(exit->name->text) : 0;

	if (number <= 0 || killed_is_duplicate(killed, exit))
		return;
	killed_emit_instant(r, exit, number);
	if (killed->n < KILLED_LISTED)
		killed->list[killed->n] = (struct killed_process){ exit->pid, number };
	killed->n++;
	killed->last_pid = exit->pid;
	killed->last_ns = exit->ts_ns;
}

void killed_print(const struct recording *r, FILE *out)
{
	const struct killed_processes *killed = &r->killed;
	char signal[32];
	uint64_t i;

	for (i = 0; i < killed->n && i < KILLED_LISTED; i++) {
		signal_text(killed->list[i].signal, signal, sizeof(signal));
		print_visible(out, "process %u was killed by %s\n", killed->list[i].pid, signal);
	}
	if (i < killed->n)
		fprintf(out, "and %" PRIu64 " more process%s killed\n", killed->n - i,
			killed->n - i == 1 ? " was" : "es were");
}

void killed_print_json(const struct recording *r, FILE *out)
{
	const struct killed_processes *killed = &r->killed;

	fprintf(out, "  \"processes_killed\": %" PRIu64 ",\n  \"killed\": [", killed->n);
	for (uint64_t i = 0; i < killed->n && i < KILLED_LISTED; i++)
		fprintf(out, "%s{\"pid\": %u, \"signal\": %d}", i ? ", " : "", killed->list[i].pid,
			killed->list[i].signal);
	fputs("],\n", out);
}
