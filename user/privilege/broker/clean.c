/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The thread that closes links of processes which have ended, and cleans what inherited breakpoints.
 *
 * Both wait for grace periods of RCU (closing.c), in which nobody else shall have to wait.
 *
 * To clean: when a consumer of a uprobe goes, the kernel walks all mappings of the file and removes the breakpoint
 * wherever no other consumer wants it. A link for a process without an address space (a zombie: that of trial.h, which is
 * never waited for) wants it nowhere, so making and closing one cleans all that inherited breakpoints and have no link of their own. Perf events, which
 * stand in for these links before Linux 6.6, are cleaned from children by the kernel itself.
 *
 * One pass cleans for all that asked before it began. What fails is tried again until it succeeds: a descriptor or
 * memory may be missing until other links are closed.
 */
#include "privilege/broker/clean.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "privilege/broker/closing.h"
#include "privilege/broker/server.h"

#define RETRY_MS 20

struct cleaner {
	struct links *links;
	const struct loaded_programs *programs;
	pid_t zombie;
	pthread_t thread;
	bool running;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct member *closing;
	bool dirty, ends;
};

struct cleaner *cleaner_new(struct links *links, const struct loaded_programs *programs,
			    pid_t zombie)
{
	struct cleaner *c = calloc(1, sizeof(*c));
	pthread_condattr_t attr;

	if (!c)
		return NULL;
	c->links = links;
	c->programs = programs;
	pthread_mutex_init(&c->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&c->changed, &attr);
	pthread_condattr_destroy(&attr);
	c->zombie = zombie;
	return c;
}

/* Returns a link of the zombie to these sites, or NULL; or both with *ret_error. The table is only locked for one at a time. */
static struct member *clean_link(struct cleaner *c, uint32_t number, int *ret_error)
{
	const struct link *link;
	struct member *m = NULL;

	pthread_mutex_lock(&c->links->lock);
	link = number < c->links->n ? &c->links->list[number] : NULL;
	if (link && link->used && link->of.sites) {
		m = member_new(number, links_most(c->programs, link->of.n));
		*ret_error = -ENOMEM;
	}
	if (m)
		*ret_error = links_create(c->programs, c->programs->program_fds[link->of.program],
					  c->zombie, false, link->of.elf_fd, link->of.sites,
					  link->of.n, m->fds, &m->n);
	pthread_mutex_unlock(&c->links->lock);
	return m;
}

/* Returns whether all could be cleaned. */
static bool clean_all(struct cleaner *c)
{
	struct member *list = NULL;
	uint32_t i, n;
	int error = 0;

	pthread_mutex_lock(&c->links->lock);
	n = c->links->n;
	pthread_mutex_unlock(&c->links->lock);
	for (i = 0; i < n; i++) {
		int failed = 0;
		struct member *m = clean_link(c, i, &failed);

		error = error ? error : failed;
		if (!m)
			continue;
		m->next = list;
		list = m;
	}
	members_close(c->links->closers, list);
	return !error;
}

/* Waits for something to do, or for a while. Returns false when it is to end, and nothing is left. */
static bool cleaner_wait(struct cleaner *c, bool again, struct member **ret_closing,
			 bool *ret_dirty)
{
	struct timespec until;
	bool more;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += RETRY_MS * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&c->lock);
	while (!c->closing && !c->dirty && !c->ends) {
		if (!again)
			pthread_cond_wait(&c->changed, &c->lock);
		else if (pthread_cond_timedwait(&c->changed, &c->lock, &until))
			break;
	}
	*ret_closing = c->closing;
	*ret_dirty = c->dirty || (again && !c->ends);
	more = !c->ends || c->closing;
	c->closing = NULL;
	c->dirty = false;
	pthread_mutex_unlock(&c->lock);
	return more;
}

static void *cleaner_run(void *context)
{
	struct cleaner *c = context;
	struct member *closing;
	bool dirty, again = false;

	while (cleaner_wait(c, again, &closing, &dirty)) {
		/*
		 * In this order: a link that is closed while its process maps files leaves a semaphore counted up now
		 * and then (2 of 100 times on 6.18), which the kernel finds when it cleans.
		 */
		members_close(c->links->closers, closing);
		again = dirty && c->programs->uprobe_multi && !clean_all(c);
	}
	return NULL;
}

int cleaner_start(struct cleaner *c)
{
	int error = pthread_create(&c->thread, NULL, cleaner_run, c);

	c->running = !error;
	return -error;
}

void cleaner_close(struct cleaner *c, struct member *list, bool clean)
{
	struct member **end = &list;

	while (*end)
		end = &(*end)->next;
	pthread_mutex_lock(&c->lock);
	*end = c->closing;
	c->closing = list;
	c->dirty |= clean;
	pthread_cond_signal(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

void cleaner_stop(struct cleaner *c)
{
	pthread_mutex_lock(&c->lock);
	c->ends = true;
	pthread_cond_signal(&c->changed);
	pthread_mutex_unlock(&c->lock);
	if (c->running)
		pthread_join(c->thread, NULL);
}
