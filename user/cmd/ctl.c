/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `proftrace ctl` finds the running recording that the user means, sends it a request and prints its reply.
 *
 * The control sockets of a user's own recordings are asked first. Only root asks those of other users, and nothing
 * that these reply is trusted: they may not answer, claim any process, or send escape sequences to the terminal.
 */
#include <argp.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/failure.h"
#include "base/quantity.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/usage.h"
#include "record/control/control.h"
#include "record/control/ctl_find.h"
#include "timeline/names.h"

#define LEAST_FILES  8 /* the standard streams, a directory, its list and a socket, and a reserve */
#define FIND_SECONDS 5 /* a recorder may be writing to a slow disk */
#define WORK_SECONDS 60	      /* it may have to finish its files */
#define CTL_YES	     "ok yes" /* the reply to `find` of a recorder that records the process */

struct ctl {
	const char *action;
	pid_t pid; /* 0: none given */
	/* Of the recorded processes, that with this PID or those of this role. */
	pid_t only;
	const char *role;
	/* Options of `stats`. */
	const char *format, *sort;
	uint64_t limit;
	bool ascending, reset;
	struct recorders found;
	struct control_call *calls; /* the latest request of each of these */
	unsigned silent;	    /* those that do not answer */
	struct recorder first_silent;
};

static const char doc[] =
	"Control a running recording: pause, resume, dump (make its files complete on disk now), "
	"reset (the table of --stats-only), stop (finish the files), or show its status or its "
	"table so far (stats).\v"
	"Examples:\n"
	"  proftrace ctl pause -p 1234              the recording of process 1234\n"
	"  proftrace ctl stop                       the only running recording\n"
	"  proftrace ctl pause --only 1235          one process of several\n"
	"  proftrace ctl stats --sort p99 -n 10     the ten names with the longest p99";

enum {
	KEY_FORMAT = 256,
	KEY_SORT,
	KEY_ASCENDING,
	KEY_RESET,
	KEY_ONLY,
	KEY_ROLE,
};

static const struct argp_option options[] = {
	{ "pid", 'p', "PID", 0, "A recorded process, or the recorder", 0 },
	{ "only", KEY_ONLY, "PID", 0, "pause, resume, dump: apply to this process only", 0 },
	{ "role", KEY_ROLE, "NAME", 0,
	  "pause, resume, dump: apply to the processes with this role only ($PROFTRACE_ROLE or "
	  "$DMLC_ROLE)",
	  0 },
	{ "format", KEY_FORMAT, "FORMAT", 0, "stats: print a table, json, csv or openmetrics", 0 },
	{ "sort", KEY_SORT, "COLUMN", 0, "stats: sort by this column, as in `proftrace report`",
	  0 },
	{ "ascending", KEY_ASCENDING, NULL, 0, "stats: sort in ascending order", 0 },
	{ "limit", 'n', "N", 0, "stats: print only the first N rows of each part (all)", 0 },
	{ "reset", KEY_RESET, NULL, 0, "stats: reset the table after printing it", 0 },
	{ 0 },
};

static const char actions[] = "pause, resume, dump, reset, stop, status, stats";

static const char *ctl_parse_action(const char *arg)
{
	static const char *const known[] = { "pause", "resume", "dump", "reset",
					     "stop",  "status", "stats" };

	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (!strcmp(arg, known[i]))
			return known[i];
	}
	return NULL;
}

static void ctl_check(const struct ctl *c, struct argp_state *state)
{
	if (!c->action)
		usage_error(state, "one of %s is required", actions);
	if (strcmp(c->action, "stats") &&
	    (c->format || c->sort || c->limit || c->ascending || c->reset))
		usage_error(state, "--format, --sort, --ascending, -n and --reset require stats");
	if ((c->only || c->role) && strcmp(c->action, "pause") && strcmp(c->action, "resume") &&
	    strcmp(c->action, "dump"))
		usage_error(state, "--only and --role require pause, resume or dump");
	if (c->only && c->role)
		usage_error(state, "--only and --role cannot be combined");
	if (c->role && (!c->role[0] || strpbrk(c->role, " \t\n") || strlen(c->role) > CONTROL_ROLE))
		usage_error(state, "'%s' is not a role: a word of at most %d bytes", c->role,
			    CONTROL_ROLE);
	/* The request is a line of words. */
	if (c->sort &&
	    (!c->sort[0] || strpbrk(c->sort, " \t\n") || strlen(c->sort) > CONTROL_REQUEST / 2))
		usage_error(state, "'%s' is not a column", c->sort);
}

