/* SPDX-License-Identifier: BSD-2-Clause */
/* The order in which the tables of files are read: what stacks lack, then from the smallest file on. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/stacks/unwind_internal.h"

enum {
	FILES = 5
};

static struct elf_segment code[FILES];
static struct elf_file elves[FILES];
static struct file files[FILES];

static void set_sizes(const uint64_t sizes[FILES])
{
	for (unsigned i = 0; i < FILES; i++)
		code[i].filesz = sizes[i];
}

/* Waits for the next file to be read. No file has a table, so each reply is one packet. */
static void read_one(struct unwind *u)
{
	struct pollfd fd = { .fd = unwind_tables_fd(u->tables), .events = POLLIN };

	assert_int_equal(poll(&fd, 1, 10000), 1);
	unwind_receive(u, 0);
}

static void assert_order(const unsigned *hurried, unsigned n_hurried, const unsigned order[FILES])
{
	struct unwind *u = calloc(1, sizeof(*u));

	u->vdso_fd = -1;
	assert_true(unwind_begin(u) >= 0);
	for (unsigned i = 0; i < FILES; i++)
		unwind_expect(u, &files[i]);
	for (unsigned i = 0; i < n_hurried; i++)
		unwind_hurry(u, &files[hurried[i]]);
	for (unsigned i = 0; i < FILES; i++) {
		assert_ptr_equal(u->reading, unwind_file_get(u, &files[order[i]]));
		read_one(u);
		assert_int_not_equal(unwind_file_get(u, &files[order[i]])->state,
				     UNWIND_TABLE_PENDING);
	}
	assert_null(u->reading);
	assert_null(u->first);
	unwind_free(u);
}

static void reads_first_what_stacks_lack(void **state)
{
	(void)state;
	/* The first is being read when the others come. */
	set_sizes((const uint64_t[]){ 9, 2, 4, 1, 2 });
	assert_order(NULL, 0, (const unsigned[]){ 0, 3, 1, 4, 2 });
	assert_order((const unsigned[]){ 0, 2 }, 2, (const unsigned[]){ 0, 2, 3, 1, 4 });
	assert_order((const unsigned[]){ 4, 4, 1 }, 3, (const unsigned[]){ 0, 1, 4, 3, 2 });
	assert_order((const unsigned[]){ 2, 4, 2 }, 3, (const unsigned[]){ 0, 2, 4, 3, 1 });
	set_sizes((const uint64_t[]){ 0, 0, 0, 0, 0 });
	assert_order(NULL, 0, (const unsigned[]){ 0, 1, 2, 3, 4 });
}

static void knows_when_nothing_is_to_be_read(void **state)
{
	struct unwind *u = calloc(1, sizeof(*u));
	struct elf_segment huge_code = { .flags = PF_X, .filesz = UINT64_MAX };
	struct elf_file huge = { .segments = &huge_code, .n_segments = 1 };
	struct file late = { .fd = files[0].fd, .elf = &huge };

	(void)state;
	u->vdso_fd = -1;
	assert_true(unwind_begin(u) >= 0);
	unwind_hurry(u, &files[0]); /* nobody asked for it */
	assert_null(u->reading);
	/* The last one, after another was moved. */
	for (unsigned i = 0; i < 3; i++)
		unwind_expect(u, &files[i]);
	unwind_hurry(u, &files[2]);
	unwind_expect(u, &late);
	for (unsigned i = 0; i < 3; i++)
		read_one(u);
	unwind_hurry(u, &files[2]); /* has been read */
	assert_ptr_equal(u->reading, unwind_file_get(u, &late));
	read_one(u);
	assert_null(u->reading);
	unwind_free(u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_first_what_stacks_lack),
		cmocka_unit_test(knows_when_nothing_is_to_be_read),
	};

	for (unsigned i = 0; i < FILES; i++) {
		code[i].flags = PF_X;
		elves[i] = (struct elf_file){ .segments = &code[i], .n_segments = 1 };
		files[i] = (struct file){ .fd = memfd_create("nothing", MFD_CLOEXEC),
					  .elf = &elves[i] };
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
