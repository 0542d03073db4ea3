/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * batches WHAT FILE [N]: marks that are counted in FILE, which outlives the program: one 64-bit number
 * for each thread, a mark counted when it is made.
 *
 *	storm FILE THREADS	threads that mark as fast as they can until somebody kills them
 *	quiet FILE		a thread that makes three marks and sleeps, until standard input ends
 *	asked FILE		three marks for each line of standard input, and a line `made N` after them
 *	signals FILE SECONDS	a thread that marks, and a timer's signal whose handler does, too; every
 *				hundredth time it leaves by longjmp
 *	forks FILE N		N children that each mark, as their parent does before and after
 *	comes FILE N		N threads, one after the other, with 7 marks each
 *	exec FILE		marks, then executes itself with `quiet`
 *	dies FILE HOW		marks, then ends by: return, exit, _exit, abort, segv
 */
#include <proftrace.h>

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

PROF_DOMAIN(other, "other");

static volatile uint64_t *marks; /* of each thread */
static int n_marks;

static volatile uint64_t *count_in(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	void *place;

	if (fd < 0 || ftruncate(fd, 65536))
		exit(1);
	place = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return place == MAP_FAILED ? NULL : place;
}

static void round_of_marks(volatile uint64_t *n, long i)
{
	PROF_BEGIN("outer");
	++*n;
	PROF_BEGIN_IN(other, "inner", "i", i, "text", "some text");
	++*n;
	PROF_INSTANT("number", "i", i);
	++*n;
	PROF_COUNTER("level", i);
	++*n;
	PROF_END_IN(other);
	++*n;
	PROF_END("i", i);
	++*n;
}

static void *storm(void *mine)
{
	long i;

	for (i = 0;; i++)
		round_of_marks(mine, i);
	return NULL;
}

static void *seven(void *mine)
{
	round_of_marks(mine, 0);
	PROF_INSTANT("seventh");
	++*(volatile uint64_t *)mine;
	return NULL;
}

static sigjmp_buf back;
static volatile sig_atomic_t signals;

static void on_signal(int number)
{
	(void)number;
	PROF_BEGIN("handler", "n", (int)signals);
	++marks[1];
	PROF_END();
	++marks[1];
	if (++signals % 100 == 0)
		siglongjmp(back, 1);
}

static void with_signals(int seconds)
{
	struct itimerval every = { { 0, 50 }, { 0, 50 } };
	struct sigaction action;
	volatile long i = 0;
	time_t end = time(NULL) + seconds;

	memset(&action, 0, sizeof(action));
	action.sa_handler = on_signal;
	sigaction(SIGALRM, &action, NULL);
	/* A mark that was left may have been made or not: those are counted by themselves. */
	if (sigsetjmp(back, 1))
		++marks[2];
	else
		setitimer(ITIMER_REAL, &every, NULL);
	while (time(NULL) < end) {
		PROF_INSTANT("main", "i", i);
		++marks[0];
		++i;
	}
	memset(&every, 0, sizeof(every));
	setitimer(ITIMER_REAL, &every, NULL);
}

static void forks(int n)
{
	int i;

	round_of_marks(&marks[0], 0);
	for (i = 0; i < n; i++) {
		if (fork() == 0) {
			round_of_marks(&marks[1 + i], i);
			_exit(0);
		}
		round_of_marks(&marks[0], i);
	}
	while (wait(NULL) > 0)
		;
}

static void quiet(void)
{
	char c;

	PROF_BEGIN("quiet");
	++marks[0];
	PROF_INSTANT("here");
	++marks[0];
	PROF_COUNTER("level", 1);
	++marks[0];
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	PROF_END();
	++marks[0];
}

static void asked(void)
{
	char line[16];

	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		PROF_BEGIN("asked");
		++marks[0];
		PROF_INSTANT("here");
		++marks[0];
		PROF_END();
		++marks[0];
		printf("made %d\n", (int)marks[0]);
		fflush(stdout);
	}
}

static int dies(const char *how)
{
	round_of_marks(&marks[0], 0);
	if (!strcmp(how, "exit"))
		exit(0);
	if (!strcmp(how, "_exit"))
		_exit(0);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "segv"))
		raise(SIGSEGV);
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];
	int i, n;

	if (argc < 3)
		return 2;
	marks = count_in(argv[2]);
	if (!marks)
		return 1;
	n = argc > 3 ? atoi(argv[3]) : 2;
	n_marks = n > 60 ? 60 : n;
	if (!strcmp(argv[1], "storm")) {
		for (i = 0; i < n_marks; i++)
			pthread_create(&threads[i], NULL, storm, (void *)&marks[i]);
		printf("ready %d\n", (int)getpid());
		fflush(stdout);
		for (i = 0; i < n_marks; i++)
			pthread_join(threads[i], NULL);
	}
	if (!strcmp(argv[1], "quiet"))
		quiet();
	if (!strcmp(argv[1], "asked"))
		asked();
	if (!strcmp(argv[1], "signals"))
		with_signals(n);
	if (!strcmp(argv[1], "forks"))
		forks(n_marks);
	if (!strcmp(argv[1], "dies"))
		return dies(argc > 3 ? argv[3] : "return");
	for (i = 0; !strcmp(argv[1], "comes") && i < n; i++) {
		pthread_create(&threads[0], NULL, seven, (void *)&marks[0]);
		pthread_join(threads[0], NULL);
	}
	if (!strcmp(argv[1], "exec")) {
		round_of_marks(&marks[1], 0);
		execl("/proc/self/exe", argv[0], "quiet", argv[2], (char *)NULL);
		return 1;
	}
	return 0;
}
