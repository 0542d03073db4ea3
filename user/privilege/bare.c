/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A thread that gives up what its process has, and forks: capabilities belong to a thread, a table of descriptors can be
 * its own (CLOSE_RANGE_UNSHARE), and a child has those of the thread that forked it.
 */
#include "privilege/bare.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "privilege/privileges.h"

#define STACK_BYTES \
	(8u << 20) /* address space, for what the child does: the parser of symbols recurses */

struct bare {
	int keep;
	bool guard;
	void (*run)(void *context);
	void *context;
	pid_t pid; /* or negative errno */
};

/* A child would have the maps as long as it lives, and could write to some of them. libbpf does not say where it maps them. */
static int maps_stay_here(void)
{
	FILE *file = fopen("/proc/self/maps", "re");
	uint64_t start, end;
	char line[512];
	int error = 0;

	if (!file)
		return -errno;
	while (!error && fgets(line, sizeof(line), file)) {
		if (strstr(line, " anon_inode:bpf-map") &&
		    sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) == 2 &&
		    madvise((void *)(uintptr_t)start, end - start, MADV_DONTFORK))
			error = -errno;
	}
	fclose(file);
	return error;
}

/*
 * Until the thread that forked it has ended, that thread is its parent, and not the process: PR_SET_PDEATHSIG would kill
 * the child at its end. The kernel reports this end to nobody.
 */
static void bare_await_thread(pid_t process, pid_t thread)
{
	static const struct timespec moment = { .tv_nsec = 20000 };

	while (!syscall(SYS_tgkill, process, thread, 0))
		clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
}

static void *bare_run(void *context)
{
	struct bare *b = context;
	const pid_t process = getpid(), thread = gettid();
	int error = b->keep < 0 ? 0 : descriptors_unshare(b->keep);

	if (!error && getuid())
		error = privileges_drop_of_thread(b->guard);
	b->pid = error;
	if (error)
		return NULL;
	b->pid = fork();
	if (!b->pid) {
		bare_await_thread(process, thread);
		b->run(b->context);
		_exit(1);
	}
	if (b->pid < 0)
		b->pid = -errno;
	return NULL;
}

static pid_t bare_start(struct bare b)
{
	pthread_attr_t attr;
	pthread_t thread;
	int error;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	error = -pthread_create(&thread, &attr, bare_run, &b);
	pthread_attr_destroy(&attr);
	if (error)
		return error;
	pthread_join(thread, NULL);
	return b.pid;
}

pid_t bare_fork(int keep, void (*run)(void *context), void *context)
{
	int error = maps_stay_here();

	return error ? error : bare_start((struct bare){ keep, false, run, context, 0 });
}

/* Nothing is given up then: root's command becomes its user by itself. */
static pid_t bare_fork_as_root(void (*run)(void *context), void *context)
{
	pid_t pid = fork();

	if (!pid) {
		run(context);
		_exit(1);
	}
	return pid < 0 ? -errno : pid;
}

pid_t bare_fork_first(int keep, void (*run)(void *context), void *context)
{
	if (keep < 0 && !getuid())
		return bare_fork_as_root(run, context);
	return bare_start((struct bare){ keep, false, run, context, 0 });
}

pid_t bare_fork_guarded(int keep, void (*run)(void *context), void *context)
{
	return bare_start((struct bare){ keep, true, run, context, 0 });
}
