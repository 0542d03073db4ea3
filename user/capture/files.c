/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of the files that traced processes have mapped. Each file is read once, for any number of
 * processes that map it: its markers, and the functions at which threads are held. attach/ attaches
 * to it.
 */
#include "capture/file_limits.h"
#include "capture/file_watch.h"
#include "capture/probes/probes.h"
#include "capture/mappings/mappings.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "proftrace.skel.h"

struct file *files_find(struct capture *c, const struct file_key *key)
{
	struct file *file;

	HASH_FIND(hh, c->files, key, sizeof(*key), file);
	return file;
}

/* Whether the file makes marks of any domain, besides those of the control site. */
bool file_has_marks(const struct file *file)
{
	return file->n_domain_sites || file->n_probes > file->n_leaving;
}

void file_set_expected(struct capture *c, const struct file *file)
{
	struct file *known = files_find(c, &file->key);

	/* It may have been written to meanwhile, and is read again. */
	if (known == file)
		known->is_expected = true;
}

static bool file_is_wanted(const struct file *file)
{
	return file->n_sites || file->n_probes || file->n_linker || file->n_executes;
}

struct site *site_new(struct capture *c)
{
	if (c->n_sites == c->sites_capacity) {
		unsigned capacity = c->sites_capacity ? 2 * c->sites_capacity : 256;
		struct site *sites = realloc(c->sites, capacity * sizeof(*sites));

		if (!sites)
			return NULL;
		c->sites = sites;
		c->sites_capacity = capacity;
	}
	return &c->sites[c->n_sites++];
}

/*
 * Whether to use the optimised nop: the file has one, and the broker's test found that the kernel
 * handles it correctly.
 */
static bool has_optimised_nop(const struct capture *c, const struct marker_site *m)
{
	return c->loaded.optimised_nop && m->optimised_offset;
}

/* Names are numbered from 1 in the order of their first use, so domains have low numbers. */
static uint64_t get_plain_token(const struct site *s)
{
	return s->category ? 1 + s->category->id % (PLAIN_TOKENS - 1) : 0;
}

/*
 * Finds the stub that hands over this file's batches. If there is none, returns the reason: some
 * markers do not support buffered mode, or the layout of batches is unknown.
 */
static const char *find_flush_stub(struct file *file)
{
	const struct marker_site *flush = NULL;
	bool all = true;
	unsigned i;

	for (i = 0; i < file->sites.n; i++) {
		const struct marker_site *m = &file->sites.sites[i];

		if (m->kind == RECORD_FLUSH)
			flush = m;
		all &= m->kind >= RECORD_THREAD_NAME || m->flags & MARKERS_CAN_BATCH;
	}
	if (!all || !flush || flush->layout < BATCH_OLDEST)
		return "an older";
	if (flush->layout > BATCH_VERSION)
		return "a newer";
	file->flush_stub = flush->stub;
	file->batch_slots = flush->list;
	return NULL;
}

/*
 * Adds the steady nop of a stub. Marks come from there while the domain is in exact mode; the nop in the stub of
 * RECORD_BATCH_ON turns that on.
 */
static int add_steady_site(struct capture *c, const struct marker_site *m, const struct site *other)
{
	struct site *s, copy = *other;

	copy.vaddr = m->vaddr - (m->offset - m->steady_offset);
	copy.offset = m->steady_offset;
	copy.batches = false;
	copy.semaphore_offset = 0;
	if (m->kind == RECORD_BATCH_ON) {
		copy.kind = RECORD_EXACT_ON;
		copy.semaphore_offset = m->semaphore_offset - sizeof(uint16_t);
	}
	s = site_new(c);
	if (s)
		*s = copy;
	return s ? 0 : -ENOMEM;
}

