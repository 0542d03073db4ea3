/* SPDX-License-Identifier: BSD-2-Clause */
/* The few instructions by which constants come to branches are calculated; what another one writes to is unknown. */
#include "privilege/loader/dead_code_step.h"

#include <string.h>

bool known_follows(const struct bpf_insn *insn)
{
	const uint8_t operation = BPF_OP(insn->code);

	if (insn->dst_reg > KNOWN_REGISTERS || insn->src_reg > KNOWN_REGISTERS)
		return false;
	switch (BPF_CLASS(insn->code)) {
	case BPF_JMP:
		return operation <= BPF_JSLE &&
		       ((operation != BPF_JA && operation != BPF_CALL && operation != BPF_EXIT) ||
			insn->code == (BPF_JMP | operation));
	case BPF_JMP32:
		return operation <= BPF_JSLE && operation != BPF_JA && operation != BPF_CALL &&
		       operation != BPF_EXIT;
	case BPF_LD:
		return insn->code == (BPF_LD | BPF_IMM | BPF_DW);
	default:
		return true;
	}
}

static void known_forget(struct known *known, unsigned number)
{
	if (number < KNOWN_REGISTERS) {
		known->kinds[number] = KNOWN_NOTHING;
		known->numbers[number] = 0;
	}
}

static void known_set(struct known *known, unsigned number, enum known_kind kind, uint64_t value)
{
	if (number < KNOWN_REGISTERS) {
		known->kinds[number] = (uint8_t)kind;
		known->numbers[number] = value;
	}
}

/* Whether the second operand is a number. */
static bool known_operand(const struct known *known, const struct bpf_insn *insn, uint64_t *ret)
{
	if (BPF_SRC(insn->code) == BPF_K) {
		*ret = (uint64_t)(int64_t)insn->imm;
		return true;
	}
	if (insn->src_reg >= KNOWN_REGISTERS || known->kinds[insn->src_reg] != KNOWN_NUMBER)
		return false;
	*ret = known->numbers[insn->src_reg];
	return true;
}

static void step_calculate(struct known *known, const struct bpf_insn *insn)
{
	const bool is_short = BPF_CLASS(insn->code) == BPF_ALU;
	const uint8_t operation = BPF_OP(insn->code);
	const unsigned to = insn->dst_reg;
	uint64_t operand, number;

	/* Those that extend a sign, or divide with it, have an offset. */
	if (to >= KNOWN_REGISTERS || operation == BPF_END || insn->off) {
		known_forget(known, to);
		return;
	}
	if (operation == BPF_MOV && !is_short && BPF_SRC(insn->code) == BPF_X &&
	    insn->src_reg < KNOWN_REGISTERS) {
		known_set(known, to, known->kinds[insn->src_reg], known->numbers[insn->src_reg]);
		return;
	}
	if (!known_operand(known, insn, &operand) ||
	    (operation != BPF_MOV && known->kinds[to] != KNOWN_NUMBER)) {
		known_forget(known, to);
		return;
	}
	number = known->numbers[to];
	switch (operation) {
	case BPF_MOV:
		number = operand;
		break;
	case BPF_AND:
		number &= operand;
		break;
	case BPF_OR:
		number |= operand;
		break;
	case BPF_XOR:
		number ^= operand;
		break;
	default: /* no shifts: see stay_on_thread_stack() in bpf/marks/marks.bpf.c */
		known_forget(known, to);
		return;
	}
	known_set(known, to, KNOWN_NUMBER, is_short ? (uint32_t)number : number);
}

