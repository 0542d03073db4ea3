/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attaches to the sites of files, by requests to the broker, and detaches. A file with markers is attached to for all
 * processes at once, and the BPF programs know which of them are traced. If children are not followed, or if the caller
 * is not root, it is attached to for each process; also if the kernel refuses all processes because of one of them.
 */
#include "capture/file_limits.h"
#include "capture/file_watch.h"
#include "capture/probes/probes.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "proftrace.skel.h"

/* for going over to another mode, before something else that may wait */
#define TURN_WITHIN_NS 20000000ull

/* The broker gives the same number to several processes. */
static bool link_is_known(struct links links, unsigned link)
{
	for (unsigned i = 0; i < *links.n; i++) {
		struct file_link *known = &(*links.list)[i];

		if (known->link != link)
			continue;
		known->leaves = false;
		return true;
	}
	return false;
}

int files_attach_sites(struct capture *c, struct file *file, struct links to,
		       enum broker_program program, pid_t pid, const struct broker_site *sites,
		       unsigned n, struct failure *f)
{
	struct file_link *all;
	unsigned link;
	int error;

	if (files_too_many_links(c, f))
		return -EMFILE;
	error = broker_attach(c->broker, program, pid, file->fd, sites, n, &link, f);
	if (error || link_is_known(to, link))
		return error;
	all = realloc(*to.list, (*to.n + 1) * sizeof(*all));
	if (!all) {
		broker_detach(c->broker, &link, 1, false);
		return failure_set(f, -ENOMEM, "cannot attach", "", NULL);
	}
	*to.list = all;
	c->n_links++;
	c->counts.attached++;
	all[(*to.n)++] = (struct file_link){ link, to.guard, to.turns_on, pid, false };
	return 0;
}

/*
 * Links that are closed together, because closing all of them takes the kernel hardly longer than
 * closing one.
 */
struct leaving {
	struct capture *c;
	bool later; /* without waiting for the kernel */
	unsigned n;
	unsigned links[BROKER_MAX_SITES];
};

static void leaving_detach(struct leaving *l)
{
	if (!l->n)
		return;
	broker_detach(l->c->broker, l->links, l->n, l->later);
	l->c->counts.detaches++;
	l->c->n_links -= l->n;
	l->n = 0;
}

static void leaving_add(struct leaving *l, struct file_link link)
{
	l->links[l->n++] = link.link;
	if (l->n == BROKER_MAX_SITES)
		leaving_detach(l);
}

/* Adds all links from number `keep` on. */
static void leaving_add_all(struct leaving *l, const struct file_link *links, unsigned *n,
			    unsigned keep)
{
	while (*n > keep)
		leaving_add(l, links[--*n]);
}

uint64_t files_cookie_of(const struct capture *c, unsigned number)
{
	const struct site *s = &c->sites[number];

	return (uint64_t)s->guard << COOKIE_GUARD_SHIFT |
	       (uint64_t)s->only_categories << COOKIE_CATEGORIES_SHIFT |
	       s->plain_token << COOKIE_DOMAIN_SHIFT | (uint64_t)s->kind << COOKIE_KIND_SHIFT |
	       number;
}

/* Which sites of a file to attach to. */
struct choice {
	bool control, domains;
	bool one;	/* only those of one domain: */
	unsigned guard; /* number of the domain in guard.c; 0: the control site */
};

static bool site_is_chosen(const struct capture *c, const struct site *s,
			   const struct choice *which)
{
	if (!(s->kind >= RECORD_THREAD_NAME ? which->control : which->domains))
		return false;
	return !which->one || (s->guard == which->guard && !guard_is_off(c, s->guard));
}

static struct broker_site make_broker_site(const struct capture *c, unsigned number)
{
	const struct site *s = &c->sites[number];

	return (struct broker_site){ s->offset, s->semaphore_offset, files_cookie_of(c, number) };
}

static unsigned list_sites_of_kind(const struct capture *c, const struct file *file, unsigned kind,
				   struct broker_site *sites)
{
	unsigned i, n = 0;

