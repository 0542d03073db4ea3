/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a file names the libraries that it is linked with: at a path, or in the directories of DT_RPATH, LD_LIBRARY_PATH and
 * DT_RUNPATH, and in the standard directories before a command of ours begins, which then need not be held at its begin, and
 * where threads cannot be held.
 */
#include "capture/libraries/internal.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/descriptors.h"

#include "privilege/living_thread.h"

#define LINKED_AT_MOST 1024 /* libraries of a program, and of these */
#define TRIES_AT_MOST  8192 /* paths: a file may name any number */
#ifdef __x86_64__
#define SYSTEM_DIRECTORIES "/lib/x86_64-linux-gnu:/lib64:/usr/lib64:/usr/lib:/lib"
#else
#define SYSTEM_DIRECTORIES "/lib/aarch64-linux-gnu:/lib64:/usr/lib64:/usr/lib:/lib"
#endif

void linked_add(struct linked_search *l, const struct file *file, const char *path)
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

/* The directory of a relative path is itself a magic link, and the only one that is followed. */
static int library_place(const struct linked_search *l, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS };
	size_t n = strlen(l->directory);
	int from = AT_FDCWD, place;

	if (l->cached_only)
		how.resolve |= RESOLVE_CACHED;
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

/* Whether its file system asks nobody, by its device: to ask for its type may ask somebody as well. */
static bool place_is_local(const struct linked_search *l, int place)
{
	struct stat st;

	return !descriptors_stat(place, &st) && (major(st.st_dev) || st.st_dev == l->device);
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
	if (l->cached_only && !place_is_local(l, place)) {
		close(place);
		return -1;
	}
	if ((r->uid && r->uid == geteuid()) ||
	    (!fstat(place, &st) && requester_may(r, place, &st, S_IROTH) &&
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
		l->expect(l, fd, path);
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

bool linked_find_requester(struct requester *r, pid_t pid, const struct stat *program)
{
	int directory;
	bool found;

	if (!pid) {
		requester_by_owner(r, program);
		return true;
	}
	directory = open_living_thread(pid);
	if (directory < 0)
		return false;
	found = !requester_of_process(r, directory) && process_has_our_root(directory);
	close(directory);
	return found;
}

bool linked_begin(struct linked_search *l)
{
	l->files = calloc(LINKED_AT_MOST, sizeof(*l->files));
	l->names = calloc(LINKED_AT_MOST, sizeof(*l->names));
	if (l->files && l->names)
		return true;
	linked_end(l);
	return false;
}

void linked_search_next(struct linked_search *l)
{
	elf_file_dynamic_strings(l->files[l->at].file->elf, DT_NEEDED, find_library, l);
	l->at++;
}

void linked_end(struct linked_search *l)
{
	while (l->n)
		free(l->files[--l->n].path);
	while (l->n_names)
		free(l->names[--l->n_names]);
	free(l->files);
	free(l->names);
	l->files = NULL;
	l->names = NULL;
	l->at = 0;
}
