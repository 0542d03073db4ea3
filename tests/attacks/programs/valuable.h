/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tells the descriptors that an attacker wants from those that gain nothing: what steal_descriptors and scheduler
 * count as stolen must be the same.
 */
#ifndef VALUABLE_H
#define VALUABLE_H

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Anonymous BPF and perf objects, and sockets between two processes of proftrace. */
static int is_valuable(int fd, char *kind, size_t size)
{
	char path[32];
	socklen_t length = sizeof(int);
	int type;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, kind, size - 1);
	kind[n > 0 ? n : 0] = '\0';
	if (strstr(kind, "bpf") || strstr(kind, "perf_event"))
		return 1;
	return !strncmp(kind, "socket:", 7) &&
	       !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) && type == SOCK_SEQPACKET;
}

#endif
