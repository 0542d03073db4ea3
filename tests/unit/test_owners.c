/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers of processes and threads over several traces, and how their clocks stand to each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "merge/merge.h"

static struct part part_of(unsigned recording, const char *label, bool own)
{
	struct part part = { .recording = recording };

	snprintf(part.label, sizeof(part.label), "%s", label);
	if (own)
		strcpy(part.source.origin.version, "1");
	return part;
}

/* The event as "PID/TID name". */
static const char *mapped(struct owners *o, struct event e)
{
	static char text[256];

	owners_map(o, &e);
	snprintf(text, sizeof(text), "%u/%u %s", e.pid, e.tid, e.name ? e.name->text : "-");
	return text;
}

#define EVENT(k, p, t) ((struct event){ .kind = (k), .pid = (p), .tid = (t), .level = -1 })
#define NAMED(k, p, t, n) \
	((struct event){  \
		.kind = (k), .pid = (p), .tid = (t), .name = names_intern_string(names, n) })

struct said {
	char text[512];
};

static int say(void *context, const struct event *e)
{
	struct said *said = context;
	size_t n = strlen(said->text);

	snprintf(said->text + n, sizeof(said->text) - n, "%s %u/%u %s\n",
		 e->kind == EVENT_PROCESS_NAME ? "process" : "thread", e->pid, e->tid,
		 e->name->text);
	return 0;
}

static int say_others(void *context, const struct event *e)
{
	return strstr(e->name->text, "others") ? say(context, e) : 0;
}

static void numbers_of_two_files_are_two(void **state)
{
	struct names *names = names_new(0);
	struct owners *o = owners_new(names, false);
	struct part a = part_of(0, "rank 0", true), b = part_of(1, "rank 1", true);
	struct said said = { "" };

	(void)state;
	owners_begin(o, &a);
	assert_string_equal(mapped(o, NAMED(EVENT_PROCESS_NAME, 100, 0, "train")),
			    "100/0 rank 0: train");
	assert_string_equal(mapped(o, NAMED(EVENT_THREAD_NAME, 100, 100, "main")), "100/100 main");
	assert_string_equal(mapped(o, EVENT(EVENT_BEGIN, 100, 101)), "100/101 -");
	owners_end(o, say, &said);
	assert_string_equal(said.text, "");

	owners_begin(o, &b);
	assert_string_equal(mapped(o, EVENT(EVENT_BEGIN, 100, 100)), "4194304/4194304 -");
	assert_string_equal(mapped(o, EVENT(EVENT_COUNTER, 100, 0)), "4194304/0 -");
	assert_string_equal(mapped(o, NAMED(EVENT_PROCESS_NAME, 100, 0, "train")),
			    "4194304/0 rank 1: train (pid 100)");
	assert_string_equal(mapped(o, EVENT(EVENT_END, 100, 101)), "4194304/4194305 -");
	assert_string_equal(mapped(o, EVENT(EVENT_BEGIN, 200, 201)), "200/201 -");
	assert_string_equal(mapped(o, NAMED(EVENT_THREAD_NAME, 200, 101, "io")),
			    "200/4194306 io (tid 101)");
	owners_end(o, say, &said);
	assert_string_equal(said.text, "thread 4194304/4194305 thread 101\n"
				       "process 200/0 rank 1: process 200\n");
	owners_free(o);
	names_free(names);
}

