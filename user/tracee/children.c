/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel lists the children of each thread in /proc/PID/task/TID/children. */
#include "tracee/children.h"

#include <dirent.h>
#include <stdio.h>

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
		for (; list && fscanf(list, "%d", &child) == 1; n++) {
			if (n < most)
				children[n] = child;
		}
		if (list)
			fclose(list);
	}
	if (tasks)
		closedir(tasks);
	return n;
}
