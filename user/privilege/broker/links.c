/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of links (links.h): adding and closing a link, and the links of a process that starts, forks, executes a
 * program or exits. All limits on links and descriptors are checked here, because the recorder that requests them may
 * have been taken over.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "privilege/broker/closing.h"
#include "privilege/broker/server.h"
#include "proftrace.skel.h"

/* Twice what an honest recorder asks for: see capture/file_limits.c and capture/probes/probes.c. */
#define LINKS_MOST     4096
#define SITES_MOST     (1u << 20)
#define PROCESSES_MOST 8192
/* Descriptors for requests, for files that are attached to for each process, and for what is closed later. */
#define DESCRIPTORS_KEPT 96
/*
 * Of the descriptors for sites, functions and existing probes leave so many to markers and hold points of files that are mapped
 * later.
 */
#define DESCRIPTORS_OF_OURS 128
#define NO_DESCRIPTORS	    "too many open files: each site takes one on kernels before 6.6"
#define SLOWS_OTHERS	    "too many sites in files of others"
#define HOLDS_SLOW_OTHERS   "too many processes with hold points in files of others"
/*
 * How often a program may be at one site for a process: of ours once, and once more for each number of a device that its
 * file has; of others' and of functions once for each request of the user's (-u). Links of other processes do not run theirs
 * for it; there are LINKS_MOST of them at most, and recorded processes alone have any.
 */
#define OURS_MOST   4
#define OTHERS_MOST 64

struct links *links_new(struct closers *closers)
{
	struct links *links = calloc(1, sizeof(*links));

	if (!links)
		return NULL;
	links->closers = closers;
	links->most_sites = SITES_MOST;
	links->most_foreign = UINT32_MAX;
	links->most_foreign_holds = UINT32_MAX;
	pthread_mutex_init(&links->lock, NULL);
	return links;
}

static int link_compare_offsets(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

void links_limit_sites(struct links *links)
{
	/* The lowest free one: about as many are open. */
	int open = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
	struct rlimit files;
	rlim_t kept = DESCRIPTORS_KEPT + (rlim_t)(open < 0 ? 0 : open);

	if (open >= 0)
		close(open);
	if (getrlimit(RLIMIT_NOFILE, &files))
		return;
	files.rlim_cur -= files.rlim_cur < kept ? files.rlim_cur : kept;
	if (files.rlim_cur < links->most_sites)
		links->most_sites = (uint32_t)files.rlim_cur;
}

static bool links_are_of_others(const struct link_sites *of)
{
	return of->program == BROKER_USDT || of->program == BROKER_FUNCTIONS ||
	       of->program == BROKER_RETURNS;
}

static bool links_are_holds(const struct link_sites *of)
{
	return of->program == BROKER_LIBRARIES || of->program == BROKER_EXECUTES;
}

int link_sites_init(struct link_sites *of, int elf_fd, enum broker_program program,
		    const struct broker_site *sites, unsigned n, bool keep)
{
	struct stat st;
	unsigned i;

	if (fstat(elf_fd, &st))
		return -errno;
	/* Reading anything else may wait for somebody. */
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	*of = (struct link_sites){
		.device = st.st_dev, .inode = st.st_ino, .program = program, .n = n, .elf_fd = -1
	};
	/* An overlay shows the owner of its metadata, and the kernel attaches to a file that may be somebody else's. */
	of->foreign = (links_are_of_others(of) || links_are_holds(of)) &&
		      (st.st_uid != getuid() || file_has_layers(elf_fd));
	/* Markers and existing probes are nops, which are decoded alike everywhere. */
	if (program != BROKER_MARKS && program != BROKER_FLUSH && program != BROKER_USDT)
		of->n_decoded = sites_decoded(elf_fd, sites, n);
	of->offsets = malloc(n * sizeof(*of->offsets));
	if (!of->offsets)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		of->offsets[i] = sites[i].offset;
	qsort(of->offsets, n, sizeof(*of->offsets), link_compare_offsets);
	if (!keep)
		return 0;
	of->sites = malloc(n * sizeof(*sites));
	of->elf_fd = fcntl(elf_fd, F_DUPFD_CLOEXEC, 0);
	if (!of->sites || of->elf_fd < 0) {
		link_sites_free(of);
		return -ENOMEM;
	}
	memcpy(of->sites, sites, n * sizeof(*sites));
	return 0;
}

void link_sites_free(struct link_sites *of)
{
	free(of->offsets);
	free(of->sites);
	if (of->elf_fd >= 0)
		close(of->elf_fd);
	*of = (struct link_sites){ .elf_fd = -1 };
}

static unsigned link_count_offset(const struct link_sites *of, uint64_t offset)
{
	unsigned low = 0, high = of->n, n = 0;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;

		if (of->offsets[middle] < offset)
			low = middle + 1;
		else
			high = middle;
	}
	while (low + n < of->n && of->offsets[low + n] == offset)
		n++;
	return n;
}

