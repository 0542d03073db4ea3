/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * NVTX and ITT read the path of a tool from the environment, and load it into the program. The command runs with the
 * rights of the invoking user, and so does what it loads: the path is absolute, has no links, and leads to a file that
 * is as safe from others as this program.
 */
#include "tracee/annotations.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LIBRARY "libproftrace-annotations.so"

#if defined(__x86_64__)
#define MULTIARCH "../lib/x86_64-linux-gnu"
#else
#define MULTIARCH "../lib/aarch64-linux-gnu"
#endif

/* Seen from the program: in the tree where it was built, where `make install` puts it, and where packages do. */
static const char *const places[] = { "lib", "../lib", "../lib64", MULTIARCH, "../lib/proftrace" };

static bool is_as_safe_as(const char *path, const struct stat *program)
{
	struct stat st;

	return !stat(path, &st) && (st.st_uid == 0 || st.st_uid == program->st_uid) &&
	       !(st.st_mode & S_IWOTH) && (!(st.st_mode & S_IWGRP) || st.st_gid == program->st_gid);
}

static int annotations_check(const char *library, const struct stat *program, struct failure *f)
{
	char folder[PATH_MAX];
	char *end;

	snprintf(folder, sizeof(folder), "%s", library);
	end = strrchr(folder, '/');
	if (end)
		*end = '\0';
	if (is_as_safe_as(library, program) && is_as_safe_as(folder, program))
		return 0;
	failure_set(f, -EPERM, "cannot use", library,
		    "others than root and the owner of proftrace may change it");
	failure_hint(f, "change the owner and mode of the file and its folder");
	return -EPERM;
}

int annotations_find(struct annotations *a, struct failure *f)
{
	char program[PATH_MAX], path[PATH_MAX + 64];
	struct stat st;

	if (!a->itt && !a->nvtx)
		return 0;
	if (!realpath("/proc/self/exe", program) || stat(program, &st))
		return failure_set(f, -errno, "cannot find", LIBRARY, NULL);
	*strrchr(program, '/') = '\0';
	for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s/" LIBRARY, program, places[i]);
		if (realpath(path, a->library))
			return annotations_check(a->library, &st, f);
	}
	failure_set(f, -ENOENT, "cannot find", LIBRARY, "--itt and --nvtx need it");
	failure_hint(f, "`make install` puts it into the lib folder beside that of proftrace");
	return -ENOENT;
}

static void set_tool(const char *variable, const char *chain, const char *library)
{
	const char *other = getenv(variable);

	if (other && *other && strcmp(other, library))
		setenv(chain, other, 1);
	setenv(variable, library, 1);
}

void annotations_set_environment(const struct annotations *a)
{
	if (a->itt)
		set_tool("INTEL_LIBITTNOTIFY64", "PROFTRACE_ITT_CHAIN", a->library);
	if (a->nvtx)
		set_tool("NVTX_INJECTION64_PATH", "PROFTRACE_NVTX_CHAIN", a->library);
}
