/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recorder's priority while threads are held.
 *
 * A held thread spins on a CPU that the recorder may need, and what releases it takes several steps of the recorder and
 * the broker. If each step waits until the scheduler has served all other programs, opening 200 libraries takes a
 * minute beside ten busy programs, and some threads continue before their libraries are attached to. A nice value does
 * not help where the kernel applies it among the programs of one terminal only (autogroup). So the recorder is a
 * real-time process while a thread is held and shortly after, since programs open libraries in a row, and so are the
 * threads that read for it. Root's keeps
 * CAP_SYS_NICE for that, which its filter of system calls restricts to itself. The broker, which only serves requests,
 * always is a real-time process.
 *
 * A program could have its threads held all the time. So the CPU time with this priority is limited.
 */
#include "capture/internal.h"

#include <time.h>

#include "base/clock.h"
#include "privilege/privileges.h"
#include "tracee/memory/target_memory.h"

#define HURRY_AFTER_NS 100000000  /* without a held thread, before the priority is lowered */
#define HURRY_CPU_NS   2000000000 /* CPU time that may be used at once, */
#define HURRY_SHARE    4	  /* then one part in so many of the time */

static void hurry_update_credit(struct hurry *h, uint64_t now_ns)
{
	uint64_t cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + target_memory_cpu_ns(),
		 gained = (now_ns - h->at_ns) / HURRY_SHARE;

	if (h->is_on)
		h->used_ns += cpu_ns - h->at_cpu_ns;
	h->used_ns -= gained < h->used_ns ? gained : h->used_ns;
	h->at_ns = now_ns;
	h->at_cpu_ns = cpu_ns;
}

void hurry_update(struct capture *c, bool is_held)
{
	struct hurry *h = &c->scans.hurry;
	uint64_t now_ns;
	bool wanted;

	if (!h->is_on && !is_held)
		return;
	now_ns = monotonic_now();
	if (is_held)
		h->until_ns = now_ns + HURRY_AFTER_NS;
	hurry_update_credit(h, now_ns);
	wanted = now_ns < h->until_ns && h->used_ns < HURRY_CPU_NS;
	if (wanted == h->is_on)
		return;
	/* Without the permission nothing changes. */
	if (privileges_use_priority(wanted))
		return;
	h->is_on = wanted;
	target_memory_hurry(wanted);
}
