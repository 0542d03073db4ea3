/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ledger FILE THREADS ROUNDS [US]: makes marks of all kinds and keeps account of them in FILE, which
 * whoever kills it can read: of each class of marks how many it was about to make, and how many it has
 * made. Waits for a line on its standard input first. ROUNDS 0: until it is killed, or nobody has that
 * input open any more; US: sleeps so long after each round.
 *
 * There are steps, pauses, children that end or are killed, and mistakes: ends of nothing, ends that would
 * close a scope, slices nested too deeply.
 *
 * ledger FILE [STEP]: prints `CLASS <about> <made>` for each: control (steps, pauses), default (a domain),
 * plain, io, cpu (of the domain `side`, without or with that category), and `killed <n>` children. With a STEP,
 * one of the first 64, what they were just before it began.
 */
#include <proftrace.h>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	CONTROL,
	DEFAULT,
	PLAIN,
	IO,
	CPU,
	CLASSES
};
#define STEPS 64
static const char *const class_names[CLASSES] = { "control", "default", "plain", "io", "cpu" };

static struct ledger {
	atomic_long about[CLASSES], made[CLASSES], killed;
	long about_before[STEPS][CLASSES], made_before[STEPS][CLASSES];
} * ledger;

/* `n` marks of a class. */
#define MARKS(class, n, ...)               \
	do {                               \
		ledger->about[class] += n; \
		__VA_ARGS__;               \
		ledger->made[class] += n;  \
	} while (0)

PROF_DOMAIN(side, "side");
PROF_MARKER(io, side, "read", .categories = "io");
PROF_MARKER(cpu, side, "compute", .categories = "cpu");

static long rounds;
static unsigned int us;

static void nested(int depth)
{
	MARKS(DEFAULT, 1, PROF_BEGIN("nested"));
	if (depth)
		nested(depth - 1);
	MARKS(DEFAULT, 1, PROF_END());
}

static void mistakes(void)
{
	nested(70);
	/* Within a scope, an end that has nothing of its own to close. */
	MARKS(DEFAULT, 3, PROF_SCOPE("guarded"); PROF_END());
}

static void one_round(long n, int memory_of)
{
	static char memory[64];
	long id = (long)memory_of << 32 | n;

	MARKS(DEFAULT, 1, PROF_BEGIN("round", "n", n));
	MARKS(PLAIN, 1, PROF_BEGIN_IN(side, "plain"));
	MARKS(IO, 1, prof_marker_start(&io));
	MARKS(CPU, 1, prof_marker_instant(&cpu));
	MARKS(DEFAULT, 1, PROF_ASYNC_BEGIN("job", id));
	MARKS(DEFAULT, 1, PROF_INSTANT("text", "s", "some text"));
	MARKS(DEFAULT, 1, PROF_ALLOC("heap", &memory[memory_of], 16));
	MARKS(DEFAULT, 1, PROF_FLOW_OUT(id));
	MARKS(CPU, 1, prof_marker_start(&cpu));
	MARKS(CPU, 1, prof_marker_finish(&cpu));
	MARKS(IO, 1, prof_marker_finish(&io));
	MARKS(PLAIN, 1, PROF_COUNTER_IN(side, "level", n));
	MARKS(PLAIN, 1, PROF_END_IN(side));
	MARKS(DEFAULT, 1, PROF_FREE("heap", &memory[memory_of]));
	MARKS(DEFAULT, 1, PROF_ASYNC_END("job", id));
	MARKS(DEFAULT, 1, PROF_END());
	if (n % 16 == 15)
		mistakes();
}

/* What was open around the fork is not the child's, and its end there is one of nothing. */
static void child(long n)
{
	pid_t pid;
	int i, status;

	MARKS(DEFAULT, 1, PROF_BEGIN("around a fork"));
	pid = fork();
	if (pid == 0) {
		MARKS(DEFAULT, 1, PROF_END());
		for (i = 0; i < 20; i++)
			one_round(i, 40 + i % 2);
		MARKS(DEFAULT, 1, PROF_BEGIN("left open"));
		ledger->killed += n % 2;
		if (n % 2)
			raise(SIGKILL);
		_exit(0);
	}
	if (pid > 0)
		waitpid(pid, &status, 0);
	MARKS(DEFAULT, 1, PROF_END());
}

static int is_left_alone(void)
{
	struct pollfd input = { 0, 0, 0 };

	return !rounds && poll(&input, 1, 0) > 0 && input.revents & POLLHUP;
}

static void balance(long step)
{
	int i;

	for (i = 0; step < STEPS && i < CLASSES; i++) {
		ledger->made_before[step][i] = ledger->made[i];
		ledger->about_before[step][i] = ledger->about[i];
	}
}

/* What concerns the whole process, one thread does. */
static void lead(long n)
{
	if (n % 64 == 63 && is_left_alone())
		exit(0);
	if (n % 8 == 0) {
		balance(n / 8);
		MARKS(CONTROL, 1, PROF_STEP(0, n / 8));
	}
	if (n % 64 == 40)
		MARKS(CONTROL, 1, prof_pause());
	if (n % 64 == 44)
		MARKS(CONTROL, 1, prof_resume());
	if (n % 128 == 50)
		MARKS(DEFAULT, 1, PROF_INSTANT("alarm"));
	if (n % 128 == 60 || n % 128 == 124)
		child(n / 64);
}

static void *work(void *argument)
{
	int number = (int)(long)argument;
	long n;

	MARKS(DEFAULT, 1, PROF_END()); /* of nothing */
	for (n = 0; !rounds || n < rounds; n++) {
		if (!number)
			lead(n);
		one_round(n, number);
		if (us)
			usleep(us);
	}
	return NULL;
}

static int print(int step)
{
	int i;

	for (i = 0; i < CLASSES; i++)
		printf("%s %ld %ld\n", class_names[i],
		       step < 0 ? (long)ledger->about[i] : ledger->about_before[step][i],
		       step < 0 ? (long)ledger->made[i] : ledger->made_before[step][i]);
	printf("killed %ld\n", (long)ledger->killed);
	return 0;
}

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1, n, i;
	pthread_t threads[32];
	char go;

	if (fd < 0 || ftruncate(fd, sizeof(*ledger)))
		return 2;
	ledger = mmap(NULL, sizeof(*ledger), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ledger == MAP_FAILED)
		return 2;
	if (argc < 4)
		return print(argc > 2 ? atoi(argv[2]) % STEPS : -1);
	n = atoi(argv[2]);
	rounds = atol(argv[3]);
	us = argc > 4 ? (unsigned int)atoi(argv[4]) : 0;
	printf("ready\n");
	fflush(stdout);
	if (read(0, &go, 1) < 0)
		return 2;
	for (i = 0; i < n && i < 32; i++)
		pthread_create(&threads[i], NULL, work, (void *)(long)i);
	for (i = 0; i < n && i < 32; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
