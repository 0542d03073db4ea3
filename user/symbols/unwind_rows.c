/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows and rules of a file, made of what its call frame information says. */
#include "symbols/unwind_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	RETURN_ADDRESS = UNWIND_FOLLOWED,
	/*
	 * Functions are aligned. Nobody executes what fills the space between them, so it needs no
	 * row of its own.
	 */
	PADDING = 64,
	RULE_SLOTS = 2 * UNWIND_RULES, /* of the hash table; a power of two */
	SIGNAL_STACK_POINTER = 160,    /* its offset in what the kernel saves for a signal */
};

#define SHT_X86_64_UNWIND_TYPE 0x70000001
#define MAX_CODE	       (1ull << 32) /* bytes, since a row's distance has 32 bits */

struct rows_maker {
	struct unwind_rows *rows;
	uint16_t *slots; /* rule + 1 by hash */
	uint64_t end;	 /* of the function, or where the next one begins */
	bool is_signal, is_arm64;
	int error;
};

/* --- rules --------------------------------------------------------------------------------------- */

/* In instructions the registers are numbered in another order than in DWARF. */
static uint8_t instruction_register(uint8_t dwarf)
{
	static const uint8_t numbers[] = { 0, 2, 1, 3, 6, 7, 5, 4 };

	return dwarf < sizeof(numbers) ? numbers[dwarf] : dwarf;
}

static bool fits(int64_t value, int64_t limit)
{
	return value >= -limit && value < limit;
}

/* Whether a rule has space for where a register is saved. */
static bool place_fits(int64_t at)
{
	return !(at & 7) && fits(at, 1ll << 18);
}

/* The kernel's description of a signal frame: registers at fixed places above the stack pointer. */
static bool state_is_signal(const struct cfi_state *s)
{
	return s->cfa == UNWIND_DEREF && s->reg == DWARF_RSP && s->offset == SIGNAL_STACK_POINTER &&
	       !s->second;
}

/* Whether the return address is where the kernel looks for it. */
static bool state_returns(const struct cfi_state *s, bool is_arm64)
{
	if (is_arm64)
		return s->saved[UNWIND_LR] == UNWIND_SAME ||
		       (s->saved[UNWIND_LR] == UNWIND_AT_CFA && place_fits(s->at[UNWIND_LR]));
	return s->saved[RETURN_ADDRESS] == UNWIND_AT_CFA && s->at[RETURN_ADDRESS] == -8;
}

static void make_rule(const struct cfi_state *s, bool is_signal, bool is_arm64,
		      struct unwind_rule *ret)
{
	const unsigned returns = is_arm64 ? UNWIND_LR : RETURN_ADDRESS;
	unsigned i;

	memset(ret, 0, sizeof(*ret));
	if (s->saved[returns] == UNWIND_LOST && !s->at[returns]) {
		ret->cfa = UNWIND_END;
		return;
	}
	if (!is_arm64 && is_signal && state_is_signal(s)) {
		ret->cfa = UNWIND_SIGNAL;
		return;
	}
	ret->cfa = UNWIND_UNSUPPORTED;
	if (s->cfa == UNWIND_UNSUPPORTED || s->cfa == UNWIND_NONE || is_signal ||
	    !state_returns(s, is_arm64) || !fits(s->offset, 1ll << 31) ||
	    !fits(s->second, 1ll << 31))
		return;
	ret->cfa = s->cfa;
	ret->reg = is_arm64 ? s->reg : instruction_register(s->reg);
	ret->offset = (int32_t)s->offset;
	ret->second = (int32_t)s->second;
	for (i = 0; i < UNWIND_FOLLOWED; i++) {
		bool known = s->saved[i] == UNWIND_SAME || place_fits(s->at[i]);

		ret->saved[i] = known ? s->saved[i] : UNWIND_LOST;
		ret->at[i] = ret->saved[i] == UNWIND_AT_CFA || ret->saved[i] == UNWIND_AT_FRAME
				     ? (int16_t)(s->at[i] / 8)
				     : 0;
	}
}

static uint32_t rule_hash(const struct unwind_rule *rule)
{
	uint64_t words[2];

	memcpy(words, rule, sizeof(words));
	return (uint32_t)(((words[0] * 0x9e3779b97f4a7c15ull) ^ words[1]) * 0x9e3779b97f4a7c15ull >>
			  40);
}

/* Returns the number of the rule, or negative errno. */
static int add_rule(struct rows_maker *m, const struct unwind_rule *rule)
{
	struct unwind_rows *rows = m->rows;
	uint32_t i = rule_hash(rule) & (RULE_SLOTS - 1);

	for (; m->slots[i]; i = (i + 1) & (RULE_SLOTS - 1)) {
		if (!memcmp(&rows->rules[m->slots[i] - 1], rule, sizeof(*rule)))
			return m->slots[i] - 1;
	}
	if (rows->n_rules == UNWIND_RULES)
		return -E2BIG;
	rows->rules[rows->n_rules] = *rule;
	m->slots[i] = (uint16_t)++rows->n_rules;
	return m->slots[i] - 1;
}

/* --- rows ---------------------------------------------------------------------------------------- */

