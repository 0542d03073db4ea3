/* SPDX-License-Identifier: BSD-2-Clause */
/* A list of system calls for each kind of process, beside a common one; each call that is not obvious has its reason. */
#include "privilege/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/sockios.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "privilege/bare.h"
#include "privilege/mapping_query.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* What any C program needs: memory, signals, exit. */
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

/* Files, waiting for open descriptors, and open sockets. */
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
	SCMP_SYS(fdatasync),
	SCMP_SYS(flock), /* one recording keeps a quota in a directory */
	SCMP_SYS(fsync),
	SCMP_SYS(ftruncate),
	SCMP_SYS(getcpu),
	SCMP_SYS(get_robust_list), /* finds the buffers of buffered mode */
	SCMP_SYS(getdents64),
	SCMP_SYS(getrandom),
	SCMP_SYS(getrusage),
	SCMP_SYS(getsockopt),
	SCMP_SYS(inotify_add_watch), /* whether a file is written to */
	SCMP_SYS(inotify_rm_watch),
	SCMP_SYS(getxattr), /* whether a file has an access control list */
	SCMP_SYS(lstat),
	SCMP_SYS(memfd_create), /* compressed symbols of a file are unpacked there */
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

/* Compressed symbols are unpacked into a memfd, whose size RLIMIT_FSIZE limits. */
static const int provers[] = {
	SCMP_SYS(memfd_create),
	SCMP_SYS(write),
};

/* Accepted connections, and pairs of sockets for the recorder. */
static const int exporters[] = {
	SCMP_SYS(accept4),   SCMP_SYS(epoll_ctl),   SCMP_SYS(epoll_pwait), SCMP_SYS(epoll_wait),
	SCMP_SYS(getrandom), SCMP_SYS(getsockname), SCMP_SYS(getsockopt),  SCMP_SYS(poll),
	SCMP_SYS(ppoll),     SCMP_SYS(recvfrom),    SCMP_SYS(sendto),	   SCMP_SYS(setsockopt),
	SCMP_SYS(shutdown),  SCMP_SYS(write),	    SCMP_SYS(writev),
};

/* Connections, the cache of files, and what resolvers of names and TLS libraries call. */
static const int
	downloaders[] = {
		SCMP_SYS(bind),	       SCMP_SYS(chmod),
		SCMP_SYS(connect),     SCMP_SYS(eventfd2),
		SCMP_SYS(fchdir),      SCMP_SYS(fchmodat),
		SCMP_SYS(futimesat),   SCMP_SYS(getpeername),
		SCMP_SYS(getsockname), SCMP_SYS(link),
		SCMP_SYS(linkat),      SCMP_SYS(membarrier),
		SCMP_SYS(mkdir),       SCMP_SYS(mkdirat),
		SCMP_SYS(mmap), /* the resolver loads libraries */
		SCMP_SYS(mprotect),    SCMP_SYS(pipe),
		SCMP_SYS(pipe2),       SCMP_SYS(recvmmsg),
		SCMP_SYS(rmdir),       SCMP_SYS(sendmmsg),
		SCMP_SYS(setsockopt),  SCMP_SYS(shutdown),
		SCMP_SYS(utime),       SCMP_SYS(utimensat),
		SCMP_SYS(utimes),
	};

/* Connections, files that are read, and what resolvers of names and TLS libraries call. */
static const int senders[] = {
	SCMP_SYS(access),	 SCMP_SYS(bind),	SCMP_SYS(connect),    SCMP_SYS(dup),
	SCMP_SYS(epoll_create1), SCMP_SYS(epoll_ctl),	SCMP_SYS(epoll_wait), SCMP_SYS(eventfd2),
	SCMP_SYS(faccessat),	 SCMP_SYS(faccessat2),	SCMP_SYS(getdents64), SCMP_SYS(getpeername),
	SCMP_SYS(getrandom),	 SCMP_SYS(getsockname), SCMP_SYS(getsockopt), SCMP_SYS(lstat),
	SCMP_SYS(membarrier),	 SCMP_SYS(mmap), /* the resolver loads libraries */
	SCMP_SYS(mprotect),	 SCMP_SYS(pipe2),	SCMP_SYS(poll),	      SCMP_SYS(ppoll),
	SCMP_SYS(readlink),	 SCMP_SYS(readlinkat),	SCMP_SYS(readv),      SCMP_SYS(recvfrom),
	SCMP_SYS(recvmmsg),	 SCMP_SYS(sendmmsg),	SCMP_SYS(sendto),     SCMP_SYS(setsockopt),
	SCMP_SYS(shutdown),	 SCMP_SYS(stat),	SCMP_SYS(statfs),     SCMP_SYS(sysinfo),
	SCMP_SYS(uname),	 SCMP_SYS(write),	SCMP_SYS(writev),
};

