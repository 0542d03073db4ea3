/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* All programs in one object, because they share the ring buffer and the accounting. */
/*
 * First, since it takes longest to verify: the others are verified meanwhile (privilege/loader/background.h). The program
 * that takes its place with --stats-only is in the same section.
 */
#include "bpf/marks/marks.bpf.c"
#include "bpf/counters/counters.bpf.c"
#include "bpf/processes/hold.bpf.c"
#include "bpf/processes/processes.bpf.c"
#include "bpf/sched/sched.bpf.c"
#include "bpf/stacks/stacks.bpf.c"
#include "bpf/sched/syscalls.bpf.c"
/* These use functions of marks.bpf.c and must come after it. */
#include "bpf/batch/batch.bpf.c"
#include "bpf/batch/counter_off.bpf.c"
#include "bpf/batch/counters.bpf.c"
#include "bpf/batch/forbids_counter.bpf.c"
#include "bpf/table/stats.bpf.c"
#include "bpf/marks/usdt.bpf.c"
#include "bpf/find_uprobe.bpf.c"

char LICENSE[] SEC("license") = PROGRAM_LICENSE;
