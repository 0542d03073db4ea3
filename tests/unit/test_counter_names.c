/* SPDX-License-Identifier: BSD-2-Clause */
/* What `-e` takes and what it refuses. Nothing here depends on what this machine counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
	refuses("task-clock:u", -EINVAL, "task-clock:u", "remove :u");
	refuses("cycles:x", -EINVAL, "cycles:x", NULL);
}

static void groups_have_leaders(void **state)
{
	(void)state;
	takes("cycles,{instructions,task-clock,branches,branch-misses},{cs,r1,r2}", 8);
	assert_int_equal(c.list[0].leader, 0);
	assert_int_equal(c.list[1].leader, 1);
	assert_int_equal(c.list[3].leader, 1);
	assert_int_equal(c.list[4].leader, 1);
	/* What the kernel keeps itself leads nobody. */
	assert_int_equal(c.list[5].source, COUNTER_CONTEXT_SWITCHES);
	assert_int_equal(c.list[6].leader, 6);
	assert_int_equal(c.list[7].leader, 6);
	assert_false(c.multiplexed);
	takes("{cpu-clock,software/config=2/,r1,alignment-faults,r2}", 5);
	assert_int_equal(c.list[0].leader, 0);
	assert_int_equal(c.list[1].leader, 1);
	assert_int_equal(c.list[2].leader, 2);
	assert_int_equal(c.list[3].leader, 3);
	assert_int_equal(c.list[4].leader, 2);
}

