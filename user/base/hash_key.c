/* SPDX-License-Identifier: BSD-2-Clause */
/* Draws the key of the hash tables when the process starts. */
#include "base/hash_key.h"

#include <sys/auxv.h>
#include <sys/random.h>

struct hash_key hash_key;

struct hash_key hash_key_of(const uint64_t secret[2])
{
	return (struct hash_key){
		{ secret[0] ^ 0x736f6d6570736575ull, secret[1] ^ 0x646f72616e646f6dull,
		  secret[0] ^ 0x6c7967656e657261ull, secret[1] ^ 0x7465646279746573ull }
	};
}

uint64_t hash_bytes(const struct hash_key *key, const void *bytes, size_t length)
{
	return hash_inline(key, bytes, length);
}

/*
 * Runs before main(), so that no table has to check for a key, and no confined process has to be
 * allowed the system call. It must not wait for the kernel's random numbers, which may be missing
 * early after a boot: then the 16 random bytes that the kernel gives each program (AT_RANDOM) are
 * used.
 */
__attribute__((constructor)) static void draw_hash_key(void)
{
	uint64_t secret[2] = { 0 };

#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION /* what a fuzzer finds must be reproducible */
	const void *given = (const void *)getauxval(AT_RANDOM);

	if (getrandom(secret, sizeof(secret), GRND_NONBLOCK) != sizeof(secret) && given)
		memcpy(secret, given, sizeof(secret));
#endif
	hash_key = hash_key_of(secret);
}
