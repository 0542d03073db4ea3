/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attaches to files before a program maps them: the program itself, its dynamic linker, and the libraries that it is
 * linked with. A thread in the dynamic linker is held for half a second at most, which is too short for hundreds of
 * libraries on a busy machine: each breakpoint takes the memory lock of the process, and the thread may lose its CPU
 * while it has the lock. Attached to before, a file costs nothing then: the process puts the breakpoints into its memory
 * itself, as it maps the file.
 *
 * The libraries are searched for where their names say: at a path, or in the directories of DT_RPATH, LD_LIBRARY_PATH and
 * DT_RUNPATH, and in the standard directories before a command of ours begins, which then need not be held at its begin, and
 * where threads cannot be held. A library that is not found, or that is another one than the linker finds, is attached to as
 * soon as it is mapped.
 *
 * Programs with plug-ins open one after the other, in each of their processes, and each time a thread is held although most
 * have nothing to attach to. So when a second library of a folder is opened, all files there are read at moments in which
 * no thread is held, and for those without markers no thread is held later.
 */
#include "capture/internal.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "capture/file_limits.h"
#include "capture/stacks/stacks.h"
#include "tracee/maps.h"

#define SIBLINGS_AT_MOST  256	    /* files in a folder: a folder of the system has thousands */
#define SIBLINGS_EACH_NS  1000000   /* at once, as threads may be held meanwhile */
#define SIBLING_LEAST_AGE 10	    /* seconds: a younger file may still be written */
#define LINKED_AT_MOST	  1024	    /* libraries of a program, and of these */
#define TRIES_AT_MOST	  8192	    /* paths: a file may name any number */
#define WITHIN_NS	  300000000 /* while a thread is held that executes the program */
/*
 * Looking up a path takes microseconds, or tens of milliseconds if it leads through links to long links: so long may all of a
 * program take, while a thread is held and otherwise.
 */
#define LOOKUPS_HELD_NS 100000000
#define LOOKUPS_NS	2000000000
#ifdef __x86_64__
#define SYSTEM_DIRECTORIES "/lib/x86_64-linux-gnu:/lib64:/usr/lib64:/usr/lib:/lib"
#else
#define SYSTEM_DIRECTORIES "/lib/aarch64-linux-gnu:/lib64:/usr/lib64:/usr/lib:/lib"
#endif

struct linked_file {
	const struct file *file;
	char *path;
};

struct linked_search {
	struct capture *c;
	pid_t pid;
	struct requester requester; /* of the process; `pid` 0: the owner of the program */
	const char *directory;	   /* where relative paths begin, with a '/'; "": the present one */
	struct linked_file *files; /* the first is the program */
	unsigned n, at;		   /* whose libraries are searched for */
	char **names; /* under which libraries were found; the linker does not search for one again */
	unsigned n_names;
	const char *name; /* of a library */
	bool found;
	unsigned tries;
	uint64_t until_ns;
	uint64_t lookups_ns, lookups_within_ns;
};

static void linked_add(struct linked_search *l, const struct file *file, const char *path)
{
	for (unsigned i = 0; i < l->n; i++) {
		if (l->files[i].file == file)
			return;
	}
	if (!file || !file->elf || l->n == LINKED_AT_MOST)
		return;
	l->files[l->n].file = file;
	l->files[l->n].path = strdup(path);
	l->n += l->files[l->n].path != NULL;
}

/*
 * Whether a library may be attached to before anything maps it. Of some, only the memory of the process shows whether
 * the kernel would find the right places: those whose file system may show other bytes than it runs, and those that
 * have a page of the file in two writable mappings.
 */
static bool library_is_certain(int fd)
{
	struct elf_file *elf;
	bool is_certain;

	if (file_is_served(fd) || elf_file_open(fd, &elf, NULL))
		return false;
	is_certain = !elf_shares_writable_page(elf);
	elf_file_free(elf);
	return is_certain;
}

