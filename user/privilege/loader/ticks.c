/* SPDX-License-Identifier: BSD-2-Clause */
/* Perf events on every CPU, each overflow of which runs a BPF program. */
#include "privilege/broker/server.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_everywhere(struct perf_event_attr *attr, int program_fd, unsigned n_cpus)
{
	for (unsigned cpu = 0; cpu < n_cpus; cpu++) {
		int fd = syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

		if (fd < 0 && errno == ENODEV) /* the CPU is offline */
			continue;
		if (fd < 0)
			return -errno;
		if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program_fd))
			return -errno;
	}
	return 0;
}

int ticks_open(int program_fd, uint64_t interval_ns, unsigned n_cpus)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = interval_ns,
		.exclude_idle = 1,
	};

	return open_everywhere(&attr, program_fd, n_cpus);
}

/*
 * Not PERF_COUNT_SW_PAGE_FAULTS, which counts before the kernel handles a fault: only then the kernel counts it for the
 * task.
 */
int faults_open(int program_fd, unsigned n_cpus)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_PAGE_FAULTS_MIN,
		.sample_period = 1,
	};
	int error = open_everywhere(&attr, program_fd, n_cpus);

	attr.config = PERF_COUNT_SW_PAGE_FAULTS_MAJ;
	return error ? error : open_everywhere(&attr, program_fd, n_cpus);
}

/*
 * Without a PMU that counts cycles, opening the event fails on every CPU, so the first one decides.
 */
static bool counts_cycles(struct perf_event_attr *attr)
{
	int fd = syscall(SYS_perf_event_open, attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int samples_open(int program_fd, uint32_t hz, unsigned n_cpus, bool *ret_cycles)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.sample_freq = hz,
		.freq = 1,
	};

	*ret_cycles = counts_cycles(&attr);
	if (!*ret_cycles) {
		attr.type = PERF_TYPE_SOFTWARE;
		attr.config = PERF_COUNT_SW_CPU_CLOCK;
		attr.exclude_idle = 1;
	}
	return open_everywhere(&attr, program_fd, n_cpus);
}
