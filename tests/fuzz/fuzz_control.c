/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Both ends of `proftrace ctl`: any bytes as a request, in pieces, to a recorder; and any as the answer
 * of a recorder, which is another user's when root asks. The first byte says which.
 */
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/text.h"
#include "record/control/control.h"

#define FD 1000 /* a socket that is not there: what comes through it is the input */

static ssize_t take(int fd, void *out, size_t size, int flags);
static ssize_t give(int fd, const void *bytes, size_t size, int flags);
static int shut(int fd);
static int call_again(int directory, const char *name);
static void print_checked(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int ready(struct pollfd *fds, nfds_t n, int ms);
#define recv(fd, out, size, flags)	 take(fd, out, size, flags)
#define send(fd, bytes, size, flags)	 give(fd, bytes, size, flags)
#define close(fd)			 shut(fd)
#define print_visible			 print_checked
#define poll(fds, n, ms)		 ready(fds, n, ms)
#define epoll_ctl(epoll, how, fd, event) ((void)(epoll), (void)(fd), (void)(event), 0)
#define control_connect(directory, name) call_again(directory, name)
#include "record/control/control_call.c"
#include "record/control/control_server.c"
#include "record/control/control_chosen.c"
#include "record/control/control_stats.c"
#include "cmd/ctl.c"
#undef recv
#undef send
#undef close
#undef poll
#undef epoll_ctl
#undef print_visible

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
	const uint8_t *bytes;
	size_t size;
	bool closed;
	unsigned answers;
	size_t printed;
	size_t left; /* of a long answer */
} wire;

static void must(bool condition)
{
	if (!condition)
		abort();
}

/* A piece, as long as its first byte says. */
static ssize_t take(int fd, void *out, size_t size, int flags)
{
	size_t n;

	(void)flags;
	must(fd == FD && size > 0 && !wire.closed);
	if (!wire.size)
		return 0;
	n = wire.bytes[0] % 32 + 1;
	wire.bytes++, wire.size--;
	if (n > wire.size)
		n = wire.size;
	if (n > size)
		n = size;
	memcpy(out, wire.bytes, n);
	wire.bytes += n, wire.size -= n;
	return (ssize_t)n;
}

static ssize_t give(int fd, const void *bytes, size_t size, int flags)
{
	(void)flags;
	must(fd == FD && size > 0 && size < CONTROL_LONG_REPLY);
	/* A long one goes in pieces. */
	if (wire.left) {
		must(size == wire.left);
		size = size > 1000 ? 1000 : size;
		wire.left -= size;
		return (ssize_t)size;
	}
	wire.answers++;
	must(!memcmp(bytes, "ok ", 3) || !memcmp(bytes, "error ", 6) ||
	     !memcmp(bytes, "find ", 5) || !memcmp(bytes, "status\n", 7));
	if (size > 1000) {
		wire.left = size - 1000;
		size = 1000;
	}
	return (ssize_t)size;
}

static int shut(int fd)
{
	must(fd == FD && !wire.closed);
	wire.closed = true;
	return 0;
}

/* A recorder that turned us away is called again; what is left of the input is its next answer. */
static int call_again(int directory, const char *name)
{
	(void)directory, (void)name;
	wire.closed = false;
	return FD;
}

static int ready(struct pollfd *fds, nfds_t n, int ms)
{
	must(n == 1 && ms > 0);
	/* No descriptor: the recorder turned us away, and time passes until the next call. */
	if (fds->fd < 0)
		return 0;
	must(fds->fd == FD);
	fds->revents = POLLIN;
	return 1;
}

/* What goes to the terminal is well-formed, and none of it controls that. */
static void print_checked(FILE *out, const char *format, ...)
{
	static char text[TEXT_PRINTED];
	const unsigned char *at = (const unsigned char *)text;
	va_list args;
	size_t n;

	(void)out;
	va_start(args, format);
	n = format_visible(text, sizeof(text), format, args);
	va_end(args);
	must(n < sizeof(text) && n == strlen(text));
	while (*at) {
		uint32_t code;
		size_t length = utf8_decode(at, strlen((const char *)at), &code);

		must(length && (code == '\n' || !text_is_control(code)));
		at += length;
	}
	wire.printed += n;
}

