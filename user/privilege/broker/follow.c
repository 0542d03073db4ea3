/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each process has links of its own if children are not followed, or if the caller is not root. Such a caller may
 * use capabilities of the program file to put breakpoints into files that everybody runs; the kernel filters these
 * links by address space, so that the memory of other users does not change. The filter knows one process, so:
 *
 * - A forked child inherits the breakpoints and the counted semaphores of its parent's memory, and at its
 *   breakpoints nothing happens. It gets the links of its parent, or its memory is cleaned (clean.c).
 * - A link belongs to the first thread of a process. It stays valid when that executes another program. When another
 *   thread does, that thread takes over the number of the process. The kernel still runs the programs of the links,
 *   whose thread was of the same process, but finds no address space in that thread, and puts no breakpoints into the
 *   new one. So further links put them there, with a program that does nothing: with the same program, marks would
 *   be recorded twice until the kernel has closed the first ones.
 * - After an execution of a set-user-ID program, or one with capabilities, the links are closed. No BPF program can
 *   hold a thread in execve(), so until they are there may be breakpoints at places that the file names, at which
 *   nothing is recorded.
 * - A process may change its user, in a user namespace. No event tells of that: every CHECK_MS it is looked at.
 * - The links of a process that has exited are closed.
 *
 * BPF programs report all this in a ring buffer of the broker's (bpf/processes/processes.h). A thread reads it, which never
 * waits: neither for the recorder, nor for a file system, nor for a grace period after closing. It counts
 * each process that ran before it had its links, and the longest time.
 */
#include "privilege/broker/follow.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "privilege/broker/clean.h"
#include "privilege/broker/server.h"
#include "bpf/processes/processes.h"
#include "proftrace.skel.h"

#define CHECK_MS      20
#define CHECK_AT_ONCE 256
#define MOST_TRACED_KEYS \
	131072 /* twice what the map of traced processes may hold: a search may begin anew */

struct follow {
	struct links *links;
	const struct loaded_programs *programs;
	struct cleaner *cleaner;
	struct ring_buffer *ring;
	bool own_only;
	int socket;
	int ends[2]; /* a pipe: the thread ends when the other end is closed */
	uint64_t missed;
	uint64_t checked_ns;
	pid_t next_checked;
	uint32_t removals; /* of processes from the map */
	pthread_t thread;
	bool running;
};

static bool is_traced(const struct follow *w, pid_t pid)
{
	uint32_t key = (uint32_t)pid, flags;

	return !bpf_map_lookup_elem(w->programs->traced_fd, &key, &flags);
}

/* Without flags, nobody has looked yet whether it may be (server.c). */
static bool is_recorded(const struct follow *w, pid_t pid)
{
	uint32_t key = (uint32_t)pid, flags;

	return !bpf_map_lookup_elem(w->programs->traced_fd, &key, &flags) && flags;
}

static void stop_tracing(struct follow *w, pid_t pid)
{
	uint32_t key = (uint32_t)pid, first = 0;

	bpf_map_delete_elem(w->programs->traced_fd, &key);
	w->removals++;
	bpf_map_update_elem(w->programs->traced_removals_fd, &first, &w->removals, BPF_ANY);
}

/* The directory in /proc belongs to the effective user of the process. */
static bool may_be_linked(const struct follow *w, pid_t pid)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return !stat(path, &st) && (!w->own_only || st.st_uid == getuid());
}

/* The recorder has the memory of these mapped, too, and may write anything. They are for it. */
static void count(const struct follow *w, enum account_slot slot, uint64_t n)
{
	__atomic_fetch_add(&w->programs->shared->account[0][slot], n, __ATOMIC_RELAXED);
}

/* Returns when the process had its links; 0: it did not get all of them. */
static uint64_t count_late(const struct follow *w, int error, const struct follow_record *r)
{
	uint64_t *longest = (uint64_t *)&w->programs->shared->followed_late_ns;
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	count(w, error ? ACCOUNT_PROCESSES : ACCOUNT_FOLLOWED_LATE, 1);
	if (error)
		return 0;
	if (now_ns - r->ts > __atomic_load_n(longest, __ATOMIC_RELAXED))
		__atomic_store_n(longest, now_ns - r->ts, __ATOMIC_RELAXED);
	return now_ns;
}

/* The process is not linked any more. `clean`: it still runs, and has breakpoints. */
static void follow_end(struct follow *w, struct process *p, bool clean)
{
	cleaner_close(w->cleaner, links_process_remove(w->links, p), clean);
}

