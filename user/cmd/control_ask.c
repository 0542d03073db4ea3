/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Asks recorders, all at the same time: when root asks, some of them may be what other users have put in
 * a recorder's place, and none of these must keep it from hearing the others, or hold it for long.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "cmd/control.h"

static void hang_up(struct control_call *call, int error)
{
	close(call->fd);
	call->fd = -1;
	call->error = error;
}

static void call_up(struct control_call *call, const char *request)
{
	call->used = 0;
	call->answer[0] = '\0';
	call->error = 0;
	call->fd = control_connect(call->directory, call->name);
	if (call->fd < 0)
		call->error = call->fd;
	else if (send(call->fd, request, strlen(request), MSG_NOSIGNAL) != (ssize_t)strlen(request))
		hang_up(call, -EPIPE);
}

/* Takes what has come. At the end of the connection, or of the room, the answer is there. */
static void listen_to(struct control_call *call)
{
	size_t room = sizeof(call->answer) - 1 - call->used;
	ssize_t n = recv(call->fd, call->answer + call->used, room, 0);

	if (n < 0 && errno != EINTR && errno != EAGAIN) {
		hang_up(call, -errno);
	} else if (n >= 0) {
		call->used += (size_t)n;
		call->answer[call->used] = '\0';
		if (n == 0 || (size_t)n == room)
			hang_up(call, call->used ? 0 : -EPIPE);
	}
}

void control_ask(struct control_call *calls, unsigned n, const char *request, unsigned seconds)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + seconds * 1000000000ull, now;
	struct pollfd waits[CONTROL_CALLS];
	unsigned i, open;

	for (i = 0; i < n; i++)
		call_up(&calls[i], request);
	for (;;) {
		for (i = open = 0; i < n; i++) {
			waits[i] = (struct pollfd){ .fd = calls[i].fd, .events = POLLIN };
			open += calls[i].fd >= 0;
		}
		now = clock_ns(CLOCK_MONOTONIC);
		if (!open || now >= end)
			break;
		if (poll(waits, n, (int)((end - now) / 1000000) + 1) < 0 && errno != EINTR)
			break;
		for (i = 0; i < n; i++) {
			if (calls[i].fd >= 0 && waits[i].revents)
				listen_to(&calls[i]);
		}
	}
	for (i = 0; i < n; i++) {
		if (calls[i].fd >= 0)
			hang_up(&calls[i], -ETIMEDOUT);
	}
}
