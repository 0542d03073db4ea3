/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the sockets of recorders: those of the caller and, for root, of all users. */
#include "record/control/ctl_find.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "privilege/invoker.h"

/* Parses a uid in its only valid spelling, so that no user has several directories. */
static bool read_uid(const char *text, uid_t *ret_uid)
{
	char again[16];
	unsigned long uid = strtoul(text, NULL, 10);

	snprintf(again, sizeof(again), "%u", (unsigned)uid);
	*ret_uid = (uid_t)uid;
	return uid < (uid_t)-1 && !strcmp(again, text);
}

static bool recorder_user_is_ours(uid_t uid)
{
	return uid == 0 || uid == geteuid() || uid == invoker_uid();
}

bool recorder_is_ours(const struct recorder *recorder)
{
	return recorder_user_is_ours(recorder->uid);
}

static unsigned count_recorders_of(const struct recorders *rs, uid_t uid)
{
	unsigned i, n = 0;

	for (i = 0; i < rs->n; i++)
		n += rs->list[i].uid == uid;
	return n;
}

static bool recorders_add(struct recorders *rs, int directory, uid_t uid, const char *name)
{
	struct recorder *r = &rs->list[rs->n];
	char *end;
	long pid;

	if (!isdigit((unsigned char)name[0]) || strlen(name) >= sizeof(r->name))
		return true;
	pid = strtol(name, &end, 10);
	if (strcmp(end, CONTROL_SUFFIX))
		return true;
	if (rs->n == CONTROL_CALLS)
		return false;
	*r = (struct recorder){ directory, uid, (pid_t)pid, "" };
	strcpy(r->name, name);
	rs->n++;
	return true;
}

static void read_recorder_directory(struct recorders *rs, const char *path, uid_t uid,
				    unsigned most)
{
	int directory = control_directory(path, uid, false), fd;
	unsigned before = rs->n, of_user = count_recorders_of(rs, uid), examined = 0;
	struct dirent *entry;
	DIR *list;

	if (directory < 0)
		return;
	fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	list = fd < 0 ? NULL : fdopendir(fd);
	if (fd >= 0 && !list)
		close(fd);
	while (list && (entry = readdir(list)) &&
	       (recorder_user_is_ours(uid) || examined++ < MAX_LOOKED_AT)) {
		bool has_place = of_user + rs->n - before < most;

		if (!has_place)
			rs->left_out += isdigit((unsigned char)entry->d_name[0]) != 0;
		else if (!recorders_add(rs, directory, uid, entry->d_name))
			rs->left_out++;
	}
	if (list)
		closedir(list);
	if (rs->n > before)
		rs->directories[rs->n_directories++] = directory;
	else
		close(directory);
}

/* Parses "UID" or, in /tmp, "UID.SUFFIX". */
static bool read_place_uid(const char *text, uid_t *ret_uid)
{
	char number[16];

	snprintf(number, sizeof(number), "%.*s", (int)strcspn(text, "."), text);
	return read_uid(number, ret_uid);
}

/*
 * Of one user, or of all that are not ours (NULL). The uid is part of the path; the directory must belong to that user.
 * In /tmp a user may have several: others can make the first one, and remove it again.
 */
static void find_recorders_in(struct recorders *rs, const char *directory, const char *prefix,
			      const char *suffix, const uid_t *only, unsigned most)
{
	DIR *list = opendir(directory);
	struct dirent *entry;
	char path[512];
	uid_t uid;

	while (list && (entry = readdir(list))) {
		if (strncmp(entry->d_name, prefix, strlen(prefix)) ||
		    !read_place_uid(entry->d_name + strlen(prefix), &uid) ||
		    (only ? uid != *only : recorder_user_is_ours(uid)))
			continue;
		snprintf(path, sizeof(path), "%s/%s%s", directory, entry->d_name, suffix);
		read_recorder_directory(rs, path, uid, most);
	}
	if (list)
		closedir(list);
}

/* Searches each directory in which this user may have recorders. */
static void find_recorders_of(struct recorders *rs, uid_t uid, unsigned first, unsigned most)
{
	char path[256], last[256] = "";
	unsigned i;

	for (i = first; i < CONTROL_SHARED_PLACE; i++) {
		control_place(i, uid, path, sizeof(path));
		if (path[0] && strcmp(path, last))
			read_recorder_directory(rs, path, uid, most);
		strcpy(last, path);
	}
	find_recorders_in(rs, "/tmp", CONTROL_SHARED_PREFIX, "", &uid, most);
}

void recorders_of_ours(struct recorders *rs)
{
	find_recorders_of(rs, geteuid(), 0, CONTROL_CALLS);
	if (invoker_uid() != geteuid())
		find_recorders_of(rs, invoker_uid(), 0, CONTROL_CALLS);
}

/* XDG_RUNTIME_DIR is that of the caller, so it is not used for other users. */
void recorders_of_user(struct recorders *rs, uid_t uid)
{
	if (!recorder_user_is_ours(uid))
		find_recorders_of(rs, uid, 1, MAX_OF_ONE);
}

void recorders_of_others(struct recorders *rs)
{
	find_recorders_in(rs, "/run/user", "", "/proftrace", NULL, MAX_OF_EACH);
	find_recorders_in(rs, "/tmp", CONTROL_SHARED_PREFIX, "", NULL, MAX_OF_EACH);
}

void recorders_close(struct recorders *rs)
{
	while (rs->n_directories)
		close(rs->directories[--rs->n_directories]);
}
