/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clients SOCKET N: connects N times to whoever listens there, and says what nobody expects: nothing,
 * half a line, bytes at random, lines without end, many at once. Prints `clients <n>` that came in, and
 * `answers <n>` that began with neither ok nor error.
 *
 * clients SOCKET ask REQUEST: says that, and prints `answered <n>`: how many bytes came back.
 *
 * clients SOCKET full: listens there, takes no call, and has as many waiting as there is room for. Prints
 * `ready`, and stays until it is killed.
 *
 * clients DIRECTORY fakes N PID: listens at N sockets there, which are called as those of recorders, and
 * answers as if each was the recorder of that process. Prints `ready`, stays until it is killed.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define WAITING 32 /* connections that stay open, saying nothing more */

static uint64_t seed = 1;

static unsigned any(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33);
}

static int come(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct timeval patience = { 5, 0 };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at))) {
		perror("clients");
		exit(1);
	}
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return fd;
}

static size_t make(char *text, size_t capacity)
{
	static const char *const words[] = { "find ",
					     "find 99999999999999999999",
					     "statusstatus",
					     "ok\n",
					     "find -1\n",
					     "find %s%n\n",
					     "\n" };
	size_t n = any() % capacity, i;

	switch (any() % 4) {
	case 0:
		return 0;
	case 1:
		memset(text, 'a', n);
		return n;
	case 2:
		for (i = 0; i < n; i++)
			text[i] = (char)any();
		return n;
	default:
		snprintf(text, capacity, "%s", words[any() % (sizeof(words) / sizeof(words[0]))]);
		return strlen(text);
	}
}

/* An answer to a whole line, or none: whoever says nothing may be sent away. */
static int odd_answer(int fd, const char *text, size_t size)
{
	char answer[4096];
	ssize_t n;

	if (!memchr(text, '\n', size < 64 ? size : 64))
		return 0;
	n = recv(fd, answer, sizeof(answer) - 1, 0);
	answer[n > 0 ? n : 0] = '\0';
	return n > 0 && strncmp(answer, "ok ", 3) && strncmp(answer, "error ", 6);
}

static int ask(const char *path, const char *request)
{
	char line[64], answer[4096];
	int fd = come(path), n = snprintf(line, sizeof(line), "%s\n", request);

	if (send(fd, line, (size_t)n, MSG_NOSIGNAL) != n)
		n = 0;
	n = (int)recv(fd, answer, sizeof(answer), 0);
	printf("answered %d\n", n > 0 ? n : 0);
	return 0;
}

static int be_full(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 0)) {
		perror("clients");
		return 1;
	}
	do {
		fd = socket(AF_UNIX, SOCK_STREAM, 0);
		fcntl(fd, F_SETFL, O_NONBLOCK);
	} while (!connect(fd, (struct sockaddr *)&at, sizeof(at)));
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}

static int fake(const char *directory, unsigned i)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s/%u.control", directory, 1000000000 + i);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 8)) {
		perror("clients");
		exit(1);
	}
	return fd;
}

static void answer_as(int listener, int pid)
{
	int fd = accept(listener, NULL, NULL), asked;
	char request[64], answer[64];
	ssize_t n = recv(fd, request, sizeof(request) - 1, 0);

	request[n > 0 ? n : 0] = '\0';
	if (sscanf(request, "find %d", &asked) == 1)
		snprintf(answer, sizeof(answer), "ok %s", !asked || asked == pid ? "yes" : "no");
	else
		snprintf(answer, sizeof(answer), "ok recorder 1 of process %d\nfaked\n", pid);
	send(fd, answer, strlen(answer), MSG_NOSIGNAL);
	close(fd);
}

static int be_fakes(const char *directory, unsigned n, int pid)
{
	struct pollfd *waits = calloc(n, sizeof(*waits));
	unsigned i;

	if (!waits)
		return 1;
	for (i = 0; i < n; i++)
		waits[i] = (struct pollfd){ fake(directory, i), POLLIN, 0 };
	puts("ready");
	fflush(stdout);
	while (poll(waits, n, -1) > 0) {
		for (i = 0; i < n; i++) {
			if (waits[i].revents)
				answer_as(waits[i].fd, pid);
		}
	}
	return 1;
}

int main(int argc, char **argv)
{
	int waiting[WAITING], i, odd = 0, n = argc > 2 ? atoi(argv[2]) : 0;
	static char text[100000];

	if (argc == 3 && !strcmp(argv[2], "full"))
		return be_full(argv[1]);
	if (argc > 4)
		return be_fakes(argv[1], (unsigned)atoi(argv[3]), atoi(argv[4]));
	if (argc > 3)
		return ask(argv[1], argv[3]);
	for (i = 0; i < WAITING; i++)
		waiting[i] = -1;
	for (i = 0; i < n; i++) {
		int fd = come(argv[1]);
		size_t size = make(text, i % 8 ? 100 : sizeof(text));

		if (send(fd, text, size, MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
			odd += odd_answer(fd, text, size);
		if (waiting[i % WAITING] >= 0)
			close(waiting[i % WAITING]);
		waiting[i % WAITING] = fd;
	}
	printf("clients %d\nanswers %d\n", i, odd);
	return 0;
}
