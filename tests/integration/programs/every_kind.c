/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * every_kind THREADS ROUNDS [wait]
 *
 * Threads that make rounds; in each round every kind of inline marker, every type of value, two
 * domains, nested slices. It counts what it marks, and says at its end how many marks a tracer must
 * have seen, one line for each kind and one for all: "count begin 120", ..., "total 999".
 *
 * With "wait" it says "ready PID" first and begins when a line arrives on standard input, or its end.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <proftrace.h>

PROF_DOMAIN(net, "net.rpc");

enum kind {
	BEGIN,
	END,
	INSTANT,
	COUNTER,
	ASYNC_BEGIN,
	ASYNC_END,
	FLOW_OUT,
	FLOW_IN,
	ALLOC,
	FREE,
	THREAD_NAME,
	STEP,
	KINDS,
};

static const char *const words[KINDS] = {
	"begin",    "end",     "instant", "counter", "async_begin", "async_end",
	"flow_out", "flow_in", "alloc",	  "free",    "thread_name", "step",
};

enum color {
	RED = 1,
	GREEN = 2
};

struct worker {
	pthread_t thread;
	unsigned int number;
	unsigned long rounds;
	uint64_t counts[KINDS];
};

/* Every type of value, five marks, no nesting. */
static void values(struct worker *w)
{
	static const char utf8[] = "gr\303\274\303\237e, \346\227\245\346\234\254";
	const unsigned char *bytes = (const unsigned char *)utf8;
	const char *null = NULL;
	char buffer[300];

	PROF_INSTANT("signed", "char", (signed char)-1, "short", (short)-300, "int", -70000, "long",
		     INT64_MIN, "long long", -1LL, "enum", RED);
	PROF_INSTANT("unsigned", "char", (unsigned char)255, "short", (unsigned short)65535, "int",
		     4294967295u, "long", UINT64_MAX, "size", sizeof(buffer), "number", w->number);
	PROF_INSTANT("real", "half", 0.5, "negative", -1e300, "tiny", 5e-324, "float", 0.1f, "true",
		     (bool)true, "false", (bool)false);
	memset(buffer, 'x', sizeof(buffer) - 1);
	buffer[sizeof(buffer) - 1] = '\0';
	PROF_INSTANT("strings", "plain", "plain", "utf8", utf8, "bytes", bytes, "empty", "", "null",
		     null, "long", buffer);
	PROF_INSTANT("pointers", "null", (void *)NULL, "self", (void *)w, "constant",
		     (const void *)utf8);
	w->counts[INSTANT] += 5;
}

static unsigned long factorial(struct worker *w, unsigned long n)
{
	unsigned long result;

	PROF_FUNCTION("n", n);
	result = n < 2 ? 1 : n * factorial(w, n - 1);
	w->counts[BEGIN]++;
	w->counts[END]++;
	return result;
}

static void counters(struct worker *w, unsigned long i)
{
	PROF_COUNTER("round", i);
	PROF_COUNTER("signed", -(long)i);
	PROF_COUNTER("largest", UINT64_MAX);
	PROF_COUNTER("ratio", (double)i / 3);
	PROF_COUNTERS("load", "user", i, "system", 0.25, "idle", -1);
	PROF_COUNTER_IN(net, "packets", 2 * i);
	w->counts[COUNTER] += 6;
}

static void network(struct worker *w, uint64_t id)
{
	PROF_BEGIN_IN(net, "request", "id", id, "host", "localhost");
	PROF_INSTANT_IN(net, "sent");
	PROF_FLOW_OUT_IN(net, id);
	{
		PROF_SCOPE_IN(net, "encode", "fields", 3);
		PROF_INSTANT("in the other domain");
	}
	PROF_END_IN(net, "status", 200);
	PROF_SCOPE("reply");
	PROF_FLOW_IN_IN(net, id);
	PROF_ASYNC_BEGIN_IN(net, "connection", id, "port", 80);
	PROF_ASYNC_END_IN(net, "connection", id);
	w->counts[BEGIN] += 3;
	w->counts[END] += 3;
	w->counts[INSTANT] += 2;
	w->counts[FLOW_OUT]++;
	w->counts[FLOW_IN]++;
	w->counts[ASYNC_BEGIN]++;
	w->counts[ASYNC_END]++;
}

static void memory(struct worker *w)
{
	void *block = malloc(64), *other = malloc(32);

	PROF_ALLOC("blocks", block, 64);
	PROF_ALLOC_IN(net, "packets", other, sizeof(uint64_t) * 4);
	PROF_FREE("blocks", block);
	PROF_FREE_IN(net, "packets", other);
	free(block);
	free(other);
	w->counts[ALLOC] += 2;
	w->counts[FREE] += 2;
}

static void round_of(struct worker *w, unsigned long i)
{
	uint64_t id = (uint64_t)w->number << 32 | i;

	PROF_STEP(w->number, i);
	PROF_BEGIN("round", "number", i, "thread", w->number);
	values(w);
	counters(w, i);
	PROF_ASYNC_BEGIN("job", id, "id", id);
	PROF_FLOW_OUT(id);
	PROF_BEGIN("work");
	PROF_FLOW_IN(id);
	factorial(w, 3);
	network(w, id | 1ull << 63);
	memory(w);
	PROF_END("done", (bool)true);
	PROF_ASYNC_END("job", id);
	PROF_END();
	w->counts[STEP]++;
	w->counts[BEGIN] += 2;
	w->counts[END] += 2;
	w->counts[ASYNC_BEGIN]++;
	w->counts[ASYNC_END]++;
	w->counts[FLOW_OUT]++;
	w->counts[FLOW_IN]++;
}

static void *work(void *data)
{
	struct worker *w = data;
	char name[32];

	snprintf(name, sizeof(name), "worker %u", w->number);
	PROF_THREAD_NAME(name);
	w->counts[THREAD_NAME]++;
	for (unsigned long i = 0; i < w->rounds; i++)
		round_of(w, i);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned int threads = argc > 1 ? (unsigned int)strtoul(argv[1], NULL, 0) : 1;
	struct worker *workers = calloc(threads ? threads : 1, sizeof(*workers));
	uint64_t total = 0;

	if (!workers)
		return 1;
	if (argc > 3 && !strcmp(argv[3], "wait")) {
		char line[64];

		printf("ready %ld\n", (long)getpid());
		fflush(stdout);
		if (!fgets(line, sizeof(line), stdin))
			line[0] = '\0';
	}
	for (unsigned int i = 0; i < threads; i++) {
		workers[i].number = i + 1;
		workers[i].rounds = argc > 2 ? strtoul(argv[2], NULL, 0) : 1;
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			return 1;
	}
	for (unsigned int i = 0; i < threads; i++)
		pthread_join(workers[i].thread, NULL);
	for (int kind = 0; kind < KINDS; kind++) {
		uint64_t count = 0;

		for (unsigned int i = 0; i < threads; i++)
			count += workers[i].counts[kind];
		printf("count %s %" PRIu64 "\n", words[kind], count);
		total += count;
	}
	printf("total %" PRIu64 "\n", total);
	free(workers);
	return 0;
}
