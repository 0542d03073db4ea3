/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Marks in batches that were lost, and yet seen: read in the program's memory before, or in a batch that
 * comes at the end. None counts twice.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "capture/batch/batch.h"
#include "proftrace.skel.h"
#include "tracee/elf_file.h"

#define ADDRESS (1ull << 40)
#define MARKS	3
#define SITE	0

static struct proftrace_bpf__bss shared;
static struct file file;
static struct site site = { .file = &file };
static struct capture capture = { .sites = &site, .n_sites = 1 };

struct batch {
	struct record_batch r;
	uint64_t events[MARKS][BATCH_EVENT_HEAD];
};

static int begin(void **state)
{
	(void)state;
	memset(shared.batch_losses, 0, sizeof(shared.batch_losses));
	assert_int_equal(batches_new(&shared, &capture.batches), 0);
	/* Its memory cannot be read but by who is asked to. */
	batch_process_get(capture.batches, 1)->memory = target_memory_new(-1);
	return 0;
}

static int end(void **state)
{
	(void)state;
	batches_free(capture.batches);
	return 0;
}

#define BIRTH 1000000000ull

/* The kernel counts that the thread lost so many marks in batches. */
static struct batch_loss *lose(uint32_t tid, uint64_t n)
{
	uint64_t thread = batch_loss_thread(tid, BIRTH);
	struct batch_loss *loss =
		&shared.batch_losses[batch_loss_place(thread, shared.batch_losses_secret)];

	loss->thread = thread;
	loss->lost += n;
	loss->last_ns = monotonic_now();
	return loss;
}

static struct batch full_batch(uint64_t reason, uint32_t stuck)
{
	struct batch b = { .r.head = { .kind = RECORD_BATCH, .tgid = 1, .tid = 1, .site = SITE } };
	unsigned i;

	b.r.ops.a = ADDRESS;
	b.r.thread = batch_loss_thread(1, BIRTH);
	b.r.ops.b = reason;
	b.r.batch = (struct batch_head){ .version = BATCH_VERSION, .turn = 2, .stuck = stuck };
	b.r.batch.used = sizeof(b.r.batch) + sizeof(b.events);
	b.r.batch.complete = MARKS << 16 | sizeof(b.events) / 8;
	for (i = 0; i < MARKS; i++) {
		b.events[i][0] = batch_clock_now();
		b.events[i][2] = (uint64_t)BATCH_EVENT_HEAD << 56;
	}
	return b;
}

static void send(const struct batch *b, size_t bytes)
{
	batches_add_record(&capture, &b->r.head, sizeof(b->r) + bytes);
}

/* The batch is there, and empty. */
static struct batch_stream *new_stream(void)
{
	struct batch b = full_batch(BATCH_NEW, 0);
	struct batch_stream *s;

	b.r.batch.used = sizeof(b.r.batch);
	b.r.batch.complete = 0;
	send(&b, 0);
	s = batch_stream_find(capture.batches, 1, ADDRESS);
	assert_non_null(s);
	return s;
}

static void read_in_memory(struct batch_stream *s)
{
	const struct batch b = full_batch(BATCH_FULL, 0);

	lose(1, MARKS);
	batch_stream_add(&capture, s, &b.r.batch, b.events[0], sizeof(b.events), false);
	assert_int_equal(s->events, MARKS);
	/* They are handed on. */
	s->begin = s->end;
}

static void handed_over(void **state)
{
	const struct batch b = full_batch(BATCH_FULL, 0);
	struct batch_stream *s = new_stream();

	(void)state;
	read_in_memory(s);
	send(&b, sizeof(b.events));
	batch_thread_exited(capture.batches, 1, 1);
	assert_int_equal(capture.batches->overlap, 0);
	assert_int_equal(capture.batches->unreadable, 0);
}

static void its_thread_is_over(void **state)
{
	struct batch_stream *s = new_stream();

	(void)state;
	read_in_memory(s);
	batch_thread_exited(capture.batches, 1, 1);
	assert_int_equal(capture.batches->overlap, MARKS);
	batch_stream_free(capture.batches, s);
	assert_int_equal(capture.batches->overlap, MARKS);
}

/* The process's last record has been read, and the turn of its thread's end has not come. */
static void freed_before_that(void **state)
{
	struct batch_stream *s = new_stream();

	(void)state;
	read_in_memory(s);
	batch_process_executed(capture.batches, 1);
	assert_true(s->over);
	batch_stream_free(capture.batches, s);
	batch_thread_exited(capture.batches, 1, 1);
	assert_int_equal(capture.batches->overlap, MARKS);
}

