/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a filter of system calls cannot tell apart is which file is opened: /proc/PID/mem of another process of the same
 * user is one like any other. Landlock (Linux 5.13) can. A process that it restricts cannot trace a process that it does
 * not restrict, or open its memory. The structures are those of linux/landlock.h, which old systems do not have.
 */
#include "privilege/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule	    445
#define SYS_landlock_restrict_self  446
#endif

enum {
	ASK_VERSION = 1, /* LANDLOCK_CREATE_RULESET_VERSION */
	RULE_PATH_BENEATH = 1,
	/* Rights to files: to execute, to write, to remove and to make those of each type. */
	RIGHT_EXECUTE = 1 << 0,
	RIGHT_WRITE_FILE = 1 << 1,
	RIGHTS_REMOVE_AND_MAKE = 0x1ff << 4,
	RIGHT_REFER = 1 << 13,	   /* version 2 */
	RIGHT_TRUNCATE = 1 << 14,  /* version 3 */
	RIGHT_IOCTL_DEV = 1 << 15, /* version 5 */
	/* What is denied outside: abstract sockets, signals. Version 6. */
	SCOPES = 3,
};

struct ruleset {
	uint64_t files, network, scoped;
};

struct path_rule {
	uint64_t rights;
	int32_t directory;
} __attribute__((packed));

static uint64_t rights_of(long version)
{
	uint64_t rights = RIGHT_EXECUTE | RIGHT_WRITE_FILE | RIGHTS_REMOVE_AND_MAKE;

	if (version >= 2)
		rights |= RIGHT_REFER;
	if (version >= 3)
		rights |= RIGHT_TRUNCATE;
	if (version >= 5)
		rights |= RIGHT_IOCTL_DEV;
	return rights;
}

static long landlock_version(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, ASK_VERSION);
}

bool landlock_available(void)
{
	return landlock_version() > 0;
}

int landlock_writes(const char *beneath)
{
	long version = landlock_version();
	struct ruleset ruleset = { .files = rights_of(version),
				   .scoped = version >= 6 ? SCOPES : 0 };
	struct path_rule rule = { .rights = ruleset.files & ~(uint64_t)RIGHT_EXECUTE };
	int fd, error = 0;

	if (version < 1)
		return version < 0 ? -errno : -ENOSYS;
	fd = (int)syscall(SYS_landlock_create_ruleset, &ruleset, sizeof(ruleset), 0);
	if (fd < 0)
		return -errno;
	rule.directory = beneath ? open(beneath, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	if (rule.directory >= 0 && syscall(SYS_landlock_add_rule, fd, RULE_PATH_BENEATH, &rule, 0))
		error = -errno;
	if (!error &&
	    (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_landlock_restrict_self, fd, 0)))
		error = -errno;
	if (rule.directory >= 0)
		close(rule.directory);
	close(fd);
	return error;
}
