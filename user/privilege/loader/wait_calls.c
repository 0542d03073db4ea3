/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a thread waits for that is blocked in a system call, for the BPF programs (bpf/sched/wait_reasons.h).
 * System calls are listed by their names, since their numbers differ between architectures.
 */
#include "privilege/loader/wait_calls.h"

#include <seccomp.h>
#include <stdlib.h>
#include <string.h>

/* Each list is separated by spaces. */
static const struct {
	uint8_t class;
	const char *calls;
} classes[] = {
	{ WAIT_FUTEX, "futex futex_wait futex_waitv futex_requeue" },
	{ WAIT_READ | WAIT_OF_FILE,
	  "read pread64 readv preadv preadv2 recvfrom recvmsg recvmmsg accept accept4 getdents "
	  "getdents64 readahead splice tee copy_file_range mq_timedreceive" },
	{ WAIT_WRITE | WAIT_OF_FILE,
	  "write pwrite64 writev pwritev pwritev2 sendto sendmsg sendmmsg connect sendfile "
	  "vmsplice fallocate ftruncate mq_timedsend" },
	{ WAIT_POLL, "poll ppoll select pselect6" },
	{ WAIT_POLL | WAIT_OF_FILE, "epoll_wait epoll_pwait epoll_pwait2" },
	{ WAIT_SLEEP, "nanosleep clock_nanosleep" },
	{ WAIT_CHILD, "wait4 waitid vfork clone clone3" },
	{ WAIT_SYNC, "sync msync" },
	{ WAIT_SYNC | WAIT_OF_FILE, "fsync fdatasync sync_file_range syncfs" },
	{ WAIT_IO_URING, "io_uring_enter" },
	{ WAIT_OTHER | WAIT_OF_FILE, "ioctl flock fcntl close lseek fadvise64" },
};

static bool list_has_word(const char *list, const char *word)
{
	size_t length = strlen(word);
	const char *at = list;

	while ((at = strstr(at, word))) {
		if ((at == list || at[-1] == ' ') && (!at[length] || at[length] == ' '))
			return true;
		at += length;
	}
	return false;
}

static uint8_t wait_call_class(const char *name)
{
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		if (list_has_word(classes[i].calls, name))
			return classes[i].class;
	}
	return WAIT_OTHER;
}

void wait_calls_fill(uint8_t calls[WAIT_CALLS])
{
	for (int number = 0; number < WAIT_CALLS; number++) {
		char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);

		calls[number] = name ? wait_call_class(name) : WAIT_OTHER;
		free(name);
	}
}
