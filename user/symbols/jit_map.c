/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a perf map (/tmp/perf-PID.map), the text in which JIT compilers write down what they
 * generate, or a jitdump file (jit_dump.c): entries are sorted by address and time, and overlapping ones are resolved by
 * their time, or by their order in the file.
 */
#include "symbols/symbols.h"

#include "base/array.h"
#include "symbols/jit_dump.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	MAX_OVERLAP = 64, /* entries that are examined, backwards from the nearest one */
};

struct jit_map {
	char *text;
	size_t length;
	struct jit_entry *entries;
	size_t n;
};

static int read_jit_text(struct jit_map *map, int fd, off_t size)
{
	off_t begin = size > JIT_MAX_BYTES ? size - JIT_MAX_BYTES : 0;
	size_t capacity = (size_t)(size - begin);

	map->text = malloc(capacity + 1);
	if (!map->text)
		return -ENOMEM;
	while (map->length < capacity) {
		ssize_t n = TEMP_FAILURE_RETRY(pread(fd, map->text + map->length,
						     capacity - map->length,
						     begin + (off_t)map->length));

		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		map->length += (size_t)n;
	}
	map->text[map->length] = '\0';
	return 0;
}

static bool is_jit_blank(char c)
{
	return c == ' ' || c == '\t';
}

static const char *skip_jit_blanks(const char *at)
{
	while (is_jit_blank(*at))
		at++;
	return at;
}

static int hex_digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Hexadecimal, with or without 0x. NULL: not a number, or too large. */
static const char *read_jit_number(const char *at, uint64_t *ret)
{
	const char *begin;

	at = skip_jit_blanks(at);
	if (at[0] == '0' && (at[1] == 'x' || at[1] == 'X'))
		at += 2;
	*ret = 0;
	for (begin = at; hex_digit_value(*at) >= 0; at++) {
		if (*ret >> 60)
			return NULL;
		*ret = *ret << 4 | (uint64_t)hex_digit_value(*at);
	}
	return at > begin && is_jit_blank(*at) ? at : NULL;
}

/* A line ends with a NUL here, which replaced the newline. */
static bool read_jit_line(const struct jit_map *map, const char *line, struct jit_entry *ret)
{
	uint64_t size;
	const char *at = read_jit_number(line, &ret->start);

	at = at ? read_jit_number(at, &size) : NULL;
	if (!at || !size || size > UINT64_MAX - ret->start)
		return false;
	at = skip_jit_blanks(at);
	ret->end = ret->start + size;
	ret->name = (uint32_t)(at - map->text);
	return *at != '\0';
}

static int compare_jit_entries(const void *a, const void *b)
{
	const struct jit_entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->from_ns != y->from_ns)
		return x->from_ns < y->from_ns ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static int read_jit_entries(struct jit_map *map)
{
	char *at = map->text, *end = map->text + map->length;
	size_t lines = 1, skip, i;

	for (i = 0; i < map->length; i++)
		lines += map->text[i] == '\n';
	skip = lines > JIT_MAX_ENTRIES ? lines - JIT_MAX_ENTRIES : 0;
	map->entries = calloc(lines - skip, sizeof(*map->entries));
	if (!map->entries)
		return -ENOMEM;
	for (i = 0; i < lines && at < end; i++) {
		char *newline = memchr(at, '\n', (size_t)(end - at));
		struct jit_entry *entry = &map->entries[map->n];

		if (newline)
			*newline = '\0';
		if (i >= skip && read_jit_line(map, at, entry)) {
			entry->order = (uint32_t)i;
			map->n++;
		}
		at = newline ? newline + 1 : end;
	}
	return 0;
}

int jit_map_read(int fd, uid_t owner, struct jit_map **ret)
{
	struct jit_map *map;
	struct stat st;
	int error;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != owner || (st.st_mode & S_IWOTH))
		return -EPERM;
	map = calloc(1, sizeof(*map));
	if (!map)
		error = -ENOMEM;
	else if (jit_dump_is(fd))
		error = jit_dump_read(fd, (uint64_t)st.st_size, &map->text, &map->entries, &map->n);
	else
		error = read_jit_text(map, fd, st.st_size) ?: read_jit_entries(map);
	if (error) {
		jit_map_free(map);
		return error;
	}
	qsort(map->entries, map->n, sizeof(*map->entries), compare_jit_entries);
	*ret = map;
	return 0;
}

void jit_map_free(struct jit_map *map)
{
	if (!map)
		return;
	free(map->text);
	free(map->entries);
	free(map);
}

/* How many entries are at or before an address and, of those that begin there, not from a later time. */
static size_t count_jit_entries(const struct jit_map *map, uint64_t address, uint64_t at_ns)
{
	const struct jit_entry *e = map->entries;

	return array_count_before(map->n, i,
				  e[i].start < address ||
					  (e[i].start == address && e[i].from_ns <= at_ns));
}

static bool jit_entry_is_later(const struct jit_entry *e, const struct jit_entry *than)
{
	return !than || e->from_ns > than->from_ns ||
	       (e->from_ns == than->from_ns && e->order > than->order);
}

/* What was at an address at a time. */
static const struct jit_entry *find_jit_entry(const struct jit_map *map, uint64_t address,
					      uint64_t at_ns)
{
	size_t left = count_jit_entries(map, address, at_ns);
	const struct jit_entry *found = NULL;

	for (unsigned i = 0; i < MAX_OVERLAP && left; i++) {
		const struct jit_entry *e = &map->entries[left - 1];

		if (e->from_ns > at_ns) {
			left = count_jit_entries(map, e->start, at_ns);
			continue;
		}
		if (address < e->end && jit_entry_is_later(e, found))
			found = e;
		left--;
	}
	return found;
}

const char *jit_map_find(const struct jit_map *map, uint64_t address, uint64_t since_ns,
			 uint64_t until_ns)
{
	const struct jit_entry *first = find_jit_entry(map, address, since_ns);
	const struct jit_entry *last = find_jit_entry(map, address, until_ns);

	/* If it was replaced meanwhile, what was there for the longer part. Not all that overlap are examined. */
	if (first &&
	    (!last || (last != first && until_ns - last->from_ns < last->from_ns - since_ns)))
		last = first;
	return last ? map->text + last->name : NULL;
}
