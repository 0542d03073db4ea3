/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * steal_descriptors ROUNDS PROFTRACE [ARG...]
 *
 * A user who may run a proftrace with file capabilities wants the broker's socket, or a BPF program, map or link.
 * Each round starts PROFTRACE and, until it exits, tries every process of its tree again and again: pidfd_getfd(2) on
 * every descriptor, /proc/PID/mem for writing, and ptrace(2) on all but the command. The command's process is stopped
 * while it is searched, so that no moment is too short.
 *
 * Prints `processes N` (looked into), `harmless N` (descriptors taken that gain nothing), `stolen N` and a line for
 * each theft.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "valuable.h"

#define MOST_FDS       96
#define MOST_PROCESSES 64
#define ROUND_LOOKS    4000

static unsigned long processes, harmless, stolen;

static void take_descriptors(pid_t pid, const char *name)
{
	int process = (int)syscall(SYS_pidfd_open, pid, 0), n;
	char kind[128];

	for (n = 0; process >= 0 && n < MOST_FDS; n++) {
		int fd = (int)syscall(SYS_pidfd_getfd, process, n, 0);

		if (fd < 0)
			continue;
		if (is_valuable(fd, kind, sizeof(kind))) {
			stolen++;
			printf("got %s from %s\n", kind, name);
		} else {
			harmless++;
		}
		close(fd);
	}
	if (process >= 0)
		close(process);
}

/* The name before it executes anything tells the command's process from the others: its parent waits for it. */
static void look_into(pid_t pid, const char *name, int is_command)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDWR);
	if (fd >= 0) {
		close(fd);
		if (!is_command) {
			stolen++;
			printf("got the memory of %s\n", name);
		}
	}
	if (!is_command && !ptrace(PTRACE_SEIZE, pid, 0, 0)) {
		stolen++;
		printf("got %s by ptrace\n", name);
		ptrace(PTRACE_DETACH, pid, 0, 0);
	}
}

static int read_process(pid_t pid, char *name, size_t size, pid_t *ret_parent)
{
	char path[32], line[512], *open, *end;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "r");
	if (!file)
		return 0;
	end = fgets(line, sizeof(line), file);
	fclose(file);
	open = end ? strchr(line, '(') : NULL;
	end = end ? strrchr(line, ')') : NULL;
	if (!open || !end)
		return 0;
	*end = '\0';
	snprintf(name, size, "%s", open + 1);
	return sscanf(end + 1, " %*c %d", ret_parent) == 1;
}

/* The recorder and all its descendants; its threads' children are its own. */
static unsigned find_tree(pid_t recorder, pid_t tree[MOST_PROCESSES])
{
	unsigned n = 1, i;
	char path[64];

	tree[0] = recorder;
	for (i = 0; i < n; i++) {
		FILE *children;

		snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)tree[i],
			 (int)tree[i]);
		children = fopen(path, "r");
		while (children && n < MOST_PROCESSES && fscanf(children, "%d", &tree[n]) == 1)
			n++;
		if (children)
			fclose(children);
	}
	return n;
}

static void search(pid_t recorder, const char *command)
{
	pid_t tree[MOST_PROCESSES], parent;
	unsigned i, n = find_tree(recorder, tree);
	char name[64];

	for (i = 0; i < n; i++) {
		int is_command;

		if (!read_process(tree[i], name, sizeof(name), &parent))
			continue;
		/* Before it executes its program the command's process is called as the recorder. */
		is_command = tree[i] != recorder &&
			     (!strcmp(name, command) ||
			      (parent == recorder && strcmp(name, "proftrace-broke") &&
			       strcmp(name, "proftrace-otlp") && strcmp(name, "symbols")));
		/* Signals would only make the kernel refuse the broker's programs; nobody has to be quick with these. */
		if (is_command)
			kill(tree[i], SIGSTOP);
		processes++;
		take_descriptors(tree[i], name);
		look_into(tree[i], name, is_command);
		if (is_command)
			kill(tree[i], SIGCONT);
	}
}

int main(int argc, char **argv)
{
	int round, rounds = argc > 2 ? atoi(argv[1]) : 0, looks, status;
	const char *command = argc > 2 ? strrchr(argv[argc - 2], '/') : NULL;

	command = command ? command + 1 : argc > 2 ? argv[argc - 2] : "";
	for (round = 0; round < rounds; round++) {
		pid_t recorder = fork();

		if (!recorder) {
			execv(argv[2], argv + 2);
			_exit(127);
		}
		/* It must be proftrace already: before that it is this program. */
		for (looks = 0; looks < ROUND_LOOKS; looks++) {
			char name[64] = "";
			pid_t parent;

			if (waitpid(recorder, &status, WNOHANG) == recorder)
				break;
			if (read_process(recorder, name, sizeof(name), &parent) &&
			    strcmp(name, "steal_descripto"))
				search(recorder, command);
		}
		if (looks == ROUND_LOOKS) {
			kill(recorder, SIGTERM);
			waitpid(recorder, &status, 0);
		}
	}
	printf("processes %lu\nharmless %lu\nstolen %lu\n", processes, harmless, stolen);
	return 0;
}
