/* SPDX-License-Identifier: BSD-2-Clause */
/* `proftrace open`: serves a trace once to the viewer, a page in a browser, and exits. */
#include "cmd/open.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/usage.h"
#include "base/failure.h"
#include "formats/reader.h"
#include "privilege/invoker.h"

#define VIEWER	    "https://ui.perfetto.dev"
#define VIEWER_PORT 9001 /* the only one that the viewer's content security policy permits */

enum {
	KEY_PORT = 256,
	KEY_VIEWER,
	KEY_NO_BROWSER,
};

static const char doc[] =
	"Open a trace in the viewer, ui.perfetto.dev, without uploading it.\v"
	"The trace is served once, on the loopback interface of this machine, and only to the "
	"viewer's page. On a desktop, a browser is opened; otherwise open the printed address.\n\n"
	"From another machine, forward the port: ssh -L 9001:127.0.0.1:9001 host proftrace open "
	"TRACE\n";

static const struct argp_option options[] = {
	{ "no-browser", KEY_NO_BROWSER, NULL, 0, "Only print the address", 0 },
	{ "port", KEY_PORT, "N", 0, "Serve on this port (9001; ui.perfetto.dev can reach no other)",
	  0 },
	{ "viewer", KEY_VIEWER, "URL", 0, "Use another viewer (https://ui.perfetto.dev)", 0 },
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0 },
	{ 0 },
};

/*
 * An origin: scheme, host and optionally a port. It becomes an HTTP header, so all other characters
 * are refused.
 */
static bool is_origin(const char *url)
{
	const char *host = !strncmp(url, "https://", 8)	 ? url + 8
			   : !strncmp(url, "http://", 7) ? url + 7
							 : NULL;

	return host && *host && strlen(url) < 200 &&
	       !host[strspn(host, "abcdefghijklmnopqrstuvwxyz"
				  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:[]")];
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct open_options *o = state->input;
	char *end;
	long port;

	switch (key) {
	case KEY_PORT:
		errno = 0;
		port = strtol(arg, &end, 10);
		if (errno || *end || end == arg || port < 1 || port > 65535)
			usage_error(state, "'%s' is not a port", arg);
		o->port = (uint16_t)port;
		return 0;
	case KEY_VIEWER:
		if (!is_origin(arg))
			usage_error(state, "'%s' is not an address such as " VIEWER, arg);
		o->origin = arg;
		return 0;
	case KEY_NO_BROWSER:
		o->no_browser = true;
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num)
			usage_error(state,
				    "open shows one trace; `proftrace merge` combines several");
		o->trace = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		usage_error(state, "a TRACE is required");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Refuses files here that the viewer would refuse. */
static int open_trace(const char *path, struct failure *f)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	unsigned char start[4096];
	const char *what = NULL;
	struct stat st;
	ssize_t n;
	int error;

	if (fd < 0)
		return failure_set(f, -errno, "cannot open", path, NULL);
	n = fstat(fd, &st) ? -1 : pread(fd, start, sizeof(start), 0);
	if (n < 0)
		error = failure_set(f, -errno, "cannot read", path, NULL);
	else if (!S_ISREG(st.st_mode))
		error = failure_set(f, -EINVAL, "cannot serve", path, "it is not a regular file");
	else if (n >= 2 && start[0] == 0x1f && start[1] == 0x8b)
		error = 0; /* the viewer unpacks it */
	else if (trace_sniff(start, n, &what) == TRACE_UNKNOWN)
		error = failure_set(f, -ENOEXEC, "cannot serve", path, what);
	else
		error = 0;
	if (error) {
		close(fd);
		return error;
	}
	return fd;
}

/* Writes characters that may not be in a URL as %xx. */
static void put_escaped(FILE *out, const char *text)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_~";

	for (; *text; text++) {
		if (strchr(plain, *text))
			putc(*text, out);
		else
			fprintf(out, "%%%02X", (unsigned char)*text);
	}
}

static char *address(const struct open_options *o, const struct open_server *server)
{
	const char *slash = strrchr(o->trace, '/');
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fprintf(out, "%s/#!/?url=http://127.0.0.1:%u%s/", o->origin, o->port,
		open_server_path(server));
	put_escaped(out, slash ? slash + 1 : o->trace);
	fputs("&referrer=proftrace", out);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

/*
 * Starts a browser where there is a desktop. Every user can read the arguments of a process, so this address holds
 * no secret: the server redirects this user's browser, and nobody else's, to the viewer.
 */
static void start_browser(uint16_t port)
{
	extern char **environ;
	char program[] = "xdg-open", url[40], *argv[] = { program, url, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	pid_t pid;

	if (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY"))
		return;
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/", port);
	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	if (posix_spawnp(&pid, argv[0], &actions, &attributes, argv, environ))
		fputs("proftrace: cannot start xdg-open; open the address yourself\n", stderr);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
}

/* Returns when the trace was fetched, or an error when a signal arrived. */
static int wait_for_viewer(const struct open_server *server, int signals)
{
	struct pollfd fds[2] = {
		{ .fd = open_server_fd(server), .events = POLLIN },
		{ .fd = signals, .events = POLLIN },
	};

	TEMP_FAILURE_RETRY(poll(fds, 2, -1));
	return fds[0].revents ? 0 : -EINTR;
}

static int serve(const struct open_options *o, int fd, struct failure *f)
{
	struct open_server *server;
	sigset_t ends;
	int signals, error;
	char *url;

	/*
	 * Signals are blocked before the thread of the server starts, which would receive them
	 * otherwise.
	 */
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	signal(SIGPIPE, SIG_IGN);
	signals = signalfd(-1, &ends, SFD_CLOEXEC);
	if (signals < 0)
		return failure_set(f, -errno, "cannot wait", "", NULL);
	error = open_server_start(o, fd, &server);
	if (error) {
		char port[32];

		snprintf(port, sizeof(port), "127.0.0.1:%u", o->port);
		failure_set(f, error, "cannot serve on", port, NULL);
		if (error == -EADDRINUSE)
			failure_hint(f, "another `proftrace open` may be waiting for its viewer");
		close(signals);
		return error;
	}
	url = address(o, server);
	if (url) {
		print_visible(stdout, "%s\n", url);
		fflush(stdout);
		open_server_redirect(server, url);
		if (!o->no_browser)
			start_browser(o->port);
		if (wait_for_viewer(server, signals))
			error = failure_set(f, -EINTR, "nobody fetched", o->trace, "interrupted");
	} else {
		error = failure_set(f, -ENOMEM, "cannot serve", o->trace, NULL);
	}
	open_server_stop(server);
	free(url);
	close(signals);
	return error;
}

static const struct argp argp = { options, parse, "TRACE", doc, NULL, NULL, NULL };
const struct usage usage_open = { .argp = &argp, .size = sizeof(struct open_options) };

int cmd_open(int argc, char **argv)
{
	struct open_options o = { .origin = VIEWER, .port = VIEWER_PORT };
	struct failure f = { 0 };
	int fd, error;

	usage_parse(&usage_open, argc, argv, &o);
	/* The browser must not run as root. */
	error = invoker_become(&f);
	if (!error) {
		fd = open_trace(o.trace, &f);
		error = fd < 0 ? fd : serve(&o, fd, &f);
		if (fd >= 0)
			close(fd);
	}
	if (error)
		failure_print(&f, stderr);
	return error ? STATUS_FAILED : STATUS_DONE;
}
