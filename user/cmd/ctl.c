/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the recording that is meant among those that run, asks it, and says what it answered. */
#include <argp.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/control.h"
#include "cmd/ctl_find.h"
#include "cmd/usage.h"
#include "failure.h"

#define FIND_SECONDS 5	/* a recorder that writes to a slow disk may take a moment */
#define WORK_SECONDS 60 /* and longer to finish its files */

struct ctl {
	const char *action;
	pid_t pid; /* 0: none given */
	struct recorders found;
	struct control_call *calls; /* of each of these, the latest */
	unsigned silent;	    /* are there and do not answer */
	struct recorder first_silent;
};

static const char doc[] =
	"Steer a recording that is running: pause, resume, dump (make its files complete on disk "
	"now), reset (of --stats-only), stop (finish them), or ask for its status.\v"
	"Examples:\n"
	"  proftrace ctl pause -p 1234    the recording in which process 1234 is\n"
	"  proftrace ctl stop             the only one that runs";

static const struct argp_option options[] = {
	{ "pid", 'p', "PID", 0, "A process that is recorded, or its recorder", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	static const char *const actions[] = {
		"pause", "resume", "dump", "reset", "stop", "status"
	};
	struct ctl *c = state->input;
	unsigned i;
	char *end;
	long pid;

	switch (key) {
	case 'p':
		errno = 0;
		pid = strtol(arg, &end, 10);
		if (errno || *end || end == arg || pid <= 0 || pid > 0x3fffffff)
			usage_error(state, "'%s' is no process number", arg);
		c->pid = pid;
		break;
	case ARGP_KEY_ARG:
		for (i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
			if (!c->action && !strcmp(arg, actions[i])) {
				c->action = actions[i];
				return 0;
			}
		}
		usage_error(state, "'%s' is none of pause, resume, dump, reset, stop, status", arg);
		break;
	case ARGP_KEY_END:
		if (!c->action)
			usage_error(state,
				    "what to do? pause, resume, dump, reset, stop or status");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/*
 * What a terminal would act on is not the recorder's to say. `whose` stands before each line: no line of
 * another user's may look like one of ours.
 */
static void print_answer(const char *whose, const char *answer, bool first_line_only)
{
	const char *at = strchr(answer, ' ');

	fputs(whose, stdout);
	for (at = at ? at + 1 : answer; *at && !(first_line_only && *at == '\n'); at++) {
		putchar(*at != '\n' && failure_acts_on_terminals(at) ? '?' : (unsigned char)*at);
		if (*at == '\n' && at[1])
			fputs(whose, stdout);
	}
	if (at == answer || at[-1] != '\n')
		putchar('\n');
}

/* Nothing, where it is ours. */
static void say_whose(const struct recorder *r, char *out, size_t size)
{
	struct passwd *user = recorder_is_ours(r) ? NULL : getpwuid(r->uid);

	out[0] = '\0';
	if (user)
		snprintf(out, size, "of user %s: ", user->pw_name);
	else if (!recorder_is_ours(r))
		snprintf(out, size, "of user %u: ", (unsigned)r->uid);
}

/* From that one on. */
static void ask(struct ctl *c, unsigned first, const char *action, unsigned seconds)
{
	char request[CONTROL_REQUEST];
	unsigned i;

	snprintf(request, sizeof(request), "%s\n", action);
	for (i = first; i < c->found.n; i++) {
		c->calls[i].directory = c->found.list[i].directory;
		c->calls[i].name = c->found.list[i].name;
	}
	control_ask(c->calls + first, c->found.n - first, request, seconds);
}

/* Keeps those that answer, and of these, where a process was named, those that record it. */
static void choose(struct ctl *c, unsigned first)
{
	char find[CONTROL_REQUEST];
	unsigned i, kept = first;

	snprintf(find, sizeof(find), "find %d", (int)c->pid);
	ask(c, first, find, FIND_SECONDS);
	for (i = first; i < c->found.n; i++) {
		int error = c->calls[i].error;

		if (error == -EAGAIN || error == -ETIMEDOUT) {
			if (!c->silent++)
				c->first_silent = c->found.list[i];
		} else if (!error && (!c->pid || !strcmp(c->calls[i].answer, "ok yes"))) {
			c->found.list[kept++] = c->found.list[i];
		}
	}
	c->found.n = kept;
}

/*
 * Of other users none is asked if one of ours is meant: they could say that it is them, or say nothing for
 * long. That a process is recorded is believed of its own user; any other could say so of each.
 */
static void look(struct ctl *c)
{
	char process[32];
	struct stat st;
	unsigned ours;

	recorders_of_ours(&c->found);
	choose(c, 0);
	ours = c->found.n;
	if (geteuid() || (ours && (c->pid || strcmp(c->action, "status"))))
		return;
	snprintf(process, sizeof(process), "/proc/%d", (int)c->pid);
	if (!c->pid)
		recorders_of_others(&c->found);
	else if (!stat(process, &st))
		recorders_of_user(&c->found, st.st_uid);
	choose(c, ours);
}

static void say_left_out(const struct ctl *c)
{
	struct failure f = { 0 };
	char reason[64];

	snprintf(reason, sizeof(reason), "%u beyond the share of each user", c->found.left_out);
	failure_set(&f, -E2BIG, "not all recorders of other users are asked", "", reason);
	if (!c->pid)
		failure_hint(&f, "-p PID asks those of that process's user alone");
	failure_print(&f, stderr);
}

/* It may be a recorder that is stopped, and the one that is looked for. */
static void say_silent(const struct ctl *c)
{
	char object[64], whose[48], reason[64] = "it is there and does not answer";
	struct failure f = { 0 };

	say_whose(&c->first_silent, whose, sizeof(whose));
	snprintf(object, sizeof(object), "%s%d", whose, (int)c->first_silent.pid);
	if (c->silent > 1)
		snprintf(reason, sizeof(reason), "it does not answer, nor do %u others",
			 c->silent - 1);
	failure_set(&f, -ETIMEDOUT, "no answer from recorder", object, reason);
	failure_print(&f, stderr);
}

static int print_one(const struct recorder *r, const struct control_call *call)
{
	struct failure f = { 0 };
	char object[64], whose[48];

	say_whose(r, whose, sizeof(whose));
	if (!call->error && !strncmp(call->answer, "ok ", 3)) {
		print_answer(whose, call->answer, false);
		return STATUS_DONE;
	}
	snprintf(object, sizeof(object), "%s%d", whose, (int)r->pid);
	if (!call->error)
		failure_set(&f, -EPROTO, "refused by recorder", object,
			    !strncmp(call->answer, "error ", 6) ? call->answer + 6 : call->answer);
	else
		failure_set(&f, call->error, "no answer from recorder", object,
			    call->error == -EPIPE    ? "it has ended"
			    : call->error == -EAGAIN ? "it is there and does not answer"
						     : NULL);
	failure_print(&f, stderr);
	return STATUS_FAILED;
}

/* All of them is what only `status` is asked of. */
static int do_all(struct ctl *c)
{
	bool quick = !strcmp(c->action, "status"), ours = recorder_is_ours(&c->found.list[0]);
	int failed, status = STATUS_DONE;
	unsigned i;

	ask(c, 0, c->action, quick ? FIND_SECONDS : WORK_SECONDS);
	for (i = 0; i < c->found.n; i++) {
		failed = print_one(&c->found.list[i], &c->calls[i]);
		if (!ours || recorder_is_ours(&c->found.list[i]))
			status |= failed;
	}
	return status;
}

static int none_found(const struct ctl *c)
{
	struct failure f = { 0 };
	char object[16] = "";

	if (c->pid) {
		snprintf(object, sizeof(object), "%d", (int)c->pid);
		failure_set(&f, -ESRCH, "no recording of process", object,
			    "none that this user can reach");
	} else {
		failure_set(&f, -ESRCH, "no recording is running", "", "");
	}
	if (geteuid())
		failure_hint(&f, "only its own user and root reach a recording: try with sudo");
	else if (c->pid)
		failure_hint(&f, "`proftrace ctl status` shows those that are running");
	failure_print(&f, stderr);
	return STATUS_FAILED;
}

static int several_found(struct ctl *c)
{
	char whose[48];
	unsigned i;

	fprintf(stderr, "proftrace: which of these %u recordings?\n", c->found.n);
	fprintf(stderr, "hint: -p PID says it, by a process in it or by its recorder\n");
	ask(c, 0, "status", FIND_SECONDS);
	for (i = 0; i < c->found.n; i++) {
		if (c->calls[i].error)
			continue;
		say_whose(&c->found.list[i], whose, sizeof(whose));
		print_answer(whose, c->calls[i].answer, true);
	}
	return STATUS_FAILED;
}

static const struct argp argp = { options, parse, "pause|resume|dump|reset|stop|status", doc, NULL,
				  NULL,	   NULL };
const struct usage usage_ctl = { .argp = &argp, .size = sizeof(struct ctl) };

int cmd_ctl(int argc, char **argv)
{
	struct ctl *c = calloc(1, sizeof(*c));
	int status = STATUS_FAILED;

	if (!c)
		return STATUS_FAILED;
	usage_parse(&usage_ctl, argc, argv, c);
	c->calls = calloc(CONTROL_CALLS, sizeof(*c->calls));
	if (c->calls) {
		look(c);
		/* Of ours, where it is one of another user that says it is meant, too. */
		if (c->silent && (!c->found.n || !c->pid || !recorder_is_ours(&c->found.list[0])))
			say_silent(c);
		if (c->found.left_out)
			say_left_out(c);
		if (!c->found.n)
			status = none_found(c);
		else if (c->found.n > 1 && strcmp(c->action, "status"))
			status = several_found(c);
		else
			status = do_all(c);
	}
	recorders_close(&c->found);
	free(c->calls);
	free(c);
	return status;
}
