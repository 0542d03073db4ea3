/* SPDX-License-Identifier: BSD-2-Clause */
/* What all processes of a recording share for their call stacks: who gets it when it is used up, and that the others are counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/stacks/internal.h"
#include "capture/stacks/mapped_files.h"

#define broker_open no_broker_open

static int no_broker_open(struct broker *b, enum broker_file what,
			  const struct broker_target *target, uint64_t start, uint64_t end,
			  struct failure *f)
{
	(void)b, (void)what, (void)target, (void)start, (void)end, (void)f;
	return -EPERM;
}

#include "capture/stacks/jit_processes.c"
#include "capture/stacks/python.c"

/* --- generated code ------------------------------------------------------------------------------ */

#define ONE 1001 /* users */
#define TWO 1002

static struct code_mapping mappings[4 * MAX_JITS];
static unsigned n_mappings;

/* A process of the user, whose mapping is returned. */
static const struct code_mapping *add_jit(struct stacks *s, uid_t owner, bool has_frames,
					  bool has_ended)
{
	const struct code_mapping *mapping = &mappings[n_mappings++];
	struct jit_process *j;

	/* No process has this number, so its owner is not known. */
	stacks_add_jit(s, mapping, 1u << 30);
	j = jit_process_find(s, mapping);
	if (!j)
		return mapping;
	j->owner = owner;
	j->has_ended = has_ended;
	if (has_frames)
		jit_set_frames(s, mapping);
	return mapping;
}

static void fill_jits(struct stacks *s, uid_t owner, bool has_frames, bool has_ended)
{
	n_mappings = 0;
	while (HASH_COUNT(s->jits) < MAX_JITS)
		add_jit(s, owner, has_frames, has_ended);
}

static void replaces_what_nobody_misses(void **state)
{
	struct stacks s = { 0 };
	const struct code_mapping *ended, *running;

	(void)state;
	fill_jits(&s, ONE, true, true);
	jit_process_find(&s, &mappings[7])->has_frames = false;
	ended = add_jit(&s, TWO, true, true);
	assert_non_null(jit_process_find(&s, ended));
	assert_null(jit_process_find(&s, &mappings[7]));
	/* Now the oldest of the user with the most. */
	running = add_jit(&s, TWO, true, false);
	assert_non_null(jit_process_find(&s, running));
	assert_null(jit_process_find(&s, &mappings[0]));
	assert_non_null(jit_process_find(&s, &mappings[1]));
	/* However many come of that user, those of the other stay. */
	for (unsigned i = 0; i < 2 * MAX_JITS; i++)
		add_jit(&s, ONE, true, true);
	assert_non_null(jit_process_find(&s, ended));
	assert_non_null(jit_process_find(&s, running));
	assert_int_equal(HASH_COUNT(s.jits), MAX_JITS);
	jit_processes_free(&s);
}

static void shares_among_running(void **state)
{
	struct stacks s = { 0 };
	unsigned n = 0;

	(void)state;
	fill_jits(&s, (uid_t)-1, true, false);
	/* One of the same user has to wait. */
	assert_null(jit_process_find(&s, add_jit(&s, (uid_t)-1, true, false)));
	/* Users who have less get up to as much. */
	for (unsigned i = 0; i < MAX_JITS / 2; i++)
		jit_process_find(&s, &mappings[i])->owner = TWO;
	assert_null(jit_process_find(&s, add_jit(&s, ONE, true, false)));
	hash_each (s.jits, j)
		n += j->owner == TWO;
	assert_int_equal(n, MAX_JITS / 2);
	jit_processes_free(&s);
}

/* The later code of a number is another mapping, although the earlier one is not remembered. */
static void numbers_outlive_the_limit(void **state)
{
	struct stacks s = { 0 };

	(void)state;
	fill_jits(&s, ONE, false, true);
	stacks_end_jit(&s, 1u << 30);
	assert_int_equal(stacks_jits_before(&s, 1u << 30), 1);
	stacks_end_jit(&s, 1u << 30);
	assert_int_equal(stacks_jits_before(&s, 1u << 30), 1);
	for (unsigned i = 0; i < MAX_JITS; i++)
		stacks_add_jit(&s, &mappings[MAX_JITS + i], 5);
	assert_int_equal(stacks_jits_before(&s, 1u << 30), 1);
	assert_int_equal(stacks_jits_before(&s, 5), 0);
	jit_processes_free(&s);
}

/* --- mapped files ------------------------------------------------------------------------------- */

static struct elf_file some_elf;

static struct file file_of(const char *bytes, size_t size)
{
	struct file file = { .fd = memfd_create("mapped", MFD_CLOEXEC), .elf = &some_elf };

	assert_true(file.fd >= 0);
	assert_int_equal(write(file.fd, bytes, strlen(bytes)), strlen(bytes));
	assert_int_equal(ftruncate(file.fd, (off_t)size), 0);
	return file;
}

