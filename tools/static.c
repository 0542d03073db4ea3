/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `make static` links instead of functions of the C library that load shared objects (ld's --wrap). Those of
 * another distribution, or of a machine without glibc, do not fit a program that was linked with ours: at best they
 * cannot be loaded, at worst they crash, in a process that may be root. So nothing is loaded, which dlerror() says,
 * and users and groups are those of /etc/passwd and /etc/group: not those of LDAP and other services.
 */
#include <grp.h>
#include <locale.h>
#include <pwd.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "counters/libpfm.h"

void *__wrap_dlopen(const char *file, int mode);
void *__wrap_dlsym(void *library, const char *name);
char *__wrap_dlerror(void);
char *__wrap_setlocale(int category, const char *locale);
char *__real_setlocale(int category, const char *locale);
struct passwd *__wrap_getpwuid(uid_t uid);
struct passwd *__wrap_getpwnam(const char *name);
int __wrap_initgroups(const char *user, gid_t gid);

/* What counters/libpfm.c loads otherwise. */
#define PFM_ADDRESS(name) pfm_##name,
const struct libpfm static_libpfm = { PFM_FUNCTIONS(PFM_ADDRESS) };

/* For cmd/version.c. */
extern const char static_program[];
const char static_program[] = "static";

void *__wrap_dlopen(const char *file, int mode)
{
	(void)file;
	(void)mode;
	return NULL;
}

void *__wrap_dlsym(void *library, const char *name)
{
	(void)library;
	(void)name;
	return NULL;
}

char *__wrap_dlerror(void)
{
	static char text[] =
		"a static proftrace loads no shared objects; use one from a package or `make`";

	return text;
}

/* The conversions between UTF-8 and wide characters are in the program; all others are in shared objects. */
char *__wrap_setlocale(int category, const char *locale)
{
	const char *name = getenv("LC_ALL");

	if (!name || !*name)
		name = getenv("LC_CTYPE");
	if (!name || !*name)
		name = getenv("LANG");
	if (locale && !*locale &&
	    !(name && (strcasestr(name, "utf-8") || strcasestr(name, "utf8"))))
		locale = "C";
	return __real_setlocale(category, locale);
}

struct passwd *__wrap_getpwuid(uid_t uid)
{
	FILE *file = fopen("/etc/passwd", "re");
	struct passwd *user = NULL;

	/* The entry that is returned stays valid until the next call. */
	while (file && (user = fgetpwent(file)) && user->pw_uid != uid)
		;
	if (file)
		fclose(file);
	return user;
}

struct passwd *__wrap_getpwnam(const char *name)
{
	FILE *file = fopen("/etc/passwd", "re");
	struct passwd *user = NULL;

	while (file && (user = fgetpwent(file)) && strcmp(user->pw_name, name) != 0)
		;
	if (file)
		fclose(file);
	return user;
}

int __wrap_initgroups(const char *user, gid_t gid)
{
	FILE *file = fopen("/etc/group", "re");
	gid_t groups[1024] = { gid };
	const struct group *group;
	size_t n = 1;
	char **member;

	while (file && (group = fgetgrent(file))) {
		for (member = group->gr_mem; *member && strcmp(*member, user) != 0; member++)
			;
		if (*member && n < sizeof(groups) / sizeof(groups[0]))
			groups[n++] = group->gr_gid;
	}
	if (file)
		fclose(file);
	return setgroups(n, groups);
}
