/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What recorder and parser say to each other, each message one packet. The parser's are not believed:
 * who wrote the file may have taken it over.
 */
#ifndef PROFTRACE_SYMBOLS_WIRE_H
#define PROFTRACE_SYMBOLS_WIRE_H

#include <stddef.h>
#include <stdint.h>

enum {
	SYMBOL_MAX_LINES = 32,
	SYMBOL_MAX_TEXT = 512, /* bytes of a function's name, or of a path */
	SYMBOL_MAX_ID = 64,
	SYMBOL_MAX_PATH = 1024,
	SYMBOL_MAX_FOUND = 8, /* files that are tried when one is wanted */
};

/* With a descriptor. */
struct symbol_request {
	uint64_t turn; /* answers repeat it */
	uint64_t address;
	uint32_t file; /* the same number is the same file */
	uint32_t max_lines;
};

enum symbol_answer {
	SYMBOL_LINES = 1,
	SYMBOL_WANT,
	SYMBOL_DIED, /* by the keeper: a parser is no more, here is another */
};

struct symbol_head {
	uint32_t answer;
	uint32_t n_lines;
	uint64_t turn;
};

/* After a head of SYMBOL_LINES, each followed by its texts. */
struct symbol_line {
	uint16_t function;
	uint16_t file;
	uint32_t line;
};

enum {
	SYMBOL_MAX_ANSWER = sizeof(struct symbol_head) +
			    SYMBOL_MAX_LINES * (sizeof(struct symbol_line) + 2 * SYMBOL_MAX_TEXT),
};

/* The file with the rest of another one. */
struct symbol_want {
	struct symbol_head head;
	uint32_t first;	       /* candidates before were not the one */
	uint32_t is_alternate; /* what several debug files share (dwz) */
	uint32_t build_id_size;
	uint8_t build_id[SYMBOL_MAX_ID];
	char link[SYMBOL_MAX_PATH]; /* its name, from the first file; may be empty */
};

/* With a descriptor, unless there is none. */
struct symbol_found {
	uint64_t turn;
	uint32_t index;
	uint32_t is_found;
};

/*
 * A packet and the descriptor that came with it, -1: none. Returns its size, 0 when nobody is there any
 * more, or negative errno.
 */
int symbol_receive(int socket, void *packet, size_t size, int *ret_fd);
int symbol_send(int socket, const void *packet, size_t size, int fd);

struct names;
struct code_line;

/* The lines of an answer: how many, at most `max`, or -EPROTO: it makes no sense. */
int symbol_lines(const char *packet, size_t size, struct names *names, struct code_line *lines,
		 unsigned max);

/* Becomes the keeper, whose parsers answer over `socket`. Does not return. */
void symbols_keeper(int socket) __attribute__((noreturn));
/* The parser, until its socket is closed. */
void symbols_parser(int socket);
/* What it may take, when it has so much of files open. */
void symbols_limit_memory(uint64_t file_bytes);

#endif