/* Of the same program at the same file, with an offset in common perhaps. */
static bool link_may_share(const struct link *link, const struct link_sites *of)
{
	const struct link_sites *other = &link->of;

	return link->used && other->program == of->program && other->inode == of->inode &&
	       other->device == of->device && other->offsets[0] <= of->offsets[of->n - 1] &&
	       of->offsets[0] <= other->offsets[other->n - 1];
}

/* What is kept, to attach there again, may get members of other processes. */
static pid_t link_pid(const struct link_sites *of, pid_t pid)
{
	return of->sites ? 0 : pid;
}

/* Whether a process may have both; 0: for all processes, or for several. */
static bool link_is_for(const struct link *link, pid_t pid)
{
	return !link->pid || !pid || link->pid == pid;
}

static bool links_too_often(const struct links *links, const struct link_sites *of, pid_t pid)
{
	bool others = links_are_of_others(of);
	unsigned *times = calloc(of->n, sizeof(*times)), i;
	bool found = !times;
	uint32_t j;

	for (i = 0; i < of->n && !found; i += times[i]) {
		times[i] = link_count_offset(of, of->offsets[i]);
		found = times[i] > (others ? OTHERS_MOST : 1);
	}
	for (j = 0; j < links->n && !found; j++) {
		if (!link_may_share(&links->list[j], of) ||
		    !link_is_for(&links->list[j], link_pid(of, pid)))
			continue;
		for (i = 0; i < of->n && !found; i++) {
			/* 0: the same again as the one before it. */
			if (times[i])
				times[i] += link_count_offset(&links->list[j].of, of->offsets[i]);
			found = times[i] > (others ? OTHERS_MOST : OURS_MOST);
		}
	}
	free(times);
	return found;
}

/* Numbers are used again. Returns NULL when there are too many, or no memory. */
static struct link *links_free_number(struct links *links)
{
	uint32_t i, capacity = links->capacity ? 2 * links->capacity : 64;
	struct link *grown;

	for (i = 0; i < links->n; i++) {
		if (!links->list[i].used)
			return &links->list[i];
	}
	if (links->n >= LINKS_MOST)
		return NULL;
	if (links->n == links->capacity) {
		grown = realloc(links->list, capacity * sizeof(*grown));
		if (!grown)
			return NULL;
		links->list = grown;
		links->capacity = capacity;
	}
	links->list[links->n] = (struct link){ 0 };
	return &links->list[links->n++];
}

/*
 * The same sites of the same file, with the same cookies; NULL: there is none that may have several members. What counts as a
 * file of others is the same for all members: a file and one that an overlay shows can have the same numbers.
 */
static struct link *links_find(const struct links *links, const struct link_sites *of)
{
	uint32_t i;

	for (i = 0; of->sites && i < links->n; i++) {
		struct link *link = &links->list[i];

		if (link_may_share(link, of) && link->of.sites && link->of.n == of->n &&
		    link->of.foreign == of->foreign &&
		    !memcmp(link->of.sites, of->sites, of->n * sizeof(*of->sites)))
			return link;
	}
	return NULL;
}

/* --- processes ----------------------------------------------------------------------------------- */

struct process *links_process(const struct links *links, pid_t pid)
{
	struct process *p;

	HASH_FIND_INT(links->processes, &pid, p);
	return p;
}

struct process *links_process_new(struct links *links, pid_t pid)
{
	struct process *p = NULL;

	if (HASH_COUNT(links->processes) < PROCESSES_MOST)
		p = hash_add_new(hh, links->processes, pid, pid);
	if (p)
		p->since_ns = clock_ns(CLOCK_MONOTONIC);
	return p;
}

static bool process_has(const struct process *p, uint32_t number)
{
	const struct member *m;

	for (m = p->members; m; m = m->next) {
		if (m->link == number && !m->installs)
			return true;
	}
	return false;
}

struct member *member_new(uint32_t number, unsigned most)
{
	struct member *m = malloc(sizeof(*m) + most * sizeof(m->fds[0]));

	if (m)
		*m = (struct member){ .link = number };
	return m;
}

