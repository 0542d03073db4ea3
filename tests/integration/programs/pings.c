/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pings PORT: answers datagrams until an empty one comes; prints `ready` before.
 * pings PORT ADDRESS N: asks N times, waits for each answer, and sends an empty one.
 *
 * Each message is an arrow whose id no other program uses. Prints `asked <n>` or `answered <n>`.
 */
#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <proftrace.h>

static int answer(int fd)
{
	struct sockaddr_in from;
	socklen_t size = sizeof(from);
	uint64_t id;
	int n = 0;

	printf("ready\n");
	fflush(stdout);
	while (recvfrom(fd, &id, sizeof(id), 0, (struct sockaddr *)&from, &size) == sizeof(id)) {
		PROF_BEGIN("answer", "id", id);
		PROF_FLOW_IN(id);
		id++;
		PROF_FLOW_OUT(id);
		if (sendto(fd, &id, sizeof(id), 0, (struct sockaddr *)&from, size) < 0)
			return 1;
		PROF_END();
		n++;
	}
	printf("answered %d\n", n);
	return 0;
}

static int ask(int fd, int n)
{
	uint64_t id;
	int i;

	for (i = 1; i <= n; i++) {
		id = 2 * (uint64_t)i;
		PROF_BEGIN("ask", "id", id);
		PROF_FLOW_OUT(id);
		if (send(fd, &id, sizeof(id), 0) < 0 || recv(fd, &id, sizeof(id), 0) != sizeof(id))
			return 1;
		PROF_FLOW_IN(id);
		PROF_END();
	}
	printf("asked %d\n", n);
	return send(fd, &id, 0, 0) < 0;
}

int main(int argc, char **argv)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (argc < 2 || fd < 0)
		return 2;
	at.sin_port = htons((uint16_t)atoi(argv[1]));
	if (argc < 4)
		return bind(fd, (struct sockaddr *)&at, sizeof(at)) ? 1 : answer(fd);
	if (inet_pton(AF_INET, argv[2], &at.sin_addr) != 1 ||
	    connect(fd, (struct sockaddr *)&at, sizeof(at)))
		return 1;
	return ask(fd, atoi(argv[3]));
}
