/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading by threads that can be left (tracee/memory/target_memory.c): which reads are waited for, and how many may be stuck. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "privilege/privileges.h"
#include "tracee/memory/target_memory.h"

#define MANY 1000 /* processes whose lists cannot be read */

static int released = -1;

/* As a process that holds the lock of its memory. */
static ssize_t stuck(int fd, uint64_t at, void *out, size_t size)
{
	struct pollfd p = { .fd = released, .events = POLLIN };

	(void)fd, (void)at, (void)size;
	poll(&p, 1, -1);
	*(char *)out = 's';
	return 1;
}

static ssize_t quick(int fd, uint64_t at, void *out, size_t size)
{
	(void)fd, (void)size;
	*(char *)out = (char)at;
	return 1;
}

/* Longer than a lock is waited for. */
static ssize_t busy(int fd, uint64_t at, void *out, size_t size)
{
	uint64_t until_ns = clock_ns(CLOCK_MONOTONIC) + 150000000;

	while (clock_ns(CLOCK_MONOTONIC) < until_ns)
		;
	return quick(fd, at, out, size);
}

static ssize_t policy(int fd, uint64_t at, void *out, size_t size)
{
	(void)fd, (void)at, (void)size;
	*(char *)out = (char)sched_getscheduler(0);
	return 1;
}

static struct target_memory *memory_new(void)
{
	struct target_memory *m = target_memory_new(open("/dev/null", O_RDONLY | O_CLOEXEC));

	assert_non_null(m);
	return m;
}

static void begin_stuck(void)
{
	released = eventfd(0, EFD_CLOEXEC);
	assert_true(released >= 0);
}

static void release(void)
{
	assert_int_equal(eventfd_write(released, 1), 0);
}

static void work_is_waited_for(void **state)
{
	struct target_memory *m = memory_new();
	uint64_t before_ns = target_memory_cpu_ns();
	char byte = 0;

	(void)state;
	assert_int_equal(target_memory_read_by(m, busy, 'b', &byte, 1), 1);
	assert_int_equal(byte, 'b');
	assert_true(target_memory_cpu_ns() > before_ns);
	assert_false(target_memory_is_awaited(m));
	target_memory_free(m);
}

static void one_is_stuck(void **state)
{
	struct target_memory *m = memory_new(), *other = memory_new();
	char byte = 0;

	(void)state;
	begin_stuck();
	assert_int_equal(target_memory_read_by(m, stuck, 0, &byte, 1), -EAGAIN);
	assert_true(target_memory_is_awaited(m));
	/* Nobody else waits for it. */
	assert_int_equal(target_memory_read_by(m, quick, 'q', &byte, 1), -EAGAIN);
	assert_int_equal(target_memory_read_by(other, quick, 'q', &byte, 1), 1);
	assert_int_equal(byte, 'q');
	release();
	while (target_memory_is_awaited(m))
		sched_yield();
	assert_int_equal(target_memory_read_by(m, quick, 'a', &byte, 1), 1);
	assert_int_equal(byte, 'a');
	target_memory_free(m);
	target_memory_free(other);
	close(released);
}

static unsigned count_threads(void)
{
	char line[128];
	unsigned n = 0;
	FILE *status = fopen("/proc/self/status", "re");

	assert_non_null(status);
	while (fgets(line, sizeof(line), status))
		sscanf(line, "Threads: %u", &n);
	fclose(status);
	return n;
}

/* However many there are of others. */
static void of_another_user_is_read(void)
{
	int fd = memfd_create("owned", MFD_CLOEXEC);
	struct target_memory *m;
	char byte = 0;

	assert_true(fd >= 0);
	/* Only root can make it so. */
	if (fchown(fd, geteuid() + 1, (gid_t)-1)) {
		close(fd);
		return;
	}
	m = target_memory_new(fd);
	assert_int_equal(target_memory_read_by(m, quick, 'o', &byte, 1), 1);
	assert_int_equal(byte, 'o');
	target_memory_free(m);
}

static void many_are_stuck(void **state)
{
	struct target_memory *m[MANY], *other = memory_new();
	unsigned i, n_stuck = 0;
	char byte;

	(void)state;
	begin_stuck();
	for (i = 0; i < MANY; i++) {
		m[i] = memory_new();
		assert_int_equal(target_memory_read_by(m[i], stuck, 0, &byte, 1), -EAGAIN);
		n_stuck += target_memory_is_awaited(m[i]);
	}
	assert_true(n_stuck > 10 && n_stuck < 100);
	of_another_user_is_read();
	assert_true(count_threads() <= n_stuck + 3);
	release();
	while (target_memory_read_by(other, quick, 'q', &byte, 1) == -EAGAIN)
		sched_yield();
	assert_int_equal(byte, 'q');
	for (i = 0; i < MANY; i++) {
		while (target_memory_is_awaited(m[i]))
			sched_yield();
		target_memory_free(m[i]);
	}
	target_memory_free(other);
	close(released);
}

/* The thread that reads for a real-time thread is one, and no other is. */
static void hurries_with_its_caller(void **state)
{
	struct target_memory *m = memory_new();
	char is = -1;

	(void)state;
	if (privileges_use_priority(true))
		skip();
	target_memory_hurry(true);
	assert_int_equal(target_memory_read_by(m, policy, 0, &is, 1), 1);
	assert_int_equal(is, SCHED_FIFO);
	assert_int_equal(privileges_use_priority(false), 0);
	target_memory_hurry(false);
	assert_int_equal(target_memory_read_by(m, policy, 0, &is, 1), 1);
	assert_int_equal(is, SCHED_OTHER);
	target_memory_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_is_waited_for),
		cmocka_unit_test(hurries_with_its_caller),
		cmocka_unit_test(one_is_stuck),
		cmocka_unit_test(many_are_stuck),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
