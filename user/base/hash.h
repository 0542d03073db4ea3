/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * uthash that survives a lack of memory: an element that could not be added is not in the table,
 * which hash_added() reports, where plain uthash would exit.
 */
#ifndef PROFTRACE_BASE_HASH_H
#define PROFTRACE_BASE_HASH_H

#define HASH_NONFATAL_OOM 1
#include "base/hash_key.h"

#define hash_added(handle, element) ((element)->handle.tbl != NULL)

/*
 * Adds an element that is all zero but for `field`, its key. NULL, and nothing was added, when there is no memory for
 * it or for a larger table.
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

#endif
