/* SPDX-License-Identifier: BSD-2-Clause */
/* Names in a jitdump file. Private to the folder: jit_map.c reads both kinds of files. */
#ifndef PROFTRACE_SYMBOLS_JIT_DUMP_H
#define PROFTRACE_SYMBOLS_JIT_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool jit_dump_is(int fd);
/* Its names as the text of a perf map, to be freed. `size`: of the file. Returns 0 or negative errno. */
int jit_dump_read(int fd, uint64_t size, char **ret_text, size_t *ret_length);

#endif
