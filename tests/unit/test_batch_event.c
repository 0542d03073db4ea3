/* SPDX-License-Identifier: BSD-2-Clause */
/* What the header writes into a batch, taken apart by the recorder; and what no header writes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <proftrace.h>
#include <string.h>

#include "capture/batch/batch.h"

PROF_DOMAIN(other, "other");
PROF_MARKER(object, other, "object", .categories = "a,b");

/* All that the thread has marked since it was asked the last time, in its batch. */
static struct batch_event seen;
static const struct prof_batch *batch;
static uint32_t seen_to;

static void switch_batches(int on)
{
	prof_default.on = on ? 1u << 16 : 0;
	other.on = on ? 1u << 16 : 0;
	prof_domain_in_prof_control.on = on ? 1u << 16 : 0;
}

static int begin(void **state)
{
	(void)state;
	switch_batches(1);
	PROF_INSTANT("the first one");
	batch = *prof_impl_batch();
	seen_to = batch ? batch->used : 0;
	return !batch;
}

static int end(void **state)
{
	(void)state;
	switch_batches(0);
	return 0;
}

/* The one event that is new, which takes so many words. */
static const struct batch_event *next(unsigned words)
{
	const uint64_t *event = (const uint64_t *)((const char *)batch + seen_to);

	assert_int_equal(BATCH_EVENT_WORDS(event), words);
	assert_int_equal(batch->used, seen_to + words * 8);
	assert_true(event[0] != 0);
	assert_true(batch_event_parse(event, &seen));
	seen_to = batch->used;
	return &seen;
}

static uint64_t stub(const struct batch_event *e)
{
	return batch->flush + (int64_t)(int32_t)(e->stub - (uint32_t)batch->flush);
}

static void is_named(const struct batch_event *e, const char *name)
{
	assert_true(e->name != NAME_NONE && e->name != NAME_FAR);
	assert_string_equal((const char *)(stub(e) + (int64_t)e->name), name);
}

/* `keys`: the first one, or all of them with a NUL after each but the last. */
static void has_keys(const struct batch_event *e, const char *keys, size_t size)
{
	assert_true(e->keys != NAME_NONE && e->keys != NAME_FAR);
	assert_memory_equal((const char *)(stub(e) + (int64_t)e->keys), keys, size);
}

static void marks_without_pairs(void **state)
{
	const struct batch_event *e;

	(void)state;
	PROF_INSTANT("instant");
	e = next(3);
	is_named(e, "instant");
	assert_true(stub(e) == (uintptr_t)prof_instant_prof_default);
	assert_true(!e->meta && !e->a && !e->b && !e->n && !e->n_bytes);
	PROF_BEGIN("begin");
	is_named(next(3), "begin");
	PROF_END();
	assert_int_equal(next(3)->name, NAME_NONE);
	PROF_COUNTER("counter", -1);
	e = next(4);
	is_named(e, "counter");
	assert_true(e->a == UINT64_MAX && e->meta == VALUE_INT << 4);
	PROF_COUNTER("counter", 0u);
	e = next(3);
	assert_true(!e->a && e->meta == VALUE_UINT << 4);
	PROF_FLOW_OUT(9);
	e = next(4);
	assert_true(e->name == NAME_NONE && e->a == 9);
	PROF_ALLOC("pool", (void *)64, 100);
	e = next(5);
	is_named(e, "pool");
	assert_true(e->a == 64 && e->b == 100);
	PROF_ALLOC("pool", NULL, 100);
	e = next(4);
	assert_true(!e->a && e->b == 100);
}

