/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the marks of each domain cost the recorded processes, and switching domains off
 * (capture_options.guarded). bpf/marks/guard.h explains how it is measured.
 */
#ifndef PROFTRACE_CAPTURE_GUARD_H
#define PROFTRACE_CAPTURE_GUARD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/event.h"

struct capture;
struct name;

struct domain_cost {
	const struct name *domain; /* NULL: the control site, which is never switched off */
	bool off;
	bool stays; /* it cannot be switched off: domains made at run time, whose slices have other names */
	bool can_buffer;    /* under --mode auto: it can go over to buffered mode */
	bool buffered;	    /* it is in buffered mode */
	uint64_t marks;	    /* in the interval */
	uint64_t marks_all; /* since the recording began */
	uint64_t cost_ns;   /* of the marks in the interval */
	uint64_t exact_ns;  /* what they would cost in exact mode */
};

struct costs {
	uint64_t cpu_ns; /* used by the processes in the interval, including the cost of marks */
	unsigned n;
	struct domain_cost domains[GUARD_DOMAINS];
};

/*
 * Returns the costs since the last interval and begins the next one, if the processes have used
 * this much CPU time meanwhile. False: the interval continues.
 */
bool capture_costs(struct capture *capture, uint64_t least_cpu_ns, struct costs *ret_costs);
/* The cost of a mark before its BPF program, ns; 0: it could not be measured. */
uint64_t capture_entry_ns(const struct capture *capture);
/*
 * Under --mode auto: these of the domains go over to the other mode. They are turned on in the new mode before they are
 * turned off in the old one, and each mark comes in exactly one of them (include/proftrace.h, section 4, steady nops).
 * batch/merge.c puts both kinds into one order.
 */
void capture_change_modes(struct capture *capture, const bool *domains);
/*
 * A recording has numbers for so many domains, and the rest have the last number. NULL: they are not off, or there is no
 * i-th of them, from 0 on. Else its name, and that of the domain whose number it is. Only the first are named; all their sites are
 * counted (sites_refused).
 */
#define GUARD_OFF_WITH                                                                          \
	"domain '%s' is not recorded: it was switched off together with '%s', since there are " \
	"too "                                                                                  \
	"many domains (--max-overhead)"
const struct name *capture_off_with(const struct capture *capture, unsigned i,
				    const struct name **ret_with);
/* The process that has forbidden itself the processor's counter; 0: none. Since then all domains are in exact mode. */
pid_t capture_counter_forbidden(const struct capture *capture);
/*
 * Files that stay in exact mode under --mode auto, because of the header that they were compiled with, or because they
 * are static programs.
 */
unsigned capture_exact_files(const struct capture *capture);
/* Marks in buffered mode that the kernel was entered for, because their strings might have been unreadable. */
uint64_t capture_strings_read(const struct capture *capture);
/*
 * Detaches the domain's probes for good, so that its marks cost nothing any more, and ends its open
 * slices. All of its recorded marks have been emitted when this returns.
 */
void capture_switch_off(struct capture *capture, unsigned domain);

#endif
