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
#include "capture/batch/batch.h"
#include "capture/file_limits.h"
#include "capture/internal.h"
#include "capture/rings.h"

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
#define SEARCHES_ALONE	3 /* where no children are followed */
#define READ_WITHIN_NS \
	1000000000ull /* what those that are found fork meanwhile, before the recording begins */

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

void count_not_followed(struct capture *c, unsigned n)
{
	__atomic_fetch_add(&c->shared->account[0][ACCOUNT_PROCESSES], n, __ATOMIC_RELAXED);
}

/*
 * Of a process that does not match any more, or that the user may not see, nothing is counted, nor of one that has no markers. The
 * kernel has followed those that have ended since they were found: their children come with the records that are read here.
 */
static int attach_targets(struct capture *c, const uint32_t *pids, unsigned n, unsigned *n_attached,
			  unsigned *n_ended, struct failure *f)
{
	uint64_t read_ns = 0, began_ns;

	/* Of processes that fork on, the last one is the one that may still be there. */
	for (unsigned i = n; i-- > 0;) {
		int error, verbosity = 2;
		bool more;

		if (capture_traces(c, (pid_t)pids[i]))
			continue;
		error = capture_attach(c, (pid_t)pids[i], f);
		if (error == -ECANCELED || error == -EPIPE)
			return error;
		*n_attached += !error;
		*n_ended += error == -ESRCH;
		/* It is not the user's to trace, for example; others may be. */
		if (error && error != -ESRCH)
			verbosity = error != -EPERM && error != -ENOENT ? 0 : 1;
		count_not_followed(c, verbosity == 0);
		if (error)
			capture_log(c, verbosity, "%s '%s': %s", f->what, f->object, f->reason);
		/* Nor do threads that are held wait until all are attached to, as long as this takes a second in all. */
		began_ns = monotonic_now();
		if (read_ns < READ_WITHIN_NS)
			capture_drain(c, &more);
		read_ns += monotonic_now() - began_ns;
	}
	return 0;
}

/* Where each process has links of its own, they may fork faster than each is attached to. */
static void read_forks(struct capture *c)
{
	const uint64_t until_ns = monotonic_now();
	bool more = true;

	while (more && rings_known_ns(c->rings) < until_ns &&
	       monotonic_now() < until_ns + READ_WITHIN_NS) {
		if (capture_drain(c, &more) < 0)
			break;
	}
	if (c->batches)
		batches_merge(c, true);
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
 * One search finds all that run: the broker has each one that it finds followed. Without children, one that has ended may have
 * forked another that matches, too, after that was searched for.
 */
static int search_targets(struct capture *c, unsigned *n_attached, struct failure *f)
{
	unsigned n, n_ended = 1, searches = 0;
	uint32_t *pids;
	int error = 0;

	c->searching = true;
	while (!error && n_ended && searches < (c->options.follow_children ? 1 : SEARCHES_ALONE)) {
		error = broker_find(c->broker, &pids, &n, f);
		if (error)
			break;
		n_ended = 0;
		searches++;
		if (n > TARGETS_AT_MOST) {
			error = failure_set(f, -E2BIG, "too many processes match", "",
					    "more than 4096 run now");
			failure_hint(f,
				     "give -n NAME and --user NAME: a process has to match both");
		} else {
			error = attach_targets(c, pids, n, n_attached, &n_ended, f);
		}
		free(pids);
	}
	if (!error)
		read_forks(c);
	c->searching = false;
	if (!error && !c->options.follow_children)
		count_not_followed(c, n_ended);
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
