/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * With a stack limit of 16 KiB main() runs but no verb does, so main() raises the limit first. glibc gives threads the limit
 * of the program's start, so their default is raised as well.
 */
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cmd/cmd.h"

enum {
	LEAST_STACK = 256 << 10, /* the hint says so */
};

static rlim_t limit_before; /* 0: as it is */

static void set_thread_stacks(void)
{
	pthread_attr_t attributes;

	if (pthread_attr_init(&attributes))
		return;
	if (!pthread_attr_setstacksize(&attributes, LEAST_STACK))
		pthread_setattr_default_np(&attributes);
	pthread_attr_destroy(&attributes);
}

int stack_limit_raise(void)
{
	/* Printing takes more stack than there may be. */
	static const char refused[] =
		"proftrace: cannot start: the stack limit is too low\n"
		"hint: raise the hard limit (as root, or in limits.conf): `ulimit -Hs 256`\n";
	struct rlimit stack;

	if (getrlimit(RLIMIT_STACK, &stack) || stack.rlim_cur >= LEAST_STACK)
		return STATUS_DONE;
	limit_before = stack.rlim_cur;
	stack.rlim_cur = LEAST_STACK;
	if (!setrlimit(RLIMIT_STACK, &stack)) {
		set_thread_stacks();
		return STATUS_DONE;
	}
	/* Whoever has closed it does not read it. */
	(void)!write(STDERR_FILENO, refused, sizeof(refused) - 1);
	return STATUS_FAILED;
}

void stack_limit_callers(struct rlimit *limit)
{
	if (limit_before)
		limit->rlim_cur = limit_before;
}
