/* SPDX-License-Identifier: BSD-2-Clause */
/* Compiles the conditions of --name, --user and others, and applies them to a process in /proc. */
#include "privilege/target_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/quantity.h"
#include "privilege/containers.h"
#include "privilege/invoker.h"

/* --- globs --------------------------------------------------------------------------------------- */

static void glob_accept(struct target_glob *g, unsigned position, unsigned first, unsigned last)
{
	for (unsigned byte = first; byte <= last; byte++)
		g->next[byte] |= 1ull << position;
}

/* Reads the character of a set, which may be escaped. */
static unsigned char glob_set_char(const char **at)
{
	if (**at == '\\' && (*at)[1])
		(*at)++;
	return (unsigned char)*(*at)++;
}

/* Compiles [...], and returns where it ends; a [ without ] stands for itself. */
static const char *glob_add_set(struct target_glob *g, unsigned position, const char *set)
{
	const char *at = set + 1, *first;
	bool negated = *at == '!' || *at == '^';

	at += negated;
	for (first = at; *at && (*at != ']' || at == first);) {
		unsigned char from = glob_set_char(&at), to = from;

		if (*at == '-' && at[1] && at[1] != ']') {
			at++;
			to = glob_set_char(&at);
		}
		glob_accept(g, position, from, to);
	}
	if (!*at) {
		for (unsigned byte = 0; byte < 256; byte++)
			g->next[byte] &= ~(1ull << position);
		glob_accept(g, position, '[', '[');
		return set + 1;
	}
	for (unsigned byte = 0; negated && byte < 256; byte++)
		g->next[byte] ^= 1ull << position;
	return at + 1;
}

static const char *glob_compile(struct target_glob *g, const char *text)
{
	unsigned position = 0;

	memset(g, 0, sizeof(*g));
	while (*text) {
		if (*text == '*') {
			g->stays |= 1ull << position;
			text++;
			continue;
		}
		if (position == TARGET_POSITIONS)
			return "it is longer than 63 characters";
		if (*text == '?') {
			glob_accept(g, position, 1, 255);
			text++;
		} else if (*text == '[') {
			if (strstr(text, "[:") || strstr(text, "[=") || strstr(text, "[."))
				return "classes such as [:alpha:] are not supported";
			text = glob_add_set(g, position, text);
		} else {
			text += *text == '\\' && text[1];
			glob_accept(g, position, (unsigned char)*text, (unsigned char)*text);
			text++;
		}
		position++;
	}
	g->final = 1ull << position;
	return NULL;
}

bool target_glob_matches(const struct target_glob *g, const char *text)
{
	uint64_t positions = 1;

	for (unsigned i = 0; i < TARGET_TEXT - 1 && text[i]; i++)
		positions = target_glob_step(g, positions, (unsigned char)text[i]);
	return positions & g->final;
}

/* --- conditions ---------------------------------------------------------------------------------- */

static const char *filter_add_glob(struct target_filter *f, const char *glob, enum target_kind kind)
{
	const char *why;

	if (!*glob)
		return "it is empty";
	if (f->n_globs == TARGET_GLOBS)
		return "there are eight names, units and containers already";
	why = glob_compile(&f->globs[f->n_globs], glob);
	if (why)
		return why;
	f->globs[f->n_globs++].kind = kind;
	f->kinds |= kind;
	return NULL;
}

/* Also the beginning of an ID that is too short to be one without doubt. */
static const char *filter_add_container_name(struct target_filter *f, const char *name)
{
	if (!*name)
		return "it is empty";
	if (f->n_containers == TARGET_CONTAINERS)
		return "there are eight names already";
	if (strlen(name) >= TARGET_CONTAINER_NAME)
		return "it is longer than 63 characters";
	if (strchr(name, '/'))
		return "it has a slash";
	strcpy(f->containers[f->n_containers++], name);
	f->kinds |= TARGET_CONTAINER;
	return NULL;
}

/*
 * The runtimes have names of their own around it: docker-ID.scope, libpod-ID.scope, cri-containerd-ID.scope, crio-ID.scope,
 * or the bare ID. The first 48 digits are unique, and fit into a glob.
 */
const char *target_filter_add_container(struct target_filter *f, const char *id)
{
	size_t n = strspn(id, "0123456789abcdef");
	char glob[64];

	if (id[n] || n < 12 || n > 64)
		return filter_add_container_name(f, id);
	snprintf(glob, sizeof(glob), "*%.48s*", id);
	return filter_add_glob(f, glob, TARGET_CONTAINER);
}

const char *target_filter_add_user(struct target_filter *f, const char *user)
{
	const struct passwd *entry;
	uint64_t uid;

	if (f->n_users == TARGET_USERS)
		return "there are sixteen already";
	if (!parse_integer(user, 0, UINT32_MAX - 1, &uid)) {
		entry = getpwnam(user);
		if (!entry)
			return "there is no such user";
		uid = entry->pw_uid;
	}
	f->users[f->n_users++] = (uint32_t)uid;
	return NULL;
}

