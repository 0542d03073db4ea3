/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * device LAUNCHES [wait|probes|again]: a program with two devices of three streams each, as a profiler of such devices sees them.
 * Four threads launch work, with an arrow to it. Each device has a clock that counts at another rate, from another
 * moment on, and drifts. What ran where and when is told afterwards in ticks of that clock, in no order, and the
 * slices of a stream overlap now and then. The program reads the clocks before each report.
 *
 * Prints what a trace must have: for each slice `slice NUMBER NAME TRACK BEGIN END FLOW` with the true times in
 * CLOCK_MONOTONIC, and how many there are. With "wait" it prints `ready` and waits for a line of standard input
 * before the first launch, and for another one behind the last. With "again" one thread launches as many, at most 64, for
 * each line, and reads the clocks for the first one only. With "probes" it tells of them by USDT probes of its
 * own, as libraries do that know nothing of proftrace: device:kernel(name, start, end, device, stream, id) and
 * device:clock(device, ticks, time).
 */
#include <proftrace.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PROVIDER "device"
#include "note.h"

enum {
	DEVICES = 2,
	STREAMS = 3,
	THREADS = 4,
	AT_ONCE = 64, /* slices of a report */
};

struct slice {
	uint64_t number, begin, end; /* true times */
	unsigned device, stream;
};

static const prof_track_t *devices[DEVICES], *streams[DEVICES][STREAMS];
static uint64_t started;
static unsigned launches;
static pthread_mutex_t report_lock = PTHREAD_MUTEX_INITIALIZER;

static int by_probes;

static __attribute__((noinline)) void probe_kernel(const char *name, uint64_t start, uint64_t end,
						   unsigned device, unsigned stream, uint64_t id)
{
	__asm__ volatile(NOTE("nop", "kernel",
			      "8@%[name] 8@%[start] 8@%[end] 4@%k[device] 4@%k[stream] 8@%[id]",
			      "0")
			 :
			 : [name] "r"(name), [start] "r"(start), [end] "r"(end),
			   [device] "r"(device), [stream] "r"(stream), [id] "r"(id)
			 : "memory");
}

