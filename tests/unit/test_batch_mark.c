/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Marks of this program's own, from its batch to the events that the timeline takes: those that come
 * again are what they were the first time but for their values, and nobody else's.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include <proftrace.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/batch/batch.h"
#include "proftrace.skel.h"

PROF_DOMAIN(side, "side");
PROF_MARKER(io, side, "both", .categories = "io");
PROF_MARKER(net, side, "both", .categories = "net");

static struct capture capture;
static struct file file;
static struct names *names;
static uint32_t handed; /* up to where in the batch */
static uint64_t base;	/* bytes in all */
static unsigned flush_site;
static char said[65536]; /* of all events, a line each */

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
	size_t length = strlen(said);
	va_list list;

	va_start(list, format);
	vsnprintf(said + length, sizeof(said) - length, format, list);
	va_end(list);
}

static int take_event(void *context, const struct event *e)
{
	unsigned i;

	(void)context;
	say("%d %s/%s", e->kind, e->category ? e->category->text : "",
	    e->name ? e->name->text : "");
	for (i = 0; i < e->n_args; i++) {
		const struct arg *arg = &e->args[i];

		say(" %s=", arg->key ? arg->key->text : "");
		if (arg->type == ARG_STRING)
			say("'%s'", arg->s);
		else if (arg->type == ARG_DOUBLE)
			say("%g", arg->d);
		else
			say("%lld", (long long)arg->i);
	}
	say("\n");
	return 0;
}

static struct site *site_of_marker(struct marker_site *m)
{
	struct site *s = &capture.sites[capture.n_sites++];

	*s = (struct site){ .file = &file, .vaddr = m->stub, .kind = m->kind };
	s->batches = m->kind < RECORD_THREAD_NAME;
	s->category = m->domain[0] ? names_intern_string(names, m->domain) : NULL;
	s->plain_token = s->category ? s->category->id : 0;
	return s;
}

static int begin(void **state)
{
	unsigned i;

	(void)state;
	names = names_new(0);
	assert_int_equal(elf_file_open(open("/proc/self/exe", O_RDONLY), &file.elf, NULL), 0);
	assert_int_equal(markers_find(file.elf, &file.sites, NULL), 0);
	capture.options.event = take_event;
	capture.options.names = names;
	capture.shared = calloc(1, sizeof(*capture.shared));
	capture.sites = calloc(file.sites.n, sizeof(*capture.sites));
	assert_int_equal(batches_new(capture.shared, &capture.batches), 0);
	capture.batches->since_ns = 0;
	batch_process_get(capture.batches, 1)->memory = target_memory_new(-1); /* cannot be read */
	for (i = 0; i < file.sites.n; i++) {
		struct marker_site *m = &file.sites.sites[i];

		site_of_marker(m);
		if (m->kind != RECORD_FLUSH)
			continue;
		file.flush_stub = m->stub;
		flush_site = i;
	}
	file.n_sites = capture.n_sites;
	prof_domain_in_prof_control.on = 1u << 16;
	prof_default.on = side.on = 1u << 16;
	PROF_INSTANT("the first one");
	prof_default.on = side.on = 0;
	if (!*prof_impl_batch())
		return 1;
	handed = (*prof_impl_batch())->used;
	return 0;
}

static int end(void **state)
{
	(void)state;
	batches_free(capture.batches);
	selection_free(&capture);
	markers_free(&capture);
	free(capture.shared);
	free(capture.sites);
	marker_sites_free(&file.sites);
	elf_file_free(file.elf);
	names_free(names);
	return 0;
}

/* Hands over what is new in the batch, with these words behind it. */
static const char *hand_over(const uint64_t *more, size_t n)
{
	struct prof_batch *batch = *prof_impl_batch();
	struct {
		struct record_batch r;
		uint64_t events[(BATCH_MAX - sizeof(struct batch_head)) / 8];
	} *in = calloc(1, sizeof(*in));
	uint32_t bytes = batch->used - handed;

	in->r.head = (struct record){ .kind = RECORD_BATCH, .ts = monotonic_now(), .tgid = 1 };
	in->r.head.tid = 1;
	in->r.head.site = flush_site;
	in->r.ops.a = 1ull << 40;
	in->r.ops.b = LIST_EMPTY(&capture.batches->streams) ? BATCH_NEW : BATCH_FULL;
	memcpy(&in->r.batch, batch, sizeof(in->r.batch));
	in->r.batch.base = base;
	in->r.batch.used = sizeof(in->r.batch) + bytes + 8 * n;
	in->r.batch.events = 0;
	in->r.batch.complete = 0;
	memcpy(in->events, (const char *)batch + handed, bytes);
	if (n)
		memcpy((char *)in->events + bytes, more, 8 * n);
	if (batch->used > batch->size / 2)
		prof_impl_batch_flush(batch);
	handed = batch->used;
	base += bytes + 8 * n;
	said[0] = '\0';
	batches_add_record(&capture, &in->r.head, sizeof(in->r) + bytes + 8 * n);
	batches_stop(&capture);
	free(in);
	return said;
}

