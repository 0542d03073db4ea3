/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions of libpfm4. It is loaded when a name is looked up that only it knows: its tables of events take a quarter of the
 * time in which proftrace starts, as the dynamic linker relocates 40,000 pointers.
 */
#ifndef PROFTRACE_COUNTERS_LIBPFM_H
#define PROFTRACE_COUNTERS_LIBPFM_H

#include <linux/perf_event.h> /* before the copy that libpfm4 has of it */
#include <perfmon/pfmlib_perf_event.h>

#define PFM_FUNCTIONS(X)         \
	X(initialize)            \
	X(get_os_event_encoding) \
	X(get_pmu_info)          \
	X(get_event_next)        \
	X(get_event_info)

struct libpfm {
#define PFM_MEMBER(name) __typeof__(pfm_##name) *name;
	PFM_FUNCTIONS(PFM_MEMBER)
#undef PFM_MEMBER
};

/* A static program has it linked in: tools/static.c. */
extern const struct libpfm static_libpfm __attribute__((weak));

#endif
