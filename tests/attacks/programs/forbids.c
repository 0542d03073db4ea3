/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * forbids SEED: threads, and children of a fork, mark, and forbid themselves at a random moment all system
 * calls but those by which they end; they go on marking after that, some for the first time. The process dies
 * of any other. Prints `marks <n>`, of all of them.
 */
#include <proftrace.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN 4
#define THREADS	 3

static volatile uint64_t *counts; /* of each thread of each child */
static unsigned seed;

static void forbid(void)
{
	static const int allowed[] = { SYS_exit, SYS_exit_group, SYS_write, SYS_futex,
				       SYS_madvise };
	struct sock_filter code[16] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr)) };
	struct sock_fprog program = { 1, code };
	unsigned i;

	/* A thread of the C library gives its stack back (madvise) when it ends, as no marker does. */
	for (i = 0; i < sizeof(allowed) / sizeof(allowed[0]) - (seed % 2); i++) {
		code[program.len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
								   (unsigned)allowed[i], 0, 1);
		code[program.len++] =
			(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	code[program.len++] =
		(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(2);
}

static void mark(volatile uint64_t *count, unsigned n)
{
	unsigned i;

	for (i = 0; i < n; i++) {
		PROF_INSTANT("mark", "i", i);
		++*count;
	}
}

static void *work(void *argument)
{
	volatile uint64_t *count = argument;
	unsigned own = seed + (unsigned)(count - counts) * 7919u;

	mark(count, rand_r(&own) % 3 ? (unsigned)rand_r(&own) % 2000 : 0);
	forbid();
	mark(count, (unsigned)rand_r(&own) % 3000);
	syscall(SYS_exit, 0);
	return NULL;
}

static void child(volatile uint64_t *mine)
{
	pthread_t threads[THREADS];
	int i;

	for (i = 1; i < THREADS; i++) {
		if (pthread_create(&threads[i], NULL, work, (void *)&mine[i]))
			_exit(3);
	}
	for (i = 1; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	mark(&mine[0], seed % 1500);
	forbid();
	mark(&mine[0], 2500);
	syscall(SYS_exit_group, 0);
}

int main(int argc, char **argv)
{
	uint64_t sum = 0;
	int i, status, failed = 0;

	seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (counts == MAP_FAILED)
		return 1;
	for (i = 0; i < CHILDREN; i++) {
		mark(&counts[0], seed % 700);
		if (fork() == 0)
			child(&counts[1 + i * THREADS]);
	}
	while (wait(&status) > 0)
		failed |= status;
	mark(&counts[0], 10);
	for (i = 0; i < 1 + CHILDREN * THREADS; i++)
		sum += counts[i];
	printf("marks %llu\n", (unsigned long long)sum);
	return failed ? 3 : 0;
}