static void step_read(struct known *known, const struct bpf_insn *insn,
		      const struct program_constants *constants)
{
	static const uint8_t sizes[] = {
		[BPF_W >> 3] = 4, [BPF_H >> 3] = 2, [BPF_B >> 3] = 1, [BPF_DW >> 3] = 8
	};
	const unsigned from = insn->src_reg, size = sizes[BPF_SIZE(insn->code) >> 3];
	uint64_t at, number = 0;

	if (BPF_MODE(insn->code) != BPF_MEM || from >= KNOWN_REGISTERS ||
	    known->kinds[from] != KNOWN_CONSTANT) {
		known_forget(known, insn->dst_reg);
		return;
	}
	at = known->numbers[from] + (uint64_t)(int64_t)insn->off;
	if (at >= constants->size || constants->size - at < size) {
		known_forget(known, insn->dst_reg);
		return;
	}
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	memcpy(&number, constants->data + at, size);
#else
	memcpy((uint8_t *)&number + sizeof(number) - size, constants->data + at, size);
#endif
	known_set(known, insn->dst_reg, KNOWN_NUMBER, number);
}

void known_step(struct known *known, const struct bpf_insn *insn,
		const struct program_constants *constants)
{
	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		step_calculate(known, insn);
		break;
	case BPF_LDX:
		step_read(known, insn, constants);
		break;
	case BPF_LD:
		known_forget(known, insn->dst_reg);
		if (insn->code == (BPF_LD | BPF_IMM | BPF_DW) && !insn->src_reg)
			known_set(known, insn->dst_reg, KNOWN_NUMBER,
				  (uint64_t)(uint32_t)insn[1].imm << 32 | (uint32_t)insn->imm);
		else if (insn->code == (BPF_LD | BPF_IMM | BPF_DW) &&
			 insn->src_reg == BPF_PSEUDO_MAP_VALUE && insn->imm == constants->fd)
			known_set(known, insn->dst_reg, KNOWN_CONSTANT, (uint32_t)insn[1].imm);
		break;
	case BPF_STX:
		/* An atomic operation may give back what was there before, and where is up to the operation. */
		if (BPF_MODE(insn->code) != BPF_MEM) {
			known_forget(known, insn->dst_reg);
			known_forget(known, insn->src_reg);
			known_forget(known, 0);
		}
		break;
	case BPF_JMP: /* a call */
		for (unsigned i = 0; i <= 5; i++)
			known_forget(known, i);
		break;
	}
}

static bool branch_compare(uint8_t operation, uint64_t a, uint64_t b, int64_t signed_a,
			   int64_t signed_b)
{
	switch (operation) {
	case BPF_JEQ:
		return a == b;
	case BPF_JNE:
		return a != b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	case BPF_JLT:
		return a < b;
	case BPF_JLE:
		return a <= b;
	case BPF_JSGT:
		return signed_a > signed_b;
	case BPF_JSGE:
		return signed_a >= signed_b;
	case BPF_JSLT:
		return signed_a < signed_b;
	case BPF_JSLE:
		return signed_a <= signed_b;
	default: /* BPF_JSET */
		return a & b;
	}
}

enum branch known_branch(const struct known *known, const struct bpf_insn *insn)
{
	uint64_t a, b;
	bool is_taken;

	if (insn->dst_reg >= KNOWN_REGISTERS || known->kinds[insn->dst_reg] != KNOWN_NUMBER ||
	    !known_operand(known, insn, &b))
		return BRANCH_UNKNOWN;
	a = known->numbers[insn->dst_reg];
	if (BPF_CLASS(insn->code) == BPF_JMP32)
		is_taken = branch_compare(BPF_OP(insn->code), (uint32_t)a, (uint32_t)b, (int32_t)a,
					  (int32_t)b);
	else
		is_taken = branch_compare(BPF_OP(insn->code), a, b, (int64_t)a, (int64_t)b);
	return is_taken ? BRANCH_ALWAYS : BRANCH_NEVER;
}

bool known_meet(struct known *known, const struct known *other)
{
	bool is_less = false;

	for (unsigned i = 0; i < KNOWN_REGISTERS; i++) {
		if (!known->kinds[i] ||
		    (known->kinds[i] == other->kinds[i] && known->numbers[i] == other->numbers[i]))
			continue;
		known_forget(known, i);
		is_less = true;
	}
	return is_less;
}
