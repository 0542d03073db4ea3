/* SPDX-License-Identifier: BSD-2-Clause */
/* What the broker believes of an ELF file: where its code is, and where data that can be written. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "privilege/broker/server.h"
#include "elf_image.h"

static bool read_image(const struct image *m, size_t size, struct segments *s)
{
	int fd = image_bytes_fd(m->bytes, size);
	bool done = segments_read(fd, s);

	close(fd);
	return done;
}

static void tells_code_from_data(void **state)
{
	struct segments s;
	struct image m;

	(void)state;
	image_init(&m, EM_X86_64);
	assert_true(read_image(&m, sizeof(m.bytes), &s));
	assert_int_equal(s.n, 4); /* three are loaded, one is for the dynamic linker */
	assert_true(segments_code(&s, IMAGE_CODE, 8));
	assert_false(segments_code(&s, IMAGE_CODE - 1, 8));
	assert_false(segments_code(&s, IMAGE_DATA - 7, 8));
	assert_false(segments_code(&s, IMAGE_DATA, 8));
	assert_true(segments_data(&s, IMAGE_DATA, 2));
	assert_true(segments_data(&s, IMAGE_DATA + IMAGE_DATA_SIZE - 2, 2));
	/* The last byte alone, what is beyond the file's part, code, what is only read, the headers. */
	assert_false(segments_data(&s, IMAGE_DATA + IMAGE_DATA_SIZE - 1, 2));
	assert_false(segments_data(&s, IMAGE_DATA + IMAGE_DATA_SIZE, 2));
	assert_false(segments_data(&s, IMAGE_CODE, 2));
	assert_false(segments_data(&s, IMAGE_STRING, 2));
	assert_false(segments_data(&s, 0, 2));
	assert_false(segments_data(&s, UINT64_MAX, 2));
	assert_false(segments_data(&s, UINT64_MAX - 1, 2));
}

static void believes_no_absurd_segment(void **state)
{
	struct segments s;
	struct image m;

	(void)state;
	image_init(&m, EM_X86_64);
	image_segment(&m, SEG_DATA)->p_offset = UINT64_MAX - 1;
	image_segment(&m, SEG_CODE)->p_filesz = UINT64_MAX;
	assert_true(read_image(&m, sizeof(m.bytes), &s));
	assert_false(segments_data(&s, UINT64_MAX - 1, 2));
	assert_false(segments_data(&s, 0, 2));
	assert_false(segments_code(&s, IMAGE_CODE, 8));
	/* One that can be written, but is no part of the program in memory. */
	image_init(&m, EM_X86_64);
	image_segment(&m, SEG_DATA)->p_type = PT_NOTE;
	assert_true(read_image(&m, sizeof(m.bytes), &s));
	assert_false(segments_data(&s, IMAGE_DATA, 2));
}

static void refuses_what_is_none(void **state)
{
	struct segments s;
	struct image m;
	size_t size;

	(void)state;
	image_init(&m, EM_X86_64);
	for (size = 0; size < sizeof(Elf64_Ehdr) + N_SEG * sizeof(Elf64_Phdr); size++)
		assert_false(read_image(&m, size, &s));
	image_header(&m)->e_phnum = 65535;
	assert_false(read_image(&m, sizeof(m.bytes), &s));
	image_header(&m)->e_phnum = SEGMENTS_MAX;
	image_header(&m)->e_phoff = sizeof(m.bytes) - 8;
	assert_false(read_image(&m, sizeof(m.bytes), &s));
	image_header(&m)->e_phoff = UINT64_MAX - 8;
	assert_false(read_image(&m, sizeof(m.bytes), &s));
	image_init(&m, EM_X86_64);
	image_header(&m)->e_phentsize = 32;
	assert_false(read_image(&m, sizeof(m.bytes), &s));
	image_init(&m, EM_X86_64);
	m.bytes[EI_CLASS] = ELFCLASS32;
	assert_false(read_image(&m, sizeof(m.bytes), &s));
	image_init(&m, EM_X86_64);
	m.bytes[0] = 0;
	assert_false(read_image(&m, sizeof(m.bytes), &s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_code_from_data),
		cmocka_unit_test(believes_no_absurd_segment),
		cmocka_unit_test(refuses_what_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
