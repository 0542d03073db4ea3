/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * uthash with a hash function that an attacker cannot predict. Keys come from the traced program
 * and from files of unknown origin: names, ids, uuids. With a known function, whoever chooses the
 * keys can put all of them into one chain of the table, and each lookup walks the whole chain.
 *
 * The function is SipHash-1-3 (Aumann, Bernstein), which was made for this and is short enough for
 * single numbers, with a key that is drawn once per process. No output may depend on it: uthash
 * iterates in the order in which elements were added, whatever their hashes.
 *
 * Include this instead of uthash.h, or base/hash.h where a lack of memory has to be survived.
 */
#ifndef PROFTRACE_BASE_HASH_KEY_H
#define PROFTRACE_BASE_HASH_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef UTHASH_H
#error "include base/hash_key.h alone"
#endif

/* The initial state of SipHash with this process's key. Set before main(), then never again. */
struct hash_key {
	uint64_t v[4];
};

extern struct hash_key hash_key;

/* `secret`: any 16 bytes. */
struct hash_key hash_key_of(const uint64_t secret[2]);

/* Hashes `length` bytes with `key`. */
uint64_t hash_bytes(const struct hash_key *key, const void *bytes, size_t length);

static inline __attribute__((always_inline)) uint64_t hash_rotate(uint64_t word, unsigned by)
{
	return word << by | word >> (64 - by);
}

static inline __attribute__((always_inline)) void hash_round(struct hash_key *s)
{
	s->v[0] += s->v[1];
	s->v[2] += s->v[3];
	s->v[1] = hash_rotate(s->v[1], 13) ^ s->v[0];
	s->v[3] = hash_rotate(s->v[3], 16) ^ s->v[2];
	s->v[0] = hash_rotate(s->v[0], 32);
	s->v[2] += s->v[1];
	s->v[0] += s->v[3];
	s->v[1] = hash_rotate(s->v[1], 17) ^ s->v[2];
	s->v[3] = hash_rotate(s->v[3], 21) ^ s->v[0];
	s->v[2] = hash_rotate(s->v[2], 32);
}

static inline __attribute__((always_inline)) void hash_word(struct hash_key *s, uint64_t word)
{
	s->v[3] ^= word;
	hash_round(s);
	s->v[0] ^= word;
}

static inline __attribute__((always_inline)) uint64_t hash_inline(const struct hash_key *key,
								  const void *bytes, size_t length)
{
	const unsigned char *at = bytes, *end = at + (length & ~(size_t)7);
	struct hash_key s = *key;
	uint64_t word = 0;

	for (; at < end; at += 8) {
		memcpy(&word, at, 8);
		hash_word(&s, word);
	}
	/* The rest of the bytes, and above them the lowest byte of the length. */
	word = 0;
	if (length & 4)
		memcpy(&word, at, 4);
	if (length & 2)
		word |= (uint64_t)(at[length & 4] | at[(length & 4) + 1] << 8) << (length & 4) * 8;
	if (length & 1)
		word |= (uint64_t)at[length & 6] << (length & 6) * 8;
	hash_word(&s, word | (uint64_t)length << 56);
	s.v[2] ^= 0xff;
	hash_round(&s);
	hash_round(&s);
	hash_round(&s);
	return s.v[0] ^ s.v[1] ^ s.v[2] ^ s.v[3];
}

/* Most keys are one or two numbers, for which the loop is unrolled. */
static inline __attribute__((always_inline)) unsigned hash_with_process_key(const void *bytes,
									    size_t length)
{
	if (__builtin_constant_p(length) && length <= 16)
		return (unsigned)hash_inline(&hash_key, bytes, length);
	return (unsigned)hash_bytes(&hash_key, bytes, length);
}

#define HASH_FUNCTION(bytes, length, value) ((value) = hash_with_process_key(bytes, length))

#include <uthash.h>

/* Always true, or the process ended, but where base/hash.h is included. */
#define hash_added(handle, element) ((element)->handle.tbl != NULL)

/*
 * Adds an element that is all zero but for `field`, its key. NULL, and nothing was added, when
 * there is no memory for it or for a larger table.
 */
#define hash_add_new(handle, table, field, value)                                          \
	({                                                                                 \
		typeof(table) hash_new = calloc(1, sizeof(*hash_new));                     \
                                                                                           \
		if (hash_new) {                                                            \
			hash_new->field = (value);                                         \
			HASH_ADD(handle, table, field, sizeof(hash_new->field), hash_new); \
			if (!hash_added(handle, hash_new)) {                               \
				free(hash_new);                                            \
				hash_new = NULL;                                           \
			}                                                                  \
		}                                                                          \
		hash_new;                                                                  \
	})

/* Every element of a table by the handle `hh`; the one at hand may be removed. */
#define hash_each(table, element)                        \
	for (typeof(table) element = (table), hash_next; \
	     element && (hash_next = element->hh.next, true); element = hash_next)

/* Frees all elements of a table. What may come last frees what `element` has. */
#define hash_clear(handle, table, element, ...)                 \
	do {                                                    \
		typeof(table) element, hash_next;               \
                                                                \
		HASH_ITER (handle, table, element, hash_next) { \
			HASH_DELETE(handle, table, element);    \
			__VA_ARGS__;                            \
			free(element);                          \
		}                                               \
	} while (0)

#endif
