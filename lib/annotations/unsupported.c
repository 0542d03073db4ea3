/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What cannot be recorded is counted while somebody records. Some of it comes a million times a second (locks), hence
 * only some of the counts become marks.
 */
#include "annotations.h"

static struct unsupported *counted;

static void unsupported_mark(const struct unsupported *u, uint64_t count)
{
	prof_counter_arg(prof_domain_get("annotations"), u->name, prof_arg_uint("", count));
}

void unsupported_add(struct unsupported *u, uint64_t n)
{
	uint64_t count;

	if (!is_recorded())
		return;
	count = __atomic_add_fetch(&u->count, n, __ATOMIC_RELAXED);
	if (UNLIKELY(!__atomic_exchange_n(&u->listed, 1, __ATOMIC_RELAXED))) {
		u->next = __atomic_load_n(&counted, __ATOMIC_RELAXED);
		while (!__atomic_compare_exchange_n(&counted, &u->next, u, 0, __ATOMIC_RELEASE,
						    __ATOMIC_RELAXED))
			;
	}
	if ((count & (count - 1)) == 0 || count % 1024 == 0)
		unsupported_mark(u, count);
}

void unsupported_count(struct unsupported *u)
{
	unsupported_add(u, 1);
}

/* Behind destructors without a priority, which may count. */
__attribute__((destructor(101))) static void unsupported_mark_all(void)
{
	const struct unsupported *u = __atomic_load_n(&counted, __ATOMIC_ACQUIRE);

	if (!u || !is_recorded())
		return;
	for (; u; u = u->next)
		unsupported_mark(u, __atomic_load_n(&u->count, __ATOMIC_RELAXED));
}
