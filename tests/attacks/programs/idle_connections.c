/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * idle_connections PORT|SOCKET N [REQUEST]
 *
 * Connects N times to a port of the loopback interface, or to a Unix socket, and says nothing. Connections that are
 * closed by the server are made again. Prints `connected N` once, and goes on until its standard input ends. Before all
 * that, it sends the REQUEST, if there is one, over a connection of its own, and prints `reply N`: how many bytes came back.
 *
 * idle_connections PORT itself
 *
 * The same with one connection of the port with itself. A server can listen on the port all the same.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int connect_once(const char *where)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int is_port = !strchr(where, '/'), fd, error;

	fd = socket(is_port ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	in.sin_port = htons((uint16_t)atoi(where));
	snprintf(un.sun_path, sizeof(un.sun_path), "%s", where);
	error = is_port ? connect(fd, (struct sockaddr *)&in, sizeof(in))
			: connect(fd, (struct sockaddr *)&un, sizeof(un));
	(void)error; /* one that is refused is tried again below */
	return fd;
}

/* A server that wants none of it closes the connection. */
static void request_once(const char *where, const char *request)
{
	struct pollfd p = { connect_once(where), POLLOUT, 0 };
	size_t got = 0;
	char reply[4096];
	ssize_t n = 1;

	poll(&p, 1, 10000);
	if (send(p.fd, request, strlen(request), MSG_NOSIGNAL) > 0) {
		p.events = POLLIN;
		while (n > 0 && poll(&p, 1, 10000) > 0) {
			n = recv(p.fd, reply, sizeof(reply), MSG_DONTWAIT);
			got += n > 0 ? (size_t)n : 0;
		}
	}
	close(p.fd);
	printf("reply %zu\n", got);
}

static int connect_itself(const char *port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				  .sin_port = htons((uint16_t)atoi(port)) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char end;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) ||
	    connect(fd, (struct sockaddr *)&at, sizeof(at)))
		return 1;
	puts("connected 1");
	fflush(stdout);
	return read(STDIN_FILENO, &end, 1) != 0;
}

int main(int argc, char **argv)
{
	unsigned n = argc > 2 ? (unsigned)atoi(argv[2]) : 0, i, open = 0;
	struct rlimit files = { n + 64, n + 64 };
	struct pollfd *fds = calloc(n + 1, sizeof(*fds));

	if (argc > 2 && !strcmp(argv[2], "itself"))
		return connect_itself(argv[1]);
	if (!fds || !n)
		return 1;
	setrlimit(RLIMIT_NOFILE, &files);
	if (argc > 3)
		request_once(argv[1], argv[3]);
	fds[0] = (struct pollfd){ STDIN_FILENO, POLLIN, 0 };
	for (i = 1; i <= n; i++) {
		fds[i] = (struct pollfd){ connect_once(argv[1]), POLLIN, 0 };
		open += fds[i].fd >= 0;
	}
	printf("connected %u\n", open);
	fflush(stdout);
	for (;;) {
		poll(fds, n + 1, -1);
		if (fds[0].revents)
			return 0;
		for (i = 1; i <= n; i++) {
			if (fds[i].fd < 0 || !fds[i].revents)
				continue;
			close(fds[i].fd);
			fds[i].fd = connect_once(argv[1]);
		}
	}
}
