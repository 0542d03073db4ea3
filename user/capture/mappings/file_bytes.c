/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether a process runs the bytes that were read of a file.
 *
 * A breakpoint is put into memory, at a place where the file has a probe site. Both come from the page cache, and are
 * the same. But the server of a file system in user space (FUSE, and 9p likewise) chooses for each open whether reads
 * go past the page cache (FOPEN_DIRECT_IO), and may show whoever looks at the file another one than the process runs:
 * then the breakpoint is in the middle of an instruction. So for such files memory must have a marker's instructions at
 * each site of a marker, and at other sites what the file has now. Nobody can see whether such a file system is a layer
 * of an overlay, so files of overlays are compared as well, unless the memory cannot be read. Other file systems have
 * one content for all.
 *
 * An overlay copies a file when somebody changes its mode or times, makes a link to it, or writes to it. The kernel attaches
 * to the copy from then on, and programs that have mapped the file still run the original.
 */
#include "capture/mappings/mappings.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/marker_note.h"
#include "tracee/memory/target_memory.h"

#define SITE_BYTES 16 /* no instruction is longer */

#ifdef __x86_64__
static const uint8_t nop[] = { MARKER_NOP_X86 }, stub[] = { MARKER_STUB_X86 },
		     breakpoint[] = { 0xcc };
#else
static const uint8_t nop[] = { MARKER_NOP_ARM64 }, stub[] = { MARKER_STUB_ARM64 };
static const uint8_t breakpoint[] = { 0xa0, 0x00, 0x20, 0xd4 };
#endif

struct running_bytes {
	struct capture *c;
	const struct file *file;
	pid_t pid;
	struct target_memory *memory;
	struct running_code mapping; /* of the place that was read last */
	bool too_many;		     /* mappings to search */
	bool is_locked;		     /* the process does not let its memory be read now */
};

/* How many bytes another tracer may have put there: a breakpoint, or the call for which the kernel replaces a nop. */
static size_t count_tracer_bytes(const uint8_t *memory, size_t n)
{
#ifdef __x86_64__
	static const uint8_t lea_call[] = { 0x48, 0x8d, 0x64, 0x24, 0x80, 0xe8 };

	if (n >= 10 && !memcmp(memory, lea_call, sizeof(lea_call)))
		return 10;
	if (n >= 5 && memory[0] == 0xe8)
		return 5;
#endif
	return n >= sizeof(breakpoint) && !memcmp(memory, breakpoint, sizeof(breakpoint))
		       ? sizeof(breakpoint)
		       : 0;
}

/* Whether these are the bytes, or another tracer is attached to the first of them. */
static bool bytes_match(const uint8_t *memory, const uint8_t *wanted, size_t n)
{
	size_t skipped = count_tracer_bytes(memory, n);

	return !memcmp(memory + skipped, wanted + skipped, n - skipped);
}

/* Code may have several mappings. */
static bool running_map(struct running_bytes *r, uint64_t offset)
{
	int error;

	if (offset >= r->mapping.offset && offset - r->mapping.offset < r->mapping.size)
		return true;
	error = running_maps_find(r->c, r->file, r->pid, offset, &r->mapping);
	r->too_many |= error == -E2BIG;
	r->is_locked |= error == -EBUSY;
	return !error;
}

static bool read_bytes(struct running_bytes *r, uint64_t address, uint8_t *bytes, size_t n)
{
	int error = target_memory_read(r->memory, address, bytes, n);

	r->is_locked |= error == -EAGAIN;
	return !error;
}

/*
 * Reads what the process has where an offset of the file is mapped. Returns the number of bytes: the next page may be behind
 * the end of the file.
 */
static size_t read_running(struct running_bytes *r, uint64_t offset, uint8_t *bytes)
{
	const struct running_code *m = &r->mapping;
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t size, address, in_page;

	/* No other byte can be read either. */
	if (r->is_locked || !running_map(r, offset))
		return 0;
	size = m->size - (offset - m->offset);
	if (size > SITE_BYTES)
		size = SITE_BYTES;
	address = m->start + (offset - m->offset);
	in_page = page - address % page < size ? page - address % page : size;
	if (!read_bytes(r, address, bytes, in_page))
		return 0;
	return in_page < size && read_bytes(r, address + in_page, bytes + in_page, size - in_page)
		       ? size
		       : in_page;
}

static bool running_open(struct running_bytes *r, struct capture *c, const struct file *file,
			 pid_t pid, const struct mapping *m)
{
	const struct broker_target target = { pid, 0 };
	int fd;

	*r = (struct running_bytes){
		.c = c,
		.file = file,
		.pid = pid,
		.mapping = { .offset = m->offset, .start = m->start, .size = m->end - m->start },
	};
	fd = broker_open(c->broker, BROKER_MEMORY, &target, 0, 0, NULL);
	if (fd >= 0)
		r->memory = target_memory_new(fd);
	return r->memory;
}

/* The path as the scan that is under way has it. */
static void report_uncompared(const struct running_bytes *r, const struct mapping *m, int verbosity)
{
	capture_log(r->c, verbosity,
		    "'%s' was not compared with process %d, which holds the lock of its memory",
		    m->path, (int)r->pid);
}

/* Other tracers may be attached to each of the nops. */
static bool stub_runs(const uint8_t *memory, size_t n)
{
	const size_t first = sizeof(nop);

	return n >= sizeof(stub) && bytes_match(memory, stub, first) &&
	       bytes_match(memory + first, stub + first, sizeof(stub) - first);
}

