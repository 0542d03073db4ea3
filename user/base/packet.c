/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets between two processes of ours, each with one descriptor or none. */
#include "base/packet.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/message.h"

#define STEP_NS	    50000000ull /* how often `give_up` is asked */
#define GIVEN_UP_NS 500000000ull

int packet_wait(int socket, uint64_t *left_ns, bool (*give_up)(void *context), void *context)
{
	struct pollfd fd = { .fd = socket, .events = POLLIN };
	uint64_t begin_ns = clock_ns(CLOCK_MONOTONIC);

	for (;;) {
		const bool given_up = give_up && give_up(context);
		uint64_t now_ns;
		int n;

		if (given_up && *left_ns > GIVEN_UP_NS)
			*left_ns = GIVEN_UP_NS;
		n = poll(&fd, 1, (int)((*left_ns < STEP_NS ? *left_ns : STEP_NS) / 1000000) + 1);
		if (n < 0 && errno != EINTR)
			return -errno;
		now_ns = clock_ns(CLOCK_MONOTONIC);
		*left_ns -= now_ns - begin_ns < *left_ns ? now_ns - begin_ns : *left_ns;
		begin_ns = now_ns;
		if (n > 0)
			return 0;
		if (!*left_ns)
			return given_up ? -ECANCELED : -ETIMEDOUT;
	}
}

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
