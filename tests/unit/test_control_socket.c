/* SPDX-License-Identifier: BSD-2-Clause */
/* Recorders that look whether another one is still there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/control.h"

#define NAME "1" CONTROL_SUFFIX

/* A recorder that was stopped accepts nobody, and the kernel keeps some calls for it: none waits. */
static void nobody_waits_for_one_that_is_stopped(void **state)
{
	char path[] = "/tmp/test_control_socket.XXXXXX";
	int directory, listener, calls[64], n = 0;

	(void)state;
	assert_non_null(mkdtemp(path));
	directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(directory >= 0);
	listener = control_listen(directory, NAME);
	assert_true(listener >= 0);
	alarm(30); /* ends the test if it does wait */
	while (n < 64 && (calls[n] = control_connect(directory, NAME, false)) >= 0)
		n++;
	assert_true(n < 64);
	assert_int_equal(calls[n], -EAGAIN);
	/* And one that has ended is told from it. */
	close(listener);
	assert_int_equal(control_connect(directory, NAME, false), -ECONNREFUSED);
	alarm(0);
	while (n)
		close(calls[--n]);
	unlinkat(directory, NAME, 0);
	close(directory);
	rmdir(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_waits_for_one_that_is_stopped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
