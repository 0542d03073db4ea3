/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which container and which unit a process belongs to, by its cgroup, and the names of containers. The names are in the
 * files in which the runtimes keep their state, because no daemon is asked:
 *
 * - Docker: /var/lib/docker/containers/ID/config.v2.json
 * - Podman and CRI-O: containers.json and volatile-containers.json of their storage
 * - containerd (Kubernetes, nerdctl) and CRI-O: config.json of the bundle below /run, in its annotations
 *
 * Only root may read most of them. Whoever creates a container chooses parts of their contents, so they are read
 * as foreign text: of files of at most CONTAINER_STATE bytes, without recursion, and only names that runtimes permit.
 */
#ifndef PROFTRACE_PRIVILEGE_CONTAINERS_H
#define PROFTRACE_PRIVILEGE_CONTAINERS_H

#include <stdbool.h>
#include <stddef.h>

enum {
	CONTAINER_ID = 64, /* hexadecimal digits */
	CONTAINER_NAME = 128,
	CONTAINER_UNIT = 128,
	CONTAINER_STATE = 4 << 20,
	CONTAINERS_AT_MOST = 1024, /* of each runtime */
};

typedef void (*container_fn)(void *context, const char *id, const char *name);

/*
 * Calls `found` for each name of each container. `watch`: a descriptor of inotify that reports when there are others,
 * or -1. It has to be called again after each report, because a new container has a directory of its own.
 */
void containers_each(int watch, container_fn found, void *context);
/* A name of this container; false: it has none that can be read. */
bool container_find_name(const char *id, char name[CONTAINER_NAME]);
/* Whether a word of the user means the container: a glob for its name, or how its ID begins. */
bool container_is_meant(const char *word, const char *id, const char *name);

/* containers_state.c: the names in one file. `id`: of the container that the file is about; NULL: the file says it. */
void container_state_read(const char *text, size_t size, const char *id, container_fn found,
			  void *context);

/* The path in the unified hierarchy of /proc/PID, a descriptor. False: it is unknown or too long. */
bool process_cgroup(int directory, char *path, size_t size);

struct process_place {
	char container[CONTAINER_ID + 1]; /* its ID; "": none */
	/* The system's, or OUTER/UNIT: the innermost one in what is delegated; "": none. */
	char unit[CONTAINER_UNIT];
};
/* Whether it is a slice. The system's units are in slices alone; below all else, others may make cgroups with any names. */
bool cgroup_is_slice(const char *name, size_t length);
void cgroup_place(const char *path, struct process_place *ret_place);
bool process_place(int directory, struct process_place *ret_place);
/* "container web, unit a.service"; "" for neither. `name`: of the container; "": its ID is printed. */
void process_place_text(const struct process_place *place, const char *name, char *text,
			size_t size);
/* The PID in the innermost pid namespace; 0: it is unknown. `directory`: /proc/PID, or that of another of its threads. */
long process_inner_pid(int directory);

#endif
