/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recorder's side of `proftrace ctl`. It never blocks: an idle client loses its slot when
 * another client needs it, and so does one that does not read a long reply.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "capture/capture.h"
#include "base/clock.h"
#include "record/control/control.h"
#include "record/metrics/metrics.h"
#include "record/record.h"

#define CLIENTS	       8
#define FILES_LISTED   8
#define DOMAINS_LISTED 8

struct client {
	int fd;	      /* -1: free slot */
	bool waits;   /* for the end of the recording */
	bool scrapes; /* may do nothing else */
	uint64_t nth; /* order of arrival */
	size_t n;
	char request[CONTROL_REQUEST];
	char *table; /* a long reply that is being sent; allocated */
	size_t sent, table_size;
};

struct control {
	int directory, listener, epoll;
	char name[32];
	uint64_t came;
	struct client clients[CLIENTS];
};

struct reply_text {
	size_t n;
	char text[CONTROL_REPLY];
};

/* A part of a line, or its end: `format` has a line feed at its end or none. */
static void reply_add(struct reply_text *a, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void reply_add(struct reply_text *a, const char *format, ...)
{
	va_list args;

	if (sizeof(a->text) - a->n < 2)
		return;
	va_start(args, format);
	a->n += format_visible(a->text + a->n, sizeof(a->text) - a->n, format, args);
	va_end(args);
}

/*
 * Removes sockets of recorders that were killed, on which nobody listens. A stopped recorder
 * accepts no connections, and after a few of them connect() would block; so these connections do
 * not block.
 */
static void remove_stale(int directory)
{
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!list) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(list))) {
		const char *dot = strchr(entry->d_name, '.');
		int other;

		if (!isdigit((unsigned char)entry->d_name[0]) || !dot ||
		    strcmp(dot, CONTROL_SUFFIX))
			continue;
		other = control_connect(directory, entry->d_name);
		if (other == -ECONNREFUSED)
			unlinkat(directory, entry->d_name, 0);
		else if (other >= 0)
			close(other);
	}
	closedir(list);
}

int control_own_directory(void)
{
	int fd = -ENOENT;
	unsigned i;

	for (i = 0; i < CONTROL_PLACES && fd < 0; i++) {
		char path[256];

		control_place(i, geteuid(), path, sizeof(path));
		if (path[0])
			fd = control_directory(path, geteuid(), true);
	}
	return fd < 0 ? control_make_shared_place(geteuid()) : fd;
}

static int control_epoll_add(int epoll, int fd, unsigned number)
{
	struct epoll_event e = { .events = EPOLLIN, .data.u32 = number };

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e) ? -errno : 0;
}

int control_open(struct control **ret_control)
{
	struct control *c = calloc(1, sizeof(*c));
	int error = 0;
	unsigned i;

	if (!c)
		return -ENOMEM;
	for (i = 0; i < CLIENTS; i++)
		c->clients[i].fd = -1;
	c->listener = c->epoll = -1;
	c->directory = control_own_directory();
	if (c->directory < 0) {
		error = c->directory;
		free(c);
		return error;
	}
	snprintf(c->name, sizeof(c->name), "%d" CONTROL_SUFFIX, (int)getpid());
	remove_stale(c->directory);
	c->listener = control_listen(c->directory, c->name);
	if (c->listener < 0)
		error = c->listener;
	if (!error) {
		c->epoll = epoll_create1(EPOLL_CLOEXEC);
		error = c->epoll < 0 ? -errno : control_epoll_add(c->epoll, c->listener, CLIENTS);
	}
	if (error) {
		control_free(c);
		return error;
	}
	*ret_control = c;
	return 0;
}

static void client_close(struct client *client)
{
	if (client->fd >= 0)
		close(client->fd);
	client->fd = -1;
	free(client->table);
	client->table = NULL;
}

void control_free(struct control *c)
{
	unsigned i;

	if (!c)
		return;
	for (i = 0; i < CLIENTS; i++)
		client_close(&c->clients[i]);
	if (c->epoll >= 0)
		close(c->epoll);
	if (c->listener >= 0) {
		close(c->listener);
		unlinkat(c->directory, c->name, 0);
	}
	close(c->directory);
	free(c);
}

int control_fd(const struct control *c)
{
	return c->epoll;
}

