/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening what belongs to another process. The kernel checks the broker's permissions, which are
 * root's; whether the *invoking user* may look into that process is checked here, since a uprobe asks
 * for no permission to trace.
 */
#include "broker/server.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int no_process(struct failure *f, int error, pid_t pid)
{
	char object[16];

	snprintf(object, sizeof(object), "%d", (int)pid);
	if (error == -ENOENT || error == -ESRCH)
		return failure_set(f, -ESRCH, "no such process", object, "");
	return failure_set(f, error, "cannot look at process", object, NULL);
}

uint64_t process_birth(int directory)
{
	unsigned long long birth = 0;
	char text[1024];
	const char *at;
	ssize_t n;
	int fd = openat(directory, "stat", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	/* The name, field 2, may hold anything, also parentheses: what follows the last one is numbers. */
	at = strrchr(text, ')');
	if (!at || sscanf(at + 1,
			  " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d"
			  " %*d %llu",
			  &birth) != 1)
		return 0;
	return birth;
}

/* Owned by its effective user, or by root when it may not be traced by that user either. */
static bool is_invokers(int directory)
{
	struct stat st;

	return getuid() == 0 || (!fstat(directory, &st) && st.st_uid == getuid());
}

bool process_alive(int directory)
{
	char text[512], state = 'X';
	long tgid = -1, pid = -2;
	const char *at;
	ssize_t n;
	int fd = openat(directory, "status", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	/* The kernel escapes newlines in the name, so these begin lines of its own. */
	at = strstr(text, "\nState:\t");
	if (at)
		state = at[8];
	at = strstr(text, "\nTgid:\t");
	if (at)
		tgid = strtol(at + 7, NULL, 10);
	at = strstr(text, "\nPid:\t");
	if (at)
		pid = strtol(at + 6, NULL, 10);
	return tgid == pid && state != 'Z' && state != 'X';
}

/* A line of /proc/PID/status as a number. The kernel escapes newlines in names: lines are its own. */
static long status_number(int directory, const char *line)
{
	char text[1024];
	const char *at;
	ssize_t n;
	int fd = openat(directory, "status", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	at = strstr(text, line);
	return at ? strtol(at + strlen(line), NULL, 10) : -1;
}

pid_t process_parent(int directory)
{
	long parent = status_number(directory, "\nPPid:\t");

	return parent > 0 ? parent : 0;
}

int process_directory(const struct broker_target *target, struct failure *f)
{
	char path[32], object[16];
	int fd;

	if (target->pid <= 0)
		return failure_set(f, -EINVAL, "refused request", "", NULL);
	snprintf(path, sizeof(path), "/proc/%d", (int)target->pid);
	snprintf(object, sizeof(object), "%d", (int)target->pid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return no_process(f, -errno, target->pid);
	if (target->birth && process_birth(fd) != target->birth) {
		close(fd);
		return no_process(f, -ESRCH, target->pid);
	}
	if (!process_alive(fd)) {
		close(fd);
		failure_set(f, -ESRCH, "no such process", object,
			    "it is a thread of another, or ended");
		return -ESRCH;
	}
	if (!is_invokers(fd)) {
		close(fd);
		failure_set(f, -EPERM, "not permitted to trace process", object,
			    "it belongs to another user");
		failure_hint(f, "run proftrace with sudo");
		return -EPERM;
	}
	return fd;
}

int process_open(enum broker_file what, const struct broker_target *target, uint64_t start,
		 uint64_t end, struct failure *f)
{
	char name[64];
	int process, fd, error;

	if (what >= BROKER_FILES || (what == BROKER_MAPPED && start >= end))
		return failure_set(f, -EINVAL, "refused request", "open", NULL);
	process = process_directory(target, f);
	if (process < 0)
		return process;
	if (what == BROKER_MAPS)
		snprintf(name, sizeof(name), "maps");
	else if (what == BROKER_TASKS)
		snprintf(name, sizeof(name), "task");
	else
		snprintf(name, sizeof(name), "map_files/%" PRIx64 "-%" PRIx64, start, end);
	/* O_NONBLOCK: what is mapped may be a device that waits when opened. */
	fd = openat(process, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	error = fd < 0 ? -errno : 0;
	/* It may have executed a set-uid program in between. */
	if (!error && !is_invokers(process)) {
		close(fd);
		error = -EPERM;
	}
	close(process);
	if (error == -EPERM || error == -EACCES) {
		char object[16];

		snprintf(object, sizeof(object), "%d", (int)target->pid);
		failure_set(f, error, "not permitted to read the mappings of process", object,
			    NULL);
		failure_hint(f, "run proftrace with sudo, or give it CAP_SYS_PTRACE and "
				"CAP_CHECKPOINT_RESTORE");
		return error;
	}
	return error ? no_process(f, error, target->pid) : fd;
}