/* The C library calls these when a thread starts; address sanitizers look for the stack of each thread. */
static const int threads[] = {
	SCMP_SYS(rseq),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(set_robust_list),
};

/* isatty(), the width of the terminal, restoring its mode after `proftrace top`, and the mappings of programs. */
static const unsigned long recorders_ioctl[] = {
	TCGETS, TCSETS, TCSETSW, TCSETSF, TCFLSH, TIOCGWINSZ, MAPPING_QUERY,
};

/* The size of what has arrived, the number of an interface, and isatty(). Others write into the user's terminal (TIOCSTI). */
static const unsigned long clients_ioctl[] = { FIONREAD, SIOCGIFINDEX, TCGETS };

/* Other commands choose a process that gets a signal, any signal, when something arrives. */
static const int descriptors_fcntl[] = {
	F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL,
};

/* Of this machine itself, a client has no use for the sockets of other programs: they would do something for it. */
static const int clients_domains[] = { AF_INET, AF_INET6, AF_NETLINK };

/* The map of traced processes, and links. */
static const int brokers_bpf[] = {
	BPF_MAP_LOOKUP_ELEM,  BPF_MAP_UPDATE_ELEM, BPF_MAP_DELETE_ELEM,
	BPF_MAP_GET_NEXT_KEY, BPF_LINK_CREATE,	   BPF_PROG_TEST_RUN,
};

/* libseccomp ignores system calls that this architecture does not have. */
static int filter_allow(scmp_filter_ctx filter, const int *calls, unsigned n)
{
	int error = 0;

	for (unsigned i = 0; !error && i < n; i++)
		error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0);
	return error;
}

/* Conditions on an argument of a system call: it has this value, or none of these bits. */
static struct scmp_arg_cmp filter_arg_equals(unsigned argument, uint64_t value)
{
	return (struct scmp_arg_cmp){ argument, SCMP_CMP_EQ, value, 0 };
}

static struct scmp_arg_cmp filter_arg_without(unsigned argument, uint64_t bits)
{
	return (struct scmp_arg_cmp){ argument, SCMP_CMP_MASKED_EQ, bits, 0 };
}

static int filter_allow_if(scmp_filter_ctx filter, int call, struct scmp_arg_cmp condition)
{
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 1, condition);
}

/* Memory cannot be made executable. */
static int filter_allow_memory(scmp_filter_ctx filter)
{
	int error = filter_allow_if(filter, SCMP_SYS(mmap), filter_arg_without(2, PROT_EXEC));

	return error ? error
		     : filter_allow_if(filter, SCMP_SYS(mprotect),
				       filter_arg_without(2, PROT_EXEC));
}

/*
 * Only threads of this process and of its namespaces can be created. The C library first calls clone3(), whose
 * arguments are in memory that a filter cannot read; on ENOSYS it falls back to clone().
 */
