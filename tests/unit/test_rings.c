/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Several ring buffers read as one. The kernel's side is played here, one step of one thread at a time,
 * so that a thread can lose its CPU at every moment: before it takes the time, before it gets its room,
 * before its record is complete.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/rings.h"
#include "base/clock.h"
#include "bpf/event.h"

#define BUFFERS 4
#define SIZE	65536
#define RECORDS 40000

/* A ring buffer as the kernel shows it, in memory of our own. */
struct buffer {
	int fd;
	char *memory; /* consumer, producer, data, and the data once more */
	uint64_t *consumer, *producer;
	char *data;
};

struct fixture {
	struct buffer buffers[BUFFERS];
	struct rings *rings;
	unsigned n_taken, stop_after;
	uint32_t taken[RECORDS + 1];

	/* Of each record: how many were complete as it began, and the how-manieth it was to become so. */
	uint32_t begun_after[RECORDS], completed_as[RECORDS];
	uint32_t n_completed;
	/* By the order of completion: whether it has been handed on; the first that has not. */
	bool handed[RECORDS];
	uint32_t first_missing;
	unsigned out_of_order;
};

static int take(void *context, void *record, size_t size)
{
	struct fixture *f = context;
	const struct record *r = record;
	uint32_t id = r->site;

	assert_int_equal(size, sizeof(*r));
	assert_true(f->n_taken < RECORDS);
	f->taken[f->n_taken++] = id;
	f->out_of_order += f->first_missing < f->begun_after[id];
	f->handed[f->completed_as[id]] = true;
	while (f->first_missing < RECORDS && f->handed[f->first_missing])
		f->first_missing++;
	return f->stop_after && f->n_taken == f->stop_after ? -EAGAIN : 0;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	size_t page = sysconf(_SC_PAGESIZE), size = 2 * page + 2 * SIZE;
	int fds[BUFFERS], i;

	for (i = 0; i < BUFFERS; i++) {
		struct buffer *b = &f->buffers[i];

		fds[i] = b->fd = memfd_create("ring", MFD_CLOEXEC);
		assert_int_equal(ftruncate(b->fd, size), 0);
		b->memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, b->fd, 0);
		assert_ptr_not_equal(b->memory, MAP_FAILED);
		b->consumer = (uint64_t *)b->memory;
		b->producer = (uint64_t *)(b->memory + page);
		b->data = b->memory + 2 * page;
	}
	assert_int_equal(rings_open(fds, BUFFERS, SIZE, take, f, &f->rings), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	int i;

	rings_close(f->rings);
	for (i = 0; i < BUFFERS; i++) {
		munmap(f->buffers[i].memory,
		       (size_t)(f->buffers[i].data - f->buffers[i].memory) + 2 * SIZE);
		close(f->buffers[i].fd);
	}
	free(f);
	return 0;
}

static void store(struct buffer *b, uint64_t at, const void *bytes, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++) {
		size_t place = (at + i) & (SIZE - 1);

		b->data[place] = b->data[place + SIZE] = ((const char *)bytes)[i];
	}
}

#define TAKES (BPF_RINGBUF_HDR_SZ + sizeof(struct record))

/* As bpf_ringbuf_reserve(): the place, or UINT64_MAX. */
static uint64_t reserve(struct buffer *b)
{
	uint32_t header[2] = { sizeof(struct record) | BPF_RINGBUF_BUSY_BIT, 0 };
	uint64_t at = *b->producer;

	if (at - *b->consumer + TAKES > SIZE)
		return UINT64_MAX;
	store(b, at, header, sizeof(header));
	*b->producer = at + TAKES;
	return at;
}

static void submit(struct buffer *b, uint64_t at, unsigned kind, uint32_t id, uint64_t ts,
		   uint32_t bits)
{
	const struct record r = { .ts = ts, .kind = kind, .site = id };
	uint32_t header = sizeof(r) | bits;

	store(b, at + BPF_RINGBUF_HDR_SZ, &r, sizeof(r));
	store(b, at, &header, sizeof(header));
}

