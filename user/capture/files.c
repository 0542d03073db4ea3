/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files that traced processes have mapped: each is looked at once, however many processes map it.
 * What holds markers is attached to for all processes at once (the BPF program knows which ones are
 * traced), or, when children are not followed, for one process after the other.
 */
#include "capture/batch.h"
#include "capture/file_limits.h"
#include "capture/probes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_KEY_SIZE (sizeof(uint64_t) * 2)

static struct file *find(struct capture *c, uint64_t device, uint64_t inode)
{
	const uint64_t key[2] = { device, inode };
	struct file *file;

	HASH_FIND(hh, c->files, key, sizeof(key), file);
	return file;
}

/* Whether there is anything in it that marks, but for the control site. */
static bool marks(const struct file *file)
{
	return file->n_domain_sites || file->n_probes;
}

const struct file *files_find(struct capture *c, uint64_t device, uint64_t inode)
{
	return find(c, device, inode);
}

static bool wanted(const struct file *file)
{
	return file->n_sites || file->n_probes || file->linker.offset || file->n_executes;
}

struct site *site_new(struct capture *c)
{
	if (c->n_sites == c->sites_room) {
		unsigned room = c->sites_room ? 2 * c->sites_room : 256;
		struct site *sites = realloc(c->sites, room * sizeof(*sites));

		if (!sites)
			return NULL;
		c->sites = sites;
		c->sites_room = room;
	}
	return &c->sites[c->n_sites++];
}

/* The optimised door, where the trial found it right and the file has it. */
static bool fast(const struct capture *c, const struct marker_site *m)
{
	return c->loaded.fast_door && m->fast_offset;
}

/* Names are numbered from 1, in the order of their first use: domains have low numbers. */
static uint64_t plain_token(const struct site *s)
{
	return s->category ? 1 + s->category->id % (PLAIN_TOKENS - 1) : 0;
}

/*
 * Where batches of this file are handed over. Otherwise why there are none: it has markers that cannot
 * be in any, or what is in them is laid out as we do not know it.
 */
static const char *find_flush(struct file *file)
{
	const struct marker_site *flush = NULL;
	bool all = true, room = false;
	unsigned i;

	for (i = 0; i < file->sites.n; i++) {
		const struct marker_site *m = &file->sites.sites[i];

		if (m->kind == RECORD_FLUSH)
			flush = m;
		all &= m->kind >= RECORD_THREAD_NAME || m->flags & MARKERS_CAN_BATCH;
		room |= m->kind == RECORD_BATCH_ROOM;
	}
	if (!all || !flush || !room || flush->layout < BATCH_VERSION)
		return "an older";
	if (flush->layout > BATCH_VERSION)
		return "a newer";
	file->flush_stub = flush->stub;
	file->batch_list = flush->list;
	return NULL;
}

static int select_sites(struct capture *c, struct file *file)
{
	unsigned i, pass;

	file->first_site = c->n_sites;
	/*
	 * The kernel attaches them in this order. Should marks come in between, an END without its
	 * BEGIN is merely cut, while a BEGIN without its END would stay open: so BEGINs go last.
	 */
	for (pass = 0; pass < 2; pass++) {
		for (i = 0; i < file->sites.n; i++) {
			const struct marker_site *m = &file->sites.sites[i];
			bool batches = c->options.batching && m->kind < RECORD_THREAD_NAME;
			bool control =
				m->kind >= RECORD_THREAD_NAME && m->kind != RECORD_BATCH_SWITCH;
			enum selection selection = SELECTED;
			struct site *s;

			if ((m->kind == RECORD_BEGIN) != (pass == 1))
				continue;
			if (m->kind >= RECORD_FLUSH && !file->flush_stub)
				continue;
			if (!control)
				selection = selection_of(c, m->domain);
			if (selection == NOT_SELECTED)
				continue;
			s = site_new(c);
			if (!s)
				return -ENOMEM;
			memset(s, 0, sizeof(*s));
			s->file = file;
			s->vaddr =
				batches ? m->stub
					: m->vaddr + (fast(c, m) ? m->fast_offset - m->offset : 0);
			s->batches = batches;
			s->offset = fast(c, m) ? m->fast_offset : m->offset;
			s->switch_offset = m->switch_offset;
			s->kind = m->kind;
			s->only_categories = selection == SELECTED_CATEGORIES;
			file->n_domain_sites += !control;
			s->category = control ? NULL
					      : names_intern(c->options.names, m->domain,
							     strlen(m->domain), MAX_NAME);
			s->plain_token = plain_token(s);
			s->guard = control ? 0 : guard_number(c, s->category);
		}
	}
	file->n_sites = c->n_sites - file->first_site;
	return 0;
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
	if (error)
		return error;
	all = realloc(*to.list, (*to.n + 1) * sizeof(*all));
	if (!all) {
		broker_detach(c->broker, link);
		return failure_set(f, -ENOMEM, "cannot attach", "", NULL);
	}
	*to.list = all;
	c->n_links++;
	all[(*to.n)++] = (struct file_link){ link, to.guard };
	return 0;
}

