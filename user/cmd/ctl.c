/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the recording that is meant among those that run, asks it, and says what it answered. */
#include <argp.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/control.h"
#include "cmd/usage.h"
#include "failure.h"

#define MAX_OF_OTHERS 64 /* sockets in another user's directory: who knows what they are */
#define FIND_SECONDS  5	 /* a recorder that writes to a slow disk may take a moment */
#define WORK_SECONDS  60 /* and longer to finish its files */

struct recorder {
	int directory;
	pid_t pid;
	char name[32];
};

struct ctl {
	const char *action;
	pid_t pid; /* 0: none given */
	struct recorder recorders[CONTROL_CALLS];
	struct control_call *calls; /* of each of these, the latest */
	unsigned n;
	int directories[64];
	unsigned n_directories;
	bool forbidden;	 /* there was one that is somebody else's */
	unsigned silent; /* are there and do not answer */
	pid_t first_silent;
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

static void look_into(struct ctl *c, const char *path, uid_t uid)
{
	int directory = control_directory(path, uid, false), fd;
	unsigned most = uid == geteuid() ? CONTROL_CALLS : c->n + MAX_OF_OTHERS;
	struct dirent *entry;
	DIR *list;

	if (directory < 0 || c->n_directories == sizeof(c->directories) / sizeof(int)) {
		c->forbidden |= directory == -EPERM || directory == -EACCES;
		if (directory >= 0)
			close(directory);
		return;
	}
	c->directories[c->n_directories++] = directory;
	fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	list = fd < 0 ? NULL : fdopendir(fd);
	if (!list) {
		if (fd >= 0)
			close(fd);
		return;
	}
	if (most > CONTROL_CALLS)
		most = CONTROL_CALLS;
	while ((entry = readdir(list)) && c->n < most) {
		struct recorder *r = &c->recorders[c->n];
		char *end;

		if (!isdigit((unsigned char)entry->d_name[0]) ||
		    strlen(entry->d_name) >= sizeof(r->name))
			continue;
		r->pid = strtol(entry->d_name, &end, 10);
		if (strcmp(end, CONTROL_SUFFIX))
			continue;
		r->directory = directory;
		strcpy(r->name, entry->d_name);
		c->n++;
	}
	closedir(list);
}

/* Root reaches everybody's. The user's number is in the path; the directory must be his. */
static void look_at_everybody(struct ctl *c)
{
	static const struct {
		const char *pattern;
		size_t before; /* the number */
	} places[] = {
		{ "/run/user/*/proftrace", sizeof("/run/user/") - 1 },
		{ "/tmp/proftrace-*", sizeof("/tmp/proftrace-") - 1 },
	};
	unsigned i;
	size_t j;

	for (i = 0; i < 2; i++) {
		glob_t found;

		if (glob(places[i].pattern, GLOB_NOSORT, NULL, &found))
			continue;
		for (j = 0; j < found.gl_pathc; j++) {
			unsigned long uid = strtoul(found.gl_pathv[j] + places[i].before, NULL, 10);

			if (uid)
				look_into(c, found.gl_pathv[j], uid);
		}
		globfree(&found);
	}
}

static void look_everywhere(struct ctl *c)
{
	char path[256], last[256] = "";
	unsigned i;

	for (i = 0; i < CONTROL_PLACES; i++) {
		control_place(i, geteuid(), path, sizeof(path));
		if (path[0] && strcmp(path, last))
			look_into(c, path, geteuid());
		strcpy(last, path);
	}
	if (geteuid() == 0)
		look_at_everybody(c);
}

/* What a terminal would act on is not the recorder's to say. */
static void print_answer(const char *answer, bool first_line_only)
{
	const char *at = strchr(answer, ' ');

	for (at = at ? at + 1 : answer; *at && !(first_line_only && *at == '\n'); at++)
		putchar(*at != '\n' && failure_acts_on_terminals(at) ? '?' : (unsigned char)*at);
	if (at == answer || at[-1] != '\n')
		putchar('\n');
}

static void ask(struct ctl *c, const char *action, unsigned seconds)
{
	char request[CONTROL_REQUEST];
	unsigned i;

	snprintf(request, sizeof(request), "%s\n", action);
	for (i = 0; i < c->n; i++) {
		c->calls[i].directory = c->recorders[i].directory;
		c->calls[i].name = c->recorders[i].name;
	}
	control_ask(c->calls, c->n, request, seconds);
}

/* Keeps those that answer, and of these, where a process was named, those that record it. */
static void choose(struct ctl *c)
{
	char find[CONTROL_REQUEST];
	unsigned i, kept = 0;

	snprintf(find, sizeof(find), "find %d", (int)c->pid);
	ask(c, find, FIND_SECONDS);
	for (i = 0; i < c->n; i++) {
		int error = c->calls[i].error;

		if (error == -EAGAIN || error == -ETIMEDOUT) {
			if (!c->silent++)
				c->first_silent = c->recorders[i].pid;
		} else if (!error && (!c->pid || !strcmp(c->calls[i].answer, "ok yes"))) {
			c->recorders[kept++] = c->recorders[i];
		}
	}
	c->n = kept;
}

/* It may be a recorder that is stopped, and the one that is looked for. */
static void say_silent(const struct ctl *c)
{
	char object[16], reason[64] = "it is there and does not answer";
	struct failure f = { 0 };

	snprintf(object, sizeof(object), "%d", (int)c->first_silent);
	if (c->silent > 1)
		snprintf(reason, sizeof(reason), "it does not answer, nor do %u others",
			 c->silent - 1);
	failure_set(&f, -ETIMEDOUT, "no answer from recorder", object, reason);
	failure_print(&f, stderr);
}

static int print_one(const struct recorder *r, const struct control_call *call)
{
	struct failure f = { 0 };
	char object[16];

	if (!call->error && !strncmp(call->answer, "ok ", 3)) {
		print_answer(call->answer, false);
		return STATUS_DONE;
	}
	snprintf(object, sizeof(object), "%d", (int)r->pid);
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
	bool quick = !strcmp(c->action, "status");
	int status = STATUS_DONE;
	unsigned i;

	ask(c, c->action, quick ? FIND_SECONDS : WORK_SECONDS);
	for (i = 0; i < c->n; i++)
		status |= print_one(&c->recorders[i], &c->calls[i]);
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
	if (c->forbidden || geteuid())
		failure_hint(&f, "only its own user and root reach a recording: try with sudo");
	else if (c->pid)
		failure_hint(&f, "`proftrace ctl status` shows those that are running");
	failure_print(&f, stderr);
	return STATUS_FAILED;
}

static int several_found(struct ctl *c)
{
	unsigned i;

	fprintf(stderr, "proftrace: which of these %u recordings?\n", c->n);
	fprintf(stderr, "hint: -p PID says it, by a process in it or by its recorder\n");
	ask(c, "status", FIND_SECONDS);
	for (i = 0; i < c->n; i++) {
		if (!c->calls[i].error)
			print_answer(c->calls[i].answer, true);
	}
	return STATUS_FAILED;
}

static const struct argp argp = { options, parse, "pause|resume|dump|reset|stop|status", doc, NULL,
				  NULL,	   NULL };
const struct usage usage_ctl = { .argp = &argp, .size = sizeof(struct ctl) };

int cmd_ctl(int argc, char **argv)
{
	struct ctl *c = calloc(1, sizeof(*c));
	int status = STATUS_DONE;
	unsigned i;

	if (!c)
		return STATUS_FAILED;
	usage_parse(&usage_ctl, argc, argv, c);
	look_everywhere(c);
	c->calls = calloc(c->n ? c->n : 1, sizeof(*c->calls));
	if (!c->calls)
		c->n = 0;
	choose(c);
	if (c->silent && (!c->n || !c->pid))
		say_silent(c);
	if (!c->n)
		status = none_found(c);
	else if (c->n > 1 && strcmp(c->action, "status"))
		status = several_found(c);
	else
		status = do_all(c);
	for (i = 0; i < c->n_directories; i++)
		close(c->directories[i]);
	free(c->calls);
	free(c);
	return status;
}
