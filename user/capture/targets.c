/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes that match conditions (--name, --user) instead of those that the user has numbered.
 *
 * Those that run are found in /proc, and attached to one after the other. With --wait, the kernel compares each program
 * that is executed (bpf/processes/target_match.h), which it does from before /proc is read, so that no process is in
 * neither. A thread that is about to execute a matching program is held in the C library until the program is attached
 * to, and the new process in its dynamic linker until its libraries are, as in a child of a traced process. That needs
 * probes before any process is known: in proftrace's own C library and linker, and in those of programs that -n names.
 *
 * Where each process has links of its own, nobody holds it: it is attached to while it runs, which is counted.
 */
#include "capture/file_limits.h"
#include "capture/internal.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "privilege/containers.h"
#include "proftrace.skel.h"
#include "tracee/spawn.h"

/* at the start: each takes some milliseconds, and a place in the kernel's map */
#define TARGETS_AT_MOST (BROKER_MAX_FOUND - 1)
/* after the first search */
#define SEARCHES_NS    2000000000ull
#define SEARCHES_ALONE 3 /* where no children are followed */

/* A name without a glob is looked up as a shell would. */
static void expect_programs(struct capture *c)
{
	unsigned n;
	int fds[3];

	libc_expect(c);
	for (unsigned i = 0; i == 0 || i < c->options.n_target_names; i++) {
		const char *name = i < c->options.n_target_names ? c->options.target_names[i] : "";

		n = command_files(strpbrk(name, "*?[\\") ? "" : name, fds, 3);
		while (n) {
			file_expect_for_all(c, fds[--n]);
			close(fds[n]);
		}
	}
}

static void count_not_followed(struct capture *c, unsigned n)
{
	__atomic_fetch_add(&c->shared->account[0][ACCOUNT_PROCESSES], n, __ATOMIC_RELAXED);
}

/* Processes that had exited when they were to be attached to: what they have forked was there then. */
struct ended {
	unsigned n;
	uint32_t pids[TARGETS_AT_MOST];
};

static bool ended_has(const struct ended *e, uint32_t pid)
{
	unsigned i = 0;

	while (i < e->n && e->pids[i] != pid)
		i++;
	return i < e->n;
}

/*
 * Of a process that does not match any more, or that the user may not see, nothing is counted, nor of one that has no markers.
 * `*n_new`: also those that have exited since the time before, when `ended` had. `*n_refused`: of those that are there. So many were
 * named the time before.
 */
static int attach_targets(struct capture *c, const uint32_t *pids, unsigned n, struct ended *ended,
			  unsigned *n_new, unsigned *n_attached, unsigned *n_refused,
			  struct failure *f)
{
	const struct ended before = *ended;
	unsigned refused = 0;

	ended->n = 0;

	/* Of processes that fork on, the last one is the one that may still be there. */
	for (unsigned i = n; i-- > 0;) {
		int error, verbosity;

		if (capture_traces(c, (pid_t)pids[i]))
			continue;
		error = capture_attach(c, (pid_t)pids[i], f);
		if (error == -ECANCELED || error == -EPIPE)
			return error;
		*n_new += !error || (error == -ESRCH && !ended_has(&before, pids[i]));
		if (error == -ESRCH)
			ended->pids[ended->n++] = pids[i];
		*n_attached += !error;
		/* It has exited meanwhile, or is not the user's to trace; others may be. */
		verbosity = error == -ESRCH ? 2 : 1;
		if (error && error != -ESRCH && error != -EPERM && error != -ENOENT &&
		    ++refused > *n_refused)
			verbosity = 0;
		if (error)
			capture_log(c, verbosity, "%s '%s': %s", f->what, f->object, f->reason);
	}
	*n_refused = refused;
	return 0;
}