/* --- the recording ------------------------------------------------------------------------------- */

void recording_pause(struct recording *r, bool pause)
{
	(void)r, (void)pause;
}

int recording_pause_process(struct recording *r, pid_t pid, bool pause, struct failure *f)
{
	(void)r, (void)pause;
	must(pid == 10 || pid == 11);
	return pid == 10 ? 0 : failure_set(f, -ESRCH, "no such traced process", "", "");
}

int target_has_role(pid_t pid, const char *role)
{
	must(role[0] && strlen(role) <= CONTROL_ROLE);
	return role[0] == 'l' ? -EAGAIN : pid == 10 || role[0] == 'b';
}

void recording_dump(struct recording *r)
{
	r->output_failed = !r->output_failed;
}

void recording_reset_table(struct recording *r)
{
	must(r->options->stats_only);
}

struct account recording_account(const struct recording *r)
{
	(void)r;
	return (struct account){ .marked = 10, .written = 9, .paused = 1 };
}

bool overhead_line(const struct recording *r, unsigned i, char *out, size_t size)
{
	(void)r;
	snprintf(out, size, "domain %u", i);
	return i < 2;
}

bool collector_line(const struct recording *r, unsigned i, char *line, size_t size)
{
	(void)r;
	snprintf(line, size, "collector %u", i);
	return i < 1;
}

void stats_from_tables(struct recording *r, uint64_t now)
{
	must(r->options->stats_only && now);
}

void metrics_write_recording(const struct metric_writer *w, void *context, const void *recording)
{
	must(w && context && recording);
}

void capture_catch_up(struct capture *capture)
{
	(void)capture;
}

bool capture_paused(const struct capture *capture, unsigned *ret_n)
{
	*ret_n = 1;
	(void)capture;
	return false;
}

unsigned capture_processes(const struct capture *capture)
{
	(void)capture;
	return 1;
}

unsigned capture_pids(const struct capture *capture, pid_t *pids, unsigned size)
{
	(void)capture;
	must(size == 1);
	pids[0] = 10;
	return 1;
}

bool capture_traces(const struct capture *capture, pid_t pid)
{
	(void)capture;
	return pid == 10;
}

/* A path as long as the answer, which then is cut. */
static void request(unsigned how)
{
	static char path[] = "a/rather/long/name/of/a/file/with/\033[31m\n/in/it.pftrace",
		    *command[] = { path };
	static struct written_file files[200];
	struct record_options asked = { .n_pids = 12, .stats_only = how & 1 };
	struct recording r = { .options = &asked, .n_files = how & 2 ? 200 : 0, .files = files };
	static struct consumer *stats;
	struct client client = { .fd = FD };
	struct control c = { .clients = { client } };
	unsigned i;

	if (!stats)
		stats = stats_new();
	r.stats = stats;
	for (i = 0; i < 200; i++)
		files[i] = (struct written_file){ .path = path, .format = "Perfetto" };
	if (how & 4)
		asked.command = command;
	for (i = 1; i < CLIENTS; i++)
		c.clients[i].fd = -1;
	while (c.clients[0].fd >= 0) {
		if (c.clients[0].table)
			send_table(&c.clients[0]);
		else
			client_handle_request(&c, &c.clients[0], &r);
		must(c.clients[0].n < sizeof(client.request));
		if (c.clients[0].waits) {
			must(r.stop_requested && !wire.answers);
			control_ended(&c, &r);
		}
	}
	must(wire.closed && wire.answers <= 1);
}

static void read_answer(unsigned how)
{
	static struct control_call call = { .name = "1.control" };

	/* A second is more than an input takes. */
	control_call_all(&call, 1, "status\n", CONTROL_REPLY, 1, how & 2 ? "ok yes" : NULL);
	must(call.error <= 0 && wire.closed && call.used < CONTROL_REPLY);
	if (call.error)
		return;
	ctl_print_reply("", call.reply, how & 1);
	must(wire.printed <= strlen(call.reply) + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	memset(&wire, 0, sizeof(wire));
	wire.bytes = data + 1;
	wire.size = size - 1;
	if (data[0] & 0x80)
		read_answer(data[0]);
	else
		request(data[0]);
	return 0;
}
