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

#include "privilege/living_thread.h"

/*
 * proftrace's own processes mark nothing, and must not be held. A child of the recorder may be one that had forked before it executed
 * proftrace (`./server & exec proftrace -n server`); those that it forks itself run its program.
 */
static bool is_own_process(int directory, pid_t pid, pid_t recorder)
{
	pid_t parent;

	if (pid == getpid() || pid == recorder)
		return true;
	parent = process_parent(directory);
	if (parent == getpid() || (parent == recorder && runs_this_program(directory)))
		return true;
	return process_protected(directory);
}

bool process_matches(const struct target_filter *filter, const struct target_containers *containers,
		     int directory, pid_t pid)
{
	bool matches = target_filter_matches(filter, containers, directory);
	char path[32];
	int first;

	if (matches)
		return true;
	snprintf(path, sizeof(path), "task/%d", (int)pid);
	first = openat(directory, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (first < 0)
		return false;
	matches = thread_has_ended(first) && target_filter_matches(filter, containers, first);
	close(first);
	return matches;
}

/*
 * The kernel's threads have no program, and no user may trace what is another's. With another error than ENOENT there is a program:
 * its path may be longer than the kernel shows.
 */
static bool is_found(const struct target_filter *filter, const struct target_containers *containers,
		     int directory, pid_t pid, pid_t recorder)
{
	int thread = directory;
	struct stat st;
	char program;
	bool is_found;

	if (getuid() && (fstat(directory, &st) || st.st_uid != getuid()))
		return false;
	if (readlinkat(directory, "exe", &program, 1) < 0 && (errno == ENOENT || errno == ESRCH))
		thread = process_lacks_first(directory) ? living_thread(directory, pid) : -ESRCH;
	/* Of one whose threads end so fast, it is said later that it is not recorded. */
	if (thread == -EAGAIN)
		thread = directory;
	if (thread < 0)
		return false;
	is_found = thread == directory ? target_filter_matches(filter, containers, directory)
				       : process_matches(filter, containers, thread, pid);
	is_found = is_found && !is_own_process(thread, pid, recorder);
	if (thread != directory)
		close(thread);
	return is_found;
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
