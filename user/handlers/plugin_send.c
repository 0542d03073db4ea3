/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When a plug-in is sent what it is told, how long it is waited for, and when it is given up.
 *
 * While a recording is going on it is never waited for: threads of the target may be waiting for the
 * recorder. What it has not taken yet is kept in memory. It is given up when
 *
 *  - that becomes more than KEPT_MAX, or
 *  - it has taken nothing for PATIENCE_MS.
 *
 * Once nothing is recorded any more it is waited for as long as it goes on taking. But if a signal ended
 * the recording, that is for PATIENCE_MS altogether; and any further signal ends it.
 */
#include "handlers/plugin_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"

#define PATIENCE_MS 5000 /* for an event to be taken; for open and close to return; to end then */
#define PATIENCE_NS (PATIENCE_MS * 1000000ull)
#define STEP_MS	    100		/* of a wait: signals are looked at between two */
#define KEPT_MAX    (128 << 20) /* what a burst of marks that fills the usual buffers twice becomes */

#define LAST_ERROR 4095 /* of those that the kernel has a number for */

/* Whether a signal came since we began to wait: then nobody wants to go on with that. */
static bool signalled(struct plugin *p)
{
	if (!p->signals || p->signals(p->context) == p->signals_before)
		return false;
	p->slow = CUT_SHORT;
	return true;
}

static int wait_for(struct plugin *p, int descriptor, short events)
{
	struct pollfd fd = { .fd = descriptor, .events = events };
	int n, ms;

	for (ms = 0; ms < PATIENCE_MS; ms += STEP_MS) {
		do
			n = poll(&fd, 1, p->live ? 0 : STEP_MS);
		while (n < 0 && errno == EINTR);
		if (n)
			return n < 0 ? -errno : 0;
		if (p->live || signalled(p))
			break;
	}
	return -ETIMEDOUT;
}

/*
 * Takes what it has to say, if it has. A plug-in that just died has said nothing. Our own host says it
 * all at once; somebody else's code that writes to the socket, half of it, is not waited for.
 */
