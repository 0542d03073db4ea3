/* SPDX-License-Identifier: BSD-2-Clause */
/* Files whose tables are wanted: each is read once, one after the other, by a process of its own. */
#include "capture/stacks/unwind_internal.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbols/unwind_rows.h"

/* --- the kernel's maps --------------------------------------------------------------------------- */

static size_t round_to_pages(size_t size)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (size + page - 1) / page * page;
}

int unwind_new(const struct broker_loaded *loaded, struct unwind **ret)
{
	static const size_t sizes[BROKER_UNWIND_MAPS] = {
		[BROKER_UNWIND_ROWS] = UNWIND_ROWS * sizeof(uint32_t),
		[BROKER_UNWIND_RULES] = UNWIND_RULES * sizeof(struct unwind_rule),
		[BROKER_UNWIND_PAGES] = UNWIND_PAGES * sizeof(struct unwind_page),
		[BROKER_UNWIND_RANGES] = UNWIND_RANGES * sizeof(struct unwind_range),
		[BROKER_UNWIND_PROCESSES] = UNWIND_PROCESSES * sizeof(struct unwind_process),
		[BROKER_UNWIND_PYTHON] = PYTHON_SETUPS * sizeof(struct python_setup),
	};
	struct unwind *u = calloc(1, sizeof(*u));
	int error;

	if (!u)
		return -ENOMEM;
	u->vdso_fd = -1;
	/* Number 0 stands for none. */
	u->n_ranges = UNWIND_SMALLEST_PIECE;
	for (unsigned i = 0; i < BROKER_UNWIND_MAPS; i++) {
		u->sizes[i] = round_to_pages(sizes[i]);
		u->mapped[i] = mmap(NULL, u->sizes[i], PROT_READ | PROT_WRITE, MAP_SHARED,
				    loaded->unwind[i], 0);
		if (u->mapped[i] != MAP_FAILED)
			continue;
		error = -errno;
		u->mapped[i] = NULL;
		unwind_free(u);
		return error;
	}
	u->rows = u->mapped[BROKER_UNWIND_ROWS];
	u->rules = u->mapped[BROKER_UNWIND_RULES];
	u->pages = u->mapped[BROKER_UNWIND_PAGES];
	u->ranges = u->mapped[BROKER_UNWIND_RANGES];
	u->processes = u->mapped[BROKER_UNWIND_PROCESSES];
	*ret = u;
	return 0;
}

struct python_setup *unwind_python(const struct unwind *u)
{
	return u->mapped[BROKER_UNWIND_PYTHON];
}

void unwind_free(struct unwind *u)
{
	struct unwind_file *file, *next;

	if (!u)
		return;
	unwind_tables_free(u->tables);
	unwind_processes_free(u);
	kernel_rules_free(u);
	HASH_ITER (hh, u->files, file, next) {
		HASH_DEL(u->files, file);
		free(file);
	}
	for (unsigned i = 0; i < BROKER_UNWIND_MAPS; i++) {
		if (u->mapped[i])
			munmap(u->mapped[i], u->sizes[i]);
	}
	if (u->vdso_fd >= 0)
		close(u->vdso_fd);
	free(u);
}

/* --- the file that is read ----------------------------------------------------------------------- */

static bool table_begin(void *context, uint64_t base, uint32_t n_rules, uint32_t n_rows)
{
	struct unwind *u = context;

	/* The ranges of processes have been computed with this base. */
	return base == u->reading->base && n_rows <= UNWIND_ROWS - u->n_rows &&
	       kernel_rows_begin(u, n_rules);
}

static bool table_rules(void *context, const struct unwind_rule *rules, uint32_t n)
{
	return kernel_rows_add_rules(context, rules, n);
}

static bool table_rows(void *context, const struct unwind_row *rows, uint32_t n)
{
	return kernel_rows_add(context, rows, n);
}

static void finish_reading(struct unwind *u, int error)
{
	struct unwind_file *file = u->reading;

	/* The kernel keeps the number of pages in 16 bits. */
	if (!error && u->n_pages - u->pages_before > UINT16_MAX)
		error = -E2BIG;
	file->state = error == -ENOENT ? UNWIND_TABLE_NONE
		      : error	       ? UNWIND_TABLE_REFUSED
				       : UNWIND_TABLE_THERE;
	u->n_refused += file->state == UNWIND_TABLE_REFUSED;
	if (!error) {
		file->first_page = u->pages_before;
		file->n_pages = u->n_pages - u->pages_before;
	}
	if (u->numbers)
		kernel_rows_end(u, !error);
	u->reading = NULL;
	unwind_processes_update(u, file);
}

uint64_t unwind_refused(const struct unwind *u)
{
	return u->n_refused;
}

