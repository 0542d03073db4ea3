/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Libraries: the dynamic linker calls `_dl_debug_state` after it has mapped libraries and before any
 * of their constructors runs. The thread is held there until the recorder has attached to them.
 */
#include "hold.h"
#include "state.h"

SEC("uprobe.s")
int libraries_changed(struct pt_regs *ctx)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct record_hold *r;
	struct hold_wait w;

	if (!recording || !traced_flags(tgid))
		return 0;
	r = hold_reserve(ctx, &w, HOLD_LIBRARIES);
	if (r)
		hold(r, &w);
	return 0;
}
