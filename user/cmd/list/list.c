/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `proftrace list` shows the markers and probes in files or in a running process. It changes
 * nothing and only needs the permission to read the files.
 */
#include "cmd/list/list.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/usage.h"
#include "counters/counters.h"
#include "privilege/invoker.h"

static const char doc[] =
	"Show the markers and USDT probes in a running process or in ELF files.\v"
	"Examples:\n"
	"  proftrace list ./server        domains and kinds of markers in a program\n"
	"  proftrace list -v ./libnet.so  also every site with its file offsets\n"
	"  sudo proftrace list -p 1234    all files that process 1234 has mapped\n"
	"  proftrace list -f ./server     functions that `record -f` can record\n"
	"  sudo proftrace list --counters events that can be counted in slices\n"
	"\n"
	"With -p each domain is shown as on or off. It is on while somebody records it, in exact "
	"mode "
	"(each mark enters the kernel) or in buffered mode (batch).";

enum {
	KEY_COUNTERS = 256,
};

static const struct argp_option options[] = {
	{ "pid", 'p', "PID", 0, "Show the files that this process has mapped", 0 },
	{ "counters", KEY_COUNTERS, NULL, 0,
	  "Show the names for `record --counters`, and whether this machine can count them", 0 },
	{ "functions", 'f', NULL, 0,
	  "Show which functions of files `record -f` can record, and why it cannot record the "
	  "others",
	  0 },
	{ "verbose", 'v', NULL, 0,
	  "Show every site with its offset in the file, and files in which nothing was found", 0 },
	{ 0 },
};

struct arguments {
	struct list list;
	pid_t pid;
	bool counters;
	char **files;
	int n_files;
};

static pid_t list_parse_pid(struct argp_state *state, const char *text)
{
	char *end;
	long pid;

	errno = 0;
	pid = strtol(text, &end, 10);
	if (errno || end == text || *end || pid <= 0 || pid > 0x3fffffff)
		usage_error(state, "'%s' is not a PID", text);
	return (pid_t)pid;
}

static error_t list_parse_option(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'p':
		a->pid = list_parse_pid(state, arg);
		break;
	case KEY_COUNTERS:
		a->counters = true;
		break;
	case 'f':
		a->list.functions = true;
		break;
	case 'v':
		a->list.verbose = true;
		break;
	case ARGP_KEY_ARGS:
		a->files = state->argv + state->next;
		a->n_files = state->argc - state->next;
		break;
	case ARGP_KEY_END:
		if (!a->pid && !a->n_files && !a->counters)
			usage_error(state, "one of -p PID, FILE... and --counters is required");
		if (a->pid && a->n_files)
			usage_error(state, "-p PID cannot be combined with FILE...");
		if (a->list.functions && !a->n_files)
			usage_error(state, "--functions requires FILE...");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static int list_path(struct list *list, const char *path, bool quiet, struct failure *f)
{
	/* O_NONBLOCK: opening a pipe or a device must not block. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), r;

	if (fd < 0)
		return failure_set(f, -errno, "cannot open", path, NULL);
	r = list->functions ? list_functions(list, fd, path, f)
			    : list_file(list, fd, path, NULL, quiet, f);
	close(fd);
	return r;
}

int list_no_markers(pid_t pid, const char *reason, struct failure *f)
{
	char object[16] = "";

	if (pid)
		snprintf(object, sizeof(object), "%d", (int)pid);
	return failure_set(f, -ENOENT, pid ? "no markers found in process" : "no markers found",
			   object, reason);
}

/* Reports which files were searched. */
static int list_print_nothing_found(const struct list *list, const struct arguments *a)
{
	struct failure f;
	char reason[256];

	if (list->n_unnamed)
		snprintf(reason, sizeof(reason), "searched %s and %u more", list->searched,
			 list->n_unnamed);
	else
		snprintf(reason, sizeof(reason), "searched %s", list->searched);
	list_no_markers(a->pid, reason, &f);
	failure_hint(&f, "a program has markers if it was compiled with proftrace.h");
	failure_print(&f, stderr);
	return STATUS_FAILED;
}

static const struct argp argp = {
	.options = options,
	.parser = list_parse_option,
	.args_doc = "-p PID\nFILE...\n--functions FILE...\n--counters",
	.doc = doc,
};
const struct usage usage_list = { .argp = &argp, .size = sizeof(struct arguments) };

int cmd_list(int argc, char **argv)
{
	struct arguments a = { 0 };
	int i, status = STATUS_DONE;
	struct failure f;

	usage_parse(&usage_list, argc, argv, &a);
	/*
	 * Files are the user's: no privilege is needed for them, nor used. With the capabilities of the program file, the
	 * mappings of processes could be read that this user may not look into (CAP_PERFMON).
	 */
	if ((a.n_files || getuid()) && invoker_become(&f)) {
		failure_print(&f, stderr);
		return STATUS_FAILED;
	}
	if (a.pid && list_process(&a.list, a.pid, &f)) {
		failure_print(&f, stderr);
		return STATUS_FAILED;
	}
	if (a.counters)
		counters_print(stdout);
	for (i = 0; i < a.n_files; i++) {
		if (list_path(&a.list, a.files[i], a.n_files == 1, &f)) {
			fflush(stdout);
			failure_print(&f, stderr);
			status = STATUS_FAILED;
		}
	}
	if (fflush(stdout) || ferror(stdout)) {
		failure_set(&f, -EIO, "cannot write", "standard output", NULL);
		failure_print(&f, stderr);
		return STATUS_FAILED;
	}
	if (status == STATUS_DONE && !a.counters && !a.list.functions && !a.list.n_markers &&
	    !a.list.n_probes)
		return list_print_nothing_found(&a.list, &a);
	return status;
}