static int select_marker_sites(struct capture *c, struct file *file)
{
	unsigned i, pass;

	file->first_site = c->n_sites;
	/*
	 * The kernel attaches to sites in this order. If marks come meanwhile, an END without its
	 * BEGIN is only cut, but a BEGIN without its END would stay open. So BEGINs come last.
	 */
	for (pass = 0; pass < 2; pass++) {
		for (i = 0; i < file->sites.n; i++) {
			const struct marker_site *m = &file->sites.sites[i];
			bool batches = c->options.batching && file->flush_stub &&
				       m->kind < RECORD_THREAD_NAME;
			bool control = m->kind >= RECORD_THREAD_NAME && m->kind != RECORD_BATCH_ON;
			enum selection selection = SELECTED;
			struct site *s;

			if ((m->kind == RECORD_BEGIN) != (pass == 1))
				continue;
			if (m->kind == RECORD_BATCH_UNUSED ||
			    (m->kind == RECORD_READ_STRINGS && !file->changes) ||
			    (m->kind >= RECORD_FLUSH && !file->flush_stub))
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
			s->vaddr = batches ? m->stub
					   : m->vaddr + (has_optimised_nop(c, m)
								 ? m->optimised_offset - m->offset
								 : 0);
			s->batches = batches;
			s->offset = has_optimised_nop(c, m) ? m->optimised_offset : m->offset;
			s->semaphore_offset = m->semaphore_offset;
			s->kind = m->kind;
			s->only_categories = selection == SELECTED_CATEGORIES;
			file->n_domain_sites += !control;
			s->category = control ? NULL
					      : names_intern(c->options.names, m->domain,
							     strlen(m->domain), MAX_NAME);
			s->plain_token = get_plain_token(s);
			s->guard = control ? 0 : guard_number(c, s->category);
			c->refused_sites += guard_is_off_with(c, s->guard, s->category);
			if (control || !file->changes)
				continue;
			c->guard.domains[s->guard].can_buffer = true;
			if (add_steady_site(c, m, s))
				return -ENOMEM;
		}
	}
	file->n_sites = c->n_sites - file->first_site;
	return 0;
}

static void file_free(struct file *file)
{
	elf_file_free(file->elf);
	marker_sites_free(&file->sites);
	free(file->links);
	free(file->data_links);
	free(file->pids);
	free(file->refused_pids);
	if (file->fd >= 0)
		close(file->fd);
	free(file);
}

static void count_attached(struct capture *c, struct file *file)
{
	if (file->is_counted)
		return;
	file->is_counted = true;
	c->n_linkers += file->n_linker != 0;
	c->n_statics += file_has_marks(file) && elf_file_is_static(file->elf);
	c->n_marked_files += file_has_marks(file);
}

const char *file_path(const struct file *file, char *path)
{
	char link[32];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", file->fd);
	n = readlink(link, path, PATH_MAX - 1);
	path[n < 0 ? 0 : n] = '\0';
	return path;
}

/* Attaches to a file that is known, for one more process. */
static bool attach_also(struct capture *c, struct file *file, pid_t pid)
{
	int error = running_maps_check_work(c, file, pid);
	struct failure f = { 0 };

	if (!error)
		error = file_attach(c, file, pid, &f);
	else
		failure_set(&f, error, "cannot attach", "",
			    error == -E2BIG ? TOO_MANY_MAPPINGS : NULL);
	if (!error) {
		count_attached(c, file);
		/* Nothing has held it. */
		c->late += file->alone && !file->goes_alone && file_has_pid(file, pid) &&
			   file->late_pid != pid && elf_file_is_static(file->elf);
		file->late_pid = 0;
		return true;
	}
	if (error == -EBUSY) {
		scans_put_off(c, pid);
		return false;
	}
	/* It has ended meanwhile, or others hold what it may not have. */
	if (error == -ESRCH || (!file->alone && error != -E2BIG && error != -EMFILE &&
				!(capture_attaches_each(c) && error == -EINVAL)))
		return false;
	file_refuse_pid(c, file, pid);
	c->refused++;
	capture_log(c, files_verbosity(c), "cannot attach to process %d: %s", (int)pid, f.reason);
	return false;
}

/* Whether the file could not be opened in another process. By now another file may have its number. */
static bool file_is_unopened(const struct file *file)
{
	return file->refused && file->fd < 0;
}

