/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Serves one file to the viewer.
 *
 * The viewer is a page of another origin that runs in a browser on this machine. It may read the trace because
 * the response names its origin. Two others can connect to the loopback interface:
 *
 * - Processes of other users. The kernel knows the user of each connection (sock_diag(7)); those of others are closed
 *   before a byte of them is read, so they can neither read the trace nor occupy connections.
 * - Web pages in the same browser, for example by DNS rebinding. They do not know the path, which has 128 random
 *   bits, and cannot forge the Host header.
 *
 * Nothing secret may stand in the arguments of a process, which all users can read. So the browser is started with the
 * address of this server alone, and this server redirects it to the viewer's page with the secret path.
 */
#include "viewer/viewer.h"
#include "viewer/http.h"
#include "viewer/peer_user.h"
#include "viewer/ui_files.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* Connections of the same user at a time, and the seconds after which an idle one is closed. */
#define MOST_CONNECTIONS 64
#define IDLE_LIMIT	 5

struct viewer_server {
	struct MHD_Daemon *daemon;
	const struct viewer_options *options;
	int fd;	   /* the trace */
	int event; /* readable when it was fetched */
	uint64_t size;
	char path[64];	/* of the trace: "/<token>" */
	char *redirect; /* the viewer's address, for "/"; NULL: not known yet */
	char host[32];	/* "127.0.0.1:9001" */
	/*
	 * Whether the kernel tells whose a connection is. Where not, only the secret path protects the trace, and
	 * nobody is redirected to it.
	 */
	bool knows_users;
	uint64_t fetched;
};

static enum MHD_Result server_queue_response(struct MHD_Connection *connection,
					     const struct viewer_server *s, unsigned status,
					     struct MHD_Response *response)
{
	enum MHD_Result result = MHD_NO;

	if (response &&
	    http.add_response_header(response, "Access-Control-Allow-Origin", s->options->origin) &&
	    http.add_response_header(response, "Cache-Control", "no-store") &&
	    http.add_response_header(response, "X-Content-Type-Options", "nosniff"))
		result = http.queue_response(connection, status, response);
	if (response)
		http.destroy_response(response);
	return result;
}

static enum MHD_Result refuse(struct MHD_Connection *connection, const struct viewer_server *s,
			      unsigned status)
{
	static char empty[1];

	return server_queue_response(
		connection, s, status,
		http.create_response_from_buffer(0, empty, MHD_RESPMEM_PERSISTENT));
}

/* Browsers ask first whether a page from the network may reach a loopback address. */
static enum MHD_Result preflight(struct MHD_Connection *connection, const struct viewer_server *s)
{
	static char empty[1];
	struct MHD_Response *response =
		http.create_response_from_buffer(0, empty, MHD_RESPMEM_PERSISTENT);

	if (response) {
		http.add_response_header(response, "Access-Control-Allow-Methods", "GET, HEAD");
		http.add_response_header(response, "Access-Control-Allow-Headers", "*");
		http.add_response_header(response, "Access-Control-Allow-Private-Network", "true");
	}
	return server_queue_response(connection, s, MHD_HTTP_NO_CONTENT, response);
}

/* A file of the local copy of the viewer. */
static enum MHD_Result send_ui_file(struct MHD_Connection *connection,
				    const struct viewer_server *s, const char *url)
{
	struct MHD_Response *response;
	const char *type;
	uint64_t size;
	int fd = ui_open_file(s->options->ui_directory, url, &size, &type);

	if (fd < 0)
		return refuse(connection, s, MHD_HTTP_NOT_FOUND);
	response = http.create_response_from_fd64(size, fd);
	if (!response) {
		close(fd);
		return MHD_NO;
	}
	http.add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	return server_queue_response(connection, s, MHD_HTTP_OK, response);
}

/* The name at the end of the path is for the viewer's title only. */
static bool right_path(const struct viewer_server *s, const char *url)
{
	size_t n = strlen(s->path);

	return !strncmp(url, s->path, n) && (url[n] == '/' || !url[n]);
}

/* The viewer's page, for the browser that we start. */
static enum MHD_Result redirect(struct MHD_Connection *connection, const struct viewer_server *s)
{
	static char empty[1];
	struct MHD_Response *response =
		http.create_response_from_buffer(0, empty, MHD_RESPMEM_PERSISTENT);

	if (response)
		http.add_response_header(response, MHD_HTTP_HEADER_LOCATION, s->redirect);
	return server_queue_response(connection, s, MHD_HTTP_FOUND, response);
}

