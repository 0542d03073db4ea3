/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * --start-at: several hosts begin to record at one moment. Attaching takes them different times, so they attach before,
 * and are paused until then.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/record.h"

#define START_LATE_NS 10000000ull /* more is worth a message */

/* The moment of --start-at also comes at the right time if the wall clock is set meanwhile. */
int start_timer_open(uint64_t at_ns)
{
	const struct itimerspec at = { .it_value = { (time_t)(at_ns / 1000000000),
						     (long)(at_ns % 1000000000) } };
	int fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd >= 0 && timerfd_settime(fd, TFD_TIMER_ABSTIME, &at, NULL)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Everything is attached, and what was marked until now is counted as left out. */
void recording_start(struct recording *r)
{
	uint64_t now_ns = clock_ns(CLOCK_REALTIME), at_ns = r->options->start_at_ns;
	uint64_t late_ns = now_ns > at_ns ? now_ns - at_ns : 0;
	char line[96];

	r->starts_later = false;
	recording_pause(r, false);
	r->started_ns = clock_ns(CLOCK_MONOTONIC);
	snprintf(line, sizeof(line), "the recording began %.3f ms after --start-at",
		 (double)late_ns / 1e6);
	recording_log(r, late_ns < START_LATE_NS, line);
}