static void at_most_eight(void **state)
{
	(void)state;
	takes("r1,r2,r3,r4,r5,r6,r7,r8", 8);
	refuses("r1,r2,r3,r4,r5,r6,r7,r8,r9", -E2BIG, "r9", "at most 8 counters can be recorded");
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

static bool is_fault(const char *name)
{
	return strstr(name, "fault");
}

static void nearest_of_those_that_count(void **state)
{
	char out[256], small[8];

	(void)state;
	counters_nearest("page-fault", NULL, out, sizeof(out));
	assert_memory_equal(out, "page-faults", 11);
	counters_nearest("m-faults", is_fault, out, sizeof(out));
	assert_non_null(strstr(out, "faults"));
	assert_null(strstr(out, "misses"));
	counters_nearest("cycles", is_fault, out, sizeof(out));
	assert_string_equal(out, "");
	counters_nearest("cycles", NULL, small, sizeof(small));
	assert_true(strlen(small) < sizeof(small));
}

static void names_of_libpfm(void **state)
{
	(void)state;
	/* Its own table of perf's events is there on every machine. */
	takes("perf::PAGE-FAULTS", 1);
	is_perf(0, "perf::PAGE_FAULTS", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
}

/* Everything that `perf list` calls a hardware cache event. */
static void caches(void **state)
{
	static const struct {
		const char *cache;
		const char *operations;
	} perf[] = {
		{ "L1-dcache", "loads load-misses stores store-misses prefetches prefetch-misses" },
		{ "L1-icache", "loads load-misses prefetches prefetch-misses" },
		{ "LLC", "loads load-misses stores store-misses prefetches prefetch-misses" },
		{ "dTLB", "loads load-misses stores store-misses prefetches prefetch-misses" },
		{ "iTLB", "loads load-misses" },
		{ "branch", "loads load-misses" },
		{ "node", "loads load-misses stores store-misses prefetches prefetch-misses" },
	};
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(perf) / sizeof(perf[0]); i++) {
		char operations[128], name[64], *at = operations, *operation;

		snprintf(operations, sizeof(operations), "%s", perf[i].operations);
		while ((operation = strsep(&at, " "))) {
			snprintf(name, sizeof(name), "%s-%s", perf[i].cache, operation);
			takes(name, 1);
			assert_int_equal(c.list[0].attr.type, PERF_TYPE_HW_CACHE);
		}
	}
	takes("L1-dcache-load-misses:u", 1);
	is_perf(0, "L1_dcache_load_misses:u", PERF_TYPE_HW_CACHE,
		PERF_COUNT_HW_CACHE_L1D | PERF_COUNT_HW_CACHE_OP_READ << 8 |
			PERF_COUNT_HW_CACHE_RESULT_MISS << 16);
	assert_true(c.list[0].attr.exclude_kernel);
}

/* --- PMUs: what a kernel says of them, and what becomes of a description of an event ------------- */

static char devices[] = "/tmp/test_pmu.XXXXXX";

static void put_file(const char *directory, const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", devices, directory);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/%s/%s", devices, directory, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int make_pmu(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(devices));
	put_file("cpu", "type", "4\n");
	put_file("cpu/format", "event", "config:0-7,32-35\n");
	put_file("cpu/format", "umask", "config:8-15\n");
	put_file("cpu/format", "edge", "config:18\n");
	put_file("cpu/format", "ldlat", "config1:0-15\n");
	put_file("cpu/format", "whole", "config2:0-63\n");
	put_file("cpu/format", "odd", "config:9-8\n");
	put_file("cpu/format", "wide", "config:0-64\n");
	put_file("cpu/format", "alien", "period\n");
	put_file("cpu/events", "mem-loads", "event=0xcd,umask=0x1,ldlat=3\n");
	put_file("cpu/events", "mem-loads.scale", "1\n");
	put_file("cpu/events", "itself", "itself\n");
	put_file("broken", "type", "four\n");
	return 0;
}

static int remove_pmu(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", devices);
	return system(command);
}

static struct perf_event_attr attr;

static void pmu_takes(const char *terms, uint64_t config, uint64_t config1, uint64_t config2)
{
	memset(&f, 0, sizeof(f));
	if (pmu_encode(devices, "cpu", terms, &attr, &f))
		fail_msg("%s: %s '%s' %s", terms, f.what, f.object, f.reason);
	assert_int_equal(attr.type, 4);
	assert_int_equal(attr.config, config);
	assert_int_equal(attr.config1, config1);
	assert_int_equal(attr.config2, config2);
}

static void pmu_refuses(const char *pmu, const char *terms, int error, const char *object,
			const char *hint)
{
	memset(&f, 0, sizeof(f));
	assert_int_equal(pmu_encode(devices, pmu, terms, &attr, &f), error);
	assert_string_equal(f.object, object);
	if (hint && !strstr(f.hint, hint))
		fail_msg("%s/%s/: '%s' is not in '%s'", pmu, terms, hint, f.hint);
}

static void terms_of_pmus(void **state)
{
	(void)state;
	pmu_takes("event=0x3c,umask=0x1", 0x13c, 0, 0);
	pmu_takes("event=0xfff", 0xf000000ff, 0, 0);
	pmu_takes("event=60,edge", 60 | 1 << 18, 0, 0);
	pmu_takes("config=0x1234,config1=5,config2=6", 0x1234, 5, 6);
	pmu_takes("mem-loads", 0x1cd, 3, 0);
	pmu_takes("mem-loads,ldlat=0x20", 0x1cd, 0x20, 0);
	pmu_takes("whole=0xffffffffffffffff", 0, 0, UINT64_MAX);
	pmu_refuses("cpu", "evnt=1", -ENOENT, "evnt", "umask");
	pmu_refuses("cpu", "evnt", -ENOENT, "evnt", "mem-loads");
	pmu_refuses("gpu", "event=1", -ENOENT, "gpu", "cpu");
	pmu_refuses("broken", "event=1", -EINVAL, "broken", NULL);
	pmu_refuses("../cpu", "event=1", -EINVAL, "../cpu", NULL);
	pmu_refuses("..", "event=1", -EINVAL, "..", NULL);
	pmu_refuses("cpu", "../events/mem-loads", -EINVAL, "../events/mem-loads", NULL);
	pmu_refuses("cpu", "umask=0x100", -ERANGE, "umask", NULL);
	pmu_refuses("cpu", "event=x", -EINVAL, "event", NULL);
	pmu_refuses("cpu", "event=-1", -EINVAL, "event", NULL);
	pmu_refuses("cpu", "event=", -EINVAL, "event", NULL);
	pmu_refuses("cpu", "", -EINVAL, "", NULL);
	pmu_refuses("cpu", "odd=1", -ENOTSUP, "odd", NULL);
	pmu_refuses("cpu", "wide=1", -ENOTSUP, "wide", NULL);
	pmu_refuses("cpu", "alien=1", -ENOTSUP, "alien", NULL);
	/* An event that means itself. */
	pmu_refuses("cpu", "itself", -ENOENT, "itself", NULL);
}

static void list(void *context, const char *name, const char *text)
{
	char *out = context;

	snprintf(out + strlen(out), 256 - strlen(out), "%s %s\n", name, text);
}

static void events_of_pmus(void **state)
{
	char out[256] = "";

	(void)state;
	pmu_each(devices, list, out);
	assert_non_null(strstr(out, "cpu/mem-loads/ event=0xcd,umask=0x1,ldlat=3\n"));
	assert_null(strstr(out, "scale"));
	out[0] = '\0';
	pmu_each("/nonexistent", list, out);
	assert_string_equal(out, "");
}

/* The only PMU that every kernel has. */
static void pmus_in_lists(void **state)
{
	(void)state;
	takes("software/config=2/,{software/config=0x3,config1=0/u},task-clock", 3);
	is_perf(0, "software/config=2/", PERF_TYPE_SOFTWARE, 2);
	is_perf(1, "software/config=0x3,config1=0/u", PERF_TYPE_SOFTWARE, 3);
	assert_true(c.list[1].attr.exclude_kernel);
	takes("{software/config=2/,software/config=3/}:k", 2);
	assert_string_equal(c.list[0].name, "software/config=2/k");
	assert_true(c.list[0].attr.exclude_user);
	takes("software/config=2/:u", 1);
	assert_true(c.list[0].attr.exclude_kernel);
	refuses("software/config=2", -EINVAL, "software/config=2", NULL);
	refuses("software/config=2/x", -EINVAL, "software/config=2/x", NULL);
	refuses("none-such/config=2/", -ENOENT, "none-such", "software");
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
	bool refused;

	(void)state;
	assert_int_equal(counters_default(&c, note, sizeof(note), &refused), 0);
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
		cmocka_unit_test(names_of_perf),
		cmocka_unit_test(modifiers_and_groups),
		cmocka_unit_test(at_most_eight),
		cmocka_unit_test(unknown_names),
		cmocka_unit_test(names_of_libpfm),
		cmocka_unit_test(every_known_name),
		cmocka_unit_test(the_usual),
		cmocka_unit_test(groups_have_leaders),
		cmocka_unit_test(caches),
		cmocka_unit_test(terms_of_pmus),
		cmocka_unit_test(pmus_in_lists),
		cmocka_unit_test(events_of_pmus),
		cmocka_unit_test(nearest_of_those_that_count),
	};

	return cmocka_run_group_tests(tests, make_pmu, remove_pmu);
}