static uint64_t now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static void let_time_pass(void)
{
	uint64_t until = now() + 50000;

	while (now() < until)
		;
}

static void write_one(struct fixture *f, unsigned buffer, uint32_t id, uint64_t ts)
{
	uint64_t at = reserve(&f->buffers[buffer]);

	assert_true(at != UINT64_MAX);
	submit(&f->buffers[buffer], at, RECORD_END, id, ts, 0);
	f->completed_as[id] = f->n_completed++;
}

static void assert_taken(const struct fixture *f, unsigned n, const uint32_t *ids)
{
	assert_int_equal(f->n_taken, n);
	assert_memory_equal(f->taken, ids, n * sizeof(*ids));
}

static void by_time_whatever_the_buffer(void **state)
{
	struct fixture *f = *state;
	uint64_t ns = now() - 1000000;

	write_one(f, 0, 1, ns + 10);
	write_one(f, 0, 4, ns + 40);
	write_one(f, 1, 2, ns + 20);
	write_one(f, 3, 0, ns);
	write_one(f, 3, 3, ns + 30);
	write_one(f, 3, 5, ns + 50);
	assert_int_equal(rings_drain(f->rings, 1000), 0);
	assert_taken(f, 6, (const uint32_t[]){ 0, 1, 2, 3, 4, 5 });
	assert_int_equal(*f->buffers[3].consumer, *f->buffers[3].producer);
}

/* A record that is not complete holds up what is behind it, and what may be later than that. */
static void what_is_not_complete_is_waited_for(void **state)
{
	struct fixture *f = *state;
	uint64_t ns = now(), at = reserve(&f->buffers[0]);

	write_one(f, 0, 1, ns + 10);
	write_one(f, 1, 2, ns + 20);
	let_time_pass();
	assert_int_equal(rings_drain(f->rings, 1000), -EAGAIN);
	assert_int_equal(rings_drain(f->rings, 1000), -EAGAIN);
	assert_int_equal(f->n_taken, 0);
	submit(&f->buffers[0], at, RECORD_BEGIN, 0, ns + 15, 0);
	f->completed_as[0] = f->n_completed++;
	assert_int_equal(rings_drain(f->rings, 1000), 0);
	assert_taken(f, 3, (const uint32_t[]){ 1, 0, 2 });
}

/* What lies before the time of a record that has been seen need not wait for one that has not. */
static void what_is_certain_goes_on(void **state)
{
	struct fixture *f = *state;
	uint64_t ns = now(), at;

	write_one(f, 0, 0, ns);
	write_one(f, 0, 1, ns + 20);
	write_one(f, 1, 2, ns + 10);
	write_one(f, 1, 3, ns + 30);
	let_time_pass();
	at = reserve(&f->buffers[0]);
	assert_int_equal(rings_drain(f->rings, 1000), -EAGAIN);
	assert_taken(f, 3, (const uint32_t[]){ 0, 2, 1 });
	submit(&f->buffers[0], at, RECORD_END, 4, ns + 40, BPF_RINGBUF_DISCARD_BIT);
	assert_int_equal(rings_drain(f->rings, 1000), 0);
	assert_taken(f, 4, (const uint32_t[]){ 0, 2, 1, 3 });
}

static void a_late_one_is_handed_on_at_once(void **state)
{
	struct fixture *f = *state;
	uint64_t ns = now();

	write_one(f, 0, 0, ns + 100);
	let_time_pass();
	assert_int_equal(rings_drain(f->rings, 1000), 0);
	write_one(f, 1, 1, ns);
	assert_int_equal(rings_drain(f->rings, 1000), 0);
	assert_taken(f, 2, (const uint32_t[]){ 0, 1 });
}

