/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the files of containers.h, and reads the cgroup of a process. */
#include "privilege/containers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/glob.h"

#define HEX "0123456789abcdef"
/* What systemd permits. */
#define UNIT_NAME "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:-_.\\@"
#define CHANGES	  (IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE | IN_ONLYDIR)

struct state_search {
	int watch;
	container_fn found;
	void *context;
	const char *only; /* the ID that is looked for; NULL: all */
};

/* --- files --------------------------------------------------------------------------------------- */

/* Returns false if there is no such file, or none that may be read. */
static bool state_read_file(const struct state_search *s, int directory, const char *name,
			    const char *id)
{
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	size_t used = 0, size;
	struct stat st;
	ssize_t n = 1;
	char *text;

	if (fd < 0)
		return false;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return false;
	}
	size = st.st_size < CONTAINER_STATE ? (size_t)st.st_size + 1 : CONTAINER_STATE;
	text = malloc(size);
	while (text && used < size && n > 0) {
		n = read(fd, text + used, size - used);
		used += n > 0 ? (size_t)n : 0;
	}
	close(fd);
	if (text)
		container_state_read(text, used, id, s->found, s->context);
	free(text);
	return used;
}

/* In DIRECTORY/ID, which is watched until it has the file. */
static void state_read_bundle(const struct state_search *s, int directory, const char *path,
			      const char *id, const char *file)
{
	char whole[256], name[CONTAINER_ID + 64];

	snprintf(name, sizeof(name), "%s/%s", id, file);
	if (state_read_file(s, directory, name, id) || s->watch < 0)
		return;
	snprintf(whole, sizeof(whole), "%s/%s", path, id);
	inotify_add_watch(s->watch, whole, CHANGES);
	/* It may have come before it was watched. */
	state_read_file(s, directory, name, id);
}

static bool is_container_id(const char *text)
{
	return strspn(text, HEX) == CONTAINER_ID && !text[CONTAINER_ID];
}

/* Each container has a directory with its ID as its name. */
static void state_read_bundles(const struct state_search *s, const char *path, const char *file)
{
	const struct dirent *entry;
	unsigned n = 0;
	DIR *all;

	if (s->watch >= 0)
		inotify_add_watch(s->watch, path, CHANGES);
	all = opendir(path);
	if (!all)
		return;
	if (s->only)
		state_read_bundle(s, dirfd(all), path, s->only, file);
	while (!s->only && n < CONTAINERS_AT_MOST && (entry = readdir(all))) {
		if (!is_container_id(entry->d_name))
			continue;
		n++;
		state_read_bundle(s, dirfd(all), path, entry->d_name, file);
	}
	closedir(all);
}

/* containerd has a directory for each of its namespaces: k8s.io, moby, default. */
static void state_read_namespaces(const struct state_search *s, const char *path)
{
	const struct dirent *entry;
	DIR *all;
	unsigned n = 0;

	if (s->watch >= 0)
		inotify_add_watch(s->watch, path, CHANGES);
	all = opendir(path);
	while (all && n < 16 && (entry = readdir(all))) {
		char whole[256];

		if (entry->d_name[0] == '.')
			continue;
		n++;
		if (snprintf(whole, sizeof(whole), "%s/%.64s", path, entry->d_name) <
		    (int)sizeof(whole))
			state_read_bundles(s, whole, "config.json");
	}
	if (all)
		closedir(all);
}

static void state_read_storage(const struct state_search *s, const char *path)
{
	int directory;

	if (s->watch >= 0)
		inotify_add_watch(s->watch, path, CHANGES);
	directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0)
		return;
	state_read_file(s, directory, "containers.json", NULL);
	state_read_file(s, directory, "volatile-containers.json", NULL);
	close(directory);
}

static void state_search(const struct state_search *s)
{
	state_read_bundles(s, "/var/lib/docker/containers", "config.v2.json");
	state_read_storage(s, "/var/lib/containers/storage/overlay-containers");
	state_read_storage(s, "/run/containers/storage/overlay-containers");
	state_read_bundles(s, "/run/containers/storage/overlay-containers", "userdata/config.json");
	state_read_namespaces(s, "/run/containerd/io.containerd.runtime.v2.task");
}

void containers_each(int watch, container_fn found, void *context)
{
	state_search(&(struct state_search){ .watch = watch, .found = found, .context = context });
}

struct name_search {
	const char *id;
	char *name;
};

static void keep_name(void *context, const char *id, const char *name)
{
	struct name_search *s = context;

	if (!s->name[0] && !strcmp(id, s->id))
		snprintf(s->name, CONTAINER_NAME, "%s", name);
}

bool container_find_name(const char *id, char name[CONTAINER_NAME])
{
	struct name_search s = { id, name };

	name[0] = '\0';
	state_search(&(struct state_search){
		.watch = -1, .found = keep_name, .context = &s, .only = id });
	return name[0];
}

bool container_is_meant(const char *word, const char *id, const char *name)
{
	size_t n = strspn(word, HEX);
	struct glob_stars stars;

	return (!word[n] && !strncmp(id, word, n)) ||
	       glob_matches(word, strlen(word), name, &stars);
}

/* --- processes ----------------------------------------------------------------------------------- */

