/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * scripted [COMMAND...]
 *
 * Marks what it is told, by its arguments or else by lines on standard input, and says "done N" after
 * the Nth. At the end it says what it marked: "count begin 3", ..., "total 12".
 *
 *	slices N	N slices "work", with an argument
 *	ticks N		N instants "tick"
 *	alarm		an instant "alarm"
 *	dump N		N requests that the recording is written
 *	slow MS		a slice "slow" that takes so long
 *	open, close	begins a slice "kept open", ends the latest slice
 *	async N, await N	begins, ends an asynchronous slice "job" with this id
 *	level N		a counter "level"
 *	step E B	PROF_STEP
 *	name		the thread is called "marker"
 *	wait MS		nothing
 *	load LIBRARY	opens it
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <proftrace.h>

static unsigned long begins, ends, instants, asyncs, awaits, counters, steps, names, dumps;

static void wait_ms(unsigned long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&t, &t))
		;
}

static void slices(unsigned long n)
{
	unsigned long i;

	for (i = 0; i < n; i++) {
		PROF_BEGIN("work", "number", i);
		PROF_END();
	}
	begins += n;
	ends += n;
}

static void slow(unsigned long ms)
{
	PROF_BEGIN("slow");
	wait_ms(ms);
	PROF_END();
	begins++;
	ends++;
}

static void ticks(unsigned long n)
{
	unsigned long i;

	for (i = 0; i < n; i++)
		PROF_INSTANT("tick");
	instants += n;
}

static void load(const char *path)
{
	if (!dlopen(path, RTLD_NOW)) {
		fprintf(stderr, "told: %s\n", dlerror());
		exit(1);
	}
}

static void obey(const char *line)
{
	unsigned long a = 0, b = 0;
	char word[32] = "", path[200];

	if (sscanf(line, "%31s %lu %lu", word, &a, &b) < 1)
		return;
	if (sscanf(line, "load %199s", path) == 1) {
		load(path);
		return;
	}
	if (!strcmp(word, "slices")) {
		slices(a);
	} else if (!strcmp(word, "ticks")) {
		ticks(a);
	} else if (!strcmp(word, "slow")) {
		slow(a);
	} else if (!strcmp(word, "wait")) {
		wait_ms(a);
	} else if (!strcmp(word, "alarm")) {
		PROF_INSTANT("alarm");
		instants++;
	} else if (!strcmp(word, "dump")) {
		for (; a; a--, dumps++)
			prof_dump();
	} else if (!strcmp(word, "stop")) {
		prof_stop();
	} else if (!strcmp(word, "open")) {
		PROF_BEGIN("kept open");
		begins++;
	} else if (!strcmp(word, "close")) {
		PROF_END();
		ends++;
	} else if (!strcmp(word, "async")) {
		PROF_ASYNC_BEGIN("job", a);
		asyncs++;
	} else if (!strcmp(word, "await")) {
		PROF_ASYNC_END("job", a);
		awaits++;
	} else if (!strcmp(word, "level")) {
		PROF_COUNTER("level", a);
		counters++;
	} else if (!strcmp(word, "step")) {
		PROF_STEP(a, b);
		steps++;
	} else if (!strcmp(word, "name")) {
		PROF_THREAD_NAME("marker");
		names++;
	} else {
		fprintf(stderr, "told: what is '%s'?\n", word);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	char line[256];
	int i, n = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("ready %d\n", (int)getpid());
	for (i = 1; i < argc; i++)
		obey(argv[i]);
	while (argc == 1 && fgets(line, sizeof(line), stdin)) {
		obey(line);
		printf("done %d\n", ++n);
	}
	printf("count begin %lu\ncount end %lu\ncount instant %lu\n", begins, ends, instants);
	printf("count async_begin %lu\ncount async_end %lu\n", asyncs, awaits);
	printf("total %lu\n",
	       begins + ends + instants + asyncs + awaits + counters + steps + names + dumps);
	return 0;
}
