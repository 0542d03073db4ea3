/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs with plug-ins open one after the other, in each of their processes, and each time a thread is held although most
 * have nothing to attach to. So when a second library of a folder is opened, all files there, and the libraries that these are
 * linked with, are read at moments in which no thread is held, and for those without markers no thread is held later.
 *
 * The plug-ins choose where these libraries are searched for, and a file system there may never answer. So only what the kernel
 * has in its cache of names is found: what somebody has opened lately.
 */
#include "capture/libraries/internal.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "capture/file_limits.h"

#define SIBLINGS_AT_MOST  256	   /* files in a folder: a folder of the system has thousands */
#define SIBLINGS_EACH_NS  1000000  /* at once, as threads may be held meanwhile */
#define LINKED_EACH_NS	  10000000 /* for the libraries of one file, which may name any number */
#define SIBLING_LEAST_AGE 10	   /* seconds: a younger file may still be written */

/* Whether it is not being written, and reading it asks nobody. */
static bool file_is_settled(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && time(NULL) - st.st_ctime >= SIBLING_LEAST_AGE &&
	       !file_is_served(fd);
}

/* One with markers is attached to when it is mapped. */
static void expect_plain(struct linked_search *l, int fd, const char *path)
{
	struct capture *c = l->c;
	struct file_key key;

	l->found = files_key_of(c, fd, NULL, &key);
	if (l->found && !files_find(c, &key) && !files_full(c, NULL) && file_is_settled(fd))
		files_add_plain(c, fd, &key, path);
	else
		close(fd);
	if (l->found)
		linked_add(l, files_find(c, &key), path);
}

void siblings_end(struct capture *c)
{
	struct siblings *s = &c->siblings;

	if (s->list)
		closedir(s->list);
	if (s->linked)
		linked_end(s->linked);
	free(s->linked);
	free(s->folder);
	s->list = NULL;
	s->is_listed = false;
	s->linked = NULL;
	s->folder = NULL;
}

static void siblings_begin(struct capture *c, int folder, dev_t device, const char *path)
{
	struct siblings *s = &c->siblings;
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
	if (!list)
		return;
	rewinddir(list);
	s->list = list;
	s->folder = strdup(path);
	s->linked = calloc(1, sizeof(*s->linked));
	if (!s->folder || !s->linked) {
		siblings_end(c);
		return;
	}
	*s->linked = (struct linked_search){ .c = c,
					     .requester = s->requester,
					     .directory = "",
					     .device = device,
					     .cached_only = true,
					     .expect = expect_plain,
					     .lookups_within_ns = LOOKUPS_HELD_NS };
	if (!linked_begin(s->linked))
		siblings_end(c);
}

static void siblings_note_folder(struct capture *c, int folder, const char *path,
				 const struct requester *requester)
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
		siblings_begin(c, folder, st.st_dev, path);
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
	    !linked_find_requester(&requester, pid, &st))
		return;
	snprintf(folder, sizeof(folder), "%.*s", (int)(base - path), path);
	fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	siblings_note_folder(c, fd, folder, &requester);
	close(fd);
}

static void sibling_add(struct capture *c, const char *name)
{
	struct siblings *s = &c->siblings;
	int place = openat(dirfd(s->list), name, O_PATH | O_NOFOLLOW | O_CLOEXEC), fd;
	char path[PATH_MAX];
	struct stat st;

	if (place < 0)
		return;
	if (fstat(place, &st) || !file_is_settled(place) ||
	    !requester_may(&s->requester, place, &st, S_IROTH) ||
	    snprintf(path, sizeof(path), "%s/%s", s->folder, name) >= (int)sizeof(path)) {
		close(place);
		return;
	}
	fd = open_stored_file(place);
	if (fd >= 0)
		expect_plain(s->linked, fd, path);
}

/* The next one of the folder, and then the libraries of those. Returns false if there is nothing more. */
static bool siblings_read_next(struct capture *c)
{
	struct siblings *s = &c->siblings;
	struct dirent *entry = s->is_listed ? NULL : readdir(s->list);

	s->is_listed = !entry;
	if (entry && strstr(entry->d_name, ".so"))
		sibling_add(c, entry->d_name);
	if (entry)
		return true;
	if (s->linked->at >= s->linked->n)
		return false;
	linked_search_next(s->linked);
	return true;
}

bool siblings_look(struct capture *c)
{
	struct siblings *s = &c->siblings;
	const uint64_t began_ns = monotonic_now();

	if (!s->list)
		return false;
	s->linked->until_ns = began_ns + LINKED_EACH_NS;
	while (!c->stopping && siblings_read_next(c)) {
		if (monotonic_now() > began_ns + SIBLINGS_EACH_NS)
			return true;
	}
	siblings_end(c);
	return false;
}
