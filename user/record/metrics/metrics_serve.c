/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The process that serves metrics. It answers one request at a time: scrapers ask every few seconds, and the answer
 * takes the recorder milliseconds.
 */
#include "record/metrics/metrics.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/packet.h"
#include "privilege/confine.h"
#include "record/control/control.h"
#include "viewer/http.h"

enum {
	MOST_CONNECTIONS = 256,
	MOST_IDLE = 192,	/* if as many came after one that is still open, it is closed */
	IDLE_LIMIT = 2,		/* seconds after which an idle connection is closed */
	ANSWER_LIMIT = 5000,	/* ms in which the recorder has to answer */
	AT_ONCE_NS = 500000000, /* that the recorder may need for answers at once, */
	SHARE = 10,		/* then one part in so many of the time */
	/* Of some megabytes each, where there are many names. Who asks and does not read shall not fill the memory. */
	MOST_ANSWERS = 8,
	BLOCK = 1 << 16,
};

/* A table, which any number of connections are sent. */
struct answer {
	struct metrics_server *server;
	struct MHD_Response *response; /* the server's own use of it */
	uint64_t nth;
	bool is_closed; /* its connections are */
	char *bytes;
	size_t size;
	struct answer *older;
};

struct connection {
	int fd;		 /* -1: closed */
	uint64_t answer; /* which it was sent last */
};

struct metrics_server {
	int recorder;
	bool is_local; /* listens on a loopback address */
	char host[INET6_ADDRSTRLEN + 16];
	char port[8];
	struct connection came[MOST_IDLE]; /* the latest ones */
	unsigned n_came;
	struct answer *latest[2]; /* as text, and as protocol buffers */
	struct answer *answers;	  /* all, the latest first */
	uint64_t n_answers;
	uint64_t used_ns, at_ns; /* of the recorder's time, as of this moment */
};

/* --- the recorder's answer --------------------------------------------------------------------- */

/* Reads until the end of the connection. Returns allocated text, or NULL. */
static char *read_answer(int fd, size_t *ret_size)
{
	uint64_t until = clock_ns(CLOCK_MONOTONIC) + ANSWER_LIMIT * 1000000ull;
	size_t capacity = 1 << 16, used = 0;
	char *text = malloc(capacity);

	while (text) {
		uint64_t now = clock_ns(CLOCK_MONOTONIC);
		struct pollfd wait = { .fd = fd, .events = POLLIN };
		char *grown;
		ssize_t n;

		if (now >= until || poll(&wait, 1, (int)((until - now) / 1000000) + 1) <= 0)
			break;
		n = recv(fd, text + used, capacity - used, MSG_DONTWAIT);
		if (n == 0) {
			*ret_size = used;
			return text;
		}
		if (n < 0)
			break;
		used += (size_t)n;
		if (used < capacity)
			continue;
		grown = capacity < CONTROL_LONG_REPLY ? realloc(text, 2 * capacity) : NULL;
		if (!grown)
			break;
		capacity *= 2;
		text = grown;
	}
	free(text);
	return NULL;
}

static char *request_table(const struct metrics_server *s, bool protobuf, size_t *ret_size)
{
	char request[CONTROL_REQUEST], *answer = NULL;
	int pair[2], n, error;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		return NULL;
	n = snprintf(request, sizeof(request), "%s%d 0 0 -\n",
		     protobuf ? METRICS_REQUEST_PROTOBUF : METRICS_REQUEST_TEXT, METRICS_NAMES);
	error = packet_send(s->recorder, "", 1, pair[1]);
	close(pair[1]);
	if (!error && send(pair[0], request, (size_t)n, MSG_NOSIGNAL) == n)
		answer = read_answer(pair[0], ret_size);
	close(pair[0]);
	return answer;
}

/* --- answers ----------------------------------------------------------------------------------- */

static ssize_t answer_read(void *context, uint64_t at, char *out, size_t most)
{
	const struct answer *a = context;
	size_t n = a->size - at < most ? a->size - at : most;

	memcpy(out, a->bytes + at, n);
	return (ssize_t)n;
}

/* Neither the server nor a connection uses it any more. */
static void answer_free(void *context)
{
	struct answer *a = context, **at = &a->server->answers;

	while (*at != a)
		at = &(*at)->older;
	*at = a->older;
	free(a->bytes);
	free(a);
}

static bool response_describe(struct MHD_Response *response, const char *type)
{
	return http.add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type) &&
	       http.add_response_header(response, "X-Content-Type-Options", "nosniff");
}