/* A later one of its batches is there, and what it had before is lost: nothing of that was seen. */
static void given_up_unseen(void **state)
{
	struct batch_stream *s = new_stream();
	struct batch b = full_batch(BATCH_FULL, 0);

	(void)state;
	read_in_memory(s);
	b.r.batch.base = 100 * sizeof(b.events);
	b.r.batch.events = 100 * MARKS;
	batch_stream_skip_lost(capture.batches, s, &b.r.batch);
	assert_int_equal(capture.batches->overlap, MARKS);
	batch_stream_free(capture.batches, s);
	assert_int_equal(capture.batches->overlap, MARKS);
}

/* What was told of it before found no room: it is written all the same, and counts once. */
static void comes_at_the_end(void **state)
{
	const struct batch b = full_batch(BATCH_EXIT, 0);
	const struct batch_stream *s;

	(void)state;
	send(&b, sizeof(b.events));
	s = batch_stream_find(capture.batches, 1, ADDRESS);
	assert_non_null(s);
	assert_int_equal(s->events, MARKS);
	send(&b, sizeof(b.events));
	assert_int_equal(s->events, MARKS);
	assert_int_equal(s->end - s->begin, sizeof(b.events) / 8);
	assert_int_equal(capture.batches->unreadable, 0);
}

/* A batch that a fork has copied: what its parent had marked is none of the child's. */
static void has_a_parents_marks(void **state)
{
	struct batch b = full_batch(BATCH_FULL, 0);
	const struct batch_stream *s;

	(void)state;
	b.r.from = sizeof(b.events[0]);
	b.r.from_events = 1;
	send(&b, sizeof(b.events));
	s = batch_stream_find(capture.batches, 1, ADDRESS);
	assert_non_null(s);
	assert_int_equal(s->end - s->begin, (MARKS - 1) * BATCH_EVENT_HEAD);
	assert_int_equal(s->lost, 0);
	assert_int_equal(capture.batches->unreadable, 0);
}

/* They were counted when it was to be handed over, as its thread left it: what comes now is not lost. */
static void left_and_comes_at_the_end(void **state)
{
	const struct batch b = full_batch(BATCH_EXIT, BATCH_STUCK);

	(void)state;
	lose(1, MARKS);
	send(&b, sizeof(b.events));
	assert_int_equal(capture.batches->unreadable, 0);
	assert_int_equal(capture.batches->overlap, MARKS);
}

/* The same of one that is known: what comes now is not lost after all. */
static void left_and_comes_after_all(void **state)
{
	const struct batch b = full_batch(BATCH_EXIT, BATCH_STUCK);
	struct batch_stream *s = new_stream();

	(void)state;
	lose(1, MARKS);
	send(&b, sizeof(b.events));
	assert_int_equal(s->events, MARKS);
	assert_int_equal(capture.batches->overlap, MARKS);
	assert_int_equal(capture.batches->unreadable, 0);
}

/* It says that it was lost before, and the kernel does not. */
static void never_was_lost(void **state)
{
	const struct batch b = full_batch(BATCH_EXIT, BATCH_STUCK);
	const struct batch_loss *others = lose(2, 100);

	(void)state;
	new_stream();
	send(&b, sizeof(b.events));
	assert_int_equal(capture.batches->overlap, 0);
	assert_int_equal(others->seen, 0);
}

/* It says so of more marks than were lost of its thread. */
static void says_that_more_were_lost(void **state)
{
	struct batch b = full_batch(BATCH_EXIT, BATCH_STUCK);
	struct batch_loss *own = lose(1, 2);

	(void)state;
	lose(2, 100);
	b.r.batch.complete = 65535u << 16 | 8;
	new_stream();
	send(&b, sizeof(b.events));
	assert_int_equal(capture.batches->overlap, 2);
	send(&b, sizeof(b.events));
	assert_int_equal(capture.batches->overlap, 2);
	assert_int_equal(own->seen, 2);
}

/* What it was to have is missing, also where its numbers wrap around. */
static void numbers_that_wrap_around(void **state)
{
	struct batch b = full_batch(BATCH_NEW, 0);

	(void)state;
	lose(2, 100);
	b.r.batch.used = sizeof(b.r.batch);
	b.r.batch.complete = 0;
	b.r.batch.events = -(uint64_t)65535;
	send(&b, 0);
	b = full_batch(BATCH_EXIT, BATCH_STUCK);
	b.r.batch.complete = 65535u << 16 | 8;
	send(&b, sizeof(b.events));
	assert_int_equal(capture.batches->overlap, 0);
	assert_int_equal(capture.batches->unreadable, 65535);
}

