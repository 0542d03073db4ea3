/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of threads. A program names its threads when it begins, perhaps long before anybody records, so that each
 * thread keeps its name and tells it to each recording with its first mark. The kernel's name of the thread stays as
 * it is, which neither NVTX nor ITT changes.
 */
#include "annotations.h"

__thread struct thread thread __attribute__((tls_model("initial-exec")));

#define SOME_IDS 65536

void thread_mark_name(void)
{
	thread.marked = true;
	prof_impl_mark_thread_name(thread.name);
}

void thread_set_name(const char *name)
{
	/* Kept for good: the program may free its own. Threads have few names. */
	thread.name = prof_event_get(name)->object.name;
	thread.marked = false;
	is_recorded();
}

uint64_t thread_new_id(void)
{
	static uint64_t ids;

	if (UNLIKELY(thread.next_id == thread.last_id)) {
		thread.last_id = __atomic_add_fetch(&ids, SOME_IDS, __ATOMIC_RELAXED);
		thread.next_id = thread.last_id - SOME_IDS;
	}
	return ++thread.next_id;
}
