/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the marks of each domain cost the processes that are recorded, and switching domains off
 * (capture_options.guarded; bpf/guard.h says how it is measured).
 */
#ifndef PROFTRACE_CAPTURE_GUARD_H
#define PROFTRACE_CAPTURE_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "event.h"

struct capture;
struct name;

struct domain_cost {
	const struct name *domain; /* NULL: the control site's marks, which are not switched off */
	bool off;
	uint64_t marks;	    /* in the interval */
	uint64_t marks_all; /* since the recording began */
	uint64_t cost_ns;   /* of those in the interval */
};

struct costs {
	uint64_t cpu_ns; /* that the processes have used in the interval, their marks included */
	unsigned n;
	struct domain_cost domains[GUARD_DOMAINS];
};

/*
 * What came since the last interval, if the processes have used so much of a CPU meanwhile: then the
 * next interval begins. False: it goes on.
 */
bool capture_costs(struct capture *capture, uint64_t least_cpu_ns, struct costs *ret_costs);
/* What a mark costs before its own program is measured, ns; 0: it could not be measured. */
uint64_t capture_entry_ns(const struct capture *capture);
/*
 * Takes the domain's probes away for good: its marks cost nothing any more, and what is open of it
 * ends. All that was recorded of it has been handed on when this returns.
 */
void capture_switch_off(struct capture *capture, unsigned domain);

#endif
