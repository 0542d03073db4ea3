/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the processes that match what the user looks for. */
#include "privilege/broker/server.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "privilege/living_thread.h"
#include "proftrace.skel.h"

#define ENTRIES_BYTES 1024
#define ENDED_AT_MOST 64
/* Numbers go up, and so does the search: processes that fork as fast as they are looked at would keep it going. */
#define MOST_NS 1000000000ull

/*
 * proftrace's own processes mark nothing, and must not be held. A child of the recorder may be one that had forked before it executed
 * proftrace (`./server & exec proftrace -n server`); those that it forks itself run its program.
 */
static bool is_own_process(int directory, pid_t pid, pid_t recorder)
{
	pid_t parent;

	if (pid == getpid() || pid == recorder)
		return true;
	parent = process_parent(directory);
	if (parent == getpid() || (parent == recorder && runs_this_program(directory)))
		return true;
	return process_protected(directory);
}

bool process_matches(const struct target_filter *filter, const struct target_containers *containers,
		     int directory, pid_t pid)
{
	bool matches = target_filter_matches(filter, containers, directory);
	char path[32];
	int first;

	if (matches)
		return true;
	snprintf(path, sizeof(path), "task/%d", (int)pid);
	first = openat(directory, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (first < 0)
		return false;
	matches = thread_has_ended(first) && target_filter_matches(filter, containers, first);
	close(first);
	return matches;
}

/* With another error there is a program: its path may be longer than the kernel shows. */
static bool has_program(int directory)
{
	char path;

	return readlinkat(directory, "exe", &path, 1) > 0 || (errno != ENOENT && errno != ESRCH);
}

static bool is_recorded(const struct process_search *s, pid_t pid)
{
	uint32_t key = (uint32_t)pid, flags;

	return !bpf_map_lookup_elem(s->programs->traced_fd, &key, &flags) && flags & TRACED_MARKS;
}

/* They may be more than there is space for. */
static bool ended_counts(struct process_search *s)
{
	return ++s->n_ended <= ENDED_AT_MOST;
}

/*
 * A process that ended while others were looked at may have forked one that has its place among those. It is known if nobody has
 * waited for it yet, and may have ended long ago then, or its parent is recorded, and so were its children. Of others that have
 * ended nothing is known; on a busy machine they are many, and hardly one of them matches.
 */
static bool may_have_forked(struct process_search *s, int directory, pid_t pid)
{
	uint64_t birth;

	/* Also true of a process of which nothing is left. */
	if (!thread_has_ended(directory))
		return false;
	birth = process_birth(directory);
	return birth && birth >= s->since && !is_recorded(s, process_parent(directory)) &&
	       target_filter_matches(s->filter, s->containers, directory) &&
	       !is_own_process(directory, pid, s->recorder) && ended_counts(s);
}

static bool is_found_by_thread(const struct process_search *s, int process, pid_t pid)
{
	int thread = living_thread(process, pid);
	bool is_found;

	/* Of one whose threads end so fast, it is said later that it is not recorded. */
	if (thread == -EAGAIN)
		return target_filter_matches(s->filter, s->containers, process) &&
		       !is_own_process(process, pid, s->recorder);
	if (thread < 0)
		return false;
	is_found = process_matches(s->filter, s->containers, thread, pid) &&
		   !is_own_process(thread, pid, s->recorder);
	close(thread);
	return is_found;
}

/* The kernel's threads have no program, and no user may trace what is another's. */
static bool is_found(struct process_search *s, int directory, pid_t pid)
{
	struct stat st;

	if (getuid() && (fstat(directory, &st) || st.st_uid != getuid()))
		return false;
	if (s->only_unrecorded && is_recorded(s, pid))
		return false;
	if (has_program(directory)) {
		if (target_filter_matches(s->filter, s->containers, directory))
			return !is_own_process(directory, pid, s->recorder);
		if (has_program(directory))
			return false;
	}
	return process_lacks_first(directory) ? is_found_by_thread(s, directory, pid)
					      : may_have_forked(s, directory, pid);
}

static bool is_found_in(struct process_search *s, int proc, const char *name, pid_t pid)
{
	int directory = openat(proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool is_found_there;

	if (directory < 0)
		return false;
	is_found_there = is_found(s, directory, pid);
	close(directory);
	return is_found_there;
}

/* When this process began. */
static uint64_t own_birth(void)
{
	int directory = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t birth = directory < 0 ? 0 : process_birth(directory);

	if (directory >= 0)
		close(directory);
	return birth;
}

int processes_find(struct process_search *s, uint32_t *pids, unsigned max, unsigned *ret_n)
{
	/* readdir() would ask for a thousand numbers at once: the fewer, the fewer end before they are looked at. */
	_Alignas(struct dirent) char entries[ENTRIES_BYTES];
	int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + MOST_NS;
	unsigned n = 0;
	long size;

	if (proc < 0)
		return -errno;
	s->since = own_birth();
	s->n_ended = 0;
	while ((size = syscall(SYS_getdents64, proc, entries, sizeof(entries))) > 0) {
		const struct dirent *entry;

		for (long at = 0; at < size && n < max; at += entry->d_reclen) {
			pid_t pid;

			entry = (const struct dirent *)(entries + at);
			pid = (pid_t)strtol(entry->d_name, NULL, 10);
			if (pid > 0 && is_found_in(s, proc, entry->d_name, pid))
				pids[n++] = (uint32_t)pid;
		}
		if (n == max)
			break;
		/* Whoever forks as fast as this reads must not keep it from the others. */
		if (clock_ns(CLOCK_MONOTONIC) > end_ns) {
			__atomic_fetch_add(&s->programs->shared->account[0][ACCOUNT_PROCESSES], 1,
					   __ATOMIC_RELAXED);
			break;
		}
	}
	size = size < 0 ? -errno : 0;
	close(proc);
	*ret_n = n;
	return (int)size;
}
