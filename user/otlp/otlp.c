/* SPDX-License-Identifier: BSD-2-Clause */
/* The recorder's side of --otlp: it starts the process that sends, gives it packets, and reads what became of them. */
#include "otlp/otlp_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptors.h"
#include "base/outbox.h"
#include "base/packet.h"
#include "privilege/bare.h"
#include "privilege/invoker.h"

enum {
	SOCKET = 3,	      /* where the process has its socket */
	OUTBOX_MAX = 8 << 20, /* bytes that wait because the process does not run */
	FINISH_MS = 30000, /* it ends earlier by itself if nothing is delivered (otlp_sender.c) */
	STEP_MS = 100,
};

struct otlp {
	pid_t pid;
	int socket; /* -1: the process has ended */
	bool reported;
	uint64_t given[OTLP_SIGNALS];
	uint64_t outbox_full[OTLP_SIGNALS];
	uint32_t groups[OTLP_SIGNALS];
	struct outbox outbox;
	struct otlp_counts counts;
	struct otlp_packet packet;
};

/* "host", "host:4318" or "[::1]:4318" at the beginning of the text. */
static bool host_is_valid(const char *host)
{
	size_t n = *host == '[' ? strcspn(host, "]/") + 1 : strcspn(host, ":/");
	unsigned long port;
	char *end;

	if (!n || (*host == '[' && (host[n - 1] != ']' || n == 2)))
		return false;
	if (host[n] != ':')
		return !host[n] || host[n] == '/';
	port = strtoul(host + n + 1, &end, 10);
	return host[n + 1] >= '0' && host[n + 1] <= '9' && port > 0 && port < 65536 &&
	       (!*end || *end == '/');
}

bool otlp_url_is_valid(const char *url)
{
	const char *host = !strncmp(url, "http://", 7)	  ? url + 7
			   : !strncmp(url, "https://", 8) ? url + 8
							  : NULL;

	/* A password in it would be seen by everybody who may list processes: it belongs into a header. */
	return host && host_is_valid(host) && !strpbrk(host, " \t\n?#@") && strlen(url) < OTLP_URL;
}

/* --- the process ------------------------------------------------------------------------------- */

struct otlp_process {
	int socket;
	const struct otlp_options *options;
};

static void otlp_run(void *context)
{
	const struct otlp_process *process = context;
	int socket = process->socket;
	static const int ignored[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE };
	sigset_t none;
	unsigned i;

	/* Whatever ends the recorder also ends this process: its socket is closed. Ctrl-C is the recorder's. */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	prctl(PR_SET_NAME, "proftrace-otlp");
	if (descriptors_keep(&socket, SOCKET) || !invoker_drop_all())
		_exit(1);
	_exit(otlp_send_all(SOCKET, process->options));
}

/* The first packet says whether it can send. */
static int otlp_await_ready(struct otlp *o, struct failure *f)
{
	struct otlp_counts first;
	char *why = first.signals[0].error;
	int n = packet_receive(o->socket, &first, sizeof(first), NULL);

	if (n != (int)sizeof(first))
		return failure_set(f, -EPIPE, "cannot start", "--otlp", "its process ended");
	if (!why[0])
		return 0;
	why[sizeof(first.signals[0].error) - 1] = '\0';
	failure_set(f, -ELIBACC, "cannot start", "--otlp", why);
	if (strstr(why, "libcurl"))
		failure_hint_library(f, "libcurl4");
	return -ELIBACC;
}

int otlp_start(const struct otlp_options *options, struct otlp **ret_otlp, struct failure *f)
{
	struct otlp *o = calloc(1, sizeof(*o));
	struct otlp_process process = { .options = options };
	int pair[2], error;

	if (!o)
		return failure_set(f, -ENOMEM, "cannot start", "--otlp", NULL);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		error = -errno;
		free(o);
		return failure_set(f, error, "cannot start", "--otlp", NULL);
	}
	o->socket = pair[0];
	process.socket = pair[1];
	o->pid = bare_fork(pair[1], otlp_run, &process);
	error = o->pid < 0 ? failure_set(f, o->pid, "cannot start", "--otlp", NULL) : 0;
	close(pair[1]);
	error = error ?: otlp_await_ready(o, f);
	if (error)
		otlp_free(o);
	else
		*ret_otlp = o;
	return error;
}

/* --- the recorder ------------------------------------------------------------------------------ */

static void otlp_close(struct otlp *o)
{
	if (o->socket >= 0)
		close(o->socket);
	o->socket = -1;
	outbox_clear(&o->outbox);
}

struct bytes {
	const void *at;
	size_t size;
};

/* `behind` are further fields of the request. */
static void give_packet(struct otlp *o, enum otlp_signal signal, struct bytes resource,
			struct bytes items, struct bytes behind, uint64_t n)
{
	size_t size;
	int error;

