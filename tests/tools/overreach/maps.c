/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory of others, by what a recorder writes into the maps that it shares with the eBPF programs. */
#include "overreach.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define STATES_UNTRACE	0x80000000u /* to with_states */
#define SLOTS		4096 /* THREAD_SLOTS of bpf/threads.h, or a multiple of what is used of them */
#define LIMIT_STEP	(64 << 10)
#define LIMITS		3
#define FORKS		3
#define LONGEST_FORK_US 30000
#define EXITS		3
#define TAKES		10000
#define LONGEST_EXIT_US 15000

/* --- memory that is read when a process exits ------------------------------------------------------- */

/* Of the attacker's user, who may not look into it. */
void be_guarded(void)
{
	make_secret();
	prctl(PR_SET_DUMPABLE, 0);
}

void read_at_exit(pid_t guarded, int guarded_end, pid_t target, int target_end)
{
	say_found(guarded, secret);
	end(guarded, guarded_end);
	if (secret_comes())
		printf("got the memory of a process that nobody requested, at its exit\n");
	say_found(target, secret);
	end(target, target_end);
	if (secret_comes())
		printf("permitted the memory of a recorded process, at its exit\n");
}

/* --- memory that a recorded process has before it executes a set-user-ID program -------------------- */

void execute_secret(void)
{
	int nothing[2], status;
	pid_t pid;

	if (pipe(nothing))
		_exit(1);
	pid = fork();
	if (!pid) {
		close(nothing[1]);
		dup2(nothing[0], 0);
		usleep(EXECUTES_US);
		execl(secret_program, secret_program, "secret", NULL);
		_exit(1);
	}
	usleep(3 * EXECUTES_US);
	close(nothing[1]);
	waitpid(pid, &status, 0);
}

void read_after_exec(pid_t target, int target_end)
{
	say_found(target, secret);
	if (write(target_end, "", 1) != 1)
		exit(1);
	/* The child is forked while something is recorded, and executes the program while nothing is. */
	usleep(EXECUTES_US / 2);
	h.shared->recording = 0;
	usleep(3 * EXECUTES_US / 2);
	h.shared->recording = 1;
	waitpid(target, NULL, 0);
	secret_comes();
	if (h.seen_of && h.seen_of != (uint32_t)target)
		printf("got the memory of a set-user-ID program, at its exit\n");
}

/* --- a thread's state that outlives the execution --------------------------------------------------- */

/* A thread that has buffers has a state when it has forked. */
static void get_state(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
}

void keep_slot(void)
{
	get_state();
	say_number();
	pause();
}

/* Its slot is that of `other`, so that its state will be in the storage of the task. */
pid_t start_in_slot(pid_t other, int *ret_end)
{
	pid_t pid = -1;

	for (next_number = other % SLOTS + SLOTS; pid < 0; next_number += SLOTS)
		pid = start(make_empty, execute_with_state, ret_end);
	next_number = 0;
	return pid;
}

void keep_state(pid_t other, int other_end, pid_t target, int target_end)
{
	say_found(other, secret);
	if (write(other_end, "", 1) != 1)
		exit(1);
	read_number();
	say_found(target, secret);
	if (write(target_end, "", 1) != 1)
		exit(1);
	read_number();
	h.shared->recording = 0;
	if (write(goes[1], "", 1) != 1)
		exit(1);
	while (is_traced(target))
		usleep(1000);
	/* It makes its secret. */
	usleep(EXECUTES_US);
	h.shared->recording = 1;
	say_found(target, secret);
	kill(target, SIGTERM);
	waitpid(target, NULL, 0);
	if (secret_comes())
		printf("got the memory of a set-user-ID program, by a state from before\n");
}

/* --- a thread's state that is made after the execution, by a child that had the memory before -------- */

/* Who keeps the state and puts it back does it at the moment at which a child that was held up would have made it. */
static void request_state(uint32_t pid, const char *what)
{
	static int states = -1;
	const char *number = getenv("STATES");
	char done = 0;

	if (states < 0 && number)
		states = atoi(number);
	if (send(states, &pid, sizeof(pid), MSG_NOSIGNAL) == sizeof(pid) &&
	    recv(states, &done, 1, 0) == 1 && done)
		return;
	printf("got nowhere: a state cannot be %s\n", what);
	exit(1);
}

void execute_with_state(void)
{
	get_state();
	execute_at_go();
}

