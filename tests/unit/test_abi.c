/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The header and the tracer define their common binary interface separately, because the header
 * includes nothing of the tracer. The compiler compares them here.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <proftrace.h>

#include "bpf/event.h"

#define SAME(ours, theirs) \
	_Static_assert((uint64_t)(ours) == (uint64_t)(theirs), #ours " is not " #theirs)
#define SAME_FIELD(field)                                                                        \
	_Static_assert(offsetof(struct batch_head, field) == offsetof(struct prof_batch, field), \
		       "struct prof_batch has another layout at " #field)

#define NUMBER(number, kind, id, name) KIND_##kind = (number),
enum {
	PROF_IMPL_EACH_KIND(NUMBER, , ) PROF_IMPL_EACH_CONTROL_KIND(NUMBER, , )
};

SAME(RECORD_BEGIN, KIND_begin);
SAME(RECORD_END, KIND_end);
SAME(RECORD_INSTANT, KIND_instant);
SAME(RECORD_COUNTER, KIND_counter);
SAME(RECORD_ASYNC_BEGIN, KIND_async_begin);
SAME(RECORD_ASYNC_END, KIND_async_end);
SAME(RECORD_FLOW_OUT, KIND_flow_out);
SAME(RECORD_FLOW_IN, KIND_flow_in);
SAME(RECORD_ALLOC, KIND_alloc);
SAME(RECORD_FREE, KIND_free);
SAME(RECORD_THREAD_NAME, KIND_thread_name);
SAME(RECORD_STEP, KIND_step);
SAME(RECORD_PAUSE, KIND_pause);
SAME(RECORD_RESUME, KIND_resume);
SAME(RECORD_DUMP, KIND_dump);
SAME(RECORD_STOP, KIND_stop);
SAME(RECORD_INCLUDE_JSON, KIND_include_json);
SAME(RECORD_SCOPE_PUSH, KIND_scope_push);
SAME(RECORD_SCOPE_POP, KIND_scope_pop);

SAME(VALUE_INT, PROF_VALUE_INT);
SAME(VALUE_UINT, PROF_VALUE_UINT);
SAME(VALUE_DOUBLE, PROF_VALUE_DOUBLE);
SAME(VALUE_STRING, PROF_VALUE_STRING);
SAME(VALUE_BOOL, PROF_VALUE_BOOL);
SAME(VALUE_POINTER, PROF_VALUE_POINTER);

SAME(META_NAME_DYNAMIC, PROF_META_NAME_DYNAMIC);
SAME(META_HAS_STRINGS, PROF_META_HAS_STRINGS);
SAME(META_IN_REGISTERS, PROF_META_IN_REGISTERS);
SAME(META_CATEGORIES, PROF_META_HAS_CATEGORIES);
SAME(META_CLASS(META_CLASS_MARKER), PROF_META_OBJECT(PROF_OBJECT_MARKER));
SAME(META_CLASS(META_CLASS_FRAME), PROF_META_OBJECT(PROF_OBJECT_FRAME));
SAME(META_CLASS(META_CLASS_SPLIT), PROF_META_OBJECT(PROF_OBJECT_ARGUMENTS));
SAME(META_CLASS(META_CLASS_SLICE_AT), PROF_META_OBJECT(PROF_OBJECT_SLICE_AT));
SAME(META_CLASS(META_CLASS_INSTANT_AT), PROF_META_OBJECT(PROF_OBJECT_INSTANT_AT));
SAME(META_CLASS(META_CLASS_CLOCK_READING), PROF_META_OBJECT(PROF_OBJECT_CLOCK_READING));
SAME(META_SCOPE_TICKS, PROF_SCOPE_TICKS);
SAME(META_OBJECT(PROF_META_SCOPE(5) | PROF_META_OBJECT(PROF_OBJECT_FRAME)),
     5 | META_CLASS_FRAME << 4);
SAME(META_NOT_IN(1) | META_NOT_IN(3), PROF_META_NOT_ON(1 | 4));
SAME(META_BITS, PROF_IMPL_META_BITS);

SAME(BATCH_EVENT_A, PROF_IMPL_A_FOLLOWS);
SAME(BATCH_EVENT_B, PROF_IMPL_B_FOLLOWS);
SAME(BATCH_EVENT_KEYS_NEAR, PROF_IMPL_KEYS_NEAR);
SAME(BATCH_EVENT_NAME_BEFORE, PROF_IMPL_NAME_BEFORE);
SAME(BATCH_KEYS_NEAR, PROF_IMPL_NEAR);
SAME(STRING_CUT, PROF_IMPL_STRING_CUT);
SAME(STRING_NULL, PROF_IMPL_STRING_NULL);
SAME(MAX_NAME, PROF_IMPL_NAME_KEPT);
SAME(MAX_STRING, PROF_IMPL_STRING_KEPT);

SAME(BATCH_VERSION, PROF_IMPL_BATCH_VERSION);
SAME(BATCH_MAX, PROF_IMPL_BATCH_SIZE);
SAME(BATCH_STUCK, PROF_IMPL_BATCH_STUCK);
SAME(BATCH_FULL, PROF_IMPL_BATCH_FULL);
SAME(BATCH_NEW, PROF_IMPL_BATCH_NEW);
SAME(BATCH_ALONE, PROF_IMPL_BATCH_ALONE);
SAME(BATCH_STRINGS, PROF_IMPL_BATCH_STRINGS);
SAME(META_OWNED, PROF_META_OWNED);
SAME(BATCH_SLOTS, PROF_IMPL_BATCHES);
SAME(BATCH_SLOTS_FROM, offsetof(struct prof_batches, batches));
SAME(sizeof(struct batch_head), sizeof(struct prof_batch));
SAME_FIELD(version);
SAME_FIELD(used);
SAME_FIELD(size);
SAME_FIELD(complete);
SAME_FIELD(base);
SAME_FIELD(events);
SAME_FIELD(turn);
SAME_FIELD(stuck);
SAME_FIELD(owner);
SAME_FIELD(flush);

/* A closed batch claims to be fuller than any, and BATCH_USED() restores how full it was. */
static void test_closed_batch(void **state)
{
	const struct batch_head head = { .used = 4096 + PROF_IMPL_BATCH_CLOSED };
	const uint64_t event[BATCH_EVENT_HEAD] = { 0, 0, PROF_IMPL_WORDS(7) | META_BITS };

	(void)state;
	assert_int_equal(BATCH_USED(&head), 4096);
	assert_true((int)PROF_IMPL_BATCH_CLOSED > (int)BATCH_MAX);
	assert_int_equal(BATCH_EVENT_WORDS(event), 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_closed_batch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