/* A library that cannot be attached to yet is tried again when it is mapped, unless it is refused then as well. */
static void expect_library(struct linked_search *l, int fd, const char *path)
{
	const struct file *file;
	struct failure f = { 0 };
	enum file_news news;
	struct file_key key;

	l->found = files_key_of(l->c, fd, NULL, &key);
	if (l->found && !files_known(l->c, &key, l->pid, &news) && !files_full(l->c, &f) &&
	    library_is_certain(fd) &&
	    files_add(l->c, fcntl(fd, F_DUPFD_CLOEXEC, 0), &key, path, l->pid, NULL, &news, &f))
		files_report_refused(l->c, path, &f);
	file = l->found ? files_find(l->c, &key) : NULL;
	linked_add(l, file, path);
	if (file && l->c->stacks)
		stacks_expect_file(l->c->stacks, file);
	close(fd);
}

/* The directory of a relative path is itself a magic link, and the only one that is followed. */
static int library_place(const struct linked_search *l, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS };
	size_t n = strlen(l->directory);
	int from = AT_FDCWD, place;

	if (n && !strncmp(path, l->directory, n)) {
		from = open(l->directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (from < 0)
			return -1;
		path += n + strspn(path + n, "/");
	}
	place = (int)syscall(SYS_openat2, from, path, &how, sizeof(how));
	if (from >= 0)
		close(from);
	return place;
}

/* Libraries that were not found then are attached to when they are mapped. */
static bool search_is_over(const struct linked_search *l)
{
	const struct capture_options *o = &l->c->options;

	return l->tries >= TRIES_AT_MOST || l->lookups_ns >= l->lookups_within_ns ||
	       monotonic_now() > l->until_ns || (o->give_up && o->give_up(o->context));
}

/*
 * A program may be linked with any path, also one that its user may not open. The path is our own, so it is the same for the process
 * only if that has our root.
 */
static int open_library(const struct linked_search *l, const char *path)
{
	const struct requester *r = &l->requester;
	int place = library_place(l, path);
	struct stat st;

	if (place < 0)
		return -1;
	if (r->uid == geteuid() || (!fstat(place, &st) && requester_may(r, place, &st, S_IROTH) &&
				    !requester_may_open(r, -1, place)))
		return open_stored_file(place);
	close(place);
	return -1;
}

/* Tries a directory and the name, or a path and "". $ORIGIN is where the file is that names it. */
static void try_library(struct linked_search *l, const char *text, int length, const char *name)
{
	const char *before = *text == '/' ? "" : l->directory, *own = l->files[l->at].path;
	int origin = 0, n = (int)strlen(before), fd;
	char path[PATH_MAX];
	uint64_t began_ns;

	if (!strncmp(text, "$ORIGIN", 7))
		origin = 7;
	else if (!strncmp(text, "${ORIGIN}", 9))
		origin = 9;
	if (origin) {
		before = own;
		n = (int)(strrchr(own, '/') - own);
	}
	if (origin > length || memchr(text + origin, '$', length - origin) ||
	    snprintf(path, sizeof(path), "%.*s%.*s%s%s", n, before, length - origin, text + origin,
		     *name ? "/" : "", name) >= (int)sizeof(path))
		return;
	began_ns = monotonic_now();
	fd = open_library(l, path);
	l->lookups_ns += monotonic_now() - began_ns;
	if (fd >= 0)
		expect_library(l, fd, path);
}

/* Tries the directories of a list with colons. */
static void try_directories(void *context, const char *list)
{
	struct linked_search *l = context;
	int n;

	l->tries += !*list;
	for (; !l->found && *list && !search_is_over(l); list += n + (list[n] == ':')) {
		n = (int)strcspn(list, ":");
		l->tries++;
		if (n)
			try_library(l, list, n, l->name);
	}
}

static bool name_is_found(const struct linked_search *l, const char *name)
{
	for (unsigned i = 0; i < l->n_names; i++) {
		if (!strcmp(l->names[i], name))
			return true;
	}
	return false;
}

static void search_library(struct linked_search *l, const char *name)
{
	const struct elf_file *elf = l->files[l->at].file->elf;
	const char *environment = getenv("LD_LIBRARY_PATH");

	l->name = name;
	l->found = false;
	if (strchr(name, '/')) {
		l->tries++;
		try_library(l, name, (int)strlen(name), "");
		return;
	}
	elf_file_dynamic_strings(elf, DT_RPATH, try_directories, l);
	if (environment)
		try_directories(l, environment);
	elf_file_dynamic_strings(elf, DT_RUNPATH, try_directories, l);
	if (!l->c->loaded.can_hold || !*l->directory)
		try_directories(l, SYSTEM_DIRECTORIES);
}