	for (i = 0; i < file->n_sites; i++) {
		if (c->sites[file->first_site + i].kind == kind)
			sites[n++] = make_broker_site(c, file->first_site + i);
	}
	return n;
}

static int attach_chosen_sites(struct capture *c, struct file *file, pid_t pid,
			       const struct choice *which, struct failure *f)
{
	struct links links = { &file->links, &file->n_links, which->guard, 0 };
	struct broker_site *sites;
	unsigned i, n = 0;
	int error = 0;

	if (!which->control)
		links = (struct links){ &file->data_links, &file->n_data_links, which->guard, 0 };
	sites = calloc(file->n_sites ? file->n_sites : 1, sizeof(*sites));
	if (!sites)
		return failure_set(f, -ENOMEM, "cannot attach", "", NULL);
	/* Sites whose marks come in batches are not attached to. */
	for (i = 0; i < file->n_sites; i++) {
		const struct site *s = &c->sites[file->first_site + i];

		if (!s->batches && s->kind < RECORD_FLUSH && site_is_chosen(c, s, which))
			sites[n++] = make_broker_site(c, file->first_site + i);
	}
	/* Before anything is in buffered mode. */
	if (which->control && !which->guard)
		n += list_sites_of_kind(c, file, RECORD_READ_STRINGS, sites + n);
	/* The semaphores that turn buffered mode on come last. */
	if (which->control && !which->guard && c->options.batching && !file->changes)
		n += list_sites_of_kind(c, file, RECORD_BATCH_ON, sites + n);
	if (n)
		error = files_attach_sites(c, file, links, BROKER_MARKS, pid, sites, n, f);
	free(sites);
	return error;
}

/* USDT probes and functions are attached together with the domains' sites. */
static int attach_file_probes(struct capture *c, struct file *file, pid_t pid, bool control,
			      struct failure *f)
{
	struct links links = { &file->links, &file->n_links, 0, 0 };

	if (!control)
		links = (struct links){ &file->data_links, &file->n_data_links, 0, 0 };
	return probes_attach(c, file, pid, links, f);
}

/*
 * Turns on the domains that are in one mode, by the semaphores of their stubs and with one link, since a program may have
 * hundreds of domains. Their sites in exact mode have no semaphores (steady nops): a mark that has read a semaphore before
 * it changed still comes to where it is expected.
 */
static int turn_mode_on(struct capture *c, struct file *file, pid_t pid, unsigned kind,
			struct failure *f)
{
	const struct links links = { &file->links, &file->n_links, 0, kind };
	struct broker_site *sites = calloc(file->n_sites, sizeof(*sites));
	unsigned i, n = 0;
	int error = 0;

	if (!sites)
		return failure_set(f, -ENOMEM, "cannot attach", "", NULL);
	for (i = file->first_site; i < file->first_site + file->n_sites; i++) {
		const struct site *s = &c->sites[i];

		if (s->kind == kind && !guard_is_off(c, s->guard) &&
		    guard_is_buffered(c, s->guard) == (kind == RECORD_BATCH_ON))
			sites[n++] = make_broker_site(c, i);
	}
	if (n)
		error = files_attach_sites(c, file, links, BROKER_MARKS, pid, sites, n, f);
	free(sites);
	return error;
}

static int turn_domains_on(struct capture *c, struct file *file, pid_t pid, struct failure *f)
{
	if (!file->changes)
		return 0;
	return turn_mode_on(c, file, pid, RECORD_EXACT_ON, f)
		       ?: turn_mode_on(c, file, pid, RECORD_BATCH_ON, f);
}

/*
 * Attaches to the file's control site, or to the sites of its domains, or to both. One link is used
 * for all, or one for each domain if domains may have to be detached one by one.
 */
static int attach_marks(struct capture *c, struct file *file, pid_t pid, bool control, bool domains,
			struct failure *f)
{
	struct choice which = { control, domains, c->options.switches_off, 0 };
	uint64_t begin_ns = monotonic_now(), took_ns;
	int error = attach_chosen_sites(c, file, pid, &which, f);

