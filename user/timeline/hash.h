/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * uthash, set up to survive a lack of memory: an element that could not be added is not in the table,
 * which hash_added() tells, instead of the end of the program.
 */
#ifndef PROFTRACE_TIMELINE_HASH_H
#define PROFTRACE_TIMELINE_HASH_H

#define HASH_NONFATAL_OOM 1
#include "timeline/hash_key.h"

#define hash_added(handle, element) ((element)->handle.tbl != NULL)

#endif
