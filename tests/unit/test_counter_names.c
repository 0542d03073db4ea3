/* SPDX-License-Identifier: BSD-2-Clause */
/* What `-e` takes and what it refuses. Nothing here depends on what this machine counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "counters/counters.h"

static struct counters c;
static struct failure f;

static void takes(const char *list, unsigned n)
{
	memset(&f, 0, sizeof(f));
	if (counters_parse(list, &c, &f))
		fail_msg("%s: %s '%s' %s", list, f.what, f.object, f.reason);
	assert_int_equal(c.n, n);
}

static void refuses(const char *list, int error, const char *object, const char *hint)
{
	memset(&f, 0, sizeof(f));
	assert_int_equal(counters_parse(list, &c, &f), error);
	assert_string_equal(f.object, object);
	if (hint && !strstr(f.hint, hint))
		fail_msg("%s: '%s' is not in '%s'", list, hint, f.hint);
}

static void is_perf(unsigned i, const char *name, uint32_t type, uint64_t config)
{
	assert_string_equal(c.list[i].name, name);
	assert_int_equal(c.list[i].source, COUNTER_PERF);
	assert_int_equal(c.list[i].attr.type, type);
	assert_int_equal(c.list[i].attr.config, config);
}

static void names_of_perf(void **state)
{
	(void)state;
	takes("none", 0);
	takes("task-clock", 1);
	assert_string_equal(c.list[0].name, "task_clock");
	assert_int_equal(c.list[0].source, COUNTER_TASK_CLOCK);
	takes("faults,page-faults,minor-faults,major-faults,cs,migrations", 6);
	assert_int_equal(c.list[0].source, COUNTER_PAGE_FAULTS);
	assert_string_equal(c.list[0].name, "faults");
	assert_int_equal(c.list[1].source, COUNTER_PAGE_FAULTS);
	assert_int_equal(c.list[2].source, COUNTER_MINOR_FAULTS);
	assert_int_equal(c.list[3].source, COUNTER_MAJOR_FAULTS);
	assert_int_equal(c.list[4].source, COUNTER_CONTEXT_SWITCHES);
	assert_int_equal(c.list[5].source, COUNTER_CPU_MIGRATIONS);
	takes("cycles,cpu-cycles,instructions,cpu-clock,r1A8,branch-misses", 6);
	is_perf(0, "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	is_perf(1, "cpu_cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	is_perf(2, "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	is_perf(3, "cpu_clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	is_perf(4, "r1A8", PERF_TYPE_RAW, 0x1a8);
	is_perf(5, "branch_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES);
}

static void modifiers_and_groups(void **state)
{
	(void)state;
	takes("cycles:u,cycles:k,cycles:uk,cycles", 4);
	assert_string_equal(c.list[0].name, "cycles:u");
	assert_true(c.list[0].attr.exclude_kernel && !c.list[0].attr.exclude_user);
	assert_true(!c.list[1].attr.exclude_kernel && c.list[1].attr.exclude_user);
	assert_true(!c.list[2].attr.exclude_kernel && !c.list[2].attr.exclude_user);
	assert_true(!c.list[3].attr.exclude_kernel && !c.list[3].attr.exclude_user);
	takes("{cycles,instructions}:u,task-clock,{cs,faults}", 5);
	assert_string_equal(c.list[0].name, "cycles:u");
	assert_string_equal(c.list[1].name, "instructions:u");
	assert_true(c.list[1].attr.exclude_kernel);
	assert_string_equal(c.list[2].name, "task_clock");
	assert_string_equal(c.list[4].name, "faults");
	refuses("task-clock:u", -EINVAL, "task-clock:u", "leave :u away");
	refuses("cycles:x", -EINVAL, "cycles:x", NULL);
}

static void at_most_eight(void **state)
{
	(void)state;
	takes("r1,r2,r3,r4,r5,r6,r7,r8", 8);
	refuses("r1,r2,r3,r4,r5,r6,r7,r8,r9", -E2BIG, "r9", "8 are counted at most");
	refuses("cs,faults,cs", -EINVAL, "cs", NULL);
}

static void unknown_names(void **state)
{
	char name[300];

	(void)state;
	refuses("cyclse", -ENOENT, "cyclse", "did you mean cycles");
	refuses("task-clock,instrutions", -ENOENT, "instrutions", "instructions");
	refuses("page", -ENOENT, "page", "page-faults");
	refuses("zzzzzzzzzzzzzzzzzzzz", -ENOENT, "zzzzzzzzzzzzzzzzzzzz", "list --counters");
	refuses("", -EINVAL, "", NULL);
	refuses("cycles,", -EINVAL, "cycles,", NULL);
	refuses(",cycles", -EINVAL, ",cycles", NULL);
	refuses("{cycles", -EINVAL, "{cycles", NULL);
	refuses("cycles}", -EINVAL, "cycles}", NULL);
	refuses("{{cycles}}", -EINVAL, "{{cycles}}", NULL);
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(counters_parse(name, &c, &f), -EINVAL);
	name[200] = '\0';
	assert_int_equal(counters_parse(name, &c, &f), -EINVAL);
	name[60] = '\0';
	assert_int_equal(counters_parse(name, &c, &f), -ENOENT);
}

static void names_of_libpfm(void **state)
{
	(void)state;
	/* Its own table of perf's events is there on every machine. */
	takes("perf::PAGE-FAULTS", 1);
	is_perf(0, "perf::PAGE_FAULTS", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
}

static void every_known_name(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; counters_known(i); i++)
		takes(counters_known(i), 1);
	assert_true(i > 10);
}

/* Whatever the machine: one of the two lists, and it can be counted. */
static void the_usual(void **state)
{
	char note[256];

	(void)state;
	assert_int_equal(counters_default(&c, note, sizeof(note)), 0);
	assert_in_range(c.n, 1, 4);
	if (c.list[0].source == COUNTER_PERF)
		assert_string_equal(c.list[0].name, "cycles");
	else
		assert_non_null(strstr(note, "task-clock,page-faults,context-switches"));
	assert_int_equal(counters_check(&c, &f), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_perf),   cmocka_unit_test(modifiers_and_groups),
		cmocka_unit_test(at_most_eight),   cmocka_unit_test(unknown_names),
		cmocka_unit_test(names_of_libpfm), cmocka_unit_test(every_known_name),
		cmocka_unit_test(the_usual),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