	while (!error && which.one && ++which.guard < c->guard.n)
		error = attach_chosen_sites(c, file, pid, &which, f);
	error = error ?: turn_domains_on(c, file, pid, f);
	if (!error && domains)
		error = attach_file_probes(c, file, pid, control, f);
	took_ns = monotonic_now() - begin_ns;
	if (took_ns > c->attach_ns)
		c->attach_ns = took_ns;
	return error;
}

static bool file_has_control_sites(const struct capture *c, const struct file *file)
{
	for (unsigned i = 0; i < file->n_sites; i++) {
		unsigned kind = c->sites[file->first_site + i].kind;

		if (kind >= RECORD_THREAD_NAME && kind < RECORD_FLUSH)
			return true;
	}
	return false;
}

/*
 * The site at which batches are handed over. It is attached for all processes and without a
 * semaphore: a child of vfork() hands over a batch of its parent, also with --no-children.
 * Processes that are not recorded never reach it, but a forked child has its breakpoint: under --mode auto, which nobody
 * asked for, --no-children leaves it out, and what such a child of vfork() hands over is counted as lost. A caller who
 * is not root may attach for the process alone. Where the linker has dropped the sites of control, nothing else turns on the
 * semaphore by which a library knows, when it is unloaded, that it must hand over its batches.
 */
static int attach_flush(struct capture *c, struct file *file, pid_t pid, struct failure *f)
{
	const struct links links = { &file->links, &file->n_links, 0, 0 };
	struct broker_site *sites = calloc(file->n_sites ? file->n_sites : 1, sizeof(*sites));
	unsigned n;
	int error = 0;

	if (!sites)
		return failure_set(f, -ENOMEM, "cannot attach", "", NULL);
	if (!c->options.own_links && (c->options.follow_children || !c->options.changing))
		pid = 0;
	n = !pid && file->n_pids ? 0 : list_sites_of_kind(c, file, RECORD_FLUSH, sites);
	for (unsigned i = 0; i < n && file_has_control_sites(c, file); i++)
		sites[i].semaphore_offset = 0;
	if (n)
		error = files_attach_sites(c, file, links, BROKER_FLUSH, pid, sites, n, f);
	free(sites);
	return error;
}

/* The hold points: in the dynamic linker, in the functions that execute a program, and in prctl(). */
static int attach_hold_sites(struct capture *c, struct file *file, pid_t pid, struct failure *f)
{
	const struct links links = { &file->links, &file->n_links, 0, 0 };
	int error = 0;

	file->hold_sites_pending = c->hold_sites_later;
	if (file->hold_sites_pending)
		return 0;
	if (file->n_linker)
		error = files_attach_sites(c, file, links, BROKER_LIBRARIES, pid, file->linker,
					   file->n_linker, f);
	if (!error && file->n_executes && (c->options.follow_children || capture_holds_in_libc(c)))
		error = files_attach_sites(c, file, links, BROKER_EXECUTES, pid, file->executes,
					   file->n_executes, f);
	return error;
}

static int attach_all_sites(struct capture *c, struct file *file, pid_t pid, struct failure *f)
{
	bool scheduled = c->options.schedule.active;
	int error = attach_hold_sites(c, file, pid, f);

	if (!error && c->options.batching)
		error = attach_flush(c, file, pid, f);
	error = error ?: attach_marks(c, file, pid, true, !scheduled, f);
	if (!error && scheduled && !c->waits)
		error = attach_marks(c, file, pid, false, true, f);
	return error;
}

/*
 * Attaches for all processes (pid 0) or for one. It is done completely or not at all, since it may
 * be tried again with another pid.
 */
static int file_attach_all_or_nothing(struct capture *c, struct file *file, pid_t pid,
				      struct failure *f)
{
	struct leaving leaving = { .c = c };
	unsigned before = file->n_links, data_before = file->n_data_links;
	int error = attach_all_sites(c, file, pid, f);

	if (error) {
		leaving_add_all(&leaving, file->links, &file->n_links, before);
		leaving_add_all(&leaving, file->data_links, &file->n_data_links, data_before);
	}
	leaving_detach(&leaving);
	return error;
}

