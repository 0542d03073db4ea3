/* SPDX-License-Identifier: BSD-2-Clause */
/* Flame graphs (reports/flame/): the tree, the text and the SVG. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/flame/flame.h"
#include "timeline/callstack.h"

struct fixture {
	struct names *names;
	struct flame *flame;
	char *text;
	size_t size;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->names = names_new(0);
	f->flame = flame_new();
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	flame_free(f->flame);
	names_free(f->names);
	free(f->text);
	free(f);
	return 0;
}

/* "a;b;c", outermost first. */
static void add(struct fixture *f, const char *stack, uint64_t weight)
{
	struct flame_frame frames[16];
	char text[256], *at = text, *one;
	unsigned n = 0;

	snprintf(text, sizeof(text), "%s", stack);
	while ((one = strsep(&at, ";")))
		frames[n++] =
			(struct flame_frame){ names_intern_string(f->names, one), FLAME_NATIVE };
	flame_add(f->flame, frames, n, weight);
}

static const char *folded(struct fixture *f)
{
	FILE *out = open_memstream(&f->text, &f->size);

	assert_int_equal(flame_write_folded(f->flame, out), 0);
	fclose(out);
	return f->text;
}

static const char *svg(struct fixture *f, const char *title)
{
	const struct flame_text text = { .title = title, .unit = "samples" };
	FILE *out = open_memstream(&f->text, &f->size);

	flame_write_svg(f->flame, &text, out);
	fclose(out);
	return f->text;
}

static void folds(void **state)
{
	struct fixture *f = *state;

	add(f, "main;run;work", 3);
	add(f, "main;run", 2);
	add(f, "main;idle", 1);
	add(f, "main;run;work", 4);
	add(f, "main;a b", 5);
	assert_string_equal(folded(f), "main;a b 5\nmain;idle 1\nmain;run 2\nmain;run;work 7\n");
	assert_int_equal(flame_cut(f->flame), 0);
}

/* What separates frames stands in no name. */
static void folds_semicolons(void **state)
{
	struct fixture *f = *state;
	struct flame_frame frame = { names_intern_string(f->names, "a;b"), FLAME_NATIVE };

	flame_add(f->flame, &frame, 1, 1);
	assert_string_equal(folded(f), "a:b 1\n");
}

static void empty_graphs(void **state)
{
	struct fixture *f = *state;

	assert_non_null(strstr(svg(f, "nothing"), "no samples"));
	free(f->text);
	assert_string_equal(folded(f), "");
}

static unsigned count(const char *text, const char *what)
{
	unsigned n = 0;

	for (text = strstr(text, what); text; text = strstr(text + 1, what))
		n++;
	return n;
}

static void draws(void **state)
{
	struct fixture *f = *state;
	const char *text;

	add(f, "main;run", 1500);
	add(f, "main;idle", 500);
	text = svg(f, "title");
	assert_non_null(strstr(text, "<title>all (2,000 samples, 100.00%)</title>"));
	assert_non_null(strstr(text, "<title>main (2,000 samples, 100.00%)</title>"));
	assert_non_null(strstr(text, "<title>run (1,500 samples, 75.00%)</title>"
				     "<rect x=\"25.0000%\""));
	assert_non_null(strstr(text, ">idle</text>"));
	assert_int_equal(count(text, "<g><title>"), 4);
}

/* Names that would be markup, end the script's text, or be no XML. */
static void escapes(void **state)
{
	static const char name[] = "</title><script>alert('&\"]]>\xef\xbf\xbf";
	struct fixture *f = *state;
	const char *text;

	add(f, name, 1);
	text = svg(f, "a<b & \"c\"");
	assert_int_equal(count(text, "<script>"), 1);
	assert_null(strstr(text, "\xef\xbf\xbf"));
	assert_non_null(strstr(text, "&lt;/title&gt;&lt;script&gt;alert('&amp;&quot;]]&gt;"
				     "\xef\xbf\xbd (1 samples"));
	assert_int_equal(count(text, "a&lt;b &amp; &quot;c&quot;"), 2);
	assert_int_equal(count(text, "]]>"), 1);
}

static void cuts_labels(void **state)
{
	struct fixture *f = *state;
	char name[128] = "", cut[64] = "";
	const char *text;
	unsigned i;

	for (i = 0; i < 40; i++)
		strcat(name, "\xc3\xa4x");
	add(f, name, 1);
	add(f, "other", 3);
	text = svg(f, "labels");
	assert_non_null(strstr(text, name));
	assert_int_equal(count(text, name), 1);
	snprintf(cut, sizeof(cut), "%.30s", name);
	assert_int_equal(count(text, "\xe2\x80\xa6</text>"), 1);
	assert_non_null(strstr(text, cut));
}

/* Those that nobody could see are one, and counted. */
static void merges_what_is_narrow(void **state)
{
	struct fixture *f = *state;
	const char *text;
	char stack[64];
	unsigned i;

	add(f, "main;wide", 1000000);
	for (i = 0; i < 2000; i++) {
		snprintf(stack, sizeof(stack), "main;narrow_%u;inner", i);
		add(f, stack, 1);
	}
	text = svg(f, "narrow");
	assert_int_equal(count(text, "<g><title>"), 4);
	assert_non_null(strstr(text, "(4000 frames too narrow) (2,000 samples, 0.20%)"));
	assert_non_null(strstr(text, "4,000 frames too narrow to be drawn"));
}