bool files_known(struct capture *c, const struct file_key *key, pid_t pid, enum file_news *ret_news)
{
	struct file *file = files_find(c, key);

	if (file && file_is_outdated(c, file)) {
		file_retire(c, file);
		/* It may have been refused. */
		file = files_find(c, key);
	}
	if (!file || (file_is_unopened(file) && !file_refuses_pid(file, pid)))
		return false;
	file->is_unmapped = false;
	*ret_news = !file->refused && (file_has_marks(file) || file->has_other_key) ? FILE_KNOWN
										    : FILE_NOTHING;
	if (file->refused)
		return true;
	file = file_attached(file);
	if (file_is_wanted(file) && file_lacks_pid(c, file, pid) && attach_also(c, file, pid) &&
	    file->alone && file_has_pid(file, pid))
		*ret_news = FILE_ATTACHED;
	return true;
}

/* Whether the file may be the C library or the dynamic linker, by its name. */
static bool path_may_be_libc(const char *path)
{
	const char *base = strrchr(path, '/');

	base = base ? base + 1 : path;
	return !strncmp(base, "ld", 2) || !strncmp(base, "libc.", 5) || !strncmp(base, "libc-", 5);
}

static bool find_function_offset(const struct file *file, const char *name, uint64_t *ret_offset)
{
	uint64_t vaddr;

	return !elf_file_dynamic_symbol(file->elf, name, &vaddr) &&
	       !elf_file_offset(file->elf, vaddr, ELF_EXECUTABLE, ret_offset) && *ret_offset;
}

/*
 * Finds the hold points of the dynamic linker, and the distances to _r_debug: the calls of _dl_debug_state(), if a probe may be on
 * them and all are known, or else that function. Where each site needs a link of its own, only the function.
 */
static void find_linker(const struct capture *c, struct file *file)
{
	uint64_t state, debug, sites[LINKER_MAX_CALLS];
	bool has_debug;
	unsigned n = 0;

	if (elf_file_dynamic_symbol(file->elf, "_dl_debug_state", &state) ||
	    elf_file_offset(file->elf, state, ELF_EXECUTABLE, &file->linker_function)) {
		file->linker_function = 0;
		return;
	}
	has_debug = !elf_file_dynamic_symbol(file->elf, "_r_debug", &debug);
	if (c->loaded.emulates_calls && c->loaded.uprobe_multi)
		n = linker_calls_find(file->elf, state, sites);
	if (!n)
		sites[n++] = state;
	for (unsigned i = 0; i < n; i++) {
		struct broker_site *site = &file->linker[file->n_linker];

		if (!elf_file_offset(file->elf, sites[i], ELF_EXECUTABLE, &site->offset))
			file->n_linker++;
		site->cookie = has_debug ? debug - sites[i] : 0;
	}
}

static void find_exec_functions(const struct capture *c, struct file *file)
{
	static const struct {
		const char *name;
		enum hold_reason reason;
	} functions[] = {
		{ "execve", HOLD_EXECVE },
		{ "execveat", HOLD_EXECVEAT },
		{ "fexecve", HOLD_FEXECVE },
		{ "prctl", HOLD_COUNTER },
	};
	unsigned i, n = capture_holds_in_libc(c) ? 4 : 3;

	find_linker(c, file);
	for (i = 0; i < n; i++) {
		struct broker_site *site = &file->executes[file->n_executes];

		if (find_function_offset(file, functions[i].name, &site->offset))
			file->executes[file->n_executes++].cookie = functions[i].reason;
	}
}

static void note_dependency(void *context, const char *text)
{
	(void)text;
	*(bool *)context = true;
}

/* Whether the file may be a dynamic linker whose name does not say so: it needs no other file, which few libraries do not. */
static bool file_may_be_linker(const struct file *file)
{
	bool has_dependency = false;

	elf_file_dynamic_strings(file->elf, DT_NEEDED, note_dependency, &has_dependency);
	return !has_dependency;
}

/*
 * Under --mode auto a file stays in exact mode if a stub has no steady nop, if its strings could not be read by the
 * kernel, or if it does not support buffered mode. So does a static program: where it forbids itself the processor's
 * counter is not known.
 */
