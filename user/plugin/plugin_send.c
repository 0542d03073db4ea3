/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When messages are sent to a plug-in, how long it is waited for, and when it is disabled.
 *
 * While a recording is going on, a plug-in is never waited for, because threads of the target may
 * be waiting for the recorder. What the plug-in has not read yet is kept in memory. It is disabled
 * when
 *
 *  - that becomes more than KEPT_MAX, or
 *  - it has read nothing for PATIENCE_MS.
 *
 * When the recording is over, a plug-in is waited for as long as it goes on reading; if a signal
 * ended the recording, for PATIENCE_MS altogether, and a further signal ends the wait.
 */
#include "plugin/plugin_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define PATIENCE_MS 5000 /* to read an event, to return from open and close, and then to exit */
#define PATIENCE_NS (PATIENCE_MS * 1000000ull)
#define STEP_MS	    100 /* between two checks for signals during a wait */
/* In bytes: as much as the marks of two full default ring buffers become. */
#define KEPT_MAX (128 << 20)

#define LAST_ERROR 4095 /* the largest errno of the kernel */

/* Whether a signal came since the wait began: then the user does not want to wait any longer. */
static bool plugin_signalled(struct plugin *p)
{
	if (!p->signals || p->signals(p->context) == p->signals_before)
		return false;
	p->slow = CUT_SHORT;
	return true;
}

static int plugin_poll(struct plugin *p, int descriptor, short events)
{
	struct pollfd fd = { .fd = descriptor, .events = events };
	int n;

	for (int ms = 0; ms < PATIENCE_MS; ms += STEP_MS) {
		n = TEMP_FAILURE_RETRY(poll(&fd, 1, p->live ? 0 : STEP_MS));
		if (n)
			return n < 0 ? -errno : 0;
		if (p->live || plugin_signalled(p))
			break;
	}
	return -ETIMEDOUT;
}

/*
 * Receives the reply, if there is one. A plug-in that died has sent none. Our own host sends a
 * reply in one piece; if foreign code writes half a reply to the socket, the rest is not waited
 * for.
 */
static int plugin_receive_reply(struct plugin *p)
{
	ssize_t n;
	int error = plugin_poll(p, p->socket, POLLIN);

	if (error)
		return error;
	n = TEMP_FAILURE_RETRY(recv(p->socket, &p->reply, sizeof(p->reply), MSG_DONTWAIT));
	if (n < 0)
		return -errno;
	if (n != sizeof(p->reply))
		return -EPIPE;
	p->reply.what[sizeof(p->reply.what) - 1] = '\0';
	p->reply.why[sizeof(p->reply.why) - 1] = '\0';
	p->replied = true;
	return 0;
}

/* Reaps the process. */
static void plugin_reap(struct plugin *p)
{
	if (p->stayed)
		kill(p->pid, SIGKILL);
	TEMP_FAILURE_RETRY(waitpid(p->pid, &p->status, 0));
	if (p->process >= 0)
		close(p->process);
	p->process = -1;
	p->pid = 0;
	p->ending = false;
}

/* Waits while the plug-in's destructors run, but no longer than for anything else. */
static void plugin_wait_for_exit(struct plugin *p)
{
	p->stayed = p->process >= 0 && plugin_poll(p, p->process, POLLIN);
	plugin_reap(p);
}

void plugin_stop(struct plugin *p, bool by_force)
{
	outbox_clear(&p->outbox);
	if (p->socket >= 0)
		close(p->socket);
	p->socket = -1;
	if (p->pid <= 0)
		return;
	if (by_force) {
		kill(p->pid, SIGKILL);
		plugin_reap(p);
	} else if (p->live) {
		p->ending = true;
		p->end_by_ns = clock_ns(CLOCK_MONOTONIC) + PATIENCE_NS;
	} else {
		plugin_wait_for_exit(p);
	}
}

/* A plug-in may return any number; only those that are errnos are passed on. */
int plugin_reply_error(const struct plugin *p)
{
	return p->reply.error > 0 || p->reply.error < -LAST_ERROR ? -EIO : p->reply.error;
}

/* Disables the plug-in: it reported an error, died, hangs, or is too slow. */
static int plugin_give_up(struct plugin *p, int error)
{
	bool slow = error == -ETIMEDOUT;

	if (slow && p->slow == NOT_SLOW)
		p->slow = TOOK_NOTHING;
	if (slow)
		p->missed = p->outbox.events + p->events;
	if (!slow && !p->replied)
		plugin_receive_reply(p);
	plugin_stop(p, slow);
	if (p->replied && p->reply.error < 0)
		return plugin_reply_error(p);
	return slow ? error : -EPIPE;
}

