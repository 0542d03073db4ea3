/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What keeps a caller who is not root from changing the memory of other users.
 *
 * Such a caller may use capabilities of the program file to put breakpoints into files that everybody runs. So each
 * link is for one process, and the kernel filters by its address space. Three things still go beyond that process,
 * and are taken back here; nothing of it depends on the recorder, which may have been taken over:
 *
 * - A forked child inherits the breakpoints and the counted semaphores of its parent's memory. The kernel's side puts
 *   the child of a process with links into the map of traced processes: with flags if children are followed, and
 *   without if not. A child of the first kind gets links of its own, by a request of the recorder. The memory of
 *   one of the second kind is cleaned.
 * - A link stays with its process when that executes another program. The kernel's side takes a process out of the
 *   map that executes a set-user-ID program or one with capabilities; then its links are closed. A program that is
 *   executed by execve() of the C library and by the system call alike has mapped its files by then: no BPF program
 *   can hold a thread in the system call. Until the links are closed, INTERVAL_MS later if the broker gets to run,
 *   there may be breakpoints at places that the file names, at which nothing is recorded.
 * - A process may change its user, in a user namespace. Its links are closed, and its memory is cleaned.
 *
 * To clean: when a consumer of a uprobe goes, the kernel walks all mappings of the file and removes the breakpoint
 * wherever no other consumer wants it. A link for a process without an address space (a zombie) wants it nowhere, so
 * making and closing one cleans all that inherited breakpoints and have no link of their own. Perf events, which
 * stand in for these links before Linux 6.6, are cleaned from children by the kernel itself.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "privilege/broker/server.h"

#define INTERVAL_MS  20
#define MOST_WATCHED 8192 /* the map of traced processes has no more */

struct watched {
	pid_t pid;
	bool traced; /* has been seen in the map: before that it is about to be */
};

struct watch {
	struct links *links;
	const struct loaded_programs *programs;
	pid_t zombie;
	uint64_t looked_ns;
	struct watched list[MOST_WATCHED]; /* that have links */
	unsigned n;
};

/* A process that has exited and is never waited for. */
static pid_t zombie_new(void)
{
	pid_t pid = fork();
	siginfo_t info;

	if (pid == 0)
		_exit(0);
	while (pid > 0 && waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) && errno == EINTR)
		;
	return pid;
}

struct watch *watch_new(struct links *links, const struct loaded_programs *programs)
{
	struct watch *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->links = links;
	w->programs = programs;
	w->zombie = zombie_new();
	if (w->zombie > 0)
		return w;
	free(w);
	return NULL;
}

static struct watched *watch_find(struct watch *w, pid_t pid)
{
	unsigned i;

	for (i = 0; i < w->n; i++) {
		if (w->list[i].pid == pid)
			return &w->list[i];
	}
	return NULL;
}

int watch_process(struct watch *w, pid_t pid)
{
	if (!w || !pid || watch_find(w, pid))
		return 0;
	if (w->n == MOST_WATCHED)
		return -EMFILE;
	w->list[w->n++] = (struct watched){ pid, false };
	return 0;
}

/* The directory in /proc belongs to the process's user; to root if others may not look into it. */
static bool is_own_process(pid_t pid)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return !stat(path, &st) && st.st_uid == getuid();
}

struct cleaning {
	const struct watch *watch;
	struct descriptors closing;
};

static void clean_sites(void *context, const struct link_sites *of)
{
	struct cleaning *c = context;
	int *links = descriptors_reserve(&c->closing, of->n);
	const struct loaded_programs *programs = c->watch->programs;
	unsigned n = 0;

	if (links && of->sites &&
	    !links_create(programs, programs->program_fds[of->program], c->watch->zombie,
			  of->elf_fd, of->sites, of->n, links, &n))
		c->closing.n += n;
}

static void watch_clean(const struct watch *w)
{
	struct cleaning c = { .watch = w };

	links_each(w->links, clean_sites, &c);
	descriptors_close(c.closing.list, c.closing.n);
	free(c.closing.list);
}

/* Closes the links of processes that have exited, or may not be traced any more. */
static void watch_links(struct watch *w)
{
	struct descriptors closing = { 0 };
	unsigned i = 0;

	while (i < w->n) {
		struct watched *p = &w->list[i];
		uint32_t pid = (uint32_t)p->pid, flags;
		bool traced = !bpf_map_lookup_elem(w->programs->traced_fd, &pid, &flags);
		bool own = is_own_process(p->pid);

		p->traced |= traced;
		if (own && (traced || !p->traced)) {
			i++;
			continue;
		}
		bpf_map_delete_elem(w->programs->traced_fd, &pid);
		links_revoke(w->links, p->pid, &closing);
		*p = w->list[--w->n];
	}
	descriptors_close(closing.list, closing.n);
	free(closing.list);
}

/* Children that nobody has attached to: returns whether one of them has to be cleaned. */
static bool watch_children(struct watch *w)
{
	uint32_t pid, flags, last = 0;
	bool clean = false, more;

	for (more = !bpf_map_get_next_key(w->programs->traced_fd, NULL, &pid); more;
	     more = !bpf_map_get_next_key(w->programs->traced_fd, &last, &pid)) {
		last = pid;
		if (watch_find(w, (pid_t)pid) ||
		    bpf_map_lookup_elem(w->programs->traced_fd, &pid, &flags))
			continue;
		if (flags && is_own_process((pid_t)pid))
			continue;
		bpf_map_delete_elem(w->programs->traced_fd, &pid);
		clean = true;
		/* The key that the search would go on from is gone. */
		last = 0;
	}
	return clean;
}

static void watch_look(struct watch *w)
{
	/* Closing a link cleans its own sites for all. */
	watch_links(w);
	if (watch_children(w) && w->programs->uprobe_multi)
		watch_clean(w);
}

int watch_wait(struct watch *w, int socket)
{
	struct pollfd p = { .fd = socket, .events = POLLIN };
	bool readable = !w;

	while (!readable) {
		uint64_t now = clock_ns(CLOCK_MONOTONIC);

		if (now - w->looked_ns >= INTERVAL_MS * 1000000ull) {
			watch_look(w);
			w->looked_ns = clock_ns(CLOCK_MONOTONIC);
		}
		readable = poll(&p, 1, w->n ? INTERVAL_MS : -1) > 0;
	}
	return 0;
}
