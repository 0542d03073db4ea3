/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * domains ROUNDS [categories]
 *
 * Slices of two domains, markers with categories in both of them, and ENDs that find nothing of their own domain to close: those that a tracer
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

PROF_MARKER(read_file, app, "read", .categories = "io,disk");
PROF_MARKER(send_reply, app, "send", .categories = "io,net");
PROF_MARKER(compute, app, "compute", .categories = "cpu");
PROF_MARKER(lookup, lib, "find", .categories = "cpu");
PROF_MARKER(flush, lib, "flush", .categories = "io");

/* Inside of one another, so that leaving some of them out leaves gaps. */
static void categories(void)
{
	PROF_BEGIN_IN(app, "plain");
	prof_marker_start(&compute);
	prof_marker_start(&flush);
	prof_marker_start(&read_file);
	PROF_BEGIN_IN(lib, "deep");
	prof_marker_start(&lookup);
	prof_marker_instant(prof_marker_get("made", "io,cpu"));
	prof_marker_counter(&read_file, "bytes", 7);
	prof_marker_finish(&lookup);
	PROF_END_IN(lib, "of", "deep");
	prof_marker_finish(&read_file);
	prof_marker_mark(&send_reply, PROF_SCOPE_THREAD);
	prof_marker_finish(&flush);
	prof_marker_finish(&compute);
	PROF_END_IN(app, "of", "plain");
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;

	if (argc > 2) {
		while (rounds--)
			categories();
		return 0;
	}
	while (rounds--) {
		in_order();
		cut();
		never_ended();
		scope();
	}
	return 0;
}
