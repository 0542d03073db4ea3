/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A real broker, asked for a breakpoint where no file says that there is a probe site. It loads BPF
 * programs: where that is not permitted, this is skipped.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "privilege/broker/broker.h"
#include "elf_image.h"
#include "tracee/code/prove.h"

#define UNSAID	 (IMAGE_CODE + 0x40)  /* code, of which no note and no symbol says anything */
#define FUNCTION (IMAGE_CODE + 0x100) /* of which a symbol does */

/* The process that is recorded. A broker refuses its own recorder. */
static pid_t recorded;

static pid_t start_sleeper(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	return pid;
}

/* NULL: none can be had here. Its links are closed: what it refuses does not hang on these. */
static struct broker *start_for(pid_t pid, bool functions)
{
	struct broker_config config = {
		.buffer_bytes = 1 << 20,
		.usdt = true,
		.functions = functions,
		.prove = prove_functions,
		.pids = &pid,
		.n_pids = 1,
	};
	struct broker_loaded loaded;
	struct failure f = { 0 };
	struct broker *b = NULL;
	unsigned i;

	if (broker_start(&config, &b, &loaded, &f)) {
		print_message("skipped: %s: %s\n", f.what, f.reason);
		return NULL;
	}
	close(loaded.shared_fd);
	close(loaded.holds_fd);
	close(loaded.usdt_specs_fd);
	for (i = 0; i < loaded.n_buffers; i++)
		close(loaded.buffers[i]);
	return b;
}

static struct broker *start(bool functions)
{
	return start_for(recorded, functions);
}

/* A nop: of all instructions the one that the broker lets a probe of others be put on. */
static int image_with_nop(void)
{
	static struct image m;

	image_init(&m, EM_X86_64);
	m.bytes[UNSAID] = 0x90;
	m.bytes[FUNCTION] = 0xc3;
	return image_fd(&m);
}

/* For this process alone, which does not run the file. */
static int ask_at(struct broker *b, uint32_t program, int fd, uint64_t offset)
{
	const struct broker_site site = { offset, 0, 0 };
	struct failure f = { 0 };
	unsigned link;

	return broker_attach(b, (enum broker_program)program, recorded, fd, &site, 1, &link, &f);
}

static int ask(struct broker *b, uint32_t program, int fd)
{
	return ask_at(b, program, fd, UNSAID);
}

static int prove(struct broker *b, int fd)
{
	static struct broker_functions answer;
	const uint64_t vaddr = IMAGE_SYMBOL_VADDR;
	struct failure f = { 0 };

	return broker_functions(b, fd, &vaddr, 1, &answer, &f);
}

static void refused_without_functions(void **state)
{
	struct broker *b = start(false);
	int fd = image_with_nop();
	uint32_t program;

	(void)state;
	if (!b) {
		close(fd);
		skip();
	}
	for (program = 0; program < 2 * BROKER_PROGRAMS; program++) {
		int error = ask(b, program, fd);

		if (error != -EINVAL && error != -EBADMSG)
			print_error("program %u: %d\n", program, error);
		assert_true(error == -EINVAL || error == -EBADMSG);
	}
	/* The one that files are not asked about: not at all. */
	assert_int_equal(ask(b, BROKER_FUNCTIONS, fd), -EINVAL);
	assert_int_equal(ask(b, UINT32_MAX, fd), -EINVAL);
	assert_int_equal(prove(b, fd), -EINVAL);
	broker_stop(b, true);
	close(fd);
}

/* Where the file says that a function is, once that was proved, and nowhere else. */
static void granted_with_functions(void **state)
{
	struct broker *b = start(true);
	int fd = image_with_nop();

	(void)state;
	if (!b) {
		close(fd);
		skip();
	}
	assert_int_equal(ask_at(b, BROKER_FUNCTIONS, fd, FUNCTION), -EBADMSG);
	assert_int_equal(prove(b, fd), 0);
	assert_int_equal(ask_at(b, BROKER_FUNCTIONS, fd, FUNCTION), 0);
	assert_int_equal(ask_at(b, BROKER_FUNCTIONS, fd, FUNCTION + 1), -EBADMSG);
	assert_int_equal(ask(b, BROKER_FUNCTIONS, fd), -EBADMSG);
	assert_int_equal(ask_at(b, BROKER_USDT, fd, FUNCTION), -EINVAL);
	/* The user has not asked for return probes. */
	assert_int_equal(ask_at(b, BROKER_RETURNS, fd, FUNCTION), -EINVAL);
	broker_stop(b, true);
	close(fd);
}

static unsigned told_twice(void *context)
{
	(void)context;
	return 2;
}

