/* SPDX-License-Identifier: BSD-2-Clause */
/* The process of trial.h, and how the broker talks to it. */
#include "privilege/loader/trial.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/packet.h"
#include "privilege/bare.h"
#include "privilege/privileges.h"

#define TRIAL_SECONDS 30 /* a step takes a tenth of one, but machines are busy */

struct trial {
	pthread_mutex_t lock;
	int socket, process; /* pidfd */
	pid_t pid;
};

struct trial_child {
	int socket;
	pid_t parent;
};

static void trial_run(void *context)
{
	static uint64_t (*const steps[TRIAL_STEPS])(void) = {
		[TRIAL_PID_FILTER] = pid_filter_step,
		[TRIAL_OPTIMISED_NOP] = optimised_nop_step,
		[TRIAL_COST] = cost_step,
	};
	const struct trial_child *c = context;
	enum trial_step step;
	uint64_t reply;

	prctl(PR_SET_NAME, "proftrace-trial");
	if (privileges_keep_guard())
		_exit(1);
	prctl(PR_SET_DUMPABLE, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != c->parent)
		_exit(1);
	while (packet_receive(c->socket, &step, sizeof(step), NULL) == sizeof(step) &&
	       step < TRIAL_STEPS) {
		reply = steps[step]();
		if (packet_send(c->socket, &reply, sizeof(reply), -1))
			break;
	}
	_exit(0);
}

int trial_new(struct trial **ret_trial)
{
	const struct timeval timeout = { .tv_sec = TRIAL_SECONDS };
	struct trial *t = calloc(1, sizeof(*t));
	struct trial_child c = { .parent = getpid() };
	int sockets[2], error = 0;

	if (!t)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets)) {
		error = -errno;
		free(t);
		return error;
	}
	/*
	 * If the caller ignored SIGCHLD, the number of a trial process that is killed could be used again, and the broker would
	 * attach to another process.
	 */
	signal(SIGCHLD, SIG_DFL);
	setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	c.socket = sockets[1];
	pthread_mutex_init(&t->lock, NULL);
	t->socket = sockets[0];
	t->pid = bare_fork_guarded(sockets[1], trial_run, &c);
	close(sockets[1]);
	t->process = t->pid < 0 ? -1 : (int)syscall(SYS_pidfd_open, t->pid, 0);
	if (t->process < 0)
		error = t->pid < 0 ? t->pid : -errno;
	if (!error) {
		*ret_trial = t;
		return 0;
	}
	close(t->socket);
	free(t);
	return error;
}

pid_t trial_pid(const struct trial *trial)
{
	return trial->pid;
}

int trial_socket(const struct trial *trial)
{
	return trial->socket;
}

int trial_request(struct trial *trial, enum trial_step step, uint64_t *ret_reply)
{
	int n;

	pthread_mutex_lock(&trial->lock);
	n = packet_send(trial->socket, &step, sizeof(step), -1);
	n = n ?: packet_receive(trial->socket, ret_reply, sizeof(*ret_reply), NULL);
	/* A reply that comes later is not that to the next request. */
	if (n != sizeof(*ret_reply))
		shutdown(trial->socket, SHUT_RDWR);
	pthread_mutex_unlock(&trial->lock);
	return n == sizeof(*ret_reply) ? 0 : n < 0 ? n : -EPROTO;
}

/* SIGKILL also ends a process that is stopped. A cgroup of version 1 can keep it, if it is frozen. */
pid_t trial_end(struct trial *trial)
{
	struct pollfd ended = { .fd = trial->process, .events = POLLIN };
	const pid_t pid = trial->pid;

	close(trial->socket);
	kill(pid, SIGKILL);
	while (poll(&ended, 1, TRIAL_SECONDS * 1000) < 0 && errno == EINTR)
		;
	close(trial->process);
	free(trial);
	return ended.revents ? pid : -ETIMEDOUT;
}
