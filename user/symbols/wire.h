/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The protocol between the recorder and the parser process, each message one packet. The recorder
 * does not trust what it receives: whoever wrote a file may have taken over the parser that reads
 * it.
 *
 * Only this folder and its tests include it.
 */
#ifndef PROFTRACE_SYMBOLS_WIRE_H
#define PROFTRACE_SYMBOLS_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SYMBOL_MAX_LINES = 32,
	SYMBOL_MAX_TEXT = 512, /* bytes of a function's name or of a path */
	SYMBOL_MAX_ID = 64,
	SYMBOL_MAX_PATH = 1024,
	SYMBOL_MAX_CANDIDATES = 8, /* paths that are tried for one debug file */
};

enum symbol_question {
	SYMBOL_ASK_LINES, /* at an address */
	SYMBOL_ASK_ROWS,  /* for walking stacks, of the whole file (unwind_rows.h) */
};

/* Comes with a descriptor of the file. */
struct symbol_request {
	uint32_t question;
	uint32_t reserved;
	uint64_t request_id; /* replies repeat it */
	uint64_t address;
	uint32_t file; /* equal numbers are the same file */
	uint32_t max_lines;
};

enum symbol_message {
	SYMBOL_LINES = 1,
	SYMBOL_FILE_REQUEST,
	SYMBOL_DIED, /* from the supervisor: a parser died, and another one has started */
	/* The reply to SYMBOL_ASK_ROWS: one SYMBOL_TABLE, then its rules, then its rows. */
	SYMBOL_TABLE,
	SYMBOL_RULES,
	SYMBOL_ROWS,
};

struct symbol_head {
	uint32_t kind;	  /* enum symbol_message */
	uint32_t n_lines; /* or rules or rows */
	uint64_t request_id;
};

/* Follows a head of kind SYMBOL_LINES; each line is followed by its texts. */
struct symbol_line {
	uint16_t function;
	uint16_t file;
	uint32_t line;
};

enum {
	SYMBOL_MAX_REPLY = sizeof(struct symbol_head) +
			   SYMBOL_MAX_LINES * (sizeof(struct symbol_line) + 2 * SYMBOL_MAX_TEXT),
};

struct symbol_table_reply {
	struct symbol_head head;
	int32_t error; /* negative errno: it has no table; 0: it has one */
	uint32_t n_rules, n_rows;
	uint32_t reserved;
	uint64_t base;
};

enum {
	SYMBOL_MAX_RULES = 1024, /* in one packet */
	SYMBOL_MAX_ROWS = 2048,
};

/* Asks for the file that has the debug information of another one. */
struct symbol_file_request {
	struct symbol_head head;
	uint32_t first;	       /* earlier candidates were the wrong file */
	uint32_t is_alternate; /* the file that several debug files share (dwz) */
	uint32_t build_id_size;
	uint8_t build_id[SYMBOL_MAX_ID];
	char link[SYMBOL_MAX_PATH]; /* its name in the first file; may be empty */
};

/* Comes with a descriptor if is_found. */
struct symbol_file_reply {
	uint64_t request_id;
	uint32_t index;
	uint32_t is_found;
};

struct names;
struct code_line;

/* The lines of a reply. Returns how many, at most `max`, or -EPROTO when it is malformed. */
int symbol_lines(const char *packet, size_t size, struct names *names, struct code_line *lines,
		 unsigned max);

/* Becomes the supervisor, whose parsers reply over `socket`. Does not return. */
void symbols_supervisor(void *socket) __attribute__((noreturn));
/* Runs the parser until its socket is closed. */
void symbols_parser(int socket);
struct unwind_tables;
struct unwind_table_sink;

/* Takes over a socket whose other end replies as a parser does. NULL: no memory. */
struct unwind_tables *unwind_tables_on(int socket, const struct unwind_table_sink *sink);
/* Limits the parser's memory according to the size of its open files. */
void symbols_limit_memory(uint64_t file_bytes);

/* --- debug_paths.c: where debug files that were separated from the code are --- */

/*
 * The candidate number `index`, from 0 on, for the path of a debug file of `path`; false: there is
 * none of this number, but others may follow. The request has foreign bytes, with `link`
 * NUL-terminated: no path leads out of the folders for debug files.
 */
bool debug_path(const struct symbol_file_request *wanted, const char *path, unsigned index,
		char *out, size_t size);

#endif
