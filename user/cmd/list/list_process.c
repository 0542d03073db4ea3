/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `list -p`: the files that a process has mapped executable.
 *
 * They are opened by /proc/PID/map_files, which leads to the mapped file even if its path now leads
 * to another one. This needs CAP_CHECKPOINT_RESTORE. Without it, the path is resolved below the
 * root of the process, and the inode number shows whether it is still the same file.
 */
#include "base/array.h"
#include "base/hash_key.h"
#include "base/text.h"
#include "tracee/memory/target_memory.h"
#include "cmd/list/list.h"
#include "privilege/containers.h"
#include "privilege/living_thread.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracee/maps.h"

#define MAX_FILES    4096
#define MAX_MAPPINGS 262144 /* the default limit of the kernel is 65530 */

struct mapped {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	uint64_t device;
	uint64_t inode;
	bool writable;
	char *path; /* only for the first executable mapping of a file */
};

/* A writable mapping. They are sorted by file and offset. */
struct mapped_data {
	uint64_t device, inode, offset, length, start;
	unsigned
		furthest; /* of those of the file up to here, the one that ends at the highest offset */
};

/* One that has been seen mapped executable. */
struct known_file {
	struct file_key {
		uint64_t device, inode;
	} key;
	UT_hash_handle hh;
};

struct process {
	pid_t pid;
	int dir; /* /proc/PID, or that of a thread that lives: files opened relative to it belong to this process even if the PID is reused */
	struct target_memory *memory; /* NULL: it may not be read */
	struct mapped *mappings;
	unsigned n_mappings;
	unsigned capacity;
	struct known_file *files;
	struct mapped_data *data;
	unsigned n_data;
	unsigned n_files;
	unsigned n_opened;
};

/* --- mappings -------------------------------------------------------------------------------- */

/* 1: yes; a process may have very many mappings of very many files. */
static int mapping_is_new_file(struct process *p, const struct mapped *m)
{
	const struct file_key key = { m->device, m->inode };
	struct known_file *known;

	HASH_FIND(hh, p->files, &key, sizeof(key), known);
	if (known)
		return 0;
	return hash_add_new(hh, p->files, key, key) ? 1 : -ENOMEM;
}

static void process_forget_files(struct process *p)
{
	struct known_file *known, *next;

	HASH_ITER (hh, p->files, known, next) {
		HASH_DEL(p->files, known);
		free(known);
	}
}

static int process_add_mapping(void *context, const struct mapping *mapping)
{
	struct process *p = context;
	int is_new = 0;
	struct mapped m = {
		.start = mapping->start,
		.end = mapping->end,
		.offset = mapping->offset,
		.device = (uint64_t)mapping->device_major << 32 | mapping->device_minor,
		.inode = mapping->inode,
		.writable = mapping->writable,
	};

	/* Code contains the probes, writable data the semaphores. */
	if (!m.inode || (!mapping->executable && !m.writable))
		return 0;
	if (p->n_mappings == MAX_MAPPINGS)
		return -E2BIG;
	if (!array_reserve(p->mappings, p->n_mappings, p->capacity, 256))
		return -ENOMEM;
	if (mapping->executable && p->n_files < MAX_FILES)
		is_new = mapping_is_new_file(p, &m);
	if (is_new < 0)
		return is_new;
	if (is_new) {
		m.path = strdup(mapping->path);
		if (!m.path)
			return -ENOMEM;
		p->n_files++;
	}
	p->mappings[p->n_mappings++] = m;
	return 0;
}

