/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * let_go ORDINARY SET-ID LIBRARY
 *
 * As a user with the capabilities that recording needs: has the broker asked to trace a process, or to attach to it, that
 * executes a set-ID program just then (tests/integration/programs/alternates.c, in two copies), between
 * the steps in which the broker looks at it and puts it into the map. No program that the user may not
 * look into must be traced, nor opened, nor have a breakpoint, however it comes about.
 *
 * Or the process ends just then, and one that matches (--wait), and has a capability, gets its number.
 *
 * Prints for each order of events what the broker said (0, or an error's number), and whether the process
 * is traced after it, or has a breakpoint for longer than two seconds. Exit status 2: it cannot be tried here, and why.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
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
	CHANGING, /* the flags of what is in the map are about to be changed */
};

/* Shared with the broker. */
static struct order {
	enum place place;
	unsigned times; /* that it executes the other program there */
	unsigned now;
	bool linked; /* there were links after it had executed the other program */
	bool reused; /* instead, it ends, and a program with more privileges gets its number */
} * order;

static int alternating = -1; /* socket to the process */

static int library = -1;
static struct broker_site site;
static char code; /* what the library has there */

static pid_t target;
static char **arguments;

enum asked {
	TRACES,
	OPENS,
	ATTACHES,
	PAUSES
};

static const struct {
	const char *name;
	struct order order;
	enum asked asked;
} orders[] = {
	{ "ordinary", { .place = NOWHERE, .times = 0 }, TRACES },
	{ "looked", { .place = LOOKED, .times = 1 }, TRACES },
	{ "put", { .place = PUT, .times = 1 }, TRACES },
	{ "put_and_back", { .place = PUT, .times = 2 }, TRACES },
	{ "opened", { .place = OPENED, .times = 1 }, OPENS },
	{ "opened_and_back", { .place = OPENED, .times = 2 }, OPENS },
	{ "attach", { .place = NOWHERE, .times = 0 }, ATTACHES },
	{ "attach_looked", { .place = LOOKED, .times = 1 }, ATTACHES },
	{ "attach_put", { .place = PUT, .times = 1 }, ATTACHES },
	{ "attaching", { .place = ATTACHING, .times = 1 }, ATTACHES },
	{ "attaching_and_back", { .place = ATTACHING, .times = 2 }, ATTACHES },
	{ "attached", { .place = ATTACHED, .times = 1 }, ATTACHES },
	{ "attached_and_back", { .place = ATTACHED, .times = 2 }, ATTACHES },
	{ "traced_and_reused", { .place = CHANGING, .times = 1, .reused = true }, TRACES },
	{ "paused_and_reused", { .place = CHANGING, .times = 1, .reused = true }, PAUSES },
};

static void hear(void)
{
	char byte;

	if (read(alternating, &byte, 1) != 1 || (byte != 'o' && byte != 's'))
		_exit(3);
}

_Noreturn static void become_alternating(int socket)
{
	char offset[24];

	snprintf(offset, sizeof(offset), "%" PRIu64, site.offset);
	if (dup2(socket, 0) == 0 && dup2(socket, 1) == 1)
		execl(arguments[1], arguments[1], arguments[1], arguments[2], arguments[3], offset,
		      (char *)NULL);
	_exit(3);
}

/* The rights that we were given are for the process that gets the number. */
static void reuse(void)
{
	struct clone_args args = { .exit_signal = SIGCHLD,
				   .set_tid = (uintptr_t)&target,
				   .set_tid_size = 1 };
	int sockets[2];
	pid_t pid;

	kill(target, SIGKILL);
	waitpid(target, NULL, 0);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
		_exit(3);
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (!pid)
		become_alternating(sockets[1]);
	if (pid < 0)
		_exit(3);
	close(sockets[1]);
	close(alternating);
	alternating = sockets[0];
	hear();
}

