/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether a process runs the bytes that were read of a file.
 *
 * A breakpoint is put into memory, at a place where the file has a probe site. Both come from the page cache, and are
 * the same. But the server of a file system in user space (FUSE, and 9p likewise) chooses for each open whether reads go past the page
 * cache (FOPEN_DIRECT_IO), and may show whoever looks at the file another one than the process runs: then the
 * breakpoint is in the middle of an instruction. So for such files memory must have a marker's instructions at each
 * site of a marker, and at other sites what the file has now. Other file systems have one content for all.
 */
#include "capture/internal.h"

#include <string.h>
#include <unistd.h>

#include "base/marker_note.h"

#define SITE_BYTES 16 /* no instruction is longer */

#ifdef __x86_64__
static const uint8_t stub[] = { MARKER_STUB_X86 }, breakpoint[] = { 0xcc };
#else
static const uint8_t stub[] = { MARKER_STUB_ARM64 }, breakpoint[] = { 0xa0, 0x00, 0x20, 0xd4 };
#endif

struct running_bytes {
	const struct mapping *mapping;
	int memory; /* /proc/PID/mem */
	int file;
};

/* Whether these are the bytes, or another tracer has a breakpoint at the first of them. */
static bool bytes_match(const uint8_t *memory, const uint8_t *wanted, size_t n)
{
	size_t skipped = memcmp(memory, breakpoint, sizeof(breakpoint)) ? 0 : sizeof(breakpoint);

	return n >= skipped && !memcmp(memory + skipped, wanted + skipped, n - skipped);
}

/* Reads what the process has where an offset of the file is mapped. Returns the number of bytes. */
static size_t read_running(const struct running_bytes *r, uint64_t offset, uint8_t *bytes)
{
	const struct mapping *m = r->mapping;
	uint64_t into = offset - m->offset, size = m->end - m->start;
	ssize_t n;

	if (offset < m->offset || into >= size)
		return 0;
	size -= into;
	n = pread(r->memory, bytes, size < SITE_BYTES ? (size_t)size : SITE_BYTES,
		  (off_t)(m->start + into));
	return n > 0 ? (size_t)n : 0;
}

/* A site is at the first nop of a stub, or at the second. */
static bool markers_run(const struct capture *c, const struct file *file,
			const struct running_bytes *r)
{
	uint8_t bytes[SITE_BYTES];
	unsigned i;

	for (i = 0; i < file->n_sites; i++) {
		size_t n = read_running(r, c->sites[file->first_site + i].offset, bytes);

		if (!(n >= sizeof(stub) && bytes_match(bytes, stub, sizeof(stub))) &&
		    !(n >= sizeof(stub) - 1 && bytes_match(bytes, stub + 1, sizeof(stub) - 1)))
			return false;
	}
	return true;
}

static bool site_runs_as_read(const struct running_bytes *r, uint64_t offset)
{
	uint8_t memory[SITE_BYTES], file[SITE_BYTES];
	size_t n = read_running(r, offset, memory);
	ssize_t got = pread(r->file, file, n, (off_t)offset);

	/* The last page may be longer than the file. */
	return got >= (ssize_t)sizeof(breakpoint) && bytes_match(memory, file, (size_t)got);
}

static bool other_sites_run(const struct capture *c, const struct file *file,
			    const struct running_bytes *r)
{
	unsigned i;

	for (i = 0; i < file->n_probes; i++) {
		if (!site_runs_as_read(r, c->sites[file->first_probe + i].offset))
			return false;
	}
	for (i = 0; i < file->n_executes; i++) {
		if (!site_runs_as_read(r, file->executes[i].offset))
			return false;
	}
	return !file->linker.offset || site_runs_as_read(r, file->linker.offset);
}

const char *file_differs_from_running(const struct capture *c, const struct file *file, pid_t pid,
				      const struct mapping *m)
{
	const struct broker_target target = { pid, 0 };
	struct running_bytes r = { .mapping = m, .file = file->fd };
	bool same;

	if (!file_is_served(file->fd))
		return NULL;
	r.memory = broker_open(c->broker, BROKER_MEMORY, &target, 0, 0, NULL);
	if (r.memory < 0)
		return "it is on FUSE or 9p, and the memory of the process cannot be read to "
		       "compare";
	same = markers_run(c, file, &r) && other_sites_run(c, file, &r);
	close(r.memory);
	return same ? NULL : "its file system shows other bytes than those that run";
}
