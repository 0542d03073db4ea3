/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of the analysis of a function, shared by function_exits.c and jump_tables.c. */
#ifndef PROFTRACE_TRACEE_CODE_FUNCTION_WALK_H
#define PROFTRACE_TRACEE_CODE_FUNCTION_WALK_H

#include "tracee/code/function_exits.h"
#include "tracee/code/x86_instruction.h"

enum {
	WALK_MAX_JUMPS = 256,
	WALK_MAX_BASES = 1024,
	WALK_MAX_ENTRIES = 65536, /* of all tables of a function */
	WALK_MAX_PADS = 16384,
};

/* State of a byte. */
enum walk_mark {
	WALK_BEGINS = 1, /* the first byte of an instruction that is reached */
	WALK_INSIDE = 2, /* another byte of such an instruction */
	WALK_QUEUED = 4, /* reached, but not decoded yet */
};

/* An address that may be that of a jump table. */
struct walk_base {
	uint64_t vaddr;
	uint8_t reg; /* into which it was loaded; USDT_NO_REGISTER: entries of 64 bits */
	bool done;
	uint32_t n; /* entries; 0: unknown */
};

/* An indirect jump, and what the instructions before it show about its table. */
struct walk_jump {
	uint64_t vaddr;
	uint64_t base; /* 0: unknown */
	uint8_t reg;   /* that has the address of the table, or USDT_NO_REGISTER */
	uint32_t n;    /* entries; 0: unknown */
};

struct walk {
	const struct elf_file *elf;
	const struct function_part *parts;
	unsigned n_parts;
	struct {
		uint8_t *bytes;
		uint8_t *marks; /* enum walk_mark, of each byte */
	} map[FUNCTION_MAX_PARTS];
	/* Where walk_has_unreached() continues. */
	unsigned rest_part;
	uint64_t rest_at;
	uint64_t *todo;
	unsigned n_todo, todo_capacity;
	struct function_exits *found;
	struct walk_jump jumps[WALK_MAX_JUMPS];
	unsigned n_jumps;
	struct walk_base bases[WALK_MAX_BASES];
	unsigned n_bases;
	unsigned n_entries;
	bool unknown; /* a jump has an unknown target */
	uint64_t pads[WALK_MAX_PADS];
};

extern const char walk_not_followed[];

/* The index of the part that contains an address, or -1. */
int walk_part(const struct walk *w, uint64_t vaddr);
/* Queues an address that is reached. Returns NULL, or why the function cannot be recorded, as walk_follow() does. */
const char *walk_queue(struct walk *w, uint64_t vaddr);
const char *walk_follow(struct walk *w);

/* Remembers a table or a jump of an instruction that is reached. */
void jump_tables_add_instruction(struct walk *w, uint64_t vaddr, const struct x86_instruction *x);
/* Follows the tables of all instructions that are reached, and of those that are reached by them. */
const char *jump_tables_follow(struct walk *w);

/* Whether there are bytes that are not reached and may contain an exit. */
bool walk_has_unreached(struct walk *w);

#endif