/* Takes the allocated text, if it returns an answer. */
static struct answer *answer_new(struct metrics_server *s, char *bytes, size_t size, bool protobuf)
{
	struct answer *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	*a = (struct answer){ .server = s, .nth = ++s->n_answers, .size = size };
	a->response = http.create_response_from_callback(size, BLOCK, answer_read, a, answer_free);
	if (!a->response) {
		free(a);
		return NULL;
	}
	a->older = s->answers;
	s->answers = a;
	if (!response_describe(
		    a->response,
		    protobuf ? "application/vnd.google.protobuf; "
			       "proto=io.prometheus.client.MetricFamily; encoding=delimited"
			     : "application/openmetrics-text; version=1.0.0; charset=utf-8")) {
		http.destroy_response(a->response);
		return NULL;
	}
	a->bytes = bytes;
	return a;
}

/* Closes the connections that are still sent the oldest table, if there are too many tables. */
static void answers_limit(const struct metrics_server *s)
{
	struct answer *a, *oldest = NULL;
	unsigned i, n = 0;

	for (a = s->answers; a; a = a->older) {
		if (a->is_closed || a == s->latest[false] || a == s->latest[true])
			continue;
		oldest = a;
		n++;
	}
	if (n <= MOST_ANSWERS)
		return;
	oldest->is_closed = true;
	for (i = 0; i < MOST_IDLE; i++) {
		if (s->came[i].fd >= 0 && s->came[i].answer == oldest->nth)
			shutdown(s->came[i].fd, SHUT_RDWR);
	}
}

/*
 * The recorder has a higher priority than the programs of the machine. Whoever asks without end shall not make it do nothing
 * else: then older answers are repeated.
 */
static struct answer *answer_renew(struct metrics_server *s, bool protobuf)
{
	uint64_t begin_ns = clock_ns(CLOCK_MONOTONIC), gained_ns = (begin_ns - s->at_ns) / SHARE;
	struct answer **latest = &s->latest[protobuf];
	size_t size = 0;
	char *bytes;

	s->used_ns -= gained_ns < s->used_ns ? gained_ns : s->used_ns;
	s->at_ns = begin_ns;
	if (*latest && s->used_ns >= AT_ONCE_NS)
		return *latest;
	if (*latest)
		http.destroy_response((*latest)->response);
	*latest = NULL;
	bytes = request_table(s, protobuf, &size);
	s->used_ns += clock_ns(CLOCK_MONOTONIC) - begin_ns;
	if (bytes && size > 3 && !memcmp(bytes, "ok ", 3)) {
		memmove(bytes, bytes + 3, size - 3);
		*latest = answer_new(s, bytes, size - 3, protobuf);
	}
	if (!*latest)
		free(bytes);
	answers_limit(s);
	return *latest;
}

/* --- requests ---------------------------------------------------------------------------------- */

static enum MHD_Result queue_answer(struct MHD_Connection *connection, unsigned status,
				    struct MHD_Response *response, const char *type)
{
	enum MHD_Result result = MHD_NO;

	if (response && response_describe(response, type))
		result = http.queue_response(connection, status, response);
	if (response)
		http.destroy_response(response);
	return result;
}

static enum MHD_Result queue_text(struct MHD_Connection *connection, unsigned status,
				  const char *text)
{
	return queue_answer(connection, status,
			    http.create_response_from_buffer(strlen(text), (void *)text,
							     MHD_RESPMEM_PERSISTENT),
			    "text/plain; charset=utf-8");
}

/*
 * A web page whose name was made to point at this machine must not read the metrics by the user's browser. Who listens
 * for the network is asked by many names.
 */
static bool host_is_wrong(const struct metrics_server *s, struct MHD_Connection *connection)
{
	const char *host =
		http.lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);

	if (!s->is_local || !host)
		return !host;
	return strcmp(host, s->host) &&
	       (strncmp(host, "localhost:", 10) || strcmp(host + 10, s->port));
}

/* Where a connection is noted. Others may have come since, so that it is not any more. */
static struct connection *connection_find(struct MHD_Connection *connection)
{
	const int fd =
		http.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	struct connection *noted =
		http.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
			->socket_context;

	return noted->fd == fd ? noted : NULL;
}

