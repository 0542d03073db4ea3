/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether the kernel finds the semaphores of a file in the memory of a process.
 *
 * The kernel knows a semaphore by its offset in the file, and counts in the first writable mapping of that page. lld
 * puts what is read-only after relocation, and all other data, into two mappings, and these may share a page of the
 * file. Until the program is relocated both are writable: the kernel would count in the first one, where no marker
 * looks, and nothing would be recorded. Markers of the present header begin a page, so this concerns programs that
 * were compiled with an older one, and probes of others.
 */
#include "capture/mappings/mappings.h"

#include <errno.h>
#include <unistd.h>

struct page_mappings {
	const struct file *file;
	uint64_t offset; /* of a semaphore */
	unsigned n;	 /* writable mappings of its page */
};

static int count_page_mapping(void *context, const struct mapping *m)
{
	struct page_mappings *p = context;
	uint64_t device = (uint64_t)m->device_major << 32 | m->device_minor;

	p->n += m->writable && !m->shared && m->inode == p->file->inode &&
		device == p->file->device && p->offset >= m->offset &&
		p->offset - m->offset < m->end - m->start;
	return 0;
}

/* Whether the file says that two writable mappings have the page. */
static bool page_is_mapped_twice(const struct elf_file *elf, uint64_t offset)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	unsigned i, n = 0;

	for (i = 0; i < elf->n_segments; i++) {
		const struct elf_segment *s = &elf->segments[i];

		n += s->type == PT_LOAD && s->flags & PF_W && s->filesz &&
		     s->offset / page <= offset / page &&
		     (s->offset + s->filesz - 1) / page >= offset / page;
	}
	return n > 1;
}

bool elf_shares_writable_page(const struct elf_file *elf)
{
	for (unsigned i = 0; i < elf->n_segments; i++) {
		const struct elf_segment *s = &elf->segments[i];

		if (s->type == PT_LOAD && s->flags & PF_W && s->filesz &&
		    page_is_mapped_twice(elf, s->offset))
			return true;
	}
	return false;
}

/* The first of the sites whose semaphore is in such a page; 0: there is none. */
static uint64_t find_ambiguous_semaphore(const struct capture *c, const struct file *file)
{
	unsigned i, n = file->n_sites + file->n_probes;

	for (i = 0; i < n; i++) {
		unsigned number = i < file->n_sites ? file->first_site + i
						    : file->first_probe + (i - file->n_sites);
		uint64_t offset = c->sites[number].semaphore_offset;

		if (offset && page_is_mapped_twice(file->elf, offset))
			return offset;
	}
	return 0;
}

int file_check_semaphores(struct capture *c, const struct file *file, const char *path, pid_t pid,
			  bool runs, struct failure *f)
{
	struct page_mappings p = { .file = file, .offset = find_ambiguous_semaphore(c, file) };
	int error = 0;

	if (!p.offset)
		return 0;
	if (runs)
		error = maps_read_within(c, pid, true, count_page_mapping, &p);
	if (error == -E2BIG || error == -EBUSY)
		return failure_set(f, error, "cannot record", path,
				   error == -E2BIG ? TOO_MANY_MAPPINGS : LOCKED_MAPPINGS);
	if (p.n == 1) {
		capture_log(c, 0, "'%s' is recorded only in programs that run already: %s", path,
			    "before, the kernel would not find its semaphores");
		return 0;
	}
	failure_set(f, -ENOTSUP, "cannot record", path,
		    "the kernel would not find its semaphores, of which a page is mapped twice");
	failure_hint(f, "compile it with the present proftrace.h, link it with another linker than "
			"lld, or attach to it (-p) when it runs");
	return -ENOTSUP;
}
