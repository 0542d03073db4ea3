/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The exits of functions (tracee/code/function_exits.c), in code that is written here byte by byte.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "elf_image.h"
#include "tracee/elf_functions.h"
#include "tracee/code/function_exits.h"

#define CODE (IMAGE_CODE_VADDR + IMAGE_CODE)

static struct function_exits found;
static const struct unwind_table unwind; /* none */

/* The code as one function, and what lies 0x80 on as its other part. */
static const char *look(uint16_t machine, const void *code, size_t n, const void *cold,
			size_t n_cold, unsigned rules)
{
	const struct function_part parts[] = { { CODE, n }, { CODE + 0x80, n_cold } };
	struct elf_file *elf;
	struct failure f;
	struct image m;
	const char *why;
	int fd;

	image_init(&m, machine);
	image_put(&m, IMAGE_CODE, code, n);
	image_put(&m, IMAGE_CODE + 0x80, cold ? cold : "", n_cold);
	fd = image_fd(&m);
	assert_int_equal(elf_file_open(fd, &elf, &f), 0);
	why = function_exits_find(elf, &unwind, parts, n_cold ? 2 : 1, rules, &found);
	elf_file_free(elf);
	close(fd);
	return why;
}

static void x86(void **state)
{
	static const uint8_t code[] = {
		0x55,			   /* 0 push */
		0x74, 0x03,		   /* 1 je 6 */
		0x5d,			   /* 3 pop */
		0xc3,			   /* 4 ret */
		0x90,			   /* 5 */
		0x0f, 0x85, 0x74, 0, 0, 0, /* 6 jne 0x80 */
		0x74, 0x0a,		   /* 12 je 24 */
		0x74, 0x06,		   /* 14 je 22 */
		0x5d,			   /* 16 pop */
		0xe9, 0x00, 0x01, 0, 0,	   /* 17 jmp far away */
		0xff, 0xe0,		   /* 22 jmp *%rax */
		0xeb, 0xe6,		   /* 24 jmp 0: itself */
	};
	static const uint8_t cold[] = { 0x75, 1, 0xc3, 0xe9, 0x77, 0xff, 0xff, 0xff }; /* jmp -1 */
	static const uint8_t back[] = { 0x75, 1, 0xc3, 0xe9, 0x7c, 0xff, 0xff, 0xff }; /* jmp 4 */

	(void)state;
	assert_null(look(EM_X86_64, code, sizeof(code), NULL, 0, 0));
	assert_int_equal(found.entry, CODE);
	assert_int_equal(found.n, 5);
	assert_int_equal(found.exits[0].vaddr, CODE + 4);
	assert_int_equal(found.exits[0].exit, CALL_RETURN);
	assert_int_equal(found.exits[1].exit, CALL_BRANCH);
	assert_int_equal(found.exits[1].condition, 5);
	assert_int_equal(found.exits[1].to, CODE + 0x80);
	assert_int_equal(found.exits[2].exit, CALL_JUMP);
	assert_int_equal(found.exits[3].exit, CALL_INDIRECT);
	assert_int_equal(found.exits[4].exit, CALL_JUMP);
	assert_int_equal(found.exits[4].to, CODE);
	/* What lies elsewhere is not left for, and what leaves from there does. */
	assert_null(look(EM_X86_64, code, sizeof(code), back, sizeof(back), 0));
	assert_int_equal(found.n, 5);
	assert_int_equal(found.exits[4].vaddr, CODE + 0x80 + 2);
	assert_null(look(EM_X86_64, code, sizeof(code), cold, sizeof(cold), 0));
	assert_int_equal(found.n, 6);
}