/* --- files --------------------------------------------------------------------------------------- */

/* The kernel's vdso is the same in all processes, so the recorder's own is read. */
int unwind_vdso(struct unwind *u)
{
	const Elf64_Ehdr *vdso = (const void *)getauxval(AT_SYSINFO_EHDR);
	size_t size;

	if (u->vdso_fd >= 0 || !vdso)
		return u->vdso_fd;
	size = vdso->e_shoff + (size_t)vdso->e_shnum * vdso->e_shentsize;
	u->vdso_fd = memfd_create("vdso", MFD_CLOEXEC);
	if (u->vdso_fd >= 0 && write(u->vdso_fd, vdso, size) != (ssize_t)size) {
		close(u->vdso_fd);
		u->vdso_fd = -1;
	}
	return u->vdso_fd;
}

static void request_next(struct unwind *u)
{
	struct unwind_file *file;
	int fd, error;

	while (!u->reading && u->first && u->tables) {
		file = u->first;
		u->first = file->next;
		u->reading = file;
		fd = file->file ? file->file->fd : unwind_vdso(u);
		error = fd < 0 ? -EBADF : unwind_tables_request(u->tables, fd);
		if (error)
			finish_reading(u, error);
	}
}

static void table_end(void *context, int error)
{
	finish_reading(context, error);
	request_next(context);
}

/* Where the pages of a file begin, as the parser counts them. */
static uint64_t first_code(const struct elf_file *elf)
{
	uint64_t low = UINT64_MAX;

	for (unsigned i = 0; elf && i < elf->n_segments; i++) {
		const struct elf_segment *g = &elf->segments[i];

		if (g->type == PT_LOAD && g->flags & PF_X && g->vaddr < low)
			low = g->vaddr;
	}
	return low == UINT64_MAX ? 0 : low & ~((1ull << UNWIND_PAGE_BITS) - 1);
}

static uint64_t code_size(const struct elf_file *elf)
{
	uint64_t size = 0;

	for (unsigned i = 0; elf && i < elf->n_segments; i++) {
		if (elf->segments[i].flags & PF_X)
			size += elf->segments[i].filesz;
	}
	return size;
}

struct unwind_file *unwind_file_get(struct unwind *u, const struct file *file)
{
	struct unwind_file *f;

	HASH_FIND_PTR(u->files, &file, f);
	if (f)
		return f;
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->file = file;
	f->size = file ? code_size(file->elf) : 0;
	f->base = file ? first_code(file->elf) : 0;
	f->state = !file || file->elf ? UNWIND_TABLE_PENDING : UNWIND_TABLE_NONE;
	HASH_ADD_PTR(u->files, file, f);
	return f;
}

/* The smallest first: most are read in a millisecond, and stacks show meanwhile which of the others they lack. */
void unwind_file_request(struct unwind *u, struct unwind_file *file)
{
	struct unwind_file **at = &u->first;

	if (file->is_queued || file->state != UNWIND_TABLE_PENDING)
		return;
	file->is_queued = true;
	while (*at && (*at)->size <= file->size)
		at = &(*at)->next;
	file->next = *at;
	*at = file;
	request_next(u);
}

void unwind_hurry(struct unwind *u, const struct file *file)
{
	struct unwind_file *f, **at = &u->first;

	HASH_FIND_PTR(u->files, &file, f);
	if (!f || f->state != UNWIND_TABLE_PENDING || f == u->reading)
		return;
	while (*at && *at != f)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = f->next;
	f->next = u->first;
	u->first = f;
}

void unwind_expect(struct unwind *u, const struct file *file)
{
	struct unwind_file *f = unwind_file_get(u, file);

	if (f)
		unwind_file_request(u, f);
}

int unwind_begin(struct unwind *u)
{
	const struct unwind_table_sink sink = {
		.begin = table_begin,
		.rules = table_rules,
		.rows = table_rows,
		.end = table_end,
		.context = u,
	};
	int error = unwind_tables_new(&sink, &u->tables);

	return error ? error : unwind_tables_fd(u->tables);
}

void unwind_receive(struct unwind *u, uint64_t until_ns)
{
	if (u->tables)
		unwind_tables_receive(u->tables, until_ns);
}

void unwind_wait(struct unwind *u, uint64_t until_ns)
{
	uint64_t now_ns = monotonic_now();

	while (u->tables && u->reading && now_ns < until_ns) {
		struct pollfd fd = { .fd = unwind_tables_fd(u->tables), .events = POLLIN };

		if (poll(&fd, 1, (int)((until_ns - now_ns) / 1000000) + 1) > 0)
			unwind_tables_receive(u->tables, until_ns);
		now_ns = monotonic_now();
	}
}
