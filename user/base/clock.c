/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Clocks as the kernel has them, also inside a time namespace.
 *
 * In a time namespace (Linux 5.6) CLOCK_MONOTONIC and CLOCK_BOOTTIME are shifted by an offset, but
 * BPF programs and perf events use the kernel's own clocks. So the offsets of the own namespace are
 * read once and subtracted.
 */
#include "base/clock.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * "monotonic SECONDS NANOSECONDS\nboottime ..."; before Linux 5.7 clocks were numbers, and all 0.
 */
int64_t clock_offset(const char *text, clockid_t clock)
{
	const char *name = clock == CLOCK_MONOTONIC  ? "monotonic"
			   : clock == CLOCK_BOOTTIME ? "boottime"
						     : NULL;
	const char *at = name ? strstr(text, name) : NULL;
	long long seconds, ns;
	char *end;

	if (!at)
		return 0;
	seconds = strtoll(at + strlen(name), &end, 10);
	ns = strtoll(end, NULL, 10);
	if (seconds > LLONG_MAX / 1000000000 - 1 || seconds < LLONG_MIN / 1000000000 + 1 ||
	    ns < 0 || ns >= 1000000000)
		return 0;
	return seconds * 1000000000 + ns;
}

/*
 * The kernel shows the offsets of our children's namespace: they are ours only if it is the same
 * one.
 */
static bool time_namespace_is_ours(void)
{
	struct stat own, children;

	return !stat("/proc/self/ns/time", &own) &&
	       !stat("/proc/self/ns/time_for_children", &children) && own.st_ino == children.st_ino;
}

struct offsets {
	bool known;
	int64_t monotonic;
	int64_t boottime;
};

static void read_timens_offsets(struct offsets *o)
{
	char text[256] = "";
	int fd = open("/proc/self/timens_offsets", O_RDONLY | O_CLOEXEC);

	o->known = true;
	if (fd < 0)
		return;
	if (read(fd, text, sizeof(text) - 1) > 0 && time_namespace_is_ours()) {
		o->monotonic = clock_offset(text, CLOCK_MONOTONIC);
		o->boottime = clock_offset(text, CLOCK_BOOTTIME);
	}
	close(fd);
}

uint64_t clock_ns(clockid_t clock)
{
	static struct offsets offsets; /* never change: a process stays in its namespace */
	struct timespec t;
	uint64_t ns;

	if (!offsets.known)
		read_timens_offsets(&offsets);
	clock_gettime(clock, &t);
	ns = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	if (clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_RAW)
		ns -= (uint64_t)offsets.monotonic;
	else if (clock == CLOCK_BOOTTIME)
		ns -= (uint64_t)offsets.boottime;
	return ns;
}
