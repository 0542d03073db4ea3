/* SPDX-License-Identifier: BSD-2-Clause */
/* What is known of a function while it is followed (function_exits.c), and where its tables lead to. */
#ifndef PROFTRACE_TARGET_FUNCTION_WALK_H
#define PROFTRACE_TARGET_FUNCTION_WALK_H

#include "target/function_exits.h"
#include "target/x86_instruction.h"

enum {
	WALK_MAX_JUMPS = 256,
	WALK_MAX_BASES = 1024,
	WALK_MAX_ENTRIES = 65536, /* of all tables of a function */
	WALK_MAX_PADS = 16384,
};

/* What is known of a byte. */
enum walk_mark {
	WALK_BEGINS = 1, /* an instruction, which is reached */
	WALK_INSIDE = 2, /* the rest of one */
	WALK_QUEUED = 4, /* reached, and not looked at yet */
};

/* An address that may be that of a table. */
struct walk_base {
	uint64_t vaddr;
	uint8_t reg; /* that got it; USDT_NO_REGISTER: entries of 64 bits */
	bool done;
	uint32_t n; /* entries, if that is known; else 0 */
};

/* A jump that does not say where to, and what the instructions before it say of its table. */
struct walk_jump {
	uint64_t vaddr;
	uint64_t base; /* 0: they do not say */
	uint8_t reg;   /* that the table's address is in, or USDT_NO_REGISTER */
	uint32_t n;    /* entries; 0: they do not say */
};

struct walk {
	const struct elf_file *elf;
	const struct function_part *parts;
	unsigned n_parts;
	struct {
		uint8_t *bytes;
		uint8_t *marks; /* enum walk_mark, of each byte */
	} map[FUNCTION_MAX_PARTS];
	/* Before it there is none: what walk_has_rest() has seen. */
	unsigned rest_part;
	uint64_t rest_at;
	uint64_t *todo;
	unsigned n_todo, room;
	struct function_exits *found;
	struct walk_jump jumps[WALK_MAX_JUMPS];
	unsigned n_jumps;
	struct walk_base bases[WALK_MAX_BASES];
	unsigned n_bases;
	unsigned n_entries;
	bool unknown; /* it also goes where nobody knows */
	uint64_t pads[WALK_MAX_PADS];
};

extern const char walk_not_followed[];

/* The part that an address lies in, or -1. */
int walk_part(const struct walk *w, uint64_t vaddr);
/* The function gets there, too. Both return NULL, or why the function cannot be recorded. */
const char *walk_reach(struct walk *w, uint64_t vaddr);
const char *walk_follow(struct walk *w);

/* An instruction that is reached, as it may tell of a table. */
void jump_tables_note(struct walk *w, uint64_t vaddr, const struct x86_instruction *x);
/* Follows the tables of what has been reached, until there are no more. */
const char *jump_tables_follow(struct walk *w);

/* Whether there are bytes that are not reached, and may be where the function is left. */
bool walk_has_rest(struct walk *w);

#endif
