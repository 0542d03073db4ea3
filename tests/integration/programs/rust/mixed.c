/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mixed ROUNDS [MARKS]
 *
 * A program with marks in C and in Rust, in one thread: instants, scopes and counters with up to six values. Of each
 * form MARKS (1000) in C and then in Rust, ROUNDS times. It prints, for each form, the shortest time of one in
 * nanoseconds, "FORM VALUES C RUST", and "total N", the marks; a scope is two.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <proftrace.h>

typedef void make_t(uint64_t n);

/* "of C", and library.rs has the same as "of Rust". */
#define FORM(name, mark)                                           \
	make_t rust_##name;                                        \
	static __attribute__((noinline)) void c_##name(uint64_t n) \
	{                                                          \
		for (uint64_t i = 0; i < n; i++) {                 \
			mark __asm__ volatile("");                 \
		}                                                  \
	}
FORM(instant_0, PROF_INSTANT("of C");)
FORM(instant_1, PROF_INSTANT("of C", "number", i);)
FORM(instant_2, PROF_INSTANT("of C", "number", i, "b", 2);)
FORM(instant_3, PROF_INSTANT("of C", "number", i, "b", 2, "c", 3);)
FORM(instant_4, PROF_INSTANT("of C", "number", i, "b", 2, "c", 3, "d", 4);)
FORM(instant_5, PROF_INSTANT("of C", "number", i, "b", 2, "c", 3, "d", 4, "e", 5);)
FORM(instant_6, PROF_INSTANT("of C", "number", i, "b", 2, "c", 3, "d", 4, "e", 5, "f", 0.5);)
FORM(scope_0, PROF_SCOPE("of C");)
FORM(scope_1, PROF_SCOPE("of C", "number", i);)
FORM(scope_2, PROF_SCOPE("of C", "number", i, "b", 2);)
FORM(scope_6, PROF_SCOPE("of C", "number", i, "b", 2, "c", 3, "d", 4, "e", 5, "f", 0.5);)
FORM(counter_1, PROF_COUNTER("of C", i);)
FORM(counter_2, PROF_COUNTERS("of C", "number", i, "b", 2);)
FORM(counter_6, PROF_COUNTERS("of C", "number", i, "b", 2, "c", 3, "d", 4, "e", 5, "f", 0.5);)

static const struct {
	const char *name;
	make_t *c, *rust;
	unsigned long marks;
} forms[] = {
#define OF(kind, values, marks)                                                       \
	{                                                                             \
#kind " " #values, c_##kind##_##values, rust_##kind##_##values, marks \
	}
	OF(instant, 0, 1), OF(instant, 1, 1), OF(instant, 2, 1), OF(instant, 3, 1),
	OF(instant, 4, 1), OF(instant, 5, 1), OF(instant, 6, 1), OF(scope, 0, 2),
	OF(scope, 1, 2),   OF(scope, 2, 2),   OF(scope, 6, 2),	 OF(counter, 1, 1),
	OF(counter, 2, 1), OF(counter, 6, 1),
};
enum {
	FORMS = sizeof(forms) / sizeof(forms[0])
};

static double time_marks(make_t *make, uint64_t n)
{
	struct timespec a, b;

	clock_gettime(CLOCK_MONOTONIC, &a);
	make(n);
	clock_gettime(CLOCK_MONOTONIC, &b);
	return ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / (double)n;
}

static void keep_shorter(double *shortest, double time)
{
	if (*shortest == 0 || time < *shortest)
		*shortest = time;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
	unsigned long n = argc > 2 ? strtoul(argv[2], NULL, 0) : 1000;
	double c[FORMS] = { 0 }, rust[FORMS] = { 0 };
	unsigned long total = 0;

	for (unsigned long i = 0; i < rounds; i++)
		for (int form = 0; form < FORMS; form++) {
			keep_shorter(&c[form], time_marks(forms[form].c, n));
			keep_shorter(&rust[form], time_marks(forms[form].rust, n));
			total += 2 * n * forms[form].marks;
		}
	for (int form = 0; form < FORMS; form++)
		printf("%s %.2f %.2f\n", forms[form].name, c[form], rust[form]);
	printf("total %lu\n", total);
	return 0;
}
