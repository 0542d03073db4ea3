/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * outlive UID GID PROCESS PROFTRACE [ARG...]
 *
 * Root runs PROFTRACE as a user under ptrace(2), stops one of its processes for ever, and kills the recorder and the
 * broker: what the user could do with SIGSTOP or the freezer of a cgroup, at a moment that is met each time. PROCESS is
 * the number of the process that is stopped, in the order in which they are forked, at its first instruction; or
 * `closing`: the first process that the keeper (proftrace-close) has forked, once it has descriptors of links; or `list`,
 * which stops none for ever and prints `process NUMBER NAME` for each when the recording has ended.
 *
 * Prints `stopped NAME`, or `not reached` if PROFTRACE ended before; `holds NAME WHAT` for what the process must not have
 * (holdings.h); `guarded` if it is permitted the one capability that processes of the broker have; and `left N of M`: how many of the BPF programs, maps and links that the broker had there are after
 * ten seconds at most.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "holdings.h"

#define MOST_PROCESSES 64
#define MOST_OBJECTS   1024
#define MOST_SECONDS   10
#define RECORDING_ENDS 30 /* seconds, after which SIGALRM ends this program without a line */

static struct {
	pid_t pid, parent;
	char name[32];
} seen[MOST_PROCESSES];
static unsigned n_seen;

static struct object {
	int command;
	unsigned id;
} objects[MOST_OBJECTS];
static unsigned n_objects;

static pid_t recorder, broker;

static void read_name(pid_t pid, char *name, size_t size)
{
	char path[64];
	FILE *file;

	name[0] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	file = fopen(path, "r");
	if (!file)
		return;
	if (fgets(name, (int)size, file))
		name[strcspn(name, "\n")] = '\0';
	fclose(file);
}

static pid_t read_number(pid_t pid, const char *field)
{
	char path[64], line[128];
	int number = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file)) {
		if (!strncmp(line, field, strlen(field)))
			number = atoi(line + strlen(field));
	}
	if (file)
		fclose(file);
	return number;
}

static void add_object(int command, unsigned id)
{
	unsigned i;

	for (i = 0; i < n_objects; i++) {
		if (objects[i].command == command && objects[i].id == id)
			return;
	}
	if (n_objects < MOST_OBJECTS)
		objects[n_objects++] = (struct object){ command, id };
}

/* What the broker's threads have open. */
static void read_objects(const char *directory)
{
	char path[600], line[256];
	struct dirent *entry;
	unsigned id;
	DIR *dir = opendir(directory);

	while (dir && (entry = readdir(dir))) {
		FILE *file;

		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		file = fopen(path, "r");
		while (file && fgets(line, sizeof(line), file)) {
			if (sscanf(line, "prog_id: %u", &id) == 1)
				add_object(BPF_PROG_GET_FD_BY_ID, id);
			if (sscanf(line, "map_id: %u", &id) == 1)
				add_object(BPF_MAP_GET_FD_BY_ID, id);
			if (sscanf(line, "link_id: %u", &id) == 1)
				add_object(BPF_LINK_GET_FD_BY_ID, id);
		}
		if (file)
			fclose(file);
	}
	if (dir)
		closedir(dir);
}

static void read_objects_of_broker(void)
{
	char path[300];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)broker);
	dir = broker ? opendir(path) : NULL;
	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%s/fdinfo", (int)broker, entry->d_name);
		read_objects(path);
	}
	if (dir)
		closedir(dir);
}

static unsigned count_left(void)
{
	unsigned i, left = 0;

	for (i = 0; i < n_objects; i++) {
		union bpf_attr attr;
		int fd;

		memset(&attr, 0, sizeof(attr));
		attr.prog_id = objects[i].id;
		fd = (int)syscall(SYS_bpf, objects[i].command, &attr, sizeof(attr));
		left += fd >= 0;
		if (fd >= 0)
			close(fd);
	}
	return left;
}

/* The number in the order of forks of a process that was not seen before; else 0. */
static unsigned count_process(pid_t pid)
{
	unsigned i, n = 0;

	if (pid == recorder || read_number(pid, "Tgid:") != pid)
		return 0;
	for (i = 0; i < n_seen && seen[i].pid != pid; i++)
		;
	if (i == n_seen && n_seen < MOST_PROCESSES) {
		seen[i].pid = pid;
		seen[i].parent = read_number(pid, "PPid:");
		n = ++n_seen;
	}
	if (i < n_seen)
		read_name(pid, seen[i].name, sizeof(seen[i].name));
	return n;
}