static void choose_file_mode(struct capture *c, struct file *file, const char *path,
			     const char **other)
{
	bool is_static;
	unsigned i;

	file->changes = !*other;
	for (i = 0; i < file->sites.n; i++) {
		const struct marker_site *m = &file->sites.sites[i];

		if (m->kind < RECORD_THREAD_NAME || m->kind == RECORD_BATCH_ON)
			file->changes &= m->steady_offset != 0;
		if (m->kind == RECORD_FLUSH)
			file->changes &= (m->flags & MARKER_NOTE_READ_STRINGS) != 0;
	}
	is_static = file->changes && elf_file_is_static(file->elf);
	if (file->changes && !is_static)
		return;
	if (!*other)
		*other = "an older";
	if (is_static)
		capture_log(c, 0, "'%s' stays in exact mode: it is a static program", path);
	else
		capture_log(c, 0, "'%s' stays in exact mode: built with %s proftrace.h", path,
			    *other);
	file->changes = false;
	c->n_exact_files++;
	file->flush_stub = 0;
	*other = NULL;
}

/* Reads the contents of a file. A file without anything to record is no failure. */
static int read_file_contents(struct capture *c, struct file *file, const char *path,
			      struct failure *f)
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
		other = find_flush_stub(file);
	if (c->options.changing && file->sites.n)
		choose_file_mode(c, file, path, &other);
	if (other) {
		capture_log(c, -1, "cannot record '%s' in batches: built with %s proftrace.h", path,
			    other);
		c->refused++;
		return 0;
	}
	if (c->expects || path_may_be_libc(path))
		find_exec_functions(c, file);
	else if (file_may_be_linker(file))
		find_linker(c, file);
	if (files_too_many_sites(c, file->sites.n, f))
		return -E2BIG;
	if (select_marker_sites(c, file))
		return failure_set(f, -ENOMEM, "cannot attach to", path, NULL);
	return probes_select(c, file, path, f);
}

/*
 * The kernel attaches to inodes. Some file systems show one inode under two device numbers; if it
 * were attached twice, every mark would count double. Others show two inodes with the same numbers: their watches are different or, where
 * there are none, when they were made.
 */
static bool has_other_key_attached(struct capture *c, struct file *file)
{
	struct stat st;

	if (descriptors_stat(file->fd, &st))
		return false;
	file->st_dev = st.st_dev;
	file->st_ino = st.st_ino;
	hash_each (c->files, other) {
		if (other->elf && other->st_dev == file->st_dev && other->st_ino == file->st_ino &&
		    (file->watch && other->watch ? other->watch == file->watch
						 : !file->is_ambiguous || !other->is_ambiguous ||
							   other->born_ns == file->born_ns))
			return other->n_sites || other->n_probes;
	}
	return false;
}

static void file_set_key(struct file *file, const struct file_key *key)
{
	file->key = *key;
	file->device = key->device;
	file->inode = key->inode;
}

static struct file *add_refused(struct capture *c, const struct file_key *key, int fd)
{
	struct file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file_set_key(file, key);
	file->fd = fd;
	file->refused = true;
	HASH_ADD(hh, c->files, key, sizeof(file->key), file);
	return file;
}

void files_refuse(struct capture *c, const struct file_key *key, pid_t pid)
{
	struct file *file = files_find(c, key);

	if (!file)
		file = add_refused(c, key, -1);
	if (file)
		file_refuse_pid(c, file, pid);
}

void files_refuse_open(struct capture *c, const struct file *like, int fd)
{
	struct file *file = add_refused(c, &like->key, fd);

	if (!file) {
		close(fd);
		return;
	}
	file->is_ambiguous = like->is_ambiguous;
	file->born_ns = like->born_ns;
}

/*
 * Whether nothing is left to do when another process maps the file. Its first marks show a process that is hidden until
 * then, and with call stacks the tables of each process must have each mapping.
 */
