/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets with descriptors between two processes of ours, over SOCK_SEQPACKET. */
#include "base/message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int) * MESSAGE_KERNEL_FDS)];
};

int message_send(int socket, const void *head, size_t head_size, const void *body, size_t body_size,
		 const int *fds, unsigned n_fds)
{
	struct iovec iov[2] = { { (void *)head, head_size }, { (void *)body, body_size } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = body_size ? 2 : 1 };
	union control control;
	ssize_t n;

	if (n_fds > MESSAGE_KERNEL_FDS)
		return -EINVAL;
	if (n_fds) {
		struct cmsghdr *c;

		memset(&control, 0, sizeof(control));
		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * n_fds);
	}
	n = TEMP_FAILURE_RETRY(sendmsg(socket, &msg, MSG_NOSIGNAL));
	if (n < 0)
		return -errno;
	return (size_t)n == head_size + body_size ? 0 : -EIO;
}

int message_receive(int socket, void *buffer, size_t size, size_t *ret_size, int *fds,
		    unsigned *n_fds)
{
	return message_receive_parts(socket, buffer, size, NULL, 0, ret_size, fds, n_fds);
}

int message_receive_parts(int socket, void *head, size_t head_size, void *body, size_t body_size,
			  size_t *ret_size, int *fds, unsigned *n_fds)
{
	struct iovec iov[2] = { { head, head_size }, { body, body_size } };
	union control control;
	struct msghdr msg = {
		.msg_iov = iov,
		.msg_iovlen = body_size ? 2 : 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	unsigned capacity = *n_fds;
	struct cmsghdr *c;
	ssize_t n;

	*n_fds = 0;
	n = TEMP_FAILURE_RETRY(recvmsg(socket, &msg, MSG_CMSG_CLOEXEC));
	if (n < 0)
		return -errno;
	for (c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		unsigned count;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (unsigned i = 0; i < count; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (*n_fds < capacity)
				fds[(*n_fds)++] = fd;
			else
				close(fd);
		}
	}
	if (n == 0)
		return -EPIPE;
	*ret_size = n;
	if (msg.msg_flags & MSG_TRUNC)
		return -EMSGSIZE;
	/*
	 * The buffer has enough space for all descriptors, so MSG_CTRUNC means that the process may
	 * open no more.
	 */
	return msg.msg_flags & MSG_CTRUNC ? -EMFILE : 0;
}