static int add_row(struct unwind_rows *rows, uint64_t address, uint32_t rule)
{
	uint32_t capacity = rows->capacity ? 2 * rows->capacity : 1024;
	uint32_t distance = (uint32_t)(address - rows->base);
	struct unwind_row *grown;

	if (rows->n && rows->rows[rows->n - 1].distance == distance)
		rows->n--;
	if (rows->n && rows->rows[rows->n - 1].rule == rule)
		return 0;
	if (rows->n == UNWIND_MAX_ROWS)
		return -E2BIG;
	if (rows->n == rows->capacity) {
		grown = realloc(rows->rows, capacity * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		rows->rows = grown;
		rows->capacity = capacity;
	}
	rows->rows[rows->n++] = (struct unwind_row){ distance, rule };
	return 0;
}

static bool add_state(void *context, uint64_t address, const struct cfi_state *state)
{
	struct rows_maker *m = context;
	struct unwind_rule rule;
	int number;

	if (address >= m->end)
		return false;
	make_rule(state, m->is_signal, m->is_arm64, &rule);
	number = add_rule(m, &rule);
	m->error = number < 0 ? number : add_row(m->rows, address, (uint32_t)number);
	return !m->error;
}

static int compare_functions(const void *a, const void *b)
{
	const struct cfi_function *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	/* Of two for the same function, the later one replaces the first. */
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* The functions are sorted. */
static int add_functions(struct rows_maker *m, const struct cfi_section *section,
			 const struct cfi_function *functions, size_t n)
{
	struct cfi_common common = { .offset = 0 };
	size_t i;

	for (i = 0; i < n && !m->error; i++) {
		const struct cfi_function *f = &functions[i];
		bool is_last = i + 1 == n;
		struct cfi_cursor program;

		m->end = !is_last && f[1].start < f->end ? f[1].start : f->end;
		if (!cfi_function_program(section, f, &common, &program))
			continue;
		m->is_signal = common.is_signal;
		cfi_run(section, f, &common, program, add_state, m);
		if (!m->error && (is_last || f[1].start > m->end + PADDING))
			m->error = add_row(m->rows, m->end, 0);
	}
	return m->error;
}

static bool rows_maker_begin(struct rows_maker *m, uint64_t low, struct unwind_rows *rows)
{
	memset(rows, 0, sizeof(*rows));
	rows->base = low & ~((1ull << UNWIND_PAGE_BITS) - 1);
	rows->rules = calloc(UNWIND_RULES, sizeof(*rows->rules));
	m->rows = rows;
	m->slots = calloc(RULE_SLOTS, sizeof(*m->slots));
	if (!rows->rules || !m->slots)
		return false;
	/* The first rule is the empty one. */
	return add_rule(m, &(const struct unwind_rule){ .cfa = UNWIND_NONE }) == 0;
}

int unwind_rows_make(const struct cfi_section *section, uint64_t low, uint64_t high,
		     struct unwind_rows *ret)
{
	struct rows_maker m = { .is_arm64 = section->is_arm64 };
	struct cfi_function *functions = NULL;
	int64_t n;

	if (high < low || high - low >= MAX_CODE - (1ull << UNWIND_PAGE_BITS))
		return -E2BIG;
	n = cfi_list_functions(section, low, high, &functions);
	if (n <= 0)
		return n ? (int)n : -ENOENT;
	qsort(functions, (size_t)n, sizeof(*functions), compare_functions);
	m.error = rows_maker_begin(&m, low, ret) ? 0 : -ENOMEM;
	if (!m.error)
		m.error = add_functions(&m, section, functions, (size_t)n);
	free(functions);
	free(m.slots);
	if (m.error)
		unwind_rows_free(ret);
	return m.error;
}

void unwind_rows_free(struct unwind_rows *rows)
{
	free(rows->rows);
	free(rows->rules);
	memset(rows, 0, sizeof(*rows));
}

/* --- files --------------------------------------------------------------------------------------- */

static void find_code(const struct elf_file *elf, uint64_t *ret_low, uint64_t *ret_high)
{
	uint64_t low = UINT64_MAX, high = 0;
	unsigned i;

	for (i = 0; i < elf->n_segments; i++) {
		const struct elf_segment *g = &elf->segments[i];

		if (g->type != PT_LOAD || !(g->flags & PF_X))
			continue;
		if (g->vaddr < low)
			low = g->vaddr;
		if (g->vaddr + g->memsz > high)
			high = g->vaddr + g->memsz;
	}
	*ret_low = low;
	*ret_high = high;
}

static int read_section(const struct elf_file *elf, const Elf64_Shdr *header, bool is_debug,
			uint64_t low, uint64_t high, struct unwind_rows *ret)
{
	struct cfi_section section = {
		.size = header->sh_size,
		.vaddr = header->sh_addr,
		.is_debug = is_debug,
		.is_arm64 = elf->machine == EM_AARCH64,
	};
	uint8_t *bytes;
	int error;

	if (header->sh_flags & SHF_COMPRESSED)
		return -ENOENT;
	if (header->sh_size > UNWIND_MAX_SECTION)
		return -E2BIG;
	bytes = malloc(section.size ? section.size : 1);
	if (!bytes)
		return -ENOMEM;
	section.bytes = bytes;
	error = elf_file_read(elf, header->sh_offset, bytes, section.size);
	if (!error)
		error = unwind_rows_make(&section, low, high, ret);
	free(bytes);
	return error;
}

int unwind_rows_read(const struct elf_file *elf, struct unwind_rows *ret)
{
	uint64_t low, high;
	Elf64_Shdr header;
	int error = -ENOENT;

	find_code(elf, &low, &high);
	if (low >= high)
		return -ENOENT;
	if (!elf_file_section(elf, SHT_PROGBITS, ".eh_frame", &header) ||
	    !elf_file_section(elf, SHT_X86_64_UNWIND_TYPE, ".eh_frame", &header))
		error = read_section(elf, &header, false, low, high, ret);
	if (error == -ENOENT && !elf_file_section(elf, SHT_PROGBITS, ".debug_frame", &header))
		error = read_section(elf, &header, true, low, high, ret);
	return error;
}