static void follow_refuse(struct follow *w, pid_t pid)
{
	struct process *p = links_process(w->links, pid);

	stop_tracing(w, pid);
	if (p)
		follow_end(w, p, true);
	else
		cleaner_close(w->cleaner, NULL, true);
}

/*
 * One that is traced gets links when the recorder has read its files. Children that it forks until then get them, too (links_spread()), for
 * which both have to be known.
 */
static struct process *find_parent(const struct follow *w, const struct follow_record *r)
{
	struct process *parent = links_process(w->links, (pid_t)r->parent);

	if (parent || !is_traced(w, (pid_t)r->parent))
		return parent;
	parent = links_process_new(w->links, (pid_t)r->parent);
	if (parent)
		parent->since_ns = r->ts;
	return parent;
}

static void follow_fork(struct follow *w, const struct follow_record *r)
{
	struct process *parent = find_parent(w, r), *p;
	int error;

	p = links_process(w->links, (pid_t)r->pid);
	/* The number is used again; or the recorder has already attached to something in the child. */
	if (p && p->since_ns < r->ts) {
		follow_end(w, p, false);
		p = NULL;
	}
	if (!is_traced(w, (pid_t)r->pid)) {
		count(w, ACCOUNT_PROCESSES, parent && parent->members);
		return;
	}
	/* It has ended before it had any links, so this child gets none by it. */
	if (!parent) {
		count(w, ACCOUNT_PROCESSES, !p);
		return;
	}
	if (!p)
		p = links_process_new(w->links, (pid_t)r->pid);
	if (!p || !may_be_linked(w, (pid_t)r->pid)) {
		count(w, ACCOUNT_PROCESSES, 1);
		follow_refuse(w, (pid_t)r->pid);
		return;
	}
	p->since_ns = r->ts;
	p->parent = (pid_t)r->parent;
	if (!parent->members)
		return;
	error = links_inherit(w->links, w->programs, p, parent);
	p->linked_ns = count_late(w, error, r);
	p->lacks = error != 0;
}

static void follow_exec(struct follow *w, const struct follow_record *r)
{
	struct process *p = links_process(w->links, (pid_t)r->pid);
	struct member *old;
	int error;

	if (!p || p->since_ns > r->ts || !p->members)
		return;
	error = links_renew(w->links, w->programs, p, &old);
	cleaner_close(w->cleaner, old, false);
	p->linked_ns = count_late(w, error, r);
}

/* What had its links only after it had ended was not followed at all. */
static void follow_exit(struct follow *w, const struct follow_record *r)
{
	struct process *p = links_process(w->links, (pid_t)r->pid);

	if (!p || p->since_ns > r->ts)
		return;
	if (p->linked_ns > r->ts) {
		count(w, ACCOUNT_FOLLOWED_LATE, (uint64_t)-1);
		count(w, ACCOUNT_PROCESSES, 1);
	}
	follow_end(w, p, false);
}

/* Others need the table while the kernel detaches. */
static void follow_unlock(struct follow *w)
{
	struct member *partial = links_unlink_partial(w->links);

	pthread_mutex_unlock(&w->links->lock);
	if (partial)
		cleaner_close(w->cleaner, partial, false);
}

static int follow_record(void *context, void *data, size_t size)
{
	const struct follow_record *r = data;
	struct follow *w = context;

	if (size < sizeof(*r))
		return 0;
	/* There may be thousands of records, which were all handled before anybody looked at the end. */
	if (links_ended(w->links))
		return -ECANCELED;
	pthread_mutex_lock(&w->links->lock);
	if (r->kind == FOLLOW_FORK)
		follow_fork(w, r);
	else if (r->kind == FOLLOW_EXEC)
		follow_exec(w, r);
	else if (r->kind == FOLLOW_EXIT)
		follow_exit(w, r);
	else
		follow_refuse(w, (pid_t)r->pid);
	follow_unlock(w);
	return 0;
}

/* --- what was missed, and what no event tells ------------------------------------------------------- */

/* Of these the kernel's side has counted that they may have been followed late. */
static void follow_anew(struct follow *w, pid_t pid)
{
	struct member *old = NULL;
	struct process *p;

	pthread_mutex_lock(&w->links->lock);
	p = links_process(w->links, pid);
	if (!p && is_recorded(w, pid) && may_be_linked(w, pid))
		p = links_process_new(w->links, pid);
	if (p && p->members)
		links_renew(w->links, w->programs, p, &old);
	else if (p)
		links_attach_all(w->links, w->programs, p);
	else if (is_recorded(w, pid))
		stop_tracing(w, pid);
	cleaner_close(w->cleaner, old, false);
	follow_unlock(w);
}

