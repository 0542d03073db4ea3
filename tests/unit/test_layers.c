/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file of an overlay counts as one of others, whoever owns it: an overlay shows the owner of its metadata, and the kernel
 * attaches to a file below it, which may be somebody else's.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "privilege/broker/broker.h"
#include "privilege/broker/links.h"

enum {
	RIGHT,
	WRONG,
	CANNOT_MOUNT,
};

static bool is_foreign(int fd, enum broker_program program)
{
	const struct broker_site site = { .offset = 0x100 };
	struct link_sites of;
	bool foreign;

	if (link_sites_init(&of, fd, program, &site, 1, false))
		_exit(WRONG);
	foreign = of.foreign;
	link_sites_free(&of);
	return foreign;
}

static bool write_map(const char *path, unsigned id)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool written = fd >= 0 && dprintf(fd, "%u %u 1\n", id, id) > 0;

	if (fd >= 0)
		close(fd);
	return written;
}

static bool enter_namespaces(void)
{
	const unsigned uid = getuid(), gid = getgid();
	int fd;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		return false;
	fd = open("/proc/self/setgroups", O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		dprintf(fd, "deny");
		close(fd);
	}
	return write_map("/proc/self/uid_map", uid) && write_map("/proc/self/gid_map", gid);
}

/* In namespaces of its own, as any user can have them. */
static int try_overlay(void)
{
	int below, above;

	if (!enter_namespaces() || mount("none", "/tmp", "tmpfs", 0, NULL) ||
	    mkdir("/tmp/a", 0755) || mkdir("/tmp/b", 0755) || mkdir("/tmp/merged", 0755))
		return CANNOT_MOUNT;
	below = open("/tmp/a/file", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (below < 0 || mount("none", "/tmp/merged", "overlay", 0, "lowerdir=/tmp/a:/tmp/b"))
		return CANNOT_MOUNT;
	above = open("/tmp/merged/file", O_RDONLY | O_CLOEXEC);
	if (above < 0 || file_has_layers(below) || !file_has_layers(above))
		return WRONG;
	if (is_foreign(below, BROKER_FUNCTIONS) || !is_foreign(above, BROKER_FUNCTIONS) ||
	    !is_foreign(above, BROKER_RETURNS) || !is_foreign(above, BROKER_USDT) ||
	    !is_foreign(above, BROKER_LIBRARIES) || !is_foreign(above, BROKER_EXECUTES) ||
	    is_foreign(above, BROKER_MARKS))
		return WRONG;
	return RIGHT;
}

static void a_file_of_an_overlay_is_of_others(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	if (!pid)
		_exit(try_overlay());
	assert_true(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	if (WEXITSTATUS(status) == CANNOT_MOUNT)
		skip();
	assert_int_equal(WEXITSTATUS(status), RIGHT);
}

/* An overlay hands the question on to a layer, and a file system of the user's (FUSE) answers what he wants. */
static void so_is_one_without_an_answer(void **state)
{
	(void)state;
	assert_true(file_has_layers(-1));
	assert_true(file_is_served(-1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_of_an_overlay_is_of_others),
		cmocka_unit_test(so_is_one_without_an_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
