/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Closes links in processes that cannot be interrupted in it.
 *
 * When the last descriptor of a link is closed, the kernel removes its breakpoints. It gives up on that, and leaves
 * breakpoints and counted semaphores in the program for ever, if the process that closes is killed meanwhile. But a
 * process that has been killed already closes everything in order, as nothing can kill it again. So the last
 * descriptor of a link always belongs to such a process. The keeper, which was forked before there were links, forks
 * one for each packet of descriptors from the broker, and never has any itself. The process receives the packet, sleeps
 * until the broker has closed its own descriptors, kills itself, and detaches in its end.
 *
 * The broker only closes its own after the process has said that it has all of them. If it does not say that, because
 * somebody killed it or the keeper, or because it cannot be forked or may not have so many descriptors, the broker closes
 * nothing any more: the recording ends, and the broker kills itself with all descriptors open.
 *
 * The user may also stop any of these processes. One that is stopped before it has said that it ends with the keeper is sent no
 * descriptors, as nothing would end it. A stopped process also holds the socket open, so the broker learns from a pidfd that
 * the keeper has ended.
 *
 * It also is a matter of time. From Linux 6.12 on, when the kernel removes the program of a link, it waits until no
 * thread runs the program any more: for a grace period of RCU, 30 to 80 ms (on 6.18). Before 6.6, closing a perf event
 * waits for one as well. Processes that end at the same time share a grace period: closing 200 links takes 10 s one
 * after the other, and not a tenth of a second in 128 processes.
 *
 * Each packet also has the links of the programs that follow processes, since the broker may be killed before the links of
 * the packet are closed. They come before the others and behind them: a process that ends closes its last descriptor first,
 * and a packet that nobody receives loses its first one first.
 *
 * Nothing is allocated here, so that no link stays open for lack of memory.
 */
#include "privilege/broker/closing.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/packet.h"
#include "privilege/bare.h"
#include "privilege/broker/protocol.h"
#include "privilege/loader/loader.h"
#include "privilege/privileges.h"

#define CLOSING_PROCESSES 128
#define CLOSING_LATER	  32 /* processes: DESCRIPTORS_KEPT has pidfds of them */
#define CLOSING_LINKS	  (MESSAGE_MAX_FDS - 2 * WATCHERS) /* in one packet */

enum {
	KEEPER_SOCKET = 3,
	KEEPER_FORK = 'f',
	KEEPER_CLOSE = 'c', /* has the descriptors */
	KEEPER_GO = 'g',    /* the broker has closed its own */
	KEEPER_END = 'e',
};

/* What was begun: pidfds of the processes that detach. */
struct closing {
	unsigned n;
	int processes[CLOSING_PROCESSES];
};

struct closers {
	pthread_mutex_t lock;
	int socket;	      /* to the keeper and to the process that it has forked last */
	int keeper;	      /* pidfd */
	bool lost;	      /* nothing is closed any more */
	struct closing later; /* of members_close_later() */
};

/* --- the keeper ------------------------------------------------------------------------------------- */

/* Returns whether it has the descriptors of a packet, the last ones. */
static bool closing_receives(void)
{
	int fds[MESSAGE_MAX_FDS], process;
	unsigned n = MESSAGE_MAX_FDS;
	size_t size;
	char what;

	if (packet_receive(KEEPER_SOCKET, &what, sizeof(what), NULL) < 0 || what != KEEPER_FORK ||
	    packet_send(KEEPER_SOCKET, "", 1, -1) ||
	    message_receive(KEEPER_SOCKET, &what, sizeof(what), &size, fds, &n) ||
	    what != KEEPER_CLOSE || packet_send(KEEPER_SOCKET, "", 1, -1) ||
	    packet_receive(KEEPER_SOCKET, &what, sizeof(what), NULL) < 0)
		return false;
	process = (int)syscall(SYS_pidfd_open, getpid(), 0);
	return !packet_send(KEEPER_SOCKET, "", 1, process);
}

/*
 * Its end by a signal comes without any moment in which it could be killed once more, that by _exit() does not. `next`: a
 * pipe to the keeper.
 */
