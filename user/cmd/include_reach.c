/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The mode of a file says nothing of the directories that keep others away from it. The path that was named
 * says little, too: it may lead over links, and these may change meanwhile. So the kernel is asked where
 * the file that it found is, and that path, which has no links, is gone again directory by directory. What
 * counts is that this way leads to that very file: then the asker could have gone it.
 */
#include "cmd/include_reach.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool owns(const struct asker *asker, const struct stat *st)
{
	return asker->known ? asker->uid == st->st_uid : asker->or_us && st->st_uid == geteuid();
}

bool asker_may_read(const struct asker *asker, const struct stat *st)
{
	if (st->st_mode & S_IROTH || (asker->known && !asker->uid))
		return true;
	return owns(asker, st);
}

static bool may_enter(const struct asker *asker, int directory)
{
	struct stat st;

	if (fstat(directory, &st) || !S_ISDIR(st.st_mode))
		return false;
	return st.st_mode & S_IXOTH || (st.st_mode & S_IXUSR && owns(asker, &st));
}

/* One that has been deleted, or lies outside all that can be seen, has one that leads nowhere. */
static int path_of(int fd, char path[PATH_MAX])
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

/* The rest of the path behind that of the directory, without a slash; NULL: it is not beneath it. */
static char *beneath(char *path, const char *directory)
{
	size_t n = strlen(directory);

	if (n == 1)
		return path + 1;
	return strncmp(path, directory, n) || path[n] != '/' ? NULL : path + n + 1;
}

static int step(int directory, const char *name)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH,
	};

	return (int)syscall(SYS_openat2, directory, name, &how, sizeof(how));
}

static bool is_same(int a, int b)
{
	struct stat sa, sb;

	return !fstat(a, &sa) && !fstat(b, &sb) && sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

/* Takes the descriptor of where it begins. */
static int walk(const struct asker *asker, int at, char *path, int place)
{
	char *name, *rest = NULL;
	bool may;
	int next;

	for (name = strtok_r(path, "/", &rest); name && at >= 0;
	     name = strtok_r(NULL, "/", &rest)) {
		next = may_enter(asker, at) ? step(at, name) : -1;
		close(at);
		at = next;
	}
	if (at < 0)
		return -EACCES;
	may = is_same(at, place);
	close(at);
	return may ? 0 : -EACCES;
}

int asker_may_reach(const struct asker *asker, int base, int place)
{
	char from[PATH_MAX], to[PATH_MAX], *path;
	int error;

	/* What it could not, we cannot either; and nothing is closed to root. */
	if (asker->known && (!asker->uid || asker->uid == geteuid()))
		return 0;
	error = path_of(base, from);
	if (!error)
		error = path_of(place, to);
	if (error)
		return error;
	path = beneath(to, from);
	if (path)
		return walk(asker, fcntl(base, F_DUPFD_CLOEXEC, 0), path, place);
	return walk(asker, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), to, place);
}
