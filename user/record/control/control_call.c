/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sends a request to several recorders at the same time. Root also asks sockets that other users
 * may have put in place of a recorder; none of these can delay the replies of the others.
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
 * A recorder serves few connections at a time. If its user opens very many idle connections, the
 * queue is full, or the recorder closes our connection before it reads the request. A request that
 * was read is always served, so connecting again is safe. It is repeated for two seconds at most.
 */
enum {
	MOST_CALLS = 200,
	CALL_AGAIN_MS = 10,
	CALL_OTHERS_MS = 500, /* after a reply that is enough */
};

static bool call_was_refused(const struct control_call *call)
{
	return call->fd < 0 && call->times < MOST_CALLS &&
	       (call->error == -EAGAIN || call->error == -EPIPE || call->error == -ECONNRESET);
}

static void call_close(struct control_call *call, int error)
{
	close(call->fd);
	call->fd = -1;
	call->error = error;
}

static void call_connect(struct control_call *call, const char *request)
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
		call_close(call, -EPIPE);
	}
	/* It has exited since. The earlier error says more. */
	if (turned_away && call->fd < 0 && !call_was_refused(call)) {
		call->error = turned_away;
		call->times = MOST_CALLS;
	}
}

/* Ensures space for at least one more byte and the NUL. */
static bool call_reserve(struct control_call *call, size_t longest)
{
	size_t capacity = call->capacity ? 2 * call->capacity : 4096;
	char *grown;

	if (call->used + 1 < call->capacity)
		return true;
	if (capacity > longest)
		capacity = longest;
	grown = capacity > call->capacity ? realloc(call->reply, capacity) : NULL;
	if (!grown)
		return false;
	call->reply = grown;
	call->capacity = capacity;
	return true;
}

/*
 * Reads what has arrived. The reply is complete at the end of the connection or when it has the
 * longest permitted length.
 */
static void call_receive(struct control_call *call, size_t longest)
{
	ssize_t n;

	if (!call_reserve(call, longest)) {
		call_close(call, -ENOMEM);
		return;
	}
	n = recv(call->fd, call->reply + call->used, call->capacity - 1 - call->used, 0);
	if (n < 0 && errno != EINTR && errno != EAGAIN) {
		call_close(call, -errno);
	} else if (n >= 0) {
		call->used += (size_t)n;
		call->reply[call->used] = '\0';
		if (n == 0 || call->used + 1 == longest)
			call_close(call, call->used ? 0 : -EPIPE);
	}
}

static bool call_is_answered(const struct control_call *call, const char *reply)
{
	return reply && call->fd < 0 && !call->error && !strcmp(call->reply, reply);
}

void control_call_all(struct control_call *calls, unsigned n, const char *request, size_t longest,
		      unsigned seconds, const char *enough)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + seconds * 1000000000ull, now;
	struct pollfd waits[CONTROL_CALLS];
	unsigned i, open, again;
	int wait_ms;

	for (i = 0; i < n; i++) {
		calls[i].times = 0;
		calls[i].error = 0;
		call_connect(&calls[i], request);
	}
	for (;;) {
		for (i = open = again = 0; i < n; i++) {
			waits[i] = (struct pollfd){ .fd = calls[i].fd, .events = POLLIN };
			open += calls[i].fd >= 0;
			again += call_was_refused(&calls[i]);
		}
		now = clock_ns(CLOCK_MONOTONIC);
		for (i = 0; i < n && enough; i++) {
			if (!call_is_answered(&calls[i], enough))
				continue;
			enough = NULL;
			if (end > now + CALL_OTHERS_MS * 1000000ull)
				end = now + CALL_OTHERS_MS * 1000000ull;
		}
		if ((!open && !again) || now >= end)
			break;
		wait_ms = again ? CALL_AGAIN_MS : (int)((end - now) / 1000000) + 1;
		if (poll(waits, n, wait_ms) < 0 && errno != EINTR)
			break;
		for (i = 0; i < n; i++) {
			if (call_was_refused(&calls[i]))
				call_connect(&calls[i], request);
			else if (calls[i].fd >= 0 && waits[i].revents)
				call_receive(&calls[i], longest);
		}
	}
	for (i = 0; i < n; i++) {
		if (calls[i].fd >= 0)
			call_close(&calls[i], -ETIMEDOUT);
	}
}
