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
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "broker/broker.h"
#include "elf_image.h"

#define UNSAID (IMAGE_CODE + 0x40) /* code, of which no note and no symbol says anything */

/* NULL: none can be had here. */
static struct broker *start(bool functions)
{
	const pid_t self = getpid();
	struct broker_config config = {
		.buffer_bytes = 1 << 20,
		.usdt = true,
		.functions = functions,
		.pids = &self,
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
	for (i = 0; i < loaded.n_links; i++)
		close(loaded.links[i]);
	for (i = 0; i < loaded.n_buffers; i++)
		close(loaded.buffers[i]);
	return b;
}

/* A nop: of all instructions the one that the broker lets a probe of others be put on. */
static int image_with_nop(void)
{
	static struct image m;

	image_init(&m, EM_X86_64);
	m.bytes[UNSAID] = 0x90;
	return image_fd(&m);
}

/* For this process alone, which does not run the file. */
static int ask(struct broker *b, uint32_t program, int fd)
{
	const struct broker_site site = { UNSAID, 0, 0 };
	struct failure f = { 0 };
	unsigned link;

	return broker_attach(b, (enum broker_program)program, getpid(), fd, &site, 1, &link, &f);
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
	broker_stop(b);
	close(fd);
}

/* The same request: it was refused for what was not asked for, and for nothing else. */
static void granted_with_functions(void **state)
{
	struct broker *b = start(true);
	int fd = image_with_nop();
	uint32_t program;

	(void)state;
	if (!b) {
		close(fd);
		skip();
	}
	for (program = 0; program < BROKER_PROGRAMS; program++) {
		if (program == BROKER_FUNCTIONS)
			assert_int_equal(ask(b, program, fd), 0);
		else
			assert_true(ask(b, program, fd) < 0);
	}
	broker_stop(b);
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
	int status;
	pid_t pid;

	(void)state;
	if (!b)
		skip();
	pid = broker_pid(b);
	assert_int_equal(broker_identify(b, getpid(), &target, &f), 0);
	assert_false(broker_given_up(b));
	kill(pid, SIGSTOP);
	broker_set_patience(b, told_twice, NULL);
	assert_int_equal(broker_identify(b, getpid(), &target, &f), -EPIPE);
	assert_true(broker_given_up(b));
	assert_true(f.reason[0] && f.hint[0]);
	/* Its answer comes now, and is nobody's. */
	kill(pid, SIGCONT);
	memset(&f, 0, sizeof(f));
	assert_int_equal(broker_identify(b, getpid(), &target, &f), -EPIPE);
	assert_true(f.reason[0] && f.hint[0]);
	assert_int_equal(broker_fd(b), -1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
	broker_stop(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused_without_functions),
		cmocka_unit_test(granted_with_functions),
		cmocka_unit_test(given_up),
	};

	return cmocka_run_group_tests_name("broker", tests, NULL, NULL);
}