static void files_of_one_recording_share_theirs(void **state)
{
	struct names *names = names_new(0);
	struct owners *o = owners_new(names, false);
	struct part a = part_of(0, "a", true), b = part_of(1, "b", true),
		    b2 = part_of(1, "b", true);
	struct said said = { "" }, later = { "" };

	(void)state;
	owners_begin(o, &a);
	mapped(o, EVENT(EVENT_BEGIN, 100, 100));
	mapped(o, EVENT(EVENT_BEGIN, 100, 101));
	owners_begin(o, &b);
	assert_string_equal(mapped(o, EVENT(EVENT_BEGIN, 100, 100)), "4194304/4194304 -");
	mapped(o, EVENT(EVENT_BEGIN, 100, 101));
	owners_end(o, say, &said);
	assert_string_equal(said.text, "process 4194304/0 b: process 100\n"
				       "thread 4194304/4194305 thread 101\n");
	/* Each is named at the end of the file that has it first. */
	owners_begin(o, &b2);
	assert_string_equal(mapped(o, EVENT(EVENT_END, 100, 100)), "4194304/4194304 -");
	mapped(o, EVENT(EVENT_BEGIN, 100, 101));
	mapped(o, EVENT(EVENT_BEGIN, 100, 102));
	mapped(o, EVENT(EVENT_BEGIN, 101, 100));
	owners_end(o, say, &later);
	assert_string_equal(later.text, "process 101/0 b: process 101\n"
					"thread 101/4194306 thread 100\n");
	owners_free(o);
	names_free(names);
}

static void the_machine_is_no_process(void **state)
{
	struct names *names = names_new(0);
	struct owners *o = owners_new(names, false);
	struct part here = part_of(0, "here", true), there = part_of(1, "there", true);
	struct part theirs = part_of(2, "torch.json", false);
	struct said said = { "" };

	(void)state;
	here.is_reference = true;
	owners_begin(o, &here);
	assert_string_equal(mapped(o, EVENT(EVENT_COUNTER, 0, 0)), "0/0 -");
	owners_begin(o, &there);
	assert_string_equal(mapped(o, EVENT(EVENT_COUNTER, 0, 0)), "4194304/0 -");
	assert_string_equal(mapped(o, EVENT(EVENT_LOST, 0, 0)), "0/0 -");
	owners_end(o, say, &said);
	assert_string_equal(said.text, "process 4194304/0 there: machine\n");
	/* Of others it is one: a graphics card. */
	owners_begin(o, &theirs);
	assert_string_equal(mapped(o, EVENT(EVENT_BEGIN, 0, 7)), "4194305/7 -");
	assert_string_equal(mapped(o, NAMED(EVENT_PROCESS_NAME, 0, 0, "python")),
			    "4194305/0 torch.json: python (pid 0)");
	owners_free(o);
	names_free(names);
}

static void who_joins_has_threads_of_his_own(void **state)
{
	struct names *names = names_new(0);
	struct owners *o = owners_new(names, true);
	struct part part = part_of(1, "torch.json", false);
	struct said said = { "" };

	(void)state;
	owners_begin(o, &part);
	assert_string_equal(mapped(o, EVENT(EVENT_BEGIN, 100, 100)), "100/4194304 -");
	assert_string_equal(mapped(o, NAMED(EVENT_PROCESS_NAME, 100, 0, "python")), "100/0 python");
	assert_string_equal(mapped(o, NAMED(EVENT_THREAD_NAME, 100, 101, "io")),
			    "100/4194305 io (torch.json)");
	owners_end(o, say, &said);
	assert_string_equal(said.text, "thread 100/4194304 thread 100 (torch.json)\n");
	owners_free(o);
	names_free(names);
}

/* A trace that a program names may have more processes than are remembered: those are no one else's either. */
static void who_speaks_for_one_never_gets_another(void **state)
{
	struct names *names = names_new(0);
	struct owners *o = owners_new(names, true);
	struct part part = part_of(1, "theirs.json", false);
	struct said said = { "" };
	struct event e;

	(void)state;
	owners_begin(o, &part);
	owners_restrict(o, 100);
	for (uint32_t pid = 1000; pid < 1000 + (1 << 18); pid++) {
		e = EVENT(EVENT_INSTANT, pid, pid);
		owners_map(o, &e);
		assert_true(e.pid >= 1 << 22 && e.tid >= 1 << 22);
	}
	e = EVENT(EVENT_COUNTER, 0, 0);
	owners_map(o, &e);
	assert_true(e.pid >= 1 << 22);
	e = EVENT(EVENT_BEGIN, 200, 201);
	owners_map(o, &e);
	assert_true(e.pid >= 1 << 22 && e.tid >= 1 << 22);
	e = NAMED(EVENT_PROCESS_NAME, 200, 0, "python");
	owners_map(o, &e);
	assert_string_equal(e.name->text, "theirs.json: others");
	e = EVENT(EVENT_BEGIN, 100, 201);
	owners_map(o, &e);
	assert_int_equal(e.pid, 100);
	assert_true(e.tid >= 1 << 22);
	owners_end(o, say_others, &said);
	assert_non_null(strstr(said.text, " theirs.json: others\n"));
	owners_free(o);
	names_free(names);
}

