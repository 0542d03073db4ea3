/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A trace handler (proftrace/handler.h) that hands what is recorded on to a class in Python:
 *
 *	proftrace --handler "$(python3 -m proftrace.handlers)=mine:Mine" -- ./program
 *
 * It starts `python3 -m proftrace.handlers mine:Mine` and writes a line of JSON for each event into its standard input,
 * which is a socket: there Python says by one byte whether it could make an object of the class.
 */
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <proftrace/handler.h>

#define PATH_BYTES 4096

struct python_handler {
	FILE *events;
	pid_t python;
};

/* The package is where this file is: it may be in no place that Python knows. */
static int find_package(char path[PATH_BYTES])
{
	const char *others = getenv("PYTHONPATH");
	const char *slash;
	Dl_info info;
	int n;

	if (!dladdr((void *)(uintptr_t)proftrace_get_handler, &info) || !info.dli_fname)
		return -1;
	slash = strrchr(info.dli_fname, '/');
	n = snprintf(path, PATH_BYTES, "%.*s/..%s%s", slash ? (int)(slash - info.dli_fname) : 1,
		     slash ? info.dli_fname : ".", others ? ":" : "", others ? others : "");
	return n < PATH_BYTES ? 0 : -1;
}

/* In the child: becomes Python. */
static _Noreturn void become_python(int socket, const char *class, const char *path)
{
	const char *program = getenv("PYTHON");

	if (dup2(socket, 0) == 0 && !setenv("PYTHONPATH", path, 1)) {
		program = program ? program : "python3";
		execlp(program, program, "-m", "proftrace.handlers", class, NULL);
		fprintf(stderr, "proftrace: cannot execute '%s': %s\n", program, strerror(errno));
	}
	_exit(127);
}

static void *python_handler_open(const char *class, const struct proftrace_recording *recording)
{
	struct python_handler *h = calloc(1, sizeof(*h));
	char path[PATH_BYTES], answer = 0;
	int sockets[2];

	signal(SIGPIPE, SIG_IGN); /* Python may end before we do. */
	if (!h || find_package(path) ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets)) {
		free(h);
		return NULL;
	}
	h->python = fork();
	if (h->python == 0)
		become_python(sockets[1], class, path);
	close(sockets[1]);
	h->events = fdopen(sockets[0], "w");
	if (h->python < 0 || !h->events || read(sockets[0], &answer, 1) != 1) {
		if (h->events)
			fclose(h->events);
		if (h->python > 0)
			waitpid(h->python, NULL, 0);
		free(h);
		return NULL;
	}
	fprintf(h->events, "[\"start\",%" PRIu64 ",%" PRIu64 "]\n", recording->start_ns,
		recording->start_realtime_ns);
	return h;
}

/* Strings have no control characters, but for those that JSON escapes by itself. */
static void write_string(FILE *out, const char *text)
{
	putc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putc('\\', out);
		putc((unsigned char)*text < ' ' ? ' ' : *text, out);
	}
	putc('"', out);
}

/* Python reads NaN and Infinity, which JSON has not. */
static void write_double(FILE *out, double value)
{
	if (value != value)
		fputs("NaN", out);
	else if (value - value != 0)
		fputs(value > 0 ? "Infinity" : "-Infinity", out);
	else
		fprintf(out, "%.17g", value);
}

static void write_value(FILE *out, const struct proftrace_arg *arg)
{
	switch (arg->type) {
	case PROFTRACE_INT:
		fprintf(out, "%" PRId64, arg->value.i);
		break;
	case PROFTRACE_UINT:
	case PROFTRACE_POINTER:
		fprintf(out, "%" PRIu64, arg->value.u);
		break;
	case PROFTRACE_DOUBLE:
		write_double(out, arg->value.d);
		break;
	case PROFTRACE_BOOL:
		fputs(arg->value.u ? "true" : "false", out);
		break;
	case PROFTRACE_STRING:
		write_string(out, arg->value.s);
		break;
	default:
		fputs("null", out);
	}
}

static int write_event(struct python_handler *h, const char *kind, const struct proftrace_event *e)
{
	unsigned i;

	fprintf(h->events, "[\"%s\",", kind);
	write_string(h->events, e->name);
	putc(',', h->events);
	write_string(h->events, e->categories);
	fprintf(h->events, ",%d,%" PRIu64, e->is_start, e->timestamp_ns);
	if (e->step)
		fprintf(h->events, ",[%" PRIu64 ",%" PRIu64 "]", e->step->epoch, e->step->batch);
	else
		fputs(",null", h->events);
	fprintf(h->events, ",%u,%u,{", e->thread ? e->thread->pid : 0,
		e->thread ? e->thread->tid : 0);
	for (i = 0; i < e->n_args; i++) {
		if (i)
			putc(',', h->events);
		write_string(h->events, e->args[i].key);
		putc(':', h->events);
		write_value(h->events, &e->args[i]);
	}
	fputs("}]\n", h->events);
	return ferror(h->events) ? -EPIPE : 0;
}

static int python_handler_duration(void *self, const struct proftrace_event *e)
{
	return write_event(self, "duration", e);
}

static int python_handler_instant(void *self, const struct proftrace_event *e)
{
	return write_event(self, "instant", e);
}

static int python_handler_counter(void *self, const struct proftrace_event *e)
{
	return write_event(self, "counter", e);
}

static int python_handler_file(void *self, const char *path)
{
	struct python_handler *h = self;

	fputs("[\"file\",", h->events);
	write_string(h->events, path);
	fputs("]\n", h->events);
	return ferror(h->events) ? -EPIPE : 0;
}

static int python_handler_flush(void *self)
{
	struct python_handler *h = self;

	return fflush(h->events) ? -EPIPE : 0;
}

/* Python ends when it has read everything; how, is how this handler ends. */
static int python_handler_close(void *self, const struct proftrace_account *account)
{
	struct python_handler *h = self;
	int failed, status = 0;

	(void)account;
	failed = fclose(h->events);
	while (waitpid(h->python, &status, 0) < 0 && errno == EINTR)
		;
	free(h);
	return failed || status ? 1 : 0;
}

const struct proftrace_handler *proftrace_get_handler(void)
{
	static const struct proftrace_handler handler = {
		.size = sizeof(handler),
		.open = python_handler_open,
		.duration_event = python_handler_duration,
		.instant_event = python_handler_instant,
		.counter_event = python_handler_counter,
		.chrome_json_trace_file = python_handler_file,
		.flush = python_handler_flush,
		.close = python_handler_close,
	};

	return &handler;
}
