/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which mapping of call stacks a mapped file is. In a trace a mapping is known by its path and build id, and a program chooses
 * both: in a mount namespace of its own, or in a container, it has a file with the path and the build id of another user's library,
 * and other functions. So a second file of the same path and build id is a mapping of its own, "PATH (2)", except if all bytes are
 * equal, as in containers of one image. Functions then get their names from a copy of these bytes, because whoever owns the first
 * file may change it after it was compared.
 */
#include "capture/stacks/mapped_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/stacks/internal.h"

#define MAX_SAME	1000	      /* files of the same path and build id */
#define MAX_COPIES	(64ull << 20) /* bytes of all copies */
#define ONE_NS		100000000ull  /* the longest comparison */
#define COMPARE_ONCE_NS 250000000ll   /* all comparisons may take so much at once */
#define COMPARE_SHARE	20	      /* and one part in so many of the time later on */
#define CHUNK		(128u << 10)

struct mapping_key {
	const struct file *file; /* NULL: it could not be opened */
	const struct name *path, *build_id;
};

/* The mapping that was found for a file. */
struct found_mapping {
	struct mapping_key key;
	const struct code_mapping *mapping; /* NULL: too many */
	UT_hash_handle hh;
};

/* Whose a mapping is. */
struct mapping_owner {
	bool is_taken;
	const struct file *file; /* NULL: could not be opened, so there are no names */
	int copy; /* of its bytes, for all files that are equal to it; -1: there is no other file */
};

struct mapped_files {
	struct callstacks *store;
	struct names *names;
	struct found_mapping *found;
	struct mapping_owner *owners; /* by the mapping's id */
	uint32_t capacity;
	uint64_t copied; /* bytes */
	int64_t left_ns; /* for comparisons */
	uint64_t left_at_ns;
	uint8_t chunk[2][CHUNK];
};

struct mapped_files *mapped_files_new(struct callstacks *store, struct names *names)
{
	struct mapped_files *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->store = store;
	m->names = names;
	m->left_ns = COMPARE_ONCE_NS;
	m->left_at_ns = monotonic_now();
	return m;
}

void mapped_files_free(struct mapped_files *m)
{
	if (!m)
		return;
	for (uint32_t i = 0; i < m->capacity; i++) {
		if (m->owners[i].copy >= 0)
			close(m->owners[i].copy);
	}
	hash_clear(hh, m->found, f);
	free(m->owners);
	free(m);
}

static struct mapping_owner *mapping_owner_get(struct mapped_files *m,
					       const struct code_mapping *mapping)
{
	uint32_t capacity = m->capacity ? m->capacity : 64;
	struct mapping_owner *grown;

	while (capacity <= mapping->id)
		capacity *= 2;
	if (capacity != m->capacity) {
		grown = realloc(m->owners, capacity * sizeof(*grown));
		if (!grown)
			return NULL;
		for (uint32_t i = m->capacity; i < capacity; i++)
			grown[i] = (struct mapping_owner){ .copy = -1 };
		m->owners = grown;
		m->capacity = capacity;
	}
	return &m->owners[mapping->id];
}

/* --- comparing ----------------------------------------------------------------------------------- */

static size_t read_chunk(int fd, uint8_t *chunk, uint64_t at, uint64_t size)
{
	size_t wanted = size - at < CHUNK ? (size_t)(size - at) : CHUNK, n = 0;
	ssize_t got = 1;

	while (n < wanted && got > 0) {
		got = TEMP_FAILURE_RETRY(pread(fd, chunk + n, wanted - n, (off_t)(at + n)));
		n += got > 0 ? (size_t)got : 0;
	}
	return n == wanted ? n : 0;
}

