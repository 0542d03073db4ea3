/* SPDX-License-Identifier: BSD-2-Clause */
#include "confine/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* What any C program does: memory, signals, its end. */
static const int common[] = {
	SCMP_SYS(brk),		 SCMP_SYS(clock_getres),
	SCMP_SYS(clock_gettime), SCMP_SYS(clock_nanosleep),
	SCMP_SYS(close),	 SCMP_SYS(exit),
	SCMP_SYS(exit_group),	 SCMP_SYS(fstat),
	SCMP_SYS(fstatfs),	 SCMP_SYS(futex),
	SCMP_SYS(getegid),	 SCMP_SYS(geteuid),
	SCMP_SYS(getgid),	 SCMP_SYS(getpid),
	SCMP_SYS(getppid),	 SCMP_SYS(gettid),
	SCMP_SYS(gettimeofday),	 SCMP_SYS(getuid),
	SCMP_SYS(lseek),	 SCMP_SYS(madvise),
	SCMP_SYS(mremap),	 SCMP_SYS(munmap),
	SCMP_SYS(nanosleep),	 SCMP_SYS(newfstatat),
	SCMP_SYS(pread64),	 SCMP_SYS(read),
	SCMP_SYS(recvmsg),	 SCMP_SYS(restart_syscall),
	SCMP_SYS(rt_sigaction),	 SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),	 SCMP_SYS(sched_yield),
	SCMP_SYS(sendmsg),	 SCMP_SYS(sigaltstack),
	SCMP_SYS(sigreturn),	 SCMP_SYS(statx),
};

/* Files, waiting for what is open, and the sockets that are. */
static const int recorders[] = {
	SCMP_SYS(accept4),
	SCMP_SYS(access),
	SCMP_SYS(dup),
	SCMP_SYS(epoll_create1),
	SCMP_SYS(epoll_ctl),
	SCMP_SYS(epoll_pwait),
	SCMP_SYS(epoll_wait),
	SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2),
	SCMP_SYS(fadvise64),
	SCMP_SYS(fallocate),
	SCMP_SYS(fchmod),
	SCMP_SYS(fcntl),
	SCMP_SYS(fdatasync),
	SCMP_SYS(fsync),
	SCMP_SYS(ftruncate),
	SCMP_SYS(getcpu),
	SCMP_SYS(getdents64),
	SCMP_SYS(getrandom),
	SCMP_SYS(getrusage),
	SCMP_SYS(getsockopt),
	SCMP_SYS(lstat),
	SCMP_SYS(memfd_create), /* symbols that a file holds compressed */
	SCMP_SYS(open),
	SCMP_SYS(openat),
	SCMP_SYS(openat2),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(pselect6),
	SCMP_SYS(preadv),
	SCMP_SYS(preadv2),
	SCMP_SYS(pwrite64),
	SCMP_SYS(pwritev),
	SCMP_SYS(pwritev2),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
	SCMP_SYS(readv),
	SCMP_SYS(recvfrom),
	SCMP_SYS(rename),
	SCMP_SYS(renameat),
	SCMP_SYS(renameat2),
	SCMP_SYS(rt_sigtimedwait),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(select),
	SCMP_SYS(sendto),
	SCMP_SYS(signalfd4),
	SCMP_SYS(stat),
	SCMP_SYS(statfs),
	SCMP_SYS(sysinfo),
	SCMP_SYS(timerfd_create),
	SCMP_SYS(timerfd_settime),
	SCMP_SYS(umask),
	SCMP_SYS(uname),
	SCMP_SYS(unlink),
	SCMP_SYS(unlinkat),
	SCMP_SYS(wait4),
	SCMP_SYS(waitid),
	SCMP_SYS(write),
	SCMP_SYS(writev),
};

/* Limits itself, and asks what libelf asks of a descriptor. It opens nothing and makes no process. */
static const int parsers[] = {
	SCMP_SYS(fcntl),
	SCMP_SYS(setitimer),
};

/* Of terminals: whether it is one, how wide, and as it was before `proftrace top`. */
static const unsigned long recorders_ioctl[] = {
	TCGETS, TCSETS, TCSETSW, TCSETSF, TCFLSH, TIOCGWINSZ,
};

