/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * program REQUESTS: a real program for the table of what recording does to one: SQLite, in memory. Each request is five
 * statements, with twelve marks around them. Waits for a line, makes some requests that are not timed, in which --mode
 * auto finds its mode, and then REQUESTS. Prints the CPU time of a request in ns, and how many marks there were in all.
 * With -DBENCH_LTTNG the marks are tracepoints of LTTng-UST.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef BENCH_LTTNG
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_provider.h"
#define BEGIN(name)		  lttng_ust_tracepoint(proftrace_bench, instant_0)
#define BEGIN_1(name, key, value) lttng_ust_tracepoint(proftrace_bench, instant, value)
#define END()			  lttng_ust_tracepoint(proftrace_bench, instant_0)
#else
#include <proftrace.h>
#define BEGIN(name)		  PROF_BEGIN(name)
#define BEGIN_1(name, key, value) PROF_BEGIN(name, key, value)
#define END()			  PROF_END()
#endif

#define ROWS	      10000
#define MARKS	      12
#define UNTIMED_NS    700000000ull
#define UNTIMED_BURST 100

enum {
	INSERT,
	FIND,
	UPDATE,
	COUNT,
	DELETE,
	STATEMENTS
};

static const char *const texts[STATEMENTS] = {
	[INSERT] = "INSERT OR REPLACE INTO orders VALUES (?1, ?1 % 97, 'an order of some length')",
	[FIND] = "SELECT customer, note FROM orders WHERE id = ?1",
	[UPDATE] = "UPDATE orders SET customer = customer + 1 WHERE id = ?1",
	[COUNT] = "SELECT count(*) FROM orders WHERE id BETWEEN ?1 AND ?1 + 20",
	[DELETE] = "DELETE FROM orders WHERE id = ?1 + 1",
};

static sqlite3_stmt *statements[STATEMENTS];

static uint64_t clock_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void step(int which, sqlite3_int64 id)
{
	sqlite3_bind_int64(statements[which], 1, id);
	while (sqlite3_step(statements[which]) == SQLITE_ROW)
		;
	if (sqlite3_reset(statements[which]))
		exit(3);
}

static void make_request(uint64_t number)
{
	sqlite3_int64 id = number * 7919 % ROWS;

	BEGIN_1("request", "id", id);
	BEGIN("insert");
	step(INSERT, id);
	END();
	BEGIN("find");
	step(FIND, id);
	END();
	BEGIN("update");
	step(UPDATE, id);
	END();
	BEGIN("count");
	step(COUNT, id);
	END();
	BEGIN("delete");
	step(DELETE, id);
	END();
	END();
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 0, made = 0, i, began_ns, took_ns;
	sqlite3 *db;

	if (!n || sqlite3_open(":memory:", &db) ||
	    sqlite3_exec(db, "CREATE TABLE orders(id INTEGER PRIMARY KEY, customer, note)", NULL,
			 NULL, NULL))
		return 2;
	for (i = 0; i < STATEMENTS; i++) {
		if (sqlite3_prepare_v2(db, texts[i], -1, &statements[i], NULL))
			return 2;
	}
	for (i = 0; i < ROWS; i++)
		step(INSERT, i);
	puts("ready");
	fflush(stdout);
	if (getchar() == EOF)
		return 2;
	began_ns = clock_of(CLOCK_MONOTONIC);
	while (clock_of(CLOCK_MONOTONIC) - began_ns < UNTIMED_NS) {
		for (i = 0; i < UNTIMED_BURST; i++)
			make_request(made++);
	}
	began_ns = clock_of(CLOCK_THREAD_CPUTIME_ID);
	for (i = 0; i < n; i++)
		make_request(made++);
	took_ns = clock_of(CLOCK_THREAD_CPUTIME_ID) - began_ns;
	printf("ns %llu\nmarks %llu\n", (unsigned long long)(took_ns / n),
	       (unsigned long long)(made * MARKS));
	fflush(stdout);
	/* Until the tracer has ended. */
	while (getchar() != EOF)
		;
	return 0;
}
