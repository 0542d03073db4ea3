/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attaches a uprobe where nobody passes, before those of a recording.
 *
 * The first uprobe for a while waits until forks take their lock in another way, for a grace period of RCU: 5 to 16 ms. For
 * the next 30 ms others do not wait. So while the broker loads its programs, a process attaches one, and again until the
 * broker is ready. Without it all is as well, only later.
 */
#include "privilege/broker/first_uprobe.h"

#include <poll.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "privilege/broker/uprobe_multi.h"
#include "privilege/loader/empty_program.h"

#define FIRST_UPROBES	 6
#define FIRST_UPROBES_MS 8 /* between two */

_Noreturn void first_uprobe_attach(void)
{
	int program = empty_program_load(TRACE_UPROBE_MULTI, 0);
	int file = memfd_create("uprobe", MFD_CLOEXEC);
	char path[32];
	uint64_t i;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	for (i = 0; i < FIRST_UPROBES && program >= 0 && file >= 0; i++) {
		if (i)
			poll(NULL, 0, FIRST_UPROBES_MS);
		if (uprobe_multi_link(UPROBE_ENTRY, program, path, &i, NULL, NULL, 1, 0) < 0)
			break;
	}
	_exit(0);
}
