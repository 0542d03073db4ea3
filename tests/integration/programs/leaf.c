/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * leaf N: calls small functions N times, prints a checksum of what they computed, and ends.
 *
 * Each of them keeps live data in local arrays around a marker, which an optimising compiler may put
 * below the stack pointer, into the red zone, wherever it believes that nothing is called. A tracer
 * that changes one byte there, or one register, changes the checksum: it must be the same traced and
 * untraced, at every level of optimisation.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <proftrace.h>

#define NOINLINE __attribute__((noinline))

static NOINLINE uint64_t instant(uint64_t x)
{
	uint64_t a[8];

	for (unsigned int i = 0; i < 8; i++)
		a[(i + x) & 7] = x * (i + 1);
	PROF_INSTANT("leaf");
	for (unsigned int i = 1; i < 8; i++)
		a[i] += a[i - 1] ^ (x >> i);
	return a[x & 7] + a[7];
}

static NOINLINE uint64_t slice(uint64_t x)
{
	uint32_t a[16];
	uint64_t sum = 0;

	for (unsigned int i = 0; i < 16; i++)
		a[(i * 5 + x) & 15] = (uint32_t)(x >> (i & 31)) + i;
	PROF_BEGIN("slice");
	for (unsigned int i = 0; i < 16; i++)
		sum = sum * 31 + a[(i + x) & 15];
	PROF_END();
	for (unsigned int i = 0; i < 16; i++)
		sum ^= (uint64_t)a[i] << i;
	return sum;
}

static NOINLINE uint64_t scope(uint64_t x)
{
	unsigned char a[64];
	uint64_t sum = x;

	for (unsigned int i = 0; i < 64; i++)
		a[(i * 7 + x) & 63] = (unsigned char)(x >> (i & 7));
	{
		PROF_SCOPE("scope");
		for (unsigned int i = 0; i < 64; i++)
			sum = (sum << 5) - sum + a[i];
	}
	return sum + a[x & 63];
}

static NOINLINE uint64_t arguments(uint64_t x)
{
	uint64_t a[4];

	for (unsigned int i = 0; i < 4; i++)
		a[(i + x) & 3] = x + i;
	PROF_INSTANT("arguments", "x", x, "first", a[0], "text", "literal");
	return (a[0] * 3) ^ (a[1] * 5) ^ (a[2] * 7) ^ (a[3] * 11);
}

/* Eleven doubles and eight integers live across a marker: every register a compiler may use. */
static NOINLINE uint64_t registers(uint64_t x)
{
	double f[11], total = 0;
	uint64_t n[8];

	for (unsigned int i = 0; i < 11; i++)
		f[i] = (double)(x & 1023) / (double)(i + 1);
	for (unsigned int i = 0; i < 8; i++)
		n[i] = x ^ (x << (i + 1));
	PROF_COUNTER("registers", x);
	for (unsigned int i = 0; i < 11; i++)
		total += f[i];
	for (unsigned int i = 0; i < 8; i++)
		x += n[i];
	return x + (uint64_t)(total * 64);
}

/* A real leaf with its arrays in the red zone, called between two marks of its caller. */
static NOINLINE uint64_t pure(uint64_t x)
{
	uint64_t a[12];

	for (unsigned int i = 0; i < 12; i++)
		a[(i + x) % 12] = x + i * i;
	for (unsigned int i = 1; i < 12; i++)
		a[i] ^= a[i - 1] << 1;
	return a[x % 12] ^ a[11];
}

int main(int argc, char **argv)
{
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 0) : 1000;
	uint64_t x = 0x9e3779b97f4a7c15u;

	for (unsigned long i = 0; i < n; i++) {
		PROF_SCOPE("round", "i", i);
		x = x * 6364136223846793005u + 1442695040888963407u;
		x ^= instant(x) + slice(x >> 1) + scope(x >> 2);
		x ^= arguments(x >> 3) + registers(x >> 4) + pure(x >> 5);
	}
	printf("%016" PRIx64 "\n", x);
	return 0;
}
