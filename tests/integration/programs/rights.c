/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What setcap and setpriv do, where these are not installed:
 *
 *	rights file FILE CAPABILITY[,CAPABILITY...]	the program file shall have these; none with ""
 *	rights user UID CAPABILITIES COMMAND...	executes it as that user, with these; none with ""
 *
 * Capabilities are bpf, perfmon, sys_admin, sys_ptrace, checkpoint_restore.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

static int number_of(const char *name)
{
	static const struct {
		const char *name;
		int number;
	} known[] = {
		{ "bpf", CAP_BPF },
		{ "perfmon", CAP_PERFMON },
		{ "sys_admin", CAP_SYS_ADMIN },
		{ "sys_ptrace", CAP_SYS_PTRACE },
		{ "checkpoint_restore", CAP_CHECKPOINT_RESTORE },
	};

	for (unsigned int i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (!strcmp(known[i].name, name))
			return known[i].number;
	}
	fprintf(stderr, "rights: no such capability '%s'\n", name);
	exit(2);
}

static uint64_t parse(char *list)
{
	uint64_t set = 0;
	char *name;

	for (name = strtok(list, ","); name; name = strtok(NULL, ","))
		set |= (uint64_t)1 << number_of(name);
	return set;
}

static int fail(const char *what)
{
	fprintf(stderr, "rights: %s: %s\n", what, strerror(errno));
	return 1;
}

static int give_file(const char *path, uint64_t set)
{
	struct vfs_cap_data data = { .magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE };

	data.data[0].permitted = (uint32_t)set;
	data.data[1].permitted = (uint32_t)(set >> 32);
	if (!set)
		return removexattr(path, "security.capability") && errno != ENODATA ? fail(path)
										    : 0;
	return setxattr(path, "security.capability", &data, XATTR_CAPS_SZ_2, 0) ? fail(path) : 0;
}

static int become(unsigned int user, uint64_t set)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
	int i;

	if (prctl(PR_SET_KEEPCAPS, 1) || setgroups(0, NULL) || setresgid(user, user, user) ||
	    setresuid(user, user, user))
		return fail("user");
	for (i = 0; i < 2; i++) {
		sets[i].effective = sets[i].permitted = sets[i].inheritable =
			(uint32_t)(set >> (32 * i));
	}
	if (syscall(SYS_capset, &header, sets))
		return fail("capset");
	for (i = 0; i < 64; i++) {
		if (set >> i & 1 && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, i, 0, 0))
			return fail("ambient");
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "file"))
		return give_file(argv[2], parse(argv[3]));
	if (argc < 5 || strcmp(argv[1], "user"))
		return 2;
	if (become((unsigned int)atoi(argv[2]), parse(argv[3])))
		return 1;
	execvp(argv[4], argv + 4);
	return fail(argv[4]);
}
