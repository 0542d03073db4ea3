/* SPDX-License-Identifier: BSD-2-Clause */
/* A shared library with a set of the same domains of its own. */
#include "shared.h"

PROF_DEFAULT_DOMAIN(net);

int library_work(int x)
{
	PROF_FUNCTION("x", x);
	PROF_INSTANT_IN(prof_default, "in the library");
	return 3 * x;
}

int library_is_on(void)
{
	return prof_is_enabled(&net);
}