static void detach(struct capture *c, struct file_link link)
{
	broker_detach(c->broker, link.link);
	c->n_links--;
}

uint64_t files_cookie_of(const struct capture *c, unsigned number)
{
	const struct site *s = &c->sites[number];

	return (uint64_t)s->guard << COOKIE_GUARD_SHIFT |
	       (uint64_t)s->only_categories << COOKIE_CATEGORIES_SHIFT |
	       s->plain_token << COOKIE_DOMAIN_SHIFT | (uint64_t)s->kind << COOKIE_KIND_SHIFT |
	       number;
}

/* Which of the file's sites are meant. */
struct choice {
	bool control, domains;
	bool one;	/* only those of this number: */
	unsigned guard; /* of their domain in guard.c, 0: the control site's */
};

static bool chosen(const struct capture *c, const struct site *s, const struct choice *which)
{
	if (!(s->kind >= RECORD_THREAD_NAME ? which->control : which->domains))
		return false;
	return !which->one || (s->guard == which->guard && !guard_is_off(c, s->guard));
}

static int attach_chosen(struct capture *c, struct file *file, pid_t pid,
			 const struct choice *which, struct failure *f)
{
	struct links links = { &file->links, &file->n_links, which->guard };
	struct broker_site *sites;
	unsigned i, n = 0;
	int error = 0;

	if (!which->control)
		links = (struct links){ &file->data_links, &file->n_data_links, which->guard };
	sites = calloc(file->n_sites ? file->n_sites : 1, sizeof(*sites));
	if (!sites)
		return failure_set(f, -ENOMEM, "cannot attach", "", NULL);
	for (i = 0; i < file->n_sites; i++) {
		const struct site *s = &c->sites[file->first_site + i];

		/* Those of batches are attached to by themselves, or not at all. */
		if (s->batches || s->kind >= RECORD_FLUSH || !chosen(c, s, which))
			continue;
		sites[n].offset = s->offset;
		sites[n].switch_offset = s->switch_offset;
		sites[n++].cookie = files_cookie_of(c, file->first_site + i);
	}
	if (n)
		error = files_attach_sites(c, file, links, BROKER_MARKS, pid, sites, n, f);
	free(sites);
	return error;
}

/* Those of others go with the domains' sites. */
static int attach_probes(struct capture *c, struct file *file, pid_t pid, bool control,
			 struct failure *f)
{
	struct links links = { &file->links, &file->n_links, 0 };

	if (!control)
		links = (struct links){ &file->data_links, &file->n_data_links, 0 };
	return probes_attach(c, file, pid, links, f);
}

/*
 * Attaches to those sites of the file that are the control site's, or a domain's, or both: in one link,
 * or, where domains may have to be taken away one by one, in one for each.
 */
static int attach_marks(struct capture *c, struct file *file, pid_t pid, bool control, bool domains,
			struct failure *f)
{
	struct choice which = { control, domains, c->options.guarded, 0 };
	uint64_t begin_ns = monotonic_now(), took_ns;
	int error = attach_chosen(c, file, pid, &which, f);

