/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * let_go ORDINARY SET-ID LIBRARY
 *
 * As a user with the capabilities that recording needs: has the broker asked to trace a process, or to attach to it, that
 * executes a set-ID program just then (tests/integration/programs/alternates.c, in two copies), between
 * the steps in which the broker looks at it and puts it into the map. No program that the user may not
 * look into must be traced, nor opened, nor have a breakpoint, however it comes about.
 *
 * Prints for each order of events what the broker said (0, or an error's number), and whether the process
 * is traced after it, or has a breakpoint for longer than two seconds. Exit status 2: it cannot be tried here, and why.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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
#include "bpf/event.h"
#include "proftrace.skel.h"
#include "tracee/markers.h"

/* Where in the broker the process executes something. */
enum place {
	NOWHERE,
	LOOKED,	   /* it has been looked at, nothing has been done yet */
	PUT,	   /* it is in the map, and has been looked at once more */
	OPENED,	   /* something of it has been opened, and it has been looked at once more */
	ATTACHING, /* it is about to be attached to */
	ATTACHED,
};

/* Shared with the broker. */
static struct order {
	enum place place;
	unsigned times; /* that it executes the other program there */
	unsigned now;
	bool linked; /* there were links after it had executed the other program */
} * order;

static int alternating = -1; /* socket to the process */

static int library = -1;
static struct broker_site site;
static char code; /* what the library has there */

enum asked {
	TRACES,
	OPENS,
	ATTACHES
};

static const struct {
	const char *name;
	struct order order;
	enum asked asked;
} orders[] = {
	{ "ordinary", { NOWHERE, 0, 0, false }, TRACES },
	{ "looked", { LOOKED, 1, 0, false }, TRACES },
	{ "put", { PUT, 1, 0, false }, TRACES },
	{ "put_and_back", { PUT, 2, 0, false }, TRACES },
	{ "opened", { OPENED, 1, 0, false }, OPENS },
	{ "opened_and_back", { OPENED, 2, 0, false }, OPENS },
	{ "attach", { NOWHERE, 0, 0, false }, ATTACHES },
	{ "attach_looked", { LOOKED, 1, 0, false }, ATTACHES },
	{ "attach_put", { PUT, 1, 0, false }, ATTACHES },
	{ "attaching", { ATTACHING, 1, 0, false }, ATTACHES },
	{ "attaching_and_back", { ATTACHING, 2, 0, false }, ATTACHES },
	{ "attached", { ATTACHED, 1, 0, false }, ATTACHES },
	{ "attached_and_back", { ATTACHED, 2, 0, false }, ATTACHES },
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

int __real_sites_attach(struct loaded_programs *programs, enum broker_program program, pid_t pid,
			int elf_fd, const struct broker_site *sites, unsigned n, int *links,
			unsigned *n_links, struct failure *f);
int __wrap_sites_attach(struct loaded_programs *programs, enum broker_program program, pid_t pid,
			int elf_fd, const struct broker_site *sites, unsigned n, int *links,
			unsigned *n_links, struct failure *f);

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

int __wrap_sites_attach(struct loaded_programs *programs, enum broker_program program, pid_t pid,
			int elf_fd, const struct broker_site *sites, unsigned n, int *links,
			unsigned *n_links, struct failure *f)
{
	bool is_attaching = order->place == ATTACHING;
	int error;

	pass(ATTACHING);
	error = __real_sites_attach(programs, program, pid, elf_fd, sites, n, links, n_links, f);
	order->linked = is_attaching && !error;
	pass(ATTACHED);
	return error;
}

static pid_t start(char **argv)
{
	int sockets[2];
	char offset[24];
	pid_t pid;

	snprintf(offset, sizeof(offset), "%" PRIu64, site.offset);
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
		execl(argv[1], argv[1], argv[1], argv[2], argv[3], offset, (char *)NULL);
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
		.own_only = true,
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

/* The first marker of the library, which both programs have mapped. */
static void find_marker(const char *path)
{
	struct marker_sites found = { 0 };
	struct failure f = { 0 };
	struct elf_file *elf;

	library = open(path, O_RDONLY | O_CLOEXEC);
	if (elf_file_open(library, &elf, &f) || markers_find(elf, &found, &f) || !found.n)
		exit(3);
	site.offset = found.sites[0].offset;
	site.semaphore_offset = found.sites[0].semaphore_offset;
	if (pread(library, &code, 1, (off_t)site.offset) != 1)
		exit(3);
	marker_sites_free(&found);
	elf_file_free(elf);
}

/* Returns what the broker said. */
static int attach_to(struct broker *b, pid_t pid)
{
	struct failure f = { 0 };
	unsigned link;
	int error = broker_attach(b, BROKER_MARKS, pid, library, &site, 1, &link, &f);

	if (error && error != -EPERM && error != -ESRCH)
		printf("%s: %s\n", f.what, f.reason);
	return -error;
}

/* As it says itself; polled, because the kernel's side tells of executions a moment later. */
static bool has_breakpoint(void)
{
	unsigned i;
	char byte;

	for (i = 0; i < 200; i++) {
		if (write(alternating, "?", 1) != 1 || read(alternating, &byte, 1) != 1)
			_exit(3);
		if (byte == code)
			return false;
		usleep(10000);
	}
	return true;
}

/* A broker and a process of their own, since a broker knows whom it has traced. */
static void try(unsigned i, char **argv)
{
	const pid_t pid = start(argv);
	struct broker *b = start_broker(pid);
	const struct broker_target target = { pid, 0 };
	int said = 0;

	if (orders[i].asked == OPENS && broker_trace(b, &target, TRACED_WATCH | TRACED_MARKS, NULL))
		exit(3);
	*order = orders[i].order;
	if (orders[i].asked == OPENS)
		said = open_of(b, &target);
	else if (orders[i].asked == ATTACHES)
		said = attach_to(b, pid);
	else
		said = -broker_trace(b, &target, TRACED_WATCH | TRACED_MARKS, NULL);
	/* Of one that is not in the map nothing is opened, and it is said so; of others, it depends. */
	printf("%s %d\n%s_traced %d\n", orders[i].name, said, orders[i].name,
	       orders[i].asked == ATTACHES ? has_breakpoint() || order->linked
					   : open_of(b, &target) != ESRCH);
	if (order->place != NOWHERE || order->times)
		printf("%s: it has not been there\n", orders[i].name);
	fflush(stdout);
	broker_stop(b, true);
	close(alternating);
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	unsigned i;

	order = mmap(NULL, sizeof(*order), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (argc != 4 || order == MAP_FAILED || pthread_create(&thread, NULL, execute, NULL))
		return 3;
	find_marker(argv[3]);
	for (i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
		try(i, argv);
	return 0;
}
