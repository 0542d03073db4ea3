/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench [--quick] DIRECTORY [PART]: measures the cost of proftrace. `make bench` runs it;
 * BENCH_ONLY=peers selects a part.
 *
 * Prints tables, and writes DIRECTORY/results.json (every sample) and DIRECTORY/chart.svg. Run it
 * from the top of the source tree, as root. It does not judge the figures, because machines differ
 * and a busy machine has worse ones. Ratios vary least. Lines about the machine show how busy it
 * was.
 *
 * Every figure is measured several times. The repetitions are interleaved: all conditions once, then
 * all of them again, so that disturbances and changes of the clock speed affect all conditions
 * alike. The tables show the median, the lowest and the highest value. Timed loops run in a process
 * of their own, pinned to one processor; the recorder may run anywhere. A loop first runs a
 * hundredth of its rounds untimed. The time is the CPU time of its thread, in the kernel and outside
 * of it, so that neither the recorder nor other processes on the same processor are counted.
 *
 * The least possible cost of an event (marks_physical.c)
 *	Reading the processor's clock and storing 24 bytes; clock_gettime through the vDSO; getppid by
 *	syscall(). No tracer takes part.
 *
 * A marker that nobody records (loops.c, events.c)
 *	The loop with the marker compiled out (-DPROFTRACE_DISABLE) is an empty loop: subtract it. "Off"
 *	is what every user pays: one load, one branch. "On" with nobody attached, the semaphore set by
 *	hand, is the work of the marker itself: arguments, touching its strings, calling the stub.
 *
 * A marker that is recorded (events.c, counters.c, conditions.c, empty.c, recorder.c)
 *	"empty program" is a BPF program that returns at once, attached to the same sites in the same
 *	way: the kernel's own cost of an entry. The other columns are build/proftrace with --stats-only,
 *	and recording into Perfetto: without counters (-e none), with the default counters, in buffered
 *	mode, and with perf events as counters. All conditions are set up at once, each with its own copy of
 *	the target, and take turns of some milliseconds. The cost of an event and its ratio to the empty
 *	program are the medians of nine turns, which make one sample. Markers that come in pairs are
 *	divided by two. If anything was lost, a note under the table says so, because a lost event is
 *	cheap.
 *
 * Attaching (attach.c, uses.sh)
 *	Programs with 10, 1,000 and 10,000 uses of markers. Attach and detach are the system calls
 *	alone, with the empty program. The rest is proftrace itself: the target marks every 20 us with
 *	the time as argument, so the first event in the trace shows when the recording began. That
 *	includes loading the BPF programs.
 *
 * The recorder (rate.c)
 *	As many threads as processors mark in bursts each millisecond: slices with an argument, a
 *	counter and an instant. The ring buffer is small (4 MiB) here, so that it cannot hide for long
 *	that the recorder is too slow. The rate rises by half until something is lost, then the interval
 *	is halved; the table shows the highest rate without loss. CPU time (user and system of recorder
 *	and broker, from the first event to their exit: /proc/PID/task/N/schedstat and wait4), bytes and
 *	memory are measured at 100,000 events a second. Memory is the resident memory without mappings
 *	of BPF maps. At a million a second, in buffered mode, CPU time is that of some seconds in the
 *	middle, without start and end.
 *
 * The steps of an event (cost.c, README.md)
 *	From the marker to the file: each is the difference of two runs, the second of which does one
 *	thing more.
 *
 * Other tracers (compare.c, peers.c, peers.sh)
 *	The same loop, an instant with one integer, recorded by tools that Debian has: bpftrace and
 *	perf on the USDT probe of the same marker, LTTng-UST on a tracepoint of its own with the same
 *	field, uftrace on the entry and exit of a function; for comparison also by no tracer, and by an
 *	empty BPF program on the same site. "its CPU" is the CPU time per event of the tracer's own
 *	processes, from the first event to their exit; "bytes" is the size of the output; "lost" is the
 *	number of missing events; "of ..." is the ratio to the cost of an event in that row. Then the same
 *	from several threads at once, by their CPU time (which shows how they slow each other down, but
 *	not that there are more threads than processors), and with more arguments.
 *
 * Events that are not marks (foreign.c, loops_foreign.c)
 *	Context switches of two threads that take turns on a processor, system calls, an existing USDT
 *	probe, a function. The first is the CPU time of the whole process. The time of the same loop without
 *	a tracer is subtracted. "of another program" is what proftrace costs a program that it does not
 *	record (--wait-reasons, --syscalls); "two empty BPF programs" are at both ends of system calls.
 *
 * Call stacks (samples.c, loops_stack.c)
 *	A program that computes, sampled 10,000 times a second, with a stack of about 15 functions: the
 *	time that interrupts take, less the time that they take without a tracer. "its CPU" is the CPU
 *	time of the tracer for each further sample, from a short recording and a longer one; "start and
 *	end" is what is left of it, once for each recording. "of perf -g" compares "both".
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "empty.h"
#include "sections.h"
#include "subject.h"

static void print_processor(struct results *r)
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	char line[256];

	while (file && fgets(line, sizeof(line), file)) {
		char *colon = strchr(line, ':');

		if (!colon || (strncmp(line, "model name", 10) && strncmp(line, "CPU part", 8)))
			continue;
		line[strcspn(line, "\n")] = '\0';
		results_fact(r, "processor", "%ld x%s", sysconf(_SC_NPROCESSORS_ONLN), colon + 1);
		break;
	}
	if (file)
		fclose(file);
}

