/* SPDX-License-Identifier: BSD-2-Clause */
/* The types of the kernel that libbpf gets to read are those that it would find itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "privilege/loader/kernel_types.h"

/* Of made-up types: what `programs` names, and what the kernel has. */
static struct btf *made_up_kernel(void)
{
	struct btf *b = btf__new_empty();
	int number, pointer, inner, list, outer, arguments;

	number = btf__add_int(b, "int", 4, BTF_INT_SIGNED);
	btf__add_struct(b, "unrelated", 4);
	btf__add_field(b, "far", number, 0, 0);
	inner = btf__add_struct(b, "inner", 8);
	btf__add_field(b, "a", number, 0, 0);
	btf__add_field(b, "b", number, 32, 0);
	pointer = btf__add_ptr(b, btf__type_cnt(b) - 2); /* to `unrelated` */
	list = btf__add_array(b, number, btf__add_const(b, inner), 3);
	outer = btf__add_struct(b, "task", 40);
	btf__add_field(b, "next", pointer, 0, 0);
	btf__add_field(b, "list", list, 64, 0);
	btf__add_typedef(b, "btf_trace_begun", btf__add_ptr(b, outer));
	arguments = btf__add_func_proto(b, 0);
	btf__add_func_param(b, "context", pointer);
	btf__add_func_param(b, "task", pointer);
	btf__add_func_param(b, "last", number);
	btf__add_typedef(b, "btf_trace_ended", btf__add_ptr(b, arguments));
	btf__add_enum(b, "colour", 4);
	btf__add_enum_value(b, "RED", 7);
	return b;
}

static struct btf *made_up_programs(void)
{
	struct btf *b = btf__new_empty();

	btf__add_struct(b, "task___old", 0);
	btf__add_enum(b, "colour", 4);
	btf__add_struct(b, "only_ours", 0);
	return b;
}

static struct kernel_types *of_btf(const struct btf *b)
{
	struct kernel_types *types = NULL;
	uint32_t size;
	const void *data = btf__raw_data(b, &size);

	assert_int_equal(kernel_types_of(data, size, &types), 0);
	return types;
}

static void takes_what_is_named_and_what_is_in_it(void **state)
{
	struct btf *kernel = made_up_kernel(), *programs = made_up_programs(), *subset;
	struct kernel_types *types = of_btf(kernel);
	const struct btf_type *task, *t;
	size_t size;
	void *data;
	int id;

	(void)state;
	assert_int_equal(kernel_types_subset(types, programs, &data, &size), 0);
	subset = btf__new(data, size);
	assert_int_equal(libbpf_get_error(subset), 0);
	assert_int_equal(btf__find_by_name(subset, "unrelated"), -ENOENT);
	assert_int_equal(btf__find_by_name(subset, "only_ours"), -ENOENT);
	assert_true(btf__find_by_name_kind(subset, "colour", BTF_KIND_ENUM) > 0);
	id = btf__find_by_name_kind(subset, "task", BTF_KIND_STRUCT);
	assert_true(id > 0);
	task = btf__type_by_id(subset, id);
	assert_int_equal(task->size, 40);
	assert_int_equal(btf_vlen(task), 2);
	t = btf__type_by_id(subset, btf_members(task)[0].type);
	assert_true(btf_is_ptr(t));
	assert_int_equal(t->type, 0);
	assert_int_equal(btf_member_bit_offset(task, 1), 64);
	assert_int_equal(btf__resolve_size(subset, btf_members(task)[1].type), 24);
	assert_true(btf__find_by_name_kind(subset, "inner", BTF_KIND_STRUCT) > 0);
	free(data);
	btf__free(subset);
	kernel_types_free(types);
	btf__free(programs);
	btf__free(kernel);
}

static void finds_tracepoints(void **state)
{
	struct btf *kernel = made_up_kernel();
	struct kernel_types *types = of_btf(kernel);

	(void)state;
	assert_int_equal(kernel_types_tracepoint(types, "begun"),
			 btf__find_by_name(kernel, "btf_trace_begun"));
	assert_int_equal(kernel_types_tracepoint(types, "begu"), -ENOENT);
	assert_int_equal(kernel_types_arguments(types, "ended"), 3);
	assert_int_equal(kernel_types_arguments(types, "begun"), -EINVAL);
	assert_int_equal(kernel_types_arguments(types, "begu"), -ENOENT);
	kernel_types_free(types);
	btf__free(kernel);
}