static void again(void **state)
{
	int i;

	(void)state;
	prof_default.on = 1u << 16;
	for (i = 0; i < 3; i++) {
		PROF_BEGIN("slice", "i", i, "half", i / 2.0);
		PROF_COUNTER("count", 10 * i);
		PROF_COUNTER("flag", i > 0);
		PROF_END();
	}
	prof_default.on = 0;
	assert_string_equal(
		hand_over(NULL, 0),
		"1 default/slice i=0 half=0\n4 default/count =0\n4 default/flag =0\n2 default/\n"
		"1 default/slice i=1 half=0.5\n4 default/count =10\n4 default/flag =1\n2 default/\n"
		"1 default/slice i=2 half=1\n4 default/count =20\n4 default/flag =1\n2 default/\n");
}

static void other_keys(void **state)
{
	int i;

	(void)state;
	prof_default.on = 1u << 16;
	for (i = 0; i < 2; i++) {
		PROF_COUNTERS("mem", "rss", i, "heap", 2, "stack", 3);
		PROF_COUNTERS("mem", "in", i, "out", 5, "err", 6);
	}
	prof_default.on = 0;
	assert_string_equal(hand_over(NULL, 0),
			    "4 default/mem rss=0 heap=2 stack=3\n4 default/mem in=0 out=5 err=6\n"
			    "4 default/mem rss=1 heap=2 stack=3\n4 default/mem in=1 out=5 err=6\n");
}

static void other_categories(void **state)
{
	int i;

	(void)state;
	side.on = 1u << 16;
	for (i = 0; i < 2; i++) {
		prof_marker_instant(&io);
		prof_marker_instant(&net);
	}
	side.on = 0;
	assert_string_equal(hand_over(NULL, 0), "3 side,io/both\n3 side,net/both\n"
						"3 side,io/both\n3 side,net/both\n");
}

/* Names that are made at run time are in the batch once, and values with each mark. */
static void names_made(void **state)
{
	const prof_arg_t args[] = { prof_arg_int("i", 1), prof_arg_string("s", "text") };
	char name[] = "name";

	(void)state;
	prof_default.on = 1u << 16;
	prof_instant_args(NULL, name, 0, args, 2);
	prof_instant_args(NULL, name, 0, args, 2);
	prof_counter_args(NULL, name, args, 1);
	name[0] = 'N';
	prof_instant_args(NULL, name, 0, args, 1);
	prof_instant_args(NULL, name, 0, NULL, 0);
	prof_default.on = 0;
	assert_string_equal(hand_over(NULL, 0), "3 default/name i=1 s='text'\n"
						"3 default/name i=1 s='text'\n"
						"4 default/name i=1\n3 default/Name i=1\n"
						"3 default/Name\n");
}

/* Numbers that do not fit into registers, with an id and without, are what they were. */
static void many_numbers(void **state)
{
	const uint64_t big = UINT64_MAX / 2;

	(void)state;
	prof_default.on = 1u << 16;
	PROF_INSTANT("three", "a", -1, "b", 2.5, "c", true);
	PROF_INSTANT("four", "a", 0, "b", big, "c", 3, "d", 0);
	PROF_ASYNC_BEGIN("five", 7, "a", 1, "b", 2, "c", 3, "d", 4, "e", 5);
	PROF_BEGIN("six", "a", 1, "b", 2, "c", 3, "d", 4, "e", 5, "f", 6);
	PROF_END("a", 1, "b", 2, "c", 3);
	PROF_INSTANT("with text", "a", 1, "b", "two", "c", 3);
	PROF_INSTANT("none");
	prof_default.on = 0;
	assert_string_equal(hand_over(NULL, 0),
			    "3 default/three a=-1 b=2.5 c=1\n"
			    "3 default/four a=0 b=9223372036854775807 c=3 d=0\n"
			    "5 default/five a=1 b=2 c=3 d=4 e=5\n"
			    "1 default/six a=1 b=2 c=3 d=4 e=5 f=6\n2 default/ a=1 b=2 c=3\n"
			    "3 default/with text a=1 b='two' c=3\n3 default/none\n");
}