	while (!error && which.one && ++which.guard < c->guard.n)
		error = attach_chosen(c, file, pid, &which, f);
	if (!error && domains)
		error = attach_probes(c, file, pid, control, f);
	took_ns = monotonic_now() - begin_ns;
	if (took_ns > c->attach_ns)
		c->attach_ns = took_ns;
	return error;
}

/* First the site by which batches are handed over, then the switches. */
static int attach_batches(struct capture *c, struct file *file, pid_t pid, struct failure *f)
{
	const struct links links = { &file->links, &file->n_links, 0 };
	static const struct {
		unsigned kind;
		enum broker_program program;
	} parts[] = { { RECORD_FLUSH, BROKER_FLUSH }, { RECORD_BATCH_SWITCH, BROKER_MARKS } };
	struct broker_site *sites = calloc(file->n_sites ? file->n_sites : 1, sizeof(*sites));
	unsigned i, part, n;
	int error = 0;

	if (!sites)
		return failure_set(f, -ENOMEM, "cannot attach", "", NULL);
	/* The switch of kind RECORD_BATCH_ROOM is batch_room.c's. */
	for (part = 0; !error && part < 2; part++) {
		for (i = n = 0; i < file->n_sites; i++) {
			const struct site *s = &c->sites[file->first_site + i];

			if (s->kind != parts[part].kind)
				continue;
			sites[n].offset = s->offset;
			sites[n].switch_offset = s->switch_offset;
			sites[n++].cookie = files_cookie_of(c, file->first_site + i);
		}
		if (n)
			error = files_attach_sites(c, file, links, parts[part].program, pid, sites,
						   n, f);
	}
	free(sites);
	return error;
}

/* Where threads are held: in the dynamic linker and before they execute a program. */
static int attach_doors(struct capture *c, struct file *file, pid_t pid, struct failure *f)
{
	const struct links links = { &file->links, &file->n_links, 0 };
	int error = 0;

	file->doors_wait = c->doors_later;
	if (file->doors_wait)
		return 0;
	if (file->linker.offset)
		error = files_attach_sites(c, file, links, BROKER_LIBRARIES, pid, &file->linker, 1,
					   f);
	if (!error && file->n_executes && c->options.follow_children)
		error = files_attach_sites(c, file, links, BROKER_EXECUTES, pid, file->executes,
					   file->n_executes, f);
	return error;
}

static int attach_parts(struct capture *c, struct file *file, pid_t pid, struct failure *f)
{
	bool scheduled = c->options.schedule.active;
	int error = attach_doors(c, file, pid, f);

	if (!error)
		error = attach_marks(c, file, pid, true, !scheduled, f);
	if (!error && c->options.batching)
		error = attach_batches(c, file, pid, f);
	if (!error && scheduled && !c->waits)
		error = attach_marks(c, file, pid, false, true, f);
	return error;
}

/* For all processes (pid 0) or for one: wholly or not at all, since it may be tried again otherwise. */
static int attach_file(struct capture *c, struct file *file, pid_t pid, struct failure *f)
{
	unsigned before = file->n_links;
	int error = attach_parts(c, file, pid, f);

	while (error && file->n_links > before)
		detach(c, file->links[--file->n_links]);
	return error;
}

/* Attaches for this process unless that was done before. */
static int attach_for(struct capture *c, struct file *file, pid_t pid, struct failure *f)
{
	pid_t *pids;
	unsigned i;
	int error;

	if (c->options.follow_children) {
		if (file->n_links)
			return 0;
		error = attach_file(c, file, 0, f);
		/*
		 * One process that spoilt its own switch makes the kernel refuse all of them: then only
		 * the one that matters, at the price of its children.
		 */
		if (error != -EINVAL)
			return error;
		capture_log(c, 0, "attached to process %d alone, not to its children: %s", (int)pid,
			    f ? f->reason : "refused");
		file->alone = pid;
		return attach_file(c, file, pid, f);
	}
	for (i = 0; i < file->n_pids; i++) {
		if (file->pids[i] == pid)
			return 0;
	}
	pids = realloc(file->pids, (file->n_pids + 1) * sizeof(*pids));
	if (!pids)
		return failure_set(f, -ENOMEM, "cannot attach", "", NULL);
	file->pids = pids;
	error = attach_file(c, file, pid, f);
	if (!error)
		file->pids[file->n_pids++] = pid;
	return error;
}

