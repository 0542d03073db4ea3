/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks whether the user of a program can reach a file.
 *
 * The mode of a file does not show whether its directories keep others out. The path that the
 * program named does not show it either: it may contain links, and these may change meanwhile. So
 * the kernel is asked for the path of the opened file, which contains no links. That path is opened
 * again, directory by directory. If the user may enter each directory, and the path leads to the
 * same file, the user could have opened it.
 */
#include "record/include_access.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

/*
 * Whether everybody has this permission, which is that of others. It does not hold for whom an access control list excludes,
 * nor for the group of the file, if that has less: which groups the user has is not known.
 */
static bool everybody_may(int fd, const struct stat *st, mode_t of_others)
{
	const mode_t all = of_others | of_others << 3;
	char path[32];

	if ((st->st_mode & all) != all)
		return false;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return getxattr(path, "system.posix_acl_access", NULL, 0) < 0 &&
	       (errno == ENODATA || errno == EOPNOTSUPP);
}

bool requester_may_read(uid_t requester, int fd, const struct stat *st)
{
	return !requester || requester == st->st_uid || everybody_may(fd, st, S_IROTH);
}

static bool requester_may_enter(uid_t requester, int directory)
{
	struct stat st;

	if (fstat(directory, &st) || !S_ISDIR(st.st_mode))
		return false;
	return requester == st.st_uid ? st.st_mode & S_IXUSR
				      : everybody_may(directory, &st, S_IXOTH);
}

/* A deleted file, or one outside of our root, has a path that leads nowhere. */
static int access_descriptor_path(int fd, char path[PATH_MAX])
{
	char link[32];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, PATH_MAX - 1);
	if (n <= 0 || n >= PATH_MAX - 1)
		return -EACCES;
	path[n] = '\0';
	return path[0] == '/' ? 0 : -EACCES;
}

/* The path relative to the directory; NULL: it is not beneath it. */
static char *access_path_beneath(char *path, const char *directory)
{
	size_t n = strlen(directory);

	if (n == 1)
		return path + 1;
	return strncmp(path, directory, n) || path[n] != '/' ? NULL : path + n + 1;
}

static int access_open_next(int directory, const char *name)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH,
	};

	return (int)syscall(SYS_openat2, directory, name, &how, sizeof(how));
}

static bool access_is_same_file(int a, int b)
{
	struct stat sa, sb;

	return !fstat(a, &sa) && !fstat(b, &sb) && sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

/* Consumes the descriptor `at`, the directory at which the path begins. */
static int access_walk_path(uid_t requester, int at, char *path, int place)
{
	char *name, *rest = NULL;
	bool may;
	int next;

	for (name = strtok_r(path, "/", &rest); name && at >= 0;
	     name = strtok_r(NULL, "/", &rest)) {
		next = requester_may_enter(requester, at) ? access_open_next(at, name) : -1;
		close(at);
		at = next;
	}
	if (at < 0)
		return -EACCES;
	may = access_is_same_file(at, place);
	close(at);
	return may ? 0 : -EACCES;
}

int requester_may_open(uid_t requester, int base, int place)
{
	char from[PATH_MAX], to[PATH_MAX], *path = NULL;
	int error;

	/* The recorder has no more permissions than this user, or the user is root. */
	if (!requester || requester == geteuid())
		return 0;
	error = access_descriptor_path(place, to);
	if (!error && base >= 0) {
		error = access_descriptor_path(base, from);
		path = error ? NULL : access_path_beneath(to, from);
	}
	if (error)
		return error;
	if (path)
		return access_walk_path(requester, fcntl(base, F_DUPFD_CLOEXEC, 0), path, place);
	return access_walk_path(requester, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), to, place);
}