static void tells_files_apart(void **state)
{
	struct names *names = names_new(0);
	struct callstacks *store = callstacks_new(names, 0);
	struct mapped_files *m = mapped_files_new(store, names);
	const struct code_mapping like = { .path = names_intern_string(names, "/lib/x.so") };
	const struct code_mapping *first;
	const struct name *path = NULL;
	struct file files[] = {
		file_of("one", 300000),	  file_of("one", 300000), file_of("two", 300000),
		file_of("one", 300001),	  file_of("one", 300000), file_of("big", 65 << 20),
		file_of("big", 65 << 20),
	};
	int original = -2;

	(void)state;
	files[4].is_served = true;
	first = mapped_files_mapping(m, &like, &files[0]);
	assert_string_equal(first->path->text, "/lib/x.so");
	assert_int_equal(mapped_files_fd(m, first, &original, &path), files[0].fd);
	assert_ptr_equal(mapped_files_mapping(m, &like, &files[1]), first);
	assert_string_equal(mapped_files_mapping(m, &like, &files[2])->path->text, "/lib/x.so (2)");
	assert_string_equal(mapped_files_mapping(m, &like, &files[3])->path->text, "/lib/x.so (3)");
	assert_int_equal(mapped_files_uncompared(m), 0);
	/* What a process serves is not read; there is no space for a copy of the last. */
	assert_string_equal(mapped_files_mapping(m, &like, &files[4])->path->text, "/lib/x.so (4)");
	assert_int_equal(mapped_files_uncompared(m), 1);
	mapped_files_mapping(m, &like, &files[5]);
	assert_string_equal(mapped_files_mapping(m, &like, &files[6])->path->text, "/lib/x.so (6)");
	assert_int_equal(mapped_files_uncompared(m), 2);
	/* Names come from the copy, and other files with names are beside the original. */
	assert_int_not_equal(mapped_files_fd(m, first, &original, &path), files[0].fd);
	assert_int_equal(original, files[0].fd);
	first = mapped_files_mapping(m, &like, &files[2]);
	assert_int_equal(mapped_files_fd(m, first, &original, &path), files[2].fd);
	assert_string_equal(path->text, "/lib/x.so");
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		close(files[i].fd);
	mapped_files_free(m);
	callstacks_free(store);
	names_free(names);
}

/* No file of one user speaks for an equal one of another. */
static void equal_files_of_several_users(void **state)
{
	struct names *names = names_new(0);
	struct callstacks *store = callstacks_new(names, 0);
	struct mapped_files *m = mapped_files_new(store, names);
	const struct code_mapping like = { .path = names_intern_string(names, "/lib/x.so") };
	struct file one = file_of("one", 5000), two = file_of("one", 5000);
	const struct code_mapping *mapping;
	const struct name *path;
	int original = -2;

	(void)state;
	if (fchown(two.fd, 5001, (gid_t)-1))
		skip();
	mapping = mapped_files_mapping(m, &like, &one);
	assert_ptr_equal(mapped_files_mapping(m, &like, &two), mapping);
	assert_true(mapped_files_fd(m, mapping, &original, &path) >= 0);
	assert_int_equal(original, -1);
	close(one.fd);
	close(two.fd);
	mapped_files_free(m);
	callstacks_free(store);
	names_free(names);
}

/* Without names there are two mappings for all files of a path, and each further file is compared with these alone. */
static void ends_without_names(void **state)
{
	struct names *names = names_new(3);
	struct callstacks *store = callstacks_new(names, 0);
	struct mapped_files *m = mapped_files_new(store, names);
	const struct code_mapping like = { .path = names_intern_string(names, "/lib/x.so") };
	struct file files[40];
	unsigned n = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		files[i] = file_of(i % 2 ? "a" : "b", 5000 + i);
		n += !mapped_files_mapping(m, &like, &files[i]);
	}
	assert_in_range(n, 36, 39);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		close(files[i].fd);
	mapped_files_free(m);
	callstacks_free(store);
	names_free(names);
}

/* --- Python -------------------------------------------------------------------------------------- */

static void counts_interpreters_without_place(void **state)
{
	static struct python_setup setups[PYTHON_SETUPS];
	struct elf_segment segment = { .type = PT_LOAD, .flags = PF_X, .filesz = 4096 };
	struct elf_file elf = { .segments = &segment, .n_segments = 1 };
	struct file file = { .elf = &elf };
	struct names *names = names_new(0);
	struct callstacks *store = callstacks_new(names, 0);
	struct python *py = python_new(setups, store, names);
	struct python_file *known = calloc(1, sizeof(*known));
	const struct file *key = &file;
	struct python_process *processes[PYTHON_SETUPS] = { 0 };
	struct python_counts counts;
	bool is_refused = false;

	(void)state;
	known->file = key;
	known->is_python = true;
	known->layout.setup.runtime = 1;
	HASH_ADD_PTR(py->files, file, known);
	for (unsigned i = 1; i < PYTHON_SETUPS; i++) {
		processes[i] = python_process_new(py, NULL, i, &file, 4096ull * i, 0, &is_refused);
		assert_non_null(processes[i]);
	}
	python_count(py, &counts);
	assert_int_equal(counts.refused, 0);
	/* Once, however often it is scanned. */
	for (unsigned i = 0; i < 3; i++)
		assert_null(python_process_new(py, NULL, 5000, &file, 4096ull * PYTHON_SETUPS, 0,
					       &is_refused));
	assert_true(is_refused);
	python_count(py, &counts);
	assert_int_equal(counts.refused, 1);
	python_process_free(processes[9]);
	processes[9] =
		python_process_new(py, NULL, 5000, &file, 4096ull * PYTHON_SETUPS, 0, &is_refused);
	assert_non_null(processes[9]);
	for (unsigned i = 1; i < PYTHON_SETUPS; i++)
		python_process_free(processes[i]);
	python_free(py);
	callstacks_free(store);
	names_free(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(replaces_what_nobody_misses),
		cmocka_unit_test(shares_among_running),
		cmocka_unit_test(numbers_outlive_the_limit),
		cmocka_unit_test(tells_files_apart),
		cmocka_unit_test(equal_files_of_several_users),
		cmocka_unit_test(ends_without_names),
		cmocka_unit_test(counts_interpreters_without_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
