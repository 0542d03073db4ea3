/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs of commands, each recorded by a `proftrace record` of its own.
 *
 * A new process for each run has two reasons. The recorder gives up its privileges for good once it has attached; and
 * what one run leaves in the recorder's memory does not change the next one.
 */
#include "record/runs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "privilege/bare.h"
#include "privilege/invoker.h"

enum {
	RUN_ARGUMENTS = 4096,
	RUN_NO_EXEC = 127, /* as a shell says it */
};

static const char side_letters[RUN_SIDES] = { 'a', 'b' };

/* --- the directory ----------------------------------------------------------------------------- */

static bool directory_is_empty(const char *path)
{
	DIR *directory = opendir(path);
	const struct dirent *entry = NULL;

	if (!directory)
		return false;
	while ((entry = readdir(directory)) &&
	       (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")))
		;
	closedir(directory);
	return !entry;
}

/* Traces of an earlier benchmark would be compared together with those of this one. */
static int directory_make(const char *path, bool may_exist)
{
	if (!mkdir(path, may_exist ? 0777 : 0700))
		return 0;
	if (errno != EEXIST || !may_exist)
		return errno;
	return directory_is_empty(path) ? 0 : ENOTEMPTY;
}

static void runs_become_and_make(void *context)
{
	const struct runs *runs = context;
	struct failure f;

	_exit(invoker_become(&f) ? EPERM : directory_make(runs->path, runs->directory != NULL));
}

/* A child makes it, as the invoking user: this process keeps its privileges for the recordings. */
static int runs_make_directory(struct runs *runs, struct failure *f)
{
	const char *temporary = getenv("TMPDIR");
	uint64_t number;
	int status, error;
	pid_t pid;

	if (runs->directory) {
		snprintf(runs->path, sizeof(runs->path), "%s", runs->directory);
	} else {
		if (getrandom(&number, sizeof(number), 0) < 0)
			return failure_set(f, -errno, "cannot start", "", NULL);
		snprintf(runs->path, sizeof(runs->path), "%s/proftrace-bench-%016" PRIx64,
			 temporary && temporary[0] == '/' ? temporary : "/tmp", number);
	}
	pid = bare_fork(-1, runs_become_and_make, runs);
	if (pid < 0)
		return failure_set(f, pid, "cannot start", "", NULL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	error = WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
	if (!error)
		return 0;
	failure_set(f, -error, "cannot make", runs->path,
		    error == ENOTEMPTY ? "the directory exists and is not empty" : NULL);
	if (error == ENOTEMPTY)
		failure_hint(f, "give another directory to -o, or remove the earlier traces");
	runs->path[0] = '\0';
	return -error;
}

/* --- one run ----------------------------------------------------------------------------------- */

unsigned runs_arguments(const struct runs *runs, enum run_side side, const char *trace,
			const char **ret_argv, unsigned max)
{
	char *const *word;
	unsigned i, n = 0;

	ret_argv[n++] = "proftrace";
	ret_argv[n++] = "record";
	ret_argv[n++] = "-q";
	ret_argv[n++] = "-o";
	ret_argv[n++] = trace;
	for (i = 0; i < runs->n_options; i++)
		ret_argv[n++] = runs->options[i];
	ret_argv[n++] = "--";
	for (word = runs->commands[side]; *word && n + 1 < max; word++)
		ret_argv[n++] = *word;
	ret_argv[n] = NULL;
	return *word ? 0 : n;
}

struct run_process {
	const struct runs *runs;
	const char *const *argv;
};

/* The program file gives it its capabilities again. */
static void run_execute(void *context)
{
	const struct run_process *process = context;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		if (!process->runs->show_output)
			dup2(null, STDOUT_FILENO);
	}
	execv("/proc/self/exe", (char *const *)process->argv);
	_exit(RUN_NO_EXEC);
}

/*
 * A run is a process group of its own, and each signal that ends the benchmark is passed on to all of it: a recorder that
 * is told to stop still waits for its command. Signals are blocked, so none comes between the look and the wait.
 */
static int run_wait(pid_t pid, const sigset_t *signals, bool *interrupted)
{
	siginfo_t info;
	int status;

	for (;;) {
		if (sigwaitinfo(signals, &info) < 0)
			continue;
		if (info.si_signo == SIGCHLD) {
			if (waitpid(pid, &status, WNOHANG) == pid)
				return status;
			continue;
		}
		*interrupted = true;
		kill(-pid, info.si_signo);
	}
}

static int run_failed(const struct runs *runs, enum run_side side, const char *run, int status,
		      struct failure *f)
{
	char reason[128];
	const char *how = WIFSIGNALED(status) ? "was killed by signal" : "ended with status";

	snprintf(reason, sizeof(reason), "%s %s %d", run, how,
		 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	failure_set(f, -ECHILD, "cannot measure", runs->commands[side][0], reason);
	failure_hint(f, "--ignore-failure measures commands that fail");
	return -ECHILD;
}

/* `number` 0: a warm-up, whose trace is replaced by the next one. */
static int run_record(struct runs *runs, enum run_side side, unsigned number,
		      const sigset_t *signals, struct failure *f)
{
	const char *argv[RUN_ARGUMENTS];
	struct run_process process = { runs, argv };
	char run[32] = "warm-up", *trace;
	bool interrupted = false;
	int status;
	pid_t pid;

	if (number)
		snprintf(run, sizeof(run), "run-%c-%03u", side_letters[side], number);
	if (asprintf(&trace, "%s/%s.pftrace", runs->path, run) < 0)
		return failure_set(f, -ENOMEM, "cannot measure", runs->commands[side][0], NULL);
	if (!runs_arguments(runs, side, trace, argv, RUN_ARGUMENTS)) {
		free(trace);
		return failure_set(f, -E2BIG, "cannot measure", runs->commands[side][0], NULL);
	}
	/* Kept before it exists: it is removed even if the recording fails half-way. */
	if (number)
		runs->traces[side][runs->n_traces[side]++] = trace;
	pid = bare_fork(-1, run_execute, &process);
	if (pid < 0)
		return failure_set(f, pid, "cannot measure", runs->commands[side][0], NULL);
	/* Both do it, so that it has been done before either goes on. */
	setpgid(pid, pid);
	status = run_wait(pid, signals, &interrupted);
	if (!number)
		free(trace);
	if (interrupted)
		return failure_set(f, -EINTR, "interrupted", "", "no comparison was made");
	if (status && !runs->ignore_failures)
		return run_failed(runs, side, run, status, f);
	return 0;
}

/* --- all runs ---------------------------------------------------------------------------------- */

static void runs_show(const struct runs *runs, unsigned done, unsigned all)
{
	if (runs->quiet || !isatty(STDERR_FILENO))
		return;
	fputs("\r", stderr);
	if (done < all)
		print_visible(stderr, "proftrace: run %u of %u", done + 1, all);
	fputs("\033[K", stderr);
	fflush(stderr);
}

static int runs_record_all(struct runs *runs, const sigset_t *signals, struct failure *f)
{
	unsigned sides = runs->commands[RUN_A] ? 2 : 1;
	unsigned all = (runs->warmups + runs->n) * sides, i, k;
	int error = 0;

	for (i = 0; i < runs->warmups + runs->n && !error; i++) {
		for (k = 0; k < sides && !error; k++) {
			/* A B, then B A: neither is always the first one of its pair. */
			enum run_side side = sides == 1 ? RUN_B : (enum run_side)((i + k) % 2);
			unsigned number = i < runs->warmups ? 0 : i - runs->warmups + 1;

			runs_show(runs, i * sides + k, all);
			error = run_record(runs, side, number, signals, f);
		}
	}
	runs_show(runs, all, all);
	return error;
}

int runs_record(struct runs *runs, struct failure *f)
{
	sigset_t signals, before;
	int error = runs_make_directory(runs, f);

	if (error)
		return error;
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, &before);
	error = runs_record_all(runs, &signals, f);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return error;
}

void runs_free(struct runs *runs)
{
	char warm_up[PATH_MAX + 32];

	if (runs->path[0]) {
		snprintf(warm_up, sizeof(warm_up), "%s/warm-up.pftrace", runs->path);
		unlink(warm_up);
	}
	for (unsigned side = 0; side < RUN_SIDES; side++) {
		for (unsigned i = 0; i < runs->n_traces[side]; i++) {
			if (!runs->directory)
				unlink(runs->traces[side][i]);
			free(runs->traces[side][i]);
		}
	}
	if (runs->path[0] && !runs->directory)
		rmdir(runs->path);
}
