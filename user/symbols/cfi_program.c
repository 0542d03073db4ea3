/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The instructions of call frame information (DWARF 5, 6.4.2). They are executed once from the
 * first to the last, there are no loops, and each makes at most one row.
 */
#include "symbols/unwind_rows.h"

#include <dwarf.h>
#include <string.h>

#define MAX_REMEMBERED 8 /* states; compilers nest one */

enum {
	RETURN_ADDRESS = UNWIND_FOLLOWED
};

struct cfi_run {
	const struct cfi_section *section;
	const struct cfi_common *common;
	struct cfi_cursor c;
	uint64_t address, end;
	struct cfi_state state, initial;
	struct cfi_state remembered[MAX_REMEMBERED];
	unsigned n_remembered;
	bool is_initial;
	cfi_row_fn row;
	void *context;
};

/* The index of a register among the followed ones; negative: it is not followed. */
static int followed_register(const struct cfi_run *r, uint64_t reg)
{
	if (r->section->is_arm64)
		return reg == DWARF_X29 ? UNWIND_FP : reg == DWARF_X30 ? UNWIND_LR : -1;
	return reg == DWARF_RBP	     ? UNWIND_FP
	       : reg == DWARF_RBX    ? UNWIND_RBX
	       : reg == DWARF_RETURN ? RETURN_ADDRESS
				     : -1;
}

static unsigned number_of_registers(const struct cfi_run *r)
{
	return r->section->is_arm64 ? DWARF_ARM64_REGISTERS : DWARF_REGISTERS;
}

static void set_saved(struct cfi_run *r, uint64_t reg, enum unwind_saved saved, int64_t at)
{
	int i = followed_register(r, reg);

	if (i < 0)
		return;
	r->state.saved[i] = saved;
	r->state.at[i] = at;
}

static void restore_register(struct cfi_run *r, uint64_t reg)
{
	int i = followed_register(r, reg);

	if (i < 0)
		return;
	r->state.saved[i] = r->initial.saved[i];
	r->state.at[i] = r->initial.at[i];
}

static void set_cfa(struct cfi_run *r, uint64_t reg, int64_t offset)
{
	const bool is_known = reg < number_of_registers(r);

	r->state.cfa = is_known ? UNWIND_REGISTER : UNWIND_UNSUPPORTED;
	r->state.reg = (uint8_t)(is_known ? reg : 0);
	r->state.offset = offset;
	r->state.second = 0;
}

/* --- expressions --------------------------------------------------------------------------------- */

/*
 * How linkers describe a PLT: rsp + 8, and 8 more once the stub has pushed its number, which is
 * after the first 11 (with endbr64: 10) of its 16 bytes.
 */
static bool is_plt_expression(const struct cfi_cursor *block, int64_t *ret_pushed_at)
{
	static const uint8_t form[] = { DW_OP_breg7, 8, DW_OP_breg16, 0,	  DW_OP_lit15,
					DW_OP_and,   0, DW_OP_ge,     DW_OP_lit3, DW_OP_shl,
					DW_OP_plus };
	const uint8_t *at = block->at;

	if (block->end - at != sizeof(form) || memcmp(at, form, 6) || memcmp(at + 7, form + 7, 4) ||
	    at[6] < DW_OP_lit0 || at[6] > DW_OP_lit15)
		return false;
	*ret_pushed_at = at[6] - DW_OP_lit0;
	return true;
}

/* Adds r9 words: functions of libcrypto save their stack pointer behind a number of that many words. */
static bool skip_index(struct cfi_cursor *block)
{
	static const uint8_t form[] = { DW_OP_breg9, 0, DW_OP_lit8, DW_OP_mul, DW_OP_plus };

	if (block->end - block->at < (ptrdiff_t)sizeof(form) ||
	    memcmp(block->at, form, sizeof(form)) != 0)
		return false;
	block->at += sizeof(form);
	return true;
}

