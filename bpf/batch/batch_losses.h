/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which thread lost how many marks in batches.
 *
 * The recorder may have seen some of them in the program's memory before, and writes them, so it subtracts them from what
 * was lost. What it sees is what the program says. So each thread has a sum of its own here, and no more than that is
 * subtracted for it: a program that says anything else spoils its own account only.
 */
#ifndef PROFTRACE_BPF_BATCH_LOSSES_H
#define PROFTRACE_BPF_BATCH_LOSSES_H

#include "bpf/state.h"

static __always_inline volatile struct batch_loss *batch_loss_slot(__u64 thread, __u32 i)
{
	return &batch_losses[(batch_loss_place(thread, batch_losses_secret) + i) &
			     (BATCH_LOSSES - 1)];
}

/*
 * Counts `n` marks of the thread as lost. If there is no slot, nothing is subtracted for the thread: what it lost and what
 * was seen all the same counts twice. A global function, so that the verifier checks it only once.
 */
__noinline int batch_count_lost(__u64 pid_tgid, __u64 birth, __u64 n)
{
	__u64 thread = batch_loss_thread((__u32)pid_tgid, birth);
	volatile struct batch_loss *loss = NULL, *at;

	account_add_n(ACCOUNT_BATCH_LOST, n);
	for (__u32 i = 0; i < BATCH_LOSSES_ON; i++) {
		at = batch_loss_slot(thread, i);
		if (at->thread == thread)
			loss = at;
	}
	for (__u32 i = 0; i < BATCH_LOSSES_ON && !loss; i++) {
		at = batch_loss_slot(thread, i);
		if (!at->thread && !__sync_val_compare_and_swap(&at->thread, 0, thread))
			loss = at;
	}
	if (!loss)
		return 0;
	loss->last_ns = bpf_ktime_get_ns();
	__sync_fetch_and_add(&loss->lost, n);
	return 0;
}

#endif
