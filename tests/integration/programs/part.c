/* SPDX-License-Identifier: BSD-2-Clause */
/* A library with markers, of which a program loads many copies. */
#include <proftrace.h>

int part(int n);

int part(int n)
{
	PROF_INSTANT("part", "n", n);
	return 1;
}
