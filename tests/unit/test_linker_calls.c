/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls by which a dynamic linker reaches the function at which threads are held: all of them, or none. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>

#include "tracee/code/linker_calls.h"
#include "elf_image.h"

#define CALL  (IMAGE_CODE + 0x40)
#define JUMP  (IMAGE_CODE + 0x60)
#define OTHER (IMAGE_CODE + 0x80)
#define NEAR  (IMAGE_CODE + 0xf0) /* the function */

static uint64_t calls[LINKER_MAX_CALLS];

static unsigned find(const struct image *m)
{
	int fd = image_fd(m);
	struct elf_file *elf;
	unsigned n;

	assert_int_equal(elf_file_open(fd, &elf, NULL), 0);
	n = linker_calls_find(elf, IMAGE_SYMBOL_VADDR, calls);
	elf_file_free(elf);
	close(fd);
	return n;
}

static void init(struct image *m)
{
	image_init(m, EM_X86_64);
	image_put_unwind(m);
	image_put_call(m, CALL, 0xe8, 0);
	image_put_call(m, JUMP, 0xe9, 0);
}

/* `lea distance(%rip), %rax`, or with another opcode or operand. */
static void put_load(struct image *m, size_t at, const char *begin)
{
	image_put_call(m, at + 2, 0, 0);
	image_put(m, at, begin, 3);
}

static void calls_and_jumps(void **state)
{
	struct image m;

	(void)state;
	init(&m);
	assert_int_equal(find(&m), 2);
	assert_int_equal(calls[0], IMAGE_CODE_VADDR + CALL);
	assert_int_equal(calls[1], IMAGE_CODE_VADDR + JUMP);
	/* To other functions. */
	image_put_call(&m, OTHER, 0xe8, 8);
	image_put_call(&m, OTHER + 8, 0xe8, -8);
	assert_int_equal(find(&m), 2);
	/* The last bytes of the code. */
	image_put_call(&m, IMAGE_DATA - 5, 0xe8, 0);
	assert_int_equal(find(&m), 3);
	image_init(&m, EM_X86_64);
	assert_int_equal(find(&m), 0);
	init(&m);
	image_header(&m)->e_machine = EM_AARCH64;
	assert_int_equal(find(&m), 0);
}

/* Each of them is one too many. */
static void more_than_can_be_had(void **state)
{
	struct image m;

	(void)state;
	image_init(&m, EM_X86_64);
	image_put_unwind(&m);
	for (unsigned i = 0; i < LINKER_MAX_CALLS; i++)
		image_put_call(&m, IMAGE_CODE + 0x10 + 5 * i, 0xe8, 0);
	assert_int_equal(find(&m), LINKER_MAX_CALLS);
	image_put_call(&m, IMAGE_CODE + 0x180, 0xe8, 0);
	assert_int_equal(find(&m), 0);
}

/* The linker gives the address of the function to debuggers. Whoever loads it twice may call it by that. */
static void its_address(void **state)
{
	struct image m;

	(void)state;
	init(&m);
	put_load(&m, OTHER, "\x48\x8d\x05");
	assert_int_equal(find(&m), 2);
	put_load(&m, OTHER + 16, "\x4c\x8d\x3d");
	assert_int_equal(find(&m), 0);
	/* A call by a pointer, a register that has no such number, a comparison of what is there, a push. */
	init(&m);
	put_load(&m, OTHER, "\x48\xff\x15");
	assert_int_equal(find(&m), 0);
	/* The same number counts from elsewhere: in a frame, and in an array. */
	init(&m);
	put_load(&m, OTHER, "\x48\x8d\x85");
	put_load(&m, OTHER + 16, "\x8d\x84\xd8");
	assert_int_equal(find(&m), 2);
	for (int more = 1; more <= 4; more++) {
		init(&m);
		image_put_call(&m, OTHER, 0x3d, -more);
		assert_int_equal(find(&m), more == 3 ? 2 : 0);
	}
	init(&m);
	image_put_call(&m, OTHER, 0x84, 0); /* 0f 84: je */
	m.bytes[OTHER - 1] = 0x0f;
	assert_int_equal(find(&m), 0);
}

/* A part of another instruction may look like a call. Then nothing is known. */
static void no_instruction(void **state)
{
	struct image m;

	(void)state;
	init(&m);
	image_put_call(&m, OTHER, 0xe8, 0);
	assert_int_equal(find(&m), 3);
	m.bytes[OTHER - 1] = 0x81; /* sub number, %eax */
	assert_int_equal(find(&m), 0);
	init(&m);
	image_segment(&m, SEG_INTERP)->p_type = PT_NULL;
	assert_int_equal(find(&m), 0);
}

