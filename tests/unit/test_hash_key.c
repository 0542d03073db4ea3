/* SPDX-License-Identifier: BSD-2-Clause */
/* Nobody who knows the code can choose keys that meet in a table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"

#define MEETING	  4096 /* elements, whose hashes by uthash's own function end alike */
#define SAME_BITS 0x3ffu

/* Where the tests are run, and what runs them once more, to see what it is there. */
static char *self;

struct element {
	uint64_t key[2];
	UT_hash_handle hh;
};

static unsigned longest_chain(const struct element *table)
{
	const struct UT_hash_table *t = table->hh.tbl;
	unsigned i, longest = 0;

	for (i = 0; i < t->num_buckets; i++)
		longest = t->buckets[i].count > longest ? t->buckets[i].count : longest;
	return longest;
}

static void chosen_keys_spread(size_t length, uint64_t step)
{
	struct element *elements = calloc(MEETING, sizeof(*elements)), *table = NULL, *found;
	uint64_t key[2] = { 1, step };
	unsigned i;

	assert_non_null(elements);
	for (i = 0; i < MEETING; key[0] += step) {
		unsigned hash;

		HASH_JEN(key, length, hash);
		if ((hash & SAME_BITS) != SAME_BITS)
			continue;
		memcpy(elements[i].key, key, sizeof(key));
		HASH_ADD_KEYPTR(hh, table, elements[i].key, length, &elements[i]);
		assert_true(hash_added(hh, &elements[i]));
		i++;
	}
	assert_int_equal(table->hh.tbl->noexpand, 0);
	/* Ten are to be expected at most; this many come together once in 10^30 times. */
	assert_in_range(longest_chain(table), 1, 64);
	for (i = 0; i < MEETING; i++) {
		HASH_FIND(hh, table, elements[i].key, length, found);
		assert_ptr_equal(found, &elements[i]);
	}
	/* In the order in which they were added. */
	for (i = 0, found = table; found; i++, found = found->hh.next)
		assert_ptr_equal(found, &elements[i]);
	HASH_CLEAR(hh, table);
	free(elements);
}

static void chosen_numbers_do_not_meet(void **state)
{
	(void)state;
	chosen_keys_spread(sizeof(uint64_t), 1);
	chosen_keys_spread(sizeof(uint64_t), 0x9e3779b97f4a7ull);
}

static void chosen_bytes_do_not_meet(void **state)
{
	(void)state;
	chosen_keys_spread(2 * sizeof(uint64_t), 1);
	chosen_keys_spread(13, 0x10001);
}

/*
 * Under the key 00 01 .. 0f, of the bytes 00 01 02 ..: as CPython, which hashes by SipHash-1-3 as well,
 * and the Rust library have it.
 */
static void is_siphash_1_3(void **state)
{
	static const uint64_t expected[] = {
		0xabac0158050fc4dcull, 0xc9f49bf37d57ca93ull, 0x82cb9b024dc7d44dull,
		0x8bf80ab8e7ddf7fbull, 0xcf75576088d38328ull, 0xdef9d52f49533b67ull,
		0xc50d2b50c59f22a7ull, 0xd3927d989bb11140ull, 0x369095118d299a8eull,
	};
	const uint64_t secret[2] = { 0x0706050403020100ull, 0x0f0e0d0c0b0a0908ull };
	const struct hash_key key = hash_key_of(secret);
	unsigned char bytes[64];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)i;
	for (i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		assert_int_equal(hash_bytes(&key, bytes, i), expected[i]);
	/* In line or not, it is the same. */
	assert_int_equal(hash_with_process_key(bytes, 4),
			 (unsigned)hash_bytes(&hash_key, bytes, 4));
	assert_int_equal(hash_with_process_key(bytes, 8),
			 (unsigned)hash_bytes(&hash_key, bytes, 8));
	assert_int_equal(hash_with_process_key(bytes, 12),
			 (unsigned)hash_bytes(&hash_key, bytes, 12));
	assert_int_equal(hash_with_process_key(bytes, 16),
			 (unsigned)hash_bytes(&hash_key, bytes, 16));
}

static void each_process_has_another_key(void **state)
{
	char command[4096], lines[2][32] = { "", "" };
	FILE *pipe;
	int i;

	(void)state;
	snprintf(command, sizeof(command), "'%s' hash", self);
	for (i = 0; i < 2; i++) {
		pipe = popen(command, "r");
		assert_non_null(pipe);
		assert_non_null(fgets(lines[i], sizeof(lines[i]), pipe));
		assert_int_equal(pclose(pipe), 0);
	}
	assert_string_not_equal(lines[0], lines[1]);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chosen_numbers_do_not_meet),
		cmocka_unit_test(chosen_bytes_do_not_meet),
		cmocka_unit_test(is_siphash_1_3),
		cmocka_unit_test(each_process_has_another_key),
	};

	self = argv[0];
	if (argc > 1) {
		printf("%016llx\n", (unsigned long long)hash_bytes(&hash_key, argv[1], 4));
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
