/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters of the machine: what becomes of texts of /proc with known numbers. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "system/internal.h"

/* "name/series" and value of each sample, in order. */
struct seen {
	char name[64];
	double value;
	char unit[16];
};

struct test {
	struct names *names;
	struct system_counters *system;
	struct seen seen[64];
	unsigned n;
};

static int see(void *context, const struct event *event)
{
	struct test *t = context;
	unsigned i;

	assert_int_equal(event->kind, EVENT_COUNTER);
	assert_int_equal(event->pid, 0);
	assert_true(event->sampled);
	for (i = 0; i < event->n_args; i++) {
		struct seen *seen = &t->seen[t->n++];
		const struct arg *arg = &event->args[i];

		assert_true(t->n < 64);
		snprintf(seen->name, sizeof(seen->name), "%s/%s", event->name->text,
			 arg->key->text);
		snprintf(seen->unit, sizeof(seen->unit), "%s", event->unit->text);
		seen->value = arg->type == ARG_DOUBLE ? arg->d : arg->u;
	}
	return 0;
}

static void start(struct test *t, const char *list)
{
	struct failure f = { 0 };

	memset(t, 0, sizeof(*t));
	t->names = names_new(0);
	assert_int_equal(system_open(list, t->names, &t->system, &f), 0);
	t->system->event = see;
	t->system->context = t;
}

static void stop(struct test *t)
{
	system_free(t->system);
	names_free(t->names);
}

static void take(struct test *t,
		 void (*source)(struct system_counters *system, char *text, double seconds),
		 const char *text, double seconds)
{
	t->n = 0;
	strcpy(t->system->text, text);
	source(t->system, t->system->text, seconds);
}

static void expect(const struct test *t, const char *name, double value, const char *unit)
{
	unsigned i;

	for (i = 0; i < t->n; i++) {
		if (strcmp(t->seen[i].name, name))
			continue;
		assert_float_equal(t->seen[i].value, value, 1e-6);
		assert_string_equal(t->seen[i].unit, unit);
		return;
	}
	fail_msg("no sample of %s", name);
}

static void test_cpu(void **state)
{
	struct test t;

	(void)state;
	start(&t, "cpu");
	take(&t, system_cpu,
	     "cpu  10 20 30 400 5 6 7 8 0 0\ncpu0 10 20 30 400 5 6 7 8 0 0\nintr 1\n", 0);
	assert_int_equal(t.n, 0);
	/* user + 20, system + 10, idle + 60, iowait + 4, irq + 4, steal + 2: one hundred in all */
	take(&t, system_cpu,
	     "cpu  20 30 40 460 9 8 9 10 0 0\ncpu0 10 20 30 425 5 6 7 8\ncpu1 1 1 1 1\nintr 2\n",
	     1);
	expect(&t, "cpu/user", 20, "%");
	expect(&t, "cpu/system", 10, "%");
	expect(&t, "cpu/iowait", 4, "%");
	expect(&t, "cpu/irq", 4, "%");
	expect(&t, "cpu/steal", 2, "%");
	/* idle all the time; one that has just come online says nothing yet */
	expect(&t, "cpu busy/cpu0", 0, "%");
	assert_int_equal(t.n, 6);
	/* counters that go back, as those of a CPU that was offline, are no negative times */
	take(&t, system_cpu, "cpu0 0 0 0 435 0 0 0 0\ncpu1 31 1 1 11\n", 1);
	expect(&t, "cpu busy/cpu0", 0, "%");
	expect(&t, "cpu busy/cpu1", 75, "%");
	take(&t, system_cpu, "cpu0\ncpu1 x y\ncpu\n", 1);
	assert_int_equal(t.n, 0);
	stop(&t);
}

static void test_memory(void **state)
{
	struct test t;

	(void)state;
	start(&t, "memory");
	take(&t, system_memory,
	     "MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable:   600 kB\nSwapCached: 9 kB\n"
	     "Cached:  300 kB\nDirty: 7 kB\nSwapTotal: 50 kB\nSwapFree: 20 kB\n",
	     0);
	expect(&t, "memory/used", 400 * 1024, "bytes");
	expect(&t, "memory/cached", 300 * 1024, "bytes");
	expect(&t, "memory/dirty", 7 * 1024, "bytes");
	expect(&t, "memory/swap", 30 * 1024, "bytes");
	assert_int_equal(t.n, 4);
	stop(&t);
}

static void test_disk(void **state)
{
	struct test t;

	(void)state;
	start(&t, "disk");
	/* Names that are no disk of this machine are left out. */
	take(&t, system_disk,
	     " 7 0 loop0 1 2 3 4 5 6 7 8 9 10 11\n 8 0 ../x 1 2 3 4 5 6 7 8 9 10\n", 1);
	take(&t, system_disk,
	     " 7 0 loop0 2 2 3 4 5 6 7 8 9 10 11\n 8 0 ../x 2 2 3 4 5 6 7 8 9 10\n", 1);
	assert_int_equal(t.n, 0);
	stop(&t);
}

static void test_network(void **state)
{
	static const char heading[] = "Inter-|   Receive\n face |bytes    packets\n";
	char text[512];
	struct test t;

	(void)state;
	start(&t, "network");
	snprintf(text, sizeof(text),
		 "%s  eth0: 1000 2 0 0 0 0 0 0 500 5 0 0 0 0 0 0\n    lo:7 1 0 0 0 0 0 0 7 1 0 0\n",
		 heading);
	take(&t, system_network, text, 0);
	assert_int_equal(t.n, 0);
	snprintf(text, sizeof(text),
		 "%s  eth0: 3000 2 0 0 0 0 0 0 600 5 0 0 0 0 0 0\n    lo:7 1 0 0 0 0 0 0 7 1 0 0\n",
		 heading);
	take(&t, system_network, text, 0.5);
	expect(&t, "network receive/eth0", 4000, "bytes/s");
	expect(&t, "network transmit/eth0", 200, "bytes/s");
	expect(&t, "network receive/lo", 0, "bytes/s");
	stop(&t);
}

static void test_many_things(void **state)
{
	char *text = malloc(SYSTEM_TEXT), *at;
	struct test t;
	unsigned i;

	(void)state;
	start(&t, "network");
	for (i = 0, at = text; i < 300; i++)
		at += sprintf(at, "if%u: %u 0 0 0 0 0 0 0 0 0\n", i, i);
	take(&t, system_network, text, 0);
	assert_int_equal(t.system->files[SYSTEM_NETWORK].n_things, SYSTEM_THINGS);
	free(text);
	stop(&t);
}

static void test_lists(void **state)
{
	static const char *const bad[] = { "", "cp", "cpu,", ",cpu", "cpu,disks", "cpu memory" };
	struct names *names = names_new(0);
	struct system_counters *system;
	struct failure f = { 0 };
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(system_open(bad[i], names, &system, &f), -EINVAL);
	assert_int_equal(system_open("network,cpu,cpu,disk,memory", names, &system, &f), 0);
	for (i = 0; i < SYSTEM_SOURCES; i++)
		assert_true(system->files[i].fd >= 0);
	system_free(system);
	names_free(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cpu),	    cmocka_unit_test(test_memory),
		cmocka_unit_test(test_disk),	    cmocka_unit_test(test_network),
		cmocka_unit_test(test_many_things), cmocka_unit_test(test_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