static enum MHD_Result answer_scrape(struct metrics_server *s, struct MHD_Connection *connection)
{
	const bool protobuf = metrics_prefers_protobuf(
		http.lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT));
	const struct answer *answer = answer_renew(s, protobuf);
	struct connection *noted = connection_find(connection);

	if (!answer)
		return queue_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
				  "the recorder does not answer\n");
	if (noted)
		noted->answer = answer->nth;
	return http.queue_response(connection, MHD_HTTP_OK, answer->response);
}

static enum MHD_Result handle_request(void *context, struct MHD_Connection *connection,
				      const char *url, const char *method, const char *version,
				      const char *upload, size_t *upload_size, void **request)
{
	struct metrics_server *s = context;

	(void)version, (void)upload, (void)request;
	if (*upload_size)
		return MHD_NO;
	if (host_is_wrong(s, connection))
		return queue_text(connection, MHD_HTTP_FORBIDDEN,
				  "the address is not that of --metrics\n");
	if (strcmp(method, "GET") && strcmp(method, "HEAD"))
		return queue_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "");
	if (strcmp(url, "/metrics"))
		return queue_text(connection, MHD_HTTP_NOT_FOUND, "the metrics are at /metrics\n");
	return answer_scrape(s, connection);
}

/*
 * A scraper sends its request at once. Somebody who opens connections and sends nothing would keep it out until these are
 * timed out: 10,000 take more than a minute, as many at a time as may be open.
 */
static void note_connection(void *context, struct MHD_Connection *connection, void **slot,
			    enum MHD_ConnectionNotificationCode code)
{
	struct metrics_server *s = context;
	struct connection *noted;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		noted = connection_find(connection);
		if (noted)
			noted->fd = -1;
		return;
	}
	noted = &s->came[s->n_came++ % MOST_IDLE];
	if (noted->fd >= 0)
		shutdown(noted->fd, SHUT_RDWR);
	*noted = (struct connection){
		.fd = http.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)
			      ->connect_fd,
	};
	*slot = noted;
}

/* --- the process ------------------------------------------------------------------------------- */

static void find_host(struct metrics_server *s, const struct metrics_address *address)
{
	char text[INET6_ADDRSTRLEN] = "";
	unsigned port;

	if (address->socket.any.sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &address->socket.v6.sin6_addr, text, sizeof(text));
		port = ntohs(address->socket.v6.sin6_port);
		s->is_local = IN6_IS_ADDR_LOOPBACK(&address->socket.v6.sin6_addr);
		snprintf(s->host, sizeof(s->host), "[%s]:%u", text, port);
	} else {
		inet_ntop(AF_INET, &address->socket.v4.sin_addr, text, sizeof(text));
		port = ntohs(address->socket.v4.sin_port);
		s->is_local = ntohl(address->socket.v4.sin_addr.s_addr) >> 24 == 127;
		snprintf(s->host, sizeof(s->host), "%s:%u", text, port);
	}
	snprintf(s->port, sizeof(s->port), "%u", port);
}

/*
 * Waits until there is something to do. The recorder never sends anything: that its socket is readable means that it has
 * ended. That has to be seen at once: whoever starts it again needs the address.
 */
static bool wait_for_requests(struct MHD_Daemon *daemon, int epoll, int recorder)
{
	struct pollfd wait[] = { { .fd = epoll, .events = POLLIN },
				 { .fd = recorder, .events = POLLIN } };
	MHD_UNSIGNED_LONG_LONG timeout;
	int ms = -1;

	if (http.get_timeout(daemon, &timeout) == MHD_YES)
		ms = timeout < INT_MAX ? (int)timeout : INT_MAX;
	poll(wait, 2, ms);
	return !wait[1].revents;
}

int metrics_serve(int listener, int recorder, const struct metrics_address *address)
{
	struct metrics_server s = { .recorder = recorder };
	const union MHD_DaemonInfo *info;
	struct MHD_Daemon *daemon;

	find_host(&s, address);
	for (unsigned i = 0; i < MOST_IDLE; i++)
		s.came[i].fd = -1;
	daemon = http.start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, handle_request, &s,
				   MHD_OPTION_LISTEN_SOCKET, listener, MHD_OPTION_CONNECTION_LIMIT,
				   MOST_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, IDLE_LIMIT,
				   MHD_OPTION_NOTIFY_CONNECTION, note_connection, &s,
				   MHD_OPTION_END);
	if (!daemon || confine_exporter())
		return 1;
	info = http.get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
	while (wait_for_requests(daemon, info->epoll_fd, recorder)) {
		if (http.run(daemon) != MHD_YES)
			return 1;
	}
	return 0;
}
