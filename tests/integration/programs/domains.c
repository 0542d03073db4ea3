/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * domains ROUNDS
 *
 * Slices of two domains, and ENDs that find nothing of their own domain to close: those that a tracer
 * sees when one of the domains is recorded only from somewhere in the middle.
 */
#include <proftrace.h>
#include <stdlib.h>

PROF_DOMAIN(app, "app");
PROF_DOMAIN(lib, "lib");

/* As it should be: whichever is left out, the other is whole. */
static void in_order(void)
{
	PROF_BEGIN_IN(app, "request");
	PROF_BEGIN_IN(lib, "lookup");
	PROF_BEGIN_IN(app, "callback");
	PROF_END_IN(app, "of", "callback");
	PROF_END_IN(lib, "of", "lookup");
	PROF_END_IN(app, "of", "request");
}

/* lib's slice began while nobody recorded lib. */
static void cut(void)
{
	PROF_BEGIN_IN(app, "outer");
	PROF_END_IN(lib, "of", "nothing");
	PROF_INSTANT_IN(app, "still inside");
	PROF_END_IN(app, "of", "outer");
}

/* lib is not recorded any more when its slice ends: nor does that keep app's from ending. */
static void never_ended(void)
{
	PROF_BEGIN_IN(app, "around");
	PROF_BEGIN_IN(lib, "left-open");
	PROF_END_IN(app, "of", "around");
}

/* But a scope is closed by nobody else. */
static void scope(void)
{
	PROF_BEGIN_IN(app, "before");
	{
		PROF_SCOPE_IN(lib, "scope");
		PROF_BEGIN_IN(lib, "inside");
		PROF_END_IN(app, "of", "nothing");
		PROF_END_IN(lib, "of", "inside");
	}
	PROF_END_IN(app, "of", "before");
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;

	while (rounds--) {
		in_order();
		cut();
		never_ended();
		scope();
	}
	return 0;
}