static uint32_t *links_foreign(struct links *links, const struct link_sites *of)
{
	return links_are_holds(of) ? &links->n_foreign_holds : &links->n_foreign;
}

/*
 * What only installs breakpoints slows nobody down: at the same sites are programs already. Nor does what decodes, which is for
 * the broker alone.
 */
static void links_count_sites(struct links *links, const struct link_sites *of, bool installs,
			      bool decodes)
{
	links->n_sites += of->n + (decodes ? of->n_decoded : 0);
	*links_foreign(links, of) += of->foreign && !installs ? of->n : 0;
}

static void links_uncount_sites(struct links *links, const struct link_sites *of, bool installs,
				bool decodes)
{
	links->n_sites -= of->n + (decodes ? of->n_decoded : 0);
	*links_foreign(links, of) -= of->foreign && !installs ? of->n : 0;
}

static void process_add_member(struct links *links, struct process *p, struct member *m)
{
	m->next = p->members;
	p->members = m;
	links->list[m->link].n_members++;
	links_count_sites(links, &links->list[m->link].of, m->installs, m->decodes);
}

/* It is closed when the table is not locked any more. */
static void links_uncount_member(struct links *links, const struct member *m)
{
	links->list[m->link].n_members--;
	links_uncount_sites(links, &links->list[m->link].of, m->installs, m->decodes);
}

struct member *links_process_remove(struct links *links, struct process *p)
{
	struct member *list = p->members, *m;

	for (m = list; m; m = m->next)
		links_uncount_member(links, m);
	HASH_DEL(links->processes, p);
	free(p);
	return list;
}

void links_end(struct links *links)
{
	__atomic_store_n(&links->ends, true, __ATOMIC_RELEASE);
}

bool links_ended(const struct links *links)
{
	return __atomic_load_n(&links->ends, __ATOMIC_ACQUIRE);
}

static bool links_have_space(const struct links *links, unsigned n)
{
	return (uint64_t)links->n_sites + n <= links->most_sites;
}

static bool links_slow_others(struct links *links, const struct link_sites *of)
{
	uint32_t most = links_are_holds(of) ? links->most_foreign_holds : links->most_foreign;

	return of->foreign && (uint64_t)*links_foreign(links, of) + of->n > most;
}

/* --- attaching as another process is ---------------------------------------------------------------- */

static int process_attach(struct links *links, const struct loaded_programs *programs,
			  struct process *p, uint32_t number, bool installs)
{
	const struct link_sites *of = &links->list[number].of;
	int program = installs ? programs->empty_fd : programs->program_fds[of->program], error = 0;
	/* In layers, members that were attached to with another file may be of that one (st_dev and st_ino are equal). */
	const bool decodes = !links->list[number].n_members || file_has_layers(of->elf_fd);
	unsigned n = 0;
	struct member *m;

	if (links_ended(links))
		return -ECANCELED;
	if (!links_have_space(links, of->n + (decodes ? of->n_decoded : 0)) ||
	    (!installs && links_slow_others(links, of)))
		return -EMFILE;
	m = member_new(number, (LINKS_TO_DECODE + 1) * links_most(programs, of->n));
	if (!m)
		return -ENOMEM;
	m->installs = installs;
	m->decodes = decodes;
	if (decodes)
		error = sites_decode(programs, of->elf_fd, of->sites, of->n, m->fds, &m->n);
	if (!error)
		error = links_create(programs, program, p->pid, true, of->elf_fd, of->sites, of->n,
				     m->fds + m->n, &n);
	m->n += n;
	if (!error) {
		process_add_member(links, p, m);
	} else if (m->n) {
		m->next = links->partial;
		links->partial = m;
	} else {
		free(m);
	}
	return error;
}

struct member *links_unlink_partial(struct links *links)
{
	struct member *list = links->partial;

	links->partial = NULL;
	return list;
}

/* Attaches for the process what is in a list of members, of hold points or of all others. Returns the first error. */
static int process_attach_list(struct links *links, const struct loaded_programs *programs,
			       struct process *p, const struct member *list, bool holds,
			       bool installs)
{
	int error = 0;

	for (; list; list = list->next) {
		int failed;

		if (list->installs || links_are_holds(&links->list[list->link].of) != holds ||
		    (!installs && process_has(p, list->link)))
			continue;
		failed = process_attach(links, programs, p, list->link, installs);
		error = error ? error : failed;
	}
	return error;
}

int links_inherit(struct links *links, const struct loaded_programs *programs, struct process *p,
		  const struct process *parent)
{
	int error, failed;

	error = process_attach_list(links, programs, p, parent->members, false, false);
	failed = process_attach_list(links, programs, p, parent->members, true, false);
	return error ? error : failed;
}

