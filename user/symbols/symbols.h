/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What code is called: function, what was inlined there, source file and line of an address of a file.
 *
 * The files are the target's, and so is all that is written in them. They are read by libdw, which is
 * large and written for files that a compiler made; so it runs in a process of its own that can open
 * nothing, sees nothing but the files that it is handed, and has limited time and memory. A file that
 * ends this process has no names; the next file gets another process.
 *
 *	recorder ──address, file──▶ parser (libdw)        its parent, the keeper, parses nothing and
 *	   ▲  └──a file that it wants─▶  │                starts another one when it dies
 *	   └────────lines────────────────┘
 */
#ifndef PROFTRACE_SYMBOLS_SYMBOLS_H
#define PROFTRACE_SYMBOLS_SYMBOLS_H

#include <sys/types.h>

#include "timeline/callstack.h"

struct symbols;

struct symbols_options {
	/*
	 * Opens a file that may hold the names of what is mapped, as the process sees that has it
	 * mapped: a descriptor (it is closed here), or negative errno. NULL: open(2) does.
	 */
	int (*open_debug)(void *context, const struct code_mapping *mapping, const char *path);
	void *context;
	unsigned limit_ms; /* for all of it, 0 = 30 seconds. What remains then has no names */
};

struct symbols_counts {
	uint64_t asked;
	uint64_t named;
	uint64_t late;	 /* not looked for: the time was over */
	uint64_t broken; /* not known, because its file ended the parser */
};

/*
 * Starts the keeper: before system calls are filtered, and after privileges were given up. `o` may be
 * NULL. Returns 0 or negative errno.
 */
int symbols_new(struct names *names, const struct symbols_options *o, struct symbols **ret);
/* Ends both processes. */
void symbols_free(struct symbols *symbols);

/*
 * `fd`: the file of `mapping`, for the duration of the call; -1: none. `address` is the file's own, as
 * in its symbol table; of a caller it is one less than where it goes on, since that may be in another
 * line or function. Returns the number of lines, innermost first; 0: not known.
 */
unsigned symbols_resolve(struct symbols *symbols, const struct code_mapping *mapping, int fd,
			 uint64_t address, struct code_line *lines, unsigned max);
void symbols_count(const struct symbols *symbols, struct symbols_counts *ret);

#endif
