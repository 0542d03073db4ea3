/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Asks recorders, all at the same time: when root asks, some of them may be what other users have put in
 * a recorder's place, and none of these must keep it from hearing the others, or hold it for long.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/control/control.h"

/*
 * A recorder serves a few at a time. Where very many of its own user connect and say nothing, its queue is full, or we
 * are closed before it read our request. No request is lost after it was read: so we connect again, some times, which
 * takes two seconds with those that never listen.
 */
enum {
	MOST_CALLS = 200,
	CALL_AGAIN_MS = 10,
};

static bool is_turned_away(const struct control_call *call)
{
	return call->fd < 0 && call->times < MOST_CALLS &&
	       (call->error == -EAGAIN || call->error == -EPIPE || call->error == -ECONNRESET);
}

static void hang_up(struct control_call *call, int error)
{
	close(call->fd);
	call->fd = -1;
	call->error = error;
}

static void call_up(struct control_call *call, const char *request)
{
	int turned_away = call->error;

	call->times++;
	call->used = 0;
	call->error = 0;
	call->fd = control_connect(call->directory, call->name);
	if (call->fd < 0) {
		call->error = call->fd;
	} else if (send(call->fd, request, strlen(request), MSG_NOSIGNAL) !=
		   (ssize_t)strlen(request)) {
		hang_up(call, -EPIPE);
	}
	/* It ended since: what it did before says more. */
	if (turned_away && call->fd < 0 && !is_turned_away(call)) {
		call->error = turned_away;
		call->times = MOST_CALLS;
	}
}

/* Makes space for at least one more byte and the NUL. */
static bool answer_reserve(struct control_call *call, size_t longest)
{
	size_t capacity = call->capacity ? 2 * call->capacity : 4096;
	char *grown;

	if (call->used + 1 < call->capacity)
		return true;
	if (capacity > longest)
		capacity = longest;
	grown = capacity > call->capacity ? realloc(call->answer, capacity) : NULL;
	if (!grown)
		return false;
	call->answer = grown;
	call->capacity = capacity;
	return true;
}

/* Takes what has come. At the end of the connection, or of the longest answer, the answer is complete. */
static void listen_to(struct control_call *call, size_t longest)
{
	ssize_t n;

	if (!answer_reserve(call, longest)) {
		hang_up(call, -ENOMEM);
		return;
	}
	n = recv(call->fd, call->answer + call->used, call->capacity - 1 - call->used, 0);
	if (n < 0 && errno != EINTR && errno != EAGAIN) {
		hang_up(call, -errno);
	} else if (n >= 0) {
		call->used += (size_t)n;
		call->answer[call->used] = '\0';
		if (n == 0 || call->used + 1 == longest)
			hang_up(call, call->used ? 0 : -EPIPE);
	}
}

void control_ask(struct control_call *calls, unsigned n, const char *request, size_t longest,
		 unsigned seconds)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + seconds * 1000000000ull, now;
	struct pollfd waits[CONTROL_CALLS];
	unsigned i, open, again;
	int wait_ms;

	for (i = 0; i < n; i++) {
		calls[i].times = 0;
		calls[i].error = 0;
		call_up(&calls[i], request);
	}
	for (;;) {
		for (i = open = again = 0; i < n; i++) {
			waits[i] = (struct pollfd){ .fd = calls[i].fd, .events = POLLIN };
			open += calls[i].fd >= 0;
			again += is_turned_away(&calls[i]);
		}
		now = clock_ns(CLOCK_MONOTONIC);
		if ((!open && !again) || now >= end)
			break;
		wait_ms = again ? CALL_AGAIN_MS : (int)((end - now) / 1000000) + 1;
		if (poll(waits, n, wait_ms) < 0 && errno != EINTR)
			break;
		for (i = 0; i < n; i++) {
			if (is_turned_away(&calls[i]))
				call_up(&calls[i], request);
			else if (calls[i].fd >= 0 && waits[i].revents)
				listen_to(&calls[i], longest);
		}
	}
	for (i = 0; i < n; i++) {
		if (calls[i].fd >= 0)
			hang_up(&calls[i], -ETIMEDOUT);
	}
}
