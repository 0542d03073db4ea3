/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Executing a program: a dynamic one is attached to while its dynamic linker is held
 * (libraries.bpf.c), a static one has none. So the C library's functions that execute programs hold
 * the thread before it enters the kernel, until the recorder has looked at the file.
 *
 * Which of the functions was called comes with the attach cookie (enum hold_reason).
 */
#include "hold.h"
#include "registers.h"
#include "state.h"

SEC("uprobe.s")
int executes(struct pt_regs *ctx)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct record_hold *r;
	struct hold_wait w;
	__u64 reason, first, second;

	if (!recording || !follow_children || !traced_flags(tgid))
		return 0;
	reason = bpf_get_attach_cookie(ctx);
	r = hold_reserve(ctx, &w, reason);
	if (!r)
		return 0;
	/* Read at once: a choice between registers is not for the verifier. */
	first = ARG(ctx, 1);
	second = ARG(ctx, 2);
	barrier_var(first);
	barrier_var(second);
	if (reason != HOLD_EXECVE)
		r->fd = first;
	if (reason != HOLD_FEXECVE &&
	    bpf_probe_read_user_str(r->path, sizeof(r->path),
				    (void *)(reason == HOLD_EXECVE ? first : second)) < 0)
		r->path[0] = '\0';
	hold(r, &w);
	return 0;
}