static bool file_attaches_each(const struct capture *c, const struct file *file)
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
	/* It is going to execute a program by which it will be recorded. It is attached to when it has done so. */
	if (error == -EPERM && file->alone)
		return 0;
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

	capture_log(c, file->was_alone ? 1 : 0,
		    "'%s' is attached to for each process by itself: %s", file_path(file, path),
		    f ? f->reason : "refused");
	file_forget_known(c, file);
	file->alone = file->was_alone = true;
}

/* Attaches for this process, unless it is attached already. */
int file_attach(struct capture *c, struct file *file, pid_t pid, struct failure *f)
{
	int error;

	if (capture_attaches_each(c) && !pid)
		return file_attach_all_or_nothing(c, file, 0, f);
	file->alone &= file->n_links || file->n_data_links;
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
	/* The number may have been that of a process whose exit was lost. */
	files_release(c, child);
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

/* A process that had links of its own has ended. The kernel would keep them. */
static void file_release_alone(struct capture *c, struct file *file, pid_t pid)
{
	struct leaving leaving = { .c = c, .later = true };

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
		file_release_alone(c, file, pid);
		pids_remove(file->pids, &file->n_pids, pid);
	}
	files_forget_refusals(c, pid);
}

/*
 * Detaches from a file that was attached to for all processes. attach_alone() attaches to it for each. Marks that come
 * between are missing, so it counts as attached late.
 */
static void file_leave_all(struct leaving *leaving, struct file *file, const struct failure *f)
{
	leaving->c->late += file->n_links || file->n_data_links;
	leaving_add_all(leaving, file->data_links, &file->n_data_links, 0);
	leaving_add_all(leaving, file->links, &file->n_links, 0);
	file_set_alone(leaving->c, file, f);
	leaving->c->files_go_alone = true;
}

static void attach_alone(struct capture *c)
{
	if (!c->files_go_alone)
		return;
	c->files_go_alone = false;
	hash_each (c->processes, p) {
		const struct broker_target target = { p->pid, 0 };
		unsigned marked, fresh;
		struct failure f;

		process_scan(c, &target, &marked, &fresh, &f);
	}
}

typedef int attach_fn(struct capture *c, struct file *file, pid_t pid, struct failure *f);

