/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mess: a program that makes every mistake with its slices: ENDs without a BEGIN, BEGINs without an
 * END, more of them than are followed, an END inside a scope. Then good slices: `good <n>`.
 */
#include <proftrace.h>

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

static jmp_buf out;

static void jump(void)
{
	PROF_SCOPE("jumped over");
	longjmp(out, 1);
}

int main(void)
{
	char name[300];
	int i, j;

	for (i = 0; i < 3; i++)
		PROF_END();
	for (i = 0; i < 3; i++) {
		PROF_SCOPE("outer");
		PROF_END();
		for (j = 0; j < 70; j++)
			PROF_BEGIN("stray");
	}
	{
		PROF_SCOPE("around");
		if (!setjmp(out))
			jump();
	}
	/* Cut in the middle of a character of three bytes. */
	for (i = 0; i < 297; i += 3)
		memcpy(name + i, "\346\227\245", 3);
	name[297] = '\0';
	PROF_THREAD_NAME(name);
	PROF_INSTANT("strings", "long", name, "control", "a\033[31mb\nc", "bad", "\xff\xfe");
	for (i = 0; i < 100; i++) {
		PROF_SCOPE("good", "i", i);
		PROF_INSTANT("inside");
	}
	printf("good %d\n", i);
	return 0;
}