static void pairs(void **state)
{
	const struct batch_event *e;

	(void)state;
	PROF_INSTANT("one", "key", -5);
	e = next(4);
	is_named(e, "one");
	has_keys(e, "key", 4);
	assert_true(e->n == 1 && e->values[0] == (uint64_t)-5 && !e->n_bytes);
	assert_true(e->meta == (1 | VALUE_INT << 8 | META_IN_REGISTERS));
	PROF_INSTANT("two", "key", 1.5, "other", (_Bool)1);
	e = next(5);
	is_named(e, "two");
	has_keys(e, "key\0other", 10);
	assert_true(e->n == 2 && e->values[0] == UINT64_C(0x3ff8000000000000) && e->values[1] == 1);
	assert_true(e->meta == (2 | VALUE_DOUBLE << 8 | VALUE_BOOL << 12 | META_IN_REGISTERS));
	PROF_END("of nothing", 3);
	e = next(4);
	assert_int_equal(e->name, NAME_NONE);
	has_keys(e, "of nothing", 11);
	assert_int_equal(e->values[0], 3);
	PROF_ASYNC_BEGIN("async", 77, "key", 8u);
	e = next(5);
	is_named(e, "async");
	has_keys(e, "key", 4);
	assert_true(e->a == 77 && e->values[0] == 8 && e->n == 1);
	PROF_INSTANT("three", "a", 1, "b", 2, "c", 3);
	e = next(7);
	is_named(e, "three");
	has_keys(e, "a\0b\0c", 6);
	assert_true(e->n == 3 && e->values[2] == 3 && !(e->meta & META_IN_REGISTERS));
	PROF_INSTANT("text", "a", "some text");
	e = next(7);
	is_named(e, "text");
	has_keys(e, "a", 2);
	assert_true(e->values[0] == 9 && e->meta & META_HAS_STRINGS);
	assert_int_equal(e->n_bytes, 16);
	assert_memory_equal(e->bytes, "some text", 9);
}

static void objects_and_copied_names(void **state)
{
	const struct batch_event *e;
	char name[] = "not a constant";

	(void)state;
	prof_marker_mark(&object, PROF_SCOPE_GLOBAL);
	e = next(4);
	is_named(e, "object");
	assert_true(e->meta & META_CATEGORIES && e->meta >> 44 == 1 && !e->a);
	assert_string_equal((const char *)(stub(e) + (int64_t)(int32_t)e->b), "a,b");
	prof_marker_counter(&object, "x", 1, "y", 2);
	e = next(6 + 1);
	is_named(e, "object");
	has_keys(e, "x\0y", 4);
	assert_true(e->values[1] == 2);
	prof_begin_prof_default(name, PROF_META_NAME_DYNAMIC, 0, 0, NULL, 0);
	e = next(6);
	assert_true(e->name_length == 14 && e->n_bytes == 16);
	assert_memory_equal(e->bytes, name, 14);
}

/* The one event that is new, and has its name in an earlier one, with that name: it is as `whole`, but for the time. */
static void next_is_as(unsigned words, const uint64_t *whole, size_t whole_words)
{
	const uint64_t *events = (const uint64_t *)(batch + 1);
	const size_t at = (seen_to - sizeof(*batch)) / 8;
	uint64_t named[BATCH_EVENT_WORDS_MOST];

	assert_int_equal(batch->used, seen_to + words * 8);
	assert_int_equal(BATCH_EVENT_WORDS(events + at), words);
	assert_true(events[at + 2] & BATCH_EVENT_NAME_BEFORE);
	assert_false(batch_event_parse(events + at, &seen));
	assert_int_equal(batch_event_add_name(events, at, named), whole_words);
	assert_memory_equal(named + 1, whole + 1, (whole_words - 1) * 8);
	seen_to = batch->used;
}

static const uint64_t *next_whole(unsigned words)
{
	const uint64_t *event = (const uint64_t *)((const char *)batch + seen_to);

	next(words);
	return event;
}