static void find_library(void *context, const char *name)
{
	struct linked_search *l = context;

	if (search_is_over(l))
		return;
	/* A file may name one any number of times. */
	if (name_is_found(l, name)) {
		l->tries++;
		return;
	}
	search_library(l, name);
	if (!l->found || l->n_names == LINKED_AT_MOST)
		return;
	l->names[l->n_names] = strdup(name);
	l->n_names += l->names[l->n_names] != NULL;
}

/* Whose permissions count. Returns false if there are none, or the process has another root: its paths lead elsewhere. */
static bool find_requester(struct requester *r, pid_t pid, const struct stat *program)
{
	char path[32];
	int directory;
	bool found;

	if (!pid) {
		requester_by_owner(r, program);
		return true;
	}
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0)
		return false;
	found = !requester_of_process(r, directory) && process_has_our_root(directory);
	close(directory);
	return found;
}

void libraries_expect(struct capture *c, const struct file *program, pid_t pid,
		      const char *directory)
{
	struct linked_search l = { .c = c, .pid = pid, .directory = directory };
	char link[32], path[PATH_MAX];
	struct stat st;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", program->fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n < 0 ? 0 : n] = '\0';
	/* In a container the path leads elsewhere. */
	if (!program->elf || stat(path, &st) || st.st_dev != program->st_dev ||
	    st.st_ino != program->st_ino || !find_requester(&l.requester, pid, &st))
		return;
	l.files = calloc(LINKED_AT_MOST, sizeof(*l.files));
	l.names = calloc(LINKED_AT_MOST, sizeof(*l.names));
	if (!l.files || !l.names) {
		free(l.files);
		free(l.names);
		return;
	}
	/* To attach may take as long as it needs while nothing is held. */
	l.until_ns = *directory ? monotonic_now() + WITHIN_NS : UINT64_MAX;
	l.lookups_within_ns = *directory ? LOOKUPS_HELD_NS : LOOKUPS_NS;
	linked_add(&l, program, path);
	for (; l.at < l.n; l.at++)
		elf_file_dynamic_strings(l.files[l.at].file->elf, DT_NEEDED, find_library, &l);
	while (l.n)
		free(l.files[--l.n].path);
	while (l.n_names)
		free(l.names[--l.n_names]);
	free(l.files);
	free(l.names);
}

int file_expect(struct capture *c, int fd, pid_t pid, struct failure *f)
{
	char link[32], path[PATH_MAX];
	const struct file *file;
	enum file_news news;
	struct file_key key;
	int error = 0;
	ssize_t n;

	if (fd < 0 || !files_key_of(c, fd, NULL, &key))
		return 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n < 0 ? 0 : n] = '\0';
	c->expects = true;
	if (!files_known(c, &key, pid, &news))
		error = files_add(c, fcntl(fd, F_DUPFD_CLOEXEC, 0), &key, path, pid, NULL, &news,
				  f);
	c->expects = false;
	file = files_find(c, &key);
	if (error || !file)
		return error;
	if (c->stacks)
		stacks_expect_file(c->stacks, file);
	libraries_expect(c, file, pid, "");
	file_set_expected(c, file);
	return 0;
}

/*
 * Whether nothing is to be done for one more process that executes these files, which are attached to for all: a library
 * that is another one by now is attached to when it is mapped, as any that was not found.
 */
bool files_are_expected(struct capture *c, const int *fds, unsigned n)
{
	if (capture_attaches_each(c) || !c->loaded.can_hold || c->stacks)
		return false;
	for (unsigned i = 0; i < n; i++) {
		const struct file *file;
		enum file_news news;
		struct file_key key;

		if (!files_key_of(c, fds[i], NULL, &key) || !files_known(c, &key, 0, &news))
			return false;
		file = files_find(c, &key);
		if (!file || !file->is_expected || file->refused || file->alone)
			return false;
	}
	return n > 0;
}

