/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Links of single processes, where a file cannot be attached to for all of them at once: they come with the process, or with
 * its parent, and leave with it.
 */
#include "capture/attach/internal.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "capture/file_limits.h"
#include "capture/file_watch.h"
#include "proftrace.skel.h"

bool file_attaches_each(const struct capture *c, const struct file *file)
{
	return capture_attaches_each(c) || file->alone;
}

static bool pids_have(const pid_t *pids, unsigned n, pid_t pid)
{
	for (unsigned i = 0; i < n; i++) {
		if (pids[i] == pid)
			return true;
	}
	return false;
}

static bool pids_add(pid_t **pids, unsigned *n, pid_t pid)
{
	pid_t *more = realloc(*pids, (*n + 1) * sizeof(*more));

	if (!more)
		return false;
	*pids = more;
	more[(*n)++] = pid;
	return true;
}

static void pids_remove(pid_t *pids, unsigned *n, pid_t pid)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < *n; i++) {
		if (pids[i] != pid)
			pids[kept++] = pids[i];
	}
	*n = kept;
}

bool file_has_pid(const struct file *file, pid_t pid)
{
	return pids_have(file->pids, file->n_pids, pid);
}

static void file_add_pid(struct file *file, pid_t pid)
{
	pids_add(&file->pids, &file->n_pids, pid);
}

bool file_refuses_pid(const struct file *file, pid_t pid)
{
	return pids_have(file->refused_pids, file->n_refused_pids, pid);
}

bool file_refuse_pid(const struct capture *c, struct file *file, pid_t pid)
{
	return pid && (file->fd < 0 || file_attaches_each(c, file)) &&
	       pids_add(&file->refused_pids, &file->n_refused_pids, pid);
}

void files_forget_refusals(struct capture *c, pid_t pid)
{
	hash_each (c->files, file)
		pids_remove(file->refused_pids, &file->n_refused_pids, pid);
}

/* Whether this process has to be attached to although the file is. */
bool file_lacks_pid(const struct capture *c, const struct file *file, pid_t pid)
{
	return pid && file_attaches_each(c, file) && !file_has_pid(file, pid) &&
	       !file_refuses_pid(file, pid);
}

static int attach_for_pid(struct capture *c, struct file *file, pid_t pid, struct failure *f)
{
	int error;

	/* Those that come are attached to. */
	if (!pid || file_has_pid(file, pid))
		return 0;
	error = file_attach_all_or_nothing(c, file, pid, f);
	/*
	 * It is going to execute a program by which it will be recorded. It is attached to when it has done so, which is late for
	 * a static program: nothing holds it then.
	 */
	if (error == -EPERM && file->alone) {
		if (file_has_marks(file) && elf_file_is_static(file->elf)) {
			c->late += file->late_pid != pid;
			file->late_pid = pid;
		}
		return 0;
	}
	/* Out of memory: the broker is asked again, and says that the process has the links. */
	if (!error)
		file_add_pid(file, pid);
	return error;
}

/*
 * The kernel refuses a link for all processes if it cannot write to the memory of one of them: a semaphore that it cannot
 * increment (EINVAL), a guard page (EFAULT), no memory in its control group. Whoever may read the file can map it and do
 * that to memory of their own. So then each process that is recorded gets links of its own, until none of them is left and
 * all can be tried again.
 */
bool file_error_is_of_one_process(int error)
{
	return error == -EINVAL || error == -EFAULT || error == -ENOMEM || error == -EIO;
}

static void file_set_alone(struct capture *c, struct file *file, const struct failure *f)
{
	char path[PATH_MAX];

	__atomic_store_n(&c->shared->alone_links, 1, __ATOMIC_RELAXED);
	capture_log(c, file->was_alone ? 1 : 0,
		    "'%s' is attached to for each process by itself: %s", file_path(file, path),
		    f ? f->reason : "refused");
	file_forget_known(c, file);
	/* Until it is attached to, a process that is waited for is not held where it executes its program and opens libraries. */
	if (file->n_linker || file->n_executes) {
		c->late += !c->holds_alone && c->options.targets && c->options.targets->waits;
		c->holds_alone = true;
	}
	file->alone = file->was_alone = true;
}

/* No process has links of its own to it any more. */
static void file_set_common(struct capture *c, struct file *file)
{
	bool others = false;

	file->alone = false;
	file->n_pids = 0;
	hash_each (c->files, other)
		others |= other->alone;
	__atomic_store_n(&c->shared->alone_links, others, __ATOMIC_RELAXED);
}

/* Attaches for this process, unless it is attached already. */
int file_attach(struct capture *c, struct file *file, pid_t pid, struct failure *f)
{
	int error;

	if (capture_attaches_each(c) && !pid)
		return file_attach_all_or_nothing(c, file, 0, f);
	if (file->alone && !file->n_links && !file->n_data_links)
		file_set_common(c, file);
	if (file_attaches_each(c, file))
		return attach_for_pid(c, file, pid, f);
	if (file->n_links)
		return 0;
	error = file_attach_all_or_nothing(c, file, 0, f);
	if (!file_error_is_of_one_process(error))
		return error;
	file_set_alone(c, file, f);
	return attach_for_pid(c, file, pid, f);
}

/* A process that was already running: marks of it may be missing. */
static void attach_late(struct capture *c, struct file *file, pid_t pid)
{
	struct failure f = { 0 };
	char path[PATH_MAX];
	int error = attach_for_pid(c, file, pid, &f);

	if (error == -ESRCH)
		return;
	if (!error) {
		c->late++;
		return;
	}
	file_refuse_pid(c, file, pid);
	files_report_refused(c, file_path(file, path), &f);
}

