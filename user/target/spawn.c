/* SPDX-License-Identifier: BSD-2-Clause */
#include "target/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target/elf_file.h"

static _Noreturn void child(char *const argv[], int nice, uint64_t nofile, int go, int failed)
{
	struct rlimit files;
	sigset_t none;
	char byte;
	int error;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	setpriority(PRIO_PROCESS, 0, nice);
	if (nofile && !getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = nofile;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	/*
	 * Of a file with capabilities a process is made that its user may not look into, nor may the
	 * broker as that user's. This one has none of them any more.
	 */
	if (getauxval(AT_SECURE))
		prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
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

int command_fork(char *const argv[], int nice, uint64_t nofile, struct command *ret_command,
		 struct failure *f)
{
	int go[2], failed[2];
	char ready;
	pid_t pid;

	if (pipe2(go, O_CLOEXEC))
		return failure_set(f, -errno, "cannot start", argv[0], NULL);
	if (pipe2(failed, O_CLOEXEC)) {
		close(go[0]);
		close(go[1]);
		return failure_set(f, -errno, "cannot start", argv[0], NULL);
	}
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		close(failed[0]);
		child(argv, nice, nofile, go[0], failed[1]);
	}
	close(go[0]);
	close(failed[1]);
	if (pid < 0) {
		close(go[1]);
		close(failed[0]);
		return failure_set(f, -errno, "cannot start", argv[0], NULL);
	}
	*ret_command = (struct command){ pid, go[1], failed[0] };
	/* Looked into before it is as it shall be, it would be refused. */
	while (read(failed[0], &ready, 1) < 0 && errno == EINTR)
		;
	return 0;
}

static void hint(struct failure *f, int error, const char *name)
{
	bool is_path = strchr(name, '/') != NULL;

	if (error == ENOENT && !is_path)
		failure_hint(f, "is it in PATH? sudo may set its own");
	else if (error == ENOENT && !access(name, F_OK))
		failure_hint(f, "it is there: what it names as its interpreter is not");
	else if (error == ENOENT)
		failure_hint(f, "a path is one from the directory where proftrace was called");
	else if (error == EACCES)
		failure_hint(f, "may it be executed? `ls -l` tells");
}

int command_go(struct command *c, const char *name, struct failure *f)
{
	int error = 0;
	ssize_t n;

	if (write(c->go, "g", 1) != 1)
		error = -errno;
	close(c->go);
	c->go = -1;
	/* Closed by a successful exec. */
	do
		n = read(c->failed, &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	close(c->failed);
	if (n != sizeof(error))
		return 0;
	while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
		;
	failure_set(f, -error, "cannot run", name, strerror(error));
	hint(f, error, name);
	return -error;
}

void command_abandon(struct command *c)
{
	if (c->pid <= 0 || c->go < 0)
		return;
	close(c->go);
	close(c->failed);
	while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
		;
	c->go = -1;
}

/* As execvp() finds it. */
static int open_program(const char *name, char *path, size_t size)
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

static int open_file(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/* The program that is really executed: through up to four #! lines. */
static int open_executed(const char *name)
{
	char path[PATH_MAX], line[256];
	int depth, fd = open_program(name, path, sizeof(path));

	for (depth = 0; fd >= 0 && depth < 4; depth++) {
		ssize_t n = pread(fd, line, sizeof(line) - 1, 0);
		char *interpreter;

		if (n < 4 || line[0] != '#' || line[1] != '!')
			return fd;
		line[n] = '\0';
		interpreter = line + 2 + strspn(line + 2, " \t");
		interpreter[strcspn(interpreter, " \t\n")] = '\0';
		close(fd);
		fd = open_file(interpreter);
	}
	return fd;
}

static int open_linker(int program)
{
	struct elf_file *elf;
	int fd = -1;

	if (elf_file_open(program, &elf, NULL))
		return -1;
	if (elf->has_interp && elf->interp[0])
		fd = open_file(elf->interp);
	elf_file_free(elf);
	return fd;
}

unsigned command_files(const char *name, int *ret_fds, unsigned room)
{
	int own = open_file("/proc/self/exe");
	unsigned i, n = 0;
	int fds[3];

	fds[0] = open_executed(name);
	fds[1] = fds[0] >= 0 ? open_linker(fds[0]) : -1;
	fds[2] = own >= 0 ? open_linker(own) : -1;
	for (i = 0; i < 3; i++) {
		if (fds[i] < 0)
			continue;
		if (n < room)
			ret_fds[n++] = fds[i];
		else
			close(fds[i]);
	}
	if (own >= 0)
		close(own);
	return n;
}
