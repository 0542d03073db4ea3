/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What sudo, pkexec and doas say of their caller is only believed if root calls: whoever is root can become any user
 * anyway. All three user ids are set, so that none of them can be used to get back.
 */
#include "privilege/invoker.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/packet.h"
#include "privilege/privileges.h"

enum {
	NOBODY = 65534,
	VARIABLES = 3,
};

#define INVALID 0xffffffffu

static const char *const variables[] = { "SUDO_UID", "PKEXEC_UID", "DOAS_USER" };

static unsigned invoker_parse_id(const char *text)
{
	char *end;
	unsigned long id;

	errno = 0;
	id = strtoul(text, &end, 10);
	return errno || !isdigit((unsigned char)*text) || *end || id >= INVALID ? INVALID
										: (unsigned)id;
}

/* Of the user that a variable names: 0 if it is not set or names root, INVALID if it names nobody. doas has only the name. */
static unsigned invoker_named(const char *variable)
{
	const char *value = getenv(variable);
	const struct passwd *user;

	if (!value)
		return 0;
	if (strcmp(variable, "DOAS_USER") != 0)
		return invoker_parse_id(value);
	user = getpwnam(value);
	return user ? user->pw_uid : INVALID;
}

/* Root has called none of them, or has not been called by another user. */
static bool invoker_find(unsigned *ret_uid)
{
	*ret_uid = 0;
	for (unsigned i = 0; i < VARIABLES && !*ret_uid && getuid() == 0; i++)
		*ret_uid = invoker_named(variables[i]);
	return *ret_uid;
}

/*
 * sudo and pkexec set their variable, and pass on none that the caller made up; doas can be told to pass on all. So what the
 * variables say is only believed if they say the same.
 */
int invoker_check(struct failure *f)
{
	const char *first = NULL;
	char reason[64];

	for (unsigned i = 0; i < VARIABLES && getuid() == 0; i++) {
		unsigned uid = invoker_named(variables[i]);

		if (!getenv(variables[i]))
			continue;
		if (uid == INVALID || (first && uid != invoker_named(first))) {
			snprintf(reason, sizeof(reason), first ? "not the user of %s" : "no user",
				 first);
			failure_set(f, -EPERM, "cannot tell who calls", variables[i], reason);
			failure_hint(f,
				     "unset those of SUDO_UID, PKEXEC_UID and DOAS_USER that are "
				     "not of the program by which you became root");
			return -EPERM;
		}
		first = variables[i];
	}
	return 0;
}

/* Only where it is sudo that calls: doas may pass on a SUDO_GID that its caller made up. */
static unsigned invoker_group(const struct passwd *user, unsigned uid)
{
	const char *value = getenv("SUDO_GID");
	unsigned gid = user ? user->pw_gid : uid, given;

	if (!getenv("SUDO_UID") || getenv("PKEXEC_UID") || getenv("DOAS_USER"))
		return gid;
	given = value ? invoker_parse_id(value) : INVALID;
	return given && given != INVALID ? given : gid;
}

uid_t invoker_uid(void)
{
	unsigned uid;

	return invoker_find(&uid) ? uid : getuid();
}

int invoker_become(struct failure *f)
{
	const struct passwd *user;
	unsigned uid, gid;
	int error = invoker_check(f);

	if (error)
		return error;
	if (geteuid() != 0 || getuid() != 0) {
		/* Gives up a set-uid bit and the capabilities of the file. */
		if (setresgid(getgid(), getgid(), getgid()) ||
		    setresuid(getuid(), getuid(), getuid()))
			error = -errno;
		if (!error && getuid() != 0)
			error = privileges_keep(NULL, 0, false);
	} else if (invoker_find(&uid)) {
		user = getpwuid(uid);
		gid = invoker_group(user, uid);
		if (user ? initgroups(user->pw_name, gid) : setgroups(0, NULL))
			error = -errno;
		if (!error && (setresgid(gid, gid, gid) || setresuid(uid, uid, uid)))
			error = -errno;
		/* What the kernel does when the user changes depends on fs.suid_dumpable. */
		if (!error && prctl(PR_SET_DUMPABLE, 0))
			error = -errno;
		if (!error && user) {
			setenv("HOME", user->pw_dir, 1);
			setenv("USER", user->pw_name, 1);
			setenv("LOGNAME", user->pw_name, 1);
		}
	}
	return error ? failure_set(f, error, "cannot give up privileges", "", NULL) : 0;
}

/* In a child, because a process that has given up its privileges does not get them back. */
static _Noreturn void invoker_open_for(int socket, invoker_open_fn *open_it, const void *context)
{
	struct failure f;
	int fd = -1, error = invoker_become(&f);

	if (!error) {
		fd = open_it(context);
		error = fd < 0 ? fd : 0;
	}
	packet_send(socket, &error, sizeof(error), fd);
	_exit(0);
}

int invoker_open_by(invoker_open_fn *open_it, const void *context)
{
	int ends[2], fd = -1, error = 0;
	pid_t pid;

	if (invoker_uid() == geteuid())
		return open_it(context);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	pid = fork();
	if (!pid)
		invoker_open_for(ends[1], open_it, context);
	close(ends[1]);
	if (pid < 0)
		error = -errno;
	else if (packet_receive(ends[0], &error, sizeof(error), &fd) != sizeof(error))
		error = -EIO;
	close(ends[0]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return error ? error : fd;
}

/* Without waiting for the writer of a pipe. */
static int open_to_read(const void *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	return fd < 0 ? -errno : fd;
}

int invoker_open(const char *path)
{
	return invoker_open_by(open_to_read, path);
}

static int open_place(const void *path)
{
	int fd = open(path, O_PATH | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int invoker_place(const char *path)
{
	return invoker_open_by(open_place, path);
}

bool invoker_drop_all(void)
{
	struct failure f;

	if (invoker_become(&f))
		return false;
	if (!getuid() && (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
			  setresuid(NOBODY, NOBODY, NOBODY)))
		return false;
	return !privileges_keep(NULL, 0, false) && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}