static error_t ctl_parse_option(int key, char *arg, struct argp_state *state)
{
	static const char *const formats[] = { "table", "json", "csv", "openmetrics" };
	struct ctl *c = state->input;
	uint64_t number;

	switch (key) {
	case 'p':
		if (!parse_integer(arg, 1, 0x3fffffff, &number))
			usage_error(state, "'%s' is not a PID", arg);
		c->pid = (pid_t)number;
		return 0;
	case KEY_ONLY:
		if (!parse_integer(arg, 1, 0x3fffffff, &number))
			usage_error(state, "'%s' is not a PID", arg);
		c->only = (pid_t)number;
		return 0;
	case KEY_ROLE:
		c->role = arg;
		return 0;
	case 'n':
		if (!parse_integer(arg, 1, UINT32_MAX, &c->limit))
			usage_error(state, "'%s' is not a number of rows", arg);
		return 0;
	case KEY_FORMAT:
		c->format = formats[usage_choice(state, arg, formats, 4, "format")];
		return 0;
	case KEY_SORT:
		c->sort = arg;
		return 0;
	case KEY_ASCENDING:
		c->ascending = true;
		return 0;
	case KEY_RESET:
		c->reset = true;
		return 0;
	case ARGP_KEY_ARG:
		if (c->action || !(c->action = ctl_parse_action(arg)))
			usage_error(state, "'%s' is not one of %s", arg, actions);
		return 0;
	case ARGP_KEY_END:
		ctl_check(c, state);
		c->pid = c->pid ? c->pid : c->only;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/*
 * Prints the text of an answer, without its first word. `whose` begins each line, so that no line of another user's
 * recorder looks like one of ours.
 */
static void ctl_print_reply(const char *whose, const char *answer, bool first_line_only)
{
	const char *at = strchr(answer, ' '), *end;
	size_t part;

	at = at ? at + 1 : answer;
	do {
		size_t n = strcspn(at, "\n");

		print_visible(stdout, "%s", whose);
		/* A line of JSON may be longer than one message. */
		for (end = at + n; at < end; at += part) {
			part = text_fit(at, (size_t)(end - at), 4096);
			part = part ? part : 1;
			print_visible(stdout, "%.*s", (int)part, at);
		}
		putchar('\n');
		at += *at == '\n';
	} while (*at && !first_line_only);
}

/* The prefix of the lines of a recorder: empty for our own, else the user. */
static void ctl_owner_prefix(const struct recorder *r, char *out, size_t size)
{
	struct passwd *user = recorder_is_ours(r) ? NULL : getpwuid(r->uid);

	out[0] = '\0';
	if (user)
		snprintf(out, size, "of user %s: ", user->pw_name);
	else if (!recorder_is_ours(r))
		snprintf(out, size, "of user %u: ", (unsigned)r->uid);
}

/* Sends a request to all recorders from `first` on. `enough`: see control_call_all(). */
static void ctl_request(struct ctl *c, unsigned first, const char *action, unsigned seconds,
			const char *enough)
{
	bool stats = !strcmp(action, "stats");
	char request[CONTROL_REQUEST];

	if (stats)
		snprintf(request, sizeof(request), "stats %s %u %d %d %s\n",
			 c->format ? c->format : "table", (unsigned)c->limit, c->ascending,
			 c->reset, c->sort ? c->sort : "-");
	else
		snprintf(request, sizeof(request), "%s\n", action);
	for (unsigned i = first; i < c->found.n; i++) {
		c->calls[i].directory = c->found.list[i].directory;
		c->calls[i].name = c->found.list[i].name;
	}
	control_call_all(c->calls + first, c->found.n - first, request,
			 stats ? CONTROL_LONG_REPLY + 1 : CONTROL_REPLY, seconds, enough);
}

/*
 * Keeps the recorders that answer and, if a process was named, that record it. One that does not answer is then no
 * reason to wait: the process has its recording.
 */
static void ctl_keep_matching(struct ctl *c, unsigned first)
{
	char find[CONTROL_REQUEST];
	unsigned i, kept = first;

	snprintf(find, sizeof(find), "find %d", (int)c->pid);
	ctl_request(c, first, find, FIND_SECONDS, c->pid ? CTL_YES : NULL);
	for (i = first; i < c->found.n; i++) {
		int error = c->calls[i].error;

		if (error == -EAGAIN || error == -ETIMEDOUT) {
			if (!c->silent++)
				c->first_silent = c->found.list[i];
		} else if (!error && (!c->pid || !strcmp(c->calls[i].reply, CTL_YES))) {
			c->found.list[kept++] = c->found.list[i];
		}
	}
	c->found.n = kept;
}

/*
 * Recorders of other users are not asked if one of ours matches: they could claim the process, or delay the reply. If
 * a process was named, only recorders of its own user are asked, since any other could claim it.
 */
static void ctl_find_recordings(struct ctl *c)
{
	char process[32];
	struct stat st;
	unsigned ours;

	recorders_of_ours(&c->found);
	ctl_keep_matching(c, 0);
	ours = c->found.n;
	if (geteuid() || (ours && (c->pid || strcmp(c->action, "status"))))
		return;
	snprintf(process, sizeof(process), "/proc/%d", (int)c->pid);
	if (!c->pid)
		recorders_of_others(&c->found);
	else if (!stat(process, &st))
		recorders_of_user(&c->found, st.st_uid);
	ctl_keep_matching(c, ours);
}

static void ctl_print_left_out(const struct ctl *c)
{
	struct failure f = { 0 };
	char reason[64];

	snprintf(reason, sizeof(reason), "%u exceed the limit for one user", c->found.left_out);
	failure_set(&f, -E2BIG, "some recorders of other users were not asked", "", reason);
	if (!c->pid)
		failure_hint(&f, "-p PID asks only the recorders of the user of that process");
	failure_print(&f, stderr);
}

/* A recorder that does not answer may be the one that the user means. */
static void ctl_print_silent(const struct ctl *c)
{
	char object[64], whose[48], reason[64] = "it is running but does not answer";
	struct failure f = { 0 };

	ctl_owner_prefix(&c->first_silent, whose, sizeof(whose));
	snprintf(object, sizeof(object), "%s%d", whose, (int)c->first_silent.pid);
	if (c->silent > 1)
		snprintf(reason, sizeof(reason), "it does not answer, nor do %u others",
			 c->silent - 1);
	failure_set(&f, -ETIMEDOUT, "no answer from recorder", object, reason);
	failure_print(&f, stderr);
}

static int ctl_print_result(const struct recorder *r, const struct control_call *call)
{
	struct failure f = { 0 };
	char object[64], whose[48];

	ctl_owner_prefix(r, whose, sizeof(whose));
	if (!call->error && !strncmp(call->reply, "ok ", 3)) {
		ctl_print_reply(whose, call->reply, false);
		return STATUS_DONE;
	}
	snprintf(object, sizeof(object), "%s%d", whose, (int)r->pid);
	if (!call->error)
		failure_set(&f, -EPROTO, "refused by recorder", object,
			    !strncmp(call->reply, "error ", 6) ? call->reply + 6 : call->reply);
	else
		failure_set(&f, call->error, "no answer from recorder", object,
			    call->error == -EPIPE    ? "it has exited"
			    : call->error == -EAGAIN ? "it is running but does not answer"
						     : NULL);
	failure_print(&f, stderr);
	return STATUS_FAILED;
}

/* There are several recorders only for `status`. */
static int ctl_request_all(struct ctl *c)
{
	bool quick = !strcmp(c->action, "status"), ours = recorder_is_ours(&c->found.list[0]);
	int failed, status = STATUS_DONE;
	char action[CONTROL_REQUEST - 1];

	if (c->only)
		snprintf(action, sizeof(action), "%s only %d", c->action, (int)c->only);
	else if (c->role)
		snprintf(action, sizeof(action), "%s role %s", c->action, c->role);
	else
		snprintf(action, sizeof(action), "%s", c->action);
	ctl_request(c, 0, action, quick ? FIND_SECONDS : WORK_SECONDS, NULL);
	for (unsigned i = 0; i < c->found.n; i++) {
		failed = ctl_print_result(&c->found.list[i], &c->calls[i]);
		if (!ours || recorder_is_ours(&c->found.list[i]))
			status |= failed;
	}
	return status;
}

static int ctl_print_none_found(const struct ctl *c)
{
	struct failure f = { 0 };
	char object[16] = "";

	if (c->pid) {
		snprintf(object, sizeof(object), "%d", (int)c->pid);
		failure_set(&f, -ESRCH, "no recording of process", object,
			    "there is none that this user can reach");
	} else {
		failure_set(&f, -ESRCH, "no recording is running", "", "");
	}
	if (geteuid())
		failure_hint(&f, "only its own user and root can reach a recording: try sudo");
	else if (c->pid)
		failure_hint(&f, "`proftrace ctl status` shows those that are running");
	failure_print(&f, stderr);
	return STATUS_FAILED;
}

static int ctl_print_several_found(struct ctl *c)
{
	char whose[48];

	print_visible(stderr, "proftrace: there are %u recordings\n", c->found.n);
	print_visible(stderr,
		      "hint: select one with -p PID of a recorded process or of the recorder\n");
	ctl_request(c, 0, "status", FIND_SECONDS, NULL);
	for (unsigned i = 0; i < c->found.n; i++) {
		if (c->calls[i].error)
			continue;
		ctl_owner_prefix(&c->found.list[i], whose, sizeof(whose));
		ctl_print_reply(whose, c->calls[i].reply, true);
	}
	return STATUS_FAILED;
}

/* Otherwise a recording that cannot be looked for would be reported as one that does not run. */
static int ctl_check_files(void)
{
	struct failure f = { 0 };
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur >= LEAST_FILES)
		return 0;
	failure_set(&f, -EMFILE, "cannot look for recordings", "", NULL);
	failure_print(&f, stderr);
	return STATUS_FAILED;
}

static const struct argp argp = {
	options, ctl_parse_option, "pause|resume|dump|reset|stop|status|stats", doc, NULL, NULL,
	NULL
};
const struct usage usage_ctl = { .argp = &argp, .size = sizeof(struct ctl) };

int cmd_ctl(int argc, char **argv)
{
	struct ctl *c = calloc(1, sizeof(*c));
	int status = STATUS_FAILED;

	if (!c)
		return STATUS_FAILED;
	usage_parse(&usage_ctl, argc, argv, c);
	if (ctl_check_files()) {
		free(c);
		return STATUS_FAILED;
	}
	c->calls = calloc(CONTROL_CALLS, sizeof(*c->calls));
	if (c->calls) {
		ctl_find_recordings(c);
		/* If a recorder of another user claims the process, ours may still be the right one. */
		if (c->silent && (!c->found.n || !c->pid || !recorder_is_ours(&c->found.list[0])))
			ctl_print_silent(c);
		if (c->found.left_out)
			ctl_print_left_out(c);
		if (!c->found.n)
			status = ctl_print_none_found(c);
		else if (c->found.n > 1 && strcmp(c->action, "status"))
			status = ctl_print_several_found(c);
		else
			status = ctl_request_all(c);
	}
	recorders_close(&c->found);
	for (unsigned i = 0; c->calls && i < CONTROL_CALLS; i++)
		free(c->calls[i].reply);
	free(c->calls);
	free(c);
	return status;
}
