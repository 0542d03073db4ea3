/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One object of all programs: they share the ring buffer and the account. */
#include "counters.bpf.c"
#include "executes.bpf.c"
#include "libraries.bpf.c"
#include "marks.bpf.c"
#include "processes.bpf.c"
#include "sched.bpf.c"
#include "stacks.bpf.c"
/* After marks.bpf.c: they take the state of threads from there. */
#include "batch.bpf.c"
#include "stats.bpf.c"
#include "usdt.bpf.c"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
