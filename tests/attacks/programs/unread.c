/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unread PORT N: asks N times for the metrics on a port of the loopback interface, each time on a connection of its own, and
 * reads none of the replies. Prints `asked N`, and ends with its standard input.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const int port = argc > 2 ? atoi(argv[1]) : 0, n = port ? atoi(argv[2]) : 0, small = 4096;
	const struct sockaddr_in at = { .sin_family = AF_INET,
					.sin_port = htons((uint16_t)port),
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct rlimit files = { (rlim_t)n + 64, (rlim_t)n + 64 };
	char request[128], end;
	int i, asked = 0;

	setrlimit(RLIMIT_NOFILE, &files);
	snprintf(request, sizeof(request), "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n",
		 port);
	for (i = 0; i < n; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
		asked += !connect(fd, (const struct sockaddr *)&at, sizeof(at)) &&
			 dprintf(fd, "%s", request) > 0;
	}
	printf("asked %d\n", asked);
	fflush(stdout);
	return read(STDIN_FILENO, &end, 1) != 0;
}
