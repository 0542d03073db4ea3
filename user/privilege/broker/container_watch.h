/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside the broker's process: the containers that the user named, those to come included. */
#ifndef PROFTRACE_PRIVILEGE_BROKER_CONTAINER_WATCH_H
#define PROFTRACE_PRIVILEGE_BROKER_CONTAINER_WATCH_H

#include "privilege/target_filter.h"

struct container_watch;

/* `map_fd`: target_containers of bpf/target_match.h. *ret is NULL if the filter names no container. */
int container_watch_new(const struct target_filter *filter, int map_fd,
			struct container_watch **ret);
const struct target_containers *container_watch_found(const struct container_watch *watch);
/* Until the socket is readable. */
void container_watch_wait(struct container_watch *watch, int socket);

#endif
