/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the broker has attached. One link of the recorder's is one descriptor where the kernel takes
 * many sites at once, else one for each site.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "privilege/broker/server.h"

/* Twice what an honest recorder asks for: see capture/file_limits.c and capture/probes/probes.c. */
#define LINKS_MOST 4096
#define SITES_MOST (1u << 20)
/*
 * How often a program may be at one site: of ours once, and once more for each number of a device that its
 * file has; of others' and of functions once for each request of the user's (-u).
 */
#define OURS_MOST   4
#define OTHERS_MOST 64

struct links {
	struct link {
		int *fds; /* NULL: closed */
		unsigned n;
		bool revoked; /* closed, but the recorder does not know: its number is not free */
		struct link_sites of;
	} * list;
	uint32_t n;
	uint32_t room;
	uint32_t n_sites; /* of all that are open */
};

struct links *links_new(void)
{
	return calloc(1, sizeof(struct links));
}

static int link_compare_offsets(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int link_sites_init(struct link_sites *of, int elf_fd, enum broker_program program, pid_t pid,
		    const struct broker_site *sites, unsigned n, bool keep)
{
	struct stat st;
	unsigned i;

	if (fstat(elf_fd, &st))
		return -errno;
	*of = (struct link_sites){ .device = st.st_dev,
				   .inode = st.st_ino,
				   .program = program,
				   .pid = pid,
				   .n = n,
				   .elf_fd = -1 };
	of->offsets = malloc(n * sizeof(*of->offsets));
	if (!of->offsets)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		of->offsets[i] = sites[i].offset;
	qsort(of->offsets, n, sizeof(*of->offsets), link_compare_offsets);
	if (!keep)
		return 0;
	of->sites = malloc(n * sizeof(*sites));
	of->elf_fd = fcntl(elf_fd, F_DUPFD_CLOEXEC, 0);
	if (!of->sites || of->elf_fd < 0) {
		link_sites_free(of);
		return -ENOMEM;
	}
	memcpy(of->sites, sites, n * sizeof(*sites));
	return 0;
}

void link_sites_free(struct link_sites *of)
{
	free(of->offsets);
	free(of->sites);
	if (of->elf_fd >= 0)
		close(of->elf_fd);
	*of = (struct link_sites){ .elf_fd = -1 };
}

/* How often this offset is among them. */
static unsigned count(const struct link_sites *of, uint64_t offset)
{
	unsigned low = 0, high = of->n, n = 0;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;

		if (of->offsets[middle] < offset)
			low = middle + 1;
		else
			high = middle;
	}
	while (low + n < of->n && of->offsets[low + n] == offset)
		n++;
	return n;
}

/* Of the same program at the same file, with an offset in common perhaps. */
static bool may_share(const struct link *link, const struct link_sites *of)
{
	const struct link_sites *other = &link->of;

	return link->fds && other->program == of->program && other->pid == of->pid &&
	       other->inode == of->inode && other->device == of->device &&
	       other->offsets[0] <= of->offsets[of->n - 1] &&
	       of->offsets[0] <= other->offsets[other->n - 1];
}

static bool too_often(const struct links *links, const struct link_sites *of)
{
	bool others = of->program == BROKER_USDT || of->program == BROKER_FUNCTIONS;
	unsigned *times = calloc(of->n, sizeof(*times)), i;
	bool found = !times;
	uint32_t j;

	for (i = 0; i < of->n && !found; i += times[i]) {
		times[i] = count(of, of->offsets[i]);
		found = times[i] > (others ? OTHERS_MOST : 1);
	}
	for (j = 0; j < links->n && !found; j++) {
		if (!may_share(&links->list[j], of))
			continue;
		for (i = 0; i < of->n && !found; i++) {
			/* 0: the same again as the one before it. */
			if (times[i])
				times[i] += count(&links->list[j].of, of->offsets[i]);
			found = times[i] > (others ? OTHERS_MOST : OURS_MOST);
		}
	}
	free(times);
	return found;
}

/* Numbers are used again. Returns NULL when there are too many, or no memory. */
static struct link *free_link(struct links *links)
{
	uint32_t i, room = links->room ? 2 * links->room : 64;
	struct link *grown;

	for (i = 0; i < links->n; i++) {
		if (!links->list[i].fds && !links->list[i].revoked)
			return &links->list[i];
	}
	if (links->n >= LINKS_MOST)
		return NULL;
	if (links->n == links->room) {
		grown = realloc(links->list, room * sizeof(*grown));
		if (!grown)
			return NULL;
		links->list = grown;
		links->room = room;
	}
	links->list[links->n] = (struct link){ 0 };
	return &links->list[links->n++];
}

int links_may_add(struct links *links, const struct link_sites *of, struct failure *f)
{
	if (of->n > SITES_MOST - links->n_sites || !free_link(links))
		return failure_set(f, -EMFILE, "refused to attach", "",
				   "it is attached to too many sites");
	if (too_often(links, of))
		return failure_set(f, -EEXIST, "refused to attach", "",
				   "it is attached to a site of these already");
	return 0;
}

int links_add(struct links *links, struct link_sites *of, const int *fds, unsigned n,
	      uint32_t *ret_link)
{
	int *copy = malloc(n * sizeof(*copy));
	struct link *link = copy ? free_link(links) : NULL;

	if (!link) {
		while (n)
			close(fds[--n]);
		free(copy);
		return -ENOMEM;
	}
	memcpy(copy, fds, n * sizeof(*copy));
	*link = (struct link){ copy, n, false, *of };
	*of = (struct link_sites){ .elf_fd = -1 };
	links->n_sites += link->of.n;
	*ret_link = (uint32_t)(link - links->list);
	return 0;
}

static unsigned link_remove(struct links *links, struct link *link, int *fds)
{
	unsigned n = link->n;

	memcpy(fds, link->fds, n * sizeof(*fds));
	free(link->fds);
	link->fds = NULL;
	links->n_sites -= link->of.n;
	link_sites_free(&link->of);
	return n;
}

int links_close(struct links *links, const uint32_t *numbers, unsigned n)
{
	unsigned i, n_fds = 0;
	int error = 0, *fds;

	for (i = 0; i < links->n; i++)
		n_fds += links->list[i].fds ? links->list[i].n : 0;
	fds = malloc((n_fds + 1) * sizeof(*fds));
	if (!fds)
		return -ENOMEM;
	for (i = n_fds = 0; i < n; i++) {
		uint32_t number = numbers ? numbers[i] : i;

		if (number < links->n && links->list[number].fds)
			n_fds += link_remove(links, &links->list[number], fds + n_fds);
		else if (number < links->n && links->list[number].revoked)
			links->list[number].revoked = false;
		else
			error = -ENOENT;
	}
	descriptors_close(fds, n_fds);
	free(fds);
	return error;
}

void links_revoke(struct links *links, pid_t pid, struct descriptors *ret_closing)
{
	uint32_t i;

	for (i = 0; i < links->n; i++) {
		struct link *link = &links->list[i];
		int *room = link->fds && link->of.pid == pid
				    ? descriptors_reserve(ret_closing, link->n)
				    : NULL;

		if (!room)
			continue;
		ret_closing->n += link_remove(links, link, room);
		link->revoked = true;
	}
}

void links_each(const struct links *links, void (*each)(void *context, const struct link_sites *of),
		void *context)
{
	uint32_t i;

	for (i = 0; i < links->n; i++) {
		if (links->list[i].fds)
			each(context, &links->list[i].of);
	}
}

void links_close_all(struct links *links)
{
	links_close(links, NULL, links->n);
}