static int targets_missing(const struct capture *c, unsigned n, struct failure *f)
{
	char what[96], number[16];

	if (!n) {
		failure_set(f, -ENOENT, "no process matches", "", NULL);
		f->reason[0] = '\0';
		if (account_sum(c, ACCOUNT_PROTECTED))
			failure_hint(f,
				     "what has the name of a broker of proftrace is not recorded");
		else
			failure_hint(f, "`--wait` waits for processes that do not run yet%s",
				     getuid() ? "; without root, only your own processes are found"
					      : "");
		return -ENOENT;
	}
	snprintf(number, sizeof(number), "%u", n);
	snprintf(what, sizeof(what), "%s found in the processes that match",
		 capture_nothing(c->options.n_usdt, c->options.n_functions));
	failure_set(f, -ENOENT, what, number, "");
	failure_hint(f, "`proftrace list -v -p PID` shows what was searched%s",
		     c->options.n_domains ? "; does -D select their domain?" : "");
	return -ENOENT;
}

/*
 * Again until nothing new is found: a process may fork while /proc is read, and exit before anybody can attach to it. A user may fork on
 * so fast that this does not end. Without children, what is forked later is not asked for.
 */
static int search_targets(struct capture *c, unsigned *n_attached, struct failure *f)
{
	unsigned n, n_new = 1, n_refused = 0, searches = 0;
	struct ended ended = { 0 };
	uint64_t end_ns = 0;
	uint32_t *pids;
	int error = 0;

	while (!error && n_new && (!end_ns || monotonic_now() < end_ns)) {
		error = broker_find(c->broker, end_ns != 0, &pids, &n, f);
		if (error)
			return error;
		n_new = 0;
		if (n > TARGETS_AT_MOST) {
			error = failure_set(f, -E2BIG, "too many processes match", "",
					    "more than 4096 run now");
			failure_hint(f,
				     "give -n NAME and --user NAME: a process has to match both");
		} else {
			error = attach_targets(c, pids, n, &ended, &n_new, n_attached, &n_refused,
					       f);
		}
		free(pids);
		if (!end_ns)
			end_ns = monotonic_now() + SEARCHES_NS;
		if (!c->options.follow_children && ++searches == SEARCHES_ALONE)
			n_new = 0;
	}
	count_not_followed(c, n_refused + n_new);
	if (!error && n_new)
		capture_log(
			c, 0,
			"processes that match fork and exit too fast to be found: the last search "
			"has found %u new ones, and there may be more",
			n_new);
	return error;
}

/* Where cgroup v2 was never mounted, /proc/PID/cgroup does not mention it, and all processes are in its root. */
static int targets_need_cgroups(const struct target_filter *filter, struct failure *f)
{
	int self = filter->kinds & (TARGET_UNIT | TARGET_CONTAINER)
			   ? open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
			   : -1;
	char path[PATH_MAX];
	bool is_there;

	if (self < 0)
		return 0;
	is_there = process_cgroup(self, path, sizeof(path));
	close(self);
	if (is_there)
		return 0;
	failure_set(f, -ENOTSUP, "cannot find units and containers", "",
		    "this machine uses cgroup v1 alone");
	failure_hint(f, "boot with systemd.unified_cgroup_hierarchy=1; -n NAME, --user USER and -p "
			"PID do not need cgroup v2");
	return -ENOTSUP;
}

int capture_find(struct capture *c, struct failure *f)
{
	const struct target_filter *filter = c->options.targets;
	unsigned n = 0;
	int error;

	error = targets_need_cgroups(filter, f);
	if (error)
		return error;
	if (filter->waits && !c->loaded.can_loop) {
		failure_set(f, -ENOTSUP, "cannot wait for processes", "",
			    "the kernel has no bpf_loop(), which came with Linux 5.17");
		return -ENOTSUP;
	}
	if (filter->waits && !capture_attaches_each(c))
		expect_programs(c);
	error = search_targets(c, &n, f);
	if (error)
		return error;
	if (!filter->waits && (!n || (!c->n_marked_files && !capture_needs_no_marks(c))))
		return targets_missing(c, n, f);
	capture_log(c, 0, "%u process%s match%s", n, n == 1 ? "" : "es", n == 1 ? "es" : "");
	return 0;
}

void target_started(struct capture *c, pid_t pid)
{
	struct failure f = { 0 };

	if (!capture_attaches_each(c)) {
		process_add(c, pid, true);
		return;
	}
	/* It may have exited again. */
	if (!capture_attach(c, pid, &f)) {
		c->late++;
		capture_log(c, 1, "process %d is recorded", (int)pid);
		return;
	}
	count_not_followed(c, 1);
	capture_log(c, 1, "process %d: %s", (int)pid, f.what);
}
