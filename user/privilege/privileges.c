/* SPDX-License-Identifier: BSD-2-Clause */
/* libcap is not used: two system calls and the bounding set are all that is needed. */
#include "privilege/privileges.h"

#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#define SELF "/proc/self/exe"
#define REAL_TIME_PRIORITY \
	1 /* the lowest: before all ordinary programs, after other real-time ones */

typedef struct __user_cap_data_struct capability_sets[_LINUX_CAPABILITY_U32S_3];

static int capabilities_get(capability_sets sets)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capget, &header, sets) ? -errno : 0;
}

static int capabilities_set(const capability_sets sets)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capset, &header, sets) ? -errno : 0;
}

bool privilege_held(int capability)
{
	capability_sets sets;

	return !capabilities_get(sets) &&
	       (sets[CAP_TO_INDEX(capability)].effective & CAP_TO_MASK(capability));
}

static void privileges_drop_bounding(const capability_sets sets)
{
	for (int i = 0; prctl(PR_CAPBSET_READ, i) >= 0; i++) {
		if (!(sets[CAP_TO_INDEX(i)].permitted & CAP_TO_MASK(i)))
			prctl(PR_CAPBSET_DROP, i);
	}
}

static int privileges_keep_sets(const capability_sets keep, bool also_children)
{
	/* A set-uid program called by a user: the kept capabilities are enough. */
	if (getuid() != 0 && geteuid() != getuid() &&
	    (prctl(PR_SET_KEEPCAPS, 1) || setresgid(getgid(), getgid(), getgid()) ||
	     setresuid(getuid(), getuid(), getuid())))
		return -errno;
	if (also_children)
		privileges_drop_bounding(keep);
	return capabilities_set(keep);
}

int privileges_keep(const int *capabilities, unsigned n, bool also_children)
{
	capability_sets had, keep = { 0 };
	int error = capabilities_get(had);

	if (error)
		return error;
	for (unsigned i = 0; i < n; i++) {
		unsigned k = CAP_TO_INDEX(capabilities[i]);

		keep[k].permitted |= had[k].permitted & CAP_TO_MASK(capabilities[i]);
		keep[k].effective = keep[k].permitted;
		/* So that the ambient ones stay known: they are the user's, and not those of the program file. */
		keep[k].inheritable = had[k].inheritable & keep[k].permitted;
	}
	return privileges_keep_sets(keep, also_children);
}

/*
 * CAP_BPF, since a program file that may record has it, and it permits less than CAP_PERFMON: alone, larger eBPF programs that
 * read no memory, and maps.
 */
static int privileges_get_guard(capability_sets ret_keep)
{
	const unsigned k = CAP_TO_INDEX(CAP_BPF);
	capability_sets had;
	int error = capabilities_get(had);

	if (!error && getuid())
		ret_keep[k].permitted = had[k].permitted & CAP_TO_MASK(CAP_BPF);
	return error;
}

int privileges_keep_guard(void)
{
	capability_sets keep = { 0 };
	int error = privileges_get_guard(keep);

	return error ? error : privileges_keep_sets(keep, true);
}

int privileges_drop_of_thread(bool guard)
{
	capability_sets keep = { 0 };
	int error = guard ? privileges_get_guard(keep) : 0;

	return error ? error : capabilities_set(keep);
}

void privileges_missing(bool uprobe_multi, char *out, size_t size)
{
	static const struct {
		int capability;
		const char *name;
		bool before;
	} needed[] = {
		{ CAP_BPF, "CAP_BPF", false },
		{ CAP_PERFMON, "CAP_PERFMON", false },
		{ CAP_SYS_ADMIN, "CAP_SYS_ADMIN", true },
	};

	out[0] = '\0';
	/* CAP_SYS_ADMIN includes the others. */
	if (privilege_held(CAP_SYS_ADMIN))
		return;
	for (unsigned i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		size_t at = strlen(out);

		if (privilege_held(needed[i].capability) || (needed[i].before && uprobe_multi))
			continue;
		snprintf(out + at, size - at, "%s%s", at ? ", " : "", needed[i].name);
	}
}

int privileges_use_priority(bool real_time)
{
	const struct sched_param p = { .sched_priority = real_time ? REAL_TIME_PRIORITY : 0 };
	struct rlimit limit;

	/* By the caller's limit the kernel would kill it. */
	if (real_time && (getrlimit(RLIMIT_RTTIME, &limit) || limit.rlim_cur != RLIM_INFINITY))
		return -EPERM;
	return sched_setscheduler(0, real_time ? SCHED_FIFO : SCHED_OTHER, &p) ? -errno : 0;
}

const char *privileges_ignored(void)
{
	capability_sets sets;

	if (getxattr(SELF, "security.capability", NULL, 0) <= 0 || capabilities_get(sets) ||
	    sets[0].permitted || sets[1].permitted)
		return NULL;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		return "its caller has set no_new_privs";
	return "they have no effect (is its file system mounted nosuid?)";
}

/* Of all namespaces, only the first one's capabilities count here. Its number is always this (PROC_USER_INIT_INO). */
bool privileges_in_namespace(void)
{
	struct stat st;

	return !stat("/proc/self/ns/user", &st) && st.st_ino != 0xeffffffd;
}

bool privileges_of_namespace(struct failure *f)
{
	if (!privileges_in_namespace())
		return false;
	failure_set(f, -EPERM, "not permitted to load BPF programs", "",
		    "capabilities of a user namespace do not permit it");
	failure_hint(f, "run proftrace outside of the user namespace (the container without root)");
	return true;
}

void privileges_hint(bool uprobe_multi, struct failure *f)
{
	const char *ignored = privileges_ignored();
	char path[PATH_MAX];
	ssize_t n = readlink(SELF, path, sizeof(path) - 1);

	path[n > 0 ? n : 0] = '\0';
	if (ignored)
		failure_hint(f, "run with sudo; the program file has capabilities, but %s",
			     ignored);
	else
		failure_hint(f, "run with sudo, or once: sudo setcap %s+ep %s",
			     uprobe_multi ? "cap_bpf,cap_perfmon"
					  : "cap_bpf,cap_perfmon,cap_sys_admin",
			     n > 0 ? path : "proftrace");
}
