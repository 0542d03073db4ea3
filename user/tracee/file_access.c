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
#include "tracee/file_access.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

/* --- the user ------------------------------------------------------------------------------------ */

static void requester_add_group(struct requester *r, unsigned long group)
{
	if (r->n_groups >= 0 && r->n_groups < REQUESTER_GROUPS)
		r->groups[r->n_groups++] = (gid_t)group;
	else
		r->n_groups = -1;
}

static size_t read_text(int directory, const char *name, char *text, size_t size)
{
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[n < 0 ? 0 : n] = '\0';
	return n < 0 ? 0 : (size_t)n;
}

/* In a user namespace with other users, capabilities are for the files of those alone. */
static bool has_capabilities(int directory, const char *status)
{
	const uint64_t needed = 1ull << CAP_DAC_OVERRIDE | 1ull << CAP_DAC_READ_SEARCH;
	const char *line = strstr(status, "\nCapEff:\t");
	char own[512], its[512];

	return line && strtoull(line + 9, NULL, 16) & needed &&
	       read_text(directory, "uid_map", its, sizeof(its)) &&
	       read_text(AT_FDCWD, "/proc/self/uid_map", own, sizeof(own)) && !strcmp(own, its);
}

/* The kernel escapes newlines in the name of a process, so each newline ends a line. */
int requester_of_process(struct requester *r, int directory)
{
	char text[8192], *line, *end;
	unsigned uid, gid;

	if (!read_text(directory, "status", text, sizeof(text)))
		return -ESRCH;
	line = strstr(text, "\nUid:");
	if (!line || sscanf(line, "\nUid: %*u %*u %*u %u", &uid) != 1)
		return -ESRCH;
	r->uid = uid;
	r->overrides = !uid && has_capabilities(directory, text);
	r->n_groups = 0;
	line = strstr(text, "\nGid:");
	if (!line || sscanf(line, "\nGid: %*u %*u %*u %u", &gid) != 1)
		return -ESRCH;
	requester_add_group(r, gid);
	line = strstr(text, "\nGroups:\t");
	end = line ? strchr(line + 1, '\n') : NULL;
	if (!end)
		r->n_groups = -1;
	for (line = line ? line + 9 : text; end && (line += strspn(line, " ")) < end;)
		requester_add_group(r, strtoul(line, &line, 10));
	return 0;
}

void requester_by_owner(struct requester *r, const struct stat *st)
{
	r->uid = st ? st->st_uid : (uid_t)-1;
	r->overrides = !r->uid;
	r->n_groups = -1;
}

/* --- modes --------------------------------------------------------------------------------------- */

static bool has_access_list(int fd)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return getxattr(path, "system.posix_acl_access", NULL, 0) >= 0 ||
	       (errno != ENODATA && errno != EOPNOTSUPP);
}

static bool requester_is_in(const struct requester *r, gid_t group)
{
	for (int i = 0; i < r->n_groups; i++) {
		if (r->groups[i] == group)
			return true;
	}
	return false;
}

/*
 * The kernel's rule, with the permission as others have it. If the groups of the user are not known, both the group of the file
 * and the others must have it; so must they if there is an access control list, which may exclude the user: with one, what is in the
 * place of the group is the most that the list gives to anybody.
 */
bool requester_may(const struct requester *r, int fd, const struct stat *st, mode_t of_others)
{
	const mode_t of_group = of_others << 3, all = of_others | of_group;

	if (r->overrides)
		return true;
	if (r->uid == st->st_uid)
		return st->st_mode & of_others << 6;
	if ((st->st_mode & all) != all && r->n_groups < 0)
		return false;
	if (has_access_list(fd))
		return false;
	return st->st_mode &
	       (r->n_groups >= 0 && requester_is_in(r, st->st_gid) ? of_group : of_others);
}

static bool requester_may_enter(const struct requester *r, int directory)
{
	struct stat st;

	return !fstat(directory, &st) && S_ISDIR(st.st_mode) &&
	       requester_may(r, directory, &st, S_IXOTH);
}

/* --- paths --------------------------------------------------------------------------------------- */

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
static int access_walk_path(const struct requester *r, int at, char *path, int place)
{
	char *name, *rest = NULL;
	bool may;
	int next;

	for (name = strtok_r(path, "/", &rest); name && at >= 0;
	     name = strtok_r(NULL, "/", &rest)) {
		next = requester_may_enter(r, at) ? access_open_next(at, name) : -1;
		close(at);
		at = next;
	}
	if (at < 0)
		return -EACCES;
	may = access_is_same_file(at, place);
	close(at);
	return may ? 0 : -EACCES;
}

int requester_may_open(const struct requester *r, int base, int place)
{
	char from[PATH_MAX], to[PATH_MAX], *path = NULL;
	int error;

	/* The recorder has no more permissions than this user, or the user has all. Root may have been left without them. */
	if (r->overrides || (r->uid && r->uid == geteuid()))
		return 0;
	error = access_descriptor_path(place, to);
	if (!error && base >= 0) {
		error = access_descriptor_path(base, from);
		path = error ? NULL : access_path_beneath(to, from);
	}
	if (error)
		return error;
	if (path)
		return access_walk_path(r, fcntl(base, F_DUPFD_CLOEXEC, 0), path, place);
	return access_walk_path(r, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), to, place);
}

/* --- file systems -------------------------------------------------------------------------------- */

/* Those without files in this sense, as in linux/magic.h and in the kernel's sources. */
static const unsigned not_for_files[] = {
	0x00009fa0, /* proc */
	0x62656572, /* sysfs */
	0x74726163, /* tracefs */
	0x64626720, /* debugfs */
	0x73636673, /* securityfs */
	0x5a3c69f0, /* apparmorfs */
	0xf97cff8c, /* selinuxfs */
	0x43415d53, /* smackfs */
	0x0027e0eb, /* cgroup */
	0x63677270, /* cgroup2 */
	0x07655821, /* resctrl */
	0xcafe4a11, /* bpf */
	0x62656570, /* configfs */
	0x6165676c, /* pstore */
	0xde5e81e4, /* efivarfs */
	0x00001cd1, /* devpts */
	0x42494e4d, /* binfmt_misc */
	0x6c6f6f70, /* binder */
	0x19800202, /* mqueue */
	0x65735543, /* fusectl */
	0x6e667364, /* nfsd */
	0x67596969, /* rpc_pipefs */
	0x0187,	    /* autofs */
	0x0a647361, /* functionfs */
	0xaee71ee7, /* gadgetfs */
	0x76a9f425, /* dlmfs */
	0xabba1974, /* xenfs */
	0x00009fa1, /* openpromfs */
	0x6e736673, /* nsfs */
	0x50494446, /* pidfs */
	0x09041934, /* anonymous inodes */
	0x50495045, /* pipefs */
	0x534f434b, /* sockfs */
	0x5345434d, /* secret memory */
};

bool file_is_stored(int place)
{
	struct statfs fs;
	struct stat st;

	if (fstat(place, &st) || !S_ISREG(st.st_mode) || !st.st_size || fstatfs(place, &fs))
		return false;
	for (unsigned i = 0; i < sizeof(not_for_files) / sizeof(not_for_files[0]); i++) {
		if ((unsigned)fs.f_type == not_for_files[i])
			return false;
	}
	return true;
}

int open_stored_file(int place)
{
	char path[32];
	int fd = -ENODATA;

	if (file_is_stored(place)) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
		/* Whoever has a lease of the file must not make the recorder wait. */
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		if (fd < 0)
			fd = -errno;
	}
	close(place);
	return fd;
}
