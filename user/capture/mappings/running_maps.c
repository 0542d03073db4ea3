/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The code that a process has mapped, read once for all files of a scan. A process may have 65,530 mappings and 4096 sites in a
 * file, each in another mapping: reading /proc/PID/maps for each of them took more than two minutes.
 *
 * The mappings may change after they were read. So the list only says where to look: whoever reads memory there compares
 * what it finds, and a place that the list does not have is looked for once more.
 */
#include "capture/mappings/mappings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "tracee/memory/target_memory.h"

/* Lines that one scan may read in addition to its own pass; a million take about 0.6 s. */
#define LINES_EACH_SCAN MAPS_MAX_LINES

/*
 * The kernel sets a breakpoint in each mapping of a site's page and, for a semaphore, walks all mappings of the process
 * (12 to 30 ns each). This cannot be interrupted, and no process can fork meanwhile. MOST_WORK steps take one or two seconds.
 */
#define BREAKPOINT_WORK 64
#define MOST_WORK	(1u << 26)

static int running_add(void *context, const struct mapping *m)
{
	struct running_maps *r = context;

	if (!m->executable || !m->inode)
		return 0;
	if (!array_reserve(r->list, r->n, r->capacity, 64))
		return -ENOMEM;
	r->list[r->n++] = (struct running_code){
		.device = (uint64_t)m->device_major << 32 | m->device_minor,
		.inode = m->inode,
		.offset = m->offset,
		.start = m->start,
		.size = m->end - m->start,
	};
	return 0;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_code(const void *a, const void *b)
{
	const struct running_code *x = a, *y = b;

	return compare_numbers(x->device, y->device)
		       ?: compare_numbers(x->inode, y->inode)
		       ?: compare_numbers(x->offset, y->offset)
		       ?: compare_numbers(x->start, y->start);
}

static bool is_same_file(const struct running_code *a, uint64_t device, uint64_t inode)
{
	return a->device == device && a->inode == inode;
}

/* Stores for each mapping which one ends last among those of the same file that begin at or before it. */
static void note_longest(struct running_maps *r)
{
	for (uint32_t i = 0; i < r->n; i++) {
		struct running_code *code = &r->list[i], *before = i ? code - 1 : code, *longest;

		code->longest = i;
		if (!is_same_file(before, code->device, code->inode))
			continue;
		longest = &r->list[before->longest];
		if (longest->offset + longest->size > code->offset + code->size)
			code->longest = before->longest;
	}
}

static bool user_waits(void *context)
{
	const struct capture_options *o = context;

	return !o->end_requests || !o->end_requests(o->context);
}

/* A thread that waits for the list of a process is the only one that does. */
bool mappings_are_awaited(struct traced_process *p)
{
	if (!p || !p->awaited_list)
		return false;
	if (target_memory_is_awaited(p->awaited_list))
		return true;
	mappings_forget_list(p);
	return false;
}

void mappings_forget_list(struct traced_process *p)
{
	target_memory_free(p->awaited_list);
	p->awaited_list = NULL;
}

int mappings_read(struct capture *c, const struct broker_target *target, bool all, mapping_fn each,
		  void *context, struct failure *f)
{
	struct traced_process *p = process_find(c, target->pid);
	struct target_memory *maps;
	int n, fd;

	if (mappings_are_awaited(p))
		return failure_set(f, -EBUSY, "cannot read the mappings of the process", "",
				   LOCKED_MAPPINGS);
	fd = broker_open(c->broker, BROKER_MAPS, target, 0, 0, f);
	maps = fd < 0 ? NULL : target_memory_new(fd);
	if (!maps)
		return fd < 0 ? fd : -ENOMEM;
	if (c->attaching && !c->is_drained)
		target_memory_wait_while(maps, user_waits, &c->options);
	n = all ? maps_read(maps, each, context) : maps_read_executable(maps, each, context);
	p = n == -EBUSY ? process_find(c, target->pid) : NULL;
	/* What the search of a file has read meanwhile may be awaited, too. */
	if (p && target_memory_is_awaited(maps)) {
		mappings_forget_list(p);
		p->awaited_list = maps;
	} else {
		target_memory_free(maps);
	}
	if (n < 0)
		failure_set(f, n, "cannot read the mappings of the process", "",
			    n == -EBUSY ? LOCKED_MAPPINGS : NULL);
	/* The thread by which they were read has ended; whether the process has, the broker has said. */
	return n == -ESRCH ? -EAGAIN : n;
}

int maps_read_within(struct capture *c, pid_t pid, bool all, mapping_fn each, void *context)
{
	const struct broker_target target = { pid, 0 };
	int n;

	if (c->scans.lines_read >= LINES_EACH_SCAN)
		return -E2BIG;
	n = mappings_read(c, &target, all, each, context, NULL);
	/* A process that has exited costs the next files nothing. */
	c->scans.lines_read += n == -E2BIG ? LINES_EACH_SCAN : n > 0 ? (unsigned)n : 0;
	return n;
}

static int running_read(struct capture *c, pid_t pid)
{
	struct running_maps *r = &c->scans.running;
	int n;

	r->n = 0;
	r->pid = pid;
	r->is_stale = false;
	n = maps_read_within(c, pid, false, running_add, r);
	r->n_all = 0;
	if (n < 0)
		r->n = 0;
	if (r->n)
		qsort(r->list, r->n, sizeof(*r->list), compare_code);
	note_longest(r);
	return n < 0 ? n : 0;
}

void running_maps_forget(struct capture *c)
{
	struct running_maps *r = &c->scans.running;

	free(r->list);
	*r = (struct running_maps){ 0 };
	c->scans.lines_read = 0;
}

/* Counts the mappings that sort before the file's offset; with `with_offset`, also those that begin there. */
static uint32_t count_before(const struct running_maps *r, uint64_t device, uint64_t inode,
			     uint64_t offset, bool with_offset)
{
	const struct running_code at = {
		device, inode, offset, with_offset ? UINT64_MAX : 0, 0, 0
	};

	return (uint32_t)array_count_before(r->n, i, compare_code(&r->list[i], &at) < 0);
}

static const struct running_code *find_code(const struct running_maps *r, uint64_t device,
					    uint64_t inode, uint64_t offset)
{
	uint32_t n = count_before(r, device, inode, offset, true);
	const struct running_code *code = n ? &r->list[n - 1] : NULL;

	if (!code || !is_same_file(code, device, inode))
		return NULL;
	code = &r->list[code->longest];
	return offset - code->offset < code->size ? code : NULL;
}

int running_maps_find(struct capture *c, const struct file *file, pid_t pid, uint64_t offset,
		      struct running_code *ret_code)
{
	const struct running_maps *r = &c->scans.running;
	const struct running_code *code = NULL;
	int error;

	if (r->pid == pid && !r->is_stale)
		code = find_code(r, file->device, file->inode, offset);
	if (!code) {
		error = running_read(c, pid);
		if (error)
			return error;
		code = find_code(r, file->device, file->inode, offset);
	}
	if (!code)
		return -ENOENT;
	*ret_code = *code;
	return 0;
}

static int compare_ends(const void *a, const void *b)
{
	return compare_numbers(*(const uint64_t *)a, *(const uint64_t *)b);
}

/* The ends of the file's mappings in the file, in order. */
static uint64_t *list_ends(const struct running_code *code, uint32_t n)
{
	uint64_t *ends = calloc(n ? n : 1, sizeof(*ends));

	for (uint32_t i = 0; ends && i < n; i++)
		ends[i] = code[i].offset + code[i].size;
	if (ends)
		qsort(ends, n, sizeof(*ends), compare_ends);
	return ends;
}

/* How many steps the kernel makes to attach to the file, if the process has so many mappings. */
static int count_work(struct capture *c, const struct file *file, uint64_t n_all,
		      uint64_t *ret_work)
{
	const struct running_maps *r = &c->scans.running;
	uint32_t first, n;
	uint64_t *ends, work = 0;

	first = count_before(r, file->device, file->inode, 0, false);
	n = count_before(r, file->device, file->inode, UINT64_MAX, true) - first;
	ends = list_ends(r->list + first, n);
	if (!ends)
		return -ENOMEM;
	for (unsigned i = 0; i < file->n_sites + file->n_probes && work <= MOST_WORK; i++) {
		const struct site *s =
			&c->sites[i < file->n_sites ? file->first_site + i
						    : file->first_probe + i - file->n_sites];
		uint64_t begun =
			count_before(r, file->device, file->inode, s->offset, true) - first;
		uint64_t ended = array_count_before(n, j, ends[j] <= s->offset);

		work += (begun - ended) * (BREAKPOINT_WORK + (s->semaphore_offset ? n_all : 0));
	}
	free(ends);
	*ret_work = work;
	return 0;
}

/* The most that a process may have; 0: unknown. */
static uint64_t most_mappings(void)
{
	char text[32] = "";
	int fd = open("/proc/sys/vm/max_map_count", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	return n > 0 ? strtoull(text, NULL, 10) : 0;
}

static int count_mapping(void *context, const struct mapping *m)
{
	(void)context;
	(void)m;
	return 0;
}

/*
 * For most files the most that a process may have is not too many. Those that are not code are counted only for others: of
 * 200 libraries, the kernel writes 0.4 ms at their list.
 */
int running_maps_check_work(struct capture *c, const struct file *file, pid_t pid)
{
	struct running_maps *r = &c->scans.running;
	uint64_t most, work = UINT64_MAX;
	int error = 0;

	if (!file->n_sites && !file->n_probes)
		return 0;
	if (!r->n || r->pid != pid)
		error = running_read(c, pid);
	most = error ? 0 : most_mappings();
	if (most)
		error = count_work(c, file, most, &work);
	if (!error && work > MOST_WORK && !r->n_all) {
		error = maps_read_within(c, pid, true, count_mapping, NULL);
		r->n_all = error > 0 ? (unsigned)error : 0;
		error = error < 0 ? error : 0;
	}
	if (!error && work > MOST_WORK)
		error = count_work(c, file, r->n_all, &work);
	/* It may have exited. */
	if (error)
		return error == -E2BIG || error == -ENOMEM || error == -EBUSY ? error : 0;
	return work <= MOST_WORK ? 0 : -E2BIG;
}
