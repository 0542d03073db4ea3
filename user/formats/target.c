/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens, renames and removes the file of an output: see target.h. */
#include "formats/target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	LONGEST_ENDING = 16, /* .pftrace, .json.gz: what is longer is a part of the name */
};

static int random_letters(char *out, size_t n)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
	unsigned char bytes[16];

	if (getrandom(bytes, n, 0) != (ssize_t)n)
		return -EIO;
	for (size_t i = 0; i < n; i++)
		out[i] = letters[bytes[i] % 32];
	return 0;
}

static int target_create_temporary(struct target *target)
{
	/* ".", ".XXXXXXXX.tmp" and as much of the name as fits into NAME_MAX bytes with them. */
	char name[256];
	char unique[9] = "";

	for (int tries = 0; tries < 16; tries++) {
		int r = random_letters(unique, 8);

		if (r < 0)
			return r;
		snprintf(name, sizeof(name), ".%.*s.%s.tmp", 240, target->name, unique);
		target->fd = openat(target->directory, name,
				    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (target->fd >= 0) {
			target->temporary = strdup(name);
			if (target->temporary)
				return 0;
			unlinkat(target->directory, name, 0);
			return -ENOMEM;
		}
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

/* The owner of a symbolic link decides where it leads, so one of another user is not followed. */
static bool target_is_own_link(const struct stat *st)
{
	return S_ISLNK(st->st_mode) && (st->st_uid == 0 || st->st_uid == geteuid());
}

/*
 * Only root makes devices, but everybody makes FIFOs, and in a directory that many may write to, such as /tmp, a
 * FIFO of another user may wait under the name of an output. protected_fifos of the kernel guards only opens with
 * O_CREAT. A FIFO that another user made for us on purpose can be written to through standard output.
 */
static bool target_is_own_special(const struct stat *st)
{
	return !(S_ISFIFO(st->st_mode) || S_ISSOCK(st->st_mode)) || st->st_uid == 0 ||
	       st->st_uid == geteuid();
}

/* Opens a device, a pipe or a terminal with O_PATH, which has no side effect. Returns negative errno if refused. */
static int target_find_special(const char *path)
{
	struct stat st;
	int place = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (place < 0 || fstat(place, &st))
		goto failed;
	if (target_is_own_link(&st)) {
		close(place);
		place = open(path, O_PATH | O_CLOEXEC);
		if (place < 0 || fstat(place, &st))
			goto failed;
	}
	if (S_ISLNK(st.st_mode) || !target_is_own_special(&st))
		errno = EPERM;
	else if (S_ISREG(st.st_mode))
		errno = EEXIST;
	else
		return place;
failed:
	if (place >= 0)
		close(place);
	return -errno;
}

/* Opens the file that was checked through /proc: another file may have its name by now. */
static int target_open_special(struct target *target)
{
	int place = target_find_special(target->path);
	char path[32];

	if (place < 0)
		return place;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
	target->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	close(place);
	return target->fd < 0 ? -errno : 0;
}

/* Reports now, before anything was recorded, what would make the rename fail. */
static int target_check_rename(const struct target *target)
{
	struct stat dir, old;
	uid_t me = geteuid();

	if (strlen(target->name) > NAME_MAX)
		return -ENAMETOOLONG;
	if (fstat(target->directory, &dir) < 0)
		return -errno;
	if (!(dir.st_mode & S_ISVTX) || me == 0 || me == dir.st_uid)
		return 0;
	if (fstatat(target->directory, target->name, &old, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	return old.st_uid == me ? 0 : -EPERM;
}

static int target_open_regular(struct target *target, bool later)
{
	const char *slash = strrchr(target->path, '/');
	char *directory;
	int r;

	target->name = slash ? slash + 1 : target->path;
	if (!target->name[0])
		return -EISDIR;
	if (!slash)
		directory = strdup(".");
	else
		directory = strndup(target->path, slash == target->path ? 1 : slash - target->path);
	if (!directory)
		return -ENOMEM;
	target->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(directory);
	if (target->directory < 0)
		return -errno;
	target->regular = true;
	r = target_check_rename(target);
	if (r == -EPERM && later)
		r = 0;
	return r < 0 ? r : target_create_temporary(target);
}

/* /dev/stdout and /dev/stderr are symbolic links; a rename would replace the regular file they may lead to. */
static int target_standard_stream(const char *path)
{
	if (!strcmp(path, "-") || !strcmp(path, "/dev/stdout"))
		return STDOUT_FILENO;
	return strcmp(path, "/dev/stderr") ? -1 : STDERR_FILENO;
}

static int target_open_path(struct target *target, bool later)
{
	int stream = target_standard_stream(target->path), r;
	struct stat st;

	if (stream >= 0) {
		target->fd = fcntl(stream, F_DUPFD_CLOEXEC, 3);
		return target->fd < 0 ? -errno : 0;
	}
	if (!target->path[0])
		return -ENOENT;
	if (stat(target->path, &st) == 0 && !S_ISREG(st.st_mode)) {
		r = S_ISDIR(st.st_mode) ? -EISDIR : target_open_special(target);
		/* Somebody may replace it meanwhile: then it is no special file any more, or is gone. */
		if (!later ||
		    (r != -EISDIR && r != -EPERM && r != -EEXIST && r != -ENOENT && r != -ELOOP))
			return r;
	}
	return target_open_regular(target, later);
}

int target_open(struct target *target, const char *path, bool later)
{
	*target = (struct target){ .path = strdup(path), .directory = -1, .fd = -1 };
	return target->path ? target_open_path(target, later) : -ENOMEM;
}

/* The ending, by which people and programs tell formats apart; of NAME.json.gz both parts. */
static size_t name_stem_length(const char *name)
{
	const char *dot = strrchr(name, '.'), *before = dot;

	if (!dot || dot == name || strlen(dot) > LONGEST_ENDING)
		return strlen(name);
	if (strcmp(dot, ".gz") != 0)
		return (size_t)(dot - name);
	while (before > name && *--before != '.')
		;
	return (size_t)((before > name && dot - before <= LONGEST_ENDING ? before : dot) - name);
}

/* Others can read the letters of the temporary name, and take a name that has these. */
static int target_other_name(const struct target *target, char out[NAME_MAX + 1])
{
	size_t stem = name_stem_length(target->name);
	char unique[9] = "";
	int r = random_letters(unique, 8);

	if (!r)
		snprintf(out, NAME_MAX + 1, "%.*s.%s%s", (int)(stem < 200 ? stem : 200),
			 target->name, unique, target->name + stem);
	return r;
}

static int target_rename_to(const struct target *target, const char *name)
{
	return renameat(target->directory, target->temporary, target->directory, name) < 0 ? -errno
											   : 0;
}

/* The path of another name in the directory; NULL without memory. */
static char *target_path_of(const struct target *target, const char *name)
{
	char *path;

	return asprintf(&path, "%.*s%s", (int)(target->name - target->path), target->path, name) < 0
		       ? NULL
		       : path;
}

static void target_set_path(struct target *target, char *path, int refused)
{
	target->name = path + (target->name - target->path);
	free(target->path);
	target->path = path;
	target->refused = refused;
}

static int target_place_elsewhere(struct target *target, int refused)
{
	char name[NAME_MAX + 1], *path;
	int r = target_other_name(target, name);

	if (r)
		return r;
	path = target_path_of(target, name);
	r = path ? target_rename_to(target, name) : -ENOMEM;
	if (r)
		free(path);
	else
		target_set_path(target, path, refused);
	return r;
}

static void target_forget_temporary(struct target *target)
{
	free(target->temporary);
	target->temporary = NULL;
}

int target_place(struct target *target)
{
	int refused = target->temporary ? target_rename_to(target, target->name) : 0;

	if (refused && target_place_elsewhere(target, refused))
		return refused;
	target_forget_temporary(target);
	return 0;
}

void target_keep_temporary(struct target *target, int refused)
{
	char *path = target_path_of(target, target->temporary);

	if (path)
		target_set_path(target, path, refused);
	/* Without memory nobody can say where it lies. */
	target->refused = refused;
	target_forget_temporary(target);
}

void target_remove(struct target *target)
{
	unlinkat(target->directory, target->temporary, 0);
	target_forget_temporary(target);
}

void target_close(struct target *target)
{
	if (target->fd >= 0)
		close(target->fd);
	if (target->directory >= 0)
		close(target->directory);
	free(target->path);
}
