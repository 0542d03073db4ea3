/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Open slices whose end does not say their name. They are in buckets of sixteen, by their keys. The memory is a part of
 * the library, of which only pages that are used exist: nothing is allocated for a slice, and slices that never end
 * cannot take more than that. A place is taken by compare and exchange, never by a lock, which a forked child might
 * find taken for good.
 */
#include "annotations.h"

#define BUCKETS	    2048 /* 2^(64 - 53) */
#define BUCKET_SIZE 16

/* In place of a key. Keys are hashes, and the two that stand for something else are changed. */
#define FREE 0
#define BUSY 1

static uint64_t keys[BUCKETS][BUCKET_SIZE];
static struct open_slice slices[BUCKETS][BUCKET_SIZE];
static uint32_t n_open;

static uint64_t open_key(uint64_t key)
{
	return key <= BUSY ? key + 2 : key;
}

/* Some keys are addresses, others are numbers that follow one another. */
static unsigned open_bucket(uint64_t key)
{
	return (unsigned)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 53);
}

bool open_any(void)
{
	return __atomic_load_n(&n_open, __ATOMIC_RELAXED) != 0;
}

bool open_add(uint64_t key, const prof_runtime_domain_t *domain, const char *name,
	      const struct open_begin *begin)
{
	static struct unsupported full = { "slices that overlap too many others", 0, NULL, 0 };
	unsigned i, at;
	uint64_t *bucket;

	key = open_key(key);
	at = open_bucket(key);
	bucket = keys[at];
	for (i = 0; i < BUCKET_SIZE; i++) {
		uint64_t found = FREE;

		if (bucket[i] != FREE ||
		    !__atomic_compare_exchange_n(&bucket[i], &found, BUSY, 0, __ATOMIC_ACQUIRE,
						 __ATOMIC_RELAXED))
			continue;
		slices[at][i].domain = domain;
		if (begin)
			slices[at][i].begin = *begin;
		text_copy(slices[at][i].name, NAME_KEPT, name, NAME_KEPT);
		__atomic_add_fetch(&n_open, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&bucket[i], key, __ATOMIC_RELEASE);
		return true;
	}
	unsupported_count(&full);
	return false;
}

bool open_remove(uint64_t key, struct open_slice *ret_slice)
{
	unsigned i, at;
	uint64_t *bucket;

	if (LIKELY(!open_any()))
		return false;
	key = open_key(key);
	at = open_bucket(key);
	bucket = keys[at];
	for (i = 0; i < BUCKET_SIZE; i++) {
		uint64_t found = key;

		if (bucket[i] != key ||
		    !__atomic_compare_exchange_n(&bucket[i], &found, BUSY, 0, __ATOMIC_ACQUIRE,
						 __ATOMIC_RELAXED))
			continue;
		*ret_slice = slices[at][i];
		__atomic_store_n(&bucket[i], FREE, __ATOMIC_RELEASE);
		__atomic_sub_fetch(&n_open, 1, __ATOMIC_RELAXED);
		return true;
	}
	return false;
}
