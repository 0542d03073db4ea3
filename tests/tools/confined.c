/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * confined KIND DIRECTORY
 *
 * What somebody would do who took over a process of KIND (sender, downloader, exporter, parser, recorder) by the data that it
 * reads, with what its filter of system calls and Landlock leave: write into the user's terminal what its shell executes,
 * end other processes of the user, limit them, read and write their memory, ask other programs of the machine for something
 * (`proftrace ctl` as well), or write a file that is executed later. `none` is a process without a filter.
 *
 * Prints `got TEXT` for each of these that works, `permitted TEXT` for what the process needs, and `through`. DIRECTORY is
 * empty; the cache of the downloader is made in it.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "privilege/confine.h"
#include "privilege/landlock.h"

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#endif

static volatile uint64_t secret = 1;
static const char *kind, *directory;
static char cache[4096], outside[4096], place[sizeof(((struct sockaddr_un *)0)->sun_path)];
static pid_t victim;

static bool is_kind(const char *name)
{
	return !strcmp(kind, name);
}

static bool uses_landlock(void)
{
	return is_kind("sender") || is_kind("downloader");
}

/* Version 0: the kernel has none. */
static bool has_landlock(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, 1) > 0;
}

static void confine(void)
{
	int error = 0;

	if (uses_landlock())
		landlock_writes(is_kind("downloader") ? cache : NULL);
	if (is_kind("sender"))
		error = confine_sender();
	else if (is_kind("downloader"))
		error = confine_downloader();
	else if (is_kind("exporter"))
		error = confine_exporter();
	else if (is_kind("parser"))
		error = confine_parser();
	else if (is_kind("recorder"))
		error = confine_recorder(NULL, 0);
	if (error)
		_exit(2);
}

/* In a process of its own, whose controlling terminal `with_terminal` makes. */
static void attack(bool (*works)(void), bool with_terminal, const char *what)
{
	int status, master;
	pid_t pid = with_terminal ? forkpty(&master, NULL, NULL, NULL) : fork();

	if (!pid) {
		confine();
		_exit(works() ? 0 : 1);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
	    WEXITSTATUS(status) == 2)
		printf("cannot try: %s\n", what);
	else if (!WEXITSTATUS(status))
		printf("%s\n", what);
	if (with_terminal)
		close(master);
}

/* --- what nobody should get ------------------------------------------------------------------------- */

static bool types_a_command(void)
{
	return !ioctl(STDIN_FILENO, TIOCSTI, "x");
}

static bool signals_another(void)
{
	char text = 'x';
	int pair[2];
	struct iovec byte = { &text, 1 };
	const struct msghdr message = { .msg_iov = &byte, .msg_iovlen = 1 };

	return !socketpair(AF_UNIX, SOCK_STREAM, 0, pair) && !fcntl(pair[0], F_SETOWN, victim) &&
	       !fcntl(pair[0], F_SETSIG, SIGUSR1) && !fcntl(pair[0], F_SETFL, O_ASYNC) &&
	       sendmsg(pair[1], &message, 0) == 1;
}

static bool limits_another(void)
{
	const struct rlimit64 r = { 1000, 1000 };

	return !syscall(SYS_prlimit64, victim, RLIMIT_NOFILE, &r, NULL);
}

static int open_memory(int flags)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)victim);
	return open(path, flags);
}

static bool reads_memory(void)
{
	uint64_t seen = 0;

	return pread(open_memory(O_RDONLY), &seen, sizeof(seen), (off_t)&secret) == sizeof(seen) &&
	       seen == 2;
}

static bool writes_memory(void)
{
	const uint64_t two = 2;

	return pwrite(open_memory(O_RDWR), &two, sizeof(two), (off_t)&secret) == sizeof(two);
}

static bool connects(int fd)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	strcpy(address.sun_path, place);
	return fd >= 0 && !connect(fd, (struct sockaddr *)&address, sizeof(address));
}

static bool asks_another(void)
{
	return connects(socket(AF_UNIX, SOCK_DGRAM, 0));
}

static bool asks_by_a_pair(void)
{
	int pair[2];

	return !socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) && connects(pair[0]);
}

static bool writes_outside(void)
{
	return open(outside, O_WRONLY | O_CREAT, 0700) >= 0;
}

/* --- what it needs ---------------------------------------------------------------------------------- */

static bool writes_to_cache(void)
{
	char path[sizeof(cache) + 8];

	snprintf(path, sizeof(path), "%s/file", cache);
	return open(path, O_WRONLY | O_CREAT, 0600) >= 0;
}

static bool connects_to_server(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(1) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return fd >= 0 && !fcntl(fd, F_SETFL, O_NONBLOCK) &&
	       (!connect(fd, (struct sockaddr *)&address, sizeof(address)) || errno != EPERM);
}

/* --- start ------------------------------------------------------------------------------------------ */

static void start_victim(void)
{
	victim = fork();
	if (!victim) {
		signal(SIGUSR1, SIG_IGN);
		secret = 2;
		pause();
		_exit(0);
	}
}

static void make_files(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	snprintf(cache, sizeof(cache), "%s/cache", directory);
	snprintf(outside, sizeof(outside), "%s/outside", directory);
	if (snprintf(place, sizeof(place), "%s/socket", directory) >= (int)sizeof(place))
		exit(2);
	strcpy(address.sun_path, place);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) || mkdir(cache, 0700))
		exit(2);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	kind = argv[1];
	directory = argv[2];
	setvbuf(stdout, NULL, _IOLBF, 0);
	make_files();
	start_victim();
	usleep(10000);
	attack(types_a_command, true, "got a command into the terminal");
	attack(signals_another, false, "got a signal to another process");
	attack(limits_another, false, "got limits for another process");
	attack(asks_another, false, "got a connection to another program");
	attack(asks_by_a_pair, false, "got a connection to another program by a pair");
	if (uses_landlock() && !has_landlock())
		printf("no Landlock\n");
	/* A recorder that was taken over has what its user has. */
	else if (!is_kind("recorder")) {
		attack(reads_memory, false, "got to read the memory of another process");
		attack(writes_memory, false, "got to write to the memory of another process");
		attack(writes_outside, false, "got to write a file");
	}
	if (uses_landlock())
		attack(connects_to_server, false, "permitted a connection to a server");
	if (is_kind("downloader"))
		attack(writes_to_cache, false, "permitted a file of the cache");
	printf("through\n");
	kill(victim, SIGKILL);
	waitpid(victim, NULL, 0);
	return 0;
}