void make_state_late(pid_t target, int target_end)
{
	say_found(target, secret);
	if (write(target_end, "", 1) != 1 || read_number() != target)
		exit(1);
	request_state((uint32_t)target, "kept");
	if (write(goes[1], "", 1) != 1)
		exit(1);
	while (is_traced(target))
		usleep(1000);
	/* It makes its secret. */
	usleep(EXECUTES_US);
	request_state(0, "put back");
	kill(target, SIGTERM);
	waitpid(target, NULL, 0);
	secret_comes();
	if (h.seen_of == (uint32_t)target)
		printf("got the memory of a set-user-ID program, by a state made late\n");
}

/* --- an execution that fails when the program has the memory ----------------------------------------- */

/* The least memory with which the kernel can begin to run the program. */
static rlim_t find_limit(void)
{
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC), status;
	struct rlimit limit = { 0, 0 };

	do {
		pid_t pid;

		limit.rlim_cur = limit.rlim_max += LIMIT_STEP;
		pid = fork();
		if (!pid) {
			dup2(nothing, 0);
			dup2(nothing, 2);
			setrlimit(RLIMIT_AS, &limit);
			execl(secret_program, secret_program, "secret", NULL);
			_exit(1);
		}
		waitpid(pid, &status, 0);
	} while (WIFSIGNALED(status));
	return limit.rlim_cur;
}

/* With a little less, there is space for the program, but not for its dynamic linker. */
void execute_with_limits(void)
{
	const rlim_t least = find_limit();

	for (int i = 1; i <= LIMITS; i++) {
		const struct rlimit limit = { least - i * LIMIT_STEP, least - i * LIMIT_STEP };
		pid_t pid = fork();

		if (!pid) {
			/* Meanwhile the kernel frees the memory from before, which takes a while. */
			if (mmap(NULL, LARGE, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0) == MAP_FAILED)
				_exit(1);
			setrlimit(RLIMIT_AS, &limit);
			execute_at_go();
		}
		waitpid(pid, NULL, 0);
	}
	say_number();
}

void read_failed_execs(pid_t target, int target_end)
{
	pid_t child;
	unsigned i;

	if (write(target_end, "", 1) != 1)
		exit(1);
	while ((child = read_number()) != target) {
		if (write(goes[1], "", 1) != 1)
			exit(1);
		/* The kernel looks just before the execution, too, and takes what it finds. */
		while (is_traced(child)) {
			for (i = 0; i < 100000; i++)
				say_found(child, &secret_of_file);
		}
	}
	waitpid(target, NULL, 0);
	if (secret_comes())
		printf("got the memory of a set-user-ID program whose execution failed\n");
}

/* --- processes that end while nothing is recorded ------------------------------------------------------ */

/* The next process of this number would be traced for as long as it takes the kernel to fork it. */
void end_unrecorded(pid_t target, int target_end)
{
	h.shared->recording = 0;
	end(target, target_end);
	if (is_traced(target))
		printf("got the tracing of whoever has the number of a process that has ended\n");
	h.shared->recording = 1;
}

/* --- buffers that a child has inherited, when the broker has ended its tracing ---------------------------- */

void fork_and_execute(void)
{
	pid_t pid = fork();

	if (!pid)
		execute_at_go();
	waitpid(pid, NULL, 0);
}

void inherit_buffers(pid_t target, int target_end)
{
	pid_t child;

	say_found(target, secret);
	if (write(target_end, "", 1) != 1)
		exit(1);
	child = read_number();
	request_state(STATES_UNTRACE | (uint32_t)child, "removed");
	if (is_traced(child))
		exit(1);
	if (write(goes[1], "", 1) != 1)
		exit(1);
	/* It makes its secret. */
	usleep(EXECUTES_US);
	kill(child, SIGTERM);
	waitpid(target, NULL, 0);
	secret_comes();
	if (h.seen_of == (uint32_t)child)
		printf("got the memory of a set-user-ID program, by buffers from before\n");
}

/* --- a CPU, in the fork and at the exit of a process, by a table that is full of its entries ------------ */

/* Owner words, none of which is the thread's. */
static uint64_t owners[BATCH_SLOTS];

