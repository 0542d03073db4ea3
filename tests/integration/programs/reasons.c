/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reasons [ROUNDS]: slices in which the main thread waits 10 ms for one known thing.
 *
 *	lock		a mutex that the thread `holder` holds, in its slice `hold`
 *	pipe		read() from a pipe into which `holder` writes, in its slice `feed`
 *	socket		read() from a socket, in the same way, `send`
 *	sleep		nanosleep()
 *	poll		poll() of the pipe, until `holder` writes in `wake`
 *	fault		a page that `holder` provides by userfaultfd, in its slice `provide`
 *	child		waitpid() for a process that sleeps
 *	sync		fsync() of a file, for however long it takes
 *
 * Prints `main <tid>`, `child <ns>`: the longest wait for a child, which also has to begin and to end, `holder <tid>`,
 * `lock <address>`, `pipe <inode>`, `fault <0 or 1>`: whether there is a userfaultfd, and `marks <n>`.
 */
#define _GNU_SOURCE
#include <proftrace.h>

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000l

enum order {
	ORDER_HOLD,
	ORDER_FEED,
	ORDER_SEND,
	ORDER_WAKE,
	ORDER_PROVIDE,
	ORDER_END
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t ordered, begun;
static enum order order;
static int pipe_of[2], sockets[2], faults = -1;
static char *page;
static unsigned marks;
static long child_ns;

static void nap(void)
{
	struct timespec t = { 0, 10 * MS };

	while (nanosleep(&t, &t))
		;
}

/* The slice ends only after the other thread was woken. */
static void hold(void)
{
	PROF_SCOPE("hold");
	pthread_mutex_lock(&lock);
	sem_post(&begun);
	nap();
	pthread_mutex_unlock(&lock);
}

static void feed(int fd)
{
	sem_post(&begun);
	nap();
	if (write(fd, "x", 1) != 1)
		abort();
}

static void provide(void)
{
	static char zeros[4096] __attribute__((aligned(4096)));
	struct uffd_msg message;
	struct uffdio_copy copy = { .src = (unsigned long)zeros, .len = sizeof(zeros) };

	PROF_SCOPE("provide");
	sem_post(&begun);
	if (read(faults, &message, sizeof(message)) != sizeof(message))
		abort();
	nap();
	copy.dst = message.arg.pagefault.address & ~4095ul;
	if (ioctl(faults, UFFDIO_COPY, &copy))
		abort();
}

static void *holder(void *unused)
{
	printf("holder %ld\n", syscall(SYS_gettid));
	for (;;) {
		sem_wait(&ordered);
		switch (order) {
		case ORDER_HOLD:
			hold();
			break;
		case ORDER_FEED: {
			PROF_SCOPE("feed");
			feed(pipe_of[1]);
			break;
		}
		case ORDER_SEND: {
			PROF_SCOPE("send");
			feed(sockets[1]);
			break;
		}
		case ORDER_WAKE: {
			PROF_SCOPE("wake");
			feed(pipe_of[1]);
			break;
		}
		case ORDER_PROVIDE:
			provide();
			break;
		case ORDER_END:
			return unused;
		}
		marks += 2;
	}
}

static void give(enum order what)
{
	order = what;
	sem_post(&ordered);
	if (what != ORDER_END)
		sem_wait(&begun);
}

static int open_faults(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	range.range.start = (unsigned long)page;
	range.range.len = 4096;
	return faults >= 0 && !ioctl(faults, UFFDIO_API, &api) &&
	       !ioctl(faults, UFFDIO_REGISTER, &range);
}

static void wait_for_lock(void)
{
	give(ORDER_HOLD);
	PROF_BEGIN("lock");
	pthread_mutex_lock(&lock);
	PROF_END();
	pthread_mutex_unlock(&lock);
}

static void wait_for_byte(int fd)
{
	char c;

	if (read(fd, &c, 1) != 1)
		abort();
}

static void wait_for_page(void)
{
	madvise(page, 4096, MADV_DONTNEED);
	give(ORDER_PROVIDE);
	PROF_BEGIN("fault");
	*(volatile char *)page = 1;
	PROF_END();
}

static void wait_for_child(void)
{
	struct timespec begin, end;
	pid_t child;
	long ns;

	PROF_BEGIN("child");
	child = fork();
	if (!child) {
		nap();
		_exit(0);
	}
	clock_gettime(CLOCK_MONOTONIC, &begin);
	waitpid(child, NULL, 0);
	clock_gettime(CLOCK_MONOTONIC, &end);
	PROF_END();
	ns = (end.tv_sec - begin.tv_sec) * 1000000000 + end.tv_nsec - begin.tv_nsec;
	if (ns > child_ns)
		child_ns = ns;
}

static void wait_for_disk(void)
{
	int fd = open("synced", O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, "x", 1) != 1)
		abort();
	PROF_BEGIN("sync");
	fsync(fd);
	PROF_END();
	close(fd);
}

static void one_round(int has_faults)
{
	struct pollfd one = { .fd = pipe_of[0], .events = POLLIN };

	wait_for_lock();
	give(ORDER_FEED);
	PROF_BEGIN("pipe");
	wait_for_byte(pipe_of[0]);
	PROF_END();
	give(ORDER_SEND);
	PROF_BEGIN("socket");
	wait_for_byte(sockets[0]);
	PROF_END();
	PROF_BEGIN("sleep");
	nap();
	PROF_END();
	give(ORDER_WAKE);
	PROF_BEGIN("poll");
	poll(&one, 1, -1);
	PROF_END();
	wait_for_byte(pipe_of[0]);
	if (has_faults)
		wait_for_page();
	wait_for_child();
	wait_for_disk();
	marks += has_faults ? 16 : 14;
}

int main(int argc, char **argv)
{
	int i, rounds = argc > 1 ? atoi(argv[1]) : 3, has_faults;
	pthread_t thread;
	struct stat about;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (pipe(pipe_of) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) ||
	    fstat(pipe_of[0], &about))
		return 1;
	sem_init(&ordered, 0, 0);
	sem_init(&begun, 0, 0);
	has_faults = open_faults();
	pthread_create(&thread, NULL, holder, NULL);
	pthread_setname_np(thread, "holder");
	for (i = 0; i < rounds; i++)
		one_round(has_faults);
	give(ORDER_END);
	pthread_join(thread, NULL);
	printf("child %ld\n", child_ns);
	printf("main %ld\nlock %p\npipe %lu\nfault %d\nmarks %u\n", syscall(SYS_gettid),
	       (void *)&lock, (unsigned long)about.st_ino, has_faults, marks);
	return 0;
}
