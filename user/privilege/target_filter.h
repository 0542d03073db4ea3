/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which processes are recorded, if the user has not named their PIDs: the conditions of the command line
 * (bpf/processes/targets.h), applied to a process by its directory in /proc. The broker searches, because the recorder
 * may not see what processes of other users run, and checks each process that the recorder asks for.
 */
#ifndef PROFTRACE_PRIVILEGE_TARGET_FILTER_H
#define PROFTRACE_PRIVILEGE_TARGET_FILTER_H

#include <stdbool.h>

#include "bpf/processes/targets.h"

/* Each adds one condition, and returns NULL, or why it cannot be one. */
const char *target_filter_add_name(struct target_filter *filter, const char *glob);
const char *target_filter_add_cgroup(struct target_filter *filter, const char *path);
const char *target_filter_add_unit(struct target_filter *filter, const char *unit);
const char *target_filter_add_container(struct target_filter *filter, const char *id_or_name);
const char *target_filter_add_user(struct target_filter *filter, const char *name_or_uid);

bool target_filter_is_empty(const struct target_filter *filter);
bool target_glob_matches(const struct target_glob *glob, const char *text);
/*
 * What a process belongs to: the innermost systemd unit and the container, by the names in its cgroup; empty texts if
 * there are none. A container is named by the first 12 digits of its ID, as `docker ps` shows it.
 */
enum {
	TARGET_LABEL = 256, /* bytes */
};
void target_labels(int directory, char unit[TARGET_LABEL], char container[TARGET_LABEL]);

/* IDs of the containers that have the names of a filter. */
struct target_containers {
	unsigned n;
	char ids[TARGET_CONTAINERS_FOUND][TARGET_CONTAINER_ID];
};
bool target_containers_have(const struct target_containers *containers, const char *id);

/* `directory`: /proc/PID; `containers` may be NULL. */
bool target_filter_matches(const struct target_filter *filter,
			   const struct target_containers *containers, int directory);

#endif