/* Returns the number of bytes, which `text` has with a NUL behind. */
static size_t read_process_file(int directory, const char *name, char *text, size_t size)
{
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t n = 1;

	while (fd >= 0 && n > 0 && used < size - 1) {
		n = read(fd, text + used, size - 1 - used);
		used += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0)
		close(fd);
	text[used] = '\0';
	return used;
}

/* Its line is "0::/a/b". */
bool process_cgroup(int directory, char *path, size_t size)
{
	/* The lines of older hierarchies come first. */
	char text[16384], *at, *end;

	read_process_file(directory, "cgroup", text, sizeof(text));
	at = strncmp(text, "0::/", 4) ? strstr(text, "\n0::/") : text - 1;
	end = at ? strchr(at + 1, '\n') : NULL;
	if (!end || (size_t)(end - at - 4) >= size)
		return false;
	*end = '\0';
	snprintf(path, size, "%s", at + 4);
	return true;
}

/* The ID that the name of a cgroup contains: docker-ID.scope, libpod-ID.scope, cri-containerd-ID.scope, or ID. */
static bool name_container_id(const char *name, size_t length, char id[CONTAINER_ID + 1])
{
	size_t i, run = 0;

	for (i = 0; i < length; i++) {
		run = strchr(HEX, name[i]) ? run + 1 : 0;
		if (run < CONTAINER_ID || (i + 1 < length && strchr(HEX, name[i + 1])))
			continue;
		if (run == CONTAINER_ID) {
			memcpy(id, name + i + 1 - run, run);
			id[run] = '\0';
			return true;
		}
	}
	return false;
}

static bool has_ending(const char *name, size_t length, const char *ending)
{
	size_t n = strlen(ending);

	return length > n && !memcmp(name + length - n, ending, n);
}

/*
 * Whoever may make a cgroup may choose its name. One that no unit can have is none: with a comma in it, it would look like
 * several labels.
 */
static bool is_unit_name(const char *name, size_t length)
{
	return (has_ending(name, length, ".service") || has_ending(name, length, ".scope")) &&
	       strspn(name, UNIT_NAME) >= length;
}

bool cgroup_is_slice(const char *name, size_t length)
{
	return has_ending(name, length, ".slice");
}

/* What does not fit is left out. */
static void unit_add(char unit[CONTAINER_UNIT], const char *text, size_t length)
{
	size_t used = strlen(unit);

	if (length > CONTAINER_UNIT - 1 - used)
		length = CONTAINER_UNIT - 1 - used;
	memcpy(unit + used, text, length);
	unit[used + length] = '\0';
}

static void set_unit(char unit[CONTAINER_UNIT], const char *outer, const char *name, size_t length)
{
	unit[0] = '\0';
	unit_add(unit, outer, strlen(outer));
	unit_add(unit, "/", *outer != '\0');
	unit_add(unit, name, length);
}

/*
 * Below the first cgroup that is no slice, such as a service with Delegate=, the service manager of a user, or a container, names are
 * chosen by whom it is delegated to, and may be those of the system's units.
 */
void cgroup_place(const char *path, struct process_place *ret)
{
	char outer[CONTAINER_UNIT] = "";
	const char *name = path;

	ret->container[0] = ret->unit[0] = '\0';
	while (*name) {
		size_t length = strcspn(name, "/");
		bool is_container = name_container_id(name, length, ret->container);
		bool is_slice = cgroup_is_slice(name, length);

		if (!is_container && is_unit_name(name, length))
			set_unit(ret->unit, outer, name, length);
		if (!*outer && !is_slice && is_container)
			unit_add(outer, ret->container, 12);
		else if (!*outer && !is_slice && strspn(name, UNIT_NAME) >= length)
			unit_add(outer, name, length);
		else if (!*outer && !is_slice)
			unit_add(outer, "?", 1);
		name += length + (name[length] == '/');
	}
}

bool process_place(int directory, struct process_place *ret)
{
	char path[4096];

	if (!process_cgroup(directory, path, sizeof(path)))
		path[0] = '\0';
	cgroup_place(path, ret);
	return ret->container[0] || ret->unit[0];
}

void process_place_text(const struct process_place *place, const char *name, char *text,
			size_t size)
{
	bool both = place->container[0] && place->unit[0];

	text[0] = '\0';
	if (place->container[0] && name[0])
		snprintf(text, size, "container %s", name);
	else if (place->container[0])
		snprintf(text, size, "container %.12s", place->container);
	if (place->unit[0])
		snprintf(text + strlen(text), size - strlen(text), "%sunit %s", both ? ", " : "",
			 place->unit);
}

long process_inner_pid(int directory)
{
	static const char line[] = "\nNStgid:\t";
	/* The line follows the list of groups, which may be long. */
	char text[16384];
	const char *at;
	long number = 0;

	read_process_file(directory, "status", text, sizeof(text));
	/*
	 * The kernel escapes newlines in names, so every newline ends a line. An incomplete line is not used.
	 */
	at = strstr(text, line);
	if (!at || !strchr(at + 1, '\n'))
		return 0;
	for (at += sizeof(line) - 2; *at == '\t';)
		number = strtol(at + 1, (char **)&at, 10);
	return number;
}