/* How many processors are busy, over a moment in which we sleep. */
static double busy_processors(void)
{
	double busy[2] = { 0 };
	int i;

	for (i = 0; i < 2; i++) {
		FILE *file = fopen("/proc/stat", "re");
		double t[8] = { 0 };

		if (file && fscanf(file, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &t[0], &t[1], &t[2],
				   &t[3], &t[4], &t[5], &t[6], &t[7]) == 8)
			busy[i] = t[0] + t[1] + t[2] + t[5] + t[6] + t[7];
		if (file)
			fclose(file);
		if (!i)
			bench_sleep(1000);
	}
	return (busy[1] - busy[0]) / sysconf(_SC_CLK_TCK);
}

static void print_machine(struct results *r)
{
	struct utsname u;

	uname(&u);
	results_fact(r, "proftrace", "%s", PROFTRACE_VERSION);
	results_fact(r, "kernel", "%s %s %s", u.sysname, u.release, u.machine);
	print_processor(r);
	results_fact(r, "probe site", "%s", optimised_nop_text(try_optimised_nop()));
}

static void print_load(struct results *r, const char *when)
{
	double busy = busy_processors();

	results_fact(r, when, "%.2f processors busy with something else%s", busy,
		     busy > 0.2 ? ": trust the ratios, not the figures" : "");
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* How often each part is run: enough for a median, and all in ten minutes. */
static const struct {
	const char *name;
	int (*measure)(struct bench *b);
	unsigned repetitions, quick;
} parts[] = {
	{ "physical", measure_physical, 7, 3 }, { "events", measure_events, 7, 3 },
	{ "objects", measure_made, 5, 1 },	{ "counters", measure_counters, 7, 3 },
	{ "attaching", measure_attach, 5, 3 },	{ "recorder", measure_rate, 3, 1 },
	{ "steps", measure_cost, 3, 1 },	{ "peers", measure_peers, 5, 1 },
	{ "threads", measure_threads, 3, 1 },	{ "sizes", measure_sizes, 3, 1 },
	{ "foreign", measure_foreign, 3, 1 },	{ "samples", measure_samples, 5, 1 },
};

static bool is_part(const char *name)
{
	for (size_t i = 0; i < COUNT(parts); i++) {
		if (!strcmp(parts[i].name, name))
			return true;
	}
	fprintf(stderr, "bench: no part is called '%s'; tools/bench/README.md lists them\n", name);
	return false;
}

/* A repetition that fails is named beside the results; a part without any is a failure. */
static int measure(struct bench *b)
{
	unsigned done[COUNT(parts)] = { 0 }, i, most = 0;

	for (i = 0; i < COUNT(parts); i++) {
		unsigned n = b->quick ? parts[i].quick : parts[i].repetitions;

		most = n > most ? n : most;
	}
	for (b->repetition = 0; b->repetition < most; b->repetition++) {
		for (i = 0; i < COUNT(parts); i++) {
			uint64_t begun = bench_clock();
			int error;

			if (b->only && strcmp(b->only, parts[i].name)) {
				done[i] = 1;
				continue;
			}
			if (b->repetition >= (b->quick ? parts[i].quick : parts[i].repetitions))
				continue;
			fprintf(stderr, "bench: repetition %u: %s", b->repetition + 1,
				parts[i].name);
			error = parts[i].measure(b);
			fprintf(stderr, ", %.1f s\n", (bench_clock() - begun) / 1e9);
			if (error)
				results_fact(&b->results, "failed", "%s, repetition %u: %s",
					     parts[i].name, b->repetition + 1, strerror(-error));
			else
				done[i]++;
		}
	}
	for (i = 0; i < COUNT(parts) && done[i]; i++)
		;
	return i < COUNT(parts) ? -EIO : 0;
}

static int write_file(const struct bench *b, const char *name,
		      void (*print)(const struct results *, FILE *))
{
	char path[512];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", b->directory, name);
	out = fopen(path, "we");
	if (!out) {
		fprintf(stderr, "bench: cannot write '%s': %s\n", path, strerror(errno));
		return -errno;
	}
	print(&b->results, out);
	return fclose(out) ? -errno : 0;
}

int main(int argc, char **argv)
{
	struct bench b = { 0 };
	int error;

	b.quick = argc > 2 && !strcmp(argv[1], "--quick");
	argv += b.quick;
	argc -= b.quick;
	if ((argc != 2 && argc != 3) || strlen(argv[1]) >= sizeof(b.directory)) {
		fprintf(stderr, "usage: bench [--quick] DIRECTORY [PART]\n");
		return 2;
	}
	if (argc == 3 && !is_part(argv[2]))
		return 2;
	strcpy(b.directory, argv[1]);
	b.only = argv[2];
	signal(SIGPIPE, SIG_IGN);
	setvbuf(stderr, NULL, _IONBF, 0);
	print_machine(&b.results);
	print_load(&b.results, "before");
	error = measure(&b);
	print_load(&b.results, "after");
	print_tables(&b.results, stdout);
	if (write_file(&b, "results.json", print_json) || write_file(&b, "chart.svg", print_chart))
		error = -EIO;
	results_free(&b.results);
	return error ? 1 : 0;
}
