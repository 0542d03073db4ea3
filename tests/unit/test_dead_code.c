/* SPDX-License-Identifier: BSD-2-Clause */
/* What the constants of a recording make dead is removed from its programs, and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "privilege/loader/dead_code.h"

#define CONSTANTS 7 /* the descriptor of their map */

/* Two words, then what is not a constant. */
static const uint32_t words[] = { 0, 5 };
static const struct program_constants constants = { CONSTANTS, (const uint8_t *)words,
						    sizeof(words) };

/* The instructions that these tests are made of. */
#define SET(to, number)                                                               \
	{                                                                             \
		.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = (to), .imm = (number) \
	}
#define COPY(to, from)                                                                  \
	{                                                                               \
		.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = (to), .src_reg = (from) \
	}
#define AND(to, number)                                                               \
	{                                                                             \
		.code = BPF_ALU64 | BPF_AND | BPF_K, .dst_reg = (to), .imm = (number) \
	}
#define WIDE(to, kind, number, more)         \
	{ .code = BPF_LD | BPF_IMM | BPF_DW, \
	  .dst_reg = (to),                   \
	  .src_reg = (kind),                 \
	  .imm = (number) },                 \
	{                                    \
		.imm = (more)                \
	}
#define CONSTANT(to, offset) WIDE(to, BPF_PSEUDO_MAP_VALUE, CONSTANTS, offset)
#define READ(to, from, offset)                                                         \
	{                                                                              \
		.code = BPF_LDX | BPF_MEM | BPF_W, .dst_reg = (to), .src_reg = (from), \
		.off = (offset)                                                        \
	}
#define IF(reg, operation, number, distance)                                                \
	{                                                                                   \
		.code = BPF_JMP | (operation) | BPF_K, .dst_reg = (reg), .off = (distance), \
		.imm = (number)                                                             \
	}
#define GOTO(distance)                                      \
	{                                                   \
		.code = BPF_JMP | BPF_JA, .off = (distance) \
	}
#define CALL(number)                                        \
	{                                                   \
		.code = BPF_JMP | BPF_CALL, .imm = (number) \
	}
#define CALL_OWN(distance)                                                                \
	{                                                                                 \
		.code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_CALL, .imm = (distance) \
	}
#define EXIT                               \
	{                                  \
		.code = BPF_JMP | BPF_EXIT \
	}

/* Compares what remains of `code` with `expected`. */
static void assert_remains(const struct bpf_insn *code, size_t n, const struct bpf_insn *expected,
			   size_t n_expected, struct bpf_prog_load_opts *opts)
{
	struct bpf_insn *own = malloc(n * sizeof(*own));

	assert_non_null(own);
	memcpy(own, code, n * sizeof(*own));
	dead_code_remove(own, &n, opts, &constants);
	assert_int_equal(n, n_expected);
	assert_memory_equal(own, expected, n * sizeof(*own));
	free(own);
}

#define REMAINS(code, expected)                                          \
	assert_remains(code, sizeof(code) / sizeof((code)[0]), expected, \
		       sizeof(expected) / sizeof((expected)[0]),         \
		       &(struct bpf_prog_load_opts){ .sz = sizeof(struct bpf_prog_load_opts) })

static void removes_what_a_constant_excludes(void **state)
{
	static const struct bpf_insn code[] = {
		CONSTANT(1, 0), READ(2, 1, 0), IF(2, BPF_JEQ, 0, 2), CALL(1),
		CALL(2),	READ(2, 1, 4), IF(2, BPF_JNE, 5, 1), CALL(3),
		SET(0, 0),	EXIT,
	};
	static const struct bpf_insn expected[] = {
		CONSTANT(1, 0), READ(2, 1, 0), READ(2, 1, 4), CALL(3), SET(0, 0), EXIT,
	};

	(void)state;
	REMAINS(code, expected);
}

static void keeps_what_it_cannot_know(void **state)
{
	static const struct bpf_insn code[] = {
		/* Beyond the constants, another map, after a call, and calculated. */
		CONSTANT(6, 0),
		READ(2, 6, 8),
		IF(2, BPF_JEQ, 0, 1),
		CALL(1),
		WIDE(6, BPF_PSEUDO_MAP_VALUE, CONSTANTS + 1, 0),
		READ(2, 6, 0),
		IF(2, BPF_JEQ, 0, 1),
		CALL(2),
		SET(2, 0),
		CALL(3),
		IF(2, BPF_JEQ, 0, 1),
		CALL(4),
		CONSTANT(7, 0),
		{ .code = BPF_ALU64 | BPF_ADD | BPF_X, .dst_reg = 7, .src_reg = 0 },
		READ(2, 7, 0),
		IF(2, BPF_JEQ, 0, 1),
		CALL(5),
		SET(0, 0),
		EXIT,
	};

	(void)state;
	REMAINS(code, code);
}

static void knows_nothing_where_ways_differ(void **state)
{
	/* A loop: the register is 0 at first only. */
	static const struct bpf_insn code[] = {
		SET(6, 0),
		SET(7, 0),
		CALL(1),
		IF(6, BPF_JEQ, 0, 1),
		CALL(2),
		IF(7, BPF_JEQ, 0, 1),
		CALL(3),
		SET(6, 1),
		IF(0, BPF_JNE, 0, -7),
		SET(0, 0),
		EXIT,
	};
	static const struct bpf_insn expected[] = {
		SET(6, 0),
		SET(7, 0),
		CALL(1),
		IF(6, BPF_JEQ, 0, 1),
		CALL(2),
		SET(6, 1),
		IF(0, BPF_JNE, 0, -5),
		SET(0, 0),
		EXIT,
	};

	(void)state;
	REMAINS(code, expected);
}

