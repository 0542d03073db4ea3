/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Linux (seen on 6.18) deadlocks if more than 1024 eBPF programs are removed at once, and a user can start any number of
 * recorders and kill them all. So without root no more than a few processes of a user may have programs. They are found by
 * the name that a process of proftrace gives itself before it loads any: nobody else can change it. Each counts when it has
 * its name, so that of those who start at once the last sees all others. Who gives other processes this name harms himself.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "privilege/broker/closing.h"
#include "privilege/broker/server.h"

/* A recorder has two, or more for a moment, and its broker some 7 to 25 programs. */
#define PROCESSES_MOST 32

static void read_process_file(int proc, const char *pid, const char *name, char *text, size_t size)
{
	char path[64];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "%.20s/%s", pid, name);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, size - 1);
		close(fd);
	}
	text[n < 0 ? 0 : n] = '\0';
}

static bool process_may_have_programs(int proc, const char *pid)
{
	char text[1024];
	const char *user;

	read_process_file(proc, pid, "comm", text, sizeof(text));
	if (strcmp(text, BROKER_NAME "\n") && strcmp(text, CLOSING_NAME "\n"))
		return false;
	read_process_file(proc, pid, "status", text, sizeof(text));
	user = strstr(text, "\nUid:\t");
	/* One that nobody has waited for has ended, and has none. */
	return user && !strstr(text, "\nState:\tZ") &&
	       strtoul(user + strlen("\nUid:\t"), NULL, 10) == getuid();
}

int broker_count(struct failure *f)
{
	struct dirent *entry;
	unsigned n = 0;
	DIR *proc;

	prctl(PR_SET_NAME, BROKER_NAME);
	if (getuid() == 0)
		return 0;
	proc = opendir("/proc");
	if (!proc)
		return failure_set(f, -errno, "cannot read", "/proc", NULL);
	while ((entry = readdir(proc))) {
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			n += process_may_have_programs(dirfd(proc), entry->d_name);
	}
	closedir(proc);
	if (n <= PROCESSES_MOST)
		return 0;
	failure_set(f, -EUSERS, "cannot start", "", "too many recordings of this user are running");
	failure_hint(f,
		     "without root a user may have %d processes that could have eBPF programs, "
		     "two for each recording",
		     PROCESSES_MOST);
	return -EUSERS;
}