static int take_reply(struct plugin *p)
{
	ssize_t n;
	int error = wait_for(p, p->socket, POLLIN);

	if (error)
		return error;
	do
		n = recv(p->socket, &p->reply, sizeof(p->reply), MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (n != sizeof(p->reply))
		return -EPIPE;
	p->reply.what[sizeof(p->reply.what) - 1] = '\0';
	p->reply.why[sizeof(p->reply.why) - 1] = '\0';
	p->replied = true;
	return 0;
}

/* Of its process nothing stays behind. */
static void collect(struct plugin *p)
{
	if (p->stayed)
		kill(p->pid, SIGKILL);
	while (waitpid(p->pid, &p->status, 0) < 0 && errno == EINTR)
		;
	if (p->process >= 0)
		close(p->process);
	p->process = -1;
	p->pid = 0;
	p->ending = false;
}

/* Its destructors run now; it is not waited for longer than for anything else. */
static void wait_for_end(struct plugin *p)
{
	p->stayed = p->process >= 0 && wait_for(p, p->process, POLLIN);
	collect(p);
}

void plugin_bury(struct plugin *p, bool by_force)
{
	outbox_clear(&p->outbox);
	if (p->socket >= 0)
		close(p->socket);
	p->socket = -1;
	if (p->pid <= 0)
		return;
	if (by_force) {
		kill(p->pid, SIGKILL);
		collect(p);
	} else if (p->live) {
		p->ending = true;
		p->end_by_ns = clock_ns(CLOCK_MONOTONIC) + PATIENCE_NS;
	} else {
		wait_for_end(p);
	}
}

/* What it returned may be any number. */
int plugin_reply_error(const struct plugin *p)
{
	return p->reply.error > 0 || p->reply.error < -LAST_ERROR ? -EIO : p->reply.error;
}

/* It does not take any more: it has said why, or it is dead, or it hangs, or is too slow. */
static int give_up(struct plugin *p, int error)
{
	bool slow = error == -ETIMEDOUT;

	if (slow && p->slow == NOT_SLOW)
		p->slow = TOOK_NOTHING;
	if (slow)
		p->missed = p->outbox.events + p->events;
	if (!slow && !p->replied)
		take_reply(p);
	plugin_bury(p, slow);
	if (p->replied && p->reply.error < 0)
		return plugin_reply_error(p);
	return slow ? error : -EPIPE;
}

/* -ETIMEDOUT: it is too slow for a recording that is going on. */
static int keeps_up(struct plugin *p)
{
	if (p->outbox.bytes > KEPT_MAX)
		p->slow = FELL_BEHIND;
	else if (p->outbox.first && p->outbox.stalled_ns >= PATIENCE_NS)
		p->slow = TOOK_NOTHING;
	return p->slow ? -ETIMEDOUT : 0;
}

/* Until it has taken all but so many bytes. */
static int wait_until(struct plugin *p, size_t most)
{
	struct pollfd fd = { .fd = p->socket, .events = POLLOUT };
	int error;

	while ((error = outbox_send(&p->outbox, p->socket)) == -EAGAIN && p->outbox.bytes > most) {
		uint64_t began_ns = clock_ns(CLOCK_MONOTONIC);

		if (p->outbox.stalled_ns >= PATIENCE_NS || signalled(p))
			return -ETIMEDOUT;
		if (p->signals_before && p->waited_ns >= PATIENCE_NS) {
			p->slow = CUT_SHORT;
			return -ETIMEDOUT;
		}
		poll(&fd, 1, STEP_MS);
		p->waited_ns += clock_ns(CLOCK_MONOTONIC) - began_ns;
	}
	return error == -EAGAIN ? 0 : error;
}

int plugin_send(struct plugin *p)
{
	int error;

	if (p->socket < 0)
		return -EPIPE;
	error = outbox_put(&p->outbox, p->socket, p->buffer, p->used, p->events);
	p->used = 0;
	p->events = 0;
	if (!error)
		error = p->live ? keeps_up(p) : wait_until(p, KEPT_MAX);
	return error ? give_up(p, error) : 0;
}

int plugin_wait_for_reply(struct plugin *p)
{
	int error = wait_until(p, 0);

	if (!error)
		error = take_reply(p);
	return error ? give_up(p, error) : 0;
}

void plugin_live(struct handler *handler)
{
	plugin_of(handler)->live = true;
}

void plugin_recorded(struct handler *handler, unsigned (*signals)(void *context), void *context)
{
	struct plugin *p = plugin_of(handler);

	p->live = false;
	p->signals = signals;
	p->context = context;
	p->signals_before = signals(context);
}

/* It has been told to end: it has, or it is still time, or not any more. */
static void look_for_end(struct plugin *p)
{
	if (!p->live) {
		wait_for_end(p);
		return;
	}
	p->stayed = clock_ns(CLOCK_MONOTONIC) >= p->end_by_ns;
	if (p->stayed || p->process < 0 || !wait_for(p, p->process, POLLIN))
		collect(p);
}

bool plugin_tend(struct handler *handler)
{
	struct plugin *p = plugin_of(handler);
	int error = 0;

	if (!handler->error && p->outbox.first) {
		error = outbox_send(&p->outbox, p->socket);
		if (error == -EAGAIN)
			error = keeps_up(p);
		if (error)
			handler->error = give_up(p, error);
	}
	if (p->ending)
		look_for_end(p);
	return !p->ending;
}

pid_t plugin_pid(const struct handler *handler)
{
	return ((const struct plugin *)handler)->pid;
}

void plugin_failure(const struct handler *handler, struct failure *f)
{
	const struct plugin *p = (const struct plugin *)handler;
	char reason[sizeof(f->reason)];

	if (handler->error == -EMSGSIZE && p->pid > 0)
		snprintf(reason, sizeof(reason), "an event is too long for it");
	else if (p->slow == TOOK_NOTHING)
		snprintf(reason, sizeof(reason), "it took nothing for %d seconds",
			 PATIENCE_MS / 1000);
	else if (p->slow == FELL_BEHIND)
		snprintf(reason, sizeof(reason), "it is too slow: %" PRIu64 " events waited for it",
			 p->missed);
	else if (p->slow == CUT_SHORT && p->missed)
		snprintf(reason, sizeof(reason),
			 "it is too slow: %" PRIu64 " events waited for it when all was to end",
			 p->missed);
	else if (p->slow == CUT_SHORT)
		snprintf(reason, sizeof(reason), "it was not done when all was to end");
	else if (p->stayed)
		snprintf(reason, sizeof(reason), "it did not end within %d seconds",
			 PATIENCE_MS / 1000);
	else if (p->replied && p->reply.why[0])
		snprintf(reason, sizeof(reason), "%s", p->reply.why);
	else if (p->replied && p->reply.error < 0 && p->reply.error >= -LAST_ERROR)
		snprintf(reason, sizeof(reason), "its function %s returned: %s", p->reply.what,
			 strerror(-p->reply.error));
	else if (p->replied)
		snprintf(reason, sizeof(reason), "its function %s returned %d", p->reply.what,
			 p->reply.error);
	else if (WIFSIGNALED(p->status))
		snprintf(reason, sizeof(reason), "it was ended by signal %d (%s)",
			 WTERMSIG(p->status), strsignal(WTERMSIG(p->status)));
	else
		snprintf(reason, sizeof(reason), "it exited with status %d",
			 WEXITSTATUS(p->status));
	failure_set(f, handler->error, "handler disabled:", p->library, reason);
}
