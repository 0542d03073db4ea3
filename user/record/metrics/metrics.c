/* SPDX-License-Identifier: BSD-2-Clause */
/* The recorder's side of --metrics: it starts the process that serves, and takes the connections that it is sent. */
#include "record/metrics/metrics.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/quantity.h"
#include "base/packet.h"
#include "privilege/bare.h"
#include "privilege/invoker.h"
#include "viewer/http.h"

enum {
	/* Where the process has its two sockets. */
	LISTENER = 3,
	RECORDER = 4,
};

/* --- the address ------------------------------------------------------------------------------- */

/* "[::ffff:127.0.0.1]" is 127.0.0.1 for clients, and so it is for the check of what they ask for (metrics_serve.c). */
static void metrics_unmap_address(struct metrics_address *a)
{
	const struct sockaddr_in6 v6 = a->socket.v6;

	if (!IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr))
		return;
	a->socket.v4 = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = v6.sin6_port };
	memcpy(&a->socket.v4.sin_addr, &v6.sin6_addr.s6_addr[12], 4);
}

bool metrics_parse_address(const char *text, struct metrics_address *ret_address)
{
	const char *colon = strrchr(text, ':');
	char address[INET6_ADDRSTRLEN + 2] = "127.0.0.1";
	size_t n = colon ? (size_t)(colon - text) : 0;
	uint64_t port;

	if (n >= sizeof(address) || (colon && !n))
		return false;
	if (n)
		snprintf(address, sizeof(address), "%.*s", (int)n, text);
	if (!parse_integer(colon ? colon + 1 : text, 1, 65535, &port))
		return false;
	*ret_address = (struct metrics_address){ .is_set = true };
	n = strlen(address);
	if (address[0] == '[' && address[n - 1] == ']') {
		address[n - 1] = '\0';
		ret_address->socket.v6.sin6_family = AF_INET6;
		ret_address->socket.v6.sin6_port = htons((uint16_t)port);
		if (inet_pton(AF_INET6, address + 1, &ret_address->socket.v6.sin6_addr) != 1)
			return false;
		metrics_unmap_address(ret_address);
		return true;
	}
	ret_address->socket.v4.sin_family = AF_INET;
	ret_address->socket.v4.sin_port = htons((uint16_t)port);
	return inet_pton(AF_INET, address, &ret_address->socket.v4.sin_addr) == 1;
}

/* --- the process ------------------------------------------------------------------------------- */

/* As the user who called: under sudo, a port below 1024 is not for everybody who may record. */
static int metrics_listen(const void *context)
{
	const struct metrics_address *address = context;
	bool v6 = address->socket.any.sa_family == AF_INET6;
	int fd = socket(address->socket.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			0);
	const int one = 1;
	int error;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (!bind(fd, &address->socket.any,
		  v6 ? sizeof(address->socket.v6) : sizeof(address->socket.v4)) &&
	    !listen(fd, 16))
		return fd;
	error = -errno;
	close(fd);
	return error;
}

struct metrics_process {
	int recorder;
	const struct metrics_address *address;
};

static void metrics_run(void *context)
{
	const struct metrics_process *process = context;
	int recorder = process->recorder, listener = -1;
	sigset_t none;
	char byte;

	/* Whatever ends the recorder also ends this process: its socket is closed. Ctrl-C is the recorder's. */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_NAME, "proftrace-metri");
	if (packet_receive(recorder, &byte, sizeof(byte), &listener) < 0)
		_exit(1);
	/* From 16 on, neither descriptor is in the place of the other. */
	listener = fcntl(listener, F_DUPFD_CLOEXEC, 16);
	recorder = fcntl(recorder, F_DUPFD_CLOEXEC, 16);
	if (descriptors_put(listener, LISTENER) || descriptors_keep(&recorder, RECORDER) ||
	    !invoker_drop_all())
		_exit(1);
	_exit(metrics_serve(LISTENER, RECORDER, process->address));
}

int metrics_start(const struct metrics_address *address, struct metrics *ret_metrics,
		  struct failure *f)
{
	struct metrics_process process = { .address = address };
	int pair[2], listener, error = http_open();

	if (error) {
		if (error == -EMFILE || error == -ENFILE)
			return failure_set(f, error, "cannot serve metrics", "", NULL);
		failure_set(f, error, "cannot serve metrics", "", "libmicrohttpd is missing");
		failure_hint_library(f, "libmicrohttpd12");
		return error;
	}
	listener = invoker_open_by(metrics_listen, address);
	if (listener < 0)
		return failure_set(f, listener, "cannot serve metrics", "", NULL);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		error = -errno;
		close(listener);
		return failure_set(f, error, "cannot serve metrics", "", NULL);
	}
	process.recorder = pair[1];
	error = packet_send(pair[0], "", 1, listener);
	ret_metrics->pid = error ? -1 : bare_fork(pair[1], metrics_run, &process);
	error = error ?: ret_metrics->pid < 0 ? ret_metrics->pid : 0;
	close(listener);
	close(pair[1]);
	ret_metrics->socket = pair[0];
	if (!error)
		return 0;
	metrics_stop(ret_metrics);
	return failure_set(f, error, "cannot serve metrics", "", NULL);
}

int metrics_accept(struct metrics *metrics)
{
	int fd = -1, n;
	char byte;

	n = packet_receive(metrics->socket, &byte, sizeof(byte), &fd);
	if (n > 0 && fd >= 0)
		return fd;
	if (fd >= 0)
		close(fd);
	if (n != -EPIPE && n != -ECONNRESET)
		return -EAGAIN;
	close(metrics->socket);
	metrics->socket = -1;
	return -EPIPE;
}

void metrics_stop(struct metrics *metrics)
{
	if (metrics->pid <= 0)
		return;
	if (metrics->socket >= 0)
		close(metrics->socket);
	while (waitpid(metrics->pid, NULL, 0) < 0 && errno == EINTR)
		;
	metrics->pid = 0;
}
