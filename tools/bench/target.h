/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A target is a program made of loops, each of which makes one kind of event again and again.
 * target.c has its main(), which reads commands from standard input, one per line.
 */
#ifndef BENCH_TARGET_H
#define BENCH_TARGET_H

#include <stdbool.h>
#include <stdint.h>

struct loop {
	const char *name;
	unsigned events; /* in one round */
	void (*run)(uint64_t rounds);
	bool together; /* what the process's other threads run is a part of it */
	uint64_t (*measures)(uint64_t rounds); /* instead of `run`: returns the ns that count */
};

/* Further things a target can do: `run` prints its own answer, one line. */
struct verb {
	const char *name;
	void (*run)(char *arguments);
};

/* Each target defines both; the last one's name is NULL. */
extern const struct loop *const target_loops[];
extern const struct verb target_verbs[];

uint64_t now_ns(void);
/* Splits off the next word: 0 when there is none. */
uint64_t next_number(char **arguments);

/*
 * Defines `function`, which runs the statement again and again. The empty assembly keeps the loop
 * when the statement is nothing: that is what the column "compiled out" times.
 */
#define LOOP(function, ...)                                         \
	static void function(uint64_t rounds)                       \
	{                                                           \
		uint64_t i;                                         \
                                                                    \
		for (i = 0; i < rounds; i++) {                      \
			__VA_ARGS__;                                \
			__asm__ volatile("" : : "r"(i) : "memory"); \
		}                                                   \
	}

#endif
