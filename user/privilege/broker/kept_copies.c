/* SPDX-License-Identifier: BSD-2-Clause */
/* Asks the program find_uprobe what the kernel has, and lets the kernel decode the same bytes elsewhere. */
#include "privilege/broker/kept_copies.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/memfd.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "privilege/broker/server.h"

/*
 * Of the file with instructions of the broker's own. At the begin of what is mapped is one to which a link is attached always. The
 * areas behind it are used in turns: in one that was used before, links may not be closed yet. Where in the file all this is
 * nobody can guess: a uprobe that was leaked may be there as well.
 */
#define AREA 0x10000u /* a whole number of pages on any machine */
#define AREAS \
	8192u /* as many as processes are traced, each of which may need one as long as it lives */
#define COPY_SIZE 16u  /* as much as the kernel copies at most */
#define IN_AREA	  512u /* as many sites as a link has (attach.c) */
#define FILE_BITS 40

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008u
#endif

struct kept_copies {
	int program;
	int link; /* at the first instruction */
	int file;
	uint64_t base;	      /* of the areas */
	pthread_mutex_t lock; /* until there are links in the area that was found to be free */
	unsigned next_area;
};

int kept_copies_link(const struct kept_copies *kept)
{
	return kept->link;
}

/* The kernel writes the answer to where it has read the question. */
static int query(const struct kept_copies *kept, struct uprobe_query *q,
		 const struct broker_site *sites)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = q, .ctx_size_in = sizeof(*q));

	q->sites = (uintptr_t)&sites->offset;
	q->site_size = sizeof(*sites);
	q->anchor = kept->link;
	q->failed = 1;
	if (bpf_prog_test_run_opts(kept->program, &opts))
		return -errno;
	return q->failed ? -ENODATA : 0;
}

int kept_copies_find(const struct kept_copies *kept, const struct kept_file *file,
		     const struct broker_site *sites, unsigned n, unsigned from, unsigned *ret_at,
		     uint8_t copy[UPROBE_COPY])
{
	struct uprobe_query q;
	int error;

	do {
		q = (struct uprobe_query){ .n = n, .from = from, .link = file->link };
		q.file = file->link < 0 ? file->elf_fd : -1;
		error = query(kept, &q, sites);
		from = q.at + 1;
	} while (!error && q.at < n && !q.is_copied);
	if (error)
		return error;
	*ret_at = q.at;
	memcpy(copy, q.copy, UPROBE_COPY);
	return 0;
}

/* --- the same in a file of its own ---------------------------------------------------------------------- */

/* An area where the kernel has no uprobes. Returns its number, or negative errno. */
static int free_area(struct kept_copies *kept, unsigned n)
{
	const struct kept_file file = { kept->file, -1 };
	struct broker_site sites[IN_AREA] = { 0 };
	uint8_t copy[UPROBE_COPY];
	unsigned at = 0;
	int error = 0;

	for (unsigned tries = 0; !error && tries < AREAS; tries++) {
		unsigned area = 1 + kept->next_area++ % (AREAS - 1);

		for (unsigned i = 0; i < n; i++)
			sites[i].offset = kept->base + area * AREA + i * COPY_SIZE;
		error = kept_copies_find(kept, &file, sites, n, 0, &at, copy);
		if (!error && at == n)
			return (int)area;
	}
	return error ? error : -EBUSY;
}

/* Whether the kernel has the same for both. What is gone meanwhile will be what the file has. */
static int compare_each(const struct kept_copies *kept, const struct kept_file *file,
			const struct broker_site *sites, const struct broker_site *ours, unsigned n)
{
	const struct kept_file our_file = { kept->file, -1 };
	uint8_t copies[2][UPROBE_COPY] = { { 0 } };

	for (unsigned i = 0; i < n; i++) {
		unsigned at = 1, our_at = 1;
		int error = kept_copies_find(kept, file, sites + i, 1, 0, &at, copies[0]);

		error = error
				?: kept_copies_find(kept, &our_file, ours + i, 1, 0, &our_at,
						    copies[1]);
		if (error)
			return error;
		if (at)
			continue;
		if (our_at || memcmp(copies[0], copies[1], UPROBE_COPY) != 0)
			return -ESTALE;
	}
	return 0;
}

/* By memory: the broker may not write to files (confine.c). */
static int write_bytes(const struct kept_copies *kept, off_t begin, const void *bytes, size_t size)
{
	void *area = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_SHARED, kept->file, begin);

	if (area == MAP_FAILED)
		return -errno;
	memcpy(area, bytes, size);
	return munmap(area, AREA) ? -errno : 0;
}

/* Writes what the file has at the sites, at most IN_AREA, into an area. */
static int put_bytes(struct kept_copies *kept, unsigned area, const struct kept_file *file,
		     const struct broker_site *sites, unsigned n)
{
	const off_t begin = (off_t)(kept->base + (uint64_t)area * AREA);
	uint8_t bytes[IN_AREA * COPY_SIZE] = { 0 };

	for (unsigned i = 0; i < n; i++) {
		if (pread(file->elf_fd, bytes + i * COPY_SIZE, COPY_SIZE, (off_t)sites[i].offset) <
		    1)
			return -EIO;
	}
	return write_bytes(kept, begin, bytes, n * COPY_SIZE);
}

