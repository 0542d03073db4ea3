/* SPDX-License-Identifier: BSD-2-Clause */
/* Small functions whose machine code is looked at: what is left of a marker that is off. */
#include <proftrace.h>
#include <proftrace/mutex.h>

void outside(int x);
void one_marker(int x);
void one_scope(int x);
void one_object(void);
int one_lock(prof_mutex_t *lock);

void one_marker(int x)
{
	PROF_INSTANT("name", "a", x, "b", 2 * x, "c", "text");
}

PROF_MARKER(object, prof_default, "object", .categories = "x");

void one_object(void)
{
	prof_marker_start(&object);
}

void one_scope(int x)
{
	PROF_SCOPE("name", "x", x);
	outside(x);
}

int one_lock(prof_mutex_t *lock)
{
	return prof_mutex_lock(lock);
}
