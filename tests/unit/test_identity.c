/* SPDX-License-Identifier: BSD-2-Clause */
/* A process is its number and the moment it began: whoever has the number later is somebody else. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "privilege/broker/server.h"
#include "privilege/living_thread.h"

static int opened(pid_t pid, uint64_t birth)
{
	const struct broker_target target = { pid, birth };
	struct failure f = { 0 };
	int fd = process_directory(&target, &f);

	if (fd < 0)
		assert_true(f.what[0] != '\0');
	else
		close(fd);
	return fd < 0 ? fd : 0;
}

/* What this process forks is protected like what a broker forks, as long as it runs the same program. */
static pid_t start_other(void)
{
	int executed[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(executed, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		execl("/bin/sleep", "sleep", "1000", (char *)NULL);
		_exit(127);
	}
	close(executed[1]);
	assert_int_equal(read(executed[0], &byte, 1), 0);
	close(executed[0]);
	return pid;
}

static void a_later_process_is_another(void **state)
{
	pid_t pid = start_other();
	const struct broker_target other = { pid, 0 };
	int directory = process_directory(&other, NULL);
	uint64_t birth;

	(void)state;
	assert_true(directory >= 0);
	birth = process_birth(directory);
	close(directory);
	assert_true(birth > 0);
	assert_int_equal(opened(pid, birth), 0);
	assert_int_equal(opened(pid, birth + 1), -ESRCH);
	assert_int_equal(opened(pid, birth - 1), -ESRCH);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void the_dead_are_not_processes(void **state)
{
	siginfo_t info;
	pid_t pid = fork();

	(void)state;
	if (!pid)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(opened(pid, 0), -ESRCH);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(opened(0, 0), -EINVAL);
	assert_int_equal(opened(-1, 0), -EINVAL);
}

/* What was opened before the process ended does not become the next one's. */
static void a_directory_stays_its_own(void **state)
{
	pid_t pid = start_other();
	const struct broker_target target = { pid, 0 };
	int directory;

	(void)state;
	directory = process_directory(&target, NULL);
	assert_true(directory >= 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(process_alive(directory));
	assert_int_equal(process_birth(directory), 0);
	assert_int_equal(process_parent(directory), 0);
	close(directory);
}

/* A user may take the descriptors of a broker without root at any moment, by prlimit(2). */
static void nothing_is_known_without_descriptors(void **state)
{
	struct rlimit none = { 0, 0 };
	int status, directory;
	pid_t pid = fork();

	(void)state;
	if (!pid) {
		if (!getuid() && setresuid(1000, 1000, 1000))
			_exit(1);
		directory = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (directory < 0 || process_untraceable(directory))
			_exit(2);
		_exit(setrlimit(RLIMIT_NOFILE, &none) || !process_untraceable(directory) ? 3 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* Has so many generations after it. Each writes its number into the pipe, and ends with the pipe of orders. */
_Noreturn static void have_descendants(unsigned n, int numbers, int orders)
{
	pid_t self;
	char byte;

	for (; n && fork() == 0; n--)
		prctl(PR_SET_NAME, "descendant");
	self = getpid();
	if (write(numbers, &self, sizeof(self)) == sizeof(self))
		(void)!read(orders, &byte, 1);
	_exit(0);
}

/* A broker forks the starter, which forks the provers: they have the broker's memory from before. */
static void what_a_broker_forks_is_protected(void **state)
{
	int numbers[2], orders[2];
	unsigned n_protected = 0;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(numbers), 0);
	assert_int_equal(pipe(orders), 0);
	if (fork() == 0) {
		close(orders[1]);
		prctl(PR_SET_NAME, BROKER_NAME);
		have_descendants(3, numbers[1], orders[0]);
	}
	for (unsigned i = 0; i < 4; i++) {
		char path[32];
		int directory;

		assert_int_equal(read(numbers[0], &pid, sizeof(pid)), sizeof(pid));
		snprintf(path, sizeof(path), "/proc/%d", (int)pid);
		directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(directory >= 0);
		n_protected += process_protected(directory);
		close(directory);
	}
	/* The last one is nobody's that a broker knows. */
	assert_int_equal(n_protected, 3);
	close(orders[1]);
	close(orders[0]);
	close(numbers[0]);
	close(numbers[1]);
	while (wait(NULL) > 0)
		;
}

static int number_to;

/* Runs on after its first thread has ended, and does not let its memory be looked at. */
static void *run_on(void *number)
{
	const pid_t self = (pid_t)syscall(SYS_gettid);

	pthread_join(*(pthread_t *)number, NULL);
	prctl(PR_SET_DUMPABLE, 0);
	(void)!write(number_to, &self, sizeof(self));
	for (;;)
		pause();
	return NULL;
}

static pid_t start_without_first(pid_t *ret_thread)
{
	static pthread_t first;
	int numbers[2];
	pthread_t thread;
	pid_t pid;

	assert_int_equal(pipe(numbers), 0);
	pid = fork();
	if (!pid) {
		first = pthread_self();
		number_to = numbers[1];
		pthread_create(&thread, NULL, run_on, &first);
		pthread_exit(NULL);
	}
	assert_int_equal(read(numbers[0], ret_thread, sizeof(*ret_thread)), sizeof(*ret_thread));
	close(numbers[0]);
	close(numbers[1]);
	return pid;
}

static void another_thread_shows_a_process(void **state)
{
	pid_t thread, pid = start_without_first(&thread), other = start_other();
	int directory = open_living_thread(pid), process, unlike;
	char path[40], exe;

	(void)state;
	assert_true(directory >= 0);
	assert_int_equal(thread_process(directory), pid);
	assert_int_equal(living_number(pid), thread);
	assert_true(process_alive(directory));
	assert_true(readlinkat(directory, "exe", &exe, 1) == 1);
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	process = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(process_lacks_first(process));
	assert_false(process_alive(process));
	/* It began with its first thread. */
	assert_true(process_birth(process) > 0);
	assert_int_equal(process_birth(directory), process_birth(process));
	assert_int_equal(process_parent(directory), getpid());
	/* Those of other processes are not taken, nor is a thread's number for a process's. */
	assert_int_equal(open_thread_of(pid, other), -ESRCH);
	unlike = open_thread_of(pid, thread);
	assert_true(unlike >= 0);
	close(unlike);
	assert_int_equal(opened(thread, 0), -ESRCH);
	assert_int_equal(living_number(other), other);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(process_alive(directory));
	assert_int_equal(living_thread(process, pid), -ESRCH);
	assert_true(open_thread_of(pid, thread) < 0);
	close(process);
	close(directory);
	kill(other, SIGKILL);
	assert_int_equal(waitpid(other, NULL, 0), other);
}

/* What its first thread had does not count: the kernel asks nothing of a thread that has no memory. */
static void without_its_first_thread_it_is_protected_alike(void **state)
{
	pid_t thread, pid = fork();
	int status, directory;

	(void)state;
	if (!pid) {
		if (!getuid() && setresuid(1000, 1000, 1000))
			_exit(1);
		prctl(PR_SET_DUMPABLE, 1);
		pid = start_without_first(&thread);
		directory = open_living_thread(pid);
		status = directory < 0 ? 2 : process_untraceable(directory) ? 0 : 3;
		kill(pid, SIGKILL);
		_exit(status);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_later_process_is_another),
		cmocka_unit_test(the_dead_are_not_processes),
		cmocka_unit_test(a_directory_stays_its_own),
		cmocka_unit_test(nothing_is_known_without_descriptors),
		cmocka_unit_test(what_a_broker_forks_is_protected),
		cmocka_unit_test(another_thread_shows_a_process),
		cmocka_unit_test(without_its_first_thread_it_is_protected_alike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
