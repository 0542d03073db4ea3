/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * limited SET-ID [processes]
 *
 * As a user with the capabilities that recording needs: while the broker, the keeper and the starter start, their caller sets
 * their limit on descriptors to 0 for the time of one system call that gives a descriptor its place, each of them once. A
 * broker that starts must be complete: if the links of the programs that follow processes are not where they belong, they are
 * replaced, or come to the recorder, and a process that executes SET-ID is recorded. With `processes`, it is the limit on
 * processes, and the calls are those that start a process or a thread.
 *
 * Prints `refused N` and `places N` (calls that failed), `odd CALL: TEXT` for a refusal that does not name the limit, `got
 * TEXT` for what nobody should get, `started CALL` for a broker that started without it, and `started 1` for the last one,
 * whose calls all succeeded. Exit status 2: it cannot be tried here, and why.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/event.h"
#include "privilege/broker/broker.h"
#include "privilege/privileges.h"
#include "tracee/code/prove.h"

/* Shared with the processes of the broker. */
static struct calls {
	int n;	    /* so far */
	int failed; /* which one fails; 0: none */
	bool did;
	char name[16];
} * calls;

static pid_t recorder;
static bool processes; /* it is their limit */

/* Returns whether this is the call that fails. Of the recorder, the descriptors are tried elsewhere. */
static bool call_fails(const char *name, int resource, struct rlimit *usual)
{
	struct rlimit none;

	if (!calls || (resource == RLIMIT_NPROC) != processes ||
	    (!processes && getpid() == recorder) ||
	    __atomic_add_fetch(&calls->n, 1, __ATOMIC_SEQ_CST) != calls->failed)
		return false;
	calls->did = true;
	snprintf(calls->name, sizeof(calls->name), "%s", name);
	getrlimit(resource, usual);
	none = (struct rlimit){ 0, usual->rlim_max };
	return !setrlimit(resource, &none);
}

#define LIMITED(resource, name, parameters, arguments)               \
	int __real_##name parameters;                                \
	int __wrap_##name parameters;                                \
	int __wrap_##name parameters                                 \
	{                                                            \
		struct rlimit usual;                                 \
		bool fails = call_fails(#name, resource, &usual);    \
		int result = __real_##name arguments, error = errno; \
                                                                     \
		if (fails)                                           \
			setrlimit(resource, &usual);                 \
		errno = error;                                       \
		return result;                                       \
	}

LIMITED(RLIMIT_NOFILE, dup2, (int fd, int place), (fd, place))
LIMITED(RLIMIT_NOFILE, dup3, (int fd, int place, int flags), (fd, place, flags))
LIMITED(RLIMIT_NOFILE, pipe2, (int fds[2], int flags), (fds, flags))
LIMITED(RLIMIT_NOFILE, socketpair, (int domain, int type, int protocol, int fds[2]),
	(domain, type, protocol, fds))
LIMITED(RLIMIT_NPROC, fork, (void), ())
LIMITED(RLIMIT_NPROC, pthread_create,
	(pthread_t * thread, const pthread_attr_t *attr, void *(*run)(void *), void *context),
	(thread, attr, run, context))

/* Not of files that it can do without. */
int __real_open(const char *path, int flags, int mode);
int __wrap_open(const char *path, int flags, int mode);
int __wrap_open(const char *path, int flags, int mode)
{
	struct rlimit usual;
	bool fails = !strcmp(path, "/dev/null") && call_fails("open", RLIMIT_NOFILE, &usual);
	int fd = __real_open(path, flags, mode), error = errno;

	if (fails)
		setrlimit(RLIMIT_NOFILE, &usual);
	errno = error;
	return fd;
}

static struct broker *start_broker(struct failure *f)
{
	const struct broker_config config = {
		.buffer_bytes = 1 << 20,
		.buffers = 1,
		.own_only = true,
		.follow_children = true,
		.functions = true,
		.prove = prove_functions,
	};
	struct broker_loaded loaded;
	struct broker *b;

	return broker_start(&config, &b, &loaded, f) ? NULL : b;
}

static void find_links(void)
{
	for (int fd = 3; fd < 64; fd++) {
		char path[32], what[64] = "";

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (readlink(path, what, sizeof(what) - 1) > 0 && strstr(what, "link"))
			printf("got %s, where %s fails\n", what, calls->name);
	}
}

/* A process of the user's, which executes the program when something is written. */
static pid_t start_target(const char *program, int *ret_go)
{
	int go[2], ready[2];
	pid_t pid;
	char byte;

	if (pipe2(go, O_CLOEXEC) || pipe2(ready, O_CLOEXEC))
		exit(3);
	pid = fork();
	if (!pid) {
		/* Those of the program file are not the user's. */
		if (privileges_keep(NULL, 0, false) || prctl(PR_SET_DUMPABLE, 1) ||
		    write(ready[1], "", 1) != 1 || read(go[0], &byte, 1) != 1)
			_exit(3);
		execl(program, program, "60", (char *)NULL);
		_exit(3);
	}
	close(go[0]);
	close(ready[1]);
	if (pid < 0 || read(ready[0], &byte, 1) != 1)
		exit(3);
	close(ready[0]);
	*ret_go = go[1];
	return pid;
}

static bool is_traced(struct broker *b, pid_t pid)
{
	return !broker_pause(b, pid, 0, NULL);
}

/* Returns whether what the broker traces it traces until it executes the program. */
static void try_target(struct broker *b, const char *program)
{
	int go;
	const struct broker_target target = { start_target(program, &go), 0 };
	unsigned i;

	if (broker_trace(b, &target, TRACED_WATCH | TRACED_MARKS, NULL) ||
	    !is_traced(b, target.pid))
		printf("got no tracing, where %s fails\n", calls->name);
	if (write(go, "", 1) != 1)
		exit(3);
	for (i = 0; i < 500 && is_traced(b, target.pid); i++)
		usleep(10000);
	if (i == 500)
		printf("got a set-user-ID program, where %s fails\n", calls->name);
	kill(target.pid, SIGKILL);
	waitpid(target.pid, NULL, 0);
	close(go);
}

int main(int argc, char **argv)
{
	unsigned refused = 0;
	int which = 0;
	bool failed;

	setvbuf(stdout, NULL, _IOLBF, 0);
	calls = mmap(NULL, sizeof(*calls), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	processes = argc == 3 && !strcmp(argv[2], "processes");
	if (argc != 2 + processes || calls == MAP_FAILED)
		return 3;
	recorder = getpid();
	do {
		struct failure f = { 0 };
		struct broker *b;

		*calls = (struct calls){ .failed = ++which, .name = "nothing" };
		b = start_broker(&f);
		failed = calls->did;
		calls->failed = 0;
		if (b) {
			printf("started %s\n", failed ? calls->name : "1");
			find_links();
			try_target(b, argv[1]);
			broker_stop(b, true);
		} else if (!failed) {
			printf("%s: %s\n", f.what, f.reason);
			return 2;
		} else if (!strstr(f.reason, strerror(processes ? EAGAIN : EMFILE)) ||
			   !strstr(f.hint, processes ? "ulimit -u" : "ulimit -n")) {
			printf("odd %s: %s: %s: %s\n", calls->name, f.what, f.reason, f.hint);
		}
		refused += !b;
	} while (failed);
	printf("refused %u\nplaces %d\n", refused, which - 1);
	return 0;
}
