/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attaches a uprobe where nobody passes, before those of a recording.
 *
 * The first uprobe for a while waits until forks take their lock in another way, for a grace period of RCU: 5 to 16 ms. For
 * the next 30 ms others do not wait. So while the broker loads its programs, a thread attaches one, and again until the
 * broker is ready. Without it, attaching takes longer.
 *
 * It is not a process: the user could stop a process, which would keep its privileges, and nothing would end it. The thread
 * has descriptors of its own, and none of the broker's. Detaching takes long; so each uprobe belongs to a thread with
 * descriptors of its own, and all of them are detached at the same time. If one thread held all of them, they would be
 * detached one after the other, and the end of a short recording would wait for that.
 */
#include "privilege/broker/first_uprobe.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "privilege/broker/uprobe_multi.h"
#include "privilege/loader/empty_program.h"
#include "privilege/privileges.h"

#define FIRST_UPROBES	 16
#define FIRST_UPROBES_MS 8 /* between two */

/* Whether to end. */
static bool first_uprobe_waits(struct first_uprobe *first)
{
	struct timespec until;
	int error;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += FIRST_UPROBES_MS * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	do {
		error = sem_clockwait(&first->end, CLOCK_MONOTONIC, &until) ? errno : 0;
	} while (error == EINTR);
	return error != ETIMEDOUT;
}

struct empty_uprobe {
	int program, file;
	bool attached;
};

/* The thread ends at once, and the kernel detaches behind its last instruction. */
static void *empty_uprobe_attach(void *context)
{
	struct empty_uprobe *e = context;
	const uint64_t offset = 0;
	char path[40];

	if (unshare(CLONE_FILES))
		return NULL;
	/* /proc/self has the descriptors of the first thread. */
	snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", e->file);
	e->attached =
		uprobe_multi_link(UPROBE_ENTRY, e->program, path, &offset, NULL, NULL, 1, 0) >= 0;
	return NULL;
}

static void *first_uprobe_attach(void *context)
{
	struct first_uprobe *first = context;
	struct empty_uprobe e;
	pthread_t thread;
	unsigned i;

	if (descriptors_unshare(STDERR_FILENO))
		return NULL;
	/* The broker waits for it. */
	privileges_use_priority(true);
	e.program = empty_program_load(TRACE_UPROBE_MULTI, 0);
	e.file = memfd_create("uprobe", MFD_CLOEXEC);
	for (i = 0; i < FIRST_UPROBES && e.program >= 0 && e.file >= 0; i++) {
		if (i && first_uprobe_waits(first))
			break;
		e.attached = false;
		if (pthread_create(&thread, NULL, empty_uprobe_attach, &e))
			break;
		pthread_join(thread, NULL);
		if (!e.attached)
			break;
	}
	return NULL;
}

void first_uprobe_begin(struct first_uprobe *first)
{
	sem_init(&first->end, 0, 0);
	first->runs = !pthread_create(&first->thread, NULL, first_uprobe_attach, first);
}

void first_uprobe_end(struct first_uprobe *first)
{
	sem_post(&first->end);
	if (first->runs)
		pthread_join(first->thread, NULL);
}