static void set_cfa_expression(struct cfi_run *r, struct cfi_cursor block)
{
	struct cfi_state *s = &r->state;
	bool is_indexed;
	unsigned op;

	if (!r->section->is_arm64 && is_plt_expression(&block, &s->second)) {
		s->cfa = UNWIND_PLT;
		s->reg = DWARF_RSP;
		s->offset = 8;
		return;
	}
	s->cfa = UNWIND_UNSUPPORTED;
	op = (unsigned)cfi_read_fixed(&block, 1);
	if (op < DW_OP_breg0 || op >= DW_OP_breg0 + number_of_registers(r))
		return;
	s->reg = (uint8_t)(op - DW_OP_breg0);
	s->offset = cfi_read_sleb128(&block);
	s->second = 0;
	if (block.failed)
		return;
	if (block.at == block.end) {
		s->cfa = UNWIND_REGISTER;
		return;
	}
	is_indexed = !r->section->is_arm64 && skip_index(&block);
	if (cfi_read_fixed(&block, 1) != DW_OP_deref)
		return;
	if (block.at != block.end) {
		if (cfi_read_fixed(&block, 1) != DW_OP_plus_uconst)
			return;
		s->second = (int64_t)cfi_read_uleb128(&block);
	}
	if (!block.failed && block.at == block.end)
		s->cfa = is_indexed ? UNWIND_INDEXED : UNWIND_DEREF;
}

/* A function that aligns its stack saves rbp where rbp then points to. */
static void set_saved_expression(struct cfi_run *r, uint64_t reg, struct cfi_cursor block)
{
	unsigned op = (unsigned)cfi_read_fixed(&block, 1);
	int64_t offset = cfi_read_sleb128(&block);
	bool known = !block.failed && block.at == block.end &&
		     op == (r->section->is_arm64 ? DW_OP_breg29 : DW_OP_breg6);

	set_saved(r, reg, known ? UNWIND_AT_FRAME : UNWIND_LOST, offset);
}

/* --- instructions -------------------------------------------------------------------------------- */

/* False: the function is complete. */
static bool advance_to(struct cfi_run *r, uint64_t address)
{
	if (r->is_initial || address < r->address)
		return false;
	if (address == r->address)
		return true;
	if (!r->row(r->context, r->address, &r->state))
		return false;
	r->address = address;
	return address < r->end;
}

static bool advance_by(struct cfi_run *r, uint64_t units)
{
	uint64_t bytes;

	if (__builtin_mul_overflow(units, r->common->code_align, &bytes) ||
	    bytes > r->end - r->address)
		bytes = r->end - r->address;
	return advance_to(r, r->address + bytes);
}

static int64_t scale(const struct cfi_run *r, int64_t factored)
{
	return (int64_t)((uint64_t)factored * (uint64_t)r->common->data_align);
}

/* Nothing is known from here on. */
static bool give_up(struct cfi_run *r)
{
	r->state.cfa = UNWIND_UNSUPPORTED;
	return false;
}

static bool push_state(struct cfi_run *r)
{
	if (r->n_remembered == MAX_REMEMBERED)
		return give_up(r);
	r->remembered[r->n_remembered++] = r->state;
	return true;
}

static bool pop_state(struct cfi_run *r)
{
	if (!r->n_remembered)
		return give_up(r);
	r->state = r->remembered[--r->n_remembered];
	return true;
}

/* Where registers are saved. False: another kind of instruction. */
static bool run_register_instruction(struct cfi_run *r, unsigned op)
{
	struct cfi_cursor *c = &r->c;
	uint64_t reg;

	switch (op) {
	case DW_CFA_offset_extended:
		reg = cfi_read_uleb128(c);
		set_saved(r, reg, UNWIND_AT_CFA, scale(r, (int64_t)cfi_read_uleb128(c)));
		return true;
	case DW_CFA_offset_extended_sf:
		reg = cfi_read_uleb128(c);
		set_saved(r, reg, UNWIND_AT_CFA, scale(r, cfi_read_sleb128(c)));
		return true;
	case DW_CFA_GNU_negative_offset_extended:
		reg = cfi_read_uleb128(c);
		set_saved(r, reg, UNWIND_AT_CFA, -scale(r, (int64_t)cfi_read_uleb128(c)));
		return true;
	case DW_CFA_restore_extended:
		restore_register(r, cfi_read_uleb128(c));
		return true;
	case DW_CFA_undefined:
		set_saved(r, cfi_read_uleb128(c), UNWIND_LOST, 0);
		return true;
	case DW_CFA_same_value:
		set_saved(r, cfi_read_uleb128(c), UNWIND_SAME, 0);
		return true;
	case DW_CFA_register:
	case DW_CFA_val_offset:
		reg = cfi_read_uleb128(c);
		cfi_read_uleb128(c);
		set_saved(r, reg, UNWIND_LOST, 1);
		return true;
	case DW_CFA_val_offset_sf:
		reg = cfi_read_uleb128(c);
		cfi_read_sleb128(c);
		set_saved(r, reg, UNWIND_LOST, 1);
		return true;
	case DW_CFA_expression:
		reg = cfi_read_uleb128(c);
		set_saved_expression(r, reg, cfi_read_block(c));
		return true;
	case DW_CFA_val_expression:
		reg = cfi_read_uleb128(c);
		cfi_read_block(c);
		set_saved(r, reg, UNWIND_LOST, 1);
		return true;
	default:
		return false;
	}
}

