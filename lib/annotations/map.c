/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Handles and what was made for them. Tables of entries that are never removed, each twice as large as the one before
 * and used when that is half full. Neither finding nor adding takes a lock.
 */
#include "annotations.h"

#include <stdlib.h>

#define FIRST_BITS 10
#define TABLES	   30

struct table {
	struct map_entry *entries;
	uint64_t n;
};

static struct map_entry first[1 << FIRST_BITS];
static struct table tables[TABLES] = { { first, 0 } };

static unsigned table_bits(unsigned i)
{
	return FIRST_BITS + i;
}

/* Where a key is, or would be. */
static struct map_entry *table_find(unsigned i, struct map_entry *entries, uint64_t key)
{
	const uint64_t mask = (UINT64_C(1) << table_bits(i)) - 1;
	uint64_t at = (key * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - table_bits(i));

	for (;; at = (at + 1) & mask) {
		uint64_t found = __atomic_load_n(&entries[at].key, __ATOMIC_ACQUIRE);

		if (found == key || !found)
			return &entries[at];
	}
}

struct map_entry *map_find(uint64_t key)
{
	unsigned i;

	for (i = 0; i < TABLES; i++) {
		struct map_entry *entries = __atomic_load_n(&tables[i].entries, __ATOMIC_ACQUIRE),
				 *e;

		if (!entries)
			return NULL;
		e = table_find(i, entries, key);
		if (__atomic_load_n(&e->key, __ATOMIC_RELAXED) == key)
			return e;
	}
	return NULL;
}

/* A place for a key that is nowhere: in the first table with space, which is made if need be. NULL: no memory. */
static struct map_entry *map_new_entry(uint64_t key)
{
	unsigned i;

	for (i = 0; i < TABLES; i++) {
		struct map_entry *entries = __atomic_load_n(&tables[i].entries, __ATOMIC_ACQUIRE);
		struct map_entry *none = NULL, *e;
		uint64_t found;

		if (!entries) {
			entries = calloc((size_t)1 << table_bits(i), sizeof(*entries));
			if (!entries)
				return NULL;
			if (!__atomic_compare_exchange_n(&tables[i].entries, &none, entries, 0,
							 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
				free(entries);
				entries = none;
			}
		}
		/* Counted before it is used, so that there is a free entry at which a search ends. */
		if (__atomic_add_fetch(&tables[i].n, 1, __ATOMIC_RELAXED) >
		    UINT64_C(1) << (table_bits(i) - 1)) {
			__atomic_sub_fetch(&tables[i].n, 1, __ATOMIC_RELAXED);
			continue;
		}
		do {
			found = 0;
			e = table_find(i, entries, key);
		} while (!__atomic_compare_exchange_n(&e->key, &found, key, 0, __ATOMIC_ACQ_REL,
						      __ATOMIC_ACQUIRE) &&
			 found != key);
		return e;
	}
	return NULL;
}

void map_put(uint64_t key, void *value)
{
	struct map_entry *e = map_find(key);

	if (!e)
		e = map_new_entry(key);
	if (e)
		__atomic_store_n(&e->value, value, __ATOMIC_RELEASE);
}

void *map_add(uint64_t key, void *value)
{
	struct map_entry *e = map_find(key);
	void *none = NULL;

	if (!e)
		e = map_new_entry(key);
	if (!e || __atomic_compare_exchange_n(&e->value, &none, value, 0, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE))
		return value;
	return none;
}