/* Between a function's instructions there may be anything: no probe may stand there. */
static void data_within(void **state)
{
	static const uint8_t jumped_over[] = {
		0x48, 0x8d, 0x05, 0x08, 0,    0,    0,		/* 0 lea 15(%rip),%rax */
		0x48, 0x63, 0xff,				/* 7 movslq %edi,%rdi */
		0x0f, 0xb6, 0x04, 0x38,				/* 10 movzbl (%rax,%rdi),%eax */
		0xeb, 0x08,					/* 14 jmp 24 */
		0x90, 0xc3, 0x90, 0xc3, 0x11, 0xc3, 0x22, 0xc3, /* 16 */
		0xc3,						/* 24 ret */
	};
	static const uint8_t computed[] = {
		0x48, 0x8d, 0x15, 0x0a, 0,    0,    0,		/* 0 lea 17(%rip),%rdx */
		0xff, 0xe2,					/* 7 jmp *%rdx */
		0x90, 0xc3, 0x90, 0xc3, 0x11, 0xc3, 0x22, 0xc3, /* 9 */
		0x31, 0xc0,					/* 17 xor */
		0xc3,						/* 19 ret */
	};
	static const uint8_t behind[] = { 0xc3, 0x90, 0xc3, 0xe9, 0, 1, 0, 0 };
	static const uint8_t into[] = { 0x74, 1, 0xb8, 0x90, 0x90, 0x90, 0x90, 0xc3 };
	static const uint8_t called[] = {
		0xe8, 2, 0, 0, 0, 0x90, 0xc3, 0x58, 0xc3 /* call 7; data; pop; ret */
	};
	static const uint8_t padded[] = { 0x74, 6,    0xff, 0xe0, 0x66, 0x90, 0x0f, 0x0b,
					  0xc3, 0xcc, 0,    0,	  0x0f, 0x1f, 0 };
	static const uint8_t no_end[] = { 0x90, 0x90 };
	static const uint8_t never_returns[] = { 0xe8, 0, 1, 0, 0, 0x66, 0x90 };
	static const uint32_t arm[] = { 0x14000003, 0xd65f03c0, 0xd65f03c0, 0xd65f03c0 };
	static const uint32_t arm_unknown[] = { 0xd61f0020, 0xd65f03c0 };
	static const uint32_t arm_known[] = { 0xd61f0020, 0x91000400, 0x17ffffff };

	(void)state;
	assert_null(look(EM_X86_64, jumped_over, sizeof(jumped_over), NULL, 0, 0));
	assert_int_equal(found.n, 1);
	assert_int_equal(found.exits[0].vaddr, CODE + 24);
	assert_non_null(look(EM_X86_64, computed, sizeof(computed), NULL, 0, 0));
	assert_null(look(EM_X86_64, behind, sizeof(behind), NULL, 0, 0));
	assert_int_equal(found.n, 1);
	assert_non_null(look(EM_X86_64, into, sizeof(into), NULL, 0, 0));
	assert_non_null(look(EM_X86_64, called, sizeof(called), NULL, 0, 0));
	assert_null(look(EM_X86_64, padded, sizeof(padded), NULL, 0, 0));
	assert_int_equal(found.n, 2);
	assert_non_null(look(EM_X86_64, no_end, sizeof(no_end), NULL, 0, 0));
	assert_null(look(EM_X86_64, never_returns, sizeof(never_returns), NULL, 0, 0));
	assert_null(look(EM_AARCH64, arm, sizeof(arm), NULL, 0, 0));
	assert_int_equal(found.n, 1);
	assert_int_equal(found.exits[0].vaddr, CODE + 12);
	assert_non_null(look(EM_AARCH64, arm_unknown, sizeof(arm_unknown), NULL, 0, 0));
	assert_null(look(EM_AARCH64, arm_known, sizeof(arm_known), NULL, 0, 0));
}