void file_expect_for_all(struct capture *c, int fd)
{
	struct failure f = { 0 };

	if (file_expect(c, fd, 0, &f))
		files_report_refused(c, f.object, &f);
}

static int find_libc(void *context, const struct mapping *m)
{
	const char *base = strrchr(m->path, '/');

	if (!base || (strncmp(base, "/libc.so", 8) && strncmp(base, "/libc-2.", 8)))
		return 0;
	*(int *)context = open(m->path, O_RDONLY | O_CLOEXEC);
	return 1;
}

void libc_expect(struct capture *c)
{
	int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC), fd = -1;

	if (maps < 0)
		return;
	maps_read(maps, find_libc, &fd);
	close(maps);
	if (fd < 0)
		return;
	file_expect_for_all(c, fd);
	close(fd);
}

/* --- libraries that may be opened -------------------------------------------------------------------- */

static void siblings_begin(struct capture *c, int folder)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	unsigned n = 0;

	if (!list && fd >= 0)
		close(fd);
	while (list && n <= SIBLINGS_AT_MOST && readdir(list))
		n++;
	if (list && n > SIBLINGS_AT_MOST) {
		closedir(list);
		return;
	}
	if (list)
		rewinddir(list);
	c->siblings.list = list;
}

static void siblings_note_folder(struct capture *c, int folder, const struct requester *requester)
{
	struct siblings *s = &c->siblings;
	struct sibling_folder *known = s->folders, *end = known + s->n;
	struct stat st;

	if (fstat(folder, &st) || file_is_served(folder))
		return;
	while (known < end && (known->device != st.st_dev || known->inode != st.st_ino))
		known++;
	if (known == end && s->n < SIBLING_FOLDERS) {
		*known = (struct sibling_folder){ st.st_dev, st.st_ino, c->scans.n };
		s->n++;
	} else if (known < end && known->scan && known->scan != c->scans.n && !s->list) {
		known->scan = 0;
		s->requester = *requester;
		siblings_begin(c, folder);
	}
}

void siblings_note(struct capture *c, const char *path, pid_t pid, const struct file *file)
{
	const struct capture_options *o = &c->options;
	const char *base = strrchr(path, '/');
	struct requester requester;
	char folder[PATH_MAX];
	struct stat st;
	int fd;

	/* With these, a file without markers may have something to attach to, or is read by others. */
	if (c->stacks || o->n_usdt || o->n_functions || !c->scans.n || !base ||
	    base - path >= PATH_MAX || file_is_served(file->fd))
		return;
	/* In a container the path leads elsewhere. */
	if (stat(path, &st) || st.st_dev != file->st_dev || st.st_ino != file->st_ino ||
	    !find_requester(&requester, pid, &st))
		return;
	snprintf(folder, sizeof(folder), "%.*s", (int)(base - path), path);
	fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	siblings_note_folder(c, fd, &requester);
	close(fd);
}

static void sibling_add(struct capture *c, const char *name)
{
	int place = openat(dirfd(c->siblings.list), name, O_PATH | O_NOFOLLOW | O_CLOEXEC), fd;
	struct file_key key;
	struct stat st;

	if (place < 0)
		return;
	if (fstat(place, &st) || time(NULL) - st.st_ctime < SIBLING_LEAST_AGE ||
	    file_is_served(place) || !requester_may(&c->siblings.requester, place, &st, S_IROTH)) {
		close(place);
		return;
	}
	fd = open_stored_file(place);
	if (fd >= 0 &&
	    (files_full(c, NULL) || !files_key_of(c, fd, NULL, &key) || files_find(c, &key)))
		close(fd);
	else if (fd >= 0)
		files_add_plain(c, fd, &key);
}

bool siblings_look(struct capture *c)
{
	uint64_t until_ns = monotonic_now() + SIBLINGS_EACH_NS;
	struct dirent *entry;

	if (!c->siblings.list)
		return false;
	while (!c->stopping && (entry = readdir(c->siblings.list))) {
		if (strstr(entry->d_name, ".so"))
			sibling_add(c, entry->d_name);
		if (monotonic_now() > until_ns)
			return true;
	}
	closedir(c->siblings.list);
	c->siblings.list = NULL;
	return false;
}
