/* SPDX-License-Identifier: BSD-2-Clause */
/* The parser of arguments of USDT probes (tracee/usdt_args.c). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <elf.h>
#include <string.h>

#include "bpf/event.h"
#include "tracee/usdt_args.h"

#define NONE USDT_NO_REGISTER

/* One argument and what it is understood as. `form` USDT_UNREADABLE: it must say why. */
struct example {
	uint16_t machine;
	const char *text;
	struct usdt_arg arg;
	const char *symbol;
};

#define ARG(form_, reg_, index_, scale_, bits_, signed_, type_, offset_)                       \
	{                                                                                      \
		.form = (form_), .reg = (reg_), .index = (index_), .scale = (scale_),          \
		.bits = (bits_), .is_signed = (signed_), .type = (type_), .offset = (offset_), \
	}

static const struct example examples[] = {
	/* postgres, python, libjvm, libruby, libstdc++, as Debian 12 has them */
	{ EM_X86_64, "8@%rbx", ARG(USDT_REGISTER, 3, NONE, 0, 64, 0, VALUE_UINT, 0), NULL },
	{ EM_X86_64, "-4@%eax", ARG(USDT_REGISTER, 0, NONE, 0, 32, 1, VALUE_INT, 0), NULL },
	{ EM_X86_64, "4@%r9d", ARG(USDT_REGISTER, 9, NONE, 0, 32, 0, VALUE_UINT, 0), NULL },
	{ EM_X86_64, "-2@%r13w", ARG(USDT_REGISTER, 13, NONE, 0, 16, 1, VALUE_INT, 0), NULL },
	{ EM_X86_64, "1@%dil", ARG(USDT_REGISTER, 7, NONE, 0, 8, 0, VALUE_UINT, 0), NULL },
	{ EM_X86_64, "1@%r15b", ARG(USDT_REGISTER, 15, NONE, 0, 8, 0, VALUE_UINT, 0), NULL },
	{ EM_X86_64, "-1@%ah", ARG(USDT_REGISTER, 0, NONE, 8, 8, 1, VALUE_INT, 0), NULL },
	{ EM_X86_64, "-4@112(%rsp)", ARG(USDT_MEMORY, 4, NONE, 0, 32, 1, VALUE_INT, 112), NULL },
	{ EM_X86_64, "8@-144(%rbp)", ARG(USDT_MEMORY, 5, NONE, 0, 64, 0, VALUE_UINT, -144), NULL },
	{ EM_X86_64, "4@0(%r13)", ARG(USDT_MEMORY, 13, NONE, 0, 32, 0, VALUE_UINT, 0), NULL },
	{ EM_X86_64, "4@(%rdx)", ARG(USDT_MEMORY, 2, NONE, 0, 32, 0, VALUE_UINT, 0), NULL },
	{ EM_X86_64, "8@(%rax,%rbx,8)", ARG(USDT_MEMORY, 0, 3, 3, 64, 0, VALUE_UINT, 0), NULL },
	{ EM_X86_64, "-4@-8(%rax,%r9)", ARG(USDT_MEMORY, 0, 9, 0, 32, 1, VALUE_INT, -8), NULL },
	{ EM_X86_64, "8@16(,%rcx,4)", ARG(USDT_MEMORY, NONE, 1, 2, 64, 0, VALUE_UINT, 16), NULL },
	{ EM_X86_64, "-4@$1", ARG(USDT_CONSTANT, 0, NONE, 0, 32, 1, VALUE_INT, 1), NULL },
	{ EM_X86_64, "4@$-1", ARG(USDT_CONSTANT, 0, NONE, 0, 32, 0, VALUE_UINT, -1), NULL },
	{ EM_X86_64, "8@$0x7fff", ARG(USDT_CONSTANT, 0, NONE, 0, 64, 0, VALUE_UINT, 0x7fff), NULL },
	{ EM_X86_64, "-4@52+CheckpointStats(%rip)",
	  ARG(USDT_RELATIVE, NONE, NONE, 0, 32, 1, VALUE_INT, 52), "CheckpointStats" },
	{ EM_X86_64, "-4@NBuffers(%rip)", ARG(USDT_RELATIVE, NONE, NONE, 0, 32, 1, VALUE_INT, 0),
	  "NBuffers" },
	{ EM_X86_64, "8@table+8-16(%rip)", ARG(USDT_RELATIVE, NONE, NONE, 0, 64, 0, VALUE_UINT, -8),
	  "table" },
	{ EM_X86_64, "8@table", ARG(USDT_RELATIVE, 0, NONE, 0, 64, 0, VALUE_UINT, 0), "table" },
	{ EM_X86_64, "8@$table+4", ARG(USDT_ADDRESS, 0, NONE, 0, 64, 0, VALUE_UINT, 4), "table" },
	{ EM_X86_64, "%rdx", ARG(USDT_REGISTER, 2, NONE, 0, 64, 0, VALUE_UINT, 0), NULL },
	{ EM_X86_64, "8f@-8(%rbp)", ARG(USDT_MEMORY, 5, NONE, 0, 64, 0, VALUE_DOUBLE, -8), NULL },
	{ EM_X86_64, "4f@(%rax)", ARG(USDT_MEMORY, 0, NONE, 0, 32, 0, VALUE_FLOAT, 0), NULL },
	/* not to be read, each for a reason of its own */
	{ EM_X86_64, "8f@%xmm0", ARG(0, 0, NONE, 0, 64, 0, VALUE_DOUBLE, 0), NULL },
	{ EM_X86_64, "16f@(%rax)", ARG(0, 0, NONE, 0, 64, 0, VALUE_NONE, 0), NULL },
	{ EM_X86_64, "8@%fs:-8", ARG(0, 0, NONE, 0, 64, 0, VALUE_UINT, 0), NULL },
	{ EM_X86_64, "8@16(%rip)", ARG(0, NONE, NONE, 0, 64, 0, VALUE_UINT, 16), NULL },
	{ EM_X86_64, "8@x@GOTPCREL(%rip)", ARG(0, 0, NONE, 0, 64, 0, VALUE_UINT, 0), NULL },
	{ EM_X86_64, "8@array(,%rax,8)", ARG(0, NONE, 0, 3, 64, 0, VALUE_UINT, 0), NULL },
	{ EM_X86_64, "3@%rax", ARG(0, 0, NONE, 0, 64, 0, VALUE_NONE, 0), NULL },
	{ EM_X86_64, "8@", ARG(0, 0, NONE, 0, 64, 0, VALUE_UINT, 0), NULL },
	{ EM_X86_64, "@%rax", ARG(0, 0, NONE, 0, 64, 0, VALUE_NONE, 0), NULL },
	{ EM_X86_64, "8@%rzz", ARG(0, 0, NONE, 0, 64, 0, VALUE_UINT, 0), NULL },
	{ EM_X86_64, "8@%r16", ARG(0, 0, NONE, 0, 64, 0, VALUE_UINT, 0), NULL },
	{ EM_X86_64, "8@(%eax)", ARG(0, 0, NONE, 0, 64, 0, VALUE_UINT, 0), NULL },
	{ EM_X86_64, "8@(%rax", ARG(0, 0, NONE, 0, 64, 0, VALUE_UINT, 0), NULL },
	{ EM_X86_64, "8@(%rax,%rbx,3)", ARG(0, 0, 3, 0, 64, 0, VALUE_UINT, 0), NULL },
	{ EM_X86_64, "8@%rax%rbx", ARG(0, 0, NONE, 0, 64, 0, VALUE_UINT, 0), NULL },
	{ EM_X86_64, "8@$99999999999999999999", ARG(0, 0, NONE, 0, 64, 0, VALUE_UINT, 0), NULL },
	/* arm64 */
	{ EM_AARCH64, "8@x19", ARG(USDT_REGISTER, 19, NONE, 0, 64, 0, VALUE_UINT, 0), NULL },
	{ EM_AARCH64, "-4@w0", ARG(USDT_REGISTER, 0, NONE, 0, 32, 1, VALUE_INT, 0), NULL },
	{ EM_AARCH64, "8@sp", ARG(USDT_REGISTER, 31, NONE, 0, 64, 0, VALUE_UINT, 0), NULL },
	{ EM_AARCH64, "8@xzr", ARG(USDT_REGISTER, NONE, NONE, 0, 64, 0, VALUE_UINT, 0), NULL },
	{ EM_AARCH64, "8@[x1]", ARG(USDT_MEMORY, 1, NONE, 0, 64, 0, VALUE_UINT, 0), NULL },
	{ EM_AARCH64, "-8@[sp, 112]", ARG(USDT_MEMORY, 31, NONE, 0, 64, 1, VALUE_INT, 112), NULL },
	{ EM_AARCH64, "4@[x29,#-4]", ARG(USDT_MEMORY, 29, NONE, 0, 32, 0, VALUE_UINT, -4), NULL },
	{ EM_AARCH64, "8@[x1, x2]", ARG(USDT_MEMORY, 1, 2, 0, 64, 0, VALUE_UINT, 0), NULL },
	{ EM_AARCH64, "8@[x1, x2, lsl 3]", ARG(USDT_MEMORY, 1, 2, 3, 64, 0, VALUE_UINT, 0), NULL },
	{ EM_AARCH64, "-4@-11", ARG(USDT_CONSTANT, 0, NONE, 0, 32, 1, VALUE_INT, -11), NULL },
	{ EM_AARCH64, "8@d0", ARG(0, 0, NONE, 0, 64, 0, VALUE_UINT, 0), NULL },
	{ EM_AARCH64, "8@x31", ARG(0, 0, NONE, 0, 64, 0, VALUE_UINT, 0), NULL },
	{ EM_AARCH64, "8@[w1]", ARG(0, 0, NONE, 0, 64, 0, VALUE_UINT, 0), NULL },
	{ EM_AARCH64, "8@[x1, w2, sxtw]", ARG(0, 0, NONE, 0, 64, 0, VALUE_UINT, 0), NULL },
	{ EM_386, "4@%eax", ARG(0, 0, NONE, 0, 32, 0, VALUE_UINT, 0), NULL },
};

