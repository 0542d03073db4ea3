/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of `proftrace record`: finishes the outputs, says what users have to know, and decides on the exit status. */
#include "record/record.h"

#include <errno.h>
#include <stdio.h>

#include "base/text.h"
#include "capture/capture.h"
#include "cmd/cmd.h"
#include "record/include.h"

static void print_no_markers(const struct record_options *o)
{
	print_visible(stderr, "proftrace: %s%s found in '%s' or the programs that it executed\n",
		      capture_nothing(o->n_usdt, o->n_functions),
		      o->n_domains ? " in the domains of -D" : "", o->command[0]);
	if (o->n_functions)
		print_visible(
			stderr,
			"hint: `proftrace list -f FILE` shows which functions -f could name\n");
	else
		print_visible(stderr, "hint: `proftrace list FILE` shows the %s of a program\n",
			      o->n_domains ? "domains" : "markers");
}

/* A pattern that matches nothing is most likely misspelt. */
static void print_not_found(const struct recording *r)
{
	const char *text;
	char option;

	for (unsigned i = 0; capture_files(r->capture); i++) {
		text = capture_not_found(r->capture, i, &option);
		if (!text)
			break;
		print_visible(stderr, "proftrace: no %s matches -%c '%s'\n",
			      option == 'u' ? "probe" : "function", option, text);
	}
}

static void print_disk_full_hint(const struct recording *r)
{
	bool full = false, limited = false;

	for (unsigned i = 0; i < r->n_files; i++) {
		int error = r->files[i].error;

		full |= error == -ENOSPC || error == -EDQUOT;
		limited |= error == -EFBIG;
	}
	if (limited)
		print_visible(stderr,
			      "hint: raise the limit on the size of files: `ulimit -f unlimited`, "
			      "or write several files with --max-size SIZE\n");
	if (full)
		print_visible(stderr,
			      "hint: limit the output with --max-size SIZE and --keep N, or write "
			      "elsewhere with -o NAME\n");
}

static void print_limit(const struct recording *r)
{
	if (!r->cpu_used_up)
		return;
	fputs("proftrace: the CPU time limit is reached: the recording ends here\n"
	      "hint: raise the limit: `ulimit -t SECONDS`\n",
	      stderr);
}

static void print_broker_failure(const struct recording *r)
{
	struct failure f;

	if (capture_stuck(r->capture, &f)) {
		print_visible(stderr,
			      "proftrace: the broker does not answer: the recording ends here\n");
		failure_print(&f, stderr);
	} else if (r->broker_died) {
		print_visible(stderr,
			      "proftrace: the broker process died: the recording ends here\n");
	}
}

int record_finish(struct recording *r)
{
	struct account account;
	int not_included;

	plugins_recording_ended(r);
	not_included = include_all(r);
	if (r->flight)
		flight_finish(r);
	timeline_finish(r->writer);
	account = recording_account(r);
	account.orderly = !recording_lost_broker(r) && !r->output_failed;
	outputs_end(r, &account);
	plugins_close(r, &account);
	collector_finish(r, &account);
	/* Closing the outputs may have failed, so the account is read again. */
	account = recording_account(r);
	account.orderly = !recording_lost_broker(r) && !r->output_failed;
	status_clear(r);
	print_disk_full_hint(r);
	print_broker_failure(r);
	print_limit(r);
	if (r->options->command && !capture_files(r->capture) && r->options->verbosity >= 0)
		print_no_markers(r->options);
	if (r->options->verbosity >= 0)
		print_not_found(r);
	if (r->scheduler && !scheduler_cycles(r) && r->options->verbosity >= 0)
		fputs("proftrace: nothing was recorded: no step of the schedule has begun\n"
		      "hint: the program announces its steps with PROF_STEP(epoch, batch)\n",
		      stderr);
	if (r->options->verbosity >= 0)
		summary_print(r, &account);
	if (summary_json(r, &account))
		return STATUS_FAILED;
	for (unsigned i = 0; i < r->n_plugins; i++) {
		if (r->plugins[i].consumer->error)
			return STATUS_FAILED;
	}
	if (r->output_failed || r->output_displaced || recording_lost_broker(r) || r->cpu_used_up ||
	    not_included)
		return STATUS_FAILED;
	if (r->options->strict &&
	    (account_lost(&account) > account.lost[LOST_CUT] || account.attached_late ||
	     account.late_steps || account.batches_unread || account.files_refused ||
	     account.kernel_events_lost || account.sched_lost || account.waits_lost ||
	     account.syscalls_lost || account.stacks_lost || account.sites_refused ||
	     account.processes_protected || account.processes_not_followed ||
	     account.first_exited || account.unreadable_args || account.unreadable_names ||
	     account.other_names || account.stacks_other || account.python_refused ||
	     account.frames_unnamed || !includes_are_whole(r) || collector_has_lost(r)))
		return STATUS_LOSSY;
	return STATUS_DONE;
}
