/* SPDX-License-Identifier: BSD-2-Clause */
/* What does not go at once goes later, all of it, in order, and nobody waits for it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/outbox.h"

#define PARTS 100
#define PART  10007

static void fill(char *bytes, unsigned i)
{
	size_t k;

	for (k = 0; k < PART; k++)
		bytes[k] = (char)(i * 31 + k % 127);
}

static void slow_reader_gets_all(void **state)
{
	static char bytes[PART], got[PART];
	struct outbox o = { 0 };
	size_t have = 0, all = 0;
	int sockets[2];
	unsigned i;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
	for (i = 0; i < PARTS; i++) {
		fill(bytes, i);
		assert_int_equal(outbox_put(&o, sockets[0], bytes, PART, 2), 0);
	}
	assert_true(o.bytes > 0 && o.bytes < PARTS * PART);
	assert_true(o.events > 0 && o.events < 2 * PARTS && o.events % 2 == 0);
	assert_int_equal(outbox_send(&o, sockets[0]), -EAGAIN);
	for (i = 0; i < PARTS;) {
		ssize_t n = recv(sockets[1], got + have, PART - have, 0);

		assert_true(n > 0);
		have += n;
		all += n;
		if (have == PART) {
			fill(bytes, i++);
			assert_memory_equal(got, bytes, PART);
			have = 0;
		}
		outbox_send(&o, sockets[0]);
	}
	assert_int_equal(all, PARTS * PART);
	assert_int_equal(outbox_send(&o, sockets[0]), 0);
	assert_null(o.first);
	assert_int_equal(o.bytes, 0);
	assert_int_equal(o.events, 0);
	close(sockets[0]);
	close(sockets[1]);
}

static void reader_that_takes_nothing_is_known(void **state)
{
	static char bytes[PART];
	struct outbox o = { 0 };
	uint64_t before_ns;
	int sockets[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
	while (!o.first)
		assert_int_equal(outbox_put(&o, sockets[0], bytes, PART, 1), 0);
	assert_int_equal(o.stalled_ns, 0);
	usleep(1000);
	assert_int_equal(outbox_send(&o, sockets[0]), -EAGAIN);
	before_ns = o.stalled_ns;
	assert_true(before_ns >= 1000000);
	/* An hour between two attempts was not the reader's. */
	o.tried_ns -= 3600000000000ull;
	assert_int_equal(outbox_send(&o, sockets[0]), -EAGAIN);
	assert_true(o.stalled_ns < before_ns + 1000000000);
	close(sockets[1]);
	assert_int_equal(outbox_send(&o, sockets[0]), -EPIPE);
	outbox_clear(&o);
	assert_null(o.first);
	close(sockets[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slow_reader_gets_all),
		cmocka_unit_test(reader_that_takes_nothing_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