static void short_jumps(void **state)
{
	static const uint8_t jumps[] = { 0xeb, 0x70, 0x74, 0x7f, 0xe0, 0xe3 };
	struct image m;

	(void)state;
	for (unsigned i = 0; i < sizeof(jumps); i++) {
		init(&m);
		m.bytes[NEAR] = jumps[i];
		m.bytes[NEAR + 1] = IMAGE_CODE + 0x100 - (NEAR + 2);
		assert_int_equal(find(&m), 0);
		m.bytes[NEAR + 1]++;
		assert_int_equal(find(&m), 2);
		/* From behind it. */
		m.bytes[NEAR + 0x20] = jumps[i];
		m.bytes[NEAR + 0x21] = 0x100 - 0x12;
		assert_int_equal(find(&m), 0);
	}
	init(&m);
	m.bytes[NEAR] = 0x6b;
	m.bytes[NEAR + 1] = IMAGE_CODE + 0x100 - (NEAR + 2);
	assert_int_equal(find(&m), 2);
}

static void pointers(void **state)
{
	const uint64_t address = IMAGE_SYMBOL_VADDR;
	const Elf64_Rela own = { IMAGE_DATA_VADDR + IMAGE_DATA, ELF64_R_INFO(2, R_X86_64_JUMP_SLOT),
				 0 };
	struct image m;

	(void)state;
	/* One is in the symbol. */
	init(&m);
	image_put(&m, IMAGE_DATA + 0x40, &address, sizeof(address));
	assert_int_equal(find(&m), 0);
	init(&m);
	image_put_section(&m, SEC_STAPSDT, 17, SHT_RELA, 0, IMAGE_STAPSDT, sizeof(own));
	image_section(&m, SEC_STAPSDT)->sh_link = SEC_DYNSYM;
	memset(m.bytes + IMAGE_STAPSDT, 0, sizeof(own));
	assert_int_equal(find(&m), 2);
	image_put(&m, IMAGE_STAPSDT, &own, sizeof(own));
	assert_int_equal(find(&m), 0);
	image_section(&m, SEC_DYNSYM)->sh_offset = UINT64_MAX;
	assert_int_equal(find(&m), 0);
	init(&m);
	image_header(&m)->e_shnum = 0;
	assert_int_equal(find(&m), 0);
}

/* Each word made absurd, and each end: it ends. */
static void damaged(void **state)
{
	static const uint64_t absurd[] = { 0, 1, 0x7fffffff, 0xffffffff, INT64_MAX, UINT64_MAX };
	struct image good, m;

	(void)state;
	init(&good);
	for (size_t at = 0; at + sizeof(absurd[0]) <= sizeof(m.bytes); at += 4) {
		for (unsigned i = 0; i < sizeof(absurd) / sizeof(absurd[0]); i++) {
			struct elf_file *elf;
			int fd;

			m = good;
			memcpy(m.bytes + at, &absurd[i], sizeof(absurd[i]));
			fd = image_fd(&m);
			if (!elf_file_open(fd, &elf, NULL)) {
				assert_in_range(linker_calls_find(elf, IMAGE_SYMBOL_VADDR, calls),
						0, LINKER_MAX_CALLS);
				elf_file_free(elf);
			}
			close(fd);
		}
	}
}

/* The one of this process, if there is one. */
static void of_this_machine(void **state)
{
	int fd = open("/lib64/ld-linux-x86-64.so.2", O_RDONLY | O_CLOEXEC);
	struct elf_file *elf;
	uint64_t function;
	unsigned n;

	(void)state;
	if (fd < 0)
		skip();
	assert_int_equal(elf_file_open(fd, &elf, NULL), 0);
	if (!elf_file_dynamic_symbol(elf, "_dl_debug_state", &function)) {
		n = linker_calls_find(elf, function, calls);
		print_message("%u calls\n", n);
		for (unsigned i = 0; i < n; i++) {
			uint8_t call[5];
			int32_t distance;

			assert_int_equal(elf_file_bytes(elf, calls[i], call, sizeof(call)), 0);
			memcpy(&distance, call + 1, sizeof(distance));
			assert_int_equal(call[0], 0xe8);
			assert_int_equal(calls[i] + sizeof(call) + (uint64_t)(int64_t)distance,
					 function);
		}
	}
	elf_file_free(elf);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_and_jumps), cmocka_unit_test(more_than_can_be_had),
		cmocka_unit_test(its_address),	   cmocka_unit_test(no_instruction),
		cmocka_unit_test(short_jumps),	   cmocka_unit_test(pointers),
		cmocka_unit_test(damaged),	   cmocka_unit_test(of_this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
