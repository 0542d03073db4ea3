/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looks for a thread of the whole machine that has forbidden itself the processor's counter (bpf/batch/counter_off.bpf.c).
 * Which bit of a thread's flags says so is found by a trial: this thread forbids it to itself for a moment.
 */
#include "privilege/loader/internal.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/event.h"
#include "proftrace.skel.h"

#define TRIALS 8 /* the kernel changes other flags of the thread meanwhile */

static void visit_threads(int link)
{
	int fd = bpf_iter_create(link);
	char nothing;

	/* The program writes nothing, but is run for all threads only by repeated reading. */
	while (fd >= 0 && read(fd, &nothing, 1) < 0 && (errno == EINTR || errno == EAGAIN))
		;
	if (fd >= 0)
		close(fd);
}

/*
 * Not by prctl(), where another recorder may hold threads that do this. The third argument says to such a recorder that
 * it is a trial. False: the kernel does not have it.
 */
static bool set_counter(int to)
{
	return syscall(SYS_prctl, PR_SET_TSC, to, COUNTER_TRIAL, 0, 0) == 0;
}

bool counter_trial_is_seen(struct proftrace_bpf *skel)
{
	skel->bss->counter_trial_seen = 0;
	if (!set_counter(PR_TSC_SIGSEGV))
		return false;
	set_counter(PR_TSC_ENABLE);
	return skel->bss->counter_trial_seen;
}

static uint64_t try_flag(struct proftrace_bpf *skel, int link)
{
	uint64_t flags;

	skel->bss->counter_off_trial = gettid();
	if (!set_counter(PR_TSC_SIGSEGV))
		return 0;
	visit_threads(link);
	set_counter(PR_TSC_ENABLE);
	flags = skel->bss->counter_off_flags;
	visit_threads(link);
	return flags & ~skel->bss->counter_off_flags;
}

void find_counter_off(struct proftrace_bpf *skel)
{
	int link = bpf_link_create(bpf_program__fd(skel->progs.find_counter_off), 0, BPF_TRACE_ITER,
				   NULL);
	uint64_t flag = 0;

	for (unsigned i = 0; link >= 0 && i < TRIALS && __builtin_popcountll(flag) != 1; i++)
		flag = try_flag(skel, link);
	skel->bss->counter_off_flag = __builtin_popcountll(flag) == 1 ? flag : 0;
	/* A second look: another recorder may just make its trial. */
	for (unsigned i = 0; skel->bss->counter_off_flag && i < 2; i++) {
		skel->bss->counter_off_in = 0;
		visit_threads(link);
		if (!skel->bss->counter_off_in)
			break;
		usleep(1000);
	}
	if (link >= 0)
		close(link);
}