static void stops_where_it_is_told_to(void **state)
{
	struct fixture *f = *state;
	uint64_t ns = now() - 1000000;
	uint32_t i;

	for (i = 0; i < 40; i++)
		write_one(f, i % BUFFERS, i, ns + i);
	f->stop_after = 3;
	assert_int_equal(rings_drain(f->rings, 12), -EAGAIN);
	assert_int_equal(f->n_taken, 3);
	assert_int_equal(*f->buffers[0].consumer, TAKES);
	assert_int_equal(*f->buffers[3].consumer, 0);
	/* And looks no further than it may. */
	f->stop_after = 0;
	for (i = 0; i < 100 && rings_drain(f->rings, 8); i++)
		;
	assert_true(i > 1 && i < 100);
	assert_int_equal(f->n_taken, 40);
	for (i = 0; i < 40; i++)
		assert_int_equal(f->taken[i], i);
}

static void at_the_end_nothing_is_waited_for(void **state)
{
	struct fixture *f = *state;
	uint64_t ns = now();

	write_one(f, 0, 0, ns + 1000000000);
	write_one(f, 1, 1, ns + 2000000000);
	let_time_pass();
	rings_drain(f->rings, 1000);
	rings_end(f->rings);
	assert_int_equal(rings_drain(f->rings, 1000), 0);
	assert_taken(f, 2, (const uint32_t[]){ 0, 1 });
}

/* As it comes, whatever the times say. */
static void one_alone(void **state)
{
	struct fixture *f = *state;
	uint64_t ns = now(), at;

	rings_close(f->rings);
	assert_int_equal(rings_open(&f->buffers[0].fd, 1, SIZE, take, f, &f->rings), 0);
	write_one(f, 0, 0, ns + 1);
	write_one(f, 0, 1, ns);
	at = reserve(&f->buffers[0]);
	write_one(f, 0, 3, ns + 2);
	let_time_pass();
	assert_int_equal(rings_drain(f->rings, 1000), 0);
	assert_taken(f, 2, (const uint32_t[]){ 0, 1 });
	assert_int_equal(*f->buffers[0].consumer, at);
	assert_true(rings_known_ns(f->rings) < ns);
	submit(&f->buffers[0], at, RECORD_END, 2, ns + 3, 0);
	f->completed_as[2] = f->n_completed++;
	f->stop_after = 3;
	assert_int_equal(rings_drain(f->rings, 1000), -EAGAIN);
	assert_int_equal(f->n_taken, 3);
	assert_int_equal(rings_drain(f->rings, 1000), 0);
	assert_taken(f, 4, (const uint32_t[]){ 0, 1, 2, 3 });
	assert_int_equal(*f->buffers[0].consumer, *f->buffers[0].producer);
	assert_true(rings_known_ns(f->rings) > ns && rings_known_ns(f->rings) < now());
}

static void refuses_what_cannot_be(void **state)
{
	struct rings *r;
	int fd = -1;

	(void)state;
	assert_int_equal(rings_open(&fd, 0, SIZE, take, NULL, &r), -EINVAL);
	assert_int_equal(rings_open(&fd, MAX_BUFFERS + 1, SIZE, take, NULL, &r), -EINVAL);
	assert_int_equal(rings_open(&fd, 1, SIZE - 8, take, NULL, &r), -EINVAL);
	assert_int_equal(rings_open(&fd, 1, SIZE, take, NULL, &r), -EBADF);
}

/* --- any threads ---------------------------------------------------------------------------------- */

/* A thread that marks, as far as it has come. */
struct thread {
	enum {
		IDLE,
		TIMED,
		RESERVE
	} step;
	unsigned kind, buffer;
	uint32_t id;
	uint64_t ts, at;
};

#define THREADS 12

/* One step of one thread; on any CPU, as far as the kernel lets it move. */
static void go_on(struct fixture *f, struct thread *t, uint32_t *n)
{
	switch (t->step) {
	case IDLE:
		if (*n == RECORDS)
			return;
		t->kind = rand() % 2 ? RECORD_BEGIN : RECORD_END;
		t->id = (*n)++;
		f->begun_after[t->id] = f->n_completed;
		f->completed_as[t->id] = UINT32_MAX;
		t->ts = t->kind == RECORD_BEGIN ? 0 : now();
		t->step = TIMED;
		break;
	case TIMED:
		t->buffer = rand() % BUFFERS;
		t->at = reserve(&f->buffers[t->buffer]);
		if (t->at != UINT64_MAX)
			t->step = RESERVE;
		break;
	case RESERVE:
		if (!t->ts)
			t->ts = now();
		submit(&f->buffers[t->buffer], t->at, t->kind, t->id, t->ts, 0);
		f->completed_as[t->id] = f->n_completed++;
		t->step = IDLE;
		break;
	}
}