bool target_filter_is_empty(const struct target_filter *f)
{
	return !f->n_globs && !f->n_users && !f->n_cgroups && !f->n_containers && !f->all;
}

static bool cgroup_is_within(const char *path, const char *of)
{
	size_t n = strlen(of);

	return !strcmp(of, "/") || (!strncmp(path, of, n) && (!path[n] || path[n] == '/'));
}

/*
 * Finds the cgroup2 mount that the path lies in, or the first one. A mount may show only a part of the hierarchy,
 * which is its `root`.
 */
static bool find_cgroup_mount(const char *path, char *ret_root, char *ret_at)
{
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	char line[3 * PATH_MAX], root[PATH_MAX], at[PATH_MAX];
	size_t longest = 0;
	bool found = false;

	while (mounts && fgets(line, sizeof(line), mounts)) {
		const char *type = strstr(line, " - ");

		if (!type || strncmp(type, " - cgroup2 ", 11) ||
		    sscanf(line, "%*s %*s %*s %4095s %4095s", root, at) != 2)
			continue;
		if (found && (strlen(at) < longest || !cgroup_is_within(path, at)))
			continue;
		found = true;
		longest = cgroup_is_within(path, at) ? strlen(at) : 0;
		strcpy(ret_root, root);
		strcpy(ret_at, at);
	}
	if (mounts)
		fclose(mounts);
	return found;
}

const char *target_filter_add_unit(struct target_filter *f, const char *unit)
{
	char glob[TARGET_TEXT], root[PATH_MAX], at[PATH_MAX];
	struct stat st;

	if (strchr(unit, '/'))
		return "it has a slash: --cgroup takes paths";
	/* The kernel sees the whole path, also from a container that has a cgroup namespace. */
	if (find_cgroup_mount("", root, at) && !strcmp(root, "/") && !stat(at, &st))
		f->cgroup_root = st.st_ino;
	snprintf(glob, sizeof(glob), "%s%s", unit, *unit && !strchr(unit, '.') ? ".service" : "");
	return filter_add_glob(f, glob, TARGET_UNIT);
}

/*
 * Where the path leads, without links; false: nowhere. It is opened as the user who called: under sudo, whether a path
 * leads anywhere is not for everybody to know.
 */
static bool resolve_as_invoker(const char *path, char real[PATH_MAX], struct stat *ret_st,
			       bool *ret_is_cgroup)
{
	int fd = invoker_place(path);
	struct statfs fs;
	char link[32];
	ssize_t n;

	if (fd < 0)
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, real, PATH_MAX - 1);
	real[n > 0 ? n : 0] = '\0';
	*ret_is_cgroup = !fstatfs(fd, &fs) && fs.f_type == CGROUP2_SUPER_MAGIC &&
			 !fstat(fd, ret_st) && S_ISDIR(ret_st->st_mode);
	close(fd);
	return n > 0;
}

/*
 * The kernel compares a path with the one that is executed, and /proc/PID/exe has no symbolic links, so where a path leads is
 * a second name for the same program.
 */
const char *target_filter_add_name(struct target_filter *f, const char *glob)
{
	bool is_path = strchr(glob, '/'), is_cgroup;
	const char *why = filter_add_glob(f, glob, is_path ? TARGET_PATH : TARGET_NAME);
	char real[PATH_MAX];
	struct stat st;

	if (!why && is_path && f->n_globs < TARGET_GLOBS &&
	    resolve_as_invoker(glob, real, &st, &is_cgroup) && strcmp(real, glob) != 0 &&
	    !strpbrk(real, "*?[\\"))
		filter_add_glob(f, real, TARGET_PATH);
	return why;
}

const char *target_filter_add_cgroup(struct target_filter *f, const char *path)
{
	char whole[PATH_MAX * 2], real[PATH_MAX], root[PATH_MAX], at[PATH_MAX], unused[PATH_MAX];
	struct target_cgroup *group = &f->cgroups[f->n_cgroups];
	const char *name = path;
	struct stat st;
	bool is_cgroup;

	if (f->n_cgroups == TARGET_CGROUPS)
		return "there are eight already";
	if (!resolve_as_invoker(path, real, &st, &is_cgroup))
		snprintf(real, sizeof(real), "%s", path);
	if (!find_cgroup_mount(real, root, at))
		return "no cgroup v2 hierarchy is mounted here";
	/* Either a directory, or a path as /proc/PID/cgroup shows it. */
	if (cgroup_is_within(real, at))
		name = real + (at[1] ? strlen(at) : 0);
	snprintf(whole, sizeof(whole), "%s/%s", at, name);
	if (!resolve_as_invoker(whole, unused, &st, &is_cgroup) || !is_cgroup)
		return "there is no such cgroup v2";
	if (strlen(root) + strlen(name) + 1 >= sizeof(group->path))
		return "its path is too long";
	snprintf(whole, sizeof(whole), "%s%s%s", root[1] ? root : "",
		 *name && *name != '/' ? "/" : "", name);
	snprintf(group->path, sizeof(group->path), "%.255s", whole);
	for (name = group->path + strlen(group->path); name > group->path && name[-1] == '/';
	     name--)
		group->path[name - 1 - group->path] = '\0';
	for (name = group->path; *name; name++)
		group->level += *name == '/';
	if (!group->path[0])
		strcpy(group->path, "/");
	group->id = st.st_ino;
	f->n_cgroups++;
	return NULL;
}