/* Takes those from a process that installed breakpoints; or all of them, before Linux 6.6, which belong to nobody. */
static struct member *process_unlink_old(struct links *links, struct process *p, bool all)
{
	struct member *old = NULL, **at = &p->members, *m;

	while ((m = *at)) {
		if (!all && !m->installs) {
			at = &m->next;
			continue;
		}
		links_uncount_member(links, m);
		*at = m->next;
		m->next = old;
		old = m;
	}
	return old;
}

/* Hold points come first: the new program has yet to load its libraries. */
int links_renew(struct links *links, const struct loaded_programs *programs, struct process *p,
		struct member **ret_old)
{
	bool installs = programs->uprobe_multi;
	const struct member *list;
	int error, failed;

	*ret_old = process_unlink_old(links, p, !installs);
	list = installs ? p->members : *ret_old;
	error = process_attach_list(links, programs, p, list, true, installs);
	failed = process_attach_list(links, programs, p, list, false, installs);
	return error ? error : failed;
}

int links_attach_all(struct links *links, const struct loaded_programs *programs, struct process *p)
{
	int error = 0;
	uint32_t i;

	for (i = 0; i < links->n; i++) {
		int failed = 0;

		if (links->list[i].used && links->list[i].of.sites && !process_has(p, i))
			failed = process_attach(links, programs, p, i, false);
		error = error ? error : failed;
	}
	return error;
}

static bool process_wants(const struct links *links, const struct process *p, uint32_t number)
{
	const struct process *parent = p->parent ? links_process(links, p->parent) : NULL;

	return parent && process_has(parent, number) && !process_has(p, number);
}

/* A process that has ended lacks nothing. The others are counted once, however many files they are not recorded in. */
static bool process_gets(struct links *links, const struct loaded_programs *programs,
			 struct process *p, uint32_t number)
{
	int error = process_attach(links, programs, p, number, false);

	if (!error)
		return true;
	if (!p->lacks && error != -ESRCH && error != -ECANCELED) {
		p->lacks = true;
		__atomic_fetch_add(&programs->shared->account[0][ACCOUNT_PROCESSES], 1,
				   __ATOMIC_RELAXED);
	}
	return false;
}

/* Until no child is left whose parent has it: a process that cannot get it is left out. */
static void links_spread(struct links *links, const struct loaded_programs *programs,
			 uint32_t number)
{
	bool more = true;

	while (more) {
		more = false;
		hash_each (links->processes, p)
			more |= process_wants(links, p, number) &&
				process_gets(links, programs, p, number);
	}
}

/* --- requests ---------------------------------------------------------------------------------------- */

bool links_has(struct links *links, const struct link_sites *of, pid_t pid, uint32_t *ret_link)
{
	const struct process *p;
	const struct link *link;
	bool has;

	pthread_mutex_lock(&links->lock);
	link = links_find(links, of);
	p = links_process(links, pid);
	has = link && p && process_has(p, (uint32_t)(link - links->list));
	if (has)
		*ret_link = (uint32_t)(link - links->list);
	pthread_mutex_unlock(&links->lock);
	return has;
}

int links_may_add(struct links *links, const struct link_sites *of, pid_t pid, struct failure *f)
{
	bool limited = links->most_sites < SITES_MOST;
	unsigned kept = limited && links_are_of_others(of) ? DESCRIPTORS_OF_OURS : 0;
	const char *reason = NULL;
	int error = -EMFILE;

	pthread_mutex_lock(&links->lock);
	if (!links_process(links, pid) && !links_process_new(links, pid)) {
		reason = "it is attached to too many processes";
	} else if (!links_have_space(links, of->n + of->n_decoded + kept)) {
		reason = limited ? NO_DESCRIPTORS : "it is attached to too many sites";
	} else if (links_slow_others(links, of)) {
		reason = links_are_holds(of) ? HOLDS_SLOW_OTHERS : SLOWS_OTHERS;
	} else if (!links_find(links, of)) {
		if (!links_free_number(links))
			reason = "it is attached to too many sites";
		else if (links_too_often(links, of, pid)) {
			reason = "it is attached to a site of these already";
			error = -EEXIST;
		}
	}
	if (!reason)
		links_count_sites(links, of, false, true);
	pthread_mutex_unlock(&links->lock);
	if (!reason)
		return 0;
	failure_set(f, error, "refused to attach", "", reason);
	if (!strcmp(reason, NO_DESCRIPTORS))
		failure_hint(f, "raise the limit on open files (`ulimit -Hn`), or select fewer "
				"functions and probes");
	if (!strcmp(reason, SLOWS_OTHERS))
		failure_hint(f,
			     "narrow the patterns of -f and -u, or run proftrace with sudo: "
			     "without root at most %d sites, counted once for each process, "
			     "may be in files of other users, because they slow down everybody "
			     "who executes these files",
			     OWN_MOST_FOREIGN);
	if (!strcmp(reason, HOLDS_SLOW_OTHERS))
		failure_hint(f,
			     "record fewer processes, or run proftrace with sudo: without root at "
			     "most %d hold points, five to ten for each process, may be in files "
			     "of other users, because they slow down everybody who executes these "
			     "files",
			     OWN_MOST_FOREIGN_HOLDS);
	return error;
}

