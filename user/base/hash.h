/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * uthash that survives a lack of memory: an element that could not be added is not in the table,
 * which hash_added() reports, where plain uthash would exit.
 */
#ifndef PROFTRACE_BASE_HASH_H
#define PROFTRACE_BASE_HASH_H

#define HASH_NONFATAL_OOM 1
#include "base/hash_key.h"

#endif