	o->given[signal] += n;
	if (o->socket < 0)
		return;
	if (o->outbox.bytes > OUTBOX_MAX || resource.size > OTLP_RESOURCE ||
	    items.size + behind.size > OTLP_ITEMS) {
		o->outbox_full[signal] += n;
		return;
	}
	o->packet.signal = signal;
	o->packet.n = (uint32_t)n;
	o->packet.group = o->groups[signal];
	size = otlp_frame(o->packet.bytes, resource.at, resource.size, items.at, items.size);
	if (behind.size)
		size += otlp_put_field_2(o->packet.bytes + size, behind.at, behind.size);
	error = outbox_put(&o->outbox, o->socket, &o->packet, OTLP_PACKET_HEAD + size, n);
	if (error && error != -EAGAIN)
		otlp_close(o);
}

void otlp_give(struct otlp *o, enum otlp_signal signal, const void *resource, size_t resource_size,
	       const void *items, size_t size, uint64_t n)
{
	give_packet(o, signal, (struct bytes){ resource, resource_size },
		    (struct bytes){ items, size }, (struct bytes){ 0 }, n);
}

void otlp_give_profile(struct otlp *o, const void *resource, size_t resource_size,
		       const void *profile, size_t size, const void *dictionary,
		       size_t dictionary_size)
{
	give_packet(o, OTLP_PROFILES, (struct bytes){ resource, resource_size },
		    (struct bytes){ profile, size }, (struct bytes){ dictionary, dictionary_size },
		    1);
}

void otlp_replace(struct otlp *o, enum otlp_signal signal)
{
	o->groups[signal]++;
}

/* What comes from the process is not trusted: it may have been taken over by what a collector sent. */
static void otlp_read_counts(struct otlp *o)
{
	struct otlp_counts counts;
	unsigned i;
	ssize_t n;

	while (o->socket >= 0) {
		n = recv(o->socket, &counts, sizeof(counts), MSG_DONTWAIT);
		if (n == (ssize_t)sizeof(counts)) {
			o->counts = counts;
			for (i = 0; i < OTLP_SIGNALS; i++)
				o->counts.signals[i].error[sizeof(counts.signals[i].error) - 1] =
					'\0';
		} else if (n >= 0 || (errno != EAGAIN && errno != EINTR)) {
			otlp_close(o);
		} else {
			return;
		}
	}
}

int otlp_poll(struct otlp *o)
{
	int error = o->socket >= 0 ? outbox_send(&o->outbox, o->socket) : 0;

	if (error && error != -EAGAIN)
		otlp_close(o);
	otlp_read_counts(o);
	if (o->socket >= 0 || o->reported)
		return 0;
	o->reported = true;
	return -EPIPE;
}

void otlp_finish(struct otlp *o, bool (*give_up)(void *context), void *context)
{
	uint64_t until = clock_ns(CLOCK_MONOTONIC) + FINISH_MS * 1000000ull;

	o->packet.signal = OTLP_SIGNALS;
	if (o->socket >= 0 &&
	    outbox_put(&o->outbox, o->socket, &o->packet, OTLP_PACKET_HEAD, 0) == -EPIPE)
		otlp_close(o);
	while (o->socket >= 0 && clock_ns(CLOCK_MONOTONIC) < until && !give_up(context)) {
		int error = outbox_send(&o->outbox, o->socket);
		struct pollfd fd = { .fd = o->socket, .events = error ? POLLIN | POLLOUT : POLLIN };

		if (error && error != -EAGAIN)
			break;
		poll(&fd, 1, STEP_MS);
		otlp_read_counts(o);
	}
	o->reported = true;
	otlp_close(o);
}

const struct otlp_counts *otlp_count(const struct otlp *o)
{
	return &o->counts;
}

uint64_t otlp_given(const struct otlp *o, enum otlp_signal signal)
{
	return o->given[signal];
}

uint64_t otlp_lost(const struct otlp *o, enum otlp_signal signal)
{
	const struct otlp_count *c = &o->counts.signals[signal];
	uint64_t settled = c->delivered + c->replaced;

	/* What the process has not read yet, or what it has and is still waiting for, is lost with it. */
	if (o->socket >= 0)
		return c->rejected + c->full + o->outbox_full[signal];
	return settled < o->given[signal] ? o->given[signal] - settled : 0;
}

pid_t otlp_pid(const struct otlp *o)
{
	return o->pid;
}

void otlp_free(struct otlp *o)
{
	if (!o)
		return;
	otlp_close(o);
	if (o->pid > 0) {
		/* It may not have been done, and nobody reads from it any more. */
		kill(o->pid, SIGKILL);
		TEMP_FAILURE_RETRY(waitpid(o->pid, NULL, 0));
	}
	free(o);
}
