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
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptors.h"
#include "capture/stacks/internal.h"

#define MAX_SAME	1000	      /* files of the same path and build id */
#define MAX_COPIES	(64ull << 20) /* bytes of all copies */
#define ONE_NS		20000000ull   /* the longest comparison */
#define COMPARE_ONCE_NS 250000000ll   /* all comparisons may take so much at once */
#define SLEEP_SHARE	4	      /* where it sleeps, one part in so many of the time counts */
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
	bool is_taken, is_shared; /* shared: by files of several users */
	const struct file *file;  /* NULL: could not be opened, so there are no names */
	uid_t uid;
	uint64_t size;
	const struct name *path; /* without a number */
	int copy; /* of its bytes, for all files that are equal to it; -1: there is no other file */
	const struct code_mapping *next; /* with the next number; NULL: not known */
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
	uint64_t n_uncompared;
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

/* When a comparison began. */
struct comparison_begin {
	uint64_t ns, cpu_ns;
	long sleeps;
};

static struct comparison_begin begin_comparison(void)
{
	struct rusage used = { 0 };

	getrusage(RUSAGE_THREAD, &used);
	return (struct comparison_begin){ monotonic_now(), clock_ns(CLOCK_THREAD_CPUTIME_ID),
					  used.ru_nvcsw };
}

/* CPU time, which is the same on a busy machine; but if it has slept, it waits for a disk or a server. */
static uint64_t comparison_cost(const struct comparison_begin *begin)
{
	const struct comparison_begin now = begin_comparison();
	uint64_t cpu_ns = now.cpu_ns - begin->cpu_ns;
	uint64_t took_ns = now.sleeps == begin->sleeps ? 0 : (now.ns - begin->ns) / SLEEP_SHARE;

	return cpu_ns > took_ns ? cpu_ns : took_ns;
}

/* 1: they are equal there, and have been copied; 0: they differ; -1: that is not known. */
static int compare_chunk(struct mapped_files *m, int fd, int other, int copy, uint64_t at,
			 uint64_t size)
{
	size_t n = read_chunk(other, m->chunk[0], at, size);

	if (!n || read_chunk(fd, m->chunk[1], at, size) != n)
		return -1;
	if (memcmp(m->chunk[0], m->chunk[1], n))
		return 0;
	return copy < 0 || pwrite(copy, m->chunk[0], n, (off_t)at) == (ssize_t)n ? 1 : -1;
}

/*
 * Compares the file with the owner's, or with its copy, which is made from the same bytes that are compared: the beginning and the
 * end, where the build id, the symbols and the table of sections are, before the rest, so that most files that differ do at once.
 */
static int compare_bytes(struct mapped_files *m, struct mapping_owner *owner, int fd,
			 const struct comparison_begin *begin)
{
	const uint64_t last = (owner->size - 1) / CHUNK * CHUNK;
	int copy = owner->copy >= 0 ? -1 : memfd_create("equal", MFD_CLOEXEC);
	int other = owner->copy >= 0 ? owner->copy : owner->file->fd;
	int equal = owner->copy >= 0 || copy >= 0 ? 1 : -1;

	if (equal > 0)
		equal = compare_chunk(m, fd, other, copy, last, owner->size);
	for (uint64_t at = 0; equal > 0 && at < last; at += CHUNK) {
		equal = compare_chunk(m, fd, other, copy, at, owner->size);
		if (equal > 0 && comparison_cost(begin) > ONE_NS)
			equal = -1;
	}
	if (equal > 0 && copy >= 0) {
		owner->copy = copy;
		m->copied += owner->size;
	} else if (copy >= 0) {
		close(copy);
	}
	return equal;
}

static bool can_afford_comparison(struct mapped_files *m, const struct mapping_owner *owner)
{
	uint64_t now_ns = monotonic_now();

	m->left_ns += (int64_t)((now_ns - m->left_at_ns) / COMPARE_SHARE);
	m->left_at_ns = now_ns;
	if (m->left_ns > COMPARE_ONCE_NS)
		m->left_ns = COMPARE_ONCE_NS;
	return m->left_ns >= 0 && (owner->copy >= 0 || owner->size <= MAX_COPIES - m->copied);
}

/*
 * Whether the file is equal to that of the mapping; -1: it may be, but cannot be compared. The server of a file decides whether it
 * answers at all, so nothing of such a file is read here.
 */
static int compare_file(struct mapped_files *m, struct mapping_owner *owner,
			const struct file *file, uint64_t size)
{
	struct comparison_begin begin;
	int equal;

	if (!file || !owner->file || !file->elf || !owner->file->elf || !size ||
	    size != owner->size)
		return 0;
	if (!can_afford_comparison(m, owner) || file->is_served || owner->file->is_served)
		return -1;
	begin = begin_comparison();
	equal = compare_bytes(m, owner, file->fd, &begin);
	m->left_ns -= (int64_t)comparison_cost(&begin);
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

/* The mapping with the next number; NULL: there are too many, or too many names. */
static const struct code_mapping *next_mapping(struct mapped_files *m, struct code_mapping *like,
					       const struct name *path, unsigned n)
{
	const struct name *before = like->path;

	like->path = numbered_path(m, path, n);
	return n > 1 && like->path == before ? NULL : callstacks_mapping(m->store, like);
}

static const struct code_mapping *find_mapping(struct mapped_files *m, struct code_mapping like,
					       const struct file *file)
{
	const struct code_mapping *mapping = NULL, *known = NULL;
	const struct name *path = like.path;
	struct mapping_owner *owner = NULL;
	struct stat st = { 0 };
	bool is_uncompared = false;
	uint32_t before = 0;

	if (file && descriptors_stat(file->fd, &st))
		st.st_size = 0;
	for (unsigned n = 1; n <= MAX_SAME; n++) {
		int equal;

		mapping = known ? known : next_mapping(m, &like, path, n);
		owner = mapping ? mapping_owner_get(m, mapping) : NULL;
		if (!owner)
			return NULL;
		if (n > 1)
			m->owners[before].next = mapping;
		before = mapping->id;
		known = owner->next;
		like.path = mapping->path;
		if (!owner->is_taken) {
			owner->is_taken = true;
			owner->file = file;
			owner->uid = st.st_uid;
			owner->size = (uint64_t)st.st_size;
			owner->path = path;
			m->n_uncompared += is_uncompared;
		}
		equal = owner->file == file ? 1
					    : compare_file(m, owner, file, (uint64_t)st.st_size);
		owner->is_shared |= equal > 0 && owner->uid != st.st_uid;
		if (equal > 0)
			return mapping;
		is_uncompared |= equal < 0;
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

int mapped_files_fd(const struct mapped_files *m, const struct code_mapping *mapping,
		    int *ret_original, const struct name **ret_path)
{
	const struct mapping_owner *owner =
		mapping->id < m->capacity ? &m->owners[mapping->id] : NULL;

	if (!owner || !owner->file)
		return -1;
	*ret_original = owner->is_shared ? -1 : owner->file->fd;
	*ret_path = owner->path;
	return owner->copy >= 0 ? owner->copy : owner->file->fd;
}

uint64_t mapped_files_uncompared(const struct mapped_files *m)
{
	return m->n_uncompared;
}