/* Whether a structure and a function of the kernel are found by the names that programs have for them. */
static void check_names(const char *function, const char *name, const char *name_of_programs)
{
	struct btf *kernel = btf__new_empty(), *programs = btf__new_empty(), *subset;
	struct kernel_types *types;
	char longer[64];
	size_t size;
	void *data;

	snprintf(longer, sizeof(longer), "%sz", function);
	btf__add_func(kernel, function, BTF_FUNC_STATIC, 0);
	btf__add_struct(kernel, name, 8);
	btf__add_func(kernel, longer, BTF_FUNC_STATIC, 0);
	btf__add_struct(programs, name_of_programs, 0);
	types = of_btf(kernel);
	assert_int_equal(kernel_types_function(types, function), 1);
	assert_int_equal(kernel_types_function(types, longer), 3);
	assert_int_equal(kernel_types_subset(types, programs, &data, &size), 0);
	subset = btf__new(data, size);
	assert_int_equal(libbpf_get_error(subset), 0);
	assert_int_equal(btf__type_cnt(subset), 2);
	free(data);
	btf__free(subset);
	kernel_types_free(types);
	btf__free(programs);
	btf__free(kernel);
}

/* Many have the beginning of others, or an underscore where it counts. */
static void finds_names_of_any_length_and_flavour(void **state)
{
	static const char *const names[] = { "r",	  "rq",	       "r_",	   "r__q",
					     "__r",	  "___r",      "ab_cd",	   "abcdef",
					     "abcdefg",	  "abcdef_h",  "abcdefgh", "a__bcde",
					     "abcdefghi", "abcdefgh_", "_" };
	static const char *const flavours[] = { "", "___x", "___of_kernel", "___x_1" };
	const unsigned n = sizeof(flavours) / sizeof(flavours[0]);
	char name[64], name_of_programs[64];

	(void)state;
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		/* A flavour is not one after an underscore. */
		bool can_have = names[i][strlen(names[i]) - 1] != '_';

		for (unsigned j = 0; j < (can_have ? n * n : 1); j++) {
			snprintf(name, sizeof(name), "%s%s", names[i], flavours[j / n]);
			snprintf(name_of_programs, sizeof(name_of_programs), "%s%s", names[i],
				 flavours[j % n]);
			check_names(names[i], name, name_of_programs);
		}
	}
}

/* More than there are places to search from, or keys that are compared at once; and functions with the names of structures. */
static void finds_each_of_many(void **state)
{
	enum {
		MANY = 300
	};
	struct btf *kernel = btf__new_empty(), *programs = btf__new_empty(), *subset;
	struct kernel_types *types;
	char name[32];
	size_t size;
	void *data;

	(void)state;
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "name_%d", i);
		assert_int_equal(btf__add_func(kernel, name, BTF_FUNC_STATIC, 0), 2 * i + 1);
		assert_int_equal(btf__add_struct(kernel, name, i), 2 * i + 2);
		for (int j = 0; j < i % 3; j++)
			btf__add_field(kernel, "field", 2 * i, 0, 0);
		btf__add_struct(programs, name, 0);
	}
	types = of_btf(kernel);
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "name_%d", i);
		assert_int_equal(kernel_types_function(types, name), 2 * i + 1);
	}
	assert_int_equal(kernel_types_function(types, "name"), -ENOENT);
	assert_int_equal(kernel_types_subset(types, programs, &data, &size), 0);
	subset = btf__new(data, size);
	assert_int_equal(libbpf_get_error(subset), 0);
	assert_int_equal(btf__type_cnt(subset), MANY + 1);
	for (int i = 0; i < MANY; i++) {
		const struct btf_type *t;
		int id;

		snprintf(name, sizeof(name), "name_%d", i);
		id = btf__find_by_name_kind(subset, name, BTF_KIND_STRUCT);
		assert_true(id > 0);
		t = btf__type_by_id(subset, id);
		assert_int_equal(t->size, i);
		assert_int_equal(btf_vlen(t), i % 3);
	}
	free(data);
	btf__free(subset);
	kernel_types_free(types);
	btf__free(programs);
	btf__free(kernel);
}

