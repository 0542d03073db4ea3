/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hostile_trace threads|processes|asyncs|open|deep|flows|names|counters N
 *
 * Prints Chrome JSON with N of what a reader has to keep something of: threads or processes, asynchronous
 * slices that do not end, slices that do not end on as many threads or within each other, arrows that go
 * nowhere, names, counters.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number stands once in each event: for %d. */
static const struct {
	const char *what, *event;
} kinds[] = {
	{ "threads", "{\"ph\":\"X\",\"name\":\"n\",\"pid\":1,\"tid\":%d,\"ts\":1,\"dur\":1}" },
	{ "processes", "{\"ph\":\"X\",\"name\":\"n\",\"pid\":%d,\"tid\":1,\"ts\":1,\"dur\":1}" },
	{ "asyncs",
	  "{\"ph\":\"b\",\"cat\":\"c\",\"name\":\"n\",\"pid\":1,\"tid\":1,\"ts\":1,\"id\":%d}" },
	{ "open", "{\"ph\":\"B\",\"name\":\"n\",\"pid\":1,\"tid\":%d,\"ts\":1}" },
	{ "deep", "{\"ph\":\"B\",\"name\":\"n\",\"pid\":1,\"tid\":1,\"ts\":%d}" },
	{ "flows",
	  "{\"ph\":\"s\",\"cat\":\"c\",\"name\":\"n\",\"pid\":1,\"tid\":1,\"ts\":1,\"id\":%d}" },
	{ "names", "{\"ph\":\"i\",\"name\":\"n%d\",\"pid\":1,\"tid\":1,\"ts\":1,\"s\":\"t\"}" },
	{ "counters", "{\"ph\":\"C\",\"name\":\"n%d\",\"pid\":1,\"ts\":1,\"args\":{\"v\":1}}" },
};

int main(int argc, char **argv)
{
	static char buffer[1 << 20];
	const char *event = NULL;
	unsigned i;
	int n;

	for (i = 0; argc == 3 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!strcmp(argv[1], kinds[i].what))
			event = kinds[i].event;
	}
	if (!event)
		return 2;
	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	putchar('[');
	for (n = atoi(argv[2]); n > 0; n--) {
		printf(event, n);
		if (n > 1)
			puts(",");
	}
	puts("]");
	return fflush(stdout) ? 1 : 0;
}