static uint64_t time_of_children(void)
{
	struct rusage u;

	getrusage(RUSAGE_CHILDREN, &u);
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000ull +
	       (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000ull;
}

/* The time of CPUs, which does not depend on how busy they are. */
static void say_cost(pid_t (*make_child)(void))
{
	uint64_t least = UINT64_MAX;
	int us;

	for (int i = 0; i < FORKS; i++) {
		const uint64_t since = clock_ns(CLOCK_PROCESS_CPUTIME_ID) + time_of_children();
		const pid_t pid = make_child();
		uint64_t took;

		waitpid(pid, NULL, 0);
		took = clock_ns(CLOCK_PROCESS_CPUTIME_ID) + time_of_children() - since;
		if (took < least)
			least = took;
	}
	us = (int)(least / 1000);
	if (write(numbers[1], &us, sizeof(us)) != sizeof(us))
		_exit(1);
}

static pid_t fork_child(void)
{
	const pid_t pid = fork();

	if (!pid)
		_exit(0);
	return pid;
}

static pid_t vfork_child(void)
{
	const pid_t pid = vfork();

	if (!pid)
		_exit(0);
	return pid;
}

/*
 * Groups of tables in which each owner word is the thread's: the words of a group overlap, the heads of the buffers lie
 * between those of other tables.
 */
#define HEADS_GROUPS 6
#define HEADS_TABLES ((BATCH_SLOTS_FROM - BATCH_SLOTS * 8) / sizeof(struct batch_head))
#define HEADS_SIZE   (BATCH_SLOTS_FROM + (size_t)BATCH_SLOTS * BATCH_MAX)
static char *const heads = (void *)0x40000000;

static void make_heads(void)
{
	struct batch_head head = { .version = BATCH_VERSION,
				   .used = sizeof(head) + 64,
				   .size = BATCH_MAX,
				   .complete = 1 << 16 | 8,
				   .turn = 2 * BATCH_FIRST_TURN,
				   .owner = (uintptr_t)__builtin_thread_pointer() };

	if (mmap(heads, HEADS_GROUPS * HEADS_SIZE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0) != heads)
		_exit(1);
	for (char *group = heads; group < heads + HEADS_GROUPS * HEADS_SIZE; group += HEADS_SIZE) {
		for (unsigned i = 0; i < BATCH_SLOTS_FROM / sizeof(head.owner); i++)
			memcpy(group + i * sizeof(head.owner), &head.owner, sizeof(head.owner));
		for (unsigned slot = 0; slot < BATCH_SLOTS; slot++)
			for (unsigned i = 0; i < HEADS_TABLES; i++)
				memcpy(group + BATCH_SLOTS_FROM + slot * BATCH_MAX +
					       i * sizeof(head),
				       &head, sizeof(head));
	}
}

/* Buffers that overlap, each as large as one may be. */
static char *const crowd = (void *)0x20000000;
#define CROWD_STRIDE sizeof(struct batch_head)

static void make_crowd(void)
{
	const struct batch_head full = { .version = BATCH_VERSION,
					 .used = BATCH_MAX,
					 .size = BATCH_MAX,
					 .complete = 1 << 16 | 100,
					 .turn = BATCH_FIRST_TURN };

	if (mmap(crowd, BATCHES_FOUND_ON * CROWD_STRIDE + BATCH_MAX, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_POPULATE, -1, 0) != crowd)
		_exit(1);
	for (unsigned i = 0; i < BATCHES_FOUND_ON; i++)
		memcpy(crowd + i * CROWD_STRIDE, &full, sizeof(full));
}

static void *end_at_go(void *ret_tid)
{
	const pid_t tid = gettid();
	char byte;

	*(pid_t *)ret_tid = tid;
	if (write(numbers[1], &tid, sizeof(tid)) != sizeof(tid) || read(goes[0], &byte, 1) != 1)
		_exit(1);
	return NULL;
}

/* pthread_join() returns before the kernel has ended the thread. */
static void say_cost_of_exit(void)
{
	const uint64_t since = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	pthread_t thread;
	pid_t tid;
	int us;

	if (pthread_create(&thread, NULL, end_at_go, &tid) || pthread_join(thread, NULL))
		_exit(1);
	while (!tgkill(getpid(), tid, 0))
		usleep(1000);
	us = (int)((clock_ns(CLOCK_PROCESS_CPUTIME_ID) - since) / 1000);
	if (write(numbers[1], &us, sizeof(us)) != sizeof(us))
		_exit(1);
}

void fork_with_tables(void)
{
	char byte;

	memset(owners, 1, sizeof(owners));
	say_cost(fork_child);
	say_cost(vfork_child);
	make_heads();
	say_number();
	if (read(goes[0], &byte, 1) != 1)
		_exit(1);
	say_cost(vfork_child);
	make_crowd();
	for (int i = 0; i < EXITS; i++)
		say_cost_of_exit();
	pause();
}

/* Returns how long the CPU was busy with the exit of a thread that has all these buffers, which are taken at once. */
static int find_exit_cost(pid_t target)
{
	const pid_t tid = read_number();
	const uint64_t pid_tgid = (uint64_t)target << 32 | (uint32_t)tid;
	const uint32_t place = BATCH_FOUND_PLACE((uint32_t)tid);
	const int ring = h.loaded.buffers[0];
	const long page = sysconf(_SC_PAGESIZE);
	struct pollfd number = { .fd = numbers[0], .events = POLLIN };
	volatile unsigned long *consumed, *produced;

	consumed = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, ring, 0);
	produced = mmap(NULL, page, PROT_READ, MAP_SHARED, ring, page);
	if (consumed == MAP_FAILED || produced == MAP_FAILED)
		exit(1);
	for (unsigned i = 0; i < BATCHES_FOUND_ON; i++)
		h.shared->batches_found[(place + i) % BATCHES_FOUND] =
			(struct batch_found){ pid_tgid, (uintptr_t)crowd + i * CROWD_STRIDE, 0 };
	if (write(goes[1], "", 1) != 1)
		exit(1);
	while (!poll(&number, 1, 0))
		for (int i = 0; i < TAKES; i++)
			*consumed = *produced;
	munmap((void *)consumed, page);
	munmap((void *)produced, page);
	return read_number();
}

