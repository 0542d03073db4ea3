/* SPDX-License-Identifier: BSD-2-Clause */
/* A library whose constructor marks, and tells the program (libraries) how often. */
#include <proftrace.h>

extern void count_marks(unsigned n) __attribute__((weak));

static void __attribute__((constructor)) begin(void)
{
	PROF_BEGIN("constructor");
	PROF_INSTANT("in constructor");
	PROF_END();
	if (count_marks)
		count_marks(3);
}
