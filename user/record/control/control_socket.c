/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sockets of recorders. The directory is examined through a descriptor, and sockets are named relative to it, so
 * that a directory that somebody puts in its place later is not used.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "record/control/control.h"

/*
 * Finds the directory of a user in /tmp. Anybody can create a directory of that name first; it is
 * not used then. Instead the user has one with a random suffix, which is identified by its owner, and which is used
 * from then on, whether the other one stays or not.
 */
static void find_shared_place(uid_t uid, char *out, size_t size)
{
	struct dirent *entry;
	struct stat st;
	char name[32];
	bool is_taken;
	DIR *list;

	snprintf(name, sizeof(name), CONTROL_SHARED_PREFIX "%u", (unsigned)uid);
	snprintf(out, size, "/tmp/%s", name);
	is_taken = !lstat(out, &st);
	if (is_taken && st.st_uid == uid)
		return;
	strcat(name, ".");
	list = opendir("/tmp");
	while (list && (entry = readdir(list))) {
		if (!strncmp(entry->d_name, name, strlen(name)) &&
		    !fstatat(dirfd(list), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
		    st.st_uid == uid) {
			snprintf(out, size, "/tmp/%s", entry->d_name);
			is_taken = false;
			break;
		}
	}
	if (list)
		closedir(list);
	if (is_taken)
		out[0] = '\0';
}

void control_place(unsigned i, uid_t uid, char *out, size_t size)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");

	out[0] = '\0';
	if (i == 0 && runtime && runtime[0] == '/' && strlen(runtime) < size - 16)
		snprintf(out, size, "%s/proftrace", runtime);
	else if (i == 1)
		snprintf(out, size, "/run/user/%u/proftrace", (unsigned)uid);
	else if (i == 2 && uid == 0)
		snprintf(out, size, "/run/proftrace"); /* only root makes directories in /run */
	else if (i == CONTROL_SHARED_PLACE)
		find_shared_place(uid, out, size);
}

int control_make_shared_place(uid_t uid)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/" CONTROL_SHARED_PREFIX "%u.XXXXXX", (unsigned)uid);
	return mkdtemp(path) ? control_directory(path, uid, false) : -errno;
}

/* The directory above must belong to the same user or be sticky, so that nobody else can remove ours. */
static int check_parent(const char *path, uid_t uid)
{
	char parent[256];
	const char *slash = strrchr(path, '/');
	struct stat st;

	if (!slash || slash == path || (size_t)(slash - path) >= sizeof(parent))
		return -EINVAL;
	memcpy(parent, path, slash - path);
	parent[slash - path] = '\0';
	if (stat(parent, &st))
		return -errno;
	return st.st_uid == uid || st.st_mode & S_ISVTX ? 0 : -EPERM;
}

int control_directory(const char *path, uid_t uid, bool create)
{
	struct stat st;
	int fd, error = 0;

	if (!path[0])
		return -ENOENT;
	if (create)
		error = check_parent(path, uid);
	if (error)
		return error;
	if (create && mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		error = -errno;
	else if (st.st_uid != uid || st.st_mode & 077)
		error = -EPERM;
	if (!error)
		return fd;
	close(fd);
	return error;
}

static int address(int directory, const char *name, struct sockaddr_un *ret_address)
{
	int n;

	memset(ret_address, 0, sizeof(*ret_address));
	ret_address->sun_family = AF_UNIX;
	n = snprintf(ret_address->sun_path, sizeof(ret_address->sun_path), "/proc/self/fd/%d/%s",
		     directory, name);
	return n < (int)sizeof(ret_address->sun_path) ? 0 : -ENAMETOOLONG;
}

int control_listen(int directory, const char *name)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un at;
	mode_t mask;
	int error;

	if (fd < 0)
		return -errno;
	error = address(directory, name, &at);
	if (!error) {
		mask = umask(0177);
		if (bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 8))
			error = -errno;
		umask(mask);
	}
	if (!error)
		return fd;
	close(fd);
	return error;
}

/*
 * Root connects in directories of other users, who may put a link to a socket of somebody else
 * there; the owner of the peer is checked for that. A peer may also never accept, so connect() does
 * not block.
 */
int control_connect(int directory, const char *name)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat owner, st;
	struct sockaddr_un at;
	struct ucred peer;
	socklen_t size = sizeof(peer);
	int error;

	if (fd < 0)
		return -errno;
	error = address(directory, name, &at);
	if (!error &&
	    (fstat(directory, &owner) || fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW)))
		error = -errno;
	if (!error && !S_ISSOCK(st.st_mode))
		error = -ENOTSOCK;
	if (!error && connect(fd, (struct sockaddr *)&at, sizeof(at)))
		error = -errno;
	if (!error &&
	    (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) || peer.uid != owner.st_uid))
		error = -EPERM;
	if (!error)
		return fd;
	close(fd);
	return error;
}
