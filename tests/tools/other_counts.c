/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A recorder with counters that was taken over: while a recorded thread sleeps and others have its CPU, it changes all that
 * it shares with the eBPF programs, so that they do not see that the thread is not there. Then the thread's counter would
 * contain what was counted for the others. The counter is the clock of the CPU.
 *
 * There are two threads whose states the eBPF programs keep in different places, because of their numbers: CAP_CHECKPOINT_RESTORE
 * is needed to choose these. Prints, for each of the threads and each attack, `THREAD-ATTACK N`: how many times of TIMES the
 * counter has grown by half of the sleep beyond the thread's CPU time, and by how many ns at most; `THREAD-counts N`: how many
 * of a hundred ns of its own were counted. Exit status 3: there is one CPU only.
 */
#include <bpf/libbpf.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "privilege/broker/protocol.h"
#include "privilege/privileges.h"
#include "proftrace.skel.h"

#define SLOTS	    4096 /* THREAD_SLOTS of bpf/threads.h, or a multiple of what is used of them */
#define SLEEP_US    50000
#define TIMES	    4
#define READINGS    3 /* after which what was written is seen */
#define PATIENCE_NS 10000000000ull

enum attack {
	NOTHING,
	PAUSE,
	ZEROS,
	ONES,
	ATTACKS
};

static const char *const attacks[ATTACKS] = { "honest", "pause", "zeros", "ones" };

/* What a recorded thread and this one say to each other. */
struct thread {
	volatile uint64_t turns; /* of its loop */
	volatile bool sleeps;
	int wakes[2]; /* a pipe */
	pid_t pid;
};

static struct thread *threads; /* shared */
static struct proftrace_bpf__bss *shared;
static struct ring_buffer *ring;
static pid_t watched;
static uint64_t counted, readings;

static void stop_with(const char *what)
{
	printf("failed: %s\n", what);
	exit(1);
}

static void run_thread(struct thread *t)
{
	char byte;

	for (;;) {
		t->turns++;
		if (t->sleeps && read(t->wakes[0], &byte, 1) != 1)
			_exit(1);
	}
}

/* `number`: that of the process; 0: any. Returns false if it is in use. */
static bool start_thread(struct thread *t, pid_t number)
{
	struct clone_args args = { .exit_signal = SIGCHLD,
				   .set_tid = number ? (uintptr_t)&number : 0,
				   .set_tid_size = number != 0 };
	pid_t pid;

	if (pipe(t->wakes))
		stop_with("pipe");
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (privileges_keep(NULL, 0, false) || prctl(PR_SET_DUMPABLE, 1))
			_exit(1);
		run_thread(t);
	}
	t->pid = pid;
	return pid > 0;
}

static int see_record(void *context, void *data, size_t size)
{
	const struct record *r = data;

	(void)context;
	if (r->kind != RECORD_READING || (pid_t)r->tgid != watched ||
	    size < sizeof(*r) + sizeof(counted))
		return 0;
	memcpy(&counted, r + 1, sizeof(counted));
	readings++;
	return 0;
}

/* The counter of the thread, read after this was called. */
static uint64_t read_counter(const struct thread *t)
{
	const uint64_t until = clock_ns(CLOCK_MONOTONIC) + PATIENCE_NS;
	uint64_t last;

	watched = t->pid;
	ring_buffer__consume(ring);
	last = readings;
	while (readings < last + READINGS) {
		if (clock_ns(CLOCK_MONOTONIC) > until)
			stop_with("no readings");
		ring_buffer__poll(ring, 1);
		ring_buffer__consume(ring);
	}
	return counted;
}

static uint64_t own_time(const struct thread *t)
{
	clockid_t clock;

	if (clock_getcpuclockid(t->pid, &clock))
		stop_with("clock");
	return clock_ns(clock);
}

static bool is_asleep(const struct thread *t)
{
	char path[64], state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)t->pid);
	file = fopen(path, "re");
	if (!file || fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		stop_with("state");
	fclose(file);
	return state == 'S';
}

static void write_shared(size_t size, enum attack attack)
{
	if (attack == PAUSE)
		shared->recording = 0;
	else if (attack != NOTHING)
		memset(shared, attack == ONES ? 0xff : 0, size);
}

/*
 * Returns by how much the counter has grown beyond the thread's own time. *most_share becomes how many of a hundred ns of that
 * were counted, if it is less.
 */