/* --- processes ----------------------------------------------------------------------------------- */

static bool any_glob_matches(const struct target_filter *f, const char *text, enum target_kind kind)
{
	for (unsigned i = 0; i < f->n_globs; i++) {
		if (f->globs[i].kind == (__u32)kind && target_glob_matches(&f->globs[i], text))
			return true;
	}
	return false;
}

static bool process_has_name(const struct target_filter *f, int directory)
{
	char comm[64], path[PATH_MAX], *at;
	int fd = openat(directory, "comm", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, comm, sizeof(comm) - 1) : -1;

	if (fd >= 0)
		close(fd);
	if (n > 0) {
		comm[n - (comm[n - 1] == '\n')] = '\0';
		if (any_glob_matches(f, comm, TARGET_NAME))
			return true;
	}
	n = readlinkat(directory, "exe", path, sizeof(path) - 1);
	/* A path that is too long for the kernel to show may end in any name: nobody hides by it. */
	if (n <= 0)
		return n < 0 && errno == ENAMETOOLONG;
	path[n] = '\0';
	/* The kernel adds this to the path of a file that was deleted or replaced. */
	at = strstr(path, " (deleted)");
	if (at && !at[10])
		*at = '\0';
	at = strrchr(path, '/');
	return any_glob_matches(f, at ? at + 1 : path, TARGET_NAME) ||
	       any_glob_matches(f, path, TARGET_PATH);
}

/* The directory belongs to the effective user, also if the process is not dumpable. */
static bool process_has_user(const struct target_filter *f, int directory)
{
	struct stat st;

	if (fstat(directory, &st))
		return false;
	for (unsigned i = 0; i < f->n_users; i++) {
		if (f->users[i] == st.st_uid)
			return true;
	}
	return false;
}

bool target_containers_have(const struct target_containers *c, const char *id)
{
	for (unsigned i = 0; c && i < c->n; i++) {
		if (!memcmp(c->ids[i], id, TARGET_CONTAINER_ID))
			return true;
	}
	return false;
}

void target_labels(int directory, char unit[TARGET_LABEL], char container[TARGET_LABEL])
{
	struct process_place place;

	process_place(directory, &place);
	snprintf(unit, TARGET_LABEL, "%s", place.unit);
	snprintf(container, TARGET_LABEL, "%.12s", place.container);
}

/*
 * Whether the path is within one of the cgroups, and its names match each kind of glob for them. Below the first one that is no slice,
 * whoever it is delegated to chooses the names. The kernel's side is target_has_group_names().
 */
static bool process_has_cgroups(const struct target_filter *f,
				const struct target_containers *containers, int directory)
{
	struct process_place place;
	__u32 missing = f->kinds & (TARGET_UNIT | TARGET_CONTAINER);
	char path[PATH_MAX], *name, *rest = path;
	bool is_within = !f->n_cgroups, is_delegated = false;

	if (!process_cgroup(directory, path, sizeof(path)))
		return false;
	for (unsigned i = 0; !is_within && i < f->n_cgroups; i++)
		is_within = cgroup_is_within(path, f->cgroups[i].path);
	cgroup_place(path, &place);
	if (place.container[0] && target_containers_have(containers, place.container))
		missing &= ~(__u32)TARGET_CONTAINER;
	while (missing && (name = strsep(&rest, "/"))) {
		if (!is_delegated && any_glob_matches(f, name, TARGET_UNIT))
			missing &= ~(__u32)TARGET_UNIT;
		is_delegated |= *name && !cgroup_is_slice(name, strlen(name));
		if (any_glob_matches(f, name, TARGET_CONTAINER))
			missing &= ~(__u32)TARGET_CONTAINER;
	}
	return is_within && !missing;
}

bool target_filter_matches(const struct target_filter *f,
			   const struct target_containers *containers, int directory)
{
	if (target_filter_is_empty(f) || (f->n_users && !process_has_user(f, directory)))
		return false;
	if ((f->n_cgroups || f->kinds & (TARGET_UNIT | TARGET_CONTAINER)) &&
	    !process_has_cgroups(f, containers, directory))
		return false;
	return !(f->kinds & (TARGET_NAME | TARGET_PATH)) || process_has_name(f, directory);
}