static void refused(void **state)
{
	static const uint8_t middle[] = { 0xeb, 0x01, 0xb8, 1, 2, 3, 4, 0xc3 }; /* into the mov */
	static const uint8_t data[] = { 0x90, 0, 0, 0, 0 };
	static const uint8_t cut[] = { 0x90, 0xb8, 1, 2 };
	static const uint8_t nop5[] = { 0x0f, 0x1f, 0x44, 0, 0, 0xc3 };
	static const uint8_t vpor[] = { 0xc5, 0xf9, 0xeb, 0xc0, 0xc3 };
	static const uint8_t loop[] = {
		0xc5, 0xf9, 0xeb, 0xc0, 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3
	};
	static const uint8_t push[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x53, 0x5b, 0xc3 };
	static const uint8_t push_r12[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0x54, 0x41, 0x5c, 0xc3 };
	static const uint8_t push_again[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x53, 0x75, 0xfd, 0xc3 };
	static const uint8_t no_push[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0xc3, 0x53 };
	static const uint8_t rep[] = { 0xf3, 0xa4, 0xc3 };
	static const uint8_t hinted[] = { 0x90, 0x2e, 0xc3 };
	static const uint8_t table[] = { 0x74, 3, 0x3e, 0xff, 0xe0, 0xc3 };
	static const uint8_t calls[] = { 0xe8, 0, 1, 0, 0, 0xc3 };
	static const uint8_t calls_far[] = { 0xff, 0x15, 0, 1, 0, 0, 0xc3 };
	static const uint8_t calls_behind[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0xe8, 0, 1, 0, 0, 0xc3 };

	(void)state;
	assert_non_null(look(EM_X86_64, middle, sizeof(middle), NULL, 0, 0));
	assert_non_null(look(EM_X86_64, data, sizeof(data), NULL, 0, 0));
	assert_non_null(look(EM_X86_64, cut, sizeof(cut), NULL, 0, 0));
	assert_non_null(look(EM_X86_64, "", 0, NULL, 0, 0));
	assert_null(look(EM_X86_64, nop5, sizeof(nop5), NULL, 0, 0));
	assert_int_equal(found.entry, CODE);
	assert_null(look(EM_X86_64, nop5, sizeof(nop5), NULL, 0, PROVER_SKIPS_NOP5));
	assert_int_equal(found.entry, CODE + 5);
	assert_non_null(look(EM_X86_64, nop5, 5, NULL, 0, PROVER_SKIPS_NOP5));
	/* Programs with a shadow stack would not return from what is called. */
	assert_null(look(EM_X86_64, calls, sizeof(calls), NULL, 0, 0));
	assert_int_equal(found.entry, CODE);
	assert_non_null(look(EM_X86_64, calls, sizeof(calls), NULL, 0, PROVER_NO_CALLS));
	assert_non_null(look(EM_X86_64, calls_far, sizeof(calls_far), NULL, 0, PROVER_NO_CALLS));
	assert_null(look(EM_X86_64, calls_behind, sizeof(calls_behind), NULL, 0, PROVER_NO_CALLS));
	assert_int_equal(found.entry, CODE);
	/* What the kernel would take for something else: vpor for a jump, vzeroupper for a branch. */
	assert_null(look(EM_X86_64, vpor, sizeof(vpor), NULL, 0, 0));
	assert_int_equal(found.entry, CODE + 4);
	/* Behind endbr64 where the kernel emulates what follows, and nothing jumps there. */
	assert_null(look(EM_X86_64, push, sizeof(push), NULL, 0, 0));
	assert_int_equal(found.entry, CODE + 4);
	assert_null(look(EM_X86_64, push_r12, sizeof(push_r12), NULL, 0, 0));
	assert_int_equal(found.entry, CODE + 4);
	assert_null(look(EM_X86_64, push_again, sizeof(push_again), NULL, 0, 0));
	assert_int_equal(found.entry, CODE);
	assert_null(look(EM_X86_64, no_push, sizeof(no_push), NULL, 0, 0));
	assert_int_equal(found.entry, CODE);
	assert_null(look(EM_X86_64, no_push, 5, NULL, 0, 0));
	assert_int_equal(found.entry, CODE);
	assert_non_null(look(EM_X86_64, loop, sizeof(loop), NULL, 0, 0));
	assert_non_null(look(EM_X86_64, rep, sizeof(rep), NULL, 0, 0));
	assert_non_null(look(EM_X86_64, hinted, sizeof(hinted), NULL, 0, 0));
	assert_null(look(EM_X86_64, table, sizeof(table), NULL, 0, 0));
	assert_int_equal(found.n, 1);
}

static void outside(void **state)
{
	struct function_part part = { CODE + 0x100, 0x200 };
	struct elf_file *elf;
	struct failure f;
	struct image m;
	uint64_t vaddr;
	int fd;

	(void)state;
	image_init(&m, EM_X86_64);
	image_put_stub(&m, IMAGE_CODE);
	fd = image_fd(&m);
	assert_int_equal(elf_file_open(fd, &elf, &f), 0);
	assert_non_null(function_exits_find(elf, &unwind, &part, 1, false, &found));
	part = (struct function_part){ UINT64_MAX, 2 };
	assert_non_null(function_exits_find(elf, &unwind, &part, 1, false, &found));
	part = (struct function_part){ IMAGE_DATA_VADDR + IMAGE_DATA, 1 };
	assert_non_null(function_exits_find(elf, &unwind, &part, 1, false, &found));
	assert_int_equal(function_next_return(elf, CODE + 1, &vaddr), 0);
	assert_int_equal(vaddr, CODE + 12);
	assert_int_equal(function_next_return(elf, CODE + 0x1ff, &vaddr), -ENOENT);
	assert_int_equal(function_next_return(elf, 0, &vaddr), -ENOENT);
	elf_file_free(elf);
	close(fd);
}