static void what_happened_before_comes_before(void **state)
{
	struct fixture *f = *state;
	struct thread threads[THREADS] = { 0 };
	uint32_t n = 0, early;

	srand(1);
	while (f->n_completed < RECORDS) {
		/* Some have the CPU often, some hardly ever. */
		unsigned i = rand() % THREADS, times = rand() % (i < 2 ? 2 : 8);

		if (i < 2 && rand() % 16 && n < RECORDS)
			continue;
		while (times--)
			go_on(f, &threads[i], &n);
		if (rand() % 32 == 0)
			rings_drain(f->rings, 1 + rand() % 2000);
	}
	early = f->n_taken;
	rings_end(f->rings);
	while (rings_drain(f->rings, 1000))
		;
	assert_int_equal(f->n_taken, RECORDS);
	assert_int_equal(f->out_of_order, 0);
	/* Not all of it at the end, where everything is certain. */
	assert_true(early > RECORDS / 2);
}

#define LARGE	   (4u << 20)
#define LARGE_BODY 99992u /* and a head of 8 bytes: no divisor of the size */

struct large {
	unsigned n_taken;
	bool wrong;
};

/* The first and the last word of a record are its number. */
static int take_large(void *context, void *record, size_t size)
{
	struct large *l = context;
	const uint32_t *words = record;

	l->wrong |= size != LARGE_BODY || words[0] != l->n_taken ||
		    words[LARGE_BODY / sizeof(*words) - 1] != l->n_taken;
	l->n_taken++;
	return 0;
}

/* More than is mapped at first, three times around, through the end of the data and of what is mapped. */
static void all_of_a_large_one_is_reached(void **state)
{
	size_t page = sysconf(_SC_PAGESIZE), size = 2 * page + 2 * LARGE, i;
	int fd = memfd_create("ring", MFD_CLOEXEC);
	struct large l = { 0 };
	uint64_t *producer, at = 0;
	struct rings *rings;
	char *memory, *data;
	uint32_t n, word;

	(void)state;
	assert_int_equal(ftruncate(fd, size), 0);
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	producer = (uint64_t *)(memory + page);
	data = memory + 2 * page;
	assert_int_equal(rings_open(&fd, 1, LARGE, take_large, &l, &rings), 0);
	for (n = 0; n < 3 * LARGE / (LARGE_BODY + 8); n++) {
		for (i = 0; i < LARGE_BODY + 8; i += sizeof(word)) {
			size_t place = (at + i) & (LARGE - 1);

			word = i == 0 ? LARGE_BODY : i == 4 ? 0 : n;
			memcpy(data + place, &word, sizeof(word));
			memcpy(data + place + LARGE, &word, sizeof(word));
		}
		at += LARGE_BODY + 8;
		*producer = at;
		assert_int_equal(rings_drain(rings, 1000), 0);
		assert_int_equal(l.n_taken, n + 1);
	}
	assert_false(l.wrong);
	rings_close(rings);
	munmap(memory, size);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(by_time_whatever_the_buffer, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_not_complete_is_waited_for, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_is_certain_goes_on, setup, teardown),
		cmocka_unit_test_setup_teardown(a_late_one_is_handed_on_at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(stops_where_it_is_told_to, setup, teardown),
		cmocka_unit_test_setup_teardown(at_the_end_nothing_is_waited_for, setup, teardown),
		cmocka_unit_test_setup_teardown(one_alone, setup, teardown),
		cmocka_unit_test(refuses_what_cannot_be),
		cmocka_unit_test(all_of_a_large_one_is_reached),
		cmocka_unit_test_setup_teardown(what_happened_before_comes_before, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