static int64_t sleep_once(struct thread *t, size_t size, enum attack attack, int64_t *most_share)
{
	const uint64_t before = read_counter(t), own_before = own_time(t);
	struct proftrace_bpf__bss *honest = malloc(size);
	uint64_t turns, grown, own;
	int64_t share;

	if (!honest)
		stop_with("memory");
	memcpy(honest, shared, size);
	turns = t->turns;
	while (t->turns < turns + 100)
		usleep(1000);
	write_shared(size, attack);
	t->sleeps = true;
	while (!is_asleep(t))
		usleep(1000);
	usleep(SLEEP_US);
	t->sleeps = false;
	turns = t->turns;
	if (write(t->wakes[1], "", 1) != 1)
		stop_with("write");
	while (t->turns < turns + 100)
		usleep(1000);
	memcpy(shared, honest, size);
	free(honest);
	grown = read_counter(t) - before;
	own = own_time(t) - own_before;
	share = (int64_t)(grown * 100 / (own ? own : 1));
	*most_share = share > *most_share ? share : *most_share;
	return (int64_t)(grown - own);
}

static void attack_thread(struct thread *t, size_t size, const char *name)
{
	int64_t most, grown, share = 0;
	unsigned n;

	for (unsigned i = 0; i < ATTACKS; i++) {
		most = INT64_MIN;
		n = 0;
		for (unsigned j = 0; j < TIMES; j++) {
			grown = sleep_once(t, size, i, &share);
			most = grown > most ? grown : most;
			n += grown > SLEEP_US * 500;
		}
		printf("%s-%s %u %lld\n", name, attacks[i], n, (long long)most);
		if (i == NOTHING)
			printf("%s-counts %lld\n", name, (long long)share);
	}
}

int main(void)
{
	const int needed[] = { CAP_BPF, CAP_PERFMON, CAP_SYS_ADMIN };
	struct broker_config config = { .buffer_bytes = 1 << 20,
					.own_only = true,
					.follow_children = true,
					.counter_interval_ns = 1000000 };
	struct broker_loaded loaded;
	struct broker *broker;
	struct failure f = { 0 };
	cpu_set_t cpus, cpu;
	pid_t pids[2];

	setvbuf(stdout, NULL, _IOLBF, 0);
	/* The counter is of the threads' CPU, which must not have been left whenever this writes. */
	CPU_ZERO(&cpu);
	CPU_SET(sched_getcpu(), &cpu);
	if (sched_getaffinity(0, sizeof(cpus), &cpus) || CPU_COUNT(&cpus) < 2)
		return 3;
	CPU_XOR(&cpus, &cpus, &cpu);
	threads = mmap(NULL, 2 * sizeof(*threads), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (threads == MAP_FAILED || sched_setaffinity(0, sizeof(cpu), &cpu) ||
	    !start_thread(&threads[0], 0))
		return 2;
	for (int i = 1; !start_thread(&threads[1], threads[0].pid % SLOTS + i * SLOTS); i++) {
		if (i == 7) /* 32768 are the fewest that there are */
			stop_with("numbers");
	}
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		return 2;
	pids[0] = threads[0].pid;
	pids[1] = threads[1].pid;
	config.pids = pids;
	config.n_pids = 2;
	if (counters_parse("cpu-clock", &config.counters, &f) ||
	    counters_check(&config.counters, &f) || privileges_keep(needed, 3, false) ||
	    broker_start(&config, &broker, &loaded, &f) || privileges_keep(NULL, 0, false)) {
		failure_print(&f, stdout);
		return 2;
	}
	shared = mmap(NULL, loaded.shared_size, PROT_READ | PROT_WRITE, MAP_SHARED,
		      loaded.shared_fd, 0);
	ring = ring_buffer__new(loaded.buffers[0], see_record, NULL, NULL);
	if (shared == MAP_FAILED || !ring)
		return 2;
	shared->recording = 1;
	for (unsigned i = 0; i < 2; i++) {
		const struct broker_target target = { pids[i], 0 };

		/* The first one has its state when it has been read. */
		if (broker_trace(broker, &target, TRACED_WATCH | TRACED_MARKS, &f))
			stop_with(f.reason);
		read_counter(&threads[i]);
	}
	attack_thread(&threads[0], loaded.shared_size, "first");
	attack_thread(&threads[1], loaded.shared_size, "second");
	for (unsigned i = 0; i < 2; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	broker_stop(broker, true);
	printf("through\n");
	return 0;
}
