/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What changes while files are attached to: domains go over to another mode or are turned off, a schedule turns all of them on
 * and off, and in the end all links are closed.
 */
#include "capture/attach/internal.h"

#include <errno.h>

#include "proftrace.skel.h"

/* for going over to another mode, before something else that may wait */
#define TURN_WITHIN_NS 20000000ull

void leaving_detach(struct leaving *l)
{
	if (!l->n)
		return;
	broker_detach(l->c->broker, l->links, l->n, l->later);
	l->c->counts.detaches++;
	l->c->n_links -= l->n;
	l->n = 0;
}

void leaving_add(struct leaving *l, struct file_link link)
{
	l->links[l->n++] = link.link;
	if (l->n == BROKER_MAX_SITES)
		leaving_detach(l);
}

void leaving_add_all(struct leaving *l, const struct file_link *links, unsigned *n, unsigned keep)
{
	while (*n > keep)
		leaving_add(l, links[--*n]);
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
static void turn_anew(struct capture *c, struct file *file)
{
	file->turns = false;
	for (unsigned i = 0; i < file->n_links; i++)
		file->links[i].leaves = file->links[i].turns_on;
	attach_more(c, file, turn_domains_on);
}

/* Where processes are going to have links of their own, the old ones wait for these, unless they must leave at once. */
static void leaving_add_old(struct leaving *l, bool at_once)
{
	hash_each (l->c->files, file) {
		unsigned i, kept = 0;

		if (file->goes_alone && !at_once)
			continue;
		/* Nothing turns its domains on until then. */
		l->c->late += file->goes_alone;
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
		turn_anew(c, file);
	}
	/* All together, since the broker waits for the old ones of the request before. */
	leaving_add_old(&leaving, false);
	leaving_detach(&leaving);
	c->files_turn = false;
	attach_alone(c);
	return false;
}

/* At once, and with those that have been waiting. */
static void turn_files_anew(struct leaving *leaving, const bool *domains, bool at_once)
{
	files_choose_turning(leaving->c, domains);
	hash_each (leaving->c->files, file) {
		if (file->turns)
			turn_anew(leaving->c, file);
	}
	leaving_add_old(leaving, at_once);
	leaving->c->files_turn = false;
}

void files_detach_domain(struct capture *c, unsigned guard)
{
	struct leaving leaving = { .c = c };
	bool domains[GUARD_DOMAINS] = { 0 };

	domains[guard] = true;
	turn_files_anew(&leaving, domains, false);
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

	turn_files_anew(&leaving, domains, true);
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
	hash_each (c->files, file) {
		if (!file->refused && file_has_marks(file) && !file->n_data_links)
			attach_more(c, file, attach_data);
	}
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