/* The broker has no descriptor but its socket, and few system calls: who does it is this thread. */
static void *execute(void *unused)
{
	for (;;) {
		while (!__atomic_load_n(&order->now, __ATOMIC_ACQUIRE))
			usleep(100);
		if (order->reused) {
			reuse();
			order->times = 0;
		}
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

int __real_process_directory(const struct broker_target *named, struct failure *f);
int __wrap_process_directory(const struct broker_target *named, struct failure *f);
const char *__real_process_untraceable(int directory);
const char *__wrap_process_untraceable(int directory);
int __real_process_open(enum broker_file what, const struct broker_target *named, uint64_t start,
			uint64_t end, struct failure *f);
int __wrap_process_open(enum broker_file what, const struct broker_target *named, uint64_t start,
			uint64_t end, struct failure *f);

int __real_sites_attach(struct loaded_programs *programs, enum broker_program program, pid_t pid,
			int elf_fd, const struct broker_site *sites, unsigned n, int *links,
			unsigned *n_links, struct failure *f);
int __wrap_sites_attach(struct loaded_programs *programs, enum broker_program program, pid_t pid,
			int elf_fd, const struct broker_site *sites, unsigned n, int *links,
			unsigned *n_links, struct failure *f);

int __real_bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags);
int __wrap_bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags);

/* For all other maps and processes the broker says whether there may be an entry. */
int __wrap_bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	if (order && flags == BPF_EXIST)
		pass(CHANGING);
	return __real_bpf_map_update_elem(fd, key, value, flags);
}

int __wrap_process_directory(const struct broker_target *named, struct failure *f)
{
	int directory = __real_process_directory(named, f);

	pass(LOOKED);
	return directory;
}

const char *__wrap_process_untraceable(int directory)
{
	const char *reason = __real_process_untraceable(directory);

	pass(PUT);
	return reason;
}

int __wrap_process_open(enum broker_file what, const struct broker_target *named, uint64_t start,
			uint64_t end, struct failure *f)
{
	int fd = __real_process_open(what, named, start, end, f);

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

static pid_t start(void)
{
	int sockets[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
		exit(3);
	pid = fork();
	if (!pid) {
		/* The rights that we were given are not for it. */
		prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
		become_alternating(sockets[1]);
	}
	close(sockets[1]);
	alternating = sockets[0];
	hear();
	return pid;
}

static struct broker *start_broker(pid_t pid, bool waits)
{
	static struct target_filter filter = { .waits = true };
	const struct broker_config config = {
		.targets = waits ? &filter : NULL,
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

	if (!filter.n_globs && target_filter_add_name(&filter, "*"))
		exit(3);
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

static int open_of(struct broker *b, const struct broker_target *named)
{
	int fd = broker_open(b, BROKER_TASKS, named, 0, 0, NULL);

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

/* Returns what the broker said. */
static int ask(struct broker *b, enum asked asked, pid_t pid)
{
	const struct broker_target named = { pid, 0 };

	switch (asked) {
	case OPENS:
		return open_of(b, &named);
	case ATTACHES:
		return attach_to(b, pid);
	case PAUSES:
		return -broker_pause(b, pid, TRACED_PAUSED, NULL);
	default:
		return -broker_trace(b, &named, TRACED_WATCH | TRACED_MARKS, NULL);
	}
}

/* A broker and a process of their own, since a broker knows whom it has traced. */
static void try(unsigned i)
{
	const enum asked asked = orders[i].asked;
	const pid_t pid = target = start();
	struct broker *b = start_broker(pid, orders[i].order.reused);
	const struct broker_target named = { pid, 0 };
	bool is_traced;
	int said;

	if ((asked == OPENS || asked == PAUSES) &&
	    broker_trace(b, &named, TRACED_WATCH | TRACED_MARKS, NULL))
		exit(3);
	*order = orders[i].order;
	said = ask(b, asked, pid);
	/* Of one that is not in the map nothing is opened, and it is said so; of others, it depends. */
	if (orders[i].order.reused)
		is_traced = !broker_pause(b, pid, 0, NULL);
	else if (asked == ATTACHES)
		is_traced = has_breakpoint() || order->linked;
	else
		is_traced = open_of(b, &named) != ESRCH;
	printf("%s %d\n%s_traced %d\n", orders[i].name, said, orders[i].name, is_traced);
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
	arguments = argv;
	find_marker(argv[3]);
	for (i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
		try(i);
	return 0;
}
