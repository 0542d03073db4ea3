/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fake_recorder DIRECTORY TEXT
 *
 * Listens where a recorder of this user would, and answers every request with `ok TEXT`, on two lines. Prints `ready
 * PID`, and goes on until it is killed.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);
	char request[64];

	if (argc != 3 || listener < 0)
		return 1;
	snprintf(at.sun_path, sizeof(at.sun_path), "%s/%d.control", argv[1], (int)getpid());
	if (bind(listener, (struct sockaddr *)&at, sizeof(at)) || listen(listener, 8))
		return 1;
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	for (;;) {
		int fd = accept(listener, NULL, NULL);
		ssize_t n = fd < 0 ? -1 : read(fd, request, sizeof(request) - 1);

		request[n > 0 ? n : 0] = '\0';
		if (!strncmp(request, "find", 4))
			dprintf(fd, "ok yes");
		else
			dprintf(fd, "ok %s\n%s\n", argv[2], argv[2]);
		close(fd);
	}
}
