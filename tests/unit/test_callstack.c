/* SPDX-License-Identifier: BSD-2-Clause */
/* Call stacks (timeline/callstack.c): each stack and frame exists once, and the limits hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "timeline/callstack.h"

static const struct code_mapping *mapping_of(struct callstacks *s, struct names *names,
					     const char *path, uint64_t start)
{
	const struct code_mapping like = {
		.path = names_intern_string(names, path),
		.build_id = names_intern_string(names, "0badc0de"),
		.start = start,
		.end = start + 0x1000,
	};

	return callstacks_mapping(s, &like);
}

static void test_once(void **state)
{
	struct names *names = names_new(0);
	struct callstacks *s = callstacks_new(names, 0);
	const struct code_mapping *a = mapping_of(s, names, "/bin/a", 0x1000);
	const struct code_mapping *b = mapping_of(s, names, "/lib/b", 0x1000);
	const struct code_frame *main_ = callstacks_frame(s, a, 0x10, NULL);
	const struct code_frame *f = callstacks_frame(s, b, 0x10, NULL);
	const struct callstack *outer = callstacks_push(s, NULL, main_);
	const struct callstack *inner = callstacks_push(s, outer, f);

	(void)state;
	/* wherever it is mapped */
	assert_ptr_equal(mapping_of(s, names, "/bin/a", 0x1000), a);
	assert_ptr_equal(mapping_of(s, names, "/bin/a", 0x2000), a);
	assert_int_equal(a->start, 0x1000);
	assert_ptr_not_equal(a, b);
	assert_ptr_not_equal(main_, f);
	assert_ptr_equal(callstacks_frame(s, a, 0x10, NULL), main_);
	assert_ptr_equal(callstacks_push(s, outer, f), inner);
	assert_ptr_not_equal(callstacks_push(s, NULL, f), inner);
	assert_ptr_equal(inner->caller, outer);
	assert_int_equal(inner->depth, 2);
	assert_true(inner->id > outer->id);
	assert_int_equal(callstacks_refused(s), 0);
	callstacks_free(s);
	names_free(names);
}

static void test_names(void **state)
{
	struct names *names = names_new(0);
	struct callstacks *s = callstacks_new(names, 0);
	const struct code_mapping *m = mapping_of(s, names, "/bin/a", 0);
	const struct code_frame *f = callstacks_frame(s, m, 1, NULL);
	const struct name *jit = names_intern_string(names, "jit");
	const struct code_frame *j = callstacks_frame(s, m, 1, jit), *k;
	struct code_line lines[CALLSTACKS_MAX_LINES + 1];
	unsigned i;

	(void)state;
	for (i = 0; i <= CALLSTACKS_MAX_LINES; i++)
		lines[i] = (struct code_line){ names_intern_string(names, "f"), NULL, i };
	assert_ptr_not_equal(j, f);
	assert_ptr_equal(code_frame_function(j), jit);
	assert_null(code_frame_function(f));
	callstacks_name(s, f, lines, 0);
	assert_int_equal(f->n_lines, 0);
	callstacks_name(s, f, lines, CALLSTACKS_MAX_LINES + 1);
	assert_int_equal(f->n_lines, CALLSTACKS_MAX_LINES);
	assert_int_equal(f->lines[2].line, 2);
	/* what was said first stands */
	callstacks_name(s, f, lines + 1, 1);
	assert_int_equal(f->lines[0].line, 0);
	callstacks_name(s, j, lines, 1);
	assert_ptr_equal(code_frame_function(j), jit);
	/* The line is part of the frame. */
	k = callstacks_line_frame(s, m, 1, &lines[0]);
	assert_ptr_not_equal(k, f);
	assert_ptr_not_equal(callstacks_line_frame(s, m, 1, &lines[1]), k);
	assert_ptr_equal(callstacks_line_frame(s, m, 1, &lines[0]), k);
	assert_ptr_equal(code_frame_function(k), lines[0].function);
	assert_true(k->looked_up);
	callstacks_free(s);
	names_free(names);
}

static void test_limits(void **state)
{
	struct names *names = names_new(0);
	struct callstacks *s = callstacks_new(names, 3);
	const struct code_frame *f[4];
	const struct callstack *c[4] = { NULL };
	unsigned i;

	(void)state;
	for (i = 0; i < 4; i++)
		f[i] = callstacks_frame(s, NULL, i, NULL);
	c[0] = callstacks_push(s, NULL, f[0]);
	c[1] = callstacks_push(s, c[0], f[1]);
	c[2] = callstacks_push(s, c[1], f[2]);
	c[3] = callstacks_push(s, c[2], f[3]);
	assert_int_equal(c[1]->depth, 2);
	assert_string_equal(code_frame_function(c[2]->frame)->text, "(too many stacks)");
	assert_ptr_equal(c[3], c[2]);
	assert_int_equal(c[3]->depth, 1);
	assert_int_equal(callstacks_refused(s), 1);
	/* what is known goes on being found */
	assert_ptr_equal(callstacks_push(s, c[0], f[1]), c[1]);
	callstacks_free(s);
	names_free(names);
}

static void test_depth(void **state)
{
	struct names *names = names_new(0);
	struct callstacks *s = callstacks_new(names, 0);
	const struct code_frame *f = callstacks_frame(s, NULL, 1, NULL);
	const struct callstack *c = NULL;
	unsigned i;

	(void)state;
	for (i = 0; i < CALLSTACKS_MAX_DEPTH; i++)
		c = callstacks_push(s, c, f);
	assert_int_equal(c->depth, CALLSTACKS_MAX_DEPTH);
	c = callstacks_push(s, c, f);
	assert_int_equal(c->depth, 1);
	assert_int_equal(callstacks_refused(s), 1);
	callstacks_free(s);
	names_free(names);
}

struct seen {
	uint32_t last, n;
};

static void see(void *context, const struct code_frame *frame)
{
	struct seen *seen = context;

	assert_true(frame->id > seen->last);
	seen->last = frame->id;
	seen->n++;
}

static void test_each(void **state)
{
	struct names *names = names_new(0);
	struct callstacks *s = callstacks_new(names, 0);
	struct seen seen = { 0 };
	unsigned i;

	(void)state;
	for (i = 0; i < 100; i++)
		callstacks_frame(s, NULL, i, NULL);
	callstacks_each_frame(s, see, &seen);
	assert_int_equal(seen.n, callstacks_frames(s));
	assert_int_equal(seen.n, 101);
	callstacks_free(s);
	names_free(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_once),   cmocka_unit_test(test_names),
		cmocka_unit_test(test_limits), cmocka_unit_test(test_depth),
		cmocka_unit_test(test_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
