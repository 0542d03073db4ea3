/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hostile_names COMM [FILE]
 *
 * All its names are TEXT: of a domain, markers, arguments, a thread, a USDT probe and a function. The test replaces TEXT
 * in the executable by as many bytes that no compiler would let through. It calls itself COMM, prints `ready PID`, and
 * for the Nth line of its input makes one mark of each kind, computes for a moment in the function and prints `done N`.
 * FILE is a trace that the recording is asked to include. A slice is open from the first line on.
 */
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <proftrace.h>

#define TEXT "hostile_text_of_thirty_seven_bytes__x"

PROF_DOMAIN(hostile, TEXT);
PROF_DEFAULT_DOMAIN(hostile);

/* A function that is recorded (-f) and sampled (--sample). */
__attribute__((noinline)) int compute(int rounds) __asm__(TEXT);

int compute(int rounds)
{
	volatile int sum = 0;

	for (int i = 0; i < rounds; i++)
		sum += i;
	return sum;
}

static void probe(void)
{
	__asm__ volatile("990:	nop\n"
			 "	.pushsection .note.stapsdt,\"\",\"note\"\n"
			 "	.balign 4\n"
			 "	.4byte 992f-991f, 994f-993f, 3\n"
			 "991:	.asciz \"stapsdt\"\n"
			 "992:	.balign 4\n"
			 "993:	.8byte 990b, 0, 0\n"
			 "	.asciz \"" TEXT "\"\n"
			 "	.asciz \"" TEXT "\"\n"
			 "	.asciz \"\"\n"
			 "994:	.balign 4\n"
			 "	.popsection\n");
}

int main(int argc, char **argv)
{
	static char line[16], memory[16];
	int n = 0, i;

	if (argc < 2 || prctl(PR_SET_NAME, argv[1]))
		return 2;
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	for (i = 1; fgets(line, sizeof(line), stdin); i++) {
		if (i == 1)
			PROF_BEGIN(TEXT);
		PROF_THREAD_NAME(TEXT);
		PROF_BEGIN(TEXT, TEXT, TEXT, "n", n);
		PROF_INSTANT(TEXT, TEXT, TEXT);
		PROF_COUNTER(TEXT, n);
		PROF_COUNTERS(TEXT, TEXT, n);
		PROF_ASYNC_BEGIN(TEXT, n);
		probe();
		n += compute(20000000) & 1;
		PROF_END();
		printf("done %d\n", i);
		fflush(stdout);
	}
	PROF_ALLOC(TEXT, memory, sizeof(memory));
	if (argc > 2)
		prof_include_chrome_json(argv[2]);
	return 0;
}
