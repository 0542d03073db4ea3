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
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "privilege/living_thread.h"
#include "proftrace.skel.h"

/* of one process in /proc: there is no space for the next one */
#define ENTRY_BYTES 32
/* where the kernel has process number 0 in /proc (TGID_OFFSET, since 3.17): more would be read from further ahead */
#define FIRST_PROCESS 258
/* Non-matching processes may fork as fast as they are looked at. */
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

static bool is_watched(const struct process_search *s, pid_t pid)
{
	uint32_t key = (uint32_t)pid, flags;

	return !bpf_map_lookup_elem(s->programs->traced_fd, &key, &flags) && flags;
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
static bool is_found(const struct process_search *s, int directory, pid_t pid)
{
	struct stat st;

	if (getuid() && (fstat(directory, &st) || st.st_uid != getuid()))
		return false;
	if (has_program(directory)) {
		if (target_filter_matches(s->filter, s->containers, directory))
			return !is_own_process(directory, pid, s->recorder);
		if (has_program(directory))
			return false;
	}
	return process_lacks_first(directory) && is_found_by_thread(s, directory, pid);
}

/* The kernel may have had no space for it. */
static bool is_listed(const struct process_search *s, pid_t pid)
{
	unsigned i = 0;

	while (i < s->n && s->pids[i] != (uint32_t)pid)
		i++;
	return i < s->n;
}

static void search_process(struct process_search *s, int proc, pid_t pid)
{
	char name[16];
	int directory;

	snprintf(name, sizeof(name), "%d", (int)pid);
	directory =
		is_watched(s, pid) ? -1 : openat(proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0)
		return;
	if (is_found(s, directory, pid) && !is_listed(s, pid)) {
		s->watch(s->context, pid);
		s->pids[s->n++] = (uint32_t)pid;
	}
	close(directory);
}

/* The first process with this number or a higher one: what is forked until this is called is not missed. 0: there is none. */
static int next_process(int proc, pid_t from, pid_t *ret_pid)
{
	_Alignas(struct dirent) char entry[ENTRY_BYTES];
	long size, pid = 0;

	if (lseek(proc, FIRST_PROCESS + (off_t)from, SEEK_SET) < 0)
		return -errno;
	do {
		size = syscall(SYS_getdents64, proc, entry, sizeof(entry));
		pid = size > 0 ? strtol(((const struct dirent *)entry)->d_name, NULL, 10) : 0;
	} while (size > 0 && pid < from);
	*ret_pid = (pid_t)pid;
	return size < 0 ? -errno : 0;
}

/* The number that the kernel has given last. 0: unknown. */
static pid_t last_number(int proc)
{
	int fd = openat(proc, "loadavg", O_RDONLY | O_CLOEXEC);
	ssize_t n;
	const char *at;
	char text[128];

	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[n < 0 ? 0 : n] = '\0';
	at = strrchr(text, ' ');
	return at ? (pid_t)strtol(at, NULL, 10) : 0;
}

static int search_from(struct process_search *s, int proc, pid_t from, uint64_t end_ns)
{
	pid_t pid;
	int error = next_process(proc, from, &pid);

	while (!error && pid && s->n < s->max && clock_ns(CLOCK_MONOTONIC) < end_ns) {
		search_process(s, proc, pid);
		error = next_process(proc, pid + 1, &pid);
	}
	return error;
}

/*
 * A process may end before it is looked at, and go on in a child. The kernel gives numbers in turn, so that of a child is not
 * reached yet if the search goes the same way, from the last number on. (The second part goes on to those that are forked
 * meanwhile.) Children of what has been found are followed. Only if the kernel has begun anew with the low numbers meanwhile, all
 * has to be searched again.
 */
int processes_find(struct process_search *s)
{
	int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC), error;
	const uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + MOST_NS;
	bool in_time;
	pid_t last;

	if (proc < 0)
		return -errno;
	do {
		last = last_number(proc);
		error = search_from(s, proc, last + 1, end_ns) ?: search_from(s, proc, 1, end_ns);
		in_time = clock_ns(CLOCK_MONOTONIC) < end_ns;
	} while (!error && in_time && s->n < s->max && last_number(proc) < last);
	close(proc);
	/* Whoever forks as fast as this reads must not keep it from the others. */
	if (!in_time)
		__atomic_fetch_add(&s->programs->shared->account[0][ACCOUNT_PROCESSES], 1,
				   __ATOMIC_RELAXED);
	return error;
}
