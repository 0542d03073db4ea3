/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The process that starts provers. It has no capability in effect, receives messages only from the broker, and these contain
 * nothing but a descriptor.
 */
#include "privilege/prover/prover.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/library/library.h"
#include "base/packet.h"
#include "privilege/bare.h"
#include "privilege/confine.h"
#include "privilege/privileges.h"

enum {
	STARTER_SOCKET = 3, /* of the starter and of a prover */
	PROVER_FILE = 4,
	PROVER_FILES =
		8, /* descriptors: these, the debug file, and two memfds of unpacked symbols */
	MAX_DYING_PROVERS = 4, /* killed, but waiting for a file system that does not respond */
	PROVER_SECONDS =
		60, /* of CPU time; the 33,000 functions of a large library take a quarter of a second */
	TIMEOUT_SECONDS = 75,
};

#define PROVER_ADDRESSES (2ull << 30) /* bytes: symbol tables, and a function at a time */
#define PROVER_UNPACKED	 (256u << 20) /* of symbols, see tracee/debug_symbols.h */

/*
 * A prover has the uid of the user or of root, but neither may control it: since it is not dumpable, only
 * CAP_SYS_PTRACE allows to trace it or to write to its memory. It does not run without the system call filter.
 */
_Noreturn static void become_prover(prover_fn prove, pid_t starter, int socket, int elf_fd)
{
	prctl(PR_SET_NAME, "proftrace-prove");
	prctl(PR_SET_DUMPABLE, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* The starter may have ended before that. */
	if (getppid() != starter)
		_exit(1);
	/* The CPU limit kills it by this signal. */
	signal(SIGXCPU, SIG_DFL);
	if (dup2(socket, STARTER_SOCKET) < 0 || dup2(elf_fd, PROVER_FILE) < 0)
		_exit(1);
	closefrom(PROVER_FILE + 1);
	confine_limit(RLIMIT_CORE, 0);
	confine_limit(RLIMIT_NOFILE, PROVER_FILES);
	confine_limit(RLIMIT_FSIZE, PROVER_UNPACKED);
	confine_limit(RLIMIT_CPU, PROVER_SECONDS);
	confine_limit(RLIMIT_AS, PROVER_ADDRESSES);
	if (confine_prover())
		_exit(1);
	prove(STARTER_SOCKET, PROVER_FILE);
	_exit(0);
}

/* Only the last prover is in use; earlier ones have been killed. */
struct starter {
	pid_t last;
	unsigned dying;
};

/* Kills the last prover. Returns whether another one may be started, for which it waits if too many are dying. */
static bool starter_end_last(struct starter *s)
{
	static const struct timespec moment = { .tv_sec = 5 };
	sigset_t ends;

	if (s->last > 0)
		kill(s->last, SIGKILL);
	s->last = 0;
	sigemptyset(&ends);
	sigaddset(&ends, SIGCHLD);
	do {
		while (s->dying && waitpid(-1, NULL, WNOHANG) > 0)
			s->dying--;
	} while (s->dying >= MAX_DYING_PROVERS && sigtimedwait(&ends, NULL, &moment) == SIGCHLD);
	return s->dying < MAX_DYING_PROVERS;
}

static int starter_fork_prover(struct starter *s, prover_fn prove, int elf_fd, int *ret_socket)
{
	const struct timeval timeout = { .tv_sec = TIMEOUT_SECONDS };
	const pid_t starter = getpid();
	int sockets[2], error;

	if (!starter_end_last(s))
		return -EBUSY;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	/* For the broker's end: it must not wait for a prover forever. */
	setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	setsockopt(sockets[0], SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	s->last = fork();
	if (!s->last)
		become_prover(prove, starter, sockets[1], elf_fd);
	error = s->last < 0 ? -errno : 0;
	close(sockets[1]);
	if (error) {
		close(sockets[0]);
		return error;
	}
	s->dying++;
	*ret_socket = sockets[0];
	return 0;
}

_Noreturn static void starter_serve(int socket, prover_fn prove)
{
	struct starter s = { 0 };
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGCHLD);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	for (;;) {
		int fd, channel = -1, error;
		char byte;

		if (packet_receive(socket, &byte, sizeof(byte), &fd) < 0 || fd < 0)
			_exit(0);
		error = starter_fork_prover(&s, prove, fd, &channel);
		close(fd);
		if (packet_send(socket, &error, sizeof(error), channel))
			_exit(0);
		if (channel >= 0)
			close(channel);
	}
}

struct starting {
	int socket;
	prover_fn prove;
	pid_t broker;
};

static void become_starter(void *context)
{
	const struct starting *s = context;
	int socket = s->socket, error;

	prctl(PR_SET_NAME, "proftrace-start");
	error = descriptors_keep(&socket, STARTER_SOCKET);
	/* For symbols of functions, which provers unpack. They are confined. */
	error = error ?: library_load(&library_lzma, NULL);
	if (packet_send(socket, &error, sizeof(error), -1) || error)
		_exit(1);
	confine_prefer_oom_kill();
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (privileges_keep_guard())
		_exit(1);
	prctl(PR_SET_DUMPABLE, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != s->broker)
		_exit(1);
	starter_serve(STARTER_SOCKET, s->prove);
}

int starter_start(prover_fn prove)
{
	const struct timeval timeout = { .tv_sec = TIMEOUT_SECONDS };
	struct starting s = { .prove = prove, .broker = getpid() };
	int sockets[2], error;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	s.socket = sockets[1];
	pid = bare_fork_guarded(sockets[1], become_starter, &s);
	error = pid < 0 ? pid : 0;
	close(sockets[1]);
	if (!error && packet_receive(sockets[0], &error, sizeof(error), NULL) != sizeof(error))
		error = -EPIPE;
	if (error)
		close(sockets[0]);
	return error ? error : sockets[0];
}

int starter_prover(int starter, int elf_fd)
{
	int answer = 0, channel = -1, error;

	error = packet_send(starter, "", 1, elf_fd);
	error = error ?: packet_receive(starter, &answer, sizeof(answer), &channel);
	if (error < 0)
		return error == -EAGAIN ? -ETIMEDOUT : error;
	if (channel >= 0)
		return channel;
	return answer < 0 ? answer : -EPROTO;
}
