/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench [--quick] DIRECTORY [PART]: what proftrace costs. `make bench` runs it; of one part, such as
 * "peers", with BENCH_ONLY=peers.
 *
 * Prints tables, and writes DIRECTORY/results.json (every sample) and DIRECTORY/chart.svg. Run from
 * the top of the source tree, as root. Nothing is judged here: machines differ, and a busy one gives
 * worse figures. What survives that best are the ratios; the lines about the machine say how busy it
 * was.
 *
 * Every figure is taken several times. The repetitions are interleaved: all conditions once, then all
 * of them again, so that a disturbance or a drift of the clock speed meets them alike. Shown are the
 * median, the lowest and the highest. Loops that are timed run in a process of their own, pinned to
 * one processor; the recorder may run anywhere. A loop runs a hundredth of its rounds first,
 * untimed; then it is timed by the CPU time of its thread, in the kernel and outside of it, so that
 * neither the recorder nor anybody else who gets the processor in between is counted.
 *
 * What an event could cost (marks_physical.c)
 *	Reading the processor's clock and storing 24 bytes; clock_gettime through the vDSO; getppid by
 *	syscall(). No tracer takes part.
 *
 * A marker that nobody records (loops.c, events.c)
 *	The loop with the marker compiled out (-DPROFTRACE_DISABLE) is an empty loop: subtract it. Off
 *	is what every user pays: one load, one branch. On with nobody attached, the switch raised by
 *	hand, is the work of the marker itself: arguments, touching its strings, calling the stub.
 *
 * A marker that is recorded (events.c, counters.c, conditions.c, empty.c, recorder.c)
 *	"empty program" is a BPF program that returns at once, on the very sites that proftrace takes,
 *	attached in the same way: what the kernel asks for entering it. The other columns are
 *	build/proftrace adding up in the kernel (--stats-only), where nothing is recorded, and recording
 *	into Perfetto, without counters (-e none), with those that it counts by default, and with one,
 *	two and four that come from perf events. All of these are set up at once, each with a copy of
 *	the target, and take turns of some milliseconds; what an event cost and its ratio to the empty
 *	program are the medians of nine turns, and those are one sample. Markers that come in pairs are
 *	divided by two. Had anything been lost, a note under the table would say so, since a lost event
 *	is a cheap one.
 *
 * Attaching (attach.c, uses.sh)
 *	Programs with 10, 1,000 and 10,000 uses of markers. Attach and detach are the system calls
 *	alone, with the empty program. The rest is proftrace itself: the target marks every 20 us with
 *	the time as argument, so the first event in the trace tells when recording began. Loading the
 *	BPF programs is in it.
 *
 * The recorder (rate.c)
 *	As many threads as processors make bursts each millisecond: slices with an argument, a counter
 *	and an instant in each. The ring buffer is small (4 MiB) here, so that it cannot hide for a
 *	while that the recorder is too slow. The rate rises by half until something is lost, then
 *	halves the interval; given is the highest rate reached without loss. CPU time (user and system
 *	of recorder and broker, from the first event to their end: /proc/PID/task/N/schedstat and
 *	wait4), bytes and memory are taken at 100,000 events a second. Memory is what is resident
 *	beside mappings of BPF maps. At a million a second, in batches, CPU time is that of some seconds
 *	in the middle, its start and its end left out.
 *
 * What an event is made of (cost.c, README.md)
 *	The steps from the marker to the file, each as the difference of two that do one thing more.
 *
 * Beside others (compare.c, peers.c, peers.sh)
 *	The same loop, an instant with one integer, recorded by tools that Debian has: bpftrace and
 *	perf on the USDT probe of the same marker, LTTng-UST on a tracepoint of its own with the same
 *	field, uftrace on the entry and exit of a function; and, as marks of what is possible, by
 *	nobody, and by an empty BPF program on the same site. "its CPU" is what the tracer's own
 *	processes run for each event, from the first to their end; bytes are the size of what was
 *	written; "lost" is how many events are not in it; "of ..." is the share of what an event costs
 *	there. Then the same from several threads at once, timed by their CPU time (what they do to
 *	one another shows, that they are more than the processors does not), and with more arguments.
 *
 * What nobody marked (foreign.c, loops_foreign.c)
 *	Switches of two threads that take turns on a processor, a USDT probe of others, a function. Of
 *	the first it is the CPU time of the whole process. The loop while nobody traces is subtracted.
 *
 * Call stacks (samples.c, loops_stack.c)
 *	A program that computes, sampled 10,000 times a second, a stack of some 15 functions each time:
 *	what interrupts take from it, beyond what they take while nobody looks, and what the tracer
 *	runs, by the number of samples taken.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "privilege/broker/features.h"
#include "sections.h"
#include "subject.h"

static void say_processor(struct results *r)
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

static void say_machine(struct results *r)
{
	struct utsname u;

	uname(&u);
	results_fact(r, "proftrace", "%s", PROFTRACE_VERSION);
	results_fact(r, "kernel", "%s %s %s", u.sysname, u.release, u.machine);
	say_processor(r);
	results_fact(r, "probe site", "%s", fast_door_text(kernel_fast_door()));
}

static void say_load(struct results *r, const char *when)
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
	{ "physical marks", measure_physical, 7, 3 },
	{ "events", measure_events, 7, 3 },
	{ "objects", measure_made, 5, 1 },
	{ "counters", measure_counters, 7, 3 },
	{ "attaching", measure_attach, 5, 3 },
	{ "the recorder", measure_rate, 3, 1 },
	{ "what it is made of", measure_cost, 3, 1 },
	{ "peers", measure_peers, 5, 1 },
	{ "threads", measure_threads, 3, 1 },
	{ "sizes", measure_sizes, 3, 1 },
	{ "what nobody marked", measure_foreign, 3, 1 },
	{ "samples", measure_samples, 5, 1 },
};

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
	strcpy(b.directory, argv[1]);
	b.only = argv[2];
	signal(SIGPIPE, SIG_IGN);
	setvbuf(stderr, NULL, _IONBF, 0);
	say_machine(&b.results);
	say_load(&b.results, "before");
	error = measure(&b);
	say_load(&b.results, "after");
	print_tables(&b.results, stdout);
	if (write_file(&b, "results.json", print_json) || write_file(&b, "chart.svg", print_chart))
		error = -EIO;
	results_free(&b.results);
	return error ? 1 : 0;
}
