/* SPDX-License-Identifier: BSD-2-Clause */
/* What all processes of a recording share for their call stacks: who gets it when it is used up, and that the others are counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "capture/stacks/internal.h"

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
		cmocka_unit_test(counts_interpreters_without_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
