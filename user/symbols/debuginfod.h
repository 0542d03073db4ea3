/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Debug files from a server (debuginfod), only if the user asks for it: a request tells the server what
 * runs here. libdebuginfod works in a process of its own, which has no capabilities, a filter of system
 * calls, and limits on memory, time and the size of a file. It gets build ids and returns descriptors; the
 * file that it returns is foreign, and is read by the parser only, which verifies the build id.
 *
 * Private to the folder and its tests.
 */
#ifndef PROFTRACE_SYMBOLS_DEBUGINFOD_H
#define PROFTRACE_SYMBOLS_DEBUGINFOD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct debuginfod;

struct debuginfod_counts {
	uint64_t fetched, missing; /* files that were found, and that were not */
	int error; /* the last one that is not "not found"; negative errno, 0: none */
};

/* Starts the process, under the same conditions as symbols_new(). Returns 0 or negative errno. */
int debuginfod_new(struct debuginfod **ret);
/* The recorder's side of a process that is at the other end of a socket already; NULL: no memory. */
struct debuginfod *debuginfod_on(int socket);
/* Once `give_up` returns true, half a second is left for all files. */
void debuginfod_set_give_up(struct debuginfod *d, bool (*give_up)(void *context), void *context);
/* Ends it, also while it works. */
void debuginfod_free(struct debuginfod *d);
/*
 * Waits for the debug file with a build id. Returns its descriptor or negative errno: -ENOENT, no server
 * has it; -ELIBACC, there is no libdebuginfod; -ETIMEDOUT, the time for all files is over;
 * -ECANCELED, because of `give_up`.
 */
int debuginfod_fetch(struct debuginfod *d, const uint8_t *build_id, uint32_t size);
struct debuginfod_counts debuginfod_count(const struct debuginfod *d);

#endif