/* Strings of all lengths, up to the end of the memory behind which nothing can be read, and of both places. */
static void strings(void **state)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char expected[512];
	unsigned n, gap;

	(void)state;
	assert_ptr_not_equal(pages, MAP_FAILED);
	assert_int_equal(mprotect(pages + 4096, 4096, PROT_NONE), 0);
	prof_domain_in_prof_control.on = 1; /* or else the kernel would read them */
	for (n = 0; n < 80; n++) {
		for (gap = 0; gap < 9; gap += 4) {
			char *text = pages + 4095 - n - gap;

			memset(pages, 'x', 4096);
			memset(text, 'a' + n % 26, n);
			text[n] = '\0';
			prof_default.on = 1u << 16;
			PROF_INSTANT("one", "s", text);
			PROF_ASYNC_BEGIN("both", 5, "s", text, "n", n);
			PROF_INSTANT("second", "n", n, "s", text);
			PROF_INSTANT("two", "s", text, "t", text);
			prof_default.on = 0;
			snprintf(expected, sizeof(expected),
				 "3 default/one s='%s'\n5 default/both s='%s' n=%u\n"
				 "3 default/second n=%u s='%s'\n3 default/two s='%s' t='%s'\n",
				 text, text, n, n, text, text, text);
			assert_string_equal(hand_over(NULL, 0), expected);
		}
	}
	prof_domain_in_prof_control.on = 1u << 16;
	munmap(pages, 8192);
}

/* While the kernel is to read strings, the thread reads those of its file, and no others. */
static void strings_of_the_file(void **state)
{
	static const char constant[] = "constant";
	const struct prof_batch *batch = *prof_impl_batch();
	char local[] = "local";
	uint32_t used;
	int i;

	(void)state;
	said[0] = '\0';
	prof_default.on = 1u << 16;
	for (i = 0; i < 3; i++)
		PROF_INSTANT("instant", "s", &constant[i]);
	PROF_INSTANT("instant", "s", said);
	used = batch->used;
	PROF_INSTANT("instant", "s", local);
	PROF_INSTANT("instant", "s", (const char *)(uintptr_t)16);
	PROF_INSTANT("instant", "s", (const char *)(UINTPTR_MAX - 16));
	assert_int_equal(batch->used, used);
	prof_default.on = 0;
	assert_string_equal(hand_over(NULL, 0),
			    "3 default/instant s='constant'\n3 default/instant s='onstant'\n"
			    "3 default/instant s='nstant'\n3 default/instant s=''\n");
}

/* A value that is no number the first time is not taken for one, nor for an address, the second. */
static void no_numbers(void **state)
{
	static const unsigned types[] = { VALUE_UNREADABLE, VALUE_STRING, VALUE_FLOAT };
	const struct prof_batch *batch = *prof_impl_batch();
	const uint64_t *mark;
	uint64_t events[10];
	unsigned i;

	(void)state;
	for (i = 0; i < 3; i++) {
		prof_default.on = 1u << 16;
		mark = (const uint64_t *)((const char *)batch + batch->used);
		PROF_INSTANT("instant", "n", i);
		prof_default.on = 0;
		hand_over(NULL, 0);
		/* Of the mark's site and name, with keys of their own. */
		memcpy(events, mark, 16);
		events[2] = 1 | types[i] << 8 | 5ull << 56;
		events[3] = events[1] >> 32;
		events[4] = 0;
		memcpy(events + 5, events, 40);
		events[9] = 0x4141414141414141;
		if (types[i] == VALUE_STRING)
			events[9] |= STRING_NULL;
		hand_over(events, 10);
		if (types[i] == VALUE_UNREADABLE)
			assert_string_equal(said, "3 default/instant instant='(unreadable)'\n"
						  "3 default/instant instant='(unreadable)'\n");
		else
			assert_null(strstr(said, "AAAA"));
		if (types[i] == VALUE_FLOAT)
			assert_string_equal(said, "3 default/instant instant=0\n"
						  "3 default/instant instant=12.0784\n");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(again),
		cmocka_unit_test(other_keys),
		cmocka_unit_test(other_categories),
		cmocka_unit_test(names_made),
		cmocka_unit_test(many_numbers),
		cmocka_unit_test(strings),
		cmocka_unit_test(strings_of_the_file),
		cmocka_unit_test(no_numbers),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
