/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the CPU time of processes from /proc (spent.h). */
#include "spent.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_DEPTH 8

static int parent_of(int pid)
{
	char path[300], state;
	int found, parent = 0;
	FILE *stat;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	stat = fopen(path, "re");
	if (!stat)
		return 0;
	if (fscanf(stat, "%d (%*[^)]) %c %d", &found, &state, &parent) != 3)
		parent = 0;
	fclose(stat);
	return parent;
}

/* The first child with a number above `after`, or 0. */
static pid_t next_child(pid_t parent, pid_t after)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	int found = 0;

	while (proc && (entry = readdir(proc))) {
		int pid = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : 0;

		if (pid > after && (!found || pid < found) && parent_of(pid) == parent)
			found = pid;
	}
	if (proc)
		closedir(proc);
	return found;
}

pid_t spent_child(pid_t parent)
{
	return next_child(parent, 0);
}

/* What the threads of a process have run so far. */
static uint64_t spent_by_one(pid_t pid)
{
	struct dirent *entry;
	uint64_t sum = 0;
	char path[300];
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	while (tasks && (entry = readdir(tasks))) {
		uint64_t ns;
		FILE *file;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%s/schedstat", (int)pid, entry->d_name);
		file = fopen(path, "re");
		if (!file)
			continue;
		if (fscanf(file, "%" SCNu64, &ns) == 1)
			sum += ns;
		fclose(file);
	}
	if (tasks)
		closedir(tasks);
	return sum;
}

static uint64_t spent_below(pid_t pid, unsigned depth)
{
	uint64_t sum = spent_by_one(pid);
	pid_t child = 0;

	while (depth < MAX_DEPTH && (child = next_child(pid, child)))
		sum += spent_below(child, depth + 1);
	return sum;
}

uint64_t spent_by(pid_t pid)
{
	return pid > 0 ? spent_below(pid, 0) : 0;
}