/* Of a stream that was found in memory, no record has said whose it is. */
static void was_found_in_memory(void **state)
{
	struct batch_thread *t = batch_thread_get(capture.batches, 1, 1);
	const struct batch b = full_batch(BATCH_FULL, 0);
	struct batch_stream *s;

	(void)state;
	/* A thread that had its number before has lost some. */
	lose(1, 100)->last_ns -= 1000000;
	s = batch_stream_new(capture.batches, t, ADDRESS, &file, &b.r.batch);
	batch_stream_add(&capture, s, &b.r.batch, b.events[0], sizeof(b.events), false);
	batch_stream_lost_rest(capture.batches, s);
	assert_int_equal(capture.batches->overlap, 0);
	batch_losses_forget(capture.batches, 1, monotonic_now());
	s->handed_events = 0;
	lose(1, 2);
	batch_stream_lost_rest(capture.batches, s);
	assert_int_equal(capture.batches->overlap, 2);
}

/* Its loss is said to be larger than it was: that of another is reported all the same. */
static void reports_more_than_was_lost(void **state)
{
	struct batch_stream *s = new_stream();

	(void)state;
	lose(1, 2);
	lose(2, 100);
	assert_int_equal(batch_losses_reported(capture.batches, s, UINT32_MAX), 2);
	assert_int_equal(batch_losses_reported(capture.batches, s, 1), 0);
}

/* Its number is another thread's by now, which has lost some as well. */
static void exited_and_number_reused(void **state)
{
	uint64_t exited_ns = monotonic_now() - 1;
	const struct batch_loss *loss = lose(1, 2);

	(void)state;
	batch_losses_forget(capture.batches, 1, exited_ns);
	assert_int_equal(loss->lost, 2);
	batch_losses_forget(capture.batches, 1, monotonic_now());
	assert_int_equal(loss->thread, 0);
	assert_int_equal(loss->lost, 0);
}

/* A process that has mapped more marked files than the table of the kernel may have of it. */
static void has_many_files(void **state)
{
	struct elf_segment code = { .type = PT_LOAD, .flags = PF_X, .filesz = 4096 };
	struct elf_file elf = { .n_segments = 1, .segments = &code };
	const struct file mapped = { .elf = &elf, .batch_slots = 4096, .n_sites = 0 };
	unsigned i, scan, n = 0;

	(void)state;
	capture.shared = &shared;
	capture.loaded.can_loop = true;
	for (scan = 0; scan < 2; scan++) {
		for (i = 0; i < BATCH_TABLES; i++)
			batches_publish_table(&capture, 1, &mapped, ADDRESS + i * 65536ull, 0);
	}
	assert_int_equal(capture.batches->unfollowed, 0);
	for (scan = 0; scan < 2; scan++) {
		for (i = 0; i < 3; i++)
			batches_publish_table(&capture, 1, &mapped, 2 * ADDRESS + i * 65536ull, 0);
	}
	assert_int_equal(capture.batches->unfollowed, 1);
	for (i = 0; i < BATCH_TABLES_ON; i++) {
		const struct batch_found *found =
			&shared.batches_found[(BATCH_FOUND_PLACE(1u << 31 | 1) + i) %
					      BATCHES_FOUND];

		n += found->pid_tgid == BATCH_TABLES_OF(1) && found->address < 2 * ADDRESS;
	}
	assert_int_equal(n, BATCH_TABLES);
	/* Another process has its own. */
	batches_publish_table(&capture, 2, &mapped, ADDRESS, 0);
	assert_int_equal(capture.batches->unfollowed, 1);
	/* So has a program that the process executes. */
	batch_process_executed(capture.batches, 1);
	for (scan = 0; scan < 2; scan++)
		batches_publish_table(&capture, 1, &mapped, 3 * ADDRESS, 0);
	assert_int_equal(capture.batches->unfollowed, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(handed_over, begin, end),
		cmocka_unit_test_setup_teardown(its_thread_is_over, begin, end),
		cmocka_unit_test_setup_teardown(freed_before_that, begin, end),
		cmocka_unit_test_setup_teardown(given_up_unseen, begin, end),
		cmocka_unit_test_setup_teardown(comes_at_the_end, begin, end),
		cmocka_unit_test_setup_teardown(has_a_parents_marks, begin, end),
		cmocka_unit_test_setup_teardown(left_and_comes_at_the_end, begin, end),
		cmocka_unit_test_setup_teardown(left_and_comes_after_all, begin, end),
		cmocka_unit_test_setup_teardown(never_was_lost, begin, end),
		cmocka_unit_test_setup_teardown(says_that_more_were_lost, begin, end),
		cmocka_unit_test_setup_teardown(numbers_that_wrap_around, begin, end),
		cmocka_unit_test_setup_teardown(was_found_in_memory, begin, end),
		cmocka_unit_test_setup_teardown(reports_more_than_was_lost, begin, end),
		cmocka_unit_test_setup_teardown(exited_and_number_reused, begin, end),
		cmocka_unit_test_setup_teardown(has_many_files, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
