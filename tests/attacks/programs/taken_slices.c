/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * taken_slices: one asynchronous slice, which ends when its standard input does. Prints `began PID`, and how long the slice was
 * open at least: `lasted NS`.
 * taken_slices PID: slices of another name, whose ids are chosen such that a hash of name, id and process without a secret
 * (bpf/table/table_rows.h) is that of the other one's slice, for each number that its domain may have. They are open until the
 * standard input ends.
 */
#include <proftrace.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

PROF_DOMAIN(taken, "taken");
PROF_DEFAULT_DOMAIN(taken);

#define NEAR	  128			/* TABLE_NEAR */
#define DOMAINS	  500			/* more than there are */
#define BEGINS	  5			/* RECORD_ASYNC_BEGIN */
#define MIX	  0x9e3779b97f4a7c15ull /* of hash_mix() */
#define VICTIM	  "request"
#define VICTIM_ID 7
#define OWN	  "innocent"

static uint64_t mix(uint64_t a, uint64_t b)
{
	a = (a ^ b) * MIX;
	return a ^ a >> 29;
}

/* a ^ b of mix(). */
static uint64_t unmix(uint64_t mixed)
{
	uint64_t before = mixed ^ mixed >> 29, inverse = MIX;
	int i;

	before = mixed ^ before >> 29;
	before = mixed ^ before >> 29;
	for (i = 0; i < 6; i++)
		inverse *= 2 - MIX * inverse;
	return before * inverse;
}

static uint64_t text_of(uint64_t category, const char *name)
{
	uint64_t words[2] = { 0 }, hash = mix(category, BEGINS);
	size_t n = strlen(name), i;

	memcpy(words, name, n);
	for (i = 0; 8 * i < n; i++)
		hash = mix(hash, words[i]);
	return mix(hash, n);
}

static unsigned near_of(uint64_t text, uint64_t id)
{
	return (text + (id ^ id >> 7 ^ id >> 17)) & (NEAR - 1);
}

/* Whether there is an id with which a slice of this process has the key of the victim's. */
static int find_id(uint64_t category, uint64_t victim, uint64_t *ret_id)
{
	uint64_t of = text_of(category, VICTIM), own = text_of(category, OWN), id, low;
	uint64_t key = mix(mix(of, VICTIM_ID), victim) & ~(NEAR - 1ull);

	for (low = 0; low < NEAR; low++) {
		id = unmix(unmix(key | low) ^ (uint64_t)getpid()) ^ own;
		if (near_of(own, id) != near_of(of, VICTIM_ID))
			continue;
		if ((mix(mix(own, id), (uint64_t)getpid()) & ~(NEAR - 1ull)) != key)
			abort();
		*ret_id = id;
		return 1;
	}
	return 0;
}

static void await_end(void)
{
	while (getchar() != EOF)
		;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void be_victim(void)
{
	uint64_t began;

	PROF_ASYNC_BEGIN(VICTIM, VICTIM_ID);
	began = now_ns();
	printf("began %d\n", getpid());
	fflush(stdout);
	await_end();
	began = now_ns() - began;
	PROF_ASYNC_END(VICTIM, VICTIM_ID);
	printf("lasted %llu\n", (unsigned long long)began);
}

static void take_slices(uint64_t victim)
{
	uint64_t ids[DOMAINS];
	unsigned n = 0, i;

	for (i = 0; i < DOMAINS; i++)
		n += find_id(i, victim, &ids[n]);
	for (i = 0; i < n; i++)
		PROF_ASYNC_BEGIN(OWN, ids[i]);
	printf("began %u\n", n);
	fflush(stdout);
	await_end();
	for (i = 0; i < n; i++)
		PROF_ASYNC_END(OWN, ids[i]);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		take_slices(strtoul(argv[1], NULL, 10));
	else
		be_victim();
	return 0;
}
