/* SPDX-License-Identifier: BSD-2-Clause */
#include "empty.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker/empty_program.h"
#include "broker/features.h"
#include "broker/server.h"
#include "subject.h"
#include "target/markers.h"

static struct broker_site *doors(const struct marker_sites *sites)
{
	struct broker_site *list = calloc(sites->n + 1, sizeof(*list));
	bool fast = kernel_fast_door() == FAST_DOOR_RIGHT;
	unsigned i;

	for (i = 0; list && i < sites->n; i++) {
		const struct marker_site *s = &sites->sites[i];

		list[i].offset = fast && s->fast_offset ? s->fast_offset : s->offset;
		list[i].switch_offset = s->switch_offset;
	}
	return list;
}

static int attach(struct empty *e, int fd, const struct marker_sites *sites, struct failure *f)
{
	struct loaded_programs programs = { .uprobe_multi = kernel_has_uprobe_multi() };
	struct broker_site *list = doors(sites);
	uint64_t begun;
	int error;

	e->links = calloc(sites->n + 1, sizeof(*e->links));
	if (!list || !e->links) {
		free(list);
		return failure_set(f, -ENOMEM, "cannot attach", "", NULL);
	}
	e->program = empty_program_load(programs.uprobe_multi ? TRACE_UPROBE_MULTI : 0, 0);
	if (e->program < 0) {
		free(list);
		return failure_set(f, e->program, "cannot load a BPF program", "", NULL);
	}
	programs.program_fds[BROKER_MARKS] = e->program;
	begun = bench_clock();
	error = sites_attach(&programs, BROKER_MARKS, 0, fd, list, sites->n, e->links, &e->n_links,
			     f);
	e->attach_ns = bench_clock() - begun;
	e->n_sites = sites->n;
	free(list);
	return error;
}

int empty_attach(struct empty *e, const char *path, struct failure *f)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), error;
	struct marker_sites sites = { 0 };
	struct elf_file *elf = NULL;

	memset(e, 0, sizeof(*e));
	e->program = -1;
	if (fd < 0)
		return failure_set(f, -errno, "cannot open", path, NULL);
	error = elf_file_open(fd, &elf, f);
	if (!error) {
		error = markers_find(elf, &sites, f);
		elf_file_free(elf);
	}
	if (!error)
		error = attach(e, fd, &sites, f);
	marker_sites_free(&sites);
	close(fd);
	if (error)
		empty_detach(e);
	return error;
}

void empty_detach(struct empty *e)
{
	while (e->n_links)
		close(e->links[--e->n_links]);
	free(e->links);
	e->links = NULL;
	if (e->program >= 0)
		close(e->program);
	e->program = -1;
}