bool files_known(struct capture *c, uint64_t device, uint64_t inode, pid_t pid,
		 enum file_news *ret_news)
{
	struct file *file = find(c, device, inode);

	if (!file)
		return false;
	*ret_news = !file->refused && (marks(file) || file->known_otherwise) ? FILE_KNOWN
									     : FILE_NOTHING;
	if (file->refused)
		return true;
	if (!c->options.follow_children && wanted(file))
		attach_for(c, file, pid, NULL);
	return true;
}

/* Whether it is worth looking for functions of the C library or its dynamic linker in there. */
static bool may_be_libc(const char *path)
{
	const char *base = strrchr(path, '/');

	base = base ? base + 1 : path;
	return !strncmp(base, "ld", 2) || !strncmp(base, "libc.", 5) || !strncmp(base, "libc-", 5);
}

static bool find_function(const struct file *file, const char *name, uint64_t *ret_offset)
{
	uint64_t vaddr;

	return !elf_file_dynamic_symbol(file->elf, name, &vaddr) &&
	       !elf_file_offset(file->elf, vaddr, ELF_EXECUTABLE, ret_offset) && *ret_offset;
}

static void find_functions(struct file *file)
{
	static const struct {
		const char *name;
		enum hold_reason reason;
	} functions[] = {
		{ "execve", HOLD_EXECVE },
		{ "execveat", HOLD_EXECVEAT },
		{ "fexecve", HOLD_FEXECVE },
	};
	unsigned i;

	if (!find_function(file, "_dl_debug_state", &file->linker.offset))
		file->linker.offset = 0;
	for (i = 0; i < 3; i++) {
		struct broker_site *site = &file->executes[file->n_executes];

		if (find_function(file, functions[i].name, &site->offset))
			file->executes[file->n_executes++].cookie = functions[i].reason;
	}
}

/* What is in the file. A file that is none of ours is no failure. */
static int look_into(struct capture *c, struct file *file, const char *path, struct failure *f)
{
	struct failure why;
	const char *other = NULL;

	if (elf_file_open(file->fd, &file->elf, &why)) {
		file->elf = NULL;
		return 0;
	}
	if (markers_find(file->elf, &file->sites, &why)) {
		capture_log(c, files_verbosity(c), "cannot read the markers of '%s': %s", path,
			    why.reason);
		return 0;
	}
	if (file->sites.refused)
		capture_log(c, files_verbosity(c), "%u malformed probe sites in '%s' are left out",
			    file->sites.refused, path);
	if (c->options.batching && file->sites.n)
		other = find_flush(file);
	if (other) {
		capture_log(c, -1, "cannot record '%s' in batches: built with %s proftrace.h", path,
			    other);
		c->refused++;
		return 0;
	}
	if (c->expects || may_be_libc(path))
		find_functions(file);
	if (files_too_many_sites(c, file->sites.n, f))
		return -E2BIG;
	if (select_sites(c, file))
		return failure_set(f, -ENOMEM, "cannot attach to", path, NULL);
	return probes_select(c, file, path, f);
}

/*
 * The kernel attaches to inodes. Some file systems show one inode under two device numbers: attached
 * twice, every mark would count double.
 */
static bool attached_otherwise(struct capture *c, struct file *file)
{
	struct file *other, *next;
	struct stat st;

	if (fstat(file->fd, &st))
		return false;
	file->st_dev = st.st_dev;
	file->st_ino = st.st_ino;
	HASH_ITER (hh, c->files, other, next) {
		if (other->elf && other->st_dev == file->st_dev && other->st_ino == file->st_ino)
			return other->n_sites || other->n_probes;
	}
	return false;
}

static void file_free(struct file *file)
{
	elf_file_free(file->elf);
	marker_sites_free(&file->sites);
	free(file->links);
	free(file->data_links);
	free(file->pids);
	if (file->fd >= 0)
		close(file->fd);
	free(file);
}

void files_refuse(struct capture *c, uint64_t device, uint64_t inode)
{
	struct file *file = calloc(1, sizeof(*file));

	if (!file)
		return;
	file->device = device;
	file->inode = inode;
	file->fd = -1;
	file->refused = true;
	HASH_ADD(hh, c->files, device, FILE_KEY_SIZE, file);
}