/* The map of traced processes, and links. */
static const int brokers_bpf[] = {
	BPF_MAP_LOOKUP_ELEM,
	BPF_MAP_UPDATE_ELEM,
	BPF_MAP_DELETE_ELEM,
	BPF_LINK_CREATE,
};

/* Names of system calls that this architecture does not have are passed over. */
static int allow(scmp_filter_ctx filter, const int *calls, unsigned n)
{
	unsigned i;
	int error = 0;

	for (i = 0; !error && i < n; i++)
		error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0);
	return error;
}

/* Conditions on an argument of a system call: its value, or that it has none of these bits. */
static struct scmp_arg_cmp equals(unsigned argument, uint64_t value)
{
	return (struct scmp_arg_cmp){ argument, SCMP_CMP_EQ, value, 0 };
}

static struct scmp_arg_cmp without(unsigned argument, uint64_t bits)
{
	return (struct scmp_arg_cmp){ argument, SCMP_CMP_MASKED_EQ, bits, 0 };
}

static int allow_if(scmp_filter_ctx filter, int call, struct scmp_arg_cmp condition)
{
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 1, condition);
}

/* No memory that holds data becomes code. */
static int allow_memory(scmp_filter_ctx filter)
{
	int error = allow_if(filter, SCMP_SYS(mmap), without(2, PROT_EXEC));

	return error ? error : allow_if(filter, SCMP_SYS(mprotect), without(2, PROT_EXEC));
}

/* abort() raises its signal this way. */
static int allow_abort(scmp_filter_ctx filter)
{
	return allow_if(filter, SCMP_SYS(tgkill), equals(0, getpid()));
}

static scmp_filter_ctx filter_new(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int error;

	if (!filter)
		return NULL;
	/* A search instead of one comparison after the other; not every libseccomp can. */
	seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	seccomp_attr_set(filter, SCMP_FLTATR_API_SYSRAWRC, 1);
	error = allow(filter, common, LENGTH(common));
	if (!error)
		error = allow_memory(filter);
	if (!error)
		error = allow_abort(filter);
	if (!error)
		return filter;
	seccomp_release(filter);
	return NULL;
}

static int load(scmp_filter_ctx filter, int error)
{
	if (!error)
		error = seccomp_load(filter);
	seccomp_release(filter);
	return error;
}

int confine_recorder(const pid_t *children, unsigned n_children)
{
	scmp_filter_ctx filter = filter_new();
	unsigned i;
	int error;

	if (!filter)
		return -ENOMEM;
	error = allow(filter, recorders, LENGTH(recorders));
	for (i = 0; !error && i < LENGTH(recorders_ioctl); i++)
		error = allow_if(filter, SCMP_SYS(ioctl), equals(1, recorders_ioctl[i]));
	for (i = 0; !error && i < n_children; i++)
		error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(kill), 2,
					 equals(0, children[i]), equals(1, SIGKILL));
	return load(filter, error);
}

int confine_broker(bool perf_events)
{
	const uint64_t writes = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND;
	scmp_filter_ctx filter = filter_new();
	unsigned i;
	int error;

	if (!filter)
		return -ENOMEM;
	error = allow_if(filter, SCMP_SYS(openat), without(2, writes));
	if (!error)
		error = allow_if(filter, SCMP_SYS(open), without(1, writes));
	for (i = 0; !error && i < LENGTH(brokers_bpf); i++)
		error = allow_if(filter, SCMP_SYS(bpf), equals(0, brokers_bpf[i]));
	if (!error && perf_events)
		error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(perf_event_open), 0);
	return load(filter, error);
}

int confine_parser(void)
{
	scmp_filter_ctx filter = filter_new();
	int error;

	if (!filter)
		return -ENOMEM;
	error = allow(filter, parsers, LENGTH(parsers));
	/* How much memory it may take, by how much it was handed. */
	if (!error)
		error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 2,
					 equals(0, 0), equals(1, RLIMIT_DATA));
	return load(filter, error);
}

bool confine_available(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(confine_recorder(NULL, 0) || !(socket(AF_UNIX, SOCK_STREAM, 0) < 0));
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}
