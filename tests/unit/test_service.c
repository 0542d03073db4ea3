/* SPDX-License-Identifier: BSD-2-Clause */
/* The supervisor of `serve`, with a recorder that does not do what recorders do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "record/service/service.h"

enum {
	QUIET_MS = 300, /* for which the supervisor has nothing to do */
	CPU_MS = 20,	/* that it may use meanwhile: to be woken a few times takes less than one */
	FAILED = 7,	/* status of a recorder whose supervisor used more */
};

static uint64_t milliseconds(clockid_t clock)
{
	struct timespec t;

	assert_int_equal(clock_gettime(clock, &t), 0);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Says that it records, closes the socket to the supervisor and goes on, until it is asked to end. */
static int record_without_socket(const char *file, char *text, const struct service *service)
{
	const struct timespec quiet = { .tv_nsec = QUIET_MS * 1000000l };
	uint64_t before;
	clockid_t clock;
	sigset_t end;
	int signal;

	(void)file;
	(void)text;
	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	sigprocmask(SIG_BLOCK, &end, NULL);
	service_send(service, SERVICE_ACCEPTED);
	if (!service_may_begin(service))
		return 1;
	service_send(service, SERVICE_RECORDS);
	close(service->socket);
	if (clock_getcpuclockid(getppid(), &clock))
		return 1;
	before = milliseconds(clock);
	nanosleep(&quiet, NULL);
	if (milliseconds(clock) - before > CPU_MS)
		return FAILED;
	kill(getppid(), SIGTERM);
	return sigwait(&end, &signal);
}

static void test_closed_socket(void **state)
{
	char file[] = "/tmp/proftrace-service-XXXXXX";
	int fd = mkstemp(file), status;
	pid_t pid;

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	/* A process of its own, because it handles signals. */
	pid = fork();
	if (!pid)
		_exit(service_supervise(file, record_without_socket));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	unlink(file);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_closed_socket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