/* Whatever keeps it: a signal does as well as a file system. */
static void given_up(void **state)
{
	struct broker *b = start(false);
	struct broker_target target;
	struct failure f = { 0 };
	const struct broker_site site = { UNSAID, 0, 0 };
	int fd = image_with_nop();
	unsigned link;
	int status;
	pid_t pid;

	(void)state;
	if (!b) {
		close(fd);
		skip();
	}
	pid = broker_pid(b);
	assert_int_equal(broker_identify(b, recorded, &target, &f), 0);
	assert_false(broker_given_up(b));
	kill(pid, SIGSTOP);
	broker_set_patience(b, told_twice, NULL);
	assert_int_equal(broker_attach(b, BROKER_USDT, recorded, fd, &site, 1, &link, &f), -EPIPE);
	assert_true(broker_given_up(b));
	assert_true(broker_given_up_attaching(b));
	assert_true(f.reason[0] && f.hint[0]);
	/* Its answer comes now, and is nobody's. */
	kill(pid, SIGCONT);
	memset(&f, 0, sizeof(f));
	assert_int_equal(broker_identify(b, recorded, &target, &f), -EPIPE);
	assert_true(f.reason[0] && f.hint[0]);
	assert_int_equal(broker_fd(b), -1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
	close(fd);
	broker_stop(b, true);
}

static int trace(struct broker *b, pid_t pid)
{
	const struct broker_target target = { pid, 0 };
	struct failure f = { 0 };

	return broker_trace(b, &target, TRACED_WATCH, &f);
}

/* Only what is traced is paused, and nothing but its pause changes. */
static void paused(void **state)
{
	struct broker *b = start(false);
	struct failure f = { 0 };

	(void)state;
	if (!b)
		skip();
	assert_int_equal(broker_pause(b, recorded, TRACED_PAUSED, &f), -ESRCH);
	assert_int_equal(trace(b, recorded), 0);
	assert_int_equal(broker_pause(b, recorded, TRACED_PAUSED | 3 << TRACED_ORDER_SHIFT, &f), 0);
	assert_int_equal(broker_pause(b, recorded, 0, &f), 0);
	assert_int_equal(broker_pause(b, recorded, TRACED_MARKS, &f), -EINVAL);
	assert_int_equal(broker_pause(b, recorded, TRACED_STOPPED, &f), -EINVAL);
	assert_int_equal(broker_pause(b, 1, TRACED_PAUSED, &f), -ESRCH);
	broker_stop(b, true);
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* A process of this number, which is not our child; it lives as long as the one that is returned. */
static pid_t use_again(pid_t number)
{
	struct clone_args args = {
		.exit_signal = SIGCHLD,
		.set_tid = (uintptr_t)&number,
		.set_tid_size = 1,
	};
	int ready[2], status = -1;
	pid_t parent;

	assert_int_equal(pipe(ready), 0);
	parent = fork();
	if (parent == 0) {
		long pid = syscall(SYS_clone3, &args, sizeof(args));

		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			status = 0;
		} else if (pid < 0) {
			status = errno;
		}
		if (pid <= 0 && write(ready[1], &status, sizeof(status)) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	assert_true(parent > 0);
	assert_int_equal(read(ready[0], &status, sizeof(status)), sizeof(status));
	close(ready[0]);
	close(ready[1]);
	if (!status)
		return parent;
	print_message("skipped: no process of a number: %s\n", strerror(status));
	end(parent);
	return 0;
}

/* It was traced, and the recorder has detached from the ends of processes, see start_for(). */
static void numbers_used_again(void **state)
{
	pid_t asked = start_sleeper(), other;
	struct broker *b = start_for(asked, false);
	struct broker_target target = { asked, 0 };
	struct failure f = { 0 };

	(void)state;
	if (b)
		assert_int_equal(trace(b, asked), 0);
	end(asked);
	other = b ? use_again(asked) : 0;
	if (!other) {
		broker_stop(b, true);
		skip();
	}
	assert_int_equal(broker_open(b, BROKER_MAPS, &target, 0, 0, &f), -ESRCH);
	assert_int_equal(trace(b, asked), -EPERM);
	assert_int_equal(broker_open(b, BROKER_MEMORY, &target, 0, 0, &f), -ESRCH);
	/* It has the socket, too. */
	end(other);
	broker_stop(b, true);
}

/* Where a thread is held; the process does not run the file. */
static int hold_linker(struct broker *b, pid_t pid, int fd, unsigned times, uint64_t cookie,
		       unsigned *ret_link)
{
	const struct broker_site site = { IMAGE_CODE + 0x100, 0, cookie }, sites[] = { site, site };
	struct failure f = { 0 };

	return broker_attach(b, BROKER_LIBRARIES, pid, fd, sites, times, ret_link, &f);
}

static void not_without_end(void **state)
{
	struct broker *b = start(false);
	unsigned link, same, last = 0, n = 0;
	int fd = image_with_nop(), other = image_with_nop();

	(void)state;
	if (b) {
		assert_int_equal(hold_linker(b, recorded, fd, 2, 0, &link), -EEXIST);
		while (n < 100 && !hold_linker(b, recorded, fd, 1, n, &link)) {
			last = link;
			n++;
		}
		assert_in_range(n, 1, 4);
		assert_int_equal(hold_linker(b, recorded, fd, 1, n, &link), -EEXIST);
		/* What the process has already is the same link. */
		assert_int_equal(hold_linker(b, recorded, fd, 1, n - 1, &same), 0);
		assert_int_equal(same, last);
		assert_int_equal(hold_linker(b, recorded, other, 1, 0, &link), 0);
		assert_int_equal(broker_detach(b, &last, 1, false), 0);
		assert_int_equal(hold_linker(b, recorded, fd, 1, n, &link), 0);
		/* Nobody asked for this one, nor for children. */
		assert_int_equal(hold_linker(b, getppid(), other, 1, 0, &link), -EPERM);
		assert_int_equal(hold_linker(b, 0, other, 1, 0, &link), -EPERM);
	}
	broker_stop(b, true);
	close(fd);
	close(other);
	if (!b)
		skip();
}

/* The keeper of the broker, and the processes that it has forked and that still detach. */
static unsigned count_closers(pid_t broker)
{
	char path[64], state;
	unsigned n = 0;
	int child, keeper = 0, parent;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)broker, (int)broker);
	file = fopen(path, "re");
	/* It was forked first. */
	if (!file || fscanf(file, "%d", &keeper) != 1)
		keeper = 0;
	if (file)
		fclose(file);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", keeper, keeper);
	file = fopen(path, "re");
	while (file && fscanf(file, "%d", &child) == 1) {
		FILE *stat;

		snprintf(path, sizeof(path), "/proc/%d/stat", child);
		stat = fopen(path, "re");
		n += stat && fscanf(stat, "%*d (%*[^)]) %c %d", &state, &parent) == 2 &&
		     state != 'Z';
		if (stat)
			fclose(stat);
	}
	if (file)
		fclose(file);
	return n;
}

/* How often, of ten times, the kernel is still detaching when the broker has replied. */
static unsigned count_unfinished(struct broker *b, int fd, bool later)
{
	unsigned n = 0, link;

	for (unsigned i = 0; i < 10; i++) {
		assert_int_equal(hold_linker(b, recorded, fd, 1, 0, &link), 0);
		assert_int_equal(broker_detach(b, &link, 1, later), 0);
		n += count_closers(broker_pid(b)) > 0;
	}
	return n;
}

static void detached_later(void **state)
{
	struct broker *b = start(false);
	int fd = image_with_nop();
	uint64_t began_ns, took_ns;

	(void)state;
	if (b) {
		began_ns = clock_ns(CLOCK_MONOTONIC);
		assert_int_equal(count_unfinished(b, fd, false), 0);
		took_ns = clock_ns(CLOCK_MONOTONIC) - began_ns;
		/* Before Linux 6.12 the kernel waits for nothing. */
		if (took_ns > 10 * 10000000ull)
			assert_in_range(count_unfinished(b, fd, true), 1, 10);
	}
	broker_stop(b, true);
	close(fd);
	if (!b)
		skip();
}

/* The recorder's children may be traced, but for one. */
static void not_the_broker(void **state)
{
	pid_t child = start_sleeper();
	struct broker *b = start(false);

	(void)state;
	if (b) {
		assert_int_equal(trace(b, child), 0);
		assert_int_equal(trace(b, broker_pid(b)), -EPERM);
		assert_int_equal(trace(b, getppid()), -EPERM);
	}
	end(child);
	broker_stop(b, true);
	if (!b)
		skip();
}

/* Another that has the recorder's end of the socket when that has ended; 1: it got no answer. */
static int ask_without_recorder(struct broker *b, pid_t recorder)
{
	struct broker_target target;
	struct failure f = { 0 };

	/* Its children are another's from then on. */
	while (getppid() == recorder)
		usleep(1000);
	return broker_identify(b, getpid(), &target, &f) == -EPIPE;
}

static void nobody_else(void **state)
{
	int result[2], refused = -1;
	pid_t recorder;

	(void)state;
	assert_int_equal(pipe(result), 0);
	recorder = fork();
	if (recorder == 0) {
		struct broker *b = start(false);

		recorder = getpid();
		if (b && fork() == 0) {
			refused = ask_without_recorder(b, recorder);
			_exit(write(result[1], &refused, sizeof(refused)) < 0);
		}
		_exit(0);
	}
	close(result[1]);
	assert_true(recorder > 0);
	assert_int_equal(waitpid(recorder, NULL, 0), recorder);
	if (read(result[0], &refused, sizeof(refused)) != sizeof(refused))
		skip();
	close(result[0]);
	assert_int_equal(refused, 1);
}

static int start_recorded(void **state)
{
	(void)state;
	recorded = start_sleeper();
	return 0;
}

static int end_recorded(void **state)
{
	(void)state;
	end(recorded);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused_without_functions),
		cmocka_unit_test(granted_with_functions),
		cmocka_unit_test(given_up),
		cmocka_unit_test(not_without_end),
		cmocka_unit_test(detached_later),
		cmocka_unit_test(numbers_used_again),
		cmocka_unit_test(paused),
		cmocka_unit_test(not_the_broker),
		cmocka_unit_test(nobody_else),
	};

	return cmocka_run_group_tests_name("broker", tests, start_recorded, end_recorded);
}