static void names_are_written_once(void **state)
{
	const uint64_t meta = PROF_META_NAME_DYNAMIC, of = meta | PROF_META_HAS_CATEGORIES;
	const prof_arg_t args[] = { prof_arg_string("key", "text"), prof_arg_int("n", 3) };
	const prof_runtime_domain_t *domain = prof_domain_get("made, here");
	char name[] = "changes", categories[] = "made, here";
	const uint64_t *whole;

	(void)state;
	prof_begin_prof_default(name, meta, 5, 0, NULL, 0);
	whole = next_whole(6);
	prof_begin_prof_default(name, meta, 5, 0, NULL, 0);
	next_is_as(4, whole, 6);
	/* `b` is that of the mark, or it is the categories. */
	prof_alloc_prof_default(name, meta, 64, 100, NULL, 0);
	assert_int_equal(batch->used, seen_to + 5 * 8);
	seen_to = batch->used;
	prof_begin_prof_default(name, of, 0, (uintptr_t)categories, NULL, 0);
	whole = next_whole(8);
	prof_begin_prof_default(name, of, 0, (uintptr_t)categories, NULL, 0);
	next_is_as(3, whole, 8);
	/* Another text, a shorter and a longer one, at the same address. */
	name[0] = 'C';
	prof_begin_prof_default(name, meta, 0, 0, NULL, 0);
	assert_memory_equal(next(5)->bytes, "Changes", 7);
	name[3] = '\0';
	prof_begin_prof_default(name, meta, 0, 0, NULL, 0);
	assert_int_equal(next(5)->name_length, 3);
	name[3] = 'n';
	prof_begin_prof_default(name, meta, 0, 0, NULL, 0);
	assert_int_equal(next(5)->name_length, 7);
	prof_runtime.on = 1u << 16;
	prof_instant_args(domain, "with pairs", 0, args, 2);
	whole = next_whole(14);
	prof_instant_args(domain, "with pairs", 0, args, 2);
	next_is_as(9, whole, 14);
	prof_runtime.on = 0;
	/* A signal handler that comes while the list is read leaves it alone, and the buffer as well. */
	((struct prof_batch *)(uintptr_t)batch)->naming = 1;
	prof_begin_prof_default(name, meta, 0, 0, NULL, 0);
	next(5);
	assert_false(prof_impl_batch_flush((struct prof_batch *)(uintptr_t)batch));
	((struct prof_batch *)(uintptr_t)batch)->naming = 0;
	/* There is no list in a buffer that older code has prepared. */
	((struct prof_batch *)(uintptr_t)batch)->size = PROF_IMPL_BATCH_SIZE;
	prof_begin_prof_default(name, meta, 0, 0, NULL, 0);
	next(5);
	((struct prof_batch *)(uintptr_t)batch)->size -= sizeof(struct prof_batch_names);
	/* A buffer that was emptied has no names. */
	assert_true(prof_impl_batch_flush((struct prof_batch *)(uintptr_t)batch));
	seen_to = batch->used;
	prof_begin_prof_default(name, meta, 0, 0, NULL, 0);
	next(5);
}

static char capacity[32 << 20];

/* Near: from 8 MiB in front of the name to 8 MiB behind it. */
static void far_away(void **state)
{
	const uint64_t meta = 1 | VALUE_INT << 8 | PROF_META_IN_REGISTERS;
	char *middle = capacity + sizeof(capacity) / 2, *elsewhere;
	static const struct {
		int64_t from_name;
		unsigned words;
	} keys[] = {
		{ -(8 << 20) - 1, 5 }, { -(8 << 20), 4 }, { 0, 4 },
		{ (8 << 20) - 1, 4 },  { 8 << 20, 5 },
	};
	const struct batch_event *e;
	unsigned i;

	(void)state;
	memcpy(middle, "middle", 7);
	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		char *key = middle + keys[i].from_name;

		prof_instant_prof_default(middle, meta, 0, 4, key, 0);
		e = next(keys[i].words);
		is_named(e, "middle");
		assert_true((char *)(stub(e) + (int64_t)e->keys) == key);
		assert_true(e->values[0] == 4 && e->meta == meta);
	}
	/* The stack is further away than a distance can say. */
	elsewhere = __builtin_frame_address(0);
	if ((uint64_t)((uintptr_t)elsewhere - (uintptr_t)prof_instant_prof_default) >> 32 == 0)
		skip();
	prof_instant_prof_default(elsewhere, meta, 0, 4, elsewhere + 1, 0);
	e = next(5);
	assert_true(e->name == NAME_FAR && e->keys == NAME_FAR && e->values[0] == 4);
	prof_instant_prof_default(elsewhere, 0, 0, 0, NULL, 0);
	assert_int_equal(next(3)->name, NAME_FAR);
}

#define WORDS(n) ((uint64_t)(n) << 56)
#define A	 (1ull << 52)
#define NEAR	 (1ull << 53)
#define B	 (1ull << 54)
#define BEFORE	 (1ull << 55)

static bool is_read(uint64_t name, uint64_t head)
{
	const uint64_t event[8] = { 1, name << 32, head };

	memset(&seen, 0xff, sizeof(seen));
	return batch_event_parse(event, &seen);
}