static int compare_data(const void *of_a, const void *of_b)
{
	const struct mapped_data *a = of_a, *b = of_b;

	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	if (a->inode != b->inode)
		return a->inode < b->inode ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

/* A process may have 4096 files with many semaphores each, and many mappings: so they are not searched one by one. */
static int process_sort_data(struct process *p)
{
	p->data = calloc(p->n_mappings + 1, sizeof(*p->data));
	if (!p->data)
		return -ENOMEM;
	for (unsigned i = 0; i < p->n_mappings; i++) {
		const struct mapped *m = &p->mappings[i];

		if (m->writable)
			p->data[p->n_data++] = (struct mapped_data){ .device = m->device,
								     .inode = m->inode,
								     .offset = m->offset,
								     .length = m->end - m->start,
								     .start = m->start };
	}
	qsort(p->data, p->n_data, sizeof(*p->data), compare_data);
	for (unsigned i = 0; i < p->n_data; i++) {
		struct mapped_data *d = &p->data[i], *before = i ? &p->data[d[-1].furthest] : d;
		bool same = before->device == d->device && before->inode == d->inode;

		d->furthest = same && before->offset + before->length > d->offset + d->length
				      ? (unsigned)(before - p->data)
				      : i;
	}
	return 0;
}

/* Where an offset of a file is mapped writable. NULL: nowhere. */
static const struct mapped_data *process_find_data(const struct process *p,
						   const struct mapped *file, uint64_t offset)
{
	const struct mapped_data wanted = { .device = file->device,
					    .inode = file->inode,
					    .offset = offset },
				 *found;
	unsigned low = 0, high = p->n_data;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;

		if (compare_data(&p->data[middle], &wanted) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	found = &p->data[p->data[low - 1].furthest];
	return found->device == file->device && found->inode == file->inode &&
			       offset - found->offset < found->length
		       ? found
		       : NULL;
}

/*
 * Reads the semaphores of a file from the memory of the process where that part of the file is
 * mapped.
 */
struct semaphore_reader {
	const struct process *process;
	const struct mapped *file;
};

static bool process_read_semaphores(void *context, uint64_t offset, uint16_t ret_values[2])
{
	const struct semaphore_reader *r = context;
	const struct process *p = r->process;
	const struct mapped_data *d = p->memory ? process_find_data(p, r->file, offset) : NULL;

	return d && !target_memory_read(p->memory, d->start + (offset - d->offset), ret_values, 4);
}

/* --- opening --------------------------------------------------------------------------------- */

static int process_open_mapped(const struct process *p, const struct mapped *m)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "map_files/%" PRIx64 "-%" PRIx64, m->start, m->end);
	fd = openat(p->dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd >= 0 ? fd : open_mapped_path(p->dir, m->path, m->inode);
}

/* Some files of a process are not ELF files, and some were removed: neither ends the listing. */
static int list_mapped_file(struct list *list, struct process *p, const struct mapped *m)
{
	struct semaphore_reader reader = { .process = p, .file = m };
	struct list_semaphores semaphores = { .read = process_read_semaphores, .context = &reader };
	struct failure f;
	int fd = process_open_mapped(p, m), r;

	if (fd < 0) {
		failure_set(&f, fd, "cannot open", m->path,
			    fd == -ESTALE ? "replaced by another file since it was mapped" : NULL);
		if (fd == -ESTALE || fd == -EACCES || fd == -EPERM || fd == -ENOENT)
			failure_hint(&f, "with sudo the file can be opened as it is mapped");
		fflush(stdout);
		failure_print(&f, stderr);
		return fd;
	}
	p->n_opened++;
	r = list_file(list, fd, m->path, &semaphores, true, &f);
	close(fd);
	if (r == -ENOMEM || (r && list->verbose)) {
		fflush(stdout);
		failure_print(&f, stderr);
	}
	return r == -ENOMEM ? r : 0;
}

/* --- the process ----------------------------------------------------------------------------- */

static int mappings_not_readable(struct failure *f, int error, pid_t pid)
{
	char object[16];

	snprintf(object, sizeof(object), "%d", (int)pid);
	if (error == -ENOENT || error == -ESRCH)
		return failure_set(f, -ESRCH, "no such process", object, "");
	if (error != -EACCES && error != -EPERM)
		return failure_set(f, error, "cannot read the mappings of process", object, NULL);
	failure_set(f, error, "not permitted to read the mappings of process", object, "");
	failure_hint(f, "run proftrace with sudo, or as the user that the process belongs to with "
			"CAP_SYS_PTRACE");
	return error;
}

/* Until Ctrl-C. */
static bool wait_for_mappings(void *unused)
{
	(void)unused;
	return true;
}

static int process_read_mappings(struct process *p, struct failure *f)
{
	int fd = openat(p->dir, "maps", O_RDONLY | O_CLOEXEC), r;
	struct target_memory *maps;

	if (fd < 0)
		return mappings_not_readable(f, -errno, p->pid);
	maps = target_memory_new(fd);
	if (!maps)
		return mappings_not_readable(f, -ENOMEM, p->pid);
	target_memory_wait_while(maps, wait_for_mappings, NULL);
	r = maps_read(maps, process_add_mapping, p);
	target_memory_free(maps);
	if (r < 0)
		return mappings_not_readable(f, r, p->pid);
	if (p->n_files == 0)
		return list_no_markers(p->pid,
				       r == 0 ? "it has exited or is a kernel thread"
					      : "it has no executable file mappings",
				       f);
	r = process_sort_data(p);
	return r ? mappings_not_readable(f, r, p->pid) : 0;
}

static int list_mappings(struct list *list, struct process *p, struct failure *f)
{
	int r = process_read_mappings(p, f), last = 0;

	if (r)
		return r;
	for (unsigned i = 0; i < p->n_mappings; i++) {
		if (!p->mappings[i].path)
			continue;
		r = list_mapped_file(list, p, &p->mappings[i]);
		last = r ? r : last;
	}
	return p->n_opened ? 0 : mappings_not_readable(f, last, p->pid);
}

/* A comment line: the lines of markers stay those that programs read. */
static void print_place(const struct process *p)
{
	char name[CONTAINER_NAME] = "", text[CONTAINER_NAME + CONTAINER_UNIT + 32];
	long inner = process_inner_pid(p->dir);
	struct process_place place;

	if (process_place(p->dir, &place)) {
		if (place.container[0])
			container_find_name(place.container, name);
		process_place_text(&place, name, text, sizeof(text));
		print_visible(stdout, "# process %d: %s\n", (int)p->pid, text);
	}
	if (inner && inner != p->pid)
		print_visible(stdout, "# process %d: PID %ld inside\n", (int)p->pid, inner);
}

int list_process(struct list *list, pid_t pid, struct failure *f)
{
	struct process p = { .pid = pid };
	int r, mem;

	p.dir = open_living_thread(pid);
	if (p.dir < 0)
		return mappings_not_readable(f, -errno, pid);
	print_place(&p);
	mem = openat(p.dir, "mem", O_RDONLY | O_CLOEXEC);
	if (mem >= 0)
		p.memory = target_memory_new(mem);
	r = list_mappings(list, &p, f);
	for (unsigned i = 0; i < p.n_mappings; i++)
		free(p.mappings[i].path);
	free(p.mappings);
	free(p.data);
	process_forget_files(&p);
	target_memory_free(p.memory);
	close(p.dir);
	return r;
}