static int filter_allow_threads(scmp_filter_ctx filter)
{
	const uint64_t must = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
	const uint64_t may = CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID |
			     CLONE_CHILD_CLEARTID | CLONE_DETACHED;
	int error = filter_allow_if(filter, SCMP_SYS(clone),
				    (struct scmp_arg_cmp){ 0, SCMP_CMP_MASKED_EQ, ~may, must });

	error = error ?: filter_allow(filter, threads, LENGTH(threads));
	return error ? error
		     : seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

static int filter_allow_fcntl(scmp_filter_ctx filter)
{
	unsigned i;
	int error = 0;

	for (i = 0; !error && i < LENGTH(descriptors_fcntl); i++)
		error = filter_allow_if(filter, SCMP_SYS(fcntl),
					filter_arg_equals(1, (unsigned)descriptors_fcntl[i]));
	return error;
}

/* Connected pairs, which stay connected to each other. */
static int filter_allow_pairs(scmp_filter_ctx filter)
{
	return filter_allow_if(filter, SCMP_SYS(socketpair),
			       (struct scmp_arg_cmp){ 1, SCMP_CMP_MASKED_EQ,
						      ~(uint64_t)(SOCK_CLOEXEC | SOCK_NONBLOCK),
						      SOCK_STREAM });
}

/* Connections to servers. */
static int filter_allow_client(scmp_filter_ctx filter)
{
	int error = filter_allow_pairs(filter);
	unsigned i;

	for (i = 0; !error && i < LENGTH(clients_domains); i++)
		error = filter_allow_if(filter, SCMP_SYS(socket),
					filter_arg_equals(0, (unsigned)clients_domains[i]));
	for (i = 0; !error && i < LENGTH(clients_ioctl); i++)
		error = filter_allow_if(filter, SCMP_SYS(ioctl),
					filter_arg_equals(1, clients_ioctl[i]));
	return error ? error : filter_allow_fcntl(filter);
}

/* abort() calls tgkill(). */
static int filter_allow_abort(scmp_filter_ctx filter)
{
	return filter_allow_if(filter, SCMP_SYS(tgkill), filter_arg_equals(0, getpid()));
}

static scmp_filter_ctx filter_new(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int error;

	if (!filter)
		return NULL;
	/* A binary search instead of a linear one; older versions of libseccomp do not have it. */
	seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	seccomp_attr_set(filter, SCMP_FLTATR_API_SYSRAWRC, 1);
	error = filter_allow(filter, common, LENGTH(common));
	error = error ?: filter_allow_memory(filter);
	error = error ?: filter_allow_abort(filter);
	if (!error)
		return filter;
	seccomp_release(filter);
	return NULL;
}

static int filter_load(scmp_filter_ctx filter, int error)
{
	error = error ?: seccomp_load(filter);
	seccomp_release(filter);
	return error;
}

int confine_recorder(const pid_t *children, unsigned n_children)
{
	scmp_filter_ctx filter = filter_new();
	int error;

	if (!filter)
		return -ENOMEM;
	error = filter_allow(filter, recorders, LENGTH(recorders));
	error = error ?: filter_allow_fcntl(filter);
	for (unsigned i = 0; !error && i < LENGTH(recorders_ioctl); i++)
		error = filter_allow_if(filter, SCMP_SYS(ioctl),
					filter_arg_equals(1, recorders_ioctl[i]));
	for (unsigned i = 0; !error && i < n_children; i++)
		error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(kill), 2,
					 filter_arg_equals(0, children[i]),
					 filter_arg_equals(1, SIGKILL));
	/* Other threads read the memory of programs (tracee/memory/target_memory.h). */
	error = error ?: filter_allow_threads(filter);
	/* Its own priority, up to the limit (capture/hurry.c), which it reads. */
	error = error
			?: filter_allow_if(filter, SCMP_SYS(sched_setscheduler),
					   filter_arg_equals(0, 0));
	if (!error)
		error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 2,
					 filter_arg_equals(0, 0), filter_arg_equals(2, 0));
	return filter_load(filter, error);
}

/* Files can only be opened to read them. */
static int filter_allow_reading(scmp_filter_ctx filter)
{
	const uint64_t writes = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND;
	int error = filter_allow_if(filter, SCMP_SYS(openat), filter_arg_without(2, writes));

	return error ? error
		     : filter_allow_if(filter, SCMP_SYS(open), filter_arg_without(1, writes));
}

