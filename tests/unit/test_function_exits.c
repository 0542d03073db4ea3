/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "elf_image.h"
#include "target/elf_functions.h"
#include "target/function_exits.h"

#define CODE (IMAGE_CODE_VADDR + IMAGE_CODE)

static struct function_exits found;

/* The code as one function, and what lies 0x80 on as its other part. */
static const char *look(uint16_t machine, const void *code, size_t n, const void *cold,
			size_t n_cold, bool skip_nop5)
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
	why = function_exits_find(elf, parts, n_cold ? 2 : 1, skip_nop5, &found);
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
		0x5d,			   /* 12 pop */
		0xe9, 0x00, 0x01, 0, 0,	   /* 13 jmp far away */
		0xff, 0xe0,		   /* 18 jmp *%rax */
		0xeb, 0xea,		   /* 20 jmp 0: itself */
	};
	static const uint8_t cold[] = { 0xe9, 0x79, 0xff, 0xff, 0xff, 0xc3 }; /* jmp -2: no */
	static const uint8_t back[] = { 0xe9, 0x7e, 0xff, 0xff, 0xff, 0xc3 }; /* jmp 3 */

	(void)state;
	assert_null(look(EM_X86_64, code, sizeof(code), NULL, 0, false));
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
	assert_null(look(EM_X86_64, code, sizeof(code), back, sizeof(back), false));
	assert_int_equal(found.n, 5);
	assert_int_equal(found.exits[4].vaddr, CODE + 0x80 + 5);
	assert_null(look(EM_X86_64, code, sizeof(code), cold, sizeof(cold), false));
	assert_int_equal(found.n, 6);
}

static void refused(void **state)
{
	static const uint8_t middle[] = { 0xeb, 0x01, 0xb8, 1, 2, 3, 4, 0xc3 }; /* into the mov */
	static const uint8_t data[] = { 0xc3, 0, 0, 0, 0 };
	static const uint8_t cut[] = { 0x90, 0xb8, 1, 2 };
	static const uint8_t nop5[] = { 0x0f, 0x1f, 0x44, 0, 0, 0xc3 };
	static const uint8_t vpor[] = { 0xc5, 0xf9, 0xeb, 0xc0, 0xc3 };
	static const uint8_t loop[] = {
		0xc5, 0xf9, 0xeb, 0xc0, 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3
	};
	static const uint8_t rep[] = { 0xf3, 0xa4, 0xc3 };
	static const uint8_t hinted[] = { 0x90, 0x2e, 0xc3 };
	static const uint8_t table[] = { 0x90, 0x3e, 0xff, 0xe0, 0xc3 };

	(void)state;
	assert_non_null(look(EM_X86_64, middle, sizeof(middle), NULL, 0, false));
	assert_non_null(look(EM_X86_64, data, sizeof(data), NULL, 0, false));
	assert_non_null(look(EM_X86_64, cut, sizeof(cut), NULL, 0, false));
	assert_non_null(look(EM_X86_64, "", 0, NULL, 0, false));
	assert_null(look(EM_X86_64, nop5, sizeof(nop5), NULL, 0, false));
	assert_int_equal(found.entry, CODE);
	assert_null(look(EM_X86_64, nop5, sizeof(nop5), NULL, 0, true));
	assert_int_equal(found.entry, CODE + 5);
	assert_non_null(look(EM_X86_64, nop5, 5, NULL, 0, true));
	/* What the kernel would take for something else: vpor for a jump, vzeroupper for a branch. */
	assert_null(look(EM_X86_64, vpor, sizeof(vpor), NULL, 0, false));
	assert_int_equal(found.entry, CODE + 4);
	assert_non_null(look(EM_X86_64, loop, sizeof(loop), NULL, 0, false));
	assert_non_null(look(EM_X86_64, rep, sizeof(rep), NULL, 0, false));
	assert_non_null(look(EM_X86_64, hinted, sizeof(hinted), NULL, 0, false));
	assert_null(look(EM_X86_64, table, sizeof(table), NULL, 0, false));
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
	assert_non_null(function_exits_find(elf, &part, 1, false, &found));
	part = (struct function_part){ UINT64_MAX, 2 };
	assert_non_null(function_exits_find(elf, &part, 1, false, &found));
	part = (struct function_part){ IMAGE_DATA_VADDR + IMAGE_DATA, 1 };
	assert_non_null(function_exits_find(elf, &part, 1, false, &found));
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
		0x54000040, /* b.eq */
		0xd65f03c0, /* ret */
		0x14000100, /* b far away */
		0x17fffffd, /* b 1 */
		0xd61f0200, /* br x16 */
		0xd65f0bff, /* retaa */
	};

	(void)state;
	assert_null(look(EM_AARCH64, code, sizeof(code), NULL, 0, false));
	assert_int_equal(found.n, 4);
	assert_int_equal(found.exits[0].vaddr, CODE + 8);
	assert_int_equal(found.exits[1].exit, CALL_JUMP);
	assert_int_equal(found.exits[1].to, CODE + 12 + 0x400);
	assert_int_equal(found.exits[2].exit, CALL_INDIRECT);
	assert_int_equal(found.exits[2].target.reg, 16);
	assert_int_equal(found.exits[3].exit, CALL_RETURN);
	assert_non_null(look(EM_AARCH64, code, sizeof(code) - 2, NULL, 0, false));
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(x86),	 cmocka_unit_test(refused), cmocka_unit_test(outside),
		cmocka_unit_test(arm64), cmocka_unit_test(symbols),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