/* What the CFA is. False: another kind of instruction. */
static bool run_cfa_instruction(struct cfi_run *r, unsigned op)
{
	struct cfi_cursor *c = &r->c;
	uint64_t reg;

	switch (op) {
	case DW_CFA_def_cfa:
		reg = cfi_read_uleb128(c);
		set_cfa(r, reg, (int64_t)cfi_read_uleb128(c));
		return true;
	case DW_CFA_def_cfa_sf:
		reg = cfi_read_uleb128(c);
		set_cfa(r, reg, scale(r, cfi_read_sleb128(c)));
		return true;
	case DW_CFA_def_cfa_register:
		set_cfa(r, cfi_read_uleb128(c), r->state.offset);
		return true;
	case DW_CFA_def_cfa_offset:
		r->state.offset = (int64_t)cfi_read_uleb128(c);
		return true;
	case DW_CFA_def_cfa_offset_sf:
		r->state.offset = scale(r, cfi_read_sleb128(c));
		return true;
	case DW_CFA_def_cfa_expression:
		set_cfa_expression(r, cfi_read_block(c));
		return true;
	default:
		return false;
	}
}

/* False: the function is complete, or the instruction is not known. */
static bool run_other_instruction(struct cfi_run *r, unsigned op)
{
	struct cfi_cursor *c = &r->c;

	switch (op) {
	case DW_CFA_nop:
		return true;
	case DW_CFA_set_loc:
		return advance_to(r, cfi_read_encoded(r->section, c, r->common->encoding));
	case DW_CFA_advance_loc1:
		return advance_by(r, cfi_read_fixed(c, 1));
	case DW_CFA_advance_loc2:
		return advance_by(r, cfi_read_fixed(c, 2));
	case DW_CFA_advance_loc4:
		return advance_by(r, cfi_read_fixed(c, 4));
	case DW_CFA_remember_state:
		return push_state(r);
	case DW_CFA_restore_state:
		return pop_state(r);
	case DW_CFA_GNU_args_size:
		cfi_read_uleb128(c);
		return true;
	case DW_CFA_AARCH64_negate_ra_state:
		/* From here on return addresses are signed, or no longer. The kernel removes what signs any. */
		return r->section->is_arm64 || give_up(r);
	default:
		/* What follows cannot be understood either. */
		return give_up(r);
	}
}

static bool run_instruction(struct cfi_run *r)
{
	struct cfi_cursor *c = &r->c;
	unsigned op = (unsigned)cfi_read_fixed(c, 1), low = op & 0x3f;

	switch (op & 0xc0) {
	case DW_CFA_advance_loc:
		return advance_by(r, low);
	case DW_CFA_offset:
		set_saved(r, low, UNWIND_AT_CFA, scale(r, (int64_t)cfi_read_uleb128(c)));
		return true;
	case DW_CFA_restore:
		restore_register(r, low);
		return true;
	default:
		return run_register_instruction(r, op) || run_cfa_instruction(r, op) ||
		       run_other_instruction(r, op);
	}
}

static void run_program(struct cfi_run *r, struct cfi_cursor program)
{
	r->c = program;
	while (r->c.at < r->c.end) {
		if (!run_instruction(r))
			return;
		if (r->c.failed) {
			give_up(r);
			return;
		}
	}
}

void cfi_run(const struct cfi_section *section, const struct cfi_function *function,
	     const struct cfi_common *common, struct cfi_cursor program, cfi_row_fn row,
	     void *context)
{
	struct cfi_run r = {
		.section = section,
		.common = common,
		.address = function->start,
		.end = function->end,
		.is_initial = true,
		.row = row,
		.context = context,
	};

	run_program(&r, common->program);
	r.initial = r.state;
	r.is_initial = false;
	run_program(&r, program);
	if (r.address < r.end)
		row(context, r.address, &r.state);
}