/*
 * Returns a free slot, or that of the oldest client that does not wait for the end of the
 * recording.
 */
static struct client *place(struct control *c)
{
	struct client *first = NULL;
	unsigned i;

	for (i = 0; i < CLIENTS; i++) {
		struct client *client = &c->clients[i];

		if (client->fd < 0)
			return client;
		if (!client->waits && (!first || client->nth < first->nth))
			first = client;
	}
	if (first)
		client_close(first);
	return first;
}

static void accept_client(struct control *c)
{
	int fd = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct client *client;
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (fd < 0)
		return;
	/* The permissions of directory and socket already ensure this. */
	client = NULL;
	if (!getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) &&
	    (peer.uid == 0 || peer.uid == geteuid()))
		client = place(c);
	if (!client || control_epoll_add(c->epoll, fd, client - c->clients)) {
		close(fd);
		return;
	}
	*client = (struct client){ .fd = fd, .nth = ++c->came };
}

/* A new scrape only takes the place of an unfinished one, never that of a user's request. */
static struct client *place_scraper(struct control *c)
{
	unsigned i;

	for (i = 0; i < CLIENTS; i++) {
		if (c->clients[i].fd >= 0 && c->clients[i].scrapes) {
			client_close(&c->clients[i]);
			return &c->clients[i];
		}
	}
	for (i = 0; i < CLIENTS; i++) {
		if (c->clients[i].fd < 0)
			return &c->clients[i];
	}
	return NULL;
}

void control_add_scraper(struct control *c, int fd)
{
	struct client *client = place_scraper(c);
	socklen_t size = sizeof(int);
	int domain = 0;

	/* Waiting for anything but a socket of this machine could be waiting for a hostile file system. */
	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) || domain != AF_UNIX)
		client = NULL;
	if (!client || control_epoll_add(c->epoll, fd, client - c->clients))
		close(fd);
	else
		*client = (struct client){ .fd = fd, .nth = ++c->came, .scrapes = true };
}

