/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * noisy_service SEED REQUESTS [NAME FACTOR]
 *
 * Prints Chrome JSON of a run of a simulated service, in which the time of slices NAME is multiplied
 * by FACTOR: the running time, or, of the slice "lock", the time for which it is blocked. The noise
 * is that of real services: the time of a slice is distributed log-normally with a heavy tail,
 * neighbours are alike (a factor that drifts), each run has a factor of its own, for all slices and
 * for each, and one run of twenty is disturbed as a whole.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A child is inside the nearest entry above it with one level less. */
static const struct part {
	const char *name;
	unsigned level;
	double running_us, blocked_us; /* of its own */
} parts[] = {
	{ "request", 0, 5, 0 },	  { "read", 1, 10, 20 },  { "parse", 1, 40, 0 },
	{ "auth", 1, 15, 0 },	  { "cache", 2, 12, 0 },  { "query", 1, 30, 0 },
	{ "lock", 2, 2, 40 },	  { "disk", 2, 5, 60 },	  { "render", 1, 50, 0 },
	{ "template", 2, 25, 0 }, { "write", 1, 10, 15 },
};

enum {
	PARTS = sizeof(parts) / sizeof(parts[0]),
};

static uint64_t state;
static int64_t now_ns = 1000000;
static double drift, factors[PARTS];
static const char *slow;
static double slow_factor = 1;

static double uniform(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

static double noise(void)
{
	double tail = uniform() < 0.01 ? 3 : 1;

	return tail * exp(0.25 * normal() + drift);
}

static void begin(const char *name)
{
	printf(",\n{\"ph\":\"B\",\"name\":\"%s\",\"cat\":\"service\",\"pid\":10,\"tid\":11,\"ts\":"
	       "%" PRId64 ".%03d}",
	       name, now_ns / 1000, (int)(now_ns % 1000));
}

static void end(int64_t running, int64_t blocked)
{
	printf(",\n{\"ph\":\"E\",\"pid\":10,\"tid\":11,\"ts\":%" PRId64
	       ".%03d,\"args\":{\"running_ns\":%" PRId64
	       ",\"runnable_ns\":0,\"blocked_ns\":%" PRId64 "}}",
	       now_ns / 1000, (int)(now_ns % 1000), running, blocked);
}

/* A slice with all inside it. Adds what its thread did meanwhile. Returns the next part. */
static unsigned run(unsigned at, int64_t *ret_running, int64_t *ret_blocked)
{
	const struct part *part = &parts[at];
	double grown = slow && !strcmp(part->name, slow) ? slow_factor : 1;
	double grown_running = part->blocked_us > 0 ? 1 : grown;
	int64_t running = (int64_t)(1e3 * part->running_us * factors[at] * noise() * grown_running);
	int64_t blocked = (int64_t)(1e3 * part->blocked_us * factors[at] * noise() * grown);
	unsigned next = at + 1;

	begin(part->name);
	now_ns += running + blocked;
	while (next < PARTS && parts[next].level > part->level)
		next = run(next, &running, &blocked);
	end(running, blocked);
	*ret_running += running;
	*ret_blocked += blocked;
	return next;
}

int main(int argc, char **argv)
{
	static char buffer[1 << 20];
	unsigned i, requests;
	double whole;

	if (argc != 3 && argc != 5)
		return 2;
	state = strtoull(argv[1], NULL, 10) * 0x9e3779b97f4a7c15ull + 1;
	requests = (unsigned)atoi(argv[2]);
	if (argc == 5) {
		slow = argv[3];
		slow_factor = atof(argv[4]);
	}
	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	for (i = 0; i < 20; i++)
		uniform();
	whole = 0.01 * normal() + (uniform() < 0.05 ? 0.08 : 0);
	for (i = 0; i < PARTS; i++)
		factors[i] = exp(whole + 0.007 * normal());
	printf("[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":10,\"args\":{\"name\":\"service\"}"
	       "}");
	for (i = 0; i < requests; i++) {
		int64_t running = 0, blocked = 0;

		drift = 0.95 * drift + 0.02 * normal();
		run(0, &running, &blocked);
		now_ns += (int64_t)(50000 * noise());
	}
	printf("]\n");
	return 0;
}