/* More of a file is attached to, for those who have it already. */
static void attach_more(struct leaving *leaving, struct file *file, attach_fn *attach)
{
	struct capture *c = leaving->c;
	struct failure f = { 0 };
	char path[PATH_MAX];
	int error = file_attaches_each(c, file) ? 0 : attach(c, file, 0, &f);

	if (file_error_is_of_one_process(error)) {
		file_leave_all(leaving, file, &f);
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
	struct leaving leaving = { .c = c };

	hash_each (c->files, file) {
		if (file->hold_sites_pending)
			attach_more(&leaving, file, attach_hold_sites);
	}
	leaving_detach(&leaving);
	attach_alone(c);
}

static void leaving_add_domain(struct leaving *l, struct file_link *links, unsigned *n,
			       unsigned guard)
{
	unsigned i, kept = 0;

	for (i = 0; i < *n; i++) {
		if (links[i].guard == guard)
			leaving_add(l, links[i]);
		else
			links[kept++] = links[i];
	}
	*n = kept;
}

static bool file_has_domain(const struct capture *c, const struct file *file, const bool *domains)
{
	for (unsigned i = file->first_site; i < file->first_site + file->n_sites; i++) {
		if (domains[c->sites[i].guard])
			return true;
	}
	return false;
}

/*
 * Links by which the domains are turned on as they are now take the place of the old ones, which leave in any case: who must
 * not be in buffered mode would be killed by them. Without new ones marks are missing, which is said.
 */
static void turn_anew(struct leaving *leaving, struct file *file)
{
	file->turns = false;
	for (unsigned i = 0; i < file->n_links; i++)
		file->links[i].leaves = file->links[i].turns_on;
	attach_more(leaving, file, turn_domains_on);
}

static void leaving_add_old(struct leaving *l)
{
	hash_each (l->c->files, file) {
		unsigned i, kept = 0;

		for (i = 0; i < file->n_links; i++) {
			if (file->links[i].leaves)
				leaving_add(l, file->links[i]);
			else
				file->links[kept++] = file->links[i];
		}
		file->n_links = kept;
	}
}

static void files_choose_turning(struct capture *c, const bool *domains)
{
	hash_each (c->files, file)
		file->turns |= !file->refused && file->changes && file_has_domain(c, file, domains);
}

bool files_turn_some(struct capture *c)
{
	const uint64_t until_ns = monotonic_now() + TURN_WITHIN_NS;
	struct leaving leaving = { .c = c, .later = true };

	if (!c->files_turn)
		return false;
	hash_each (c->files, file) {
		if (!file->turns)
			continue;
		if (monotonic_now() >= until_ns) {
			leaving_detach(&leaving);
			return true;
		}
		turn_anew(&leaving, file);
	}
	/* All together, since the broker waits for the old ones of the request before. */
	leaving_add_old(&leaving);
	leaving_detach(&leaving);
	c->files_turn = false;
	attach_alone(c);
	return false;
}

/* At once, and with those that have been waiting. */
static void turn_files_anew(struct leaving *leaving, const bool *domains)
{
	files_choose_turning(leaving->c, domains);
	hash_each (leaving->c->files, file) {
		if (file->turns)
			turn_anew(leaving, file);
	}
	leaving_add_old(leaving);
	leaving->c->files_turn = false;
}

void files_detach_domain(struct capture *c, unsigned guard)
{
	struct leaving leaving = { .c = c };
	bool domains[GUARD_DOMAINS] = { 0 };

	domains[guard] = true;
	turn_files_anew(&leaving, domains);
	hash_each (c->files, file) {
		leaving_add_domain(&leaving, file->links, &file->n_links, guard);
		leaving_add_domain(&leaving, file->data_links, &file->n_data_links, guard);
	}
	leaving_detach(&leaving);
	attach_alone(c);
}

void files_change_modes(struct capture *c, const bool *domains)
{
	files_choose_turning(c, domains);
	c->files_turn = true;
	files_turn_some(c);
}

void files_leave_buffers(struct capture *c, const bool *domains)
{
	struct leaving leaving = { .c = c };

	turn_files_anew(&leaving, domains);
	/* The kernel turns the semaphores off at once, and then waits for the thread that is held (bpf/processes/hold.bpf.c). */
	__atomic_store_n(&c->shared->buffers_left_ns, monotonic_now(), __ATOMIC_SEQ_CST);
	leaving_detach(&leaving);
	attach_alone(c);
}

void files_detach_data(struct capture *c)
{
	struct leaving leaving = { .c = c };

	hash_each (c->files, file)
		leaving_add_all(&leaving, file->data_links, &file->n_data_links, 0);
	leaving_detach(&leaving);
}

static int attach_data(struct capture *c, struct file *file, pid_t pid, struct failure *f)
{
	return attach_marks(c, file, pid, false, true, f);
}

void files_attach_data(struct capture *c)
{
	struct leaving leaving = { .c = c };

	hash_each (c->files, file) {
		if (!file->refused && file_has_marks(file) && !file->n_data_links)
			attach_more(&leaving, file, attach_data);
	}
	leaving_detach(&leaving);
	attach_alone(c);
}

void file_detach(struct capture *c, struct file *file)
{
	struct leaving leaving = { .c = c };

	leaving_add_all(&leaving, file->data_links, &file->n_data_links, 0);
	leaving_add_all(&leaving, file->links, &file->n_links, 0);
	leaving_detach(&leaving);
}

void files_detach(struct capture *c)
{
	struct leaving leaving = { .c = c };

	hash_each (c->files, file) {
		leaving_add_all(&leaving, file->data_links, &file->n_data_links, 0);
		leaving_add_all(&leaving, file->links, &file->n_links, 0);
	}
	leaving_detach(&leaving);
}