int files_add(struct capture *c, int fd, uint64_t device, uint64_t inode, const char *path,
	      pid_t pid, enum file_news *ret_news, struct failure *f)
{
	struct file *file;
	int error;

	*ret_news = FILE_NOTHING;
	if (files_full(c, f)) {
		close(fd);
		return -EMFILE;
	}
	file = calloc(1, sizeof(*file));
	if (!file) {
		close(fd);
		return failure_set(f, -ENOMEM, "cannot attach to", path, NULL);
	}
	file->device = device;
	file->inode = inode;
	file->fd = fd;
	file->known_otherwise = attached_otherwise(c, file);
	error = file->known_otherwise ? 0 : look_into(c, file, path, f);
	if (!error && wanted(file))
		error = attach_for(c, file, pid, f);
	/*
	 * Refused, it stays known, so that it is not tried at each scan, and so do its sites: marks of
	 * some of them may be on their way.
	 */
	file->refused = error != 0;
	HASH_ADD(hh, c->files, device, FILE_KEY_SIZE, file);
	*ret_news = FILE_NOTHING;
	if (error)
		return error;
	c->n_linkers += file->linker.offset != 0;
	c->n_statics += marks(file) && !file->elf->has_interp;
	if (file->known_otherwise)
		*ret_news = FILE_KNOWN;
	if (marks(file)) {
		*ret_news = FILE_ATTACHED;
		c->n_marked_files++;
		capture_log(c, 1, "attached to %u site%s of '%s'", file->n_sites + file->n_probes,
			    file->n_sites + file->n_probes == 1 ? "" : "s", path);
	}
	return 0;
}

void files_attach_doors(struct capture *c)
{
	struct file *file, *next;
	struct failure f;

	HASH_ITER (hh, c->files, file, next) {
		if (!file->doors_wait || !attach_doors(c, file, file->alone, &f))
			continue;
		c->refused++;
		capture_log(c, 0, "%s: %s", f.what, f.reason);
	}
}

static void detach_domain(struct capture *c, struct file_link *links, unsigned *n, unsigned guard)
{
	unsigned i, kept = 0;

	for (i = 0; i < *n; i++) {
		if (links[i].guard == guard)
			detach(c, links[i]);
		else
			links[kept++] = links[i];
	}
	*n = kept;
}

void files_detach_domain(struct capture *c, unsigned guard)
{
	struct file *file, *next;

	HASH_ITER (hh, c->files, file, next) {
		detach_domain(c, file->links, &file->n_links, guard);
		detach_domain(c, file->data_links, &file->n_data_links, guard);
	}
}

void files_detach_data(struct capture *c)
{
	struct file *file, *next;

	HASH_ITER (hh, c->files, file, next) {
		while (file->n_data_links)
			detach(c, file->data_links[--file->n_data_links]);
	}
}

void files_attach_data(struct capture *c)
{
	struct file *file, *next;
	struct failure f;
	unsigned i;

	HASH_ITER (hh, c->files, file, next) {
		int error = 0;

		if (file->refused || !marks(file) || file->n_data_links)
			continue;
		if (c->options.follow_children)
			error = attach_marks(c, file, file->alone, false, true, &f);
		for (i = 0; i < file->n_pids; i++) {
			/* Its process may have ended meanwhile. */
			int failed = attach_marks(c, file, file->pids[i], false, true, &f);

			error = failed == -ESRCH ? error : failed;
		}
		if (error) {
			c->refused++;
			capture_log(c, 0, "%s: %s", f.what, f.reason);
		}
	}
}

void files_detach(struct capture *c)
{
	struct file *file, *next;

	if (c->batches)
		batch_rooms_free(c);
	files_detach_data(c);
	HASH_ITER (hh, c->files, file, next) {
		while (file->n_links)
			detach(c, file->links[--file->n_links]);
	}
}

void files_free(struct capture *c)
{
	struct file *file, *next;

	HASH_ITER (hh, c->files, file, next) {
		HASH_DEL(c->files, file);
		file_free(file);
	}
}