static void follow_missed(struct follow *w)
{
	uint32_t first = 0, pid, last = 0, n;
	uint64_t missed;
	bool more;

	if (bpf_map_lookup_elem(w->programs->follow_missed_fd, &first, &missed) ||
	    missed == w->missed)
		return;
	w->missed = missed;
	cleaner_close(w->cleaner, NULL, true);
	more = !bpf_map_get_next_key(w->programs->traced_fd, NULL, &pid);
	for (n = 0; more && n < MOST_TRACED_KEYS && !links_ended(w->links); n++) {
		follow_anew(w, (pid_t)pid);
		last = pid;
		more = !bpf_map_get_next_key(w->programs->traced_fd, &last, &pid);
	}
}

static size_t read_user_map(const char *process, char *text, size_t size)
{
	char path[32];
	int fd;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%s/uid_map", process);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, size);
	if (fd >= 0)
		close(fd);
	return n < 0 ? 0 : (size_t)n;
}

/* In a user namespace. One that is ending still belongs to its user, and one that executes a set-user-ID program is let go anyway. */
static bool has_changed_user(const struct follow *w, pid_t pid)
{
	char number[16], path[32], own[512], its[512];
	size_t n_own, n_its;
	struct stat st;

	snprintf(number, sizeof(number), "%d", (int)pid);
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (!w->own_only || stat(path, &st) || st.st_uid == getuid())
		return false;
	n_own = read_user_map("self", own, sizeof(own));
	n_its = read_user_map(number, its, sizeof(its));
	return n_its && (n_its != n_own || memcmp(its, own, n_own));
}

static void check_process(struct follow *w, struct process *p)
{
	if (may_be_linked(w, p->pid) && is_traced(w, p->pid))
		return;
	/* What it has forked before it ended is read until the next time. */
	if (!is_traced(w, p->pid) && !p->ends) {
		p->ends = true;
		return;
	}
	if (is_traced(w, p->pid) && has_changed_user(w, p->pid))
		count(w, ACCOUNT_PROCESSES, 1);
	stop_tracing(w, p->pid);
	follow_end(w, p, true);
}

/* A part of the processes each time, so that many of them do not keep it from those that fork. */
static void check_processes(struct follow *w)
{
	struct process *p, *next;
	unsigned i;

	pthread_mutex_lock(&w->links->lock);
	p = links_process(w->links, w->next_checked);
	if (!p)
		p = w->links->processes;
	for (i = 0; p && i < CHECK_AT_ONCE; i++, p = next) {
		next = p->hh.next;
		if (p->pid)
			check_process(w, p);
	}
	w->next_checked = p ? p->pid : 0;
	follow_unlock(w);
}

/* A recorder that has ended, while the broker waits for a file system, has no use for further links. */
static void *follow_run(void *context)
{
	struct follow *w = context;
	struct pollfd polled[] = {
		{ .fd = w->programs->follows_fd, .events = POLLIN },
		{ .fd = w->ends[0] },
		{ .fd = w->socket },
	};

	while (!polled[1].revents && !polled[2].revents) {
		uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

		if (now_ns - w->checked_ns >= CHECK_MS * 1000000ull) {
			check_processes(w);
			w->checked_ns = now_ns;
		}
		if (poll(polled, 3, CHECK_MS) < 0)
			continue;
		ring_buffer__consume(w->ring);
		follow_missed(w);
	}
	return NULL;
}

int follow_new(struct links *links, const struct loaded_programs *programs, bool own_only,
	       pid_t zombie, struct follow **ret_follow)
{
	struct follow *w = calloc(1, sizeof(*w));
	int error;

	if (!w)
		return -ENOMEM;
	w->links = links;
	w->programs = programs;
	w->own_only = own_only;
	w->cleaner = cleaner_new(links, programs, zombie);
	error = w->cleaner ? 0 : -ENOMEM;
	if (!error) {
		w->ring = ring_buffer__new(programs->follows_fd, follow_record, w, NULL);
		error = w->ring ? 0 : -errno;
	}
	if (!error && pipe2(w->ends, O_CLOEXEC))
		error = -errno;
	if (!error) {
		*ret_follow = w;
		return 0;
	}
	ring_buffer__free(w->ring);
	free(w);
	return error;
}

int follow_start(struct follow *w, int socket)
{
	int error = cleaner_start(w->cleaner);

	w->socket = socket;
	error = error ?: -pthread_create(&w->thread, NULL, follow_run, w);
	w->running = !error;
	return error;
}

void follow_stop(struct follow *w)
{
	if (!w)
		return;
	close(w->ends[1]);
	if (w->running)
		pthread_join(w->thread, NULL);
	cleaner_stop(w->cleaner);
}