/* Never more than the words it has. */
static void what_makes_no_sense(void **state)
{
	(void)state;
	assert_true(is_read(0, WORDS(3)));
	assert_false(is_read(0, WORDS(3) | A));
	assert_true(is_read(0, WORDS(4) | A));
	assert_false(is_read(0, WORDS(4) | A | B));
	assert_true(is_read(0, WORDS(5) | A | B));
	assert_false(is_read(0, WORDS(3) | META_NAME_DYNAMIC));
	assert_false(is_read(0, WORDS(4) | 1));
	assert_true(is_read(0, WORDS(5) | 1));
	assert_false(is_read(0, WORDS(3) | NEAR | 1));
	assert_true(is_read(0, WORDS(4) | NEAR | 1));
	assert_false(is_read(0, WORDS(8) | NEAR)); /* near are the keys of one or two */
	assert_false(is_read(0, WORDS(8) | NEAR | 3));
	assert_false(is_read(0, WORDS(8) | 7));
	assert_false(is_read(0, WORDS(255) | 15));
	/* Keys that would be where no distance reaches. */
	assert_true(is_read(0x7fffffff, WORDS(4) | NEAR | 1 | 0xffffffull << 16));
	assert_int_equal(seen.keys, NAME_FAR);
	assert_true(is_read(0x80000000, WORDS(4) | NEAR | 1));
	assert_int_equal(seen.keys, NAME_FAR);
	assert_true(seen.meta == (1 | META_IN_REGISTERS));
}

/* An event at 4 whose name is `back` words before it, in one that has `head`; or 0. */
static size_t is_named_by(uint64_t back, uint64_t head, uint64_t length, uint64_t own)
{
	const uint64_t events[] = { 1, 0, head, length, 1, back << 32, own };
	uint64_t named[BATCH_EVENT_WORDS_MOST];

	return batch_event_add_name(events, 4, named);
}

static void names_that_are_not_there(void **state)
{
	const uint64_t whole = WORDS(4) | META_NAME_DYNAMIC, own = WORDS(3) | META_NAME_DYNAMIC;

	(void)state;
	assert_int_equal(is_named_by(4, whole, 0, own | BEFORE), 4);
	assert_int_equal(is_named_by(4, whole, 0, own), 0);
	assert_int_equal(is_named_by(4, whole, 0, WORDS(3) | BEFORE), 0);
	assert_int_equal(is_named_by(4, whole, 0, own | BEFORE | NEAR | 1), 0);
	assert_int_equal(is_named_by(4, whole, 0, own | BEFORE | META_CATEGORIES), 0);
	assert_int_equal(is_named_by(4, whole, 0, own | BEFORE | A), 0);
	/* Nowhere, inside of itself, before the first one, in the middle. */
	assert_int_equal(is_named_by(0, whole, 0, own | BEFORE), 0);
	assert_int_equal(is_named_by(2, whole, 0, own | BEFORE), 0);
	assert_int_equal(is_named_by(5, whole, 0, own | BEFORE), 0);
	assert_int_equal(is_named_by(UINT32_MAX, whole, 0, own | BEFORE), 0);
	assert_int_equal(is_named_by(3, whole, 0, own | BEFORE), 0);
	/* An event that has no name either, or less than it says, or reaches into this one. */
	assert_int_equal(is_named_by(4, whole | BEFORE, 0, own | BEFORE), 0);
	assert_int_equal(is_named_by(4, WORDS(4), 0, own | BEFORE), 0);
	assert_int_equal(is_named_by(4, whole, 1, own | BEFORE), 0);
	assert_int_equal(is_named_by(4, whole, UINT32_MAX, own | BEFORE), 0);
	assert_int_equal(is_named_by(4, WORDS(5) | META_NAME_DYNAMIC, 1, own | BEFORE), 0);
	assert_int_equal(is_named_by(4, whole, STRING_NULL | 9, own | BEFORE), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(marks_without_pairs),
		cmocka_unit_test(pairs),
		cmocka_unit_test(objects_and_copied_names),
		cmocka_unit_test(names_are_written_once),
		cmocka_unit_test(far_away),
		cmocka_unit_test(what_makes_no_sense),
		cmocka_unit_test(names_that_are_not_there),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