void files_follow(struct capture *c, pid_t parent, pid_t child)
{
	if (!c->options.follow_children)
		return;
	hash_each (c->files, file) {
		if (!file_has_pid(file, parent) || c->stopping)
			continue;
		if (capture_attaches_each(c))
			file_add_pid(file, child);
		else
			attach_late(c, file, child);
	}
}

static void leaving_add_pid(struct leaving *l, struct file_link *links, unsigned *n, pid_t pid)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < *n; i++) {
		if (links[i].pid == pid)
			leaving_add(l, links[i]);
		else
			links[kept++] = links[i];
	}
	*n = kept;
}

/* Closes the links of a process, which the kernel would keep when it has ended. `later`: without waiting for the kernel. */
static void file_release_alone(struct capture *c, struct file *file, pid_t pid, bool later)
{
	struct leaving leaving = { .c = c, .later = later };

	if (!file->alone || !file_has_pid(file, pid))
		return;
	leaving_add_pid(&leaving, file->links, &file->n_links, pid);
	leaving_add_pid(&leaving, file->data_links, &file->n_data_links, pid);
	if (file->n_pids == 1) {
		leaving_add_all(&leaving, file->data_links, &file->n_data_links, 0);
		leaving_add_all(&leaving, file->links, &file->n_links, 0);
	}
	leaving_detach(&leaving);
}

void files_release(struct capture *c, pid_t pid)
{
	hash_each (c->files, file) {
		file_release_alone(c, file, pid, true);
		pids_remove(file->pids, &file->n_pids, pid);
	}
	files_forget_refusals(c, pid);
}

/*
 * A link of one process belongs to the thread that was its first. When another one executes a program it takes over the number,
 * and the kernel puts no breakpoints of that link into the new memory, but would still run its programs there. So it is closed
 * before the next scan, in the hold of the linker or after the execution, attaches again. Two records tell of an execution, and
 * meanwhile there may have been another: after that scan nothing may be closed again.
 */
void files_first_changed(struct capture *c, pid_t pid, uint32_t execution)
{
	struct traced_process *p = process_find(c, pid);

	if (p && (int32_t)(execution - p->first_changed) <= 0)
		return;
	if (p)
		p->first_changed = execution;
	hash_each (c->files, file) {
		if (!file->alone)
			continue;
		file_release_alone(c, file, pid, false);
		pids_remove(file->pids, &file->n_pids, pid);
	}
	files_forget_refusals(c, pid);
}

/* Calls of functions that are open now return to the links that leave. */
static bool file_has_returns(const struct capture *c, const struct file *file)
{
	for (unsigned i = 0; i < file->n_probes; i++) {
		if (c->sites[file->first_probe + i].in_session)
			return true;
	}
	return false;
}

/* Each process gets links of its own before those for all leave, in attach_alone(). */
static void file_go_alone(struct capture *c, struct file *file, const struct failure *f)
{
	if (file_has_returns(c, file))
		c->late++;
	file_set_alone(c, file, f);
	file->goes_alone = c->files_go_alone = true;
}

static void leaving_add_common(struct leaving *l, struct file_link *links, unsigned *n)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < *n; i++) {
		if (links[i].pid || links[i].flushes)
			links[kept++] = links[i];
		else
			leaving_add(l, links[i]);
	}
	*n = kept;
}

static void scan_all(struct capture *c)
{
	hash_each (c->processes, p) {
		const struct broker_target target = { p->pid, 0 };
		unsigned marked, fresh;
		struct failure f;
		int error = process_scan(c, &target, &marked, &fresh, &f);

		c->late += error && error != -ESRCH && error != -EBUSY;
	}
}

/* Processes that have mapped them have lost what was attached. */
void files_attach_parted(struct capture *c)
{
	if (!c->files_parted || c->stopping)
		return;
	c->files_parted = false;
	hash_each (c->files, file) {
		if (file->same && file->same->fd < 0)
			file_retire(c, file);
	}
	c->late++;
	scan_all(c);
}

/*
 * The links for all are closed when each process has its own. Meanwhile marks come to both, and the BPF programs record
 * them once (hit_is_recorded() in bpf/marks/marks.bpf.c).
 */
void attach_alone(struct capture *c)
{
	struct leaving leaving = { .c = c };

	if (!c->files_go_alone)
		return;
	c->files_go_alone = false;
	__atomic_fetch_add(&c->shared->both_links, 1, __ATOMIC_SEQ_CST);
	scan_all(c);
	hash_each (c->files, file) {
		if (!file->goes_alone)
			continue;
		leaving_add_common(&leaving, file->data_links, &file->n_data_links);
		leaving_add_common(&leaving, file->links, &file->n_links);
		file->goes_alone = false;
	}
	leaving_detach(&leaving);
	/* None of their programs runs any more. */
	__atomic_fetch_add(&c->shared->both_links, 1, __ATOMIC_SEQ_CST);
}

void attach_more(struct capture *c, struct file *file, attach_fn *attach)
{
	struct failure f = { 0 };
	char path[PATH_MAX];
	int error = file_attaches_each(c, file) ? 0 : attach(c, file, 0, &f);

	if (file_error_is_of_one_process(error)) {
		file_go_alone(c, file, &f);
		return;
	}
	for (unsigned i = 0; i < file->n_pids; i++) {
		/* The process may have exited meanwhile. */
		int failed = attach(c, file, file->pids[i], &f);

		error = failed == -ESRCH ? error : failed ?: error;
	}
	if (error)
		files_report_refused(c, file_path(file, path), &f);
}

void files_attach_hold_sites(struct capture *c)
{
	hash_each (c->files, file) {
		if (file->hold_sites_pending)
			attach_more(c, file, attach_hold_sites);
	}
	attach_alone(c);
}
