/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Containers that the user named. Their names are looked up when the broker starts and, with --wait, whenever a runtime
 * has changed a file of its state: it writes the name of a container before it starts the container's first process.
 * The kernel compares the IDs (bpf/target_match.h).
 */
#include "privilege/broker/container_watch.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "privilege/containers.h"

struct container_watch {
	const struct target_filter *filter;
	struct target_containers containers;
	int map_fd;
	int inotify; /* -1: nothing is waited for */
};

static void keep_container(void *context, const char *id, const char *name)
{
	struct container_watch *w = context;
	const uint8_t one = 1;
	unsigned i;

	for (i = 0; i < w->filter->n_containers; i++) {
		if (container_is_meant(w->filter->containers[i], id, name))
			break;
	}
	if (i == w->filter->n_containers || w->containers.n == TARGET_CONTAINERS_FOUND ||
	    target_containers_have(&w->containers, id) ||
	    bpf_map_update_elem(w->map_fd, id, &one, BPF_ANY))
		return;
	memcpy(w->containers.ids[w->containers.n++], id, TARGET_CONTAINER_ID);
}

int container_watch_new(const struct target_filter *filter, int map_fd,
			struct container_watch **ret)
{
	struct container_watch *w;

	*ret = NULL;
	if (!filter || !filter->n_containers)
		return 0;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->filter = filter;
	w->map_fd = map_fd;
	w->inotify = filter->waits ? inotify_init1(IN_CLOEXEC | IN_NONBLOCK) : -1;
	containers_each(w->inotify, keep_container, w);
	*ret = w;
	return 0;
}

const struct target_containers *container_watch_found(const struct container_watch *w)
{
	return w ? &w->containers : NULL;
}

void container_watch_wait(struct container_watch *w, int socket)
{
	struct pollfd fds[] = { { .fd = socket, .events = POLLIN },
				{ .fd = w ? w->inotify : -1, .events = POLLIN } };
	/* What has changed does not matter. */
	char changes[4096];

	while (w && w->inotify >= 0 && !fds[0].revents && poll(fds, 2, -1) > 0) {
		if (!fds[1].revents)
			continue;
		while (read(w->inotify, changes, sizeof(changes)) > 0)
			;
		containers_each(w->inotify, keep_container, w);
	}
}
