/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the processes that match what the user looks for. */
#include "privilege/broker/server.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* proftrace's own processes mark nothing, and must not be held. */
static bool is_own_process(int directory, pid_t pid, pid_t recorder)
{
	pid_t parent;

	if (pid == getpid() || pid == recorder)
		return true;
	parent = process_parent(directory);
	return parent == getpid() || parent == recorder || process_protected(directory);
}

/* Another thread shows the program of a process whose first one has ended. */
static int open_other_thread(int directory, pid_t pid)
{
	const struct dirent *entry;
	char path[32], program;
	int thread = -1;
	DIR *tasks;

	if (!process_lacks_first(directory))
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	while (tasks && thread < 0 && (entry = readdir(tasks))) {
		if (entry->d_name[0] == '.')
			continue;
		thread = openat(dirfd(tasks), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (thread >= 0 && readlinkat(thread, "exe", &program, 1) <= 0) {
			close(thread);
			thread = -1;
		}
	}
	if (tasks)
		closedir(tasks);
	return thread;
}

/* The kernel's threads have no program, and no user may trace what is another's. */
static bool is_found(const struct target_filter *filter, const struct target_containers *containers,
		     int directory, pid_t pid, pid_t recorder)
{
	int thread = -1;
	bool matches;
	struct stat st;
	char program;

	if (getuid() && (fstat(directory, &st) || st.st_uid != getuid()))
		return false;
	if (readlinkat(directory, "exe", &program, 1) <= 0) {
		thread = open_other_thread(directory, pid);
		if (thread < 0)
			return false;
	}
	matches = target_filter_matches(filter, containers, directory);
	if (thread >= 0) {
		matches = matches || target_filter_matches(filter, containers, thread);
		close(thread);
	}
	return matches && !is_own_process(directory, pid, recorder);
}

int processes_find(const struct target_filter *filter, const struct target_containers *containers,
		   pid_t recorder, uint32_t *pids, unsigned max, unsigned *ret_n)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	unsigned n = 0;

	if (!proc)
		return -errno;
	while ((entry = readdir(proc)) && n < max) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		int directory;

		if (pid <= 0)
			continue;
		directory = openat(dirfd(proc), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (directory < 0)
			continue;
		if (is_found(filter, containers, directory, pid, recorder))
			pids[n++] = (uint32_t)pid;
		close(directory);
	}
	closedir(proc);
	*ret_n = n;
	return 0;
}
