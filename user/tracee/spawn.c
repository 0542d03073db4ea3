/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The command to record: a child that waits until everything is attached, and then executes the program.
 *
 * The child is forked before the recorder holds anything that is worth stealing: no socket of the broker, no BPF
 * program, map or link; nor any capability of a program file (privilege/bare.h). It becomes dumpable, so that the broker
 * may trace it as the invoking user; from then on that user may also stop it, read its memory and take its descriptors
 * with pidfd_getfd(2). It has none but its two pipes and what the caller passed to proftrace.
 */
#include "tracee/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "privilege/bare.h"
#include "privilege/invoker.h"
#include "tracee/elf_file.h"

/*
 * The dynamic linker removes variables such as LD_LIBRARY_PATH and TMPDIR from the environment of a process of a file with
 * capabilities. The command has no capabilities, and gets what its user has set. (The kernel shows the original.)
 */
static void command_restore_environment(void)
{
	FILE *original = fopen("/proc/self/environ", "re");
	size_t capacity = 0;
	char *line = NULL, *value;

	while (original && getdelim(&line, &capacity, '\0', original) > 0) {
		value = strchr(line, '=');
		if (!value)
			continue;
		*value++ = '\0';
		setenv(line, value, 0);
	}
	free(line);
	if (original)
		fclose(original);
}

void command_limits_read(struct command_limits *ret_limits)
{
	ret_limits->nice = getpriority(PRIO_PROCESS, 0);
	getrlimit(RLIMIT_NOFILE, &ret_limits->files);
	getrlimit(RLIMIT_STACK, &ret_limits->stack);
	getrlimit(RLIMIT_CPU, &ret_limits->cpu);
}

static void command_restore_limits(const struct command_limits *limits)
{
	setpriority(PRIO_PROCESS, 0, limits->nice);
	setrlimit(RLIMIT_NOFILE, &limits->files);
	setrlimit(RLIMIT_STACK, &limits->stack);
	setrlimit(RLIMIT_CPU, &limits->cpu);
}

struct command_process {
	char *const *argv;
	const struct command_limits *limits;
	const struct annotations *annotations;
	int go[2], failed[2]; /* pipes */
};

static void command_child(void *context)
{
	const struct command_process *process = context;
	const int go = process->go[0], failed = process->failed[1];
	char *const *argv = process->argv;
	struct failure f = { 0 };
	sigset_t none;
	char byte;
	int error;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	close(process->go[1]);
	close(process->failed[0]);
	command_restore_limits(process->limits);
	/* The privileges go before the process becomes dumpable, never after. */
	if (invoker_become(&f))
		_exit(127);
	/* A process of a file with capabilities is not dumpable, and the broker would refuse to trace it. */
	if (getauxval(AT_SECURE)) {
		prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
		command_restore_environment();
	}
	annotations_set_environment(process->annotations);
	if (write(failed, "r", 1) != 1)
		_exit(127);
	/* End of file: the recorder died before it was ready. */
	if (read(go, &byte, 1) != 1)
		_exit(127);
	execvp(argv[0], argv);
	error = errno;
	if (write(failed, &error, sizeof(error)) != sizeof(error))
		_exit(126);
	_exit(127);
}

int command_fork(char *const argv[], const struct command_limits *limits,
		 const struct annotations *annotations, struct command *ret_command,
		 struct failure *f)
{
	struct command_process process = { argv, limits, annotations, { 0 }, { 0 } };
	int *const go = process.go, *const failed = process.failed;
	pid_t pid;
	int error;

	if (pipe2(go, O_CLOEXEC))
		return failure_set(f, -errno, "cannot start", argv[0], NULL);
	if (pipe2(failed, O_CLOEXEC)) {
		close(go[0]);
		close(go[1]);
		return failure_set(f, -errno, "cannot start", argv[0], NULL);
	}
	pid = bare_fork_first(-1, command_child, &process);
	close(go[0]);
	close(failed[1]);
	if (pid < 0) {
		error = pid;
		close(go[1]);
		close(failed[0]);
		failure_set(f, error, "cannot start", argv[0], NULL);
		failure_hint_processes(f, error);
		return error;
	}
	*ret_command = (struct command){ .pid = pid, .go = go[1], .failed = failed[0] };
	return 0;
}