_Noreturn static void closing_process(pid_t keeper, int next)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == keeper && closing_receives() && write(next, "", 1) == 1)
		/* So that its end, which takes a while, does not hide that of the keeper. */
		close(KEEPER_SOCKET);
	for (;;)
		raise(SIGKILL);
}

/* Whether the process that it forks has received a packet and needs the socket no more. */
static bool keeper_forks(void)
{
	const pid_t keeper = getpid();
	bool received;
	int next[2];
	pid_t pid;
	char byte;

	if (pipe2(next, O_CLOEXEC))
		return false;
	pid = fork();
	if (!pid)
		closing_process(keeper, next[1]);
	close(next[1]);
	received = pid > 0 && read(next[0], &byte, 1) == 1;
	close(next[0]);
	return received;
}

_Noreturn static void keeper_serve(void)
{
	struct pollfd p = { .fd = KEEPER_SOCKET, .events = POLLIN };

	while (poll(&p, 1, -1) == 1 && p.revents == POLLIN && keeper_forks()) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
	/* Not by _exit() either: a packet that nobody has received may be in the socket. */
	for (;;)
		raise(SIGKILL);
}

struct keeper {
	int socket;
	pid_t broker;
};

/*
 * It ends when the broker has closed the socket; by PR_SET_PDEATHSIG also if it is stopped then, or waits for a closing
 * process that is stopped and has descriptors.
 */
static void become_keeper(void *context)
{
	const struct keeper *k = context;
	int socket = k->socket, error;

	prctl(PR_SET_NAME, CLOSING_NAME);
	error = descriptors_keep(&socket, KEEPER_SOCKET);
	if (packet_send(socket, &error, sizeof(error), -1) || error)
		_exit(1);
	/* The broker, which is a real-time process, waits for it and for the processes that detach. */
	privileges_use_priority(true);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (privileges_keep_guard())
		_exit(1);
	prctl(PR_SET_DUMPABLE, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != k->broker)
		_exit(1);
	keeper_serve();
}

/* --- the broker's side ------------------------------------------------------------------------------ */

struct closers *closers_new(void)
{
	struct closers *c = calloc(1, sizeof(*c));
	struct keeper k = { .broker = getpid() };
	int sockets[2], error;
	pid_t pid;

	if (!c || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets)) {
		free(c);
		return NULL;
	}
	pthread_mutex_init(&c->lock, NULL);
	k.socket = sockets[1];
	pid = bare_fork_guarded(sockets[1], become_keeper, &k);
	error = pid < 0 ? pid : 0;
	close(sockets[1]);
	c->socket = sockets[0];
	/* Nobody waits for it, so its number stays its own. */
	c->keeper = error ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
	if (!error && c->keeper < 0)
		error = -errno;
	if (!error)
		return c;
	if (c->keeper >= 0)
		close(c->keeper);
	close(c->socket);
	free(c);
	errno = -error;
	return NULL;
}

int closers_await(const struct closers *c)
{
	int error;

	return packet_receive(c->socket, &error, sizeof(error), NULL) == sizeof(error) ? error
										       : -EPIPE;
}

int closers_fd(const struct closers *c)
{
	return c->keeper;
}

/* Not longer than the keeper lives. Returns whether there is something to be received. */
static bool closers_wait(const struct closers *c)
{
	struct pollfd p[] = { { c->socket, POLLIN, 0 }, { c->keeper, POLLIN, 0 } };

	while (poll(p, 2, -1) < 0 && errno == EINTR)
		;
	return p[0].revents;
}

static int closers_receive(const struct closers *c, int *ret_fd)
{
	char byte;

	return closers_wait(c) ? packet_receive(c->socket, &byte, sizeof(byte), ret_fd) : -EPIPE;
}

void closers_end(struct closers *c)
{
	while (c->lost)
		raise(SIGKILL);
	packet_send(c->socket, &(char){ KEEPER_END }, 1, -1);
	closers_wait(c);
}

static void descriptors_close(const int *fds, unsigned n)
{
	while (n)
		close(fds[--n]);
}

