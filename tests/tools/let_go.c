/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * let_go ORDINARY SET-UID
 *
 * As a user with the capabilities that recording needs: has the broker asked to trace a process that
 * executes a set-uid program just then (tests/integration/programs/alternates.c, in two copies), between
 * the steps in which the broker looks at it and puts it into the map. No program that the user may not
 * look into must be traced, nor opened, however it comes about.
 *
 * Prints for each order of events what the broker said (0, or an error's number), and whether the process
 * is traced after it. Exit status 2: it cannot be tried here, and why.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "privilege/broker/broker.h"
#include "privilege/broker/server.h"
#include "event.h"
#include "proftrace.skel.h"

/* Where in the broker the process executes something. */
enum place {
	NOWHERE,
	LOOKED, /* it has been looked at, nothing has been done yet */
	PUT,	/* it is in the map, and has been looked at once more */
	OPENED, /* something of it has been opened, and it has been looked at once more */
};

/* Shared with the broker. */
static struct order {
	enum place place;
	unsigned times; /* that it executes the other program there */
	unsigned now;
} * order;

static int alternating = -1; /* socket to the process */

static const struct {
	const char *name;
	struct order order;
	bool opens;
} orders[] = {
	{ "ordinary", { NOWHERE, 0, 0 }, false }, { "looked", { LOOKED, 1, 0 }, false },
	{ "put", { PUT, 1, 0 }, false },	  { "put_and_back", { PUT, 2, 0 }, false },
	{ "opened", { OPENED, 1, 0 }, true },	  { "opened_and_back", { OPENED, 2, 0 }, true },
};

static void hear(void)
{
	char byte;

	if (read(alternating, &byte, 1) != 1 || (byte != 'o' && byte != 's'))
		_exit(3);
}

/* The broker has no descriptor but its socket, and few system calls: who does it is this thread. */
static void *execute(void *unused)
{
	for (;;) {
		while (!__atomic_load_n(&order->now, __ATOMIC_ACQUIRE))
			usleep(100);
		for (; order->times; order->times--) {
			if (write(alternating, "", 1) != 1)
				_exit(3);
			hear();
		}
		__atomic_store_n(&order->now, 0, __ATOMIC_RELEASE);
	}
	return unused;
}

static void pass(enum place place)
{
	if (order->place != place || !order->times)
		return;
	order->place = NOWHERE;
	__atomic_store_n(&order->now, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&order->now, __ATOMIC_ACQUIRE))
		sched_yield();
}

int __real_process_directory(const struct broker_target *target, struct failure *f);
int __wrap_process_directory(const struct broker_target *target, struct failure *f);
const char *__real_process_untraceable(int directory);
const char *__wrap_process_untraceable(int directory);
int __real_process_open(enum broker_file what, const struct broker_target *target, uint64_t start,
			uint64_t end, struct failure *f);
int __wrap_process_open(enum broker_file what, const struct broker_target *target, uint64_t start,
			uint64_t end, struct failure *f);

int __wrap_process_directory(const struct broker_target *target, struct failure *f)
{
	int directory = __real_process_directory(target, f);

	pass(LOOKED);
	return directory;
}

const char *__wrap_process_untraceable(int directory)
{
	const char *reason = __real_process_untraceable(directory);

	pass(PUT);
	return reason;
}

int __wrap_process_open(enum broker_file what, const struct broker_target *target, uint64_t start,
			uint64_t end, struct failure *f)
{
	int fd = __real_process_open(what, target, start, end, f);

	pass(OPENED);
	return fd;
}

static pid_t start(char **argv)
{
	int sockets[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		exit(3);
	pid = fork();
	if (!pid) {
		/* The rights that we were given are not for it. */
		prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
		if (dup2(sockets[1], 0) != 0 || dup2(sockets[1], 1) != 1)
			_exit(3);
		close(sockets[0]);
		close(sockets[1]);
		execl(argv[1], argv[1], argv[1], argv[2], (char *)NULL);
		_exit(3);
	}
	close(sockets[1]);
	alternating = sockets[0];
	hear();
	return pid;
}

static struct broker *start_broker(pid_t pid)
{
	const struct broker_config config = {
		.buffer_bytes = 1 << 20,
		.buffers = 1,
		.follow_children = true,
		.pids = &pid,
		.n_pids = 1,
	};
	struct broker_loaded loaded;
	struct failure f = { 0 };
	struct proftrace_bpf__bss *shared;
	struct broker *b;

	if (broker_start(&config, &b, &loaded, &f)) {
		printf("%s: %s\n", f.what, f.reason);
		exit(2);
	}
	shared = mmap(NULL, loaded.shared_size, PROT_READ | PROT_WRITE, MAP_SHARED,
		      loaded.shared_fd, 0);
	if (shared == MAP_FAILED)
		exit(3);
	shared->recording = 1;
	return b;
}

static int open_of(struct broker *b, const struct broker_target *target)
{
	int fd = broker_open(b, BROKER_TASKS, target, 0, 0, NULL);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? -fd : 0;
}

/* A broker and a process of their own, since a broker knows whom it has traced. */
static void try(unsigned i, char **argv)
{
	const pid_t pid = start(argv);
	struct broker *b = start_broker(pid);
	const struct broker_target target = { pid, 0 };
	int said = 0;

	if (orders[i].opens && broker_trace(b, &target, TRACED_WATCH | TRACED_MARKS, NULL))
		exit(3);
	*order = orders[i].order;
	if (orders[i].opens)
		said = open_of(b, &target);
	else
		said = -broker_trace(b, &target, TRACED_WATCH | TRACED_MARKS, NULL);
	/* Of one that is not in the map nothing is opened, and it is said so; of others, it depends. */
	printf("%s %d\n%s_traced %d\n", orders[i].name, said, orders[i].name,
	       open_of(b, &target) != ESRCH);
	if (order->place != NOWHERE || order->times)
		printf("%s: it has not been there\n", orders[i].name);
	fflush(stdout);
	broker_stop(b);
	close(alternating);
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	unsigned i;

	order = mmap(NULL, sizeof(*order), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (argc != 3 || order == MAP_FAILED || pthread_create(&thread, NULL, execute, NULL))
		return 3;
	for (i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
		try(i, argv);
	return 0;
}