static void each_form(void **state)
{
	struct usdt_argument args[USDT_MAX_ARGS];
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		const struct example *e = &examples[i];
		const struct usdt_arg *a = &args[0].arg, *wanted = &e->arg;

		print_message("%s\n", e->text);
		assert_int_equal(usdt_args_parse(e->machine, e->text, args), 1);
		assert_int_equal(a->form, wanted->form);
		assert_int_equal(args[0].unreadable == NULL, wanted->form != USDT_UNREADABLE);
		assert_string_equal(args[0].symbol, e->symbol ? e->symbol : "");
		assert_int_equal(a->type, wanted->type);
		if (args[0].unreadable)
			continue;
		assert_int_equal(a->bits, wanted->bits);
		assert_int_equal(a->is_signed, wanted->is_signed);
		assert_int_equal(a->scale, wanted->scale);
		assert_int_equal(a->offset, wanted->offset);
		if (a->form == USDT_REGISTER || a->form == USDT_MEMORY)
			assert_int_equal(a->reg, wanted->reg);
		if (a->form == USDT_MEMORY)
			assert_int_equal(a->index, wanted->index);
	}
}

static void whole_notes(void **state)
{
	struct usdt_argument args[USDT_MAX_ARGS];

	(void)state;
	/* buffer__read__done of postgres */
	assert_int_equal(usdt_args_parse(EM_X86_64,
					 "-4@-136(%rbp) 4@-132(%rbp) 4@0(%r13) 4@4(%r13) 4@8(%r13) "
					 "-4@12(%r13) 1@-149(%rbp) 1@-117(%rbp)",
					 args),
			 8);
	assert_int_equal(args[5].arg.offset, 12);
	assert_int_equal(args[7].arg.offset, -117);
	assert_string_equal(usdt_arg_type(&args[0].arg), "i32");
	assert_string_equal(usdt_arg_type(&args[6].arg), "u8");
	assert_int_equal(usdt_args_parse(EM_AARCH64, "8@[sp, 8] -4@w3 8@[x0, x1, lsl 3]", args), 3);
	assert_int_equal(args[1].arg.reg, 3);
	assert_int_equal(usdt_args_parse(EM_X86_64, "", args), 0);
	assert_int_equal(usdt_args_parse(EM_X86_64, "   ", args), 0);
	/* One that is damaged takes none of the others along. */
	assert_int_equal(usdt_args_parse(EM_X86_64, "8@%rax 8@(((( -4@%ecx", args), 2);
	assert_null(args[0].unreadable);
	assert_non_null(args[1].unreadable);
	assert_int_equal(usdt_args_parse(EM_X86_64, "8@%rax 8@)) -4@%ecx", args), 3);
	assert_null(args[2].unreadable);
	assert_int_equal(usdt_args_parse(EM_X86_64,
					 "1@$1 1@$1 1@$1 1@$1 1@$1 1@$1 1@$1 1@$1 1@$1 "
					 "1@$1 1@$1 1@$1 1@$1 1@$1",
					 args),
			 USDT_MAX_ARGS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_form),
		cmocka_unit_test(whole_notes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
