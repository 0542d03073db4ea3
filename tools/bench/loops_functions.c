/* SPDX-License-Identifier: BSD-2-Clause */
/* The target for uftrace: a function that is called again and again, built with -pg. */
#include <stddef.h>

#include "target.h"

void function(uint64_t i);
__attribute__((noinline)) void function(uint64_t i)
{
	__asm__ volatile("" : : "r"(i) : "memory");
}

LOOP(call, function(i))

static const struct loop loops_functions[] = {
	{ "call", 2, call, false, NULL }, /* entry and exit */
	{ 0 },
};
const struct loop *const target_loops[] = { loops_functions, NULL };
const struct verb target_verbs[] = { { 0 } };