/* -ETIMEDOUT: the plug-in is too slow for a recording that is going on. */
static int plugin_check_backlog(struct plugin *p)
{
	if (p->outbox.bytes > KEPT_MAX)
		p->slow = FELL_BEHIND;
	else if (p->outbox.first && p->outbox.stalled_ns >= PATIENCE_NS)
		p->slow = TOOK_NOTHING;
	return p->slow ? -ETIMEDOUT : 0;
}

/* Waits until no more than `most` bytes are still to be sent. */
static int plugin_drain(struct plugin *p, size_t most)
{
	struct pollfd fd = { .fd = p->socket, .events = POLLOUT };
	int error;

	while ((error = outbox_send(&p->outbox, p->socket)) == -EAGAIN && p->outbox.bytes > most) {
		uint64_t began_ns = clock_ns(CLOCK_MONOTONIC);

		if (p->outbox.stalled_ns >= PATIENCE_NS || plugin_signalled(p))
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
		error = p->live ? plugin_check_backlog(p) : plugin_drain(p, KEPT_MAX);
	return error ? plugin_give_up(p, error) : 0;
}

int plugin_wait_for_reply(struct plugin *p)
{
	int error = plugin_drain(p, 0);

	error = error ?: plugin_receive_reply(p);
	return error ? plugin_give_up(p, error) : 0;
}

void plugin_live(struct consumer *consumer)
{
	plugin_of(consumer)->live = true;
}

void plugin_recorded(struct consumer *consumer, unsigned (*signals)(void *context), void *context)
{
	struct plugin *p = plugin_of(consumer);

	p->live = false;
	p->signals = signals;
	p->context = context;
	p->signals_before = signals(context);
}

/* Checks whether a stopped plug-in has exited, and kills it when its time is over. */
static void plugin_check_exit(struct plugin *p)
{
	if (!p->live) {
		plugin_wait_for_exit(p);
		return;
	}
	p->stayed = clock_ns(CLOCK_MONOTONIC) >= p->end_by_ns;
	if (p->stayed || p->process < 0 || !plugin_poll(p, p->process, POLLIN))
		plugin_reap(p);
}

bool plugin_tend(struct consumer *consumer)
{
	struct plugin *p = plugin_of(consumer);
	int error = 0;

	if (!consumer->error && p->outbox.first) {
		error = outbox_send(&p->outbox, p->socket);
		if (error == -EAGAIN)
			error = plugin_check_backlog(p);
		if (error)
			consumer->error = plugin_give_up(p, error);
	}
	if (p->ending)
		plugin_check_exit(p);
	return !p->ending;
}

pid_t plugin_pid(const struct consumer *consumer)
{
	return ((const struct plugin *)consumer)->pid;
}

void plugin_failure(const struct consumer *consumer, struct failure *f)
{
	const struct plugin *p = (const struct plugin *)consumer;
	char reason[sizeof(f->reason)];

	if (consumer->error == -EMSGSIZE && p->pid > 0)
		snprintf(reason, sizeof(reason), "an event is too long for it");
	else if (p->slow == TOOK_NOTHING)
		snprintf(reason, sizeof(reason), "it read nothing for %d seconds",
			 PATIENCE_MS / 1000);
	else if (p->slow == FELL_BEHIND)
		snprintf(reason, sizeof(reason), "it is too slow: %" PRIu64 " events were waiting",
			 p->missed);
	else if (p->slow == CUT_SHORT && p->missed)
		snprintf(reason, sizeof(reason),
			 "it is too slow: %" PRIu64
			 " events were still waiting when the recording ended",
			 p->missed);
	else if (p->slow == CUT_SHORT)
		snprintf(reason, sizeof(reason), "it was not done when the recording ended");
	else if (p->stayed)
		snprintf(reason, sizeof(reason), "it did not exit within %d seconds",
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
		snprintf(reason, sizeof(reason), "it was killed by signal %d (%s)",
			 WTERMSIG(p->status), strsignal(WTERMSIG(p->status)));
	else
		snprintf(reason, sizeof(reason), "it exited with status %d",
			 WEXITSTATUS(p->status));
	failure_set(f, consumer->error, "plug-in disabled:", p->library, reason);
}
