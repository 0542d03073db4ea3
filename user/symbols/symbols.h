/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names for addresses: the function, the functions inlined there, source file and line of an
 * address of a file; of the kernel's functions; and of code that was generated at run time.
 *
 * The files are the target's, and so is everything written in them. They are parsed by libdw, which
 * is large and made for files that a compiler wrote. So it runs in a process of its own that cannot
 * open anything, sees nothing but the files it is given, and has limited time and memory. A file
 * that crashes this process has no names; the next file gets another process.
 *
 *	recorder ──address, file──▶ parser (libdw)        its parent, the supervisor, parses nothing
 *	   ▲  └─requested debug file─▶  │                 and starts another parser when one dies
 *	   └────────lines───────────────┘
 *
 * This is the header to include from outside. It calls timeline/ (names), privilege/ (confinement)
 * and base/.
 */
#ifndef PROFTRACE_SYMBOLS_SYMBOLS_H
#define PROFTRACE_SYMBOLS_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "timeline/callstack.h"

struct symbols;

struct symbols_options {
	/*
	 * Opens a file that may have the names of what is mapped, as the process sees it that has
	 * it mapped. `fd`: the mapped file, borrowed; -1: none. Returns a descriptor, which is closed here,
	 * or negative errno. NULL: open(2) is used, for what the owner of the mapped file may read.
	 */
	int (*open_debug)(void *context, const struct code_mapping *mapping, int fd,
			  const char *path);
	void *context;
	bool debuginfod;   /* debug files that are not here may come from a server */
	unsigned limit_ms; /* for all lookups together, 0 = 30 seconds; later ones find nothing */
	/* Asked while waiting; once it returns true, half a second is left for all lookups. NULL: never. */
	bool (*give_up)(void *context);
	void *give_up_context;
};

struct symbols_counts {
	uint64_t requested;
	uint64_t named;
	uint64_t late;	 /* not looked up: the time was over */
	bool given_up;	 /* because of `give_up` */
	uint64_t broken; /* not found, because the file crashed the parser */
	/* Debug files that came from a server, and that did not; why not, other than -ENOENT. */
	uint64_t fetched, missing;
	int fetch_error;
};

/*
 * Starts the supervisor: before system calls are filtered, and after privileges were dropped. `o`
 * may be NULL. Returns 0 or negative errno.
 */
int symbols_new(struct names *names, const struct symbols_options *o, struct symbols **ret);
/* From now on lookups may wait for a server, with the option `debuginfod`. */
void symbols_may_fetch(struct symbols *symbols);
/* Ends all processes. */
void symbols_free(struct symbols *symbols);

/*
 * Looks up one address. `fd`: the file of `mapping`, borrowed; -1: none. `original`: the same, or if that is a copy, the file that
 * is at the path of `mapping`, whose owner may have a debug file beside it; -1: several have. `address` is the file's
 * own, as in its symbol table; for a caller it is the return address minus one, since the return
 * address may be in another line or function. Returns the number of lines, innermost first; 0: not
 * found.
 */
unsigned symbols_resolve(struct symbols *symbols, const struct code_mapping *mapping, int fd,
			 int original, uint64_t address, struct code_line *lines, unsigned max);
void symbols_count(const struct symbols *symbols, struct symbols_counts *ret);

/* --- demangle.c: names as their authors wrote them --- */

/*
 * The name without parameters and return type. What is not mangled, or malformed, stays as it is;
 * both are cut at `size` - 1 bytes. Returns the length. A short mangled name can stand for an
 * endless one, so no more of it is produced than fits.
 */
size_t symbol_demangle(const char *mangled, char *out, size_t size);

/* --- kernel_symbols.c: names of the kernel's functions: the text of /proc/kallsyms --- */

enum {
	KERNEL_MAX_SYMBOLS = 1 << 21,
	KERNEL_MAX_TEXT = 128 << 20, /* bytes that are read */
};

struct kernel_symbols;

/*
 * Reads from the descriptor's position to the end. Returns 0 or negative errno; -EACCES when the
 * kernel hides the addresses (kernel.kptr_restrict): then all of them are 0. The addresses are those of call stacks: the
 * kernel begins at STACK_KERNEL_BEGIN.
 */
int kernel_symbols_read(int fd, struct kernel_symbols **ret);
/* Writes what it reads from the descriptor to the other one, in the same form. Returns 0 or negative errno. */
int kernel_symbols_copy(int fd, int to);
void kernel_symbols_free(struct kernel_symbols *symbols);
/*
 * Whether the name of this address stays as it is: it is in the kernel itself. Modules and BPF programs come and go.
 */
bool kernel_symbols_keep(const struct kernel_symbols *symbols, uint64_t address);

/*
 * NULL: not known. *ret_module: without brackets; NULL: the kernel itself. Valid until the symbols
 * are freed.
 */
const char *kernel_symbols_find(const struct kernel_symbols *symbols, uint64_t address,
				const char **ret_module);

/* --- jit_map.c: names of code that a process generated --- */

enum {
	JIT_MAX_BYTES = 128 << 20, /* of a file */
	JIT_MAX_ENTRIES = 1 << 20,
};

struct jit_map;

/*
 * Reads a jitdump file, or /tmp/perf-PID.map, in which a process writes down the code that it generates, one function
 * per line: "START SIZE name", numbers in hex. Anyone can create a file of that name, so it has to
 * be a regular file of `owner` that nobody else can write. Returns 0 or negative errno; -EPERM when
 * it is not. Malformed lines are skipped. Of a file beyond a limit only the last lines are used.
 */
int jit_map_read(int fd, uid_t owner, struct jit_map **ret);
void jit_map_free(struct jit_map *map);

/*
 * The name of what was at an address during a time (CLOCK_MONOTONIC; 0 to UINT64_MAX: not known). When code was generated
 * twice at the same address, the later one counts, in a file with times until then the earlier one; when that was within
 * the time, the one that was there for longer. NULL: not known. Valid until the map is freed.
 */
const char *jit_map_find(const struct jit_map *map, uint64_t address, uint64_t since_ns,
			 uint64_t until_ns);

#endif
