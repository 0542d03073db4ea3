/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* All programs in one object, because they share the ring buffer and the accounting. */
#include "counters.bpf.c"
#include "hold.bpf.c"
#include "marks.bpf.c"
#include "processes.bpf.c"
#include "sched.bpf.c"
#include "stacks.bpf.c"
#include "syscalls.bpf.c"
/* These use functions of marks.bpf.c and must come after it. */
#include "batch.bpf.c"
#include "stats.bpf.c"
#include "usdt.bpf.c"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