/* The copy has 16-bit numbers. libbpf then reads all types. */
static void refuses_too_many(void **state)
{
	struct btf *kernel = btf__new_empty(), *programs = btf__new_empty();
	struct kernel_types *types;
	void *data = NULL;
	size_t size;

	(void)state;
	btf__add_int(kernel, "int", 4, BTF_INT_SIGNED);
	for (int i = 1; i < 65535; i++)
		btf__add_const(kernel, i);
	btf__add_typedef(kernel, "wanted", 65535);
	btf__add_typedef(programs, "wanted", 0);
	types = of_btf(kernel);
	assert_int_equal(kernel_types_subset(types, programs, &data, &size), -E2BIG);
	assert_null(data);
	kernel_types_free(types);
	btf__free(programs);
	btf__free(kernel);
}

/* Cut anywhere, or with a byte changed, it is refused or read, and what is read stays inside. */
static void bears_what_makes_no_sense(void **state)
{
	struct btf *kernel = made_up_kernel(), *programs = made_up_programs();
	uint32_t size, i;
	const void *data = btf__raw_data(kernel, &size);
	unsigned pass;

	(void)state;
	for (pass = 0; pass < 2; pass++) {
		for (i = 0; i < size; i++) {
			char *bytes = malloc(size);
			struct kernel_types *types;
			size_t n = pass ? size : i;
			void *subset;

			memcpy(bytes, data, size);
			if (pass)
				bytes[i] ^= 0xff;
			bytes = realloc(bytes, n ? n : 1);
			if (!kernel_types_of(bytes, n, &types)) {
				kernel_types_arguments(types, "begun");
				kernel_types_arguments(types, "ended");
				if (!kernel_types_subset(types, programs, &subset, &n))
					free(subset);
				kernel_types_free(types);
			}
			free(bytes);
		}
	}
	btf__free(programs);
	btf__free(kernel);
}

static bool same_members(const struct btf *a, const struct btf_type *s, const struct btf *b,
			 const struct btf_type *t)
{
	unsigned i;

	if (s->size != t->size || btf_vlen(s) != btf_vlen(t))
		return false;
	for (i = 0; i < btf_vlen(s); i++) {
		const struct btf_member *m = &btf_members(s)[i], *n = &btf_members(t)[i];

		if (m->offset != n->offset ||
		    strcmp(btf__name_by_offset(a, m->name_off),
			   btf__name_by_offset(b, n->name_off)) != 0 ||
		    btf__resolve_size(a, m->type) != btf__resolve_size(b, n->type))
			return false;
	}
	return true;
}

/* Of the kernel that runs, with names that our programs refer to. */
static void agrees_with_libbpf(void **state)
{
	static const char *const names[] = { "task_struct", "signal_struct", "rq",   "cfs_rq",
					     "mm_struct",   "linux_binprm",  "cred", "pt_regs" };
	struct btf *kernel, *programs, *subset;
	struct kernel_types *types;
	unsigned i;
	size_t size;
	void *data;

	(void)state;
	if (access(KERNEL_TYPES_PATH, R_OK)) {
		print_message("no " KERNEL_TYPES_PATH "\n");
		skip();
	}
	kernel = btf__load_vmlinux_btf();
	assert_int_equal(libbpf_get_error(kernel), 0);
	assert_int_equal(kernel_types_open(&types), 0);
	assert_int_equal(kernel_types_tracepoint(types, "sched_switch"),
			 libbpf_find_vmlinux_btf_id("sched_switch", BPF_TRACE_RAW_TP));
	assert_int_equal(kernel_types_arguments(types, "sched_process_fork"), 3);
	programs = btf__new_empty();
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		btf__add_struct(programs, names[i], 0);
	assert_int_equal(kernel_types_subset(types, programs, &data, &size), 0);
	subset = btf__new(data, size);
	assert_int_equal(libbpf_get_error(subset), 0);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		int a = btf__find_by_name_kind(kernel, names[i], BTF_KIND_STRUCT);
		int b = btf__find_by_name_kind(subset, names[i], BTF_KIND_STRUCT);

		assert_true(a > 0 && b > 0);
		assert_true(same_members(kernel, btf__type_by_id(kernel, a), subset,
					 btf__type_by_id(subset, b)));
	}
	free(data);
	btf__free(subset);
	btf__free(programs);
	kernel_types_free(types);
	btf__free(kernel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_what_is_named_and_what_is_in_it),
		cmocka_unit_test(finds_tracepoints),
		cmocka_unit_test(finds_names_of_any_length_and_flavour),
		cmocka_unit_test(finds_each_of_many),
		cmocka_unit_test(refuses_too_many),
		cmocka_unit_test(bears_what_makes_no_sense),
		cmocka_unit_test(agrees_with_libbpf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
