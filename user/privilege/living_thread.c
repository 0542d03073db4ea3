/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads only what /proc shows of every process to everybody. */
#include "privilege/living_thread.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEARCHES	8
#define THREADS_AT_MOST 4096 /* in a search */
#define ENDED_AT_MOST \
	64 /* a process may have any number that have ended and whose tracer does not wait for them */

#define TASK_EXITING 0x4u /* PF_EXITING of the kernel: set before anything that its exit tells */

/* Returns false if there is no such thread any more. */
static bool read_thread_file(int directory, const char *name, char *text, size_t size)
{
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, size - 1) : -1;

	text[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
	return n > 0;
}

static pid_t read_number(int directory, const char *line)
{
	char text[1024];
	const char *at;

	read_thread_file(directory, "status", text, sizeof(text));
	/* The kernel escapes newlines in the name, so this is the beginning of a line. */
	at = strstr(text, line);
	return at ? (pid_t)strtol(at + strlen(line), NULL, 10) : 0;
}

pid_t thread_process(int directory)
{
	return read_number(directory, "\nTgid:\t");
}

/* A directory has one link for each of its directories, and two more. */
static bool has_other_threads(int process)
{
	struct stat threads;

	return !fstatat(process, "task", &threads, 0) && threads.st_nlink > 3;
}

/* For /proc/PID/stat, the kernel adds up what all threads have used. */
bool thread_has_ended(int directory)
{
	char text[1024], path[32] = "stat";
	const char *at;
	unsigned flags;

	if (has_other_threads(directory))
		snprintf(path, sizeof(path), "task/%d/stat",
			 (int)read_number(directory, "\nPid:\t"));
	read_thread_file(directory, path, text, sizeof(text));
	/* The name may contain anything. Only numbers follow the last parenthesis. */
	at = strrchr(text, ')');
	return !at || sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) != 1 ||
	       flags & TASK_EXITING;
}

static bool is_there(int directory)
{
	char text[8];

	return read_thread_file(directory, "comm", text, sizeof(text));
}

bool process_lacks_first(int process)
{
	return has_other_threads(process) && thread_has_ended(process) && is_there(process);
}

static int open_number(const char *number)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%.16s", number);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* As long as the process is there, its number is no other's: what is a thread of that number is its own. */
static bool is_thread_of(int thread, int process, pid_t pid)
{
	return thread_process(thread) == pid && is_there(process);
}

/* Those that began first are listed first, and are likely to stay. -EAGAIN: too many have ended and are still there. */
static int find_thread(int process, pid_t pid)
{
	const struct dirent *entry;
	int thread = -ESRCH;
	unsigned n = 0, ended = 0;
	char path[32];
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	/* The broker may not do all that fdopendir() does. By now these may be another's threads, which are refused. */
	tasks = opendir(path);
	while (tasks && thread != -EAGAIN && n++ < THREADS_AT_MOST && (entry = readdir(tasks))) {
		if (entry->d_name[0] == '.')
			continue;
		thread = open_number(entry->d_name);
		if (thread < 0)
			continue;
		if (is_thread_of(thread, process, pid) && !thread_has_ended(thread))
			break;
		close(thread);
		thread = ++ended < ENDED_AT_MOST ? -ESRCH : -EAGAIN;
	}
	if (tasks)
		closedir(tasks);
	return thread;
}

int living_thread(int process, pid_t pid)
{
	for (unsigned i = 0; i < SEARCHES; i++) {
		int thread = find_thread(process, pid);

		if (thread >= 0 || thread == -EAGAIN || !has_other_threads(process))
			return thread;
	}
	return -EAGAIN;
}

int open_living_thread(pid_t pid)
{
	char number[16];
	int process, thread;

	snprintf(number, sizeof(number), "%d", (int)pid);
	process = open_number(number);
	if (process < 0 || !process_lacks_first(process))
		return process;
	thread = living_thread(process, pid);
	close(process);
	return thread;
}

pid_t living_number(pid_t pid)
{
	int directory = open_living_thread(pid);
	pid_t number = directory < 0 ? 0 : read_number(directory, "\nPid:\t");

	if (directory >= 0)
		close(directory);
	return number ? number : pid;
}

int open_thread_of(pid_t pid, pid_t tid)
{
	char number[16];
	int process, thread = -ESRCH;

	snprintf(number, sizeof(number), "%d", (int)pid);
	process = open_number(number);
	if (process < 0 || pid == tid)
		return process;
	snprintf(number, sizeof(number), "%d", (int)tid);
	thread = open_number(number);
	if (thread >= 0 && !is_thread_of(thread, process, pid)) {
		close(thread);
		thread = -ESRCH;
	}
	close(process);
	return thread;
}
