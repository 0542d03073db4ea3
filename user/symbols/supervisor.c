/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The supervisor starts parsers, one after the other, each as confined as a process can be that
 * still has to parse: no new privileges, no capabilities, a seccomp filter, limits on memory and
 * time, and nothing but its socket. The supervisor itself only waits: for the parser to end, or for
 * the recorder to close the socket.
 */
#include "base/descriptors.h"
#include "base/packet.h"
#include "symbols/wire.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "privilege/confine.h"
#include "privilege/privileges.h"

enum {
	SOCKET = 3, /* the descriptor of the supervisor and of its parsers */
	MAX_PARSERS = 256,
	KILL_MS = 1000,
};

/* Address space: files are mapped, and the largest debug files have gigabytes. */
#define MAX_MEMORY (8ull << 30)
/*
 * Writable memory, because libelf maps files privately: compressed sections become larger, and what
 * is found in a file is kept. A file of compressed zeros would become a thousand times as large.
 */
#define MEMORY_OF_NOTHING (512ull << 20)
#define MEMORY_PER_BYTE	  8

void symbols_limit_memory(uint64_t file_bytes)
{
#ifndef MEMORY_UNLIMITED
	struct rlimit r;

	if (file_bytes > MAX_MEMORY)
		file_bytes = MAX_MEMORY;
	if (getrlimit(RLIMIT_DATA, &r))
		return;
	r.rlim_cur = MEMORY_OF_NOTHING + MEMORY_PER_BYTE * file_bytes;
	if (r.rlim_cur > r.rlim_max)
		r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_DATA, &r);
#else
	(void)file_bytes;
#endif
}

static void run_parser(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	prctl(PR_SET_NAME, "symbols", 0, 0, 0);
	/* A broken file is no reason to write a core dump. */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	confine_limit(RLIMIT_CORE, 0);
	confine_limit(RLIMIT_FSIZE, 0);
	confine_limit(RLIMIT_AS, MAX_MEMORY);
	confine_prefer_oom_kill();
	privileges_keep(NULL, 0, true);
	confine_parser();
	symbols_parser(SOCKET);
	_exit(0);
}

/*
 * Waits until the parser or the recorder ends. If the recorder ends, kills the parser. Returns whether the parser ended by
 * itself.
 */
static bool wait_for_parser(pid_t parser)
{
	struct pollfd fds[] = {
		{ .fd = (int)syscall(SYS_pidfd_open, parser, 0), .events = POLLIN },
		{ .fd = SOCKET }, /* POLLHUP is always reported */
	};
	int n;

	if (fds[0].fd < 0) {
		kill(parser, SIGKILL);
		return false;
	}
	do
		n = poll(fds, 2, -1);
	while (n < 0);
	if (fds[1].revents) {
		kill(parser, SIGKILL);
		/* The file may be on a file system of the target's own (FUSE): then SIGKILL waits for the target. */
		poll(fds, 1, KILL_MS);
	}
	close(fds[0].fd);
	return !fds[1].revents;
}

/*
 * Closes all descriptors of the recorder: otherwise the broker would not notice the recorder's end,
 * and the kernel would keep its BPF maps.
 */
static void close_inherited_files(int socket)
{
	if (descriptors_keep(&socket, SOCKET))
		_exit(1);
}

void symbols_supervisor(void *socket)
{
	const struct symbol_head died = { .kind = SYMBOL_DIED };
	/*
	 * The supervisor ends with the recorder, which goes on after an interrupt; so these signals
	 * are ignored.
	 */
	static const int ignored[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE };

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	for (unsigned i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	close_inherited_files(*(const int *)socket);
	for (unsigned i = 0; i < MAX_PARSERS; i++) {
		pid_t parser = fork();
		int status;
		bool ended;

		if (!parser)
			run_parser();
		if (parser < 0)
			_exit(1);
		ended = wait_for_parser(parser);
		if (waitpid(parser, &status, ended ? 0 : WNOHANG) < 0 || !ended)
			_exit(0);
		if (packet_send(SOCKET, &died, sizeof(died), -1))
			_exit(0);
	}
	_exit(1);
}