/* A site is at the first nop of a stub, at the second, or at the steady nop before them. */
static bool markers_run(struct running_bytes *r)
{
	uint8_t bytes[SITE_BYTES];

	for (unsigned i = 0; i < r->file->n_sites; i++) {
		size_t n = read_running(r, r->c->sites[r->file->first_site + i].offset, bytes);

		if (!stub_runs(bytes, n) &&
		    !(n >= sizeof(stub) - 1 && bytes_match(bytes, stub + 1, sizeof(stub) - 1)) &&
		    !(n > sizeof(nop) && bytes_match(bytes, nop, sizeof(nop)) &&
		      stub_runs(bytes + sizeof(nop), n - sizeof(nop))))
			return false;
	}
	return true;
}

static bool site_runs_as_read(struct running_bytes *r, uint64_t offset)
{
	uint8_t memory[SITE_BYTES], file[SITE_BYTES];
	size_t n = read_running(r, offset, memory);
	ssize_t got = pread(r->file->fd, file, n, (off_t)offset);

	/* The last page may be longer than the file. */
	return got >= (ssize_t)sizeof(breakpoint) && bytes_match(memory, file, (size_t)got);
}

static bool other_sites_run(struct running_bytes *r)
{
	const struct file *file = r->file;

	for (unsigned i = 0; i < file->n_probes; i++) {
		if (!site_runs_as_read(r, r->c->sites[file->first_probe + i].offset))
			return false;
	}
	for (unsigned i = 0; i < file->n_executes; i++) {
		if (!site_runs_as_read(r, file->executes[i].offset))
			return false;
	}
	for (unsigned i = 0; i < file->n_linker; i++) {
		if (!site_runs_as_read(r, file->linker[i].offset))
			return false;
	}
	return true;
}

const char *file_differs_from_running(struct capture *c, const struct file *file, pid_t pid,
				      const struct mapping *m)
{
	bool served = file_is_served(file->fd), same;
	struct running_bytes r;

	if (!served && !file_has_layers(file->fd))
		return NULL;
	same = running_open(&r, c, file, pid, m) && markers_run(&r) && other_sites_run(&r);
	if (!same && (!r.memory || r.is_locked)) {
		target_memory_free(r.memory);
		if (!served && r.is_locked)
			report_uncompared(&r, m, 1);
		return served ? "it is on FUSE or 9p, and the memory of the process cannot be read "
				"to compare"
			      : NULL;
	}
	target_memory_free(r.memory);
	return same	    ? NULL
	       : r.too_many ? TOO_MANY_MAPPINGS
			    : "its file system shows other bytes than those that run";
}

/* Whether the process has exactly the byte of the file there: nobody is attached. False as well if it cannot be read. */
static bool site_is_bare(struct running_bytes *r, uint64_t offset)
{
	uint8_t memory[SITE_BYTES], byte;

	return read_running(r, offset, memory) &&
	       pread(r->file->fd, &byte, 1, (off_t)offset) == 1 && memory[0] == byte;
}

const char *file_misses_attached(struct capture *c, const struct file *file, pid_t pid,
				 const struct mapping *m)
{
	struct running_bytes r;
	unsigned i, n = file->n_sites + file->n_probes;
	bool bare = true;

	/* Some sites are attached to later only, so one is enough. */
	if (!file->n_links || !n || !file_has_layers(file->fd) ||
	    !running_open(&r, c, file, pid, m))
		return NULL;
	/* What was read before it was attached may be out of date. */
	c->scans.running.is_stale = true;
	for (i = 0; i < n && bare; i++) {
		unsigned number = i < file->n_sites ? file->first_site + i
						    : file->first_probe + (i - file->n_sites);

		bare = site_is_bare(&r, c->sites[number].offset);
	}
	for (i = 0; i < file->n_executes && bare; i++)
		bare = site_is_bare(&r, file->executes[i].offset);
	for (i = 0; i < file->n_linker && bare; i++)
		bare = site_is_bare(&r, file->linker[i].offset);
	target_memory_free(r.memory);
	/* It may be that copy, and then the marks of this process are missing. */
	if (r.is_locked) {
		c->late++;
		report_uncompared(&r, m, 0);
	}
	return r.too_many ? TOO_MANY_MAPPINGS
	       : bare	  ? "its overlay has copied it since the process mapped it"
			  : NULL;
}

/* A breakpoint, or what the kernel has made of it. False as well if it cannot be read. */
static bool site_has_breakpoint(struct running_bytes *r, uint64_t offset)
{
	uint8_t memory[SITE_BYTES], byte;
	size_t n = read_running(r, offset, memory);

	return n && count_tracer_bytes(memory, n) &&
	       pread(r->file->fd, &byte, 1, (off_t)offset) == 1 && memory[0] != byte;
}

bool file_runs_attached(struct capture *c, const struct file *file, const struct file *attached,
			pid_t pid, const struct mapping *m)
{
	struct running_bytes r;
	unsigned i, n = attached->n_sites + attached->n_probes;
	bool has = false;

	if (!running_open(&r, c, file, pid, m))
		return false;
	/* Some sites are attached to later only, so one is enough. */
	for (i = 0; i < n && !has; i++) {
		unsigned number = i < attached->n_sites
					  ? attached->first_site + i
					  : attached->first_probe + (i - attached->n_sites);

		has = site_has_breakpoint(&r, c->sites[number].offset);
	}
	for (i = 0; i < attached->n_executes && !has; i++)
		has = site_has_breakpoint(&r, attached->executes[i].offset);
	for (i = 0; i < attached->n_linker && !has; i++)
		has = site_has_breakpoint(&r, attached->linker[i].offset);
	target_memory_free(r.memory);
	return has;
}