/* Compares the file with the owner's, or with its copy, which is made from the same bytes that are compared. */
static bool bytes_are_equal(struct mapped_files *m, struct mapping_owner *owner, int fd,
			    uint64_t size)
{
	const uint64_t until_ns = monotonic_now() + ONE_NS;
	int copy = owner->copy >= 0 ? -1 : memfd_create("equal", MFD_CLOEXEC);
	int other = owner->copy >= 0 ? owner->copy : owner->file->fd;
	bool equal = owner->copy >= 0 || copy >= 0;

	for (uint64_t at = 0; equal && at < size;) {
		size_t n = read_chunk(other, m->chunk[0], at, size);

		equal = n && read_chunk(fd, m->chunk[1], at, size) == n &&
			!memcmp(m->chunk[0], m->chunk[1], n) && monotonic_now() < until_ns &&
			(copy < 0 || pwrite(copy, m->chunk[0], n, (off_t)at) == (ssize_t)n);
		at += n;
	}
	if (equal && copy >= 0) {
		owner->copy = copy;
		m->copied += size;
	} else if (copy >= 0) {
		close(copy);
	}
	return equal;
}

/* Whether the file is equal to that of the mapping, as far as there is time to compare them. */
static bool file_is_equal(struct mapped_files *m, struct mapping_owner *owner,
			  const struct file *file)
{
	uint64_t begin_ns = monotonic_now();
	struct stat own, other;
	bool equal;

	if (!file || !owner->file || !file->elf || !owner->file->elf)
		return false;
	m->left_ns += (int64_t)((begin_ns - m->left_at_ns) / COMPARE_SHARE);
	m->left_at_ns = begin_ns;
	if (m->left_ns > COMPARE_ONCE_NS)
		m->left_ns = COMPARE_ONCE_NS;
	if (m->left_ns < 0 || fstat(file->fd, &own) ||
	    fstat(owner->copy >= 0 ? owner->copy : owner->file->fd, &other) || own.st_size <= 0 ||
	    own.st_size != other.st_size)
		return false;
	if (owner->copy < 0 && (uint64_t)own.st_size > MAX_COPIES - m->copied)
		return false;
	equal = bytes_are_equal(m, owner, file->fd, (uint64_t)own.st_size);
	m->left_ns -= (int64_t)(monotonic_now() - begin_ns);
	return equal;
}

/* --- mappings ------------------------------------------------------------------------------------ */

static const struct name *numbered_path(struct mapped_files *m, const struct name *path, unsigned n)
{
	char text[MAPS_MAX_PATH + 64];

	if (n == 1)
		return path;
	snprintf(text, sizeof(text), "%.*s (%u)", MAPS_MAX_PATH, path->text, n);
	return names_intern_string(m->names, text);
}

static const struct code_mapping *find_mapping(struct mapped_files *m, struct code_mapping like,
					       const struct file *file)
{
	const struct name *path = like.path;

	for (unsigned n = 1; n <= MAX_SAME; n++) {
		const struct code_mapping *mapping;
		struct mapping_owner *owner;

		like.path = numbered_path(m, path, n);
		mapping = callstacks_mapping(m->store, &like);
		owner = mapping ? mapping_owner_get(m, mapping) : NULL;
		if (!owner)
			return NULL;
		if (!owner->is_taken) {
			owner->is_taken = true;
			owner->file = file;
		}
		if (owner->file == file || file_is_equal(m, owner, file))
			return mapping;
	}
	return NULL;
}

const struct code_mapping *mapped_files_mapping(struct mapped_files *m,
						const struct code_mapping *like,
						const struct file *file)
{
	const struct mapping_key key = { file, like->path, like->build_id };
	struct found_mapping *found;

	HASH_FIND(hh, m->found, &key, sizeof(key), found);
	if (!found) {
		found = hash_add_new(hh, m->found, key, key);
		if (!found)
			return NULL;
		found->mapping = find_mapping(m, *like, file);
	}
	return found->mapping;
}

int mapped_files_fd(const struct mapped_files *m, const struct code_mapping *mapping)
{
	const struct mapping_owner *owner =
		mapping->id < m->capacity ? &m->owners[mapping->id] : NULL;

	if (!owner)
		return -1;
	return owner->copy >= 0 ? owner->copy : owner->file ? owner->file->fd : -1;
}