/* Finds an area, and has the kernel decode what is written there. */
static int link_area(struct kept_copies *kept, const struct loaded_programs *programs,
		     const struct kept_file *file, const struct broker_site *sites, unsigned n,
		     struct broker_site *ours, int *links, unsigned *ret_n)
{
	const int area = free_area(kept, n);
	const uint64_t begin = kept->base + (uint64_t)area * AREA;
	void *mapping;
	int error = area < 0 ? area : put_bytes(kept, (unsigned)area, file, sites, n);

	if (error)
		return error;
	for (unsigned i = 0; i < n; i++)
		ours[i].offset = begin + i * COPY_SIZE;
	mapping = mmap(NULL, AREA, PROT_READ, MAP_PRIVATE, kept->file, (off_t)begin);
	if (mapping == MAP_FAILED)
		return -errno;
	error = links_create(programs, programs->empty_fd, getpid(), false, kept->file, ours, n,
			     links, ret_n);
	munmap(mapping, AREA);
	return error;
}

static int compare_area(struct kept_copies *kept, const struct loaded_programs *programs,
			const struct kept_file *file, const struct broker_site *sites, unsigned n,
			int *links, unsigned *n_links)
{
	struct broker_site ours[IN_AREA] = { 0 };
	unsigned n_made = 0;
	int error;

	pthread_mutex_lock(&kept->lock);
	error = link_area(kept, programs, file, sites, n, ours, links + *n_links, &n_made);
	pthread_mutex_unlock(&kept->lock);
	*n_links += n_made;
	return error ? error : compare_each(kept, file, sites, ours, n);
}

int kept_copies_compare(struct kept_copies *kept, const struct loaded_programs *programs,
			const struct kept_file *file, const struct broker_site *sites, unsigned n,
			int *links, unsigned *n_links)
{
	int error = 0;

	for (unsigned done = 0, some; !error && done < n; done += some) {
		some = n - done < IN_AREA ? n - done : IN_AREA;
		error = compare_area(kept, programs, file, sites + done, some, links, n_links);
	}
	return error;
}

/* --- whether the kernel shows them -------------------------------------------------------------------------- */

#ifdef __x86_64__
static const uint8_t nops[] = { 0x90, 0x90, 0x90, 0x90 };
#else
static const uint8_t nops[] = { 0x1f, 0x20, 0x03, 0xd5 };
#endif

/* No uprobe is at the first place. What the kernel has for the second is the copy, and on x86-64 an address behind it. */
static bool is_as_expected(const struct kept_copies *kept)
{
	const struct broker_site sites[] = { { .offset = UINT64_MAX }, { .offset = kept->base } };
	const struct kept_file files[] = { { kept->file, -1 }, { kept->file, kept->link } };

	for (unsigned i = 0; i < 2; i++) {
		uint8_t copy[UPROBE_COPY] = { 0 };
		unsigned at = 0;

		if (kept_copies_find(kept, &files[i], sites, 2, 0, &at, copy) || at != 1 ||
		    memcmp(copy, nops, sizeof(nops)) != 0)
			return false;
#ifdef __x86_64__
		if (copy[COPY_SIZE + 7] != 0xff)
			return false;
#endif
	}
	return true;
}

static int attach_first(struct kept_copies *kept, const struct loaded_programs *programs)
{
	const struct broker_site first = { .offset = kept->base };
	unsigned n = 0;
	void *mapping;
	int error;

	error = write_bytes(kept, (off_t)kept->base, nops, sizeof(nops));
	if (error)
		return error;
	mapping = mmap(NULL, AREA, PROT_READ, MAP_PRIVATE, kept->file, (off_t)kept->base);
	if (mapping == MAP_FAILED)
		return -errno;
	error = links_create(programs, programs->empty_fd, getpid(), false, kept->file, &first, 1,
			     &kept->link, &n);
	munmap(mapping, AREA);
	return error;
}

static int make_file(struct kept_copies *kept)
{
	uint64_t random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -errno;
	kept->base = (random & ((1ull << FILE_BITS) - 1)) / AREA * AREA;
	/* Where it need not be said that nothing is executed in there (before Linux 6.3), it cannot be said. */
	kept->file = memfd_create("copies", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
	if (kept->file < 0 && errno == EINVAL)
		kept->file = memfd_create("copies", MFD_CLOEXEC);
	if (kept->file < 0 || ftruncate(kept->file, (off_t)(kept->base + (uint64_t)AREAS * AREA)))
		return -errno;
	return 0;
}

int kept_copies_new(const struct loaded_programs *programs, int program,
		    struct kept_copies **ret_kept)
{
	struct kept_copies *kept;
	int error;

	*ret_kept = NULL;
	if (program < 0)
		return 0;
	kept = calloc(1, sizeof(*kept));
	if (!kept)
		return -ENOMEM;
	*kept = (struct kept_copies){ .program = program, .link = -1, .file = -1 };
	pthread_mutex_init(&kept->lock, NULL);
	error = make_file(kept) ?: attach_first(kept, programs);
	if (!error && is_as_expected(kept)) {
		*ret_kept = kept;
		return 0;
	}
	if (kept->link >= 0)
		close(kept->link);
	if (kept->file >= 0)
		close(kept->file);
	free(kept);
	/* A limit on the size of files, which only a user without root can have set for good. */
	return error == -EFBIG ? 0 : error;
}