/*
 * The kernel tells of each buffer that it has looked at: their number needs no clock. The CPU time of a vfork is returned as
 * well.
 */
static int find_heads(pid_t target)
{
	const uint64_t key = BATCH_TABLES_OF((uint64_t)target);
	const uint32_t place = BATCH_FOUND_PLACE((uint32_t)key);
	int us;

	read_number();
	for (unsigned i = 0; i < HEADS_GROUPS * HEADS_TABLES; i++)
		h.shared->batches_found[(place + i) % BATCHES_FOUND] =
			(struct batch_found){ key,
					      (uintptr_t)heads + i / HEADS_TABLES * HEADS_SIZE +
						      i % HEADS_TABLES * sizeof(struct batch_head),
					      0 };
	secret_comes();
	h.announced = 0;
	if (write(goes[1], "", 1) != 1)
		exit(1);
	us = read_number();
	secret_comes();
	memset(h.shared->batches_found, 0, sizeof(h.shared->batches_found));
	printf("%u buffers in %d vforks\n", h.announced, FORKS);
	if (h.announced > FORKS * BATCH_HEADS)
		printf("got %u buffers looked at in %d vforks\n", h.announced, FORKS);
	if (h.announced >= BATCH_HEADS)
		printf("permitted %d buffers in a vfork\n", BATCH_HEADS);
	return us;
}

void fill_tables(pid_t target, int target_end)
{
	int fork_us, vfork_us, heads_us, exit_us = INT_MAX;

	for (unsigned i = 0; i < BATCHES_FOUND; i++)
		h.shared->batches_found[i] =
			(struct batch_found){ BATCH_TABLES_OF((uint64_t)target), (uintptr_t)owners,
					      0 };
	if (write(target_end, "", 1) != 1)
		exit(1);
	fork_us = read_number();
	vfork_us = read_number();
	memset(h.shared->batches_found, 0, sizeof(h.shared->batches_found));
	printf("fork %d us, vfork %d us\n", fork_us, vfork_us);
	if (fork_us > LONGEST_FORK_US || vfork_us > LONGEST_FORK_US)
		printf("got a CPU for %d us in a fork, %d us in a vfork\n", fork_us, vfork_us);
	heads_us = find_heads(target);
	printf("vfork with buffers %d us\n", heads_us);
	if (heads_us > LONGEST_FORK_US)
		printf("got a CPU for %d us in a vfork with buffers\n", heads_us);
	for (int i = 0; i < EXITS; i++) {
		const int us = find_exit_cost(target);

		exit_us = us < exit_us ? us : exit_us;
	}
	printf("exit %d us\n", exit_us);
	if (exit_us > LONGEST_EXIT_US)
		printf("got a CPU for %d us in an exit\n", exit_us);
	memset(h.shared->batches_found, 0, sizeof(h.shared->batches_found));
}

/* --- after the broker's end ------------------------------------------------------------------------- */

/* Nobody knows any more which processes may be traced. */
void record_alone(pid_t target, int target_end)
{
	secret_comes();
	broker_stop(h.broker, true);
	h.records = 0;
	say_found(target, secret);
	end(target, target_end);
	secret_comes();
	if (h.records)
		printf("got a recording without a broker\n");
}
