/* SPDX-License-Identifier: BSD-2-Clause */
/* Recorders that look whether another one is still there, and whoever asks recorders of all users. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/control/control.h"

#define NAME	 "1" CONTROL_SUFFIX
#define LIMIT_S	 5
#define ENOUGH_S 60

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
	while (n < 64 && (calls[n] = control_connect(directory, NAME)) >= 0)
		n++;
	assert_true(n < 64);
	assert_int_equal(calls[n], -EAGAIN);
	/* And one that has ended is told from it. */
	close(listener);
	assert_int_equal(control_connect(directory, NAME), -ECONNREFUSED);
	alarm(0);
	while (n)
		close(calls[--n]);
	unlinkat(directory, NAME, 0);
	close(directory);
	rmdir(path);
}

/* --- asking ------------------------------------------------------------------------------------- */

enum {
	FULL,
	MUTE,
	DRIPS,
	ANSWERS,
	SHUT,
	SOCKETS
};

static const char *const names[SOCKETS] = {
	"1" CONTROL_SUFFIX, "2" CONTROL_SUFFIX, "3" CONTROL_SUFFIX,
	"4" CONTROL_SUFFIX, "5" CONTROL_SUFFIX,
};

/* The last to be called is a recorder, and one of them never comes to an end. */
static void *serve(void *context)
{
	const int *listeners = context;
	struct pollfd waits[2] = { { listeners[DRIPS], POLLIN, 0 },
				   { listeners[ANSWERS], POLLIN, 0 } };
	int calls[2], i;
	char request[64];

	for (i = 0; i < 2; i++) {
		assert_int_equal(poll(&waits[i], 1, -1), 1);
		calls[i] = accept(waits[i].fd, NULL, NULL);
		assert_true(calls[i] >= 0);
		assert_true(recv(calls[i], request, sizeof(request), 0) > 0);
	}
	assert_int_equal(send(calls[1], "ok yes", 6, MSG_NOSIGNAL), 6);
	close(calls[1]);
	while (send(calls[0], "o", 1, MSG_NOSIGNAL) == 1)
		usleep(20000);
	close(calls[0]);
	return NULL;
}

static void one_does_not_keep_from_hearing_others(void **state)
{
	char path[] = "/tmp/test_control_socket.XXXXXX";
	struct control_call *calls = calloc(SOCKETS, sizeof(*calls));
	int directory, listeners[SOCKETS], waiting[64], n = 0, i;
	uint64_t begun;
	pthread_t server;

	(void)state;
	assert_non_null(calls);
	assert_non_null(mkdtemp(path));
	directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(directory >= 0);
	for (i = 0; i < SOCKETS; i++) {
		listeners[i] = control_listen(directory, names[i]);
		assert_true(listeners[i] >= 0);
		calls[i].directory = directory;
		calls[i].name = names[i];
	}
	while (n < 64 && (waiting[n] = control_connect(directory, names[FULL])) >= 0)
		n++;
	close(listeners[SHUT]);
	assert_int_equal(pthread_create(&server, NULL, serve, listeners), 0);
	alarm(60); /* ends the test if one of them is waited for */
	begun = clock_ns(CLOCK_MONOTONIC);
	control_call_all(calls, SOCKETS, "find 1\n", CONTROL_REPLY, LIMIT_S, NULL);
	assert_true(clock_ns(CLOCK_MONOTONIC) - begun >= LIMIT_S * 1000000000ull);
	pthread_join(server, NULL);
	alarm(0);
	assert_int_equal(calls[FULL].error, -EAGAIN);
	assert_int_equal(calls[MUTE].error, -ETIMEDOUT);
	assert_int_equal(calls[DRIPS].error, -ETIMEDOUT);
	assert_int_equal(calls[SHUT].error, -ECONNREFUSED);
	assert_int_equal(calls[ANSWERS].error, 0);
	assert_string_equal(calls[ANSWERS].reply, "ok yes");
	while (n)
		close(waiting[--n]);
	for (i = 0; i < SOCKETS; i++) {
		if (i != SHUT)
			close(listeners[i]);
		unlinkat(directory, names[i], 0);
		free(calls[i].reply);
	}
	close(directory);
	rmdir(path);
	free(calls);
}

static void *answer_yes(void *context)
{
	struct pollfd wait = { *(const int *)context, POLLIN, 0 };
	char request[64];
	int call;

	/* The socket does not block: nobody may have called yet. */
	assert_int_equal(poll(&wait, 1, -1), 1);
	call = accept(wait.fd, NULL, NULL);
	assert_true(call >= 0);
	assert_true(recv(call, request, sizeof(request), 0) > 0);
	assert_int_equal(send(call, "ok yes", 6, MSG_NOSIGNAL), 6);
	close(call);
	return NULL;
}

/* Who has the answer that he wants does not wait for a recorder that is stopped. */
static void an_answer_may_be_enough(void **state)
{
	char path[] = "/tmp/test_control_socket.XXXXXX";
	struct control_call *calls = calloc(2, sizeof(*calls));
	int directory, listeners[2], i;
	uint64_t begun;
	pthread_t server;

	(void)state;
	assert_non_null(calls);
	assert_non_null(mkdtemp(path));
	directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(directory >= 0);
	for (i = 0; i < 2; i++) {
		listeners[i] = control_listen(directory, names[i]);
		assert_true(listeners[i] >= 0);
		calls[i].directory = directory;
		calls[i].name = names[i];
	}
	assert_int_equal(pthread_create(&server, NULL, answer_yes, &listeners[1]), 0);
	begun = clock_ns(CLOCK_MONOTONIC);
	control_call_all(calls, 2, "find 1\n", CONTROL_REPLY, ENOUGH_S, "ok yes");
	assert_true(clock_ns(CLOCK_MONOTONIC) - begun < ENOUGH_S * 1000000000ull);
	pthread_join(server, NULL);
	assert_int_equal(calls[0].error, -ETIMEDOUT);
	assert_int_equal(calls[1].error, 0);
	for (i = 0; i < 2; i++) {
		close(listeners[i]);
		unlinkat(directory, names[i], 0);
		free(calls[i].reply);
	}
	close(directory);
	rmdir(path);
	free(calls);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_waits_for_one_that_is_stopped),
		cmocka_unit_test(one_does_not_keep_from_hearing_others),
		cmocka_unit_test(an_answer_may_be_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
