/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files that are within the quota. The list is text: "DEVICE INODE NAME" in each line. Whoever else can write to the
 * directory could have put a list there, so one of another user is refused, and a name is only removed in this directory and
 * only if it still is that file.
 */
#include "record/quota.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"

#define MOST_FILES  100000 /* at the end of a recording, each is looked at */
#define TEXT_OF(x)  TEXT_OF_(x)
#define TEXT_OF_(x) #x

enum {
	LONGEST_LINE = 512, /* two numbers and a name of NAME_MAX bytes */
};

struct quota_file {
	dev_t device;
	ino_t inode;
	uint64_t bytes;
	char *name;
};

struct quota {
	int directory, lock;
	uint64_t limit, bytes, removed;
	struct quota_file *files; /* the oldest first */
	uint32_t n, capacity;
};

static bool quota_file_exists(const struct quota *q, const struct quota_file *file,
			      uint64_t *ret_bytes)
{
	struct stat st;

	if (fstatat(q->directory, file->name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode) ||
	    st.st_dev != file->device || st.st_ino != file->inode)
		return false;
	*ret_bytes = (uint64_t)st.st_size;
	return true;
}

/* A file that does not exist, or is another one by now, is left out. */
static int quota_add_name(struct quota *q, const char *name, dev_t device, ino_t inode)
{
	struct quota_file file = { .device = device, .inode = inode, .name = (char *)name };

	if (!*name || strchr(name, '/') || strchr(name, '\n') ||
	    !quota_file_exists(q, &file, &file.bytes))
		return 0;
	if (q->n == MOST_FILES)
		return -E2BIG;
	if (!array_reserve(q->files, q->n, q->capacity, 16))
		return -ENOMEM;
	file.name = strdup(name);
	if (!file.name)
		return -ENOMEM;
	q->files[q->n++] = file;
	q->bytes += file.bytes;
	return 0;
}

int quota_add(struct quota *q, const char *path, dev_t device, ino_t inode)
{
	const char *slash = strrchr(path, '/');

	return quota_add_name(q, slash ? slash + 1 : path, device, inode);
}

/* Lines that are not of this form are ignored: what they name is not removed. */
static int quota_read_list(struct quota *q, FILE *list)
{
	char line[LONGEST_LINE];
	int error = 0;

	while (!error && fgets(line, sizeof(line), list)) {
		uintmax_t device, inode;
		int at = 0;

		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%ju %ju %n", &device, &inode, &at) == 2 && at)
			error = quota_add_name(q, line + at, (dev_t)device, (ino_t)inode);
	}
	return error;
}

static int quota_load(struct quota *q, const char **ret_refusal)
{
	int fd = openat(q->directory, QUOTA_LIST, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	FILE *list = NULL;
	struct stat st;
	int error = 0;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid()) {
		*ret_refusal = "its list '" QUOTA_LIST "' was made by another user";
		error = -EPERM;
	}
	if (!error)
		list = fdopen(fd, "r");
	if (!list) {
		close(fd);
		return error ? error : -ENOMEM;
	}
	error = quota_read_list(q, list);
	fclose(list);
	return error;
}

static int quota_save(struct quota *q)
{
	FILE *list = NULL;
	int fd, error = 0;

	unlinkat(q->directory, QUOTA_LIST_NEXT, 0);
	fd = openat(q->directory, QUOTA_LIST_NEXT,
		    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0)
		list = fdopen(fd, "w");
	if (!list) {
		error = -errno;
		if (fd >= 0)
			close(fd);
		return error;
	}
	for (size_t i = 0; i < q->n; i++)
		fprintf(list, "%ju %ju %s\n", (uintmax_t)q->files[i].device,
			(uintmax_t)q->files[i].inode, q->files[i].name);
	if (fflush(list) || fsync(fd))
		error = -errno;
	if (fclose(list) && !error)
		error = -errno;
	if (!error && renameat(q->directory, QUOTA_LIST_NEXT, q->directory, QUOTA_LIST))
		error = -errno;
	return error;
}

/* Files that somebody else removed, --keep for example. */
static void quota_look_again(struct quota *q)
{
	q->bytes = 0;
	for (size_t i = 0; i < q->n; i++) {
		struct quota_file *file = &q->files[i];

		if (!quota_file_exists(q, file, &file->bytes))
			file->bytes = 0;
		q->bytes += file->bytes;
	}
}