static void client_send_reply(struct client *client, const struct reply_text *a)
{
	/*
	 * The reply is smaller than any socket buffer. A failure means that the client has
	 * disconnected.
	 */
	if (send(client->fd, a->text, a->n, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		errno = 0;
	client_close(client);
}

/* Sends as much of a long reply as the socket buffer takes now. */
static void send_table(struct client *client)
{
	ssize_t n;

	while (client->sent < client->table_size) {
		n = send(client->fd, client->table + client->sent,
			 client->table_size - client->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0)
			break;
		client->sent += (size_t)n;
	}
	client_close(client);
}

static void reply_add_failure(struct reply_text *a, const struct failure *f)
{
	reply_add(a, "error %s", f->what);
	if (f->object[0])
		reply_add(a, " '%s'", f->object);
	if (f->reason[0])
		reply_add(a, ": %s", f->reason);
	if (f->hint[0])
		reply_add(a, " (%s)", f->hint);
}

static void client_send_stats(struct control *c, struct client *client, struct recording *r)
{
	struct epoll_event e = { .events = EPOLLOUT, .data.u32 = (uint32_t)(client - c->clients) };
	struct failure f = { 0 };
	struct reply_text a = { 0 };

	if (control_stats(r, client->request, client->scrapes, &client->table, &client->table_size,
			  &f)) {
		reply_add_failure(&a, &f);
		client_send_reply(client, &a);
	} else if (epoll_ctl(c->epoll, EPOLL_CTL_MOD, client->fd, &e)) {
		client_close(client);
	} else {
		send_table(client);
	}
}

/* Names the recording: its recorder and its processes. */
static void reply_add_name(struct reply_text *a, const struct recording *r)
{
	unsigned i, n = r->options->n_pids;

	reply_add(a, "recorder %d of ", (int)getpid());
	if (r->options->command) {
		reply_add(a, "'%s', process %d", r->options->command[0], (int)r->command.pid);
		return;
	}
	if (!n) {
		reply_add(a, "%u processes that match", capture_processes(r->capture));
		return;
	}
	reply_add(a, n == 1 ? "process " : "processes ");
	for (i = 0; i < n && i < 8; i++)
		reply_add(a, "%s%d", i ? ", " : "", (int)r->options->pids[i]);
	if (n > 8)
		reply_add(a, " and %u more", n - 8);
}

static void reply_add_file(struct reply_text *a, const char *path, uint64_t bytes,
			   const char *format)
{
	char size[32];

	print_size(size, sizeof(size), bytes);
	reply_add(a, "%s  %s (%s)\n", path, size, format);
}

/* The latest finished files, and those being written. */
static void reply_add_files(struct reply_text *a, const struct recording *r)
{
	unsigned i;

	if (r->n_files > FILES_LISTED)
		reply_add(a, "%u older file%s\n", r->n_files - FILES_LISTED,
			  r->n_files - FILES_LISTED == 1 ? "" : "s");
	for (i = r->n_files > FILES_LISTED ? r->n_files - FILES_LISTED : 0; i < r->n_files; i++)
		reply_add_file(a, r->files[i].path, r->files[i].bytes, r->files[i].format);
	for (i = 0; i < r->n_outputs && i < FILES_LISTED; i++)
		reply_add_file(a, r->outputs[i].path, sink_size(r->outputs[i].sink),
			       r->outputs[i].format);
}

static void reply_add_count(struct reply_text *a, uint64_t n, const char *what)
{
	if (n)
		reply_add(a, ", %" PRIu64 " %s", n, what);
}

/*
 * The accounting of all marks. It does not yet include the marks that a flight recorder has in
 * memory.
 */
static void reply_add_marks(struct reply_text *a, const struct recording *r)
{
	struct account account = recording_account(r);
	uint64_t settled = account.written + account_lost(&account) + account.paused +
			   account.unscheduled + account.switched_off + account.unrecorded +
			   account.left_out;

	reply_add(a,
		  "%" PRIu64 " mark%s: %" PRIu64 " written, %" PRIu64 " lost, %" PRIu64
		  " while paused",
		  account.marked, account.marked == 1 ? "" : "s", account.written,
		  account_lost(&account) - account.lost[LOST_CUT], account.paused);
	reply_add_count(a, account.lost[LOST_CUT], "cut");
	reply_add_count(a, account.left_out, "of categories left out");
	if (r->scheduler)
		reply_add(a, ", %" PRIu64 " outside the schedule", account.unscheduled);
	reply_add_count(a, account.switched_off, "of domains being switched off");
	reply_add_count(a, account.unrecorded,
			r->flight ? "older than what is kept" : "while no file was written");
	if (account.marked > settled)
		reply_add_count(a, account.marked - settled,
				r->flight ? "in memory" : "not yet written");
	reply_add(a, "\n");
	if (account.other_names)
		reply_add(a, "%" PRIu64 " use%s of the name (other): too many distinct names\n",
			  account.other_names, account.other_names == 1 ? "" : "s");
}

static void reply_add_state(struct reply_text *a, const struct recording *r)
{
	double seconds = (clock_ns(CLOCK_MONOTONIC) - r->started_ns) / 1e9;
	unsigned n = capture_processes(r->capture), n_paused;
	bool all = capture_paused(r->capture, &n_paused);

	reply_add(a, "%s for %.1f s, %u process%s alive", all ? "paused, recording" : "recording",
		  seconds, n, n == 1 ? "" : "es");
	if (!all && n_paused)
		reply_add(a, ", %u of them paused", n_paused);
	reply_add(a, "\n");
}

static void reply_add_status(struct reply_text *a, const struct recording *r)
{
	char line[COLLECTOR_LINE];
	unsigned i;

	reply_add(a, "ok ");
	reply_add_name(a, r);
	reply_add(a, "\n");
	reply_add_state(a, r);
	reply_add_marks(a, r);
	for (i = 0; i < DOMAINS_LISTED && overhead_line(r, i, line, sizeof(line)); i++)
		reply_add(a, "%s\n", line);
	if (overhead_line(r, i, line, sizeof(line)))
		reply_add(a, "and others\n");
	for (i = 0; collector_line(r, i, line, sizeof(line)); i++)
		reply_add(a, "%s\n", line);
	reply_add_files(a, r);
}

static void reply_add_chosen(struct reply_text *a, const char *request, struct recording *r)
{
	struct failure f = { 0 };
	unsigned n;

	if (control_chosen(r, request, &n, &f)) {
		reply_add_failure(a, &f);
		return;
	}
	reply_add(a, "ok %s: %u process%s, of ",
		  request[0] == 'p'   ? "paused"
		  : request[0] == 'r' ? "resumed"
		  : r->output_failed  ? "not everything could be written"
				      : "written",
		  n, n == 1 ? "" : "es");
	reply_add_name(a, r);
	if (request[0] == 'd') {
		reply_add(a, "\n");
		reply_add_files(a, r);
	}
}

static void obey(struct control *c, struct client *client, struct recording *r)
{
	struct reply_text a = { 0 };
	int pid;

	if (client->scrapes &&
	    strncmp(client->request, METRICS_REQUEST_TEXT, strlen(METRICS_REQUEST_TEXT)) &&
	    strncmp(client->request, METRICS_REQUEST_PROTOBUF, strlen(METRICS_REQUEST_PROTOBUF))) {
		client_close(client);
		return;
	}
	if (!strncmp(client->request, "stats ", 6)) {
		client_send_stats(c, client, r);
		return;
	}
	if (!strcmp(client->request, "status")) {
		reply_add_status(&a, r);
	} else if (control_is_chosen(client->request)) {
		reply_add_chosen(&a, client->request, r);
	} else if (!strcmp(client->request, "pause")) {
		recording_pause(r, true);
		reply_add(&a, "ok paused: ");
		reply_add_name(&a, r);
	} else if (!strcmp(client->request, "resume")) {
		recording_pause(r, false);
		reply_add(&a, "ok resumed: ");
		reply_add_name(&a, r);
	} else if (!strcmp(client->request, "dump")) {
		recording_dump(r);
		reply_add(&a, "ok %s: ",
			  r->output_failed ? "not everything could be written" : "written");
		reply_add_name(&a, r);
		reply_add(&a, "\n");
		reply_add_files(&a, r);
	} else if (!strcmp(client->request, "reset")) {
		if (r->options->stats_only) {
			recording_reset_table(r);
			reply_add(&a, "ok reset the table: ");
			reply_add_name(&a, r);
		} else {
			reply_add(&a,
				  "error only a recording with --stats-only has a table to reset");
		}
	} else if (!strcmp(client->request, "stop")) {
		r->stop_requested = true;
		client->waits = true;
		return;
	} else if (sscanf(client->request, "find %d", &pid) == 1) {
		bool ours = pid == getpid() || (r->options->service && pid == getppid()) ||
			    capture_traces(r->capture, pid);

		reply_add(&a, ours ? "ok yes" : "ok no");
	} else {
		reply_add(&a, "error unknown request");
	}
	client_send_reply(client, &a);
}

static void client_handle_request(struct control *c, struct client *client, struct recording *r)
{
	ssize_t n = recv(client->fd, client->request + client->n,
			 sizeof(client->request) - 1 - client->n, MSG_DONTWAIT);
	char *end;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* It has sent its request, so this can only be the end of the connection. */
	if (n <= 0 || client->waits) {
		client_close(client);
		return;
	}
	client->n += n;
	client->request[client->n] = '\0';
	end = strchr(client->request, '\n');
	if (end) {
		*end = '\0';
		obey(c, client, r);
	} else if (client->n == sizeof(client->request) - 1) {
		client_close(client);
	}
}

void control_serve(struct control *c, struct recording *r)
{
	struct epoll_event events[CLIENTS + 1];
	int i, n = epoll_wait(c->epoll, events, CLIENTS + 1, 0);

	/* Existing clients come first, because a new one may need the slot of one of them. */
	for (i = 0; i < n; i++) {
		struct client *client = &c->clients[events[i].data.u32 % CLIENTS];

		if (events[i].data.u32 >= CLIENTS || client->fd < 0)
			continue;
		if (client->table)
			send_table(client);
		else
			client_handle_request(c, client, r);
	}
	for (i = 0; i < n; i++) {
		if (events[i].data.u32 == CLIENTS)
			accept_client(c);
	}
}

void control_ended(struct control *c, struct recording *r)
{
	struct reply_text a = { 0 };
	unsigned i;

	reply_add(&a, "ok stopped: ");
	reply_add_name(&a, r);
	reply_add(&a, "\n");
	reply_add_marks(&a, r);
	reply_add_files(&a, r);
	for (i = 0; i < CLIENTS; i++) {
		if (c->clients[i].fd >= 0 && c->clients[i].waits)
			client_send_reply(&c->clients[i], &a);
	}
}
