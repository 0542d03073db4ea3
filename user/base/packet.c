/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets between two processes of ours, each with one descriptor or none. */
#include "base/packet.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Space for more than one descriptor: those that a hostile peer adds are received and closed. */
union control {
	char bytes[CMSG_SPACE(4 * sizeof(int))];
	struct cmsghdr align;
};

static int receive_descriptor(struct msghdr *message)
{
	struct cmsghdr *c;
	int taken = -1;

	for (c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		size_t i, n;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
			if (taken < 0)
				taken = fd;
			else
				close(fd);
		}
	}
	return taken;
}

int packet_receive(int socket, void *packet, size_t size, int *ret_fd)
{
	struct iovec part = { packet, size };
	union control control;
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t n;

	if (ret_fd) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
	}
	n = TEMP_FAILURE_RETRY(recvmsg(socket, &message, MSG_CMSG_CLOEXEC));
	if (n < 0)
		return -errno;
	if (ret_fd)
		*ret_fd = receive_descriptor(&message);
	return (int)n;
}

int packet_send(int socket, const void *packet, size_t size, int fd)
{
	struct iovec part = { (void *)packet, size };
	union control control = { { 0 } };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t n;

	if (fd >= 0) {
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(sizeof(fd));
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(&control.align), &fd, sizeof(fd));
	}
	n = TEMP_FAILURE_RETRY(sendmsg(socket, &message, MSG_NOSIGNAL));
	return n < 0 ? -errno : 0;
}