static bool file_is_done(const struct capture *c, const struct file *file)
{
	/* What has been written to it meanwhile is seen by the scan only. */
	if (c->stacks || !file->watch || file->is_ambiguous || file->same)
		return false;
	if (!file_is_wanted(file) && !file->has_other_key)
		return true;
	return !capture_attaches_each(c) && !file->alone && !capture_hides(c);
}

/* Threads that map the file again need not wait for us. The file stays open, so that no other one gets its number. */
static void note_known_file(struct capture *c, const struct file *file)
{
	uint64_t key =
		known_file_key(file->device >> 32 << 20 | (uint32_t)file->device, file->inode);
	struct known_file *slots = c->shared->known_files + known_file_slots(key);
	unsigned i = 0;

	if (!key)
		return;
	/* It may be in a later slot, with another size. */
	file_forget_known(c, file);
	while (i < KNOWN_FILE_SLOTS - 1 && slots[i].key && slots[i].key != key)
		i++;
	__atomic_store_n(&slots[i].key, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&slots[i].size, file->size, __ATOMIC_SEQ_CST);
	__atomic_store_n(&slots[i].key, key, __ATOMIC_SEQ_CST);
}

/* `ret_others`: others may be attached to. */
static int check_work(struct capture *c, struct file *file, const char *path, pid_t pid,
		      bool *ret_others, struct failure *f)
{
	int error = running_maps_check_work(c, file, pid);

	if (!error)
		return 0;
	*ret_others = error == -E2BIG && file_refuse_pid(c, file, pid);
	return failure_set(f, error, "cannot attach to", path,
			   error == -E2BIG   ? TOO_MANY_MAPPINGS
			   : error == -EBUSY ? LOCKED_MAPPINGS
					     : NULL);
}

/* Its process cannot be asked for now: it is tried again, as one that could not be opened. */
static int file_put_off(struct capture *c, struct file *file)
{
	if (file->n_sites && !file->n_probes)
		c->n_sites = file->first_site;
	else
		c->n_retired_sites += file->n_sites + file->n_probes;
	file_unwatch(c, file);
	marker_sites_free(&file->sites);
	elf_file_free(file->elf);
	close(file->fd);
	file->fd = -1;
	file->elf = NULL;
	file->n_sites = file->n_probes = file->n_executes = file->n_linker = 0;
	file->refused = true;
	HASH_ADD(hh, c->files, key, sizeof(file->key), file);
	return -EBUSY;
}

/*
 * The one that could not be opened: another file has its number now, or it can be opened after all. Call stacks may refer
 * to it.
 */
static struct file *reuse_unopened(struct capture *c, const struct file_key *key)
{
	struct file *file = files_find(c, key);

	if (!file || !file_is_unopened(file))
		return NULL;
	HASH_DEL(c->files, file);
	free(file->refused_pids);
	memset(file, 0, sizeof(*file));
	return file;
}

void file_is_mapped_as(struct file *file, const struct mapping *m)
{
	file->device = (uint64_t)m->device_major << 32 | m->device_minor;
	file->inode = m->inode;
}

static void file_begin(struct capture *c, struct file *file, const struct file_key *key, int fd)
{
	file_set_key(file, key);
	file->fd = fd;
	file->is_ambiguous = file_numbers_are_shared(fd, key->device);
	file->born_ns = file->is_ambiguous ? file_born_ns(fd) : 0;
	file->is_served = file->is_ambiguous && file_is_served(fd);
	c->n_ambiguous += file->is_ambiguous;
	file_watch(c, file);
}

