/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Static names. A record has the distance of a name from its probe site. Both are in the same ELF
 * file, so the name is read from the file. Each marker is looked up once and cached by site and
 * distance, which are the same for every process and every load address.
 */
#include "capture/internal.h"

#include <stdlib.h>
#include <string.h>

bool read_static_string(struct capture *c, uint32_t site, int32_t distance, char *out, size_t size,
			size_t *ret_length)
{
	const struct site *s;
	ssize_t n;

	if (site >= c->n_sites || distance == NAME_NONE || distance == NAME_FAR)
		return false;
	s = &c->sites[site];
	n = elf_file_string(s->file->elf, s->vaddr + (int64_t)distance, out, size);
	if (n < 0)
		return false;
	/* A result of `size` means that the string is longer. */
	*ret_length = (size_t)n < size ? (size_t)n : size - 1;
	return true;
}

static const struct name *read_static_name(struct capture *c, uint32_t site, int32_t distance)
{
	/* One byte more than is kept, to recognise a longer name. */
	char text[MAX_NAME + 2];
	size_t length;

	if (!read_static_string(c, site, distance, text, sizeof(text), &length))
		return NULL;
	return names_intern(c->options.names, text, length, MAX_NAME);
}

const struct name *join_categories(struct capture *c, const struct name *domain, const char *more,
				   size_t length)
{
	char text[2 * MAX_NAME + 2];
	size_t n;

	if (!domain || !length || domain->length > MAX_NAME || length > MAX_NAME)
		return domain;
	if (is_runtime_domain(domain))
		return names_intern(c->options.names, more, length, sizeof(text));
	n = domain->length;
	memcpy(text, domain->text, n);
	text[n++] = ',';
	memcpy(text + n, more, length);
	return names_intern(c->options.names, text, n + length, sizeof(text));
}

static const struct name *read_static_categories(struct capture *c, const struct marker_key *key)
{
	const struct name *domain = c->sites[key->site].category;
	char text[MAX_NAME + 1];
	size_t length;

	if (!read_static_string(c, key->site, key->categories, text, sizeof(text), &length))
		return domain;
	return join_categories(c, domain, text, length);
}

/* The keys follow one another, each with its NUL. */
static void read_static_keys(struct capture *c, struct marker *m)
{
	const struct name *none = names_intern_string(c->options.names, "(unreadable)");
	const struct site *s = &c->sites[m->key.site];
	uint64_t vaddr = s->vaddr + (int64_t)m->key.keys;
	unsigned i, n = META_ARGS(m->key.types);
	bool readable = m->key.keys != NAME_NONE && m->key.keys != NAME_FAR;
	char text[MAX_NAME + 2];

	for (i = 0; i < n && i < MAX_ARGS; i++) {
		ssize_t length = -1;

		if (readable)
			length = elf_file_string(s->file->elf, vaddr, text, sizeof(text));
		/* After a key that was cut, the beginning of the next one is unknown. */
		readable = length >= 0 && length <= MAX_NAME;
		m->keys[i] =
			length < 0 ? none : names_intern(c->options.names, text, length, MAX_NAME);
		if (length >= 0)
			vaddr += length + 1;
	}
}

static struct marker *load_marker(struct capture *c, const struct marker_key *key)
{
	struct marker *m;

	HASH_FIND(hh, c->markers.table, key, sizeof(*key), m);
	if (m)
		return m;
	/* A program can invent any number of markers: beyond the limit they are not cached. */
	m = HASH_COUNT(c->markers.table) < MAX_MARKERS ? calloc(1, sizeof(*m)) : NULL;
	if (!m) {
		m = &c->markers.uncached;
		memset(m, 0, sizeof(*m));
	}
	m->key = *key;
	if (key->name != NAME_NONE) {
		m->name = read_static_name(c, key->site, key->name);
		m->unreadable = !m->name;
		if (!m->name)
			m->name = names_intern_string(c->options.names, "(unreadable)");
	}
	m->category = read_static_categories(c, key);
	if (key->keys)
		read_static_keys(c, m);
	if (m != &c->markers.uncached)
		HASH_ADD(hh, c->markers.table, key, sizeof(*key), m);
	return m;
}

const struct marker *marker_find(struct capture *c, const struct marker_key *key)
{
	struct marker *m = load_marker(c, key);

	if (m != &c->markers.uncached)
		*marker_slot(c, key) = m;
	return m;
}

void markers_free(struct capture *c)
{
	hash_clear(hh, c->markers.table, m);
}