void links_give_back(struct links *links, const struct link_sites *of)
{
	pthread_mutex_lock(&links->lock);
	links_uncount_sites(links, of, false, true);
	pthread_mutex_unlock(&links->lock);
}

/* The process may have ended meanwhile, and be forgotten. */
static int links_add_locked(struct links *links, struct link_sites *of, pid_t pid, struct member *m)
{
	struct process *p = links_process(links, pid);
	struct link *link = p ? links_find(links, of) : NULL;

	if (!p)
		return -ESRCH;
	if (!link) {
		link = links_free_number(links);
		if (!link)
			return -ENOMEM;
		*link = (struct link){ .used = true, .pid = link_pid(of, pid), .of = *of };
		*of = (struct link_sites){ .elf_fd = -1 };
	}
	m->link = (uint32_t)(link - links->list);
	process_add_member(links, p, m);
	return 0;
}

int links_add(struct links *links, const struct loaded_programs *programs, struct link_sites *of,
	      pid_t pid, const int *fds, unsigned n, uint32_t *ret_link)
{
	struct member *m = member_new(0, n);
	bool keeps = of->sites != NULL;
	struct member *partial;
	int error = -ENOMEM;

	pthread_mutex_lock(&links->lock);
	/* Its member counts instead. */
	links_uncount_sites(links, of, false, true);
	if (m) {
		m->n = n;
		m->decodes = true;
		memcpy(m->fds, fds, n * sizeof(*fds));
		error = links_add_locked(links, of, pid, m);
	}
	if (!error)
		*ret_link = m->link;
	if (!error && keeps)
		links_spread(links, programs, m->link);
	partial = links_unlink_partial(links);
	pthread_mutex_unlock(&links->lock);
	members_close(links->closers, partial);
	if (!error)
		return 0;
	free(m);
	links_drop(links->closers, fds, n);
	return error;
}

/* Takes the members of links that are being closed from their processes. */
static struct member *links_unlink_closing(struct links *links)
{
	struct member *list = NULL, **at, *m;

	hash_each (links->processes, p) {
		for (at = &p->members; (m = *at);) {
			if (!links->list[m->link].closing) {
				at = &m->next;
				continue;
			}
			links_uncount_member(links, m);
			*at = m->next;
			m->next = list;
			list = m;
		}
	}
	return list;
}

int links_close(struct links *links, const uint32_t *numbers, unsigned n, bool later)
{
	struct member *list;
	int error = 0;
	uint32_t i;

	pthread_mutex_lock(&links->lock);
	for (i = 0; i < n; i++) {
		uint32_t number = numbers ? numbers[i] : i;

		if (number < links->n && links->list[number].used && !links->list[number].closing)
			links->list[number].closing = true;
		else
			error = -ENOENT;
	}
	list = links_unlink_closing(links);
	for (i = 0; i < links->n; i++) {
		if (!links->list[i].closing)
			continue;
		link_sites_free(&links->list[i].of);
		links->list[i] = (struct link){ .of = { .elf_fd = -1 } };
	}
	pthread_mutex_unlock(&links->lock);
	if (later) {
		members_close_later(links->closers, list);
	} else {
		members_close(links->closers, list);
		/* Also what this domain had in its other mode: the recorder drains and counts afterwards. */
		members_wait(links->closers);
	}
	return error;
}

void links_close_all(struct links *links)
{
	links_close(links, NULL, links->n, false);
}

void links_forget(struct links *links, pid_t pid)
{
	struct member *list = NULL;
	struct process *p;

	pthread_mutex_lock(&links->lock);
	p = links_process(links, pid);
	if (p)
		list = links_process_remove(links, p);
	pthread_mutex_unlock(&links->lock);
	members_close(links->closers, list);
}