static void arm64(void **state)
{
	static const uint32_t code[] = {
		0xa9bf7bfd, /* stp */
		0x54000040, /* b.eq 3 */
		0xd65f03c0, /* ret */
		0x340000a0, /* cbz 8 */
		0x36000060, /* tbz 7 */
		0x37000060, /* tbnz 8 */
		0x14000100, /* b far away */
		0xd61f0200, /* br x16 */
		0xd65f0bff, /* retaa */
	};

	(void)state;
	assert_null(look(EM_AARCH64, code, sizeof(code), NULL, 0, 0));
	assert_int_equal(found.n, 4);
	assert_int_equal(found.exits[0].vaddr, CODE + 8);
	assert_int_equal(found.exits[1].exit, CALL_JUMP);
	assert_int_equal(found.exits[1].to, CODE + 24 + 0x400);
	assert_int_equal(found.exits[2].exit, CALL_INDIRECT);
	assert_int_equal(found.exits[2].target.reg, 16);
	assert_int_equal(found.exits[3].exit, CALL_RETURN);
	assert_non_null(look(EM_AARCH64, code, sizeof(code) - 2, NULL, 0, 0));
}

/* The image's symbols: one that is defined, and one that is not. */
static void symbols(void **state)
{
	struct elf_functions all = { 0 };
	struct elf_file *elf;
	struct failure f;
	struct image m;
	char own[16];
	int fd;

	(void)state;
	image_init(&m, EM_X86_64);
	fd = image_fd(&m);
	assert_int_equal(elf_file_open(fd, &elf, &f), 0);
	assert_int_equal(elf_functions_add(&all, elf), 0);
	elf_functions_sort(&all);
	assert_int_equal(all.n, 1);
	assert_string_equal(all.list[0].name, "_dl_debug_state");
	assert_int_equal(all.list[0].vaddr, IMAGE_SYMBOL_VADDR);
	assert_int_equal(all.malformed, 0);
	assert_false(elf_file_own_name(elf, own, sizeof(own)));
	assert_true(elf_file_is_program(elf));
	elf_functions_free(&all);
	elf_file_free(elf);
	close(fd);
	/* Strings that are said to be longer than the file. */
	image_section(&m, SEC_DYNSTR)->sh_size = 1ull << 40;
	fd = image_fd(&m);
	assert_int_equal(elf_file_open(fd, &elf, &f), 0);
	assert_int_equal(elf_functions_add(&all, elf), 0);
	assert_int_equal(all.n, 0);
	assert_int_equal(all.malformed, 1);
	elf_functions_free(&all);
	elf_file_free(elf);
	close(fd);
}

#define TABLE 0x800 /* where the image has constant data */

static const char *look_at_table(const void *code, size_t n, const void *table, size_t n_table)
{
	const struct function_part part = { CODE, n };
	struct elf_file *elf;
	struct failure f;
	struct image m;
	const char *why;
	int fd;

	image_init(&m, EM_X86_64);
	image_put(&m, IMAGE_CODE, code, n);
	image_put(&m, TABLE, table, n_table);
	fd = image_fd(&m);
	assert_int_equal(elf_file_open(fd, &elf, &f), 0);
	why = function_exits_find(elf, &unwind, &part, 1, false, &found);
	elf_file_free(elf);
	close(fd);
	return why;
}

static void tables(void **state)
{
	uint8_t relative[] = {
		0x83, 0xff, 0x01,		 /* 0 cmp $1,%edi */
		0x77, 0x10,			 /* 3 ja 21 */
		0x48, 0x8d, 0x15, 0,	0, 0, 0, /* 5 lea TABLE(%rip),%rdx */
		0x48, 0x63, 0x04, 0xba,		 /* 12 movslq (%rdx,%rdi,4),%rax */
		0x48, 0x01, 0xd0,		 /* 16 add %rdx,%rax */
		0xff, 0xe0,			 /* 19 jmp *%rax */
		0xc3,				 /* 21 ret */
		0x5d, 0xc3,			 /* 22 pop, ret */
		0x58, 0xc3,			 /* 24 pop, ret */
	};
	static const uint8_t absolute[] = {
		0x83, 0xff, 0x01,			  /* 0 cmp $1,%edi */
		0x77, 0x07,				  /* 3 ja 12 */
		0xff, 0x24, 0xfd, 0x00, TABLE >> 8, 0, 0, /* 5 jmp *TABLE(,%rdi,8) */
		0xc3,					  /* 12 ret */
		0x5d, 0xc3,				  /* 13 pop, ret */
		0x58, 0xc3,				  /* 15 pop, ret */
	};
	int32_t to_relative[] = { CODE + 22 - TABLE, CODE + 24 - TABLE, CODE + 7 - TABLE };
	const uint64_t to_absolute[] = { CODE + 13, CODE + 15, CODE + 1 };
	const int32_t distance = TABLE - (CODE + 12);

	(void)state;
	memcpy(relative + 8, &distance, 4);
	assert_null(look_at_table(relative, sizeof(relative), to_relative, sizeof(to_relative)));
	assert_int_equal(found.n, 4);
	assert_int_equal(found.exits[3].vaddr, CODE + 25);
	assert_int_equal(found.elsewhere, 0);
	assert_null(look_at_table(absolute, sizeof(absolute), to_absolute, sizeof(to_absolute)));
	assert_int_equal(found.n, 4);
	assert_int_equal(found.exits[3].vaddr, CODE + 16);
	/* Without the comparison, it ends before what cannot be one of its entries. */
	relative[1] = 0xf7;
	assert_null(look_at_table(relative, sizeof(relative), to_relative, sizeof(to_relative)));
	assert_int_equal(found.n, 4);
	relative[1] = 0xff;
	/* Into the middle of an instruction; elsewhere; too few of them. */
	to_relative[1] = CODE + 7 - TABLE;
	assert_non_null(look_at_table(relative, sizeof(relative), to_relative, 12));
	to_relative[1] = CODE + 0x80 - TABLE;
	assert_non_null(look_at_table(relative, sizeof(relative), to_relative, 12));
	assert_int_equal(found.elsewhere, CODE + 0x80);
	to_relative[1] = CODE + 24 - TABLE;
	relative[2] = 0;
	assert_non_null(look_at_table(relative, sizeof(relative), to_relative, 12));
	/* No such table. */
	assert_non_null(look_at_table(relative, sizeof(relative), "", 0));
}

