/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets between two processes of ours, each with one descriptor or none. */
#include "base/packet.h"

#include <unistd.h>

#include "base/message.h"

int packet_receive(int socket, void *packet, size_t size, int *ret_fd)
{
	unsigned n_fds = ret_fd ? 1 : 0;
	size_t received;
	int error;

	if (ret_fd)
		*ret_fd = -1;
	error = message_receive(socket, packet, size, &received, ret_fd, &n_fds);
	if (!error)
		return (int)received;
	if (n_fds) {
		close(*ret_fd);
		*ret_fd = -1;
	}
	return error;
}

int packet_send(int socket, const void *packet, size_t size, int fd)
{
	return message_send(socket, packet, size, NULL, 0, &fd, fd >= 0);
}
