/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the entries and exits of functions (-f) on behalf of the broker.
 *
 * A breakpoint in the middle of an instruction corrupts the program in every process that maps the file, so whoever can
 * choose the address has the power of root. No table of a file lists the exits of functions; they are found by
 * following the code (tracee/code/). That is too much parsing for the process that has the privileges, and the
 * recorder may be compromised. So there are three processes:
 *
 *	starter		starter.c. The broker forks it before anything is loaded. It has no capability in effect,
 *			parses nothing and starts provers. Only the starter needs fork(), so the system call
 *			filter of the broker stays as narrow as without -f.
 *	prover		There is one for each ELF file. It has the descriptor of the file and a socket to the
 *			broker, nothing else: no capability in effect, no access to files (seccomp), limits of memory
 *			and CPU time, and nobody may trace it. For each address that the recorder requests, it
 *			replies with the function that begins there and its exits.
 *	broker		proved.c. It remembers the proved sites of each file and attaches probes to no others.
 *			What is at a known place of the file it checks itself: that a function symbol has the
 *			address (symbols.c), and that an exit is in code and is an exit instruction (check.c).
 *
 * This is sufficient because the recorder chooses files and addresses, but not the replies. An attacker takes over a
 * prover by the content of its file, and then controls only the replies about that file. Whoever may write to the file
 * can change its code without any probe.
 *
 * Symbols that were stripped from a file are used only if the recorder cannot choose them: those in .gnu_debugdata, and
 * those of the debug file in /usr/lib/debug with its build id, which must belong to root and which the broker opens. A
 * descriptor of another debug file is not accepted.
 */
#ifndef PROFTRACE_PRIVILEGE_PROVER_PROVER_H
#define PROFTRACE_PRIVILEGE_PROVER_PROVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/failure.h"
#include "bpf/marks/usdt_spec.h"

enum {
	PROVER_MAX_REQUESTED = 1024,  /* addresses in one request */
	PROVER_MAX_EXITS = 1024,      /* of one function */
	PROVER_MAX_REPLY = 96 * 1024, /* bytes: as many functions as fit, at least one */
	PROVER_MAX_REFUSAL = 96,      /* bytes of text, with the NUL */
};

/* --- proved functions, sent by a prover to the broker and by the broker to the recorder --------------- */

struct proved_exit {
	uint64_t vaddr;
	uint64_t to;		/* target of a direct jump; else 0 */
	struct usdt_arg target; /* of CALL_INDIRECT */
	uint8_t exit;		/* enum call_exit */
	uint8_t condition;
	uint8_t pad[6];
};

/* Followed by its exits or, if `refused`, the reason: a text of PROVER_MAX_REFUSAL bytes. */
struct proved_function {
	uint64_t vaddr; /* of the symbol */
	uint64_t size;
	uint64_t cold_vaddr, cold_size; /* the second part of the function; 0: none */
	uint64_t entry;			/* the place of the entry probe */
	uint32_t n_exits;
	uint32_t refused;
};

/* Iterates over functions in a reply. */
struct proved_reader {
	const uint8_t *at;
	size_t left;
};

/*
 * Returns 1 and the next function, whose numbers are checked against their bounds, 0 at the end, or -EBADMSG.
 * *ret_refusal is NULL or printable text. The bytes must be aligned to 64 bits.
 */
int proved_next(struct proved_reader *reader, const struct proved_function **ret_function,
		const struct proved_exit **ret_exits, const char **ret_refusal);

/* --- between the broker and a prover ----------------------------------------------------------------- */

/* The first packet of a prover. The reply is one byte, with the descriptor of the debug file if there is one. */
struct prover_hello {
	uint32_t build_id_size;
	uint8_t build_id[64];
};

/* What the kernel executes wrongly under a probe, so that no function's entry may have one there. */
enum prover_rule {
	PROVER_SKIPS_NOP5 = 1, /* 5-byte nops: the probe may be behind them */
	/* Calls, where a program may have a shadow stack: the return address comes onto the other stack alone. */
	PROVER_NO_CALLS = 2,
};

/* Followed by addresses. The reply has the functions at as many of these as the prover had time for, at least one. */
struct prover_request {
	uint32_t n;
	uint32_t rules; /* enum prover_rule */
};

/* The work of a prover, once it is confined. It returns when the socket is closed. */
typedef void (*prover_fn)(int socket, int elf_fd);

/* --- in the broker ----------------------------------------------------------------------------------- */

struct provers;
struct broker_site;
struct segments;

/* Starts the starter. Returns NULL on failure: see errno. */
struct provers *provers_new(prover_fn prove);
/* Also ends the starter and the prover. */
void provers_free(struct provers *p);
/* From another thread: who waits for a prover gets an error, and so does each later request. The prover is killed. NULL: does nothing. */
void provers_cancel(struct provers *p);

/*
 * Requests the functions at these addresses of the file. The reply is valid until the next request; the sites of its
 * functions are proved from now on. Returns 0 and takes over the descriptor, or returns negative errno.
 */
int provers_request(struct provers *p, int elf_fd, const uint64_t *vaddrs, unsigned n,
		    unsigned rules, const void **ret_reply, size_t *ret_size, struct failure *f);

/*
 * The descriptor of the file whose functions were proved, to attach to; `elf_fd` if there is none. Another file may have the
 * same numbers.
 */
int functions_file(struct provers *p, int elf_fd);

/*
 * Whether all of these sites are proved, for the file as it is now, by the descriptor of functions_file(). `entries`: as the beginnings of functions, where the
 * return address is where the kernel's return probe replaces it.
 */
bool functions_proved(struct provers *p, int elf_fd, const struct segments *segments,
		      const struct broker_site *sites, unsigned n, bool entries);

/* --- internal ---------------------------------------------------------------------------------------- */

/* starter.c: starts the starter. Returns a socket for starter_prover(), or negative errno. */
int starter_start(prover_fn prove);
/* Ends the previous prover and starts one for this file. Returns a socket to it, or negative errno. */
int starter_prover(int starter, int elf_fd);

/* symbols.c: the function symbols of a file. */
struct function_symbols {
	struct function_symbol {
		uint64_t vaddr, size;
	} * list;
	unsigned n, capacity;
	bool packed; /* the file also has compressed symbols */
};
int function_symbols_add(struct function_symbols *symbols, int elf_fd);
void function_symbols_sort(struct function_symbols *symbols);
void function_symbols_free(struct function_symbols *symbols);

/* check.c: returns NULL, or what is wrong with a function in a reply. */
const char *function_check(int elf_fd, const struct segments *segments,
			   const struct function_symbols *symbols,
			   const struct proved_function *function, const struct proved_exit *exits);

#endif