static void deep_stacks_end_sooner(void **state)
{
	struct fixture *f = *state;
	static struct flame_frame frames[FLAME_MAX_DEPTH + 100];
	const struct name *name = names_intern_string(f->names, "f");
	unsigned i;

	for (i = 0; i < FLAME_MAX_DEPTH + 100; i++)
		frames[i] = (struct flame_frame){ name, FLAME_JIT };
	flame_add(f->flame, frames, FLAME_MAX_DEPTH, 2);
	assert_int_equal(flame_cut(f->flame), 0);
	flame_add(f->flame, frames, FLAME_MAX_DEPTH + 100, 3);
	assert_int_equal(flame_cut(f->flame), 3);
	assert_int_equal(count(folded(f), ";"), FLAME_MAX_DEPTH - 1);
	assert_non_null(strstr(f->text, "f 5\n"));
}

static void sorts(void **state)
{
	struct fixture *f = *state;
	char before[16] = "", stack[32], *at, *line;
	unsigned i, n = 0;

	for (i = 0; i < 1000; i++) {
		snprintf(stack, sizeof(stack), "main;f%04u", i * 7919 % 1000);
		add(f, stack, 1);
	}
	at = (char *)folded(f);
	while ((line = strsep(&at, "\n")) && line[0]) {
		assert_true(strcmp(before, line) < 0);
		snprintf(before, sizeof(before), "%s", line);
		n++;
	}
	assert_int_equal(n, 1000);
}

/* --- samples ------------------------------------------------------------------------------------ */

static void sample(struct consumer *consumer, const struct callstack *stack,
		   const struct process *process, const struct name *const *slices, unsigned n)
{
	const struct sample s = { .slices = slices, .n_slices = n };
	const struct fact fact = {
		.kind = FACT_SAMPLE, .sample = &s, .callstack = stack, .process = process
	};

	assert_int_equal(consumer->ops->fact(consumer, &fact), 0);
}

/* Frames get their names after the samples; one of them never does. */
static void from_samples(void **state)
{
	struct fixture *f = *state;
	struct callstacks *stacks = callstacks_new(f->names, 0);
	const struct code_mapping file = { .path = names_intern_string(f->names, "/opt/lib.so") };
	const struct code_mapping kernel = { .path = names_intern_string(f->names, "[kernel]"),
					     .kind = CODE_KERNEL };
	const struct code_mapping *in_file = callstacks_mapping(stacks, &file);
	const struct code_mapping *in_kernel = callstacks_mapping(stacks, &kernel);
	const struct code_frame *main_frame = callstacks_frame(stacks, in_file, 1, NULL);
	const struct code_frame *lost = callstacks_frame(stacks, in_file, 2, NULL);
	const struct code_frame *call =
		callstacks_frame(stacks, in_kernel, 3, names_intern_string(f->names, "sys_read"));
	const struct callstack *outer = callstacks_push(stacks, NULL, main_frame);
	const struct callstack *inner =
		callstacks_push(stacks, callstacks_push(stacks, outer, lost), call);
	const struct process process = { .name = names_intern_string(f->names, "app") };
	const struct name *slices[] = { names_intern_string(f->names, "request"),
					names_intern_string(f->names, "parse") };
	const struct code_line lines[] = {
		{ .function = names_intern_string(f->names, "inlined") },
		{ .function = names_intern_string(f->names, "main") },
	};
	struct consumer *all = flame_samples_new(NULL), *some = flame_samples_new("req*");
	struct flame *other = flame_new();
	struct flame_samples_count n;
	unsigned i;

	for (i = 0; i < 2; i++) {
		struct consumer *consumer = i ? some : all;

		sample(consumer, outer, &process, slices, 0);
		sample(consumer, outer, &process, slices, 2);
		sample(consumer, inner, &process, slices, 1);
		sample(consumer, inner, NULL, slices + 1, 1);
		sample(consumer, NULL, &process, slices, 1);
	}
	callstacks_name(stacks, main_frame, lines, 2);

	assert_int_equal(flame_samples_fill(all, f->names, f->flame), 0);
	assert_string_equal(folded(f), "[unknown process];main;inlined;[lib.so];sys_read 1\n"
				       "app 1\n"
				       "app;main;inlined 2\n"
				       "app;main;inlined;[lib.so];sys_read 1\n");
	flame_samples_counts(all, &n);
	assert_int_equal(n.samples, 5);
	assert_int_equal(n.within, 5);
	assert_int_equal(n.unnamed, 2);
	free(f->text);

	assert_int_equal(flame_samples_fill(some, f->names, other), 0);
	flame_free(f->flame);
	f->flame = other;
	assert_string_equal(folded(f), "app 1\n"
				       "app;main;inlined 1\n"
				       "app;main;inlined;[lib.so];sys_read 1\n");
	flame_samples_counts(some, &n);
	assert_int_equal(n.samples, 5);
	assert_int_equal(n.within, 3);
	all->ops->free(all);
	some->ops->free(some);
	callstacks_free(stacks);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(folds),
		TEST(folds_semicolons),
		TEST(empty_graphs),
		TEST(draws),
		TEST(escapes),
		TEST(cuts_labels),
		TEST(merges_what_is_narrow),
		TEST(deep_stacks_end_sooner),
		TEST(sorts),
		TEST(from_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
