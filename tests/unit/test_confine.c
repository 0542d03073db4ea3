/* SPDX-License-Identifier: BSD-2-Clause */
/* Each process is forked for it: a filter cannot be taken off again. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "privilege/confine.h"
#include "privilege/mapping_query.h"

/* Returns 0, or a number that says which of its questions went wrong. */
typedef int (*questions)(pid_t child);

#define DENIED(n, call)                             \
	do {                                        \
		errno = 0;                          \
		if ((call) != -1 || errno != EPERM) \
			return n;                   \
	} while (0)

/* Set before there is a filter of ours. */
static bool refused_anyway;

static int in_process(questions ask, int filter)
{
	int status;
	pid_t child = fork(), pid;

	if (!child) {
		pause();
		_exit(0);
	}
	pid = fork();
	if (!pid) {
		int error = filter == 3	  ? confine_parser()
			    : filter == 0 ? confine_recorder(&child, 1)
					  : confine_broker(filter == 2);

		_exit(error ? 100 : ask(child));
	}
	assert_true(child > 0 && pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static long ask_bpf(int command)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	return syscall(SYS_bpf, command, &attr, sizeof(attr));
}

/*
 * The kernel looks at a command's size before anything else, whatever the command is and whoever asks: one
 * larger than a page is E2BIG of the kernel's, where the filter lets it pass, and EPERM of the filter's.
 */
static int bpf_answer(long command)
{
	errno = 0;
	return syscall(SYS_bpf, command, NULL, 1 << 20) == -1 ? errno : 0;
}

/* Where a container's own filter refuses all of it, what ours lets pass cannot be told. */
static bool bpf_is_refused_anyway(void)
{
	return bpf_answer(BPF_MAP_LOOKUP_ELEM) != E2BIG;
}

/* Far beyond those that any kernel has; then what is beside a command in the register that it is in. */
static bool bpf_commands_pass(const long *passing, unsigned n)
{
	long command;
	unsigned i;

	for (command = -16; command < 4096; command++) {
		for (i = 0; i < n && passing[i] != command; i++)
			;
		if (bpf_answer(command) != (i < n ? E2BIG : EPERM))
			return false;
	}
	for (i = 12; i < 64; i++) {
		if (bpf_answer((long)(1ul << i | BPF_MAP_UPDATE_ELEM)) != EPERM)
			return false;
	}
	return true;
}

static long ask_perf(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(attr) };

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

/* Neither half. */
static int nobody(pid_t child)
{
	char name[] = "true", *const argv[] = { name, NULL };
	char byte = 0;
	struct iovec here = { &byte, 1 }, there = { &byte, 1 };

	DENIED(1, execve("/bin/true", argv, argv));
	DENIED(2, syscall(SYS_execveat, AT_FDCWD, "/bin/true", argv, argv, 0));
	DENIED(3, ptrace(PTRACE_SEIZE, child, 0, 0));
	DENIED(4, process_vm_readv(child, &here, 1, &there, 1, 0));
	DENIED(5, process_vm_writev(child, &here, 1, &there, 1, 0));
	DENIED(6, mount("none", "/tmp", "tmpfs", 0, NULL));
	DENIED(7, socket(AF_UNIX, SOCK_STREAM, 0));
	DENIED(8, socket(AF_INET, SOCK_STREAM, 0));
	DENIED(9, syscall(SYS_fork));
	DENIED(10, syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
	DENIED(11, kill(child, SIGTERM));
	DENIED(12, kill(getppid(), SIGKILL));
	DENIED(13,
	       (long)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	DENIED(14, mprotect((void *)((uintptr_t)&byte & ~4095ul), 4096,
			    PROT_READ | PROT_WRITE | PROT_EXEC));
	DENIED(15, ask_bpf(BPF_PROG_LOAD));
	DENIED(16, ask_bpf(BPF_MAP_CREATE));
	DENIED(17, ask_bpf(BPF_PROG_GET_FD_BY_ID));
	DENIED(18, setuid(getuid()));
	DENIED(19, syscall(SYS_pidfd_open, child, 0));
	DENIED(20, syscall(SYS_io_uring_setup, 1, NULL));
	DENIED(21, syscall(SYS_unshare, 0));
	DENIED(22, syscall(SYS_userfaultfd, 0));
	DENIED(23, syscall(SYS_init_module, NULL, 0, ""));
	return 0;
}

#define THREAD (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM)

static int nothing(void *unused)
{
	(void)unused;
	return 0;
}

/* Threads can be created, and nothing that is more than a thread. */
static int threads_only(void)
{
	_Alignas(16) static char stack[65536];
	static volatile pid_t tid = 1;

	DENIED(48, syscall(SYS_clone, THREAD & ~CLONE_THREAD, 0, 0, 0, 0));
	DENIED(49, syscall(SYS_clone, THREAD | CLONE_NEWUSER, 0, 0, 0, 0));
	DENIED(52, syscall(SYS_clone, THREAD | CLONE_PTRACE, 0, 0, 0, 0));
	errno = 0;
	if (syscall(SYS_clone3, NULL, 0) != -1 || errno != ENOSYS)
		return 53;
	if (clone(nothing, stack + sizeof(stack), THREAD | CLONE_CHILD_CLEARTID, NULL, NULL, NULL,
		  &tid) < 0)
		return 54;
	while (tid)
		sched_yield();
	return 0;
}

/* A kernel that does not know the question says so (ENOTTY). */
static bool may_ask_for_mappings(void)
{
	struct mapping_query q = { .size = sizeof(q), .flags = MAPPING_OR_NEXT };
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	bool may = fd >= 0 && (!ioctl(fd, MAPPING_QUERY, &q) || errno == ENOTTY);

	if (fd >= 0)
		close(fd);
	return may;
}

static int recorder(pid_t child)
{
	int wrong = nobody(child), fd;

	if (wrong)
		return wrong;
	DENIED(30, ask_bpf(BPF_MAP_LOOKUP_ELEM));
	DENIED(31, ask_bpf(BPF_LINK_CREATE));
	DENIED(32, ask_perf());
	if (!bpf_commands_pass(NULL, 0))
		return 35;
	fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || close(fd))
		return 33;
	if (!may_ask_for_mappings())
		return 36;
	wrong = threads_only();
	if (wrong)
		return wrong;
	/* Its own plug-in's host may be ended. */
	return kill(child, SIGKILL) ? 34 : 0;
}

static int parser(pid_t child)
{
	int wrong = nobody(child);

	if (wrong)
		return wrong;
	DENIED(60, ask_bpf(BPF_MAP_LOOKUP_ELEM));
	DENIED(61, ask_perf());
	DENIED(62, kill(child, SIGKILL));
	DENIED(63, open("/dev/null", O_RDONLY));
	DENIED(64, open("/proc/self/status", O_RDONLY));
	DENIED(65, unlink("/tmp/proftrace-unit-test"));
	DENIED(66, write(STDOUT_FILENO, "", 0));
	if (!bpf_commands_pass(NULL, 0))
		return 67;
	return 0;
}

static int broker(pid_t child)
{
	static const long commands[] = { BPF_MAP_LOOKUP_ELEM, BPF_MAP_UPDATE_ELEM,
					 BPF_MAP_DELETE_ELEM, BPF_MAP_GET_NEXT_KEY,
					 BPF_LINK_CREATE,     BPF_PROG_TEST_RUN };
	int wrong = nobody(child), fd;

	if (wrong)
		return wrong;
	DENIED(40, kill(child, SIGKILL));
	DENIED(41, open("/dev/null", O_WRONLY));
	DENIED(42, open("/dev/null", O_RDWR));
	DENIED(43, open("/tmp/proftrace-unit-test", O_RDONLY | O_CREAT, 0600));
	DENIED(44, unlink("/tmp/proftrace-unit-test"));
	DENIED(45, write(STDOUT_FILENO, "", 0));
	fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || close(fd))
		return 46;
	wrong = threads_only();
	if (wrong)
		return wrong;
	return bpf_commands_pass(commands, refused_anyway ? 0 : 6) ? 0 : 47;
}

static int broker_without_multi(pid_t child)
{
	int wrong = broker(child), fd;

	if (wrong)
		return wrong;
	errno = 0;
	fd = ask_perf();
	/* A kernel that lets nobody count says so differently only to those without privileges. */
	return fd < 0 && errno == EPERM && !geteuid() ? 50 : 0;
}

static int broker_with_multi(pid_t child)
{
	int wrong = broker(child);

	if (wrong)
		return wrong;
	DENIED(51, ask_perf());
	return 0;
}

static void need_seccomp(void)
{
	if (!confine_available()) {
		print_message("skipped: this kernel has no seccomp\n");
		skip();
	}
}

static void test_recorder(void **state)
{
	(void)state;
	need_seccomp();
	assert_int_equal(in_process(recorder, 0), 0);
}

static void test_parser(void **state)
{
	(void)state;
	need_seccomp();
	assert_int_equal(in_process(parser, 3), 0);
}

static void need_bpf(void)
{
	need_seccomp();
	refused_anyway = bpf_is_refused_anyway();
	if (refused_anyway)
		print_message(
			"bpf(2) is refused here as it is: only that it is refused is looked at\n");
}

static void test_broker(void **state)
{
	(void)state;
	need_bpf();
	assert_int_equal(in_process(broker_with_multi, 1), 0);
}

static void test_broker_perf(void **state)
{
	(void)state;
	need_bpf();
	assert_int_equal(in_process(broker_without_multi, 2), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recorder),
		cmocka_unit_test(test_parser),
		cmocka_unit_test(test_broker),
		cmocka_unit_test(test_broker_perf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
