/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attaches to the sites of a file, by requests to the broker. A file with markers is attached to for all processes at once,
 * and the BPF programs know which of them are traced. If children are not followed, or if the caller is not root, it is
 * attached to for each process; also if the kernel refuses all processes because of one of them (each_process.c).
 */
#include "capture/attach/internal.h"

#include <errno.h>
#include <stdlib.h>

#include "capture/file_limits.h"
#include "capture/probes/probes.h"
#include "proftrace.skel.h"

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
	all[(*to.n)++] = (struct file_link){
		link, to.guard, to.turns_on, pid, false, program == BROKER_FLUSH && !pid,
	};
	return 0;
}

uint64_t files_cookie_of(const struct capture *c, unsigned number)
{
	const struct site *s = &c->sites[number];

	return (uint64_t)s->guard << COOKIE_GUARD_SHIFT |
	       (uint64_t)s->only_categories << COOKIE_CATEGORIES_SHIFT |
	       s->plain_token << COOKIE_DOMAIN_SHIFT | (uint64_t)s->kind << COOKIE_KIND_SHIFT |
	       number;
}

uint64_t files_cookie_of_pid(pid_t pid)
{
	return pid ? COOKIE_OF_PROCESS : 0;
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

static struct broker_site make_broker_site(const struct capture *c, unsigned number, pid_t pid)
{
	const struct site *s = &c->sites[number];

	return (struct broker_site){ s->offset, s->semaphore_offset,
				     files_cookie_of(c, number) | files_cookie_of_pid(pid) };
}

static unsigned list_sites_of_kind(const struct capture *c, const struct file *file, unsigned kind,
				   pid_t pid, struct broker_site *sites)
{
	unsigned i, n = 0;

	for (i = 0; i < file->n_sites; i++) {
		if (c->sites[file->first_site + i].kind == kind)
			sites[n++] = make_broker_site(c, file->first_site + i, pid);
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
			sites[n++] = make_broker_site(c, file->first_site + i, pid);
	}
	/* Before anything is in buffered mode. */
	if (which->control && !which->guard)
		n += list_sites_of_kind(c, file, RECORD_READ_STRINGS, pid, sites + n);
	/* The semaphores that turn buffered mode on come last. */
	if (which->control && !which->guard && c->options.batching && !file->changes)
		n += list_sites_of_kind(c, file, RECORD_BATCH_ON, pid, sites + n);
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
			sites[n++] = make_broker_site(c, i, pid);
	}
	if (n)
		error = files_attach_sites(c, file, links, BROKER_MARKS, pid, sites, n, f);
	free(sites);
	return error;
}

int turn_domains_on(struct capture *c, struct file *file, pid_t pid, struct failure *f)
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
int attach_marks(struct capture *c, struct file *file, pid_t pid, bool control, bool domains,
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

static bool file_has_flush(const struct file *file)
{
	for (unsigned i = 0; i < file->n_links; i++) {
		if (file->links[i].flushes)
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
	n = !pid && file_has_flush(file) ? 0
					 : list_sites_of_kind(c, file, RECORD_FLUSH, pid, sites);
	for (unsigned i = 0; i < n && file_has_control_sites(c, file); i++)
		sites[i].semaphore_offset = 0;
	if (n)
		error = files_attach_sites(c, file, links, BROKER_FLUSH, pid, sites, n, f);
	free(sites);
	return error;
}

/* The hold points: in the dynamic linker, in the functions that execute a program, and in prctl(). */
int attach_hold_sites(struct capture *c, struct file *file, pid_t pid, struct failure *f)
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
int file_attach_all_or_nothing(struct capture *c, struct file *file, pid_t pid, struct failure *f)
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