/* --- clocks ------------------------------------------------------------------------------------ */

static struct part clocked(const char *boot, uint64_t monotonic, uint64_t realtime)
{
	struct part part = part_of(0, "x", true);

	part.source.path = "x";
	snprintf(part.source.origin.boot_id, sizeof(part.source.origin.boot_id), "%s", boot);
	part.source.origin.clock.monotonic = monotonic;
	part.source.origin.clock.realtime = realtime;
	return part;
}

static void clocks_of_one_boot(void **state)
{
	struct part a = clocked("b1", 1000, 5000), b = clocked("b1", 2000, 999999);
	struct failure f;

	(void)state;
	assert_int_equal(align_by_clocks(&a, &b, ALIGN_AUTO, &f), 0);
	assert_true(b.same_boot);
	assert_int_equal(b.offset_ns, 0);
	assert_int_equal(align_by_clocks(&a, &b, ALIGN_REALTIME, &f), 0);
	assert_int_equal(b.offset_ns, 999999 - 2000 - (5000 - 1000));
}

static void clocks_of_two_boots(void **state)
{
	struct part a = clocked("b1", 1000, 5000), b = clocked("b2", 100000, 5500);
	struct part nobody = clocked("", 7, 0);
	struct failure f;

	(void)state;
	assert_int_equal(align_by_clocks(&a, &b, ALIGN_AUTO, &f), 0);
	assert_false(b.same_boot);
	assert_int_equal(100000 + b.offset_ns, 1500); /* half a microsecond after a's moment */
	b.offset_ns = 0;
	assert_int_equal(align_by_clocks(&a, &b, ALIGN_NONE, &f), 0);
	assert_int_equal(b.offset_ns, 0);
	assert_int_equal(align_by_clocks(&a, &nobody, ALIGN_AUTO, &f), 0);
	assert_int_equal(nobody.offset_ns, 0);
	assert_true(align_by_clocks(&a, &nobody, ALIGN_REALTIME, &f) < 0);
}

static void clocks_of_others(void **state)
{
	struct part a = clocked("b1", 1000, 1700000000000000000);
	struct part since_1970 = part_of(0, "x", false), since_boot = part_of(0, "x", false);
	struct failure f;

	(void)state;
	since_1970.source.first_ns = 1700000000000000500;
	assert_int_equal(align_by_clocks(&a, &since_1970, ALIGN_AUTO, &f), 0);
	assert_int_equal(1700000000000000500 + since_1970.offset_ns, 1500);
	since_boot.source.first_ns = 1700;
	assert_int_equal(align_by_clocks(&a, &since_boot, ALIGN_AUTO, &f), 0);
	assert_int_equal(since_boot.offset_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_of_two_files_are_two),
		cmocka_unit_test(files_of_one_recording_share_theirs),
		cmocka_unit_test(the_machine_is_no_process),
		cmocka_unit_test(who_joins_has_threads_of_his_own),
		cmocka_unit_test(who_speaks_for_one_never_gets_another),
		cmocka_unit_test(clocks_of_one_boot),
		cmocka_unit_test(clocks_of_two_boots),
		cmocka_unit_test(clocks_of_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