static void removes_jumps_to_what_follows(void **state)
{
	static const struct bpf_insn code[] = {
		SET(7, 3), AND(7, 2), IF(0, BPF_JNE, 0, 2), IF(7, BPF_JEQ, 2, 2), CALL(1),
		CALL(2),   CALL(3),   COPY(3, 7),	    IF(3, BPF_JGT, 1, 1), GOTO(-6),
		SET(0, 0), EXIT,
	};
	static const struct bpf_insn expected[] = {
		SET(7, 3), AND(7, 2), IF(0, BPF_JNE, 0, 1), GOTO(1), CALL(2), CALL(3), COPY(3, 7),
		SET(0, 0), EXIT,
	};

	(void)state;
	REMAINS(code, expected);
}

static void removes_functions_that_nothing_calls(void **state)
{
	static const struct bpf_insn code[] = {
		CONSTANT(1, 0),
		READ(2, 1, 0),
		IF(2, BPF_JEQ, 0, 1),
		CALL_OWN(6),
		CALL_OWN(7),
		WIDE(2, BPF_PSEUDO_FUNC, 8, 0),
		CALL(1),
		SET(0, 0),
		EXIT,
		/* 11 */ SET(0, 1),
		EXIT,
		/* 13 */ SET(0, 2),
		EXIT,
		/* 15 */ SET(0, 3),
		EXIT,
		/* 17 */ SET(0, 4),
		EXIT,
	};
	static const struct bpf_insn expected[] = {
		CONSTANT(1, 0),
		READ(2, 1, 0),
		CALL_OWN(5),
		WIDE(2, BPF_PSEUDO_FUNC, 6, 0),
		CALL(1),
		SET(0, 0),
		EXIT,
		/* 9 */ SET(0, 2),
		EXIT,
		/* 11 */ SET(0, 3),
		EXIT,
	};
	struct bpf_func_info functions[] = { { 0, 1 }, { 11, 2 }, { 13, 3 }, { 15, 4 }, { 17, 5 } };
	static const struct bpf_func_info left[] = { { 0, 1 }, { 9, 3 }, { 11, 4 } };
	struct bpf_prog_load_opts opts = { .sz = sizeof(opts),
					   .func_info = functions,
					   .func_info_cnt = 5,
					   .func_info_rec_size = sizeof(functions[0]) };

	(void)state;
	assert_remains(code, sizeof(code) / sizeof(code[0]), expected,
		       sizeof(expected) / sizeof(expected[0]), &opts);
	assert_int_equal(opts.func_info_cnt, 3);
	assert_memory_equal(functions, left, sizeof(left));
}

static void leaves_what_it_does_not_understand(void **state)
{
	/* A jump of 32 bits, one out of the program, half an instruction, and a register that does not exist. */
	static const struct bpf_insn far[] = {
		SET(2, 0), IF(2, BPF_JEQ, 0, 1), CALL(1), { .code = BPF_JMP32 | BPF_JA, .imm = 0 },
		EXIT,
	};
	static const struct bpf_insn out[] = { SET(2, 0), IF(2, BPF_JEQ, 0, 1), CALL(1), GOTO(1),
					       EXIT };
	static const struct bpf_insn before[] = { SET(2, 0), IF(2, BPF_JEQ, 0, -3), EXIT };
	static const struct bpf_insn half[] = {
		SET(2, 0), IF(2, BPF_JEQ, 0, 1), CALL(1), { .code = BPF_LD | BPF_IMM | BPF_DW }
	};
	static const struct bpf_insn strange[] = { SET(2, 0), IF(2, BPF_JEQ, 0, 1), CALL(1),
						   COPY(12, 2), EXIT };
	static const struct bpf_insn endless[] = { SET(2, 0), IF(2, BPF_JEQ, 0, 1), EXIT,
						   SET(0, 0) };

	(void)state;
	REMAINS(far, far);
	REMAINS(out, out);
	REMAINS(before, before);
	REMAINS(half, half);
	REMAINS(strange, strange);
	REMAINS(endless, endless);
}

/* As in bpf/marks/marks.bpf.c: the kernel must see the call. */
static void keeps_the_call_behind_a_shift(void **state)
{
	static const struct bpf_insn code[] = {
		SET(2, 0),
		{ .code = BPF_ALU64 | BPF_LSH | BPF_K, .dst_reg = 2, .imm = 1 },
		IF(2, BPF_JEQ, 0, 1),
		CALL(12),
		EXIT,
	};

	(void)state;
	REMAINS(code, code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(removes_what_a_constant_excludes),
		cmocka_unit_test(keeps_what_it_cannot_know),
		cmocka_unit_test(knows_nothing_where_ways_differ),
		cmocka_unit_test(removes_jumps_to_what_follows),
		cmocka_unit_test(removes_functions_that_nothing_calls),
		cmocka_unit_test(leaves_what_it_does_not_understand),
		cmocka_unit_test(keeps_the_call_behind_a_shift),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
