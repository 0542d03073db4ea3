/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Linux (seen on 6.18) deadlocks if more than 1024 eBPF programs are removed at once, and a user can start any number of
 * recorders and kill them all. So without root a user may have no more than a few brokers. They are found by the name that a
 * broker gives itself before it loads any: nobody else can change it. Each counts when it has its name, so that of those who
 * start at once the last sees all others. Who gives other processes this name harms himself.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "privilege/broker/server.h"

/* Each has some 7 to 25 programs. What it has forked ends with it (PR_SET_PDEATHSIG). */
#define BROKERS_MOST 16

/* Returns 0 or negative errno; `text` is empty if the process has ended, or nobody may look into it (hidepid=noaccess). */
static int read_process_file(int proc, const char *pid, const char *name, char *text, size_t size)
{
	char path[64];
	ssize_t n = -1;
	int fd, error;

	snprintf(path, sizeof(path), "%.20s/%s", pid, name);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		n = read(fd, text, size - 1);
	error = n < 0 ? -errno : 0;
	if (fd >= 0)
		close(fd);
	text[n < 0 ? 0 : n] = '\0';
	return error == -ENOENT || error == -ESRCH || error == -EPERM || error == -EACCES ? 0
											  : error;
}

/* Returns 1, 0 or negative errno. */
static int process_is_broker(int proc, const char *pid)
{
	char text[1024];
	const char *user;
	int error;

	error = read_process_file(proc, pid, "comm", text, sizeof(text));
	if (error || strcmp(text, BROKER_NAME "\n"))
		return error;
	error = read_process_file(proc, pid, "status", text, sizeof(text));
	if (error)
		return error;
	user = strstr(text, "\nUid:\t");
	/* One that nobody has waited for has ended, and has none. */
	return user && !strstr(text, "\nState:\tZ") &&
	       strtoul(user + strlen("\nUid:\t"), NULL, 10) == getuid();
}

void broker_uncount(void)
{
	prctl(PR_SET_NAME, "proftrace");
}

int broker_count(struct failure *f)
{
	struct dirent *entry;
	int n = 0, is_one = 0;
	DIR *proc;

	prctl(PR_SET_NAME, BROKER_NAME);
	if (getuid() == 0)
		return 0;
	proc = opendir("/proc");
	if (!proc)
		return failure_set(f, -errno, "cannot read", "/proc", NULL);
	while (is_one >= 0 && (entry = readdir(proc))) {
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			is_one = process_is_broker(dirfd(proc), entry->d_name);
		n += is_one > 0;
	}
	closedir(proc);
	/* The user may set this process's limits at any moment (prlimit(2)). */
	if (is_one < 0)
		return failure_set(f, is_one, "cannot read", "/proc", NULL);
	if (n <= BROKERS_MOST)
		return 0;
	failure_set(f, -EUSERS, "cannot start", "", "too many recordings of this user are running");
	failure_hint(f,
		     "end one of them, or run proftrace with sudo: without root a user may have %d "
		     "recordings at once, because Linux can deadlock when many eBPF programs are "
		     "removed",
		     BROKERS_MOST);
	return -EUSERS;
}
