/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * opens FILE...: says "watching" and, when its input ends, "opens N": how often somebody has opened one of the files since
 * then, other than with O_PATH.
 */
#include <stdio.h>
#include <sys/inotify.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	_Alignas(struct inotify_event) char events[65536];
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), i;
	unsigned n = 0;
	ssize_t size;
	char byte;

	for (i = 1; i < argc; i++) {
		/* Events that are equal and follow each other are one: another kind of event keeps them apart. */
		if (inotify_add_watch(fd, argv[i], IN_OPEN | IN_CLOSE) < 0) {
			perror(argv[i]);
			return 1;
		}
	}
	puts("watching");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	while ((size = read(fd, events, sizeof(events))) > 0) {
		const struct inotify_event *e;

		for (char *at = events; at < events + size; at += sizeof(*e) + e->len) {
			e = (const struct inotify_event *)at;
			n += (e->mask & IN_OPEN) != 0;
		}
	}
	printf("opens %u\n", n);
	return 0;
}