int command_await(struct command *c, const char *name, struct failure *f)
{
	char ready;

	if (!c->is_ready && c->pid > 0)
		c->is_ready = TEMP_FAILURE_RETRY(read(c->failed, &ready, 1)) == 1;
	if (c->is_ready)
		return 0;
	command_abandon(c);
	c->pid = 0;
	return failure_set(f, -EPERM, "cannot start", name, "cannot give up privileges");
}

static void command_hint(struct failure *f, int error, const char *name)
{
	bool is_path = strchr(name, '/') != NULL;

	if (error == ENOENT && !is_path)
		failure_hint(f, "is it in PATH? sudo may use another PATH");
	else if (error == ENOENT && !access(name, F_OK))
		failure_hint(f, "the file exists, but its interpreter does not");
	else if (error == ENOENT)
		failure_hint(f,
			     "a relative path starts in the directory where proftrace was called");
	else if (error == EACCES)
		failure_hint(f, "is it executable? see `ls -l`");
}

int command_go(struct command *c, const char *name, struct failure *f)
{
	int error = 0;
	ssize_t n;

	if (write(c->go, "g", 1) != 1)
		error = -errno;
	close(c->go);
	c->go = -1;
	/* A successful exec closes the pipe. */
	n = TEMP_FAILURE_RETRY(read(c->failed, &error, sizeof(error)));
	close(c->failed);
	if (n != sizeof(error))
		return 0;
	TEMP_FAILURE_RETRY(waitpid(c->pid, NULL, 0));
	failure_set(f, -error, "cannot run", name, strerror(error));
	command_hint(f, error, name);
	return -error;
}

void command_abandon(struct command *c)
{
	if (c->pid <= 0 || c->go < 0)
		return;
	close(c->go);
	close(c->failed);
	TEMP_FAILURE_RETRY(waitpid(c->pid, NULL, 0));
	c->go = -1;
}

/* Finds the program as execvp() does. */
static int command_open_program(const char *name, char *path, size_t size)
{
	const char *search = getenv("PATH");

	if (strchr(name, '/') || !search) {
		snprintf(path, size, "%s", name);
		return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	}
	while (*search) {
		size_t n = strcspn(search, ":");

		snprintf(path, size, "%.*s%s%s", (int)n, search, n ? "/" : "", name);
		if (!access(path, X_OK))
			return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		search += n + (search[n] == ':');
	}
	return -1;
}

static int command_open_file(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/* Opens the program that is executed in the end, after up to four #! lines. */
static int command_open_executed(const char *name)
{
	char path[PATH_MAX], line[256];
	int depth, fd = command_open_program(name, path, sizeof(path));

	for (depth = 0; fd >= 0 && depth < 4; depth++) {
		ssize_t n = pread(fd, line, sizeof(line) - 1, 0);
		char *interpreter;

		if (n < 4 || line[0] != '#' || line[1] != '!')
			return fd;
		line[n] = '\0';
		interpreter = line + 2 + strspn(line + 2, " \t");
		interpreter[strcspn(interpreter, " \t\n")] = '\0';
		close(fd);
		fd = command_open_file(interpreter);
	}
	return fd;
}

static int command_open_linker(int program)
{
	struct elf_file *elf;
	int fd = -1;

	if (elf_file_open(program, &elf, NULL))
		return -1;
	if (elf->has_interp && elf->interp[0])
		fd = command_open_file(elf->interp);
	elf_file_free(elf);
	return fd;
}

unsigned command_files(const char *name, int *ret_fds, unsigned size)
{
	int own = command_open_file("/proc/self/exe");
	unsigned i, n = 0;
	int fds[3];

	fds[0] = command_open_executed(name);
	fds[1] = fds[0] >= 0 ? command_open_linker(fds[0]) : -1;
	fds[2] = own >= 0 ? command_open_linker(own) : -1;
	for (i = 0; i < 3; i++) {
		if (fds[i] < 0)
			continue;
		if (n < size)
			ret_fds[n++] = fds[i];
		else
			close(fds[i]);
	}
	if (own >= 0)
		close(own);
	return n;
}
