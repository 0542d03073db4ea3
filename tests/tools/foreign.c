/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * foreign PATH... -- COMMAND...
 *
 * Runs a command, traced with all that it forks, and looks at each system call by which it opens or
 * reads something of these PATHs (what begins with one that ends in a slash): whether the process has a
 * filter of system calls by then, and which capabilities. Prints "NAME CALL PATH: filtered CAPABILITIES",
 * or "open" for "filtered"; in the end "calls N open N". Exit status: the command's, 2 when it cannot be
 * traced.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

struct call {
	long number;
	const char *name;
	int fd, path; /* which arguments; -1: none */
};

static const struct call calls[] = {
#ifdef SYS_open
	{ SYS_open, "open", -1, 0 },
	{ SYS_readlink, "readlink", -1, 0 },
#endif
	{ SYS_openat, "openat", 0, 1 },
	{ SYS_openat2, "openat2", 0, 1 },
	{ SYS_readlinkat, "readlinkat", 0, 1 },
	{ SYS_read, "read", 0, -1 },
	{ SYS_readv, "readv", 0, -1 },
	{ SYS_pread64, "pread64", 0, -1 },
	{ SYS_preadv, "preadv", 0, -1 },
	{ SYS_preadv2, "preadv2", 0, -1 },
	{ SYS_getdents64, "getdents64", 0, -1 },
	{ SYS_ioctl, "ioctl", 0, -1 },
	{ SYS_mmap, "mmap", 4, -1 },
};

static char **wanted;
static int n_wanted;
static unsigned long n_calls, n_open;

static bool is_wanted(const char *path)
{
	int i;

	for (i = 0; i < n_wanted; i++) {
		size_t n = strlen(wanted[i]);

		if (!strncmp(path, wanted[i], n) && (!path[n] || wanted[i][n - 1] == '/'))
			return true;
	}
	return false;
}

/* What a descriptor of the process is of; empty: nothing with a name. */
static void path_of(pid_t pid, int fd, char *out, size_t size)
{
	char link[64];
	ssize_t n;

	if (fd == AT_FDCWD)
		snprintf(link, sizeof(link), "/proc/%d/cwd", pid);
	else
		snprintf(link, sizeof(link), "/proc/%d/fd/%d", pid, fd);
	n = readlink(link, out, size - 1);
	out[n < 0 ? 0 : n] = '\0';
}

/* A path that it names, from where it starts. */
static void path_at(pid_t pid, const struct call *c, const uint64_t *args, char *out, size_t size)
{
	char text[PATH_MAX] = "";
	struct iovec here = { text, sizeof(text) - 1 };
	struct iovec there = { (void *)(uintptr_t)args[c->path], sizeof(text) - 1 };
	size_t n;

	/* No more than is mapped. */
	if (process_vm_readv(pid, &here, 1, &there, 1, 0) < 0) {
		there.iov_len = 4096 - args[c->path] % 4096;
		process_vm_readv(pid, &here, 1, &there, 1, 0);
	}
	out[0] = '\0';
	if (text[0] != '/') {
		path_of(pid, c->fd < 0 ? AT_FDCWD : (int)args[c->fd], out, size);
		strncat(out, "/", size - strlen(out) - 1);
	}
	n = strlen(out);
	snprintf(out + n, size - n, "%s", text);
}

static void look(pid_t pid, const struct call *c, const char *path)
{
	char file[64], line[256], name[64] = "?", capabilities[32] = "?";
	int filter = 0;
	FILE *status;

	snprintf(file, sizeof(file), "/proc/%d/status", pid);
	status = fopen(file, "re");
	while (status && fgets(line, sizeof(line), status)) {
		sscanf(line, "Name: %63s", name);
		sscanf(line, "CapPrm: %31s", capabilities);
		sscanf(line, "Seccomp: %d", &filter);
	}
	if (status)
		fclose(status);
	printf("%s %s %s: %s %s\n", name, c->name, path, filter == 2 ? "filtered" : "open",
	       capabilities);
	n_calls++;
	n_open += filter != 2;
}

static void at_call(pid_t pid)
{
	struct __ptrace_syscall_info info;
	char path[2 * PATH_MAX] = "";
	size_t i;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, (void *)sizeof(info), &info) <= 0 ||
	    info.op != PTRACE_SYSCALL_INFO_ENTRY)
		return;
	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		const struct call *c = &calls[i];

		if ((long)info.entry.nr != c->number)
			continue;
		if (c->path >= 0)
			path_at(pid, c, (const uint64_t *)info.entry.args, path, sizeof(path));
		else if ((int)info.entry.args[c->fd] >= 0)
			path_of(pid, (int)info.entry.args[c->fd], path, sizeof(path));
		if (is_wanted(path))
			look(pid, c, path);
	}
}

/* Until the last of them has ended. Returns the status of the first one. */
static int follow(pid_t first)
{
	int status, result = 2;
	pid_t pid;

	while ((pid = waitpid(-1, &status, __WALL)) > 0) {
		int stop = WIFSTOPPED(status) ? WSTOPSIG(status) : 0, pass = 0;

		if (!WIFSTOPPED(status)) {
			if (pid == first)
				result = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
			continue;
		}
		if (stop == (SIGTRAP | 0x80))
			at_call(pid);
		else if (!(status >> 16))
			pass = stop;
		ptrace(PTRACE_SYSCALL, pid, 0, pass);
	}
	return result;
}

int main(int argc, char **argv)
{
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
			     PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
	int result, go[2];
	char byte;
	pid_t pid;

	wanted = argv + 1;
	while (n_wanted < argc - 1 && strcmp(wanted[n_wanted], "--"))
		n_wanted++;
	if (!n_wanted || n_wanted + 2 >= argc || pipe2(go, O_CLOEXEC)) {
		fputs("usage: foreign PATH... -- COMMAND...\n", stderr);
		return 2;
	}
	pid = fork();
	if (pid == 0) {
		if (read(go[0], &byte, 1) == 1)
			execvp(wanted[n_wanted + 1], wanted + n_wanted + 1);
		_exit(127);
	}
	if (pid < 0 || ptrace(PTRACE_SEIZE, pid, 0, options) ||
	    ptrace(PTRACE_INTERRUPT, pid, 0, 0) || write(go[1], "", 1) != 1) {
		printf("cannot trace: %s\n", strerror(errno));
		return 2;
	}
	result = follow(pid);
	printf("calls %lu\nopen %lu\n", n_calls, n_open);
	return result;
}