int quota_apply(struct quota *q, void (*removed)(void *context, dev_t device, ino_t inode),
		void *context)
{
	bool over = true;
	size_t i, n = 0;

	quota_look_again(q);
	for (i = 0; i < q->n; i++) {
		struct quota_file *file = &q->files[i];

		over = over && q->bytes > q->limit;
		if (!over && file->bytes) {
			q->files[n++] = *file;
			continue;
		}
		if (file->bytes && !unlinkat(q->directory, file->name, 0))
			q->removed++;
		if (removed)
			removed(context, file->device, file->inode);
		q->bytes -= file->bytes;
		free(file->name);
	}
	q->n = n;
	return quota_save(q);
}

static int quota_open_directory(const char *output)
{
	const char *slash = strrchr(output, '/');
	char *path = slash ? strndup(output, (size_t)(slash - output) + 1) : strdup(".");
	int fd;

	if (!path)
		return -ENOMEM;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	free(path);
	return fd;
}

/* What is there already is examined before it is opened: it may be another user's FIFO. */
static int quota_open_lock(const struct quota *q, const char **ret_refusal)
{
	int fd = openat(q->directory, QUOTA_LOCK, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600),
	    place;
	struct stat st;
	char path[32];

	if (fd >= 0 || errno != EEXIST)
		return fd < 0 ? -errno : fd;
	place = openat(q->directory, QUOTA_LOCK, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	if (place < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
	if (fstat(place, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    st.st_mode & 077) {
		*ret_refusal = "others may lock its file '" QUOTA_LOCK "'";
		fd = -EPERM;
	} else {
		fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
		fd = fd < 0 ? -errno : fd;
	}
	close(place);
	return fd;
}

/*
 * Of one recording at a time. Whoever may open a file, or a directory, can lock it, and keep recordings from it: so it is a
 * file that nobody else can open.
 */
static int quota_lock(struct quota *q, const char **ret_refusal)
{
	q->lock = quota_open_lock(q, ret_refusal);
	if (q->lock < 0)
		return q->lock;
	if (!flock(q->lock, LOCK_EX | LOCK_NB))
		return 0;
	if (errno == EWOULDBLOCK)
		*ret_refusal = "another recording keeps a quota there";
	return -errno;
}

/* On a full disk the list stays the old one: the same files, and names of some that were removed, which are ignored. */
static int quota_apply_first(struct quota *q)
{
	int error = quota_apply(q, NULL, NULL);

	return error == -ENOSPC || error == -EDQUOT ? 0 : error;
}

const char *quota_refusal(int error)
{
	return error == -E2BIG ? "the list '" QUOTA_LIST
				 "' has more than " TEXT_OF(MOST_FILES) " files"
			       : NULL;
}

int quota_open(const char *output, uint64_t limit, struct quota **ret_quota, struct failure *f)
{
	const char *refusal = NULL;
	struct quota *q = calloc(1, sizeof(*q));
	int error = -ENOMEM;

	if (q) {
		q->limit = limit;
		q->lock = -1;
		error = q->directory = quota_open_directory(output);
	}
	if (error >= 0)
		error = quota_lock(q, &refusal);
	if (!error)
		error = quota_load(q, &refusal);
	if (!error)
		error = quota_apply_first(q);
	if (!error) {
		*ret_quota = q;
		return 0;
	}
	quota_close(q);
	failure_set(f, error, "cannot keep --quota beside", output,
		    refusal ? refusal : quota_refusal(error));
	if (error == -E2BIG)
		failure_hint(f, "remove old traces there, or write to another directory with -o "
				"NAME");
	return error;
}

void quota_close(struct quota *q)
{
	if (!q)
		return;
	while (q->n)
		free(q->files[--q->n].name);
	free(q->files);
	if (q->lock >= 0)
		close(q->lock);
	if (q->directory >= 0)
		close(q->directory);
	free(q);
}

uint64_t quota_bytes(const struct quota *q)
{
	return q->bytes;
}

uint64_t quota_removed(const struct quota *q)
{
	return q->removed;
}
