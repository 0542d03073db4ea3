/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `proftrace open`: serves a trace once to the viewer, a page in a browser, and exits. With a local copy of the viewer
 * it serves both until it is interrupted.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
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
#include "viewer/ui_files.h"
#include "viewer/viewer.h"

#define VIEWER	    "https://ui.perfetto.dev"
#define VIEWER_PORT 9001 /* the only one that the viewer's content security policy permits */

enum {
	KEY_PORT = 256,
	KEY_VIEWER,
	KEY_NO_BROWSER,
	KEY_UI,
};

static const char doc[] =
	"Open a trace in the viewer, ui.perfetto.dev, without uploading it.\v"
	"The trace is served once, on the loopback interface of this machine, and only to the "
	"viewer's page. On a desktop, a browser is opened; otherwise open the printed address.\n\n"
	"From another machine, forward the port: ssh -L 9001:127.0.0.1:9001 host proftrace open "
	"TRACE\n\n"
	"Without network, use --ui to serve a copy of the viewer (`man proftrace-open` says how to "
	"get one). `proftrace report --html` makes a page that needs neither network nor "
	"viewer.\n";

static const struct argp_option options[] = {
	{ "no-browser", KEY_NO_BROWSER, NULL, 0, "Only print the address", 0 },
	{ "port", KEY_PORT, "N", 0,
	  "Serve on this port (9001; the viewer at ui.perfetto.dev cannot reach other ports)", 0 },
	{ "ui", KEY_UI, "DIR", 0, "Also serve the viewer, from a local copy; this needs no network",
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
	struct viewer_options *o = state->input;
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
	case KEY_UI:
		o->ui = arg;
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
	case ARGP_KEY_END:
		if (o->ui && o->origin)
			usage_error(state, "--ui cannot be combined with --viewer");
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

static char *address(const struct viewer_options *o, const struct viewer_server *server)
{
	const char *slash = strrchr(o->trace, '/');
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fprintf(out, "%s/#!/?url=http://127.0.0.1:%u%s/", o->origin, o->port,
		viewer_server_path(server));
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
static void start_browser(const struct viewer_options *o)
{
	extern char **environ;
	char program[] = "xdg-open", url[40], *argv[] = { program, url, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	pid_t pid;

	snprintf(url, sizeof(url), "http://127.0.0.1:%u%s", o->port, o->ui ? VIEWER_START : "/");
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

static bool has_desktop(void)
{
	return getenv("DISPLAY") || getenv("WAYLAND_DISPLAY");
}

/* The address of this machine as whoever has logged in over ssh knows it. */
static void find_own_host(char *host, size_t size)
{
	const char *connection = getenv("SSH_CONNECTION"); /* "CLIENT PORT SERVER PORT" */
	char server[64];

	if (connection && sscanf(connection, "%*63s %*63s %63s", server) == 1)
		snprintf(host, size, "%s", server);
	else if (gethostname(host, size))
		snprintf(host, size, "HOST");
	host[size - 1] = '\0';
}

/* Without a browser here, somebody has to do something, and has to know that this command waits for it. */
static void print_waiting(const struct viewer_options *o)
{
	const struct passwd *user = getpwuid(geteuid());
	char host[256];

	find_own_host(host, sizeof(host));
	print_visible(stderr,
		      "waiting until the address is opened in a browser; Ctrl-C ends this\n");
	print_visible(stderr,
		      "hint: if your browser is on another machine, run there first: ssh -L "
		      "%u:127.0.0.1:%u %s@%s\n",
		      o->port, o->port, user ? user->pw_name : "USER", host);
}

/* Returns when the trace was fetched, or an error when a signal arrived. */
static int wait_for_viewer(const struct viewer_options *o, const struct viewer_server *server,
			   int signals)
{
	struct pollfd fds[2] = {
		/* A local copy of the viewer loads more of itself later, and may be loaded again. */
		{ .fd = o->ui ? -1 : viewer_server_fd(server), .events = POLLIN },
		{ .fd = signals, .events = POLLIN },
	};

	TEMP_FAILURE_RETRY(poll(fds, 2, -1));
	return fds[0].revents || viewer_server_fetched(server) ? 0 : -EINTR;
}

static int serve(const struct viewer_options *o, int fd, struct failure *f)
{
	struct viewer_server *server;
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
	error = viewer_server_start(o, fd, &server);
	if (error) {
		char port[32];

		snprintf(port, sizeof(port), "127.0.0.1:%u", o->port);
		failure_set(f, error, "cannot serve on", port, NULL);
		if (error == -EADDRINUSE)
			failure_hint(f, "another `proftrace open` may be waiting for its viewer");
		if (error == -ELIBACC)
			failure_hint(
				f, "it needs libmicrohttpd12, which a static proftrace cannot use; "
				   "or open the file in https://ui.perfetto.dev by hand");
		close(signals);
		return error;
	}
	url = address(o, server);
	if (url) {
		print_visible(stdout, "%s\n", url);
		fflush(stdout);
		viewer_server_redirect(server, url);
		if (!o->no_browser && has_desktop())
			start_browser(o);
		else
			print_waiting(o);
		if (wait_for_viewer(o, server, signals))
			error = failure_set(f, -EINTR, "nobody fetched", o->trace, "interrupted");
	} else {
		error = failure_set(f, -ENOMEM, "cannot serve", o->trace, NULL);
	}
	viewer_server_stop(server);
	free(url);
	close(signals);
	return error;
}

static const struct argp argp = { options, parse, "TRACE", doc, NULL, NULL, NULL };
const struct usage usage_open = { .argp = &argp, .size = sizeof(struct viewer_options) };

int cmd_open(int argc, char **argv)
{
	struct viewer_options o = { .port = VIEWER_PORT, .ui_directory = -1 };
	struct failure f = { 0 };
	char local[32];
	int fd, error;

	usage_parse(&usage_open, argc, argv, &o);
	snprintf(local, sizeof(local), "http://127.0.0.1:%u", o.port);
	o.origin = o.ui ? local : o.origin ? o.origin : VIEWER;
	/* The browser must not run as root. */
	error = invoker_become(&f);
	if (!error && o.ui) {
		o.ui_directory = ui_open_directory(o.ui, &f);
		error = o.ui_directory < 0 ? o.ui_directory : 0;
	}
	if (!error) {
		fd = open_trace(o.trace, &f);
		error = fd < 0 ? fd : serve(&o, fd, &f);
		if (fd >= 0)
			close(fd);
	}
	if (o.ui_directory >= 0)
		close(o.ui_directory);
	if (error)
		failure_print(&f, stderr);
	return error ? STATUS_FAILED : STATUS_DONE;
}