int files_add(struct capture *c, int fd, const struct file_key *key, const char *path, pid_t pid,
	      const struct mapping *m, enum file_news *ret_news, struct failure *f)
{
	const char *differs = NULL;
	bool others = false;
	struct file *file;
	int error;

	*ret_news = FILE_NOTHING;
	if (files_full(c, f)) {
		close(fd);
		return -EMFILE;
	}
	/* What is attached to already needs no haste. */
	if (!m && file_may_have_same(c, fd)) {
		close(fd);
		return 0;
	}
	file = reuse_unopened(c, key);
	if (!file)
		file = calloc(1, sizeof(*file));
	if (!file) {
		close(fd);
		return failure_set(f, -ENOMEM, "cannot attach to", path, NULL);
	}
	file_begin(c, file, key, fd);
	if (m)
		file_is_mapped_as(file, m);
	file->has_other_key = has_other_key_attached(c, file);
	file->same = file->has_other_key ? NULL : file_find_same(c, file, pid, m);
	file->has_other_key |= file->same != NULL;
	error = file->has_other_key ? 0 : read_file_contents(c, file, path, f);
	if (!file->elf && !file->has_other_key)
		file_unwatch(c, file);
	if (!error && m && file_is_wanted(file))
		differs = file_differs_from_running(c, file, pid, m);
	if (differs)
		error = failure_set(f, -EBADMSG, "cannot attach to", path, differs);
	if (!error && file_is_wanted(file))
		error = file_check_semaphores(c, file, path, pid, m != NULL, f);
	if (!error && m)
		error = check_work(c, file, path, pid, &others, f);
	if (error == -EBUSY)
		return file_put_off(c, file);
	if (!error && file_is_wanted(file))
		error = file_attach(c, file, pid, f);
	/* Refused for this process alone. */
	others |= file_error_is_of_one_process(error) && file_refuse_pid(c, file, pid);
	if (!error && m)
		differs = file_misses_attached(c, file, pid, m);
	if (!error && differs)
		error = failure_set(f, -ESTALE, "cannot attach to", path, differs);
	/* The process has ended meanwhile. The next one that maps the file has links of its own. */
	if (error == -ESRCH && (capture_attaches_each(c) || file->alone))
		error = 0;
	/*
	 * A refused file stays in the list, so that it is not tried at each scan. Its sites stay as
	 * well, because marks of some of them may be on their way.
	 */
	file->refused = error && !others;
	HASH_ADD(hh, c->files, key, sizeof(file->key), file);
	*ret_news = FILE_NOTHING;
	if (error)
		return error;
	if (file_is_done(c, file))
		note_known_file(c, file);
	count_attached(c, file);
	if (file->has_other_key)
		*ret_news = FILE_KNOWN;
	if (file->same)
		capture_log(c, 1,
			    "'%s' is attached to already: another overlay shows the same file",
			    path);
	if (file_has_marks(file)) {
		*ret_news = FILE_ATTACHED;
		capture_log(c, 1, "attached to %u site%s of '%s'", file->n_sites + file->n_probes,
			    file->n_sites + file->n_probes == 1 ? "" : "s", path);
	}
	return 0;
}

/* Whether it may be known without being attached to: it has neither markers nor, as far as can be told, hold points. */
static bool file_is_plain(const struct capture *c, struct file *file, const char *path)
{
	if (elf_file_open(file->fd, &file->elf, NULL) ||
	    markers_find(file->elf, &file->sites, NULL) || file->sites.n || file->sites.refused)
		return false;
	if (path_may_be_libc(path))
		find_exec_functions(c, file);
	else if (file_may_be_linker(file))
		find_linker(c, file);
	return !file->n_linker && !file->n_executes;
}

void files_add_plain(struct capture *c, int fd, const struct file_key *key, const char *path)
{
	/* One that could not be opened in another process is tried again when it is mapped. */
	struct file *file = files_find(c, key) ? NULL : calloc(1, sizeof(*file));

	if (!file) {
		close(fd);
		return;
	}
	file_begin(c, file, key, fd);
	if (!file_is_plain(c, file, path)) {
		file_unwatch(c, file);
		file_free(file);
		return;
	}
	file->is_unmapped = true;
	HASH_ADD(hh, c->files, key, sizeof(file->key), file);
	if (file->watch && !file->is_ambiguous)
		note_known_file(c, file);
}

void files_free(struct capture *c)
{
	hash_each (c->files, file) {
		HASH_DEL(c->files, file);
		file_free(file);
	}
	while (c->retired) {
		struct file *file = c->retired;

		c->retired = file->next_retired;
		file_free(file);
	}
}