static __attribute__((noinline)) void probe_clock(unsigned device, uint64_t at, uint64_t time)
{
	__asm__ volatile(NOTE("nop", "clock", "4@%k[device] 8@%[at] 8@%[time]", "0")
			 :
			 : [device] "r"(device), [at] "r"(at), [time] "r"(time)
			 : "memory");
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* 1.6 ticks per ns and 80 ppm too fast, more so from second to second; and 0.8 and 200 ppm too slow. */
static uint64_t ticks(unsigned device, uint64_t ns)
{
	long double t = (long double)(int64_t)(ns - started);

	if (device == 0)
		return (uint64_t)(987654321012345ll + 1.6l * t * (1 + 80e-6l) +
				  1.6l * t * t * 5e-15l);
	return (uint64_t)(123456789012ll + 0.8l * t * (1 - 200e-6l));
}

static void report(struct slice *slices, unsigned n, unsigned *seed, int read_clocks)
{
	unsigned i;

	pthread_mutex_lock(&report_lock);
	for (i = 0; read_clocks && i < DEVICES; i++) {
		uint64_t ns = now();

		if (by_probes)
			probe_clock(i, ticks(i, ns), ns);
		else
			prof_track_sync(devices[i], ticks(i, ns), ns);
	}
	for (i = n; i > 1; i--) {
		unsigned k = (unsigned)rand_r(seed) % i;
		struct slice other = slices[k];

		slices[k] = slices[i - 1];
		slices[i - 1] = other;
	}
	for (i = 0; i < n; i++) {
		const struct slice *s = &slices[i];
		const prof_track_t *track = streams[s->device][s->stream];
		const uint64_t begin = ticks(s->device, s->begin), end = ticks(s->device, s->end);
		const char *name = s->number % 2 ? "gemm" : "made_at_run_time";

		if (by_probes) {
			probe_kernel(name, begin, end, s->device, s->stream, s->number + 1);
		} else if (s->number % 2) {
			PROF_SLICE_ON(track, "gemm", begin, end, "number", s->number, "flow",
				      s->number + 1);
		} else {
			const prof_arg_t args[2] = { prof_arg_uint("number", s->number),
						     prof_arg_uint("flow", s->number + 1) };

			prof_slice_at_args(NULL, track, name, begin, end, args, 2);
		}
		printf("slice %llu %s GPU-%u/stream-%u %llu %llu %llu\n",
		       (unsigned long long)s->number, name, s->device, s->stream,
		       (unsigned long long)s->begin, (unsigned long long)s->end,
		       (unsigned long long)s->number + 1);
	}
	pthread_mutex_unlock(&report_lock);
}

static void launch(struct slice *s, uint64_t number, unsigned device, unsigned *seed)
{
	s->number = number;
	s->device = device;
	s->stream = (unsigned)rand_r(seed) % STREAMS;
	PROF_BEGIN("launch", "number", number);
	PROF_FLOW_OUT(number + 1);
	PROF_END();
	s->begin = now() + (unsigned)rand_r(seed) % 300000;
	s->end = s->begin + (unsigned)rand_r(seed) % 200000;
}

/* The last ones have ended. */
static void await_end(void)
{
	nanosleep(&(struct timespec){ 0, 500000 }, NULL);
}

static void *launch_all(void *argument)
{
	unsigned thread = *(unsigned *)argument, seed = thread, i, n = 0;
	struct slice slices[AT_ONCE];

	for (i = 0; i < launches; i++) {
		const unsigned device = (unsigned)rand_r(&seed) % DEVICES;

		launch(&slices[n++], (uint64_t)i * THREADS + thread, device, &seed);
		nanosleep(&(struct timespec){ 0, 20000 }, NULL);
		if (n == AT_ONCE || i + 1 == launches) {
			await_end();
			report(slices, n, &seed, 1);
			n = 0;
		}
	}
	return NULL;
}

/* By the device whose rate stays the same, since nobody reads its clock again. */
static void launch_again(void)
{
	struct slice slices[AT_ONCE];
	unsigned seed = 1, i, number = 0;
	char line[8];

	while (fgets(line, sizeof(line), stdin)) {
		for (i = 0; i < launches && i < AT_ONCE; i++)
			launch(&slices[i], number++, 1, &seed);
		await_end();
		report(slices, i, &seed, number == i);
		printf("slices %u\ndone %u\n", i, number);
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	int wait = argc > 2 && !strcmp(argv[2], "wait");
	unsigned numbers[THREADS], i, k;
	pthread_t threads[THREADS];
	char name[32];

	by_probes = argc > 2 && !strcmp(argv[2], "probes");
	launches = argc > 1 ? (unsigned)atoi(argv[1]) : 100;
	started = now();
	for (i = 0; i < DEVICES; i++) {
		snprintf(name, sizeof(name), "GPU-%u", i);
		devices[i] = prof_track_get(name, NULL);
		for (k = 0; k < STREAMS; k++) {
			snprintf(name, sizeof(name), "stream-%u", k);
			streams[i][k] = prof_track_get(name, devices[i]);
		}
		prof_track_sync(devices[i], ticks(i, started), started);
		if (by_probes)
			probe_clock(i, ticks(i, started), started);
	}
	if (argc > 2 && !strcmp(argv[2], "again")) {
		printf("ready\n");
		fflush(stdout);
		launch_again();
		return 0;
	}
	if (wait) {
		printf("ready\n");
		fflush(stdout);
		getchar();
	}
	for (i = 0; i < THREADS; i++) {
		numbers[i] = i;
		pthread_create(&threads[i], NULL, launch_all, &numbers[i]);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("slices %lu\n", (unsigned long)launches * THREADS);
	printf("done\n");
	fflush(stdout);
	if (wait)
		getchar();
	return 0;
}
