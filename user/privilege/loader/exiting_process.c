/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tries whether the kernel has the fix of CVE-2026-46333: that nobody may look into a process must hold as well when the process
 * exits and has no memory any more. A process without capabilities asks for a descriptor of its child, first while the child
 * permits that, then when the child does not and has exited. It has no descriptors then, so what counts is why the kernel refuses.
 */
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "privilege/bare.h"
#include "privilege/loader/features.h"
#include "privilege/privileges.h"

/* Returns 0 or an errno. */
static int exiting_get_descriptor(int process, int number)
{
	int fd = (int)syscall(SYS_pidfd_getfd, process, number, 0);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

/* At the end of each pipe it goes on. */
_Noreturn static void exiting_child(int ready, int go)
{
	char byte;
	ssize_t n;

	prctl(PR_SET_DUMPABLE, 1);
	close(ready);
	n = read(go, &byte, 1);
	prctl(PR_SET_DUMPABLE, 0);
	_exit(n != 0);
}

static enum exiting_process exiting_try(void)
{
	enum exiting_process result = EXITING_UNKNOWN;
	int ready[2], go[2], process, error;
	siginfo_t ended;
	pid_t child;
	char byte;

	if (pipe(ready) || pipe(go))
		return result;
	child = fork();
	if (!child) {
		close(go[1]);
		exiting_child(ready[1], go[0]);
	}
	close(ready[1]);
	process = child > 0 ? (int)syscall(SYS_pidfd_open, child, 0) : -1;
	if (process < 0 || read(ready[0], &byte, 1) || exiting_get_descriptor(process, go[0]))
		return result;
	close(go[1]);
	if (waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT))
		return result;
	error = exiting_get_descriptor(process, go[0]);
	if (error == EPERM)
		result = EXITING_PROTECTED;
	else if (error == EBADF || error == ESRCH)
		result = EXITING_OPEN;
	return result;
}

static void exiting_run(void *unused)
{
	(void)unused;
	_exit(privileges_keep(NULL, 0, false) ? EXITING_UNKNOWN : (int)exiting_try());
}

enum exiting_process kernel_exiting_process(void)
{
	pid_t pid = bare_fork(-1, exiting_run, NULL);
	int status;

	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status)
		       ? (enum exiting_process)WEXITSTATUS(status)
		       : EXITING_UNKNOWN;
}
