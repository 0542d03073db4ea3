/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as .eh_frame or .debug_frame, made into rows. What comes out must be what the kernel's
 * search relies on: sorted rows within the code, with rules that exist and are of known kinds.
 */
#include <stdlib.h>

#include "symbols/unwind_rows.h"

#define CODE	  0x400000
#define CODE_SIZE 0x100000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool good)
{
	if (!good)
		abort();
}

static void check_rule(const struct unwind_rule *rule)
{
	unsigned i;

	must(rule->cfa < UNWIND_CFAS && rule->reg < UNWIND_REGISTERS);
	for (i = 0; i < UNWIND_FOLLOWED; i++)
		must(rule->saved[i] < UNWIND_SAVEDS);
	if (rule->cfa == UNWIND_PLT)
		must(rule->second >= 0 && rule->second < 16);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cfi_section section = { 0 };
	struct unwind_rows rows;
	uint32_t i;

	if (!size)
		return 0;
	section.bytes = data + 1;
	section.size = size - 1;
	section.vaddr = CODE + CODE_SIZE;
	section.is_debug = data[0] & 1;
	section.is_arm64 = data[0] & 2;
	if (unwind_rows_make(&section, CODE, CODE + CODE_SIZE, &rows))
		return 0;
	must(rows.base == CODE && rows.n_rules <= UNWIND_RULES && rows.n <= UNWIND_MAX_ROWS);
	/* Each byte of the section makes one row at most, but for the ends of functions. */
	must(rows.n && rows.n <= 2 * size);
	for (i = 0; i < rows.n_rules; i++)
		check_rule(&rows.rules[i]);
	for (i = 0; i < rows.n; i++) {
		must(rows.rows[i].rule < rows.n_rules && rows.rows[i].distance <= CODE_SIZE);
		must(!i || rows.rows[i].distance > rows.rows[i - 1].distance);
	}
	must(rows.rows[rows.n - 1].rule == 0);
	unwind_rows_free(&rows);
	return 0;
}
