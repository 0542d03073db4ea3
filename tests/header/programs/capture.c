/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions that take the place of the stubs: the stubs' symbols are weak, these are not. They see
 * what a BPF program would see in the registers.
 */
#include <string.h>
#include "capture.h"

#define PROF_META_IN_REGISTERS (1ull << 34)

struct capture captured;

static void look_for_expected(uint64_t meta)
{
	unsigned i;

	for (i = 0; captured.expected && i < (meta & 15); i++) {
		if ((meta >> (8 + 4 * i) & 15) == 4 &&
		    !strcmp((const char *)(uintptr_t)captured.values[i], captured.expected))
			captured.as_expected++;
	}
}

static void take(const char *kind, const char *name, uint64_t meta, uint64_t a, uint64_t b,
		 const char *keys, uint64_t values)
{
	captured.kind = kind;
	captured.name = name;
	captured.meta = meta;
	captured.a = a;
	captured.b = b;
	captured.keys = keys;
	memset(captured.values, 0, sizeof(captured.values));
	/*
	 * One or two values come in registers, and only these, and not those of objects, whose
	 * categories are in the place; what follows need not know. Marks with times of their own
	 * have categories if their names are made at run time.
	 */
	if ((((meta & 15) == 1 || (meta & 15) == 2) &&
	     (!(meta >> 44 & 15) || ((meta >> 44 & 15) >= 7 && !(meta >> 32 & 1)))) !=
	    !!(meta & PROF_META_IN_REGISTERS)) {
		captured.kind = "values in the wrong place";
	} else if (meta & PROF_META_IN_REGISTERS) {
		captured.values[0] = b;
		captured.values[1] = values;
		captured.meta &= ~PROF_META_IN_REGISTERS;
		captured.b = 0;
	} else if (values) {
		memcpy(captured.values, (const void *)(uintptr_t)values,
		       (meta & 15) * sizeof(captured.values[0]));
	}
	if (!strcmp(kind, "begin") && a)
		captured.token = a;
	look_for_expected(meta);
	captured.readings += (meta >> 44 & 15) == 9;
}

#define STUB(kind, id)                                                                   \
	void prof_##kind##_##id(const char *name, uint64_t meta, uint64_t a, uint64_t b, \
				const char *keys, uint64_t values);                      \
	void prof_##kind##_##id(const char *name, uint64_t meta, uint64_t a, uint64_t b, \
				const char *keys, uint64_t values)                       \
	{                                                                                \
		take(#kind, name, meta, a, b, keys, values);                             \
	}

STUB(begin, prof_default)
STUB(end, prof_default)
STUB(instant, prof_default)
STUB(counter, prof_default)
STUB(async_begin, prof_default)
STUB(async_end, prof_default)
STUB(flow_out, prof_default)
STUB(flow_in, prof_default)
STUB(alloc, prof_default)
STUB(free, prof_default)
STUB(thread_name, prof_control)
STUB(step, prof_control)
STUB(pause, prof_control)
STUB(resume, prof_control)
STUB(dump, prof_control)
STUB(stop, prof_control)
STUB(include_json, prof_control)
STUB(scope_push, prof_control)
STUB(scope_pop, prof_control)