/* Where an exception is caught no jump leads: only what is said of the code for exceptions. */
static void pads(void **state)
{
	enum {
		HEADER = 0x600,
		COMMON = 0x640,
		SAID = 0x680,
		LSDA = 0x700
	};
	static const uint8_t code[] = { 0xe8, 0, 1, 0, 0, 0xc3, 0x58, 0xc3 };
	static const uint8_t header[] = { 1, 0x1b, 0x03, 0x3b, 0, 0, 0, 0, 1, 0, 0, 0 };
	static const uint8_t common[] = { 18,  0,   0, 0, 0,	0,  0, 0,    1,	  'z',
					  'L', 'R', 0, 1, 0x78, 16, 2, 0x1b, 0x1b };
	uint8_t lsda[] = { 0xff, 0xff, 1, 4, 0, 5, 6, 0 };
	const int32_t entry[] = { CODE - HEADER, SAID - HEADER };
	const int32_t said[] = { 20, SAID + 4 - COMMON, CODE - (SAID + 8), sizeof(code) };
	const int32_t lsda_from = LSDA - (SAID + 17);
	const struct function_part part = { CODE, sizeof(code) };
	struct unwind_table table;
	struct elf_file *elf;
	struct failure f;
	struct image m;
	int fd, i;

	(void)state;
	for (i = 0; i < 3; i++) {
		image_init(&m, EM_X86_64);
		image_put(&m, IMAGE_NAMES + 31, ".eh_frame_hdr", 13);
		image_put_section(&m, SEC_BASE, 31, SHT_PROGBITS, HEADER, HEADER, 20);
		image_put(&m, IMAGE_CODE, code, sizeof(code));
		image_put(&m, HEADER, header, sizeof(header));
		image_put(&m, HEADER + sizeof(header), entry, sizeof(entry));
		image_put(&m, COMMON, common, sizeof(common));
		image_put(&m, SAID, said, sizeof(said));
		image_put(&m, SAID + 16, "\4", 1);
		image_put(&m, SAID + 17, &lsda_from, 4);
		/* The second time elsewhere, the third into the middle of the call. */
		lsda[6] = i == 0 ? 6 : i == 1 ? 0x40 : 2;
		image_put(&m, LSDA, lsda, sizeof(lsda));
		fd = image_fd(&m);
		assert_int_equal(elf_file_open(fd, &elf, &f), 0);
		unwind_table_open(&table, elf);
		assert_int_equal(table.n, 1);
		if (i == 2) {
			assert_non_null(function_exits_find(elf, &table, &part, 1, false, &found));
		} else {
			assert_null(function_exits_find(elf, &table, &part, 1, false, &found));
			assert_int_equal(found.n, i == 0 ? 2 : 1);
			assert_int_equal(found.elsewhere, i == 0 ? 0 : CODE + 0x40);
		}
		elf_file_free(elf);
		close(fd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(x86),	  cmocka_unit_test(refused), cmocka_unit_test(outside),
		cmocka_unit_test(arm64),  cmocka_unit_test(symbols), cmocka_unit_test(data_within),
		cmocka_unit_test(tables), cmocka_unit_test(pads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