/* Returns when a process has all descriptors of the packet. */
static int closers_hand_over(const struct closers *c, const int *fds, unsigned n)
{
	struct pollfd p[] = { { .fd = c->socket }, { .fd = c->keeper, .events = POLLIN } };
	int error = packet_send(c->socket, &(char){ KEEPER_FORK }, 1, -1);

	error = error ?: closers_receive(c, NULL);
	if (error < 0)
		return error;
	error = message_send(c->socket, &(char){ KEEPER_CLOSE }, 1, NULL, 0, fds, n);
	error = error ?: closers_receive(c, NULL);
	if (error < 0)
		return error;
	/* This process may have been stopped, and the other killed: then the keeper has ended. */
	return poll(p, 2, 0) ? -EPIPE : 0;
}

/*
 * Closes all of them, and returns a pidfd of the process that detaches; -1: it is done, or, if no descriptor was
 * free for the pidfd, soon; or they stay open until the end. While they are with a process, closing the broker's own
 * is not closing the last ones, so it takes no time, and nothing is lost if the broker is killed in it.
 */
static int closers_close(struct closers *c, const int *fds, unsigned n)
{
	int packet[MESSAGE_MAX_FDS], process = -1;

	for (int i = 0; i < WATCHERS; i++)
		packet[i] = packet[WATCHERS + n + i] = WATCHERS_FIRST + i;
	memcpy(packet + WATCHERS, fds, n * sizeof(*fds));
	pthread_mutex_lock(&c->lock);
	if (!c->lost && closers_hand_over(c, packet, n + 2 * WATCHERS)) {
		c->lost = true;
		/* The end of the keeper ends the recording, in server.c. */
		packet_send(c->socket, &(char){ KEEPER_END }, 1, -1);
	}
	if (!c->lost) {
		descriptors_close(fds, n);
		if (!packet_send(c->socket, &(char){ KEEPER_GO }, 1, -1))
			closers_receive(c, &process);
	}
	pthread_mutex_unlock(&c->lock);
	return process;
}

/* Takes up to `most` descriptors from the list, and frees the members that have none left. */
static unsigned members_unlink(struct member **list, unsigned most, int *fds)
{
	unsigned n = 0;

	while (*list && n < most) {
		struct member *m = *list;

		if (m->n)
			fds[n++] = m->fds[--m->n];
		if (!m->n) {
			*list = m->next;
			free(m);
		}
	}
	return n;
}

static unsigned members_count(const struct member *list)
{
	unsigned n = 0;

	for (; list; list = list->next)
		n += list->n;
	return n;
}

static void process_wait(int process)
{
	struct pollfd p = { process, POLLIN, 0 };

	while (poll(&p, 1, -1) < 0 && errno == EINTR)
		;
	close(process);
}

/* Begins to close as many as fit into so many processes, which are taken from the list. */
static void closing_begin(struct closers *c, struct member **list, unsigned processes,
			  struct closing *ret)
{
	unsigned each = members_count(*list) / processes + 1, n;
	int fds[CLOSING_LINKS];

	if (each > CLOSING_LINKS)
		each = CLOSING_LINKS;
	ret->n = 0;
	while (ret->n < processes && (n = members_unlink(list, each, fds))) {
		int process = closers_close(c, fds, n);

		if (process >= 0)
			ret->processes[ret->n++] = process;
	}
}

static void closing_wait(struct closing *closing)
{
	while (closing->n)
		process_wait(closing->processes[--closing->n]);
}

void members_close(struct closers *c, struct member *list)
{
	struct closing closing;

	while (list) {
		closing_begin(c, &list, CLOSING_PROCESSES, &closing);
		closing_wait(&closing);
	}
}

void members_close_later(struct closers *c, struct member *list)
{
	while (list) {
		closing_wait(&c->later);
		closing_begin(c, &list, CLOSING_LATER, &c->later);
	}
}

void members_wait(struct closers *c)
{
	closing_wait(&c->later);
}

void links_drop(struct closers *c, const int *fds, unsigned n)
{
	while (n) {
		unsigned some = n < CLOSING_LINKS ? n : CLOSING_LINKS;
		struct closing one = { .n = 1 };

		n -= some;
		one.processes[0] = closers_close(c, fds + n, some);
		if (one.processes[0] >= 0)
			closing_wait(&one);
	}
}
