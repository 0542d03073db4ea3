/* SPDX-License-Identifier: BSD-2-Clause */
/* Attaching is cut short when the recorder has ended: the sites of a request are attached in portions. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

static long kernel(long number, ...);
#define syscall(...) kernel(__VA_ARGS__)
#include "privilege/broker/attach.c"
#undef syscall

#define SITES 4096

static unsigned n_calls, n_sites, most, ends_after;
static bool ended;

/* Attaches, and hears between two calls that the recorder has ended. */
static long kernel(long number, ...)
{
	struct {
		uint32_t words[4];
		uint64_t arrays[4];
		uint32_t n;
	} link;
	unsigned n = 1;
	va_list args;

	va_start(args, number);
	if (number == SYS_bpf) {
		assert_int_equal(va_arg(args, int), BPF_LINK_CREATE);
		memcpy(&link, va_arg(args, void *), sizeof(link));
		n = link.n;
	}
	va_end(args);
	n_sites += n;
	most = n > most ? n : most;
	if (++n_calls == ends_after)
		ended = true;
	return 1000 + n_calls;
}

static int attach(bool uprobe_multi, unsigned after, int *links, unsigned *ret_n)
{
	const struct loaded_programs programs = { .uprobe_multi = uprobe_multi, .ended = &ended };
	static struct broker_site sites[SITES];

	n_calls = n_sites = most = 0;
	ends_after = after;
	ended = false;
	/* Without a program, an event is the link. */
	return links_create(&programs, uprobe_multi ? 1 : -1, getpid(), false, 0, sites, SITES,
			    links, ret_n);
}

static void each_portion_is_a_link(void **state)
{
	const struct loaded_programs programs = { .uprobe_multi = true };
	static int links[SITES];
	unsigned n;

	(void)state;
	assert_int_equal(attach(true, 0, links, &n), 0);
	assert_int_equal(n_sites, SITES);
	assert_int_equal(n, n_calls);
	assert_int_equal(n, links_most(&programs, SITES));
	assert_true(most <= 512);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(links[i], 1001 + i);
}

/* Whoever called closes what there is. */
static void ends_between_portions(void **state)
{
	static int links[SITES];
	unsigned n;

	(void)state;
	assert_int_equal(attach(true, 3, links, &n), -ECANCELED);
	assert_int_equal(n_calls, 3);
	assert_int_equal(n, 3);
	assert_int_equal(links[2], 1003);
}

static void ends_between_events(void **state)
{
	static int links[SITES];
	unsigned n;

	(void)state;
	if (uprobe_type() < 0)
		skip();
	assert_int_equal(attach(false, 3, links, &n), -ECANCELED);
	assert_int_equal(n_calls, 3);
	assert_int_equal(n, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_portion_is_a_link),
		cmocka_unit_test(ends_between_portions),
		cmocka_unit_test(ends_between_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
