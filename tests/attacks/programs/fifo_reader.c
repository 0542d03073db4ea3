/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fifo_reader FIFO...
 *
 * Makes FIFOs that everybody may write to, opens them, and counts what arrives. Prints `ready` once, and at the end of
 * its standard input `bytes N`.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST 16

int main(int argc, char **argv)
{
	struct pollfd fds[MOST + 1] = { { STDIN_FILENO, POLLIN, 0 } };
	unsigned long bytes = 0;
	char buffer[4096];
	int i, n = argc - 1;

	if (n < 1 || n > MOST)
		return 1;
	umask(0);
	for (i = 1; i <= n; i++) {
		if (mkfifo(argv[i], 0666))
			return 1;
		fds[i] = (struct pollfd){ open(argv[i], O_RDONLY | O_NONBLOCK), POLLIN, 0 };
	}
	puts("ready");
	fflush(stdout);
	while (!fds[0].revents) {
		poll(fds, (nfds_t)n + 1, -1);
		for (i = 1; i <= n; i++) {
			ssize_t got = fds[i].revents ? read(fds[i].fd, buffer, sizeof(buffer)) : 0;

			bytes += got > 0 ? (unsigned long)got : 0;
			/* A writer came and went. */
			if (fds[i].revents & POLLHUP && got <= 0) {
				close(fds[i].fd);
				fds[i].fd = open(argv[i], O_RDONLY | O_NONBLOCK);
				bytes++;
			}
		}
	}
	printf("bytes %lu\n", bytes);
	return 0;
}
