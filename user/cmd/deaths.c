/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes that a signal killed: that is told in the trace where it happened, and at the end, since what
 * they marked ends in the midst of something.
 */
#include "cmd/deaths.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/record.h"

#define AGAIN_NS 1000000000ull

static void signal_text(int number, char *out, size_t size)
{
	const char *name = sigabbrev_np(number);

	if (name)
		snprintf(out, size, "SIG%s", name);
	else
		snprintf(out, size, "signal %d", number);
}

/* Two of its last threads may each have said that they were the last one. */
static bool is_known(const struct deaths *d, const struct event *exit)
{
	return d->n && d->last_pid == exit->pid && exit->ts_ns - d->last_ns < AGAIN_NS;
}

/* An instant of the whole trace, as all are that are no marks of anybody's. */
static void note(struct recording *r, const struct event *exit, int number)
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
	recording_event(r, &e);
}

void deaths_take(struct recording *r, const struct event *exit)
{
	struct deaths *d = &r->deaths;
	int number = exit->name ? atoi(exit->name->text) : 0;

	if (number <= 0 || is_known(d, exit))
		return;
	note(r, exit, number);
	if (d->n < DEATHS_KEPT)
		d->list[d->n] = (struct death){ exit->pid, number };
	d->n++;
	d->last_pid = exit->pid;
	d->last_ns = exit->ts_ns;
}

void deaths_print(const struct recording *r, FILE *out)
{
	const struct deaths *d = &r->deaths;
	char signal[32];
	uint64_t i;

	for (i = 0; i < d->n && i < DEATHS_KEPT; i++) {
		signal_text(d->list[i].signal, signal, sizeof(signal));
		fprintf(out, "process %u was killed by %s\n", d->list[i].pid, signal);
	}
	if (i < d->n)
		fprintf(out, "and %" PRIu64 " more process%s killed\n", d->n - i,
			d->n - i == 1 ? " was" : "es were");
}

void deaths_json(const struct recording *r, FILE *out)
{
	const struct deaths *d = &r->deaths;
	uint64_t i;

	fprintf(out, "  \"processes_killed\": %" PRIu64 ",\n  \"killed\": [", d->n);
	for (i = 0; i < d->n && i < DEATHS_KEPT; i++)
		fprintf(out, "%s{\"pid\": %u, \"signal\": %d}", i ? ", " : "", d->list[i].pid,
			d->list[i].signal);
	fputs("],\n", out);
}
