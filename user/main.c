/* SPDX-License-Identifier: BSD-2-Clause */
/* Chooses the verb. `record` is the default: `proftrace -p 1234` records. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/library/library.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "base/failure.h"
#include "plugin/plugin.h"
#include "privilege/invoker.h"

static const struct verb verbs[] = {
	{ "record", cmd_record, &usage_record,
	  "record a running process or a command (the default)" },
	{ "report", cmd_report, &usage_report, "print the table of a trace" },
	{ "diff", cmd_diff, &usage_diff, "show what changed between two sets of traces, and why" },
	{ "bench", cmd_bench, &usage_bench,
	  "record runs of one or two commands, and compare them" },
	{ "list", cmd_list, &usage_list,
	  "show the markers and probes of a process or of ELF files" },
	{ "top", cmd_top, &usage_top, "show a live table of a running process" },
	{ "check", cmd_check, &usage_check,
	  "report what this machine supports, and how to fix what is missing" },
	{ "ctl", cmd_ctl, &usage_ctl, "control a running recording, show its status or its table" },
	{ "serve", cmd_serve, &usage_serve,
	  "record all the time, as a service: metrics, and traces of slow requests" },
	{ "merge", cmd_merge, &usage_merge, "put several traces on one timeline" },
	{ "convert", cmd_convert, &usage_convert, "write a trace in another format" },
	{ "open", cmd_open, &usage_open,
	  "show a trace in ui.perfetto.dev, served from this machine" },
	{ NULL, NULL, NULL, NULL },
};

static void usage(FILE *out)
{
	fputs("Usage: proftrace [record] [OPTION...] -p PID[,PID...]\n"
	      "       proftrace [record] [OPTION...] -n NAME\n"
	      "       proftrace [record] [OPTION...] -- COMMAND [ARG...]\n"
	      "       proftrace VERB [OPTION...]\n\n",
	      out);
	for (unsigned i = 0; verbs[i].name; i++)
		fprintf(out, "  %-8s %s\n", verbs[i].name, verbs[i].does);
	fputs("\nSee `proftrace VERB --help` and man proftrace.\n", out);
}

/* `record` does it later, if at all. */
static int load_libraries(void)
{
	struct failure f = { 0 };

	if (!library_load_common(&f))
		return 0;
	failure_print(&f, stderr);
	return STATUS_FAILED;
}

/*
 * The recorder starts this program again for each plug-in. Anybody else may also call it by that name and have it load
 * a library, so the capabilities of the file are given up first.
 */
static int host_plugin(const char *socket)
{
	struct failure f = { 0 };

	if (invoker_become(&f)) {
		failure_print(&f, stderr);
		return STATUS_FAILED;
	}
	return load_libraries() ?: plugin_host(atoi(socket));
}

int main(int argc, char **argv)
{
	static char program[] = "proftrace";
	struct failure f = { 0 };

	/*
	 * By a link it would have the link's name, which may be that of a broker (process_protected()), and so would what it
	 * forks.
	 */
	prctl(PR_SET_NAME, program);
	if (stack_limit_raise())
		return STATUS_FAILED;
	if (invoker_check(&f)) {
		failure_print(&f, stderr);
		return STATUS_FAILED;
	}
	if (argc == 2 && !strcmp(argv[0], PLUGIN_HOST_NAME))
		return host_plugin(argv[1]);
	/* argp prints it as it is, and so it shall not be the name of any directory. */
	argv[0] = program;
	if (argc < 2) {
		usage(stderr);
		return STATUS_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		usage(stdout);
		return STATUS_DONE;
	}
	if (!strcmp(argv[1], "--version"))
		return load_libraries() ?: cmd_version();
	if (!strcmp(argv[1], "--complete"))
		return load_libraries() ?: cmd_complete(verbs, argc - 2, argv + 2);
	for (unsigned i = 0; verbs[i].name; i++) {
		static char name[32];

		if (strcmp(argv[1], verbs[i].name))
			continue;
		/* So that its messages and its help call it by this name. */
		snprintf(name, sizeof(name), "proftrace %s", verbs[i].name);
		argv[1] = name;
		if (verbs[i].run != cmd_record && load_libraries())
			return STATUS_FAILED;
		return verbs[i].run(argc - 1, argv + 1);
	}
	if (argv[1][0] != '-') {
		print_visible(stderr, "proftrace: unknown verb '%s'\n", argv[1]);
		fputs("hint: a command to record comes after --; `proftrace --help` lists the "
		      "verbs\n",
		      stderr);
		return STATUS_USAGE;
	}
	return cmd_record(argc, argv);
}
