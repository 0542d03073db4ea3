/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel lists the children of each thread in /proc/PID/task/TID/children. */
#include "tracee/children.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "privilege/living_thread.h"

/* A child that has ended and was not waited for has no executable; nor has the first thread, if that has ended before others. */
static bool child_runs(pid_t pid)
{
	char path[32], exe;
	int directory;
	bool lacks_first;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	if (readlink(path, &exe, 1) > 0 || errno == EACCES || errno == ENAMETOOLONG)
		return true;
	snprintf(path, sizeof(path), "/proc/%d", pid);
	directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	lacks_first = directory >= 0 && process_lacks_first(directory);
	if (directory >= 0)
		close(directory);
	return lacks_first;
}

unsigned target_children(pid_t pid, pid_t *children, unsigned most)
{
	const struct dirent *task;
	char path[320];
	unsigned n = 0;
	DIR *tasks;
	int child;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	while (tasks && (task = readdir(tasks))) {
		FILE *list;

		snprintf(path, sizeof(path), "/proc/%d/task/%s/children", pid, task->d_name);
		list = fopen(path, "re");
		while (list && fscanf(list, "%d", &child) == 1) {
			if (!child_runs(child))
				continue;
			if (n < most)
				children[n] = child;
			n++;
		}
		if (list)
			fclose(list);
	}
	if (tasks)
		closedir(tasks);
	return n;
}
