/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loads the BPF programs for a recording: finds out what the kernel supports (features.h), chooses programs and sizes
 * (configure.c), and loads them with the few types of the kernel that they need (kernel_types.h). Only the broker
 * calls it.
 */
#ifndef PROFTRACE_PRIVILEGE_LOADER_LOADER_H
#define PROFTRACE_PRIVILEGE_LOADER_LOADER_H

#include "privilege/broker/broker.h"

struct bpf_program;
struct proftrace_bpf;
struct proftrace_bpf__bss;

/*
 * Descriptors of the links of the programs that follow forks, executions and exits. When a process ends, the kernel
 * releases the highest descriptor first, so the broker keeps its lowest ones for them, behind its socket: whatever is
 * attached later, it ends before it is no longer known which processes are traced.
 */
enum {
	WATCHERS = 3,
	WATCHERS_FIRST = 4,
};

/*
 * How often a caller who is not root may have each CPU interrupted in a second. An interrupt with a call stack takes 12 to
 * 17 us in a virtual machine.
 */
#define OWN_MAX_HZ 1000
/* Of all ring buffers of such a caller. The kernel charges them to nobody whose memory is not limited by a control group. */
#define OWN_MAX_BUFFERS (256u << 20)
/* If the timers leave fewer of these, the broker sends no counters on request (send_bases()). */
#define BASES_LEAST_HZ 100

/* The programs that are loaded, and what the broker needs of them. */
struct loaded_programs {
	int traced_fd;		/* the map of traced processes */
	int traced_removals_fd; /* of bpf/sched/syscall_slots.h */
	int containers_fd;	/* target_containers of bpf/target_match.h */
	int events_fd;		/* the map of counters: its events go when this is closed */
	int turn_function;	/* kernel_turn_function() */
	bool all_maps;		/* also those that nothing needs */
	struct bpf_program *libraries, *executes; /* of the skeleton: those that hold threads */
	int turns_fd; /* threads wait in turns as long as it is open (bpf/processes/hold_turns.h) */
	/* With broker_links_each(): the ring buffer of follow.c, what was lost of it, and the account. */
	int follows_fd, follow_missed_fd;
	int find_uprobe_fd;	    /* bpf/find_uprobe.bpf.c; -1: the kernel cannot have it */
	struct kept_copies *copies; /* broker/kept_copies.h; NULL: the kernel does not show them */
	int empty_fd;		    /* a program that does nothing, with uprobe_multi; else -1 */
	struct proftrace_bpf__bss *shared;
	int program_fds[BROKER_PROGRAMS];
	int base_fd; /* the program that sends the counters of the thread that has the CPU; -1: not needed */
	uint64_t bases_gap_ns; /* the least time between two runs of it on all CPUs */
	bool loaded;	       /* the verifier has accepted all */
	bool uprobe_multi;
	bool breaks_nop5;
	bool emulates_calls;
	bool return_sessions;
	struct provers *provers; /* with config.functions */
	struct trial *trial;	 /* until all is loaded */
	struct proftrace_bpf *skeleton;
	uint64_t attach_ns; /* that the kernel took for the last attach */
	const bool *ended;  /* atomic: nothing more is attached; or NULL */
};
/*
 * `loaded` and `fds` (shared map, holds, tables, specs, then links, then ring buffers) are for the
 * recorder.
 */
int programs_load(const struct broker_config *config, struct loaded_programs *programs,
		  struct broker_loaded *loaded, int *fds, unsigned *n_fds, struct failure *f);
/* What is left of loading: it takes milliseconds, and nothing needs it. */
void programs_free_skeleton(struct loaded_programs *programs);

/*
 * ticks.c: has the program run on every CPU, this often, as long as this process lives: its events are
 * never closed.
 */
int ticks_open(int program_fd, uint64_t interval_ns, unsigned n_cpus);

/* The same for page faults: after each. */
int faults_open(int program_fd, unsigned n_cpus);

/*
 * The same for samples: by cycles where these are counted (*ret_cycles), else by the clock, so many
 * times in a second of a CPU that is busy.
 */
int samples_open(int program_fd, uint32_t hz, unsigned n_cpus, bool *ret_cycles);

#endif
