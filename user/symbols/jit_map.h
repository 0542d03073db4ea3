/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of code that a process made while it ran, as it wrote them down for profilers, one a line, in
 * /tmp/perf-PID.map: "START SIZE name", numbers in hex.
 */
#ifndef PROFTRACE_SYMBOLS_JIT_MAP_H
#define PROFTRACE_SYMBOLS_JIT_MAP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	JIT_MAX_BYTES = 128 << 20, /* of a file */
	JIT_MAX_ENTRIES = 1 << 20,
};

struct jit_map;

/*
 * Anyone can make a file of that name: it has to be a regular one of `owner`, which nobody else can
 * write. Returns 0 or negative errno: -EPERM when it is not. Lines that make no sense are left out; so is
 * what goes beyond a limit, and its last lines are the ones that count.
 */
int jit_map_read(int fd, uid_t owner, struct jit_map **ret);
void jit_map_free(struct jit_map *map);

/*
 * Where code is made again at the same place, what was written later. Not NUL-terminated: *ret_length
 * bytes as they stand in the file. NULL: not known.
 */
const char *jit_map_find(const struct jit_map *map, uint64_t address, size_t *ret_length);

#endif
