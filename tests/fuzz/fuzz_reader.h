/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the fuzzers of both readers do: the bytes as a file, through the reader and the timeline. The
 * account must add up whatever the file says: each mark became a fact or was counted as lost.
 */
#ifndef PROFTRACE_TESTS_FUZZ_READER_H
#define PROFTRACE_TESTS_FUZZ_READER_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "reports/table/stats_print.h"
#include "formats/draft.h"
#include "formats/input.h"
#include "formats/reader.h"
#include "timeline/timeline.h"

typedef int fuzz_read(struct input *input, const struct reader_sink *sink,
		      struct reader_error *ret_error);

static void must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

static bool is_sample(const struct event *event)
{
	return event->kind == EVENT_COUNTER || event->kind == EVENT_ALLOC ||
	       event->kind == EVENT_FREE || event->kind == EVENT_MEMORY_RESET;
}

/* All that `proftrace report` may be asked for. */
static void fuzz_print(const struct consumer *stats, const struct account *account)
{
	static FILE *nowhere;
	const struct stats_options narrow = { .width = 40, .max_rows = 3 }, all = { 0 };

	if (!nowhere)
		nowhere = fopen("/dev/null", "w");
	must(nowhere && !stats_print_table(stats, nowhere, &narrow, account, NULL) &&
		     !stats_print_csv(stats, nowhere, &all, account, NULL) &&
		     !stats_print_json(stats, nowhere, &all, account, NULL, 0, NULL),
	     "not printed");
}

static int fuzz_event(void *context, const struct event *event)
{
	unsigned i;

	must(event->n_args <= EVENT_MAX_ARGS, "too many arguments");
	for (i = 0; i < event->n_args; i++) {
		const struct arg *arg = &event->args[i];

		must(arg->type >= ARG_INT && arg->type <= ARG_NULL, "an argument without a type");
		must(arg->type != ARG_STRING || strlen(arg->s) == arg->length, "a string's length");
		must(arg->key || is_sample(event), "an argument without a key");
	}
	return timeline_event(context, event);
}

/* One file for all inputs: making and truncating them takes longer than most inputs do. */
static int fuzz_fd(const uint8_t *bytes, size_t size)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("trace", MFD_CLOEXEC);
	must(fd >= 0 && pwrite(fd, bytes, size, 0) == (ssize_t)size &&
		     !ftruncate(fd, (off_t)size) && !lseek(fd, 0, SEEK_SET),
	     "no file");
	return fd;
}

static int fuzz_file(const uint8_t *bytes, size_t size, fuzz_read *read_file)
{
	struct names *names = names_new(256);
	struct callstacks *callstacks = callstacks_new(names, 256);
	struct account account = { 0 };
	struct timeline *timeline = timeline_new(names, &account, 0);
	struct consumer *stats = stats_new();
	struct trace_origin origin = { 0 };
	const struct reader_sink sink = {
		fuzz_event, timeline, names, &account, &origin, callstacks
	};
	struct reader_error error = { 0 };
	const char *what = NULL;
	struct input *input;
	int status;

	must(timeline && stats, "nothing to start with");
	must(!timeline_add_consumer(timeline, stats), "no handler");
	(void)trace_sniff(bytes, size, &what);
	must(what && *what, "nobody knows what it looks like");
	must(!input_open(fuzz_fd(bytes, size), &input), "no input");
	status = read_file(input, &sink, &error);
	input_free(input);
	must(!status || error.message[0], "an error without a word");
	must(!error.truncated || !status, "cut and an error");
	must(account.marked == account.written + account_lost(&account), "the account");
	timeline_finish(timeline);
	/* That takes longer than all the rest. */
	if (size % 64 == 0)
		fuzz_print(stats, &origin.account);
	timeline_free(timeline);
	stats->ops->free(stats);
	callstacks_free(callstacks);
	names_free(names);
	return 0;
}

#endif
