/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The dictionary of a profile: what its samples name by numbers, each of it once. A number of 0 is nothing. Private to this
 * folder.
 */
#ifndef PROFTRACE_OTLP_PROFILE_DICTIONARY_H
#define PROFTRACE_OTLP_PROFILE_DICTIONARY_H

#include "base/hash.h"
#include "otlp/otlp_internal.h"
#include "timeline/callstack.h"

/* By their numbers in ProfilesDictionary. */
enum profile_table {
	PROFILE_MAPPINGS = 1,
	PROFILE_LOCATIONS,
	PROFILE_FUNCTIONS,
	PROFILE_LINKS,
	PROFILE_STRINGS,
	PROFILE_ATTRIBUTES,
	PROFILE_STACKS,
	PROFILE_TABLES,
};

/* Strings that each dictionary has, by their numbers. */
enum profile_string {
	PROFILE_STRING_NONE,
	PROFILE_STRING_CPU,
	PROFILE_STRING_NANOSECONDS,
	PROFILE_STRING_THREAD,
	PROFILE_STRING_BUILD_ID,
	PROFILE_STRING_FRAME_TYPE,
	PROFILE_STRINGS_KNOWN,
};

enum {
	PROFILE_ENTRIES = 8192,
};

struct profile_dictionary {
	bool full; /* something did not fit: numbers since then are not valid */
	size_t size;
	unsigned n_entries;
	int32_t n[PROFILE_TABLES];
	struct profile_entry {
		struct profile_key {
			uint32_t table, a, b, c;
		} key;
		int32_t number;
		UT_hash_handle hh;
	} entries[PROFILE_ENTRIES], *by_key;
	uint8_t bytes[OTLP_ITEMS];
};

/* All zero at the beginning. */
void profile_dictionary_begin(struct profile_dictionary *d);
void profile_dictionary_free(struct profile_dictionary *d);
int32_t profile_stack(struct profile_dictionary *d, const struct callstack *callstack);
int32_t profile_thread(struct profile_dictionary *d, uint32_t tid);
int32_t profile_link(struct profile_dictionary *d, const struct otlp_context *context);

#endif
