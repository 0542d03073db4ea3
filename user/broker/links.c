/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the broker has attached. One link of the recorder's is one descriptor where the kernel takes
 * many sites at once, else one for each site.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker/server.h"

#define MAX_LINKS 1000000 /* files, times processes where children are not followed */

struct links {
	struct link {
		int *fds; /* NULL: closed */
		unsigned n;
	} * list;
	uint32_t n;
	uint32_t room;
};

struct links *links_new(void)
{
	return calloc(1, sizeof(struct links));
}

static bool grow(struct links *links)
{
	uint32_t room = links->room ? 2 * links->room : 64;
	struct link *grown;

	if (links->n < links->room)
		return true;
	if (links->n >= MAX_LINKS)
		return false;
	grown = realloc(links->list, room * sizeof(*grown));
	if (!grown)
		return false;
	links->list = grown;
	links->room = room;
	return true;
}

int links_add(struct links *links, const int *fds, unsigned n, uint32_t *ret_link)
{
	int *copy = grow(links) ? malloc(n * sizeof(*copy)) : NULL;

	if (!copy) {
		while (n)
			close(fds[--n]);
		return -ENOMEM;
	}
	memcpy(copy, fds, n * sizeof(*copy));
	links->list[links->n] = (struct link){ copy, n };
	*ret_link = links->n++;
	return 0;
}

int links_close(struct links *links, uint32_t number)
{
	struct link *link;

	if (number >= links->n || !links->list[number].fds)
		return -ENOENT;
	link = &links->list[number];
	while (link->n)
		close(link->fds[--link->n]);
	free(link->fds);
	link->fds = NULL;
	return 0;
}