/* Whether it closes links. */
static int is_closing(pid_t pid)
{
	char name[32];
	unsigned i;

	for (i = 0; i < n_seen && seen[i].pid != pid; i++)
		;
	if (i == n_seen)
		return 0;
	read_name(seen[i].parent, name, sizeof(name));
	return !strcmp(name, "proftrace-close");
}

/* The recorder's child that has its name. */
static void find_broker(void)
{
	unsigned i;

	for (i = 0; i < n_seen && !broker; i++) {
		read_name(seen[i].pid, seen[i].name, sizeof(seen[i].name));
		if (seen[i].parent == recorder && !strcmp(seen[i].name, "proftrace-broke"))
			broker = seen[i].pid;
	}
}

static void print_processes(void)
{
	unsigned i;

	for (i = 0; i < n_seen; i++)
		printf("process %u %s\n", i + 1, seen[i].name);
}

static void resume(pid_t tid, int status, int each_call)
{
	const enum __ptrace_request how = each_call ? PTRACE_SYSCALL : PTRACE_CONT;
	int signal_number = WSTOPSIG(status), event = status >> 16;

	if (event == PTRACE_EVENT_STOP && signal_number != SIGTRAP) {
		ptrace(PTRACE_LISTEN, tid, 0, 0);
		return;
	}
	if (event || signal_number == (SIGTRAP | 0x80))
		signal_number = 0;
	ptrace(how, tid, 0, (long)signal_number);
}

static int seconds_since(const struct timespec *begin)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int)(now.tv_sec - begin->tv_sec);
}

/* All others go on, or end. */
static void outlive(pid_t victim)
{
	static const struct timespec moment = { .tv_nsec = 5000000 };
	struct timespec begin;
	char name[32];
	int status, holds = read_holdings(victim);
	pid_t tid;

	alarm(0);
	read_name(victim, name, sizeof(name));
	printf("stopped %s\n", name);
	if (is_closing(victim))
		holds &= ~HOLDS_DESCRIPTORS;
	if (holds & HOLDS_GUARD)
		printf("guarded\n");
	holds &= ~HOLDS_GUARD;
	if (holds)
		print_holdings(name, holds);
	find_broker();
	read_objects_of_broker();
	kill(recorder, SIGKILL);
	if (broker)
		kill(broker, SIGKILL);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	while (count_left() && seconds_since(&begin) < MOST_SECONDS) {
		tid = waitpid(-1, &status, __WALL | WNOHANG);
		if (tid > 0 && tid != victim && WIFSTOPPED(status))
			resume(tid, status, 0);
		if (tid <= 0)
			nanosleep(&moment, NULL);
	}
	printf("left %u of %u\n", count_left(), n_objects);
	kill(victim, SIGKILL);
}

static pid_t start_traced(uid_t uid, gid_t gid, char **argv)
{
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
			     PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
	pid_t pid = fork();

	if (!pid) {
		if (setgroups(0, NULL) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid))
			_exit(126);
		raise(SIGSTOP);
		execv(argv[0], argv);
		_exit(127);
	}
	if (waitpid(pid, NULL, WUNTRACED) != pid || ptrace(PTRACE_SEIZE, pid, 0, options) ||
	    kill(pid, SIGCONT)) {
		perror("outlive: cannot trace");
		exit(1);
	}
	return pid;
}

int main(int argc, char **argv)
{
	int status, closing, list;
	unsigned which, n;
	pid_t tid;

	if (argc < 5)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	closing = !strcmp(argv[3], "closing");
	list = !strcmp(argv[3], "list");
	which = (unsigned)atoi(argv[3]);
	alarm(RECORDING_ENDS);
	recorder = start_traced((uid_t)atoi(argv[1]), (gid_t)atoi(argv[2]), argv + 4);
	while ((tid = waitpid(-1, &status, __WALL)) > 0) {
		if (!WIFSTOPPED(status)) {
			if (tid == recorder)
				break;
			continue;
		}
		n = count_process(tid);
		if (closing ? is_closing(tid) && holds_descriptors(tid) : n && n == which) {
			outlive(tid);
			return 0;
		}
		/* A process is known at its first stop; what it is called, and what it has, at its system calls. */
		resume(tid, status, list || (closing && is_closing(tid)));
	}
	if (list)
		print_processes();
	else
		printf("not reached\n");
	return 0;
}