int confine_broker(bool perf_events)
{
	scmp_filter_ctx filter = filter_new();
	int error;

	if (!filter)
		return -ENOMEM;
	error = filter_allow_reading(filter);
	for (unsigned i = 0; !error && i < LENGTH(brokers_bpf); i++)
		error = filter_allow_if(filter, SCMP_SYS(bpf),
					filter_arg_equals(0, brokers_bpf[i]));
	error = error ?: filter_allow_threads(filter);
	/* To follow processes beside requests, and to keep the files that it attaches to. */
	error = error ?: seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(poll), 0);
	error = error ?: seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(ppoll), 0);
	if (!error)
		error = filter_allow_if(filter, SCMP_SYS(fcntl),
					filter_arg_equals(1, F_DUPFD_CLOEXEC));
	/* Its own memory, where it has breakpoints (broker/decode.c). */
	if (!error)
		error = filter_allow_if(filter, SCMP_SYS(process_vm_readv),
					filter_arg_equals(0, (uint64_t)getpid()));
	/* So that nothing waits for a prover at the end. */
	error = error ?: seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(shutdown), 0);
	/* Who hands over a process (broker/adopt.c). */
	error = error ?: seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(getsockopt), 0);
	/* Which program a process runs: whether it matches what the user looks for. */
	error = error ?: seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(readlinkat), 0);
	error = error ?: seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(getdents64), 0);
	/* Whether a file has capabilities or an access control list. */
	error = error ?: seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(fgetxattr), 0);
	/* Directories of new containers (broker/container_watch.c); the descriptor was made before. */
	error = error ?: seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(inotify_add_watch), 0);
	if (!error && perf_events)
		error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(perf_event_open), 0);
	return filter_load(filter, error);
}

int confine_parser(void)
{
	scmp_filter_ctx filter = filter_new();
	int error;

	if (!filter)
		return -ENOMEM;
	/* A timer limits the time; libelf calls fcntl(). */
	error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(setitimer), 0);
	error = error ?: filter_allow_fcntl(filter);
	/* The parser sets its memory limit by the sizes of the files that it received. */
	if (!error)
		error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 2,
					 filter_arg_equals(0, 0),
					 filter_arg_equals(1, RLIMIT_DATA));
	return filter_load(filter, error);
}

int confine_downloader(void)
{
	scmp_filter_ctx filter = filter_new();
	int error;

	if (!filter)
		return -ENOMEM;
	error = filter_allow(filter, recorders, LENGTH(recorders));
	error = error ?: filter_allow(filter, downloaders, LENGTH(downloaders));
	error = error ?: filter_allow_threads(filter);
	error = error ?: filter_allow_client(filter);
	/* The limits of this process, not those of others. */
	error = error ?: filter_allow_if(filter, SCMP_SYS(prlimit64), filter_arg_equals(0, 0));
	return filter_load(filter, error);
}

int confine_sender(void)
{
	scmp_filter_ctx filter = filter_new();
	int error;

	if (!filter)
		return -ENOMEM;
	error = filter_allow(filter, senders, LENGTH(senders));
	error = error ?: filter_allow_reading(filter);
	error = error ?: filter_allow_threads(filter);
	error = error ?: filter_allow_client(filter);
	return filter_load(filter, error);
}

int confine_prover(void)
{
	scmp_filter_ctx filter = filter_new();

	return filter ? filter_load(filter, filter_allow(filter, provers, LENGTH(provers)))
		      : -ENOMEM;
}

int confine_exporter(void)
{
	scmp_filter_ctx filter = filter_new();
	int error;

	if (!filter)
		return -ENOMEM;
	error = filter_allow(filter, exporters, LENGTH(exporters));
	error = error ?: filter_allow_pairs(filter);
	error = error ?: filter_allow_fcntl(filter);
	return filter_load(filter, error);
}

static void confine_try(void *unused)
{
	(void)unused;
	_exit(confine_recorder(NULL, 0) || !(socket(AF_UNIX, SOCK_STREAM, 0) < 0));
}

bool confine_available(void)
{
	int status;
	pid_t pid = bare_fork(-1, confine_try, NULL);

	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* --- resources --------------------------------------------------------------------------------- */

void confine_limit(int resource, uint64_t most)
{
	struct rlimit r = { most, most }, old;

#ifdef MEMORY_UNLIMITED
	if (resource == RLIMIT_AS)
		return;
#endif
	if (!getrlimit(resource, &old) && old.rlim_max < most)
		r = (struct rlimit){ old.rlim_max, old.rlim_max };
	setrlimit(resource, &r);
}

void confine_prefer_oom_kill(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0) {
		ssize_t n = write(fd, "1000", 4);

		(void)n;
		close(fd);
	}
}
