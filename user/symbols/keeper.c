/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts parsers, one after the other, each as confined as a process can be that still parses. */
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

#include "confine/confine.h"
#include "target/privileges.h"

enum {
	SOCKET = 3, /* of the keeper, and of its parsers */
	MAX_PARSERS = 256,
};

/* Of addresses: files are mapped, and the largest debug files have gigabytes. */
#define MAX_MEMORY (8ull << 30)
/*
 * Of what can be written to, as libelf has files mapped: what is compressed in a file becomes larger, and
 * what is found in it is kept. Files of zeros, compressed, would become a thousand times as large.
 */
#define MEMORY_OF_NOTHING (512ull << 20)
#define MEMORY_PER_BYTE	  8

/* Address sanitizers map more than any limit that makes sense. */
#if defined(__SANITIZE_ADDRESS__)
#define UNLIMITED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNLIMITED 1
#endif
#endif

static void limit(int resource, rlim_t most)
{
	const struct rlimit r = { most, most };

	setrlimit(resource, &r);
}

static void limit_memory(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	/* If somebody has to go, then who can be done without. */
	if (fd >= 0) {
		ssize_t n = write(fd, "1000", 4);

		(void)n;
		close(fd);
	}
#ifndef UNLIMITED
	limit(RLIMIT_AS, MAX_MEMORY);
#endif
}

void symbols_limit_memory(uint64_t file_bytes)
{
#ifndef UNLIMITED
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

static void become_parser(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	prctl(PR_SET_NAME, "symbols", 0, 0, 0);
	/* Broken files are no reason to leave a core dump behind. */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_FSIZE, 0);
	limit_memory();
	privileges_keep(NULL, 0, true);
	confine_parser();
	symbols_parser(SOCKET);
	_exit(0);
}

/* Whether it ended, and not the recorder. */
static bool watch(pid_t parser)
{
	struct pollfd fds[] = {
		{ .fd = (int)syscall(SYS_pidfd_open, parser, 0), .events = POLLIN },
		{ .fd = SOCKET }, /* hung up */
	};
	int n;

	if (fds[0].fd < 0)
		return false;
	do
		n = poll(fds, 2, -1);
	while (n < 0);
	close(fds[0].fd);
	return !fds[1].revents;
}

/* Nothing of the recorder's stays open: the broker would not see its end, nor the kernel its maps'. */
static void keep_only(int socket)
{
	int nothing, i;

	if (socket != SOCKET)
		dup2(socket, SOCKET);
	closefrom(SOCKET + 1);
	nothing = open("/dev/null", O_RDWR);
	for (i = 0; i < SOCKET && nothing > SOCKET; i++)
		dup2(nothing, i);
	close(nothing);
}

void symbols_keeper(int socket)
{
	const struct symbol_head died = { .answer = SYMBOL_DIED };
	/* The recorder's own end is the end here; it goes on when it is interrupted. */
	static const int ignored[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE };
	unsigned i;

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	for (i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	keep_only(socket);
	for (i = 0; i < MAX_PARSERS; i++) {
		pid_t parser = fork();
		int status;
		bool ended;

		if (!parser)
			become_parser();
		if (parser < 0)
			_exit(1);
		ended = watch(parser);
		if (!ended)
			kill(parser, SIGKILL);
		if (waitpid(parser, &status, 0) < 0 || !ended)
			_exit(0);
		if (symbol_send(SOCKET, &died, sizeof(died), -1))
			_exit(0);
	}
	_exit(1);
}