static enum MHD_Result server_handle_request(void *context, struct MHD_Connection *connection,
					     const char *url, const char *method,
					     const char *version, const char *upload,
					     size_t *upload_size, void **request)
{
	static int the_trace; /* its address marks the request that is answered with it */
	struct viewer_server *s = context;
	const char *host =
		http.lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
	bool get = !strcmp(method, "GET");
	struct MHD_Response *response;
	enum MHD_Result result;
	int fd;

	(void)version, (void)upload;
	if (*upload_size)
		return MHD_NO;
	if (!host || strcmp(host, s->host))
		return refuse(connection, s, MHD_HTTP_FORBIDDEN);
	if (get && s->redirect && !strcmp(url, s->options->ui ? VIEWER_START : "/"))
		return redirect(connection, s);
	if (s->options->ui && !right_path(s, url))
		return get || !strcmp(method, "HEAD")
			       ? send_ui_file(connection, s, url)
			       : refuse(connection, s, MHD_HTTP_METHOD_NOT_ALLOWED);
	if (!right_path(s, url))
		return refuse(connection, s, MHD_HTTP_NOT_FOUND);
	if (!strcmp(method, "OPTIONS"))
		return preflight(connection, s);
	if (!get && strcmp(method, "HEAD"))
		return refuse(connection, s, MHD_HTTP_METHOD_NOT_ALLOWED);
	/* A descriptor of its own: the response closes it. Both read with offsets of their own. */
	fd = dup(s->fd);
	if (fd < 0)
		return refuse(connection, s, MHD_HTTP_INTERNAL_SERVER_ERROR);
	response = http.create_response_from_fd64(s->size, fd);
	if (!response) {
		close(fd);
		return MHD_NO;
	}
	http.add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
				 "application/octet-stream");
	result = server_queue_response(connection, s, MHD_HTTP_OK, response);
	if (result == MHD_YES && get)
		*request = &the_trace;
	return result;
}

static void request_over(void *context, struct MHD_Connection *connection, void **request,
			 enum MHD_RequestTerminationCode how)
{
	struct viewer_server *s = context;
	const uint64_t one = 1;

	(void)connection;
	if (*request && how == MHD_REQUEST_TERMINATED_COMPLETED_OK)
		__atomic_add_fetch(&s->fetched, 1, __ATOMIC_RELAXED);
	if (*request && how == MHD_REQUEST_TERMINATED_COMPLETED_OK &&
	    write(s->event, &one, sizeof(one)) < 0)
		return; /* it is full of ones already */
}

/* Closes connections of other users, and those of which the kernel does not know the user. */
static enum MHD_Result accept_connection(void *context, const struct sockaddr *peer, socklen_t size)
{
	const struct viewer_server *s = context;
	uid_t uid;

	(void)size;
	if (peer->sa_family != AF_INET)
		return MHD_NO;
	if (!__atomic_load_n(&s->knows_users, __ATOMIC_ACQUIRE))
		return MHD_YES;
	return !peer_user((const struct sockaddr_in *)peer, s->options->port, &uid) &&
			       uid == geteuid()
		       ? MHD_YES
		       : MHD_NO;
}

static int make_path(struct viewer_server *s)
{
	unsigned char token[16];

	if (getrandom(token, sizeof(token), 0) != sizeof(token))
		return -errno;
	s->path[0] = '/';
	for (unsigned i = 0; i < sizeof(token); i++)
		snprintf(s->path + 1 + 2 * i, 3, "%02x", token[i]);
	return 0;
}

int viewer_server_start(const struct viewer_options *options, int fd,
			struct viewer_server **ret_server)
{
	struct viewer_server *s = calloc(1, sizeof(*s));
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(options->port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct stat st;
	int error, asked = 0;

	if (!s)
		return -ENOMEM;
	s->options = options;
	s->fd = fd;
	s->knows_users = true;
	s->event = eventfd(0, EFD_CLOEXEC);
	snprintf(s->host, sizeof(s->host), "127.0.0.1:%u", options->port);
	error = s->event < 0 || fstat(fd, &st) ? -errno : make_path(s);
	error = error ?: http_open();
	if (!error) {
		s->size = st.st_size;
		errno = 0;
		s->daemon = http.start_daemon(
			MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_EPOLL, 0, accept_connection, s,
			server_handle_request, s, MHD_OPTION_SOCK_ADDR, &address,
			MHD_OPTION_CONNECTION_LIMIT, MOST_CONNECTIONS,
			MHD_OPTION_CONNECTION_TIMEOUT, IDLE_LIMIT, MHD_OPTION_NOTIFY_COMPLETED,
			request_over, s, MHD_OPTION_END);
		if (!s->daemon)
			error = errno ? -errno : -EADDRINUSE;
	}
	/*
	 * Asked once, for a connection of the port with itself. Another user may have made it, so that any user is as good
	 * an answer as none.
	 */
	if (!error)
		asked = peer_user(&address, options->port, &(uid_t){ 0 });
	if (asked && asked != -ENOTCONN)
		__atomic_store_n(&s->knows_users, false, __ATOMIC_RELEASE);
	if (error) {
		viewer_server_stop(s);
		return error;
	}
	*ret_server = s;
	return 0;
}

int viewer_server_fd(const struct viewer_server *s)
{
	return s->event;
}

uint64_t viewer_server_fetched(const struct viewer_server *s)
{
	return __atomic_load_n(&s->fetched, __ATOMIC_RELAXED);
}

const char *viewer_server_path(const struct viewer_server *s)
{
	return s->path;
}

void viewer_server_redirect(struct viewer_server *s, char *address)
{
	if (s->knows_users)
		__atomic_store_n(&s->redirect, address, __ATOMIC_RELEASE);
}

void viewer_server_stop(struct viewer_server *s)
{
	if (s->daemon)
		http.stop_daemon(s->daemon);
	if (s->event >= 0)
		close(s->event);
	free(s);
}
